//! Comments as stored; posting, editing and deleting them.
//!
//! All comments of an item are one hash, `thread:comment:<news id>`, with the comments as
//! JSON by id. So a thread is one read.

use crate::accounts::actor::Actor;
use crate::accounts::origin_bans;
use crate::accounts::origins::{self, Origin};
use crate::accounts::reader::{Perspective, Sight, Written};
use crate::accounts::seen::Visible;
use crate::accounts::users::{DEACTIVATED, Role, User};
use crate::accounts::{admission, trust};
use crate::action::{Decision, Logging};
use crate::activity::ActionCounters;
use crate::audit::AUDIT;
use crate::comments::held;
use crate::comments::notify::{
    self, CommentAudience, CommentNotice, Reannouncement, Retraction, Subscribers,
};
use crate::comments::withdrawal;
use crate::counts::CountedAction;
use crate::draws::{Draw, NEXT_ID, Sequence};
use crate::error::{Error, Refusal};
use crate::fields;
use crate::hooks::{self, Event};
use crate::items::{self, Item};
use crate::keys;
use crate::marks::PendingMarks;
use crate::news::item::{Direction, IMPORTED_VOTES, News, SOURCE};
use crate::post_rules::CheckedPost;
use crate::repeats::KeptAnswer;
use crate::review;
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{CommentAddress, CommentId, ItemNumber, NewsId, UserId};
use crate::values::imported::ImportedVotes;
use crate::values::limits;
use crate::values::moderation::Thing;
use crate::values::rates::RatedAction;
use crate::values::text::Body;
use crate::values::vote_state::VoteState;
use crate::values::withheld::{UNSEEN, WITHHELD, Withheld, is_deleted};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use tidings_keyspace::{Batch, Fetch, read};
use tidings_text::stored_text::StoredText;

/// The member that says as what the author speaks, and what it says.
const SPEAKS_AS: &str = "as";
const MODERATOR: &str = "moderator";
/// The stored parent of a comment on the item itself.
const NO_PARENT: i64 = -1;

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The comment's number in its thread.
    pub id: CommentId,
    /// The text; must not be shown when deleted.
    pub body: String,
    /// When it was written.
    pub ctime: Timestamp,
    /// When its text was last edited, if it was.
    pub edited_at: Option<Timestamp>,
    /// Its author.
    pub user_id: UserId,
    /// The comment that it replies to; `None` for a comment on the item itself.
    pub parent_id: Option<CommentId>,
    /// The users who voted it up.
    pub up: Vec<u64>,
    /// The users who voted it down.
    pub down: Vec<u64>,
    /// The votes of the site that it was imported from, which count besides.
    pub imported_votes: ImportedVotes,
    /// Where it was imported from, as `<source>:<id there>`.
    pub(crate) source: Option<Box<str>>,
    /// Whether it was deleted.
    pub deleted: bool,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<Withheld>,
    /// Whether it was taken away before readers saw it.
    pub unseen: bool,
    /// Whether its author, a moderator, speaks as such.
    pub speaks_as_moderator: bool,
    /// Fields of other programs, which are preserved.
    extra: Map<String, Value>,
}

/// A comment exactly as we write it, for fast parsing. Any other form is read field by
/// field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsWritten {
    body: String,
    ctime: u64,
    user_id: i64,
    parent_id: i64,
    #[serde(rename = "score")]
    _score: IgnoredAny,
    up: Vec<u64>,
    down: Vec<u64>,
    #[serde(default)]
    del: i64,
    #[serde(default)]
    withheld: Option<Withheld>,
    #[serde(default, rename = "as")]
    speaks_as: Option<Speaker>,
    #[serde(default)]
    imported_votes: ImportedVotes,
    #[serde(default)]
    source: Option<Box<str>>,
    #[serde(default)]
    edited_at: Option<u64>,
    #[serde(default)]
    unseen: u64,
}

/// As what the author of a comment speaks.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    Moderator,
}

/// A number. In databases of the original some are written as strings; we
/// write numbers.
fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        Value::Bool(flag) => Some(i64::from(*flag)),
        _ => None,
    }
}

/// The member of a comment with the time of its last edit.
const EDITED_AT: &str = "edited_at";

/// Takes the time of the last edit, if there is one. What is no time stays.
fn take_time(stored: &mut Map<String, Value>) -> Option<u64> {
    let time = stored.get(EDITED_AT)?.as_u64()?;
    stored.swap_remove(EDITED_AT);
    Some(time)
}

/// The voters in a list; none if the value is not a list.
fn voters(value: Option<Value>) -> Vec<u64> {
    let value = value.unwrap_or_default();
    let voters = value.as_array().into_iter().flatten();
    voters.filter_map(number).filter_map(|voter| u64::try_from(voter).ok()).collect()
}

/// Which of the two lists of votes of a stored comment cannot be read whole. An absent one is empty.
pub(crate) fn unreadable_votes(json: &str) -> Vec<&'static str> {
    let stored: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let is_voter = |voter: &Value| number(voter).is_some_and(|voter| voter >= 0);
    let is_list = |votes: &Value| votes.as_array().is_some_and(|votes| votes.iter().all(is_voter));
    let mut lists = vec!["up", "down"];
    lists.retain(|list| stored.get(*list).is_some_and(|votes| !is_list(votes)));
    lists
}

