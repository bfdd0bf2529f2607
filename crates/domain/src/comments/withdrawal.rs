//! Comments that a moderator removes: the entries about them leave the inboxes and the story no
//! longer counts them, but they keep their text and their place in the thread, and can be put back
//! exactly.
//!
//! If only a few inboxes are concerned, the record of the removal has the entries that left them. If
//! the thread has many subscribers, a job takes the entries away and notes each in a sorted set, and
//! another puts the noted entries back. Each of the two may begin while the other is not done.

use super::comment::{self, Comment, StoredComment};
use super::notify::{Concerned, NOTIFY};
use crate::accounts::inbox::{
    EntryId, Removal, Replacement, Returning, Taken, TakenEntry, Withdrawing, Withdrawn,
};
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::jobs::{self, Job, JobKind, Paused, Step, StepOutcome, members};
use crate::keys;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::{CommentAddress, ModerationId, UserId};
use crate::values::limits::DELIVERY_CHUNK;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, Order, read};

/// The jobs `withdraw:<news id>-<comment id>`, which take the entries about a removed comment away
/// from the subscribers of its thread.
pub(crate) const WITHDRAW: JobKind =
    JobKind { name: "withdraw", step: |current| Box::pin(withdraw(current)) };
/// The jobs `return:<news id>-<comment id>`, which put back what those have taken away.
pub(crate) const RETURN: JobKind = JobKind { name: "return", step: |current| Box::pin(put_back(current)) };

/// The field of the record that says that the story counted the comment.
const COUNTED: &str = "counted";
/// The field of the record that says that a job takes entries away from the subscribers.
const LARGE: &str = "large";
/// The field of the record with how far the job was that told the subscribers.
const NOTIFYING: &str = "notifying";

/// Whether a state keeps a comment out of all lists and counts.
fn is_unlisted(state: Option<&Withheld>) -> bool {
    state.is_some_and(Withheld::is_unlisted)
}

/// A comment that is about to be removed, with what was read for it.
pub(crate) struct CommentWithdrawal {
    address: CommentAddress,
    /// The comment as it will be.
    comment: Comment,
    json: String,
    earlier: Option<Withheld>,
    removal: Removal,
    is_counted: bool,
    is_large: bool,
    notifying: Option<Paused>,
}

impl CommentWithdrawal {
    /// Reads what the removal of a comment needs. Rounds: 2, one more if it mentions anybody, and
    /// one if the thread has many subscribers.
    pub(crate) async fn read(
        site: &Site,
        address: CommentAddress,
        StoredComment { mut comment, json, news }: StoredComment,
        state: Withheld,
    ) -> Result<Self, Error> {
        let earlier = comment.withhold(Some(state));
        // A comment that waits for approval is not counted, and nobody was notified of it.
        let was_listed = !is_unlisted(earlier.as_ref());
        let (mut removal, mut is_large, mut notifying) = (Removal::default(), false, None);
        if was_listed {
            let concerned = Concerned::read(site, (address, &comment), news.user_id).await?;
            removal = Removal::read(site, concerned.entries).await?;
            is_large = concerned.is_large;
        }
        if is_large {
            notifying = site.store.fetch(Paused::of(Job::new(NOTIFY.name, address))).await?;
        }
        let is_counted = was_listed && news.comments > 0;
        Ok(Self { address, comment, json, earlier, removal, is_counted, is_large, notifying })
    }
}

impl Withdrawing for CommentWithdrawal {
    fn write(&self, batch: &mut Batch, now: Moment, line: ModerationId) {
        let (address, news) = (self.address, keys::news(self.address.news));
        comment::write_change(batch, address, &self.json, &self.comment);
        let rest = [
            self.is_counted.then(|| (COUNTED, "1".to_owned())),
            self.is_large.then(|| (LARGE, "1".to_owned())),
            self.notifying.as_ref().map(|paused| (NOTIFYING, paused.progress())),
        ];
        let record = (line, self.earlier.as_ref(), &self.removal.taken());
        Withdrawn::write(batch, &Thing::Comment(address), record, rest.into_iter().flatten());
        if self.is_counted {
            batch.field_at_least(&news, "comments", 1);
            batch.increment_field(news, "comments", -1);
        }
        self.removal.write(batch);
        if self.is_large {
            match &self.notifying {
                Some(paused) => paused.write(batch),
                None => jobs::remove(batch, &Job::new(NOTIFY.name, address)),
            }
            jobs::remove(batch, &Job::new(RETURN.name, address));
            jobs::add(batch, &Job::new(WITHDRAW.name, address), now, self.comment.user_id);
        }
    }

