//! Everything of one's own, for the owner of an account: what the account has written, voted on,
//! chosen and received.
//!
//! It is read in parts, so the memory that an export takes does not grow with the account. Every
//! list has a cap, and the export says what it leaves out. It has no secrets (password, session
//! tokens, the secrets of forms and of feeds), no text that is deleted, and of other people only
//! what everybody may see: their usernames, and the titles of their stories.
//!
//! It has no keys of its own.

mod reading;
mod records;
pub mod site;

pub use records::{
    AccountRecord, CommentRecord, FlagRecord, InboxRecord, ListedRecord, MessageRecord, MuteRecord,
    PersonRecord, Record, RestrictionRecord, SettingsRecord, StoryRecord, TopicRecord, TweetRecord,
    VoteRecord, VotedKind,
};

use crate::accounts::VisitSession;
use crate::values::{
    EXPORT_CHUNK, EXPORT_RETRY_SECONDS, EXPORTS_AT_ONCE, EXPORTS_OF_ONE_ACCOUNT, Moment, RatedAction, UserId,
    named,
};
use crate::{Actor, Error, Refusal, Result, Site, User, keys};
use parking_lot::Mutex;
use reading::ReadStep;
use std::iter::Peekable;
use std::vec::IntoIter;
use strum::{EnumIter, IntoStaticStr};
use tidings_keyspace::read;

/// The lists of an export, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Section {
    /// Stories that the account submitted.
    Stories,
    /// Comments that it wrote.
    Comments,
    /// Tweets that it posted.
    Tweets,
    /// Its votes on stories, comments and sites.
    Votes,
    /// Its flags.
    Flags,
    /// Stories that it saved.
    Saved,
    /// Stories that it has hidden.
    Hidden,
    /// Topics that it follows.
    #[strum(serialize = "topics_followed")]
    FollowedTopics,
    /// Topics that it has muted.
    #[strum(serialize = "topics_muted")]
    MutedTopics,
    /// People whom it follows.
    Followings,
    /// People who follow it.
    Followers,
    /// People whom it invited.
    Invited,
    /// Threads to which it has subscribed.
    Subscriptions,
    /// Threads whose replies it does not want.
    Unsubscribed,
    /// People, sites and words that it has muted.
    Mutes,
    /// People whom it has blocked.
    Blocks,
    /// Threads that it has read lately.
    Visits,
    /// The entries of its inbox.
    Inbox,
    /// Messages to the moderators, and their answers.
    Messages,
    /// Its open sessions.
    Sessions,
}

named!(Section);

/// Some records of one section, the newest first.
#[derive(Debug)]
pub struct ExportPart {
    /// The section.
    pub section: Section,
    /// The records; there may be none.
    pub records: Vec<Record>,
    /// How many entries of the section are too many for an export, besides those of other parts.
    pub left_out: u64,
}

/// The accounts of which exports are under way, each as often as it has some.
#[derive(Default)]
struct UnderWay(Mutex<Vec<UserId>>);

crate::process_state::process_state!(UnderWay);

/// The place of an export, free again when this is dropped.
struct ExportSlot<'a> {
    running: &'a UnderWay,
    account: UserId,
}

impl<'a> ExportSlot<'a> {
    /// A place among the exports that are under way.
    fn begin(running: &'a UnderWay, account: UserId) -> Result<Self> {
        let mut accounts = running.0.lock();
        if accounts.iter().filter(|other| **other == account).count() >= EXPORTS_OF_ONE_ACCOUNT {
            let (action, seconds) = (RatedAction::Export, EXPORT_RETRY_SECONDS);
            return Err(Refusal::TooManyRequests { action, by_address: false, seconds, lacking: None }.into());
        }
        if accounts.len() >= EXPORTS_AT_ONCE {
            return Err(Error::Busy);
        }
        accounts.push(account);
        Ok(Self { running, account })
    }
}

impl Drop for ExportSlot<'_> {
    fn drop(&mut self) {
        let mut accounts = self.running.0.lock();
        if let Some(position) = accounts.iter().position(|other| *other == self.account) {
            accounts.swap_remove(position);
        }
    }
}

impl Site {
    /// How many exports are under way.
    pub fn exports_under_way(&self) -> usize {
        self.of::<UnderWay>().0.lock().len()
    }
}

/// An export under way.
pub struct Export<'a> {
    site: &'a Site,
    owner: Actor<'a>,
    session: &'a VisitSession,
    user: User,
    account: AccountRecord,
    /// The steps that are left, the next one last.
    steps: Vec<ReadStep>,
    /// The entries that are left of the step under way.
    entries: Option<Peekable<IntoIter<reading::PendingEntry>>>,
    _place: ExportSlot<'a>,
}

impl<'a> Export<'a> {
    /// Starts the export of an account, in a session of its owner. A server makes
    /// [`EXPORTS_AT_ONCE`] at the same time. Rounds: 1, and 1 more on a shared store.
    ///
    /// # Errors
    /// [`Refusal::TooManyRequests`], [`Error::Busy`], [`Refusal::SessionEnded`] if the session is another
    /// account's or the account has been deactivated meanwhile, or the store's.
    pub async fn begin(
        site: &'a Site,
        now: Moment,
        owner: Actor<'a>,
        session: &'a VisitSession,
    ) -> Result<Self> {
        Refusal::SessionEnded.when(session.user_id != owner.id)?;
        let place = ExportSlot::begin(site.of(), owner.id)?;
        owner.look(site, now, RatedAction::Export).await?;
        let hash = site.store.fetch(read::hash(keys::user(owner.id))).await?;
        let user = User::from_hash(&hash).ok_or(Refusal::SessionEnded)?;
        let account = AccountRecord::of(&user, &hash);
        let steps = ReadStep::all_last_first();
        Ok(Self { site, owner, session, user, account, steps, entries: None, _place: place })
    }

    /// Ends an export that is complete: only now it counts. Rounds: 2 on a shared store.
    pub async fn finish(self, now: Moment) -> Result<()> {
        match self.owner.spend(self.site, now, RatedAction::Export).await {
            // Others were finished meanwhile.
            Err(Error::Refused(Refusal::TooManyRequests { .. })) => Ok(()),
            counted => counted,
        }
    }

    /// The account: the profile and the settings.
    pub const fn account(&self) -> &AccountRecord {
        &self.account
    }

    /// The next part; `None` at the end. The parts of a section follow each other, and each
    /// section has at least one. Rounds: at most 4.
    pub async fn next(&mut self) -> Result<Option<ExportPart>> {
        let Some(step) = self.steps.last().copied() else {
            return Ok(None);
        };
        let (mut entries, left_out) = match self.entries.take() {
            Some(entries) => (entries, 0),
            None => {
                let (entries, left_out) = step.list(self.site, &self.user).await?;
                (entries.into_iter().peekable(), left_out)
            }
        };
        let mut chunk = Vec::new();
        let mut room = EXPORT_CHUNK;
        while let Some(entry) = entries.next_if(|entry| room > 0 && (chunk.is_empty() || entry.cost <= room))
        {
            room = room.saturating_sub(entry.cost);
            chunk.push(entry);
        }
        let records = step.read(self, chunk).await?;
        if entries.peek().is_some() {
            self.entries = Some(entries);
        } else {
            self.steps.pop();
        }
        Ok(Some(ExportPart { section: step.section, records, left_out }))
    }
}