impl Visible for Comment {
    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        Self::sight(self, perspective)
    }
}

impl Comment {
    /// The approximate bytes of its text and votes.
    pub(crate) fn size(&self) -> usize {
        let withheld = self.withheld.as_ref().map_or(0, Withheld::size);
        self.body.len() + size_of_val(&*self.up) + size_of_val(&*self.down) + withheld
    }

    /// A new comment, voted up by its author.
    pub(crate) fn new(
        id: CommentId,
        author: UserId,
        parent_id: Option<CommentId>,
        body: &Body,
        now: Timestamp,
    ) -> Self {
        let body = body.as_str().to_owned();
        Self { body, deleted: false, ..Self::deleted_place((id, parent_id), author, now) }
    }

    /// The place of a comment that is gone, with the replies to it.
    pub(crate) fn deleted_place(
        (id, parent_id): (CommentId, Option<CommentId>),
        author: UserId,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            body: String::new(),
            ctime: now,
            edited_at: None,
            user_id: author,
            parent_id,
            up: vec![author.0],
            down: Vec::new(),
            imported_votes: ImportedVotes::default(),
            source: None,
            deleted: true,
            withheld: None,
            unseen: false,
            speaks_as_moderator: false,
            extra: Map::new(),
        }
    }

    /// Reads a comment; `None` when the field is not an id (such as `nextid`) or the value
    /// is not a comment.
    pub fn from_field(field: &str, json: &str) -> Option<Self> {
        Self::from_json(field.parse().ok()?, json)
    }

    /// The comment at an address, if it exists.
    pub(crate) fn at(CommentAddress { news, comment }: CommentAddress) -> impl Fetch<Value = Option<Self>> {
        read::field(keys::thread(news), comment.to_string())
            .map(move |json| Self::read(news, &comment.to_string(), &json?))
    }

    /// Reads a field of an item's thread; a comment that cannot be read is logged.
    pub(crate) fn read(news: NewsId, field: &str, json: &str) -> Option<Self> {
        let comment = Self::from_field(field, json);
        match &comment {
            None if field != NEXT_ID => fields::report(&keys::thread(news), Some(field)),
            Some(Self { withheld: Some(Withheld::Unreadable(_)), .. }) => {
                fields::report_state(&format!("{}, comment {field}", keys::thread(news)));
            }
            _ => {}
        }
        comment
    }

    fn from_json(id: CommentId, json: &str) -> Option<Self> {
        if let Ok(stored) = serde_json::from_str::<AsWritten>(json) {
            return Some(Self {
                id,
                body: stored.body,
                ctime: Timestamp(stored.ctime),
                edited_at: stored.edited_at.map(Timestamp),
                user_id: UserId::try_from(stored.user_id).ok()?,
                parent_id: CommentId::try_from(stored.parent_id).ok(),
                up: stored.up,
                down: stored.down,
                imported_votes: stored.imported_votes,
                source: stored.source,
                deleted: is_deleted(stored.del != 0, stored.withheld.as_ref()),
                withheld: stored.withheld,
                unseen: stored.unseen != 0,
                speaks_as_moderator: stored.speaks_as.is_some(),
                extra: Map::new(),
            });
        }
        let mut stored: Map<String, Value> = serde_json::from_str(json).ok()?;
        let mut take = |name: &str| stored.swap_remove(name);
        let Some(Value::String(body)) = take("body") else {
            return None;
        };
        let ctime = number(&take("ctime")?)?;
        let user_id = number(&take("user_id")?)?;
        let parent_id = take("parent_id").as_ref().and_then(number).unwrap_or(NO_PARENT);
        let (up, down, del) = (voters(take("up")), voters(take("down")), take("del"));
        let withheld = match stored.swap_remove(WITHHELD).unwrap_or_default() {
            Value::Null => None,
            Value::String(state) => Some(Withheld::stored(&state)),
            damaged => Some(Withheld::Unreadable(damaged.to_string().into())),
        };
        let edited_at = take_time(&mut stored);
        let unseen = stored.swap_remove(UNSEEN).is_some();
        let has_del = del.as_ref().and_then(number).unwrap_or(0) != 0;
        let member = |stored: &mut Map<String, Value>, name| match stored.swap_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let imported_votes = member(&mut stored, IMPORTED_VOTES).and_then(|votes| votes.parse().ok());
        let source = member(&mut stored, SOURCE).map(String::into_boxed_str);
        // Derived from the votes.
        stored.swap_remove("score");
        let speaks_as_moderator = stored.get(SPEAKS_AS).is_some_and(|speaker| speaker == MODERATOR);
        if speaks_as_moderator {
            stored.swap_remove(SPEAKS_AS);
        }
        Some(Self {
            id,
            body,
            ctime: Timestamp(u64::try_from(ctime).unwrap_or(0)),
            edited_at: edited_at.map(Timestamp),
            user_id: UserId::try_from(user_id).ok()?,
            parent_id: CommentId::try_from(parent_id).ok(),
            up,
            down,
            imported_votes: imported_votes.unwrap_or_default(),
            source,
            deleted: is_deleted(has_del, withheld.as_ref()),
            withheld,
            unseen,
            speaks_as_moderator,
            extra: stored,
        })
    }

    /// Its text, as pages show it.
    pub const fn stored_text(&self) -> StoredText<'_> {
        StoredText::Formatted(self.body.as_str())
    }

    /// The comment as it is stored.
    pub(crate) fn to_json(&self) -> String {
        let mut stored = Map::new();
        let mut put = |name: &str, value: Value| stored.insert(name.to_owned(), value);
        put("body", self.body.as_str().into());
        put("ctime", self.ctime.0.into());
        put("user_id", self.user_id.0.into());
        put("parent_id", self.parent_id.map_or_else(|| NO_PARENT.into(), |parent| parent.0.into()));
        put("score", self.score().into());
        put("up", self.up.as_slice().into());
        put("down", self.down.as_slice().into());
        // Lamer News shows what has no `del`.
        if self.deleted || matches!(self.withheld, Some(Withheld::Removed(_))) {
            put("del", 1.into());
        }
        if let Some(withheld) = &self.withheld {
            put(WITHHELD, withheld.to_string().into());
        }
        if self.unseen {
            put(UNSEEN, 1.into());
        }
        if let Some(time) = self.edited_at {
            put(EDITED_AT, time.0.into());
        }
        if self.speaks_as_moderator {
            put(SPEAKS_AS, MODERATOR.into());
        }
        if !self.imported_votes.is_none() {
            put(IMPORTED_VOTES, self.imported_votes.to_string().into());
        }
        if let Some(source) = &self.source {
            put(SOURCE, (&**source).into());
        }
        stored.extend(self.extra.clone());
        Value::Object(stored).to_string()
    }

    /// How somebody sees it.
    pub fn sight(&self, perspective: Perspective<'_>) -> Sight {
        let (author, unseen) = (self.user_id, self.unseen);
        let written = Written { author, withheld: self.withheld.as_ref(), unseen };
        perspective.of_text(written, &self.body)
    }

    /// Whether it is in no list or count: it is deleted, removed, or waits for approval.
    pub fn is_gone(&self) -> bool {
        self.deleted || self.withheld.as_ref().is_some_and(Withheld::is_unlisted)
    }

    /// When its text was last changed.
    pub fn updated(&self) -> Timestamp {
        self.edited_at.unwrap_or_default().max(self.ctime)
    }

    /// Replaces the text. Returns the former one.
    pub(crate) fn edit(&mut self, body: String, now: Timestamp) -> String {
        self.edited_at = Some(now);
        std::mem::replace(&mut self.body, body)
    }

    /// Whether it was erased.
    pub fn is_erased(&self) -> bool {
        self.withheld == Some(Withheld::Erased)
    }

    /// Whether only its author and moderators know of it.
    pub(crate) fn is_secret(&self) -> bool {
        self.unseen || self.withheld.as_ref().is_some_and(Withheld::is_secret)
    }

    /// Withholds it, or shows it again. Returns the former state.
    pub(crate) fn withhold(&mut self, state: Option<Withheld>) -> Option<Withheld> {
        self.unseen = self.is_secret() && Withheld::keeps_secret(state.as_ref());
        std::mem::replace(&mut self.withheld, state)
    }

    /// Leaves nothing but its place, its author, its time and its votes.
    pub(super) fn erase(&mut self) {
        self.body = String::new();
        self.source = None;
        self.deleted = true;
        self.withhold(Some(Withheld::Erased));
        self.extra = Map::new();
    }

    /// Refuses what somebody cannot do with what is gone.
    ///
    /// # Errors
    /// [`Refusal::NoSuchComment`] for what they may not see; otherwise the refusal that says why it is gone.
    pub fn refuse_if_gone(&self, viewer: &User) -> Result<(), Refusal> {
        match &self.withheld {
            _ if self.is_secret() && !viewer.is_insider(self.user_id) => Err(Refusal::NoSuchComment),
            _ if self.deleted => Err(Refusal::CommentDeleted),
            Some(Withheld::Erased) => Err(Refusal::CommentDeleted),
            Some(Withheld::Removed(_)) => Err(Refusal::CommentRemoved),
            Some(Withheld::Held(_) | Withheld::Unreadable(_)) => Err(Refusal::CommentHeld),
            // Comments are not merged.
            Some(Withheld::Flagged | Withheld::Merged(_)) | None => Ok(()),
        }
    }

    /// The votes up and down that are shown and ranked: those here and those of the site that it was
    /// imported from.
    pub fn votes(&self) -> [i64; 2] {
        let count = |votes: &[u64]| i64::try_from(votes.len()).unwrap_or(i64::MAX);
        self.imported_votes.and(count(&self.up), count(&self.down))
    }

    /// Votes up minus votes down.
    pub fn score(&self) -> i64 {
        let [up, down] = self.votes();
        up.saturating_sub(down)
    }

    /// A user's vote.
    pub fn vote_of(&self, user: UserId) -> Option<Direction> {
        if self.up.contains(&user.0) {
            Some(Direction::Up)
        } else if self.down.contains(&user.0) {
            Some(Direction::Down)
        } else {
            None
        }
    }

    /// The users who have voted in a direction.
    pub(crate) fn voters(&self, direction: Direction) -> &[u64] {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Puts a user's vote back at its place among the others, as far as they are still there.
    pub(crate) fn put_vote_back(&mut self, voter: UserId, direction: Direction, place: usize) {
        let voters = match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        };
        voters.insert(place.min(voters.len()), voter.0);
    }

    /// The votes as a voter sees them.
    pub(crate) fn votes_for(&self, voter: UserId) -> VoteState {
        let [up, down] = [&self.up, &self.down].map(|votes| i64::try_from(votes.len()).unwrap_or(i64::MAX));
        VoteState { is_up: self.vote_of(voter).map(|vote| vote == Direction::Up), up, down }
    }

    /// Adds a user's vote.
    pub(crate) fn vote(&mut self, voter: UserId, direction: Direction) -> Result<(), Refusal> {
        if self.vote_of(voter).is_some() {
            return Err(Refusal::VotedAlready(Some(self.votes_for(voter))));
        }
        match direction {
            Direction::Up => self.up.push(voter.0),
            Direction::Down => self.down.push(voter.0),
        }
        Ok(())
    }

    /// Removes a user's vote.
    pub(crate) fn take_back_vote(&mut self, voter: UserId) {
        for votes in [&mut self.up, &mut self.down] {
            votes.retain(|id| *id != voter.0);
        }
    }

    /// Whether `viewer` may edit it now.
    ///
    /// # Errors
    /// The refusal that says why not.
    pub fn may_edit(&self, viewer: &User, now: Timestamp, window_seconds: u64) -> Result<(), Refusal> {
        if viewer.id != self.user_id {
            return match self.refuse_if_gone(viewer) {
                Err(Refusal::NoSuchComment) => Err(Refusal::NoSuchComment),
                _ => Err(Refusal::NotYourComment),
            };
        }
        match self.refuse_if_gone(viewer) {
            // A comment that waits for approval can be changed.
            Ok(()) | Err(Refusal::CommentHeld) => {}
            gone => return gone,
        }
        if window_seconds > 0 && now.seconds_since(self.ctime) > window_seconds {
            return Err(Refusal::TooLateToChange { window_seconds });
        }
        Ok(())
    }

    /// Whether `viewer` may delete it now; administrators may delete their own at any time.
    ///
    /// # Errors
    /// The refusal that says why not.
    pub fn may_delete(&self, viewer: &User, now: Timestamp, window_seconds: u64) -> Result<(), Refusal> {
        let is_unbounded = viewer.role() == Role::Administrator;
        self.may_edit(viewer, now, if is_unbounded { 0 } else { window_seconds })
    }
}