    fn job(&self) -> Option<Job> {
        self.is_large.then(|| Job::new(WITHDRAW.name, self.address))
    }
}

/// A removed comment that is about to be put back, with what was read for it.
pub(crate) struct CommentReturn {
    address: CommentAddress,
    /// The comment as it will be.
    comment: Comment,
    json: String,
    record: Withdrawn,
    entries: Replacement,
}

impl CommentReturn {
    /// Reads what is needed to put a comment back. Rounds: 1.
    pub(crate) async fn read(
        site: &Site,
        address: CommentAddress,
        StoredComment { mut comment, json, .. }: StoredComment,
        record: Withdrawn,
    ) -> Result<Self, Error> {
        comment.withhold(record.earlier.clone());
        let entries = Replacement::read(site, record.entries.clone()).await?;
        Ok(Self { address, comment, json, record, entries })
    }

    fn has(&self, field: &str) -> bool {
        self.record.rest::<u8>(field) == Some(1)
    }
}

impl Returning for CommentReturn {
    fn write(&self, batch: &mut Batch, _: &Site, now: Moment) {
        let address = self.address;
        comment::write_change(batch, address, &self.json, &self.comment);
        self.record.forget(batch);
        if self.has(COUNTED) {
            batch.increment_field(keys::news(address.news), "comments", 1);
        }
        self.entries.write(batch);
        if self.has(LARGE) {
            jobs::remove(batch, &Job::new(WITHDRAW.name, address));
            jobs::add(batch, &Job::new(RETURN.name, address), now, self.comment.user_id);
        }
        if let Some(progress) = self.record.rest::<String>(NOTIFYING) {
            jobs::resume(batch, &Job::new(NOTIFY.name, address), &progress, now);
        }
    }

    fn jobs(&self, _: &Site) -> Vec<Job> {
        let notifies = self.record.rest::<String>(NOTIFYING).is_some();
        let kinds = [(self.has(LARGE), RETURN.name), (notifies, NOTIFY.name)];
        let starting = kinds.into_iter().filter(|(is_there, _)| *is_there);
        starting.map(|(_, name)| Job::new(name, self.address)).collect()
    }
}

/// Adds to the batch that deletes a comment that its removal is forgotten, if it was removed.
pub(super) fn forget(batch: &mut Batch, address: CommentAddress) {
    batch.delete(keys::withdrawn(&Thing::Comment(address)));
    batch.delete(keys::withdrawn_from_subscribers(address));
    for kind in [&WITHDRAW, &RETURN] {
        jobs::remove(batch, &Job::new(kind.name, address));
    }
}

/// One step: takes the entry away from some subscribers, and notes it.
async fn withdraw(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(address) = current.subject::<CommentAddress>() else {
        return Ok(current.skip());
    };
    let subscribers = members::of(current, keys::news_subscribers(address.news));
    let (removed, chunk) = current.site.store.fetch((Comment::at(address), subscribers)).await?;
    let Some(_) = removed.filter(|comment| is_unlisted(comment.withheld.as_ref())) else {
        // It was put back or deleted, which has removed this job.
        return Ok(current.finish(current.batch()));
    };
    let entries = chunk.ids.into_iter().map(|user| (user, EntryId::Reply(address)));
    let removal = Removal::read(current.site, entries).await?;
    let mut batch = current.batch();
    removal.write(&mut batch);
    for entry in removal.taken().0 {
        batch.sorted_add(keys::withdrawn_from_subscribers(address), entry.to_string(), number_of(entry.user));
    }
    Ok(match chunk.next {
        Some(next) => current.advance(batch, &next),
        None => current.finish(batch),
    })
}

const fn number_of(user: UserId) -> f64 {
    user.0 as f64
}

/// One step: puts some of the entries back that were noted.
async fn put_back(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(address) = current.subject::<CommentAddress>() else {
        return Ok(current.skip());
    };
    let key = keys::withdrawn_from_subscribers(address);
    let noted = current
        .site
        .store
        .fetch(read::sorted_range(&key, Order::Ascending, 0, DELIVERY_CHUNK as u64))
        .await?;
    let is_last = noted.len() < DELIVERY_CHUNK;
    let entries: Vec<TakenEntry> =
        fields::members(noted.iter(), &key, |(member, _)| member.parse::<TakenEntry>().ok());
    let replacement = Replacement::read(current.site, Taken(entries)).await?;
    let mut batch = current.batch();
    replacement.write(&mut batch);
    for (member, _) in &noted {
        batch.sorted_remove(&key, member);
    }
    Ok(if is_last { current.finish(batch) } else { current.advance(batch, &[]) })
}