/// One comment with its stored JSON.
pub(crate) struct StoredComment {
    pub(crate) comment: Comment,
    pub(crate) json: String,
    /// Its story.
    pub(crate) news: News,
}

impl StoredComment {
    /// The comment at an address, unless it or its item does not exist.
    pub(crate) fn at(address: CommentAddress) -> impl Fetch<Value = Result<Self, Refusal>> {
        let CommentAddress { news, comment } = address;
        let json = read::field(keys::thread(news), comment.to_string());
        (News::by_id(news), json).map(move |(item, json)| {
            let item = item.ok_or(Refusal::NoSuchNews)?;
            // People who may not see the story do not learn that it exists.
            let missing = if item.is_secret() { Refusal::NoSuchNews } else { Refusal::NoSuchComment };
            let json = json.ok_or(missing)?;
            let comment = Comment::read(news, &comment.to_string(), &json).ok_or(Refusal::NoSuchComment)?;
            Ok(Self { comment, json, news: item })
        })
    }
}

/// Reads one comment and the state of its item. Rounds: 1.
pub(crate) async fn read_stored(site: &Site, address: CommentAddress) -> Result<StoredComment, Error> {
    Ok(site.store.fetch(StoredComment::at(address)).await??)
}

/// A batch that replaces a comment, unless it has changed since it was `read`.
pub(crate) fn replacement(address: CommentAddress, read: &str, comment: &Comment) -> Batch {
    let mut batch = Batch::new();
    write_change(&mut batch, address, read, comment);
    batch
}

/// Adds a changed comment to a batch, which fails if it has changed since it was `read`.
pub(crate) fn write_change(batch: &mut Batch, address: CommentAddress, read: &str, comment: &Comment) {
    let (thread, field) = (keys::thread(address.news), address.comment.to_string());
    batch.field_equals(&thread, &field, read);
    batch.set_field(thread, field, comment.to_json());
}

/// Adds a new comment to a batch, and to its author's list.
pub(crate) fn write_new(batch: &mut Batch, news: NewsId, comment: &Comment) {
    let address = CommentAddress { news, comment: comment.id };
    batch.set_field(keys::thread(news), comment.id.to_string(), comment.to_json());
    batch.sorted_add(keys::user_comments(comment.user_id), address.to_string(), comment.ctime.as_score());
}

/// A comment to post.
#[derive(Debug, Clone, Copy)]
pub struct CommentDraft<'a> {
    /// The story.
    pub news: NewsId,
    /// The comment that it replies to; `None` for a comment on the story itself.
    pub parent: Option<CommentId>,
    /// The text.
    pub body: &'a Body,
    /// The function that logs that its author speaks as a moderator; `None` if the author does not.
    pub speaks_as_moderator: Option<LogSpeaking>,
}

/// Adds to the batch of a comment the line of the log which says that its author, a moderator, speaks as such.
pub type LogSpeaking =
    for<'a> fn(&'a Site, &'a mut Batch, (Timestamp, UserId), CommentAddress) -> Logging<'a>;

/// Posts a comment on an item, or a reply to another comment, and tells the people whom it
/// concerns. Rounds: 3, 3 more if it mentions anybody, 2 more if an inbox is full, and 1 more if its author
/// speaks as a moderator.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::NoSuchNews`], [`Refusal::NewsDeleted`],
/// [`Refusal::NoSuchParent`], [`Refusal::CommentDeleted`] for a deleted parent, [`Refusal::BlockedBy`],
/// [`Refusal::ThreadFull`], the refusals of a story or parent that is removed or held,
/// [`Refusal::TooManyRequests`], [`Refusal::RefusedByRule`], or the store's.
pub async fn post_comment(
    site: &Site,
    now: Timestamp,
    author: Actor<'_>,
    CommentDraft { news, parent, body, speaks_as_moderator }: CommentDraft<'_>,
) -> Result<Posted, Error> {
    author.demand_may_post(now)?;
    if speaks_as_moderator.is_some() {
        author.user.require_moderator()?;
    }
    let moment = Moment::from_timestamp(now);
    author.spend(site, moment, RatedAction::Comment).await?;
    trust::refuse_many_links(site, now, author.user, StoredText::Formatted(body.as_str()))?;
    let waits = admission::admit(site, now, author.user, checked(body)).await?;
    let thread = keys::thread(news);
    origin_bans::demand_may_post(site, now, &author).await?;
    let origin = Origin::of(site, author.address).await?;
    let draw = numbers(news);
    let request = author.user.request.as_ref();
    let posted = site.act(&thread, || async {
        let open = OpenThread::read(site, author.user, news, parent).await?;
        let mut batch = Batch::new();
        let [id, item] = draw.take(site, &open.counters, &mut batch).await?;
        // Others may have drawn the last ids meanwhile.
        if id > limits::MAX_COMMENTS_PER_THREAD {
            return Err(Refusal::ThreadFull { limit: limits::MAX_COMMENTS_PER_THREAD }.into());
        }
        let mut comment = Comment::new(CommentId(id), author.id, parent, body, now);
        comment.withheld = waits.clone().map(Withheld::Held);
        comment.speaks_as_moderator = speaks_as_moderator.is_some();
        let address = CommentAddress { news, comment: comment.id };
        let done = Posted { change: CommentChange::Insert, address, parent, waits: waits.is_some() };
        items::write(&mut batch, Item::Comment(address), ItemNumber(item));
        let account_there = batch.field_absent(keys::user(author.id), DEACTIVATED);
        if let Some(log) = speaks_as_moderator {
            log(site, &mut batch, (now, author.id), address).await?;
        }
        if done.waits {
            open.check(&mut batch);
            let unused = batch.field_absent(&thread, id.to_string());
            held::write(&mut batch, address, &comment);
            origins::write(origin.as_ref(), &mut batch, now, author.id);
            return Decision::commit(batch, (done, None))
                .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
                .if_rejected_by(unused, Err(Error::Busy))
                .once(request, &done);
        }
        let announcement = CommentNotice::read(site, moment, (address, &comment), &open.audience).await?;
        let replied_to = open.audience.replied_to();
        if replied_to.is_some_and(|user| announcement.is_blocked_by(user)) {
            return Err(Refusal::BlockedBy.into());
        }
        open.check(&mut batch);
        let unused = batch.field_absent(&thread, id.to_string());
        batch.increment_field(keys::news(news), "comments", 1);
        announcement.write(&mut batch);
        write_new(&mut batch, news, &comment);
        hooks::write(&mut batch, &Event::Comment(address));
        origins::write(origin.as_ref(), &mut batch, now, author.id);
        if let Some(user) = replied_to {
            // If this fails, the next attempt refuses.
            batch.field_absent(keys::user_blocks(user), author.id.to_string());
        }
        Decision::commit(batch, (done, Some(announcement)))
            .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
            .if_rejected_by(unused, Err(Error::Busy))
            .once(request, &done)
    });
    let (done, announcement) = posted.await?;
    if let Some(announcement) = announcement {
        announcement.begin(site);
    }
    site.of::<ActionCounters>().count(CountedAction::Comment);
    site.of::<PendingMarks>().note_own(now, author.id, news);
    Ok(done)
}

/// The numbers of a new comment: its id in the thread, and that of the item.
fn numbers(story: NewsId) -> Draw<2> {
    Draw::new([(Sequence::Comments(story), 1), (Sequence::Items, 1)])
}

/// A kind of change to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentChange {
    /// The comment was written.
    Insert,
    /// The comment was edited.
    Update,
    /// The comment was deleted.
    Delete,
}

/// A comment that was written, edited or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The kind of change.
    pub change: CommentChange,
    /// Where it is.
    pub address: CommentAddress,
    /// The comment that it replies to.
    pub parent: Option<CommentId>,
    /// Whether it waits for a moderator.
    pub waits: bool,
}

impl Posted {
    /// A comment that was there before.
    pub const fn changed(change: CommentChange, address: CommentAddress, comment: &Comment) -> Self {
        Self { change, address, parent: comment.parent_id, waits: false }
    }
}

impl KeptAnswer for Posted {
    fn to_text(&self) -> String {
        let change = match self.change {
            CommentChange::Insert => "insert",
            CommentChange::Update => "update",
            CommentChange::Delete => "delete",
        };
        (change.to_owned(), (self.address, (self.parent, self.waits))).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (change, (address, (parent, waits))) =
            <(String, (CommentAddress, (Option<CommentId>, bool)))>::from_text(text)?;
        let change = match change.as_str() {
            "insert" => CommentChange::Insert,
            "update" => CommentChange::Update,
            "delete" => CommentChange::Delete,
            _ => return None,
        };
        Some(Self { change, address, parent, waits })
    }
}

/// The parts of a comment that the rules for posts are matched against.
fn checked(body: &Body) -> CheckedPost<'_> {
    CheckedPost::of(StoredText::Formatted(body.as_str()))
}

/// A place where somebody may write a comment: under a story, or under another comment.
pub(super) struct OpenThread {
    news: News,
    /// The comment above, as it is stored.
    above: Option<(CommentId, String)>,
    /// The counters of [`numbers`], as they are stored.
    counters: Vec<Option<String>>,
    /// The people whom a comment there concerns.
    pub(super) audience: CommentAudience,
}

impl OpenThread {
    /// Reads a place, and refuses one where `viewer` may write nothing. Rounds: 1.
    pub(super) async fn read(
        site: &Site,
        viewer: &User,
        news: NewsId,
        parent: Option<CommentId>,
    ) -> Result<Self, Error> {
        let thread = keys::thread(news);
        let above = parent.map(|parent| read::field(&thread, parent.to_string()));
        let reads = (News::by_id(news), numbers(news).stored(), above, Subscribers::of(news));
        let (news, counters, above, subscribers) = site.store.fetch(reads).await?;
        let news = news.ok_or(Refusal::NoSuchNews)?;
        news.refuse_if_gone(viewer)?;
        news.refuse_if_locked()?;
        let drawn = counters.first().and_then(Option::as_deref);
        let drawn: u64 = fields::read(drawn, || thread, NEXT_ID).unwrap_or(0);
        if drawn >= limits::MAX_COMMENTS_PER_THREAD {
            return Err(Refusal::ThreadFull { limit: limits::MAX_COMMENTS_PER_THREAD }.into());
        }
        let mut authors = vec![news.user_id];
        let above = parent.zip(above.flatten());
        if parent.is_some() {
            let comment = above.as_ref().and_then(|(id, json)| Comment::read(news.id, &id.to_string(), json));
            let comment = comment.ok_or(Refusal::NoSuchParent)?;
            comment.refuse_if_gone(viewer)?;
            authors.push(comment.user_id);
        }
        let audience = CommentAudience { authors, subscribers };
        Ok(Self { news, above, counters, audience })
    }

    /// Makes a batch fail if the story or the comment above has been deleted, withheld or locked since
    /// they were read. A vote on the comment above fails it too: then they are read again.
    pub(super) fn check(&self, batch: &mut Batch) {
        self.news.check_state(batch);
        self.news.check_not_locked(batch);
        if let Some((id, json)) = &self.above {
            batch.field_equals(keys::thread(self.news.id), id.to_string(), json);
        }
    }
}

/// Changes the text of the viewer's own comment. Those whom only the new text mentions are told,
/// which counts as a comment, so that nobody is told again and again.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::NoSuchComment`], [`Refusal::NewsDeleted`], [`Refusal::ThreadLocked`],
/// [`Refusal::TooManyRequests`], the refusals of [`Comment::may_edit`], or the store's.
pub async fn edit_comment(
    site: &Site,
    now: Timestamp,
    viewer: Actor<'_>,
    address: CommentAddress,
    body: &Body,
) -> Result<Comment, Error> {
    viewer.demand_may_post(now)?;
    let has_spent = AtomicBool::new(false);
    let request = viewer.user.request.as_ref();
    site.act(&keys::thread(address.news), || async {
        let mut stored = read_stored(site, address).await?;
        stored.news.refuse_if_gone(&viewer)?;
        stored.news.refuse_if_locked()?;
        stored.comment.may_edit(&viewer, now, site.rules.limits.comment_edit_seconds)?;
        let is_held = matches!(stored.comment.withheld, Some(Withheld::Held(_)));
        trust::refuse_many_links(site, now, viewer.user, StoredText::Formatted(body.as_str()))?;
        admission::admit_edit(site, now, viewer.user, (checked(body), is_held)).await?;
        let texts = [stored.comment.body.as_str(), body.as_str()].map(StoredText::Formatted);
        if notify::mentions_more(texts) && !has_spent.swap(true, Ordering::Relaxed) {
            viewer.spend(site, Moment::from_timestamp(now), RatedAction::Comment).await?;
        }
        let place = (address, stored.comment.user_id);
        if is_held {
            // Nobody was told of it yet.
            stored.comment.edit(body.as_str().to_owned(), now);
            let mut batch = replacement(address, &stored.json, &stored.comment);
            stored.news.check_not_locked(&mut batch);
            let done = Posted::changed(CommentChange::Update, address, &stored.comment);
            return Decision::commit(batch, stored.comment).once(request, &done);
        }
        let announced = Reannouncement::read(site, Moment::from_timestamp(now), place, texts).await?;
        stored.comment.edit(body.as_str().to_owned(), now);
        let mut batch = replacement(address, &stored.json, &stored.comment);
        stored.news.check_not_locked(&mut batch);
        announced.write(&mut batch);
        let done = Posted::changed(CommentChange::Update, address, &stored.comment);
        Decision::commit(batch, stored.comment).once(request, &done)
    })
    .await
}

/// Deletes a comment, and its entries in inboxes. Deleting it again changes nothing. Rounds: 4,
/// and one more if it mentions anybody.
///
/// # Errors
/// [`Refusal::NoSuchComment`], the refusals of [`Comment::may_delete`], or the store's.
pub async fn delete_comment(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    address: CommentAddress,
) -> Result<Comment, Error> {
    let thread = keys::thread(address.news);
    let request = viewer.request.as_ref();
    let deleted = site.act(&thread, || async {
        let mut stored = read_stored(site, address).await?;
        if !stored.news.is_seen_by(viewer) {
            return Err(Refusal::NoSuchNews.into());
        }
        if stored.comment.deleted && viewer.id == stored.comment.user_id {
            let done = Posted::changed(CommentChange::Delete, address, &stored.comment);
            return Decision::Done((stored.comment, None)).once(request, &done);
        }
        stored.comment.may_delete(viewer, now, site.rules.limits.comment_edit_seconds)?;
        // A removed or held comment is not counted.
        let is_counted = stored.news.comments > 0 && !stored.comment.is_gone();
        stored.comment.deleted = true;
        let done = Posted::changed(CommentChange::Delete, address, &stored.comment);
        if stored.comment.withheld.as_ref().is_some_and(Withheld::is_unlisted) {
            // It is in no count and no inbox.
            let mut batch = replacement(address, &stored.json, &stored.comment);
            if matches!(stored.comment.withheld, Some(Withheld::Held(_))) {
                review::settle(&mut batch, &Thing::Comment(address));
            }
            withdrawal::forget(&mut batch, address);
            return Decision::commit(batch, (stored.comment, None)).once(request, &done);
        }
        let (moment, deleted) = (Moment::from_timestamp(now), (address, &stored.comment));
        let retraction = Retraction::read(site, moment, deleted, stored.news.user_id).await?;
        let mut batch = replacement(address, &stored.json, &stored.comment);
        if is_counted {
            batch.field_at_least(keys::news(address.news), "comments", 1);
            batch.increment_field(keys::news(address.news), "comments", -1);
        }
        // A comment that readers have flagged still needs a decision: its row stays.
        retraction.write(&mut batch);
        withdrawal::forget(&mut batch, address);
        Decision::commit(batch, (stored.comment, Some(retraction))).once(request, &done)
    });
    let (comment, retraction) = deleted.await?;
    site.of::<ActionCounters>().count(CountedAction::Deletion);
    tracing::info!(target: AUDIT, by = viewer.username, news = %address.news, comment = %address.comment, "deleted a comment");
    if let Some(retraction) = retraction {
        retraction.begin(site);
    }
    Ok(comment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passwords::PasswordWorker;
    use crate::site::Applied;
    use crate::values::rules::Rules;
    use tidings_keyspace::Store;

    #[test]
    fn a_comment_of_the_original_survives_reading_and_writing() {
        let json = r#"{"score":0,"body":"Hi","parent_id":-1,"user_id":"7","ctime":1323269000,"up":[7,"8"],"mood":"fine"}"#;
        let comment = Comment::from_field("15", json).unwrap();
        assert_eq!((comment.id, comment.user_id, comment.parent_id), (CommentId(15), UserId(7), None));
        assert_eq!(
            (comment.up.as_slice(), comment.down.as_slice(), comment.deleted),
            ([7, 8].as_slice(), [].as_slice(), false)
        );
        let again = Comment::from_field("15", &comment.to_json()).unwrap();
        assert_eq!(again, comment);
        assert!(comment.to_json().contains(r#""mood":"fine""#));
        assert!(comment.to_json().contains(r#""score":2"#));
    }

    #[test]
    fn the_state_of_a_withheld_comment_survives_reading_and_writing() {
        let unreadable = || Some(Withheld::Unreadable("damaged".into()));
        for (json, state, deleted) in [
            (r#""withheld":"removed:spam","del":1"#, Some(Withheld::Removed("spam".into())), false),
            (r#""withheld":"held:first","mood":"fine""#, Some(Withheld::Held("first".into())), false),
            (r#""withheld":"flagged:","del":1"#, Some(Withheld::Flagged), true),
            (r#""withheld":"damaged""#, unreadable(), false),
            (r#""withheld":"damaged","mood":"fine""#, unreadable(), false),
        ] {
            let json = format!(
                r#"{{"body":"b","ctime":1,"user_id":1,"parent_id":-1,"score":1,"up":[1],"down":[],{json}}}"#
            );
            let comment = Comment::from_field("1", &json).unwrap();
            assert_eq!(comment.withheld, state, "{json}");
            assert_eq!(comment.deleted, deleted, "{json}");
            let again = comment.to_json();
            let [json, again]: [Value; 2] = [&json, &again].map(|json| serde_json::from_str(json).unwrap());
            assert_eq!(again, json);
        }
    }

    async fn site() -> Site {
        Site::new(Store::in_memory().await.unwrap(), Rules::default(), PasswordWorker::default())
    }

    fn person(id: &str, flags: &str) -> User {
        let fields = [("id", id), ("username", "somebody"), ("flags", flags)];
        let owned = |(field, value): (&str, &str)| (field.to_owned(), value.to_owned());
        User::from_hash(&tidings_keyspace::Hash(fields.map(owned).to_vec())).unwrap()
    }

    #[tokio::test]
    async fn a_comment_finds_no_place_where_a_story_or_a_parent_has_gone_meanwhile() {
        let gone: [(&str, &str, &str); 7] = [
            ("news:7", "del", "1"),
            ("news:7", "withheld", "removed:spam"),
            ("news:7", "withheld", "merged:8"),
            ("news:7", "withheld", "held:"),
            ("news:7", "locked", "3:quarrel"),
            (
                "thread:comment:7",
                "1",
                r#"{"body":"b","parent_id":-1,"user_id":2,"ctime":1,"up":[2],"del":1}"#,
            ),
            (
                "thread:comment:7",
                "1",
                r#"{"body":"b","parent_id":-1,"user_id":2,"ctime":1,"up":[2],"withheld":"removed:spam"}"#,
            ),
        ];
        let (news, held) = (NewsId(7), CommentAddress { news: NewsId(7), comment: CommentId(2) });
        for (key, field, value) in gone {
            let site = site().await;
            let mut batch = Batch::new();
            let story = [("id", "7"), ("title", "t"), ("url", "text://t"), ("user_id", "1"), ("ctime", "1")];
            batch.set_fields("news:7", story);
            batch.set_fields("user:2", [("id", "2"), ("username", "bob")]);
            let parent = r#"{"body":"b","parent_id":-1,"user_id":2,"ctime":1,"up":[2]}"#;
            let reply = r#"{"body":"c","parent_id":1,"user_id":2,"ctime":1,"up":[2],"withheld":"held:"}"#;
            batch.set_fields("thread:comment:7", [("nextid", "2"), ("1", parent), ("2", reply)]);
            site.store.commit(batch).await.unwrap();
            let now = Moment(1_800_000_000_000);
            let open = OpenThread::read(&site, &person("2", ""), news, Some(CommentId(1))).await.unwrap();
            let found = held::HeldComment::find(&site, held).await.unwrap().unwrap();
            let moderator = person("3", "m");
            let publication = held::CommentPublication::read(&site, now, &moderator, found).await.unwrap();

            let mut batch = Batch::new();
            batch.set_field(key, field, value);
            site.store.commit(batch).await.unwrap();
            let (mut new, mut approved) = (Batch::new(), Batch::new());
            open.check(&mut new);
            publication.write(&mut approved, now);
            for batch in [new, approved] {
                assert!(matches!(site.apply(batch).await.unwrap(), Applied::No(_)), "{key} {field} {value}");
            }
            // The next attempt says why.
            assert!(OpenThread::read(&site, &person("2", ""), news, Some(CommentId(1))).await.is_err());
        }
    }

    #[test]
    fn votes_that_are_not_a_list_count_as_none() {
        let json = r#"{"body":"b","parent_id":-1,"user_id":1,"ctime":1,"up":null,"down":"x"}"#;
        let comment = Comment::from_field("1", json).unwrap();
        assert_eq!((comment.up.len(), comment.down.len()), (0, 0));
    }

    #[test]
    fn what_is_not_a_comment_is_skipped() {
        for (field, json) in [
            ("nextid", "15"),
            ("1", "15"),
            ("1", "{}"),
            ("1", ""),
            ("1", "not json"),
            ("x", r#"{"body":"b"}"#),
        ] {
            assert_eq!(Comment::from_field(field, json), None, "{field} {json}");
        }
    }

    #[test]
    fn a_user_votes_once_in_one_direction() {
        let json = r#"{"body":"b","parent_id":-1,"user_id":1,"ctime":1,"up":[1]}"#;
        let mut comment = Comment::from_field("1", json).unwrap();
        let state = |up, down, is_up| Refusal::VotedAlready(Some(VoteState { is_up: Some(is_up), up, down }));
        assert_eq!(comment.vote(UserId(1), Direction::Down), Err(state(1, 0, true)));
        assert_eq!(comment.vote(UserId(2), Direction::Down), Ok(()));
        assert_eq!(comment.vote(UserId(2), Direction::Up), Err(state(1, 1, false)));
        assert_eq!(comment.score(), 0);
    }
}
