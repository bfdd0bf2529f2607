//! Telling people of a comment in their inboxes: the author of the story, the author of the
//! comment that it replies to, the subscribers of the thread, and those whom it mentions.
//!
//! A few subscribers are told in the batch that posts the comment. If there are more, a job
//! tells them all, so that posting costs the same in every thread. The same holds for taking
//! the entries away when the comment is deleted.

use super::comment::Comment;
use crate::accounts::inbox::{Delivery, EntryId, Removal};
use crate::accounts::mentioned::{ids_by_name, names_in, users_named};
use crate::accounts::notified::Notified;
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::jobs::{self, Job, JobKind, Jobs, Step, StepOutcome, members};
use crate::keys;
use crate::site::Site;
use crate::values::clock::Moment;
use crate::values::ids::{CommentAddress, NewsId, UserId};
use crate::values::limits::SUBSCRIBERS_AT_ONCE;
use tidings_keyspace::{Batch, Fetch, Order, read};
use tidings_text::stored_text::StoredText;

/// The jobs `notify:<news id>-<comment id>`, which tell the subscribers of a thread.
pub(crate) const NOTIFY: JobKind = JobKind { name: "notify", step: |current| Box::pin(notify(current)) };
/// The jobs `retract:<news id>-<comment id>`, which take away what those have added.
pub(crate) const RETRACT: JobKind = JobKind { name: "retract", step: |current| Box::pin(retract(current)) };

/// The subscribers of a thread.
pub(super) enum Subscribers {
    /// All of them.
    Few(Vec<UserId>),
    /// More than are told at once.
    Many,
}

impl Subscribers {
    /// Those of a thread.
    pub(super) fn of(news: NewsId) -> impl Fetch<Value = Self> {
        let (key, most) = (keys::news_subscribers(news), SUBSCRIBERS_AT_ONCE as u64 + 1);
        read::sorted_range(&key, Order::Ascending, 0, most).map(move |found| {
            if found.len() > SUBSCRIBERS_AT_ONCE {
                return Self::Many;
            }
            Self::Few(fields::members(found, &key, |(member, _)| member.parse().ok()))
        })
    }
}

/// The people whom a comment concerns, besides those whom it mentions.
pub(super) struct CommentAudience {
    /// The authors of the story and of the comment that it replies to.
    pub(super) authors: Vec<UserId>,
    /// The subscribers of the thread.
    pub(super) subscribers: Subscribers,
}

impl CommentAudience {
    /// The author whom the comment replies to: that of the comment above it, or of the story.
    pub(super) fn replied_to(&self) -> Option<UserId> {
        self.authors.last().copied()
    }

    /// The entries about a comment for those who are told at once.
    fn entries(&self, address: CommentAddress) -> impl Iterator<Item = (UserId, EntryId)> {
        let few = match &self.subscribers {
            Subscribers::Few(people) => people.as_slice(),
            Subscribers::Many => &[],
        };
        self.authors.iter().chain(few).map(move |user| (*user, EntryId::Reply(address)))
    }

    const fn is_large(&self) -> bool {
        matches!(self.subscribers, Subscribers::Many)
    }
}

/// The notifications about a new comment, with the values that were read for them.
pub(crate) struct CommentNotice {
    delivery: Delivery,
    notified: Notified,
    /// The job that tells the subscribers, if there are many.
    job: Option<Job>,
    author: UserId,
    now: Moment,
}

impl CommentNotice {
    /// Reads who is told. Rounds: 1, and 3 more if the comment mentions anybody; 2 more if an
    /// inbox is full.
    pub(super) async fn read(
        site: &Site,
        now: Moment,
        (address, comment): (CommentAddress, &Comment),
        audience: &CommentAudience,
    ) -> Result<Self, Error> {
        let author = comment.user_id;
        let notified = mentions(site, now, author, &names_in(comment.stored_text())).await?;
        let mentioned = notified.people.iter().map(|user| (*user, EntryId::Mention(address)));
        let entries: Vec<_> =
            audience.entries(address).chain(mentioned).filter(|(user, _)| *user != author).collect();
        let delivery = Delivery::read(site, Some(author), &entries).await?;
        let job = audience.is_large().then(|| Job::new(NOTIFY.name, address));
        Ok(Self { delivery, notified, job, author, now })
    }

    /// Reads who is told of the first comment of a new story: whom it mentions. Rounds: none
    /// without mentions, else 4.
    pub(crate) async fn of_first_comment(
        site: &Site,
        now: Moment,
        address: CommentAddress,
        comment: &Comment,
    ) -> Result<Self, Error> {
        let audience = CommentAudience { authors: Vec::new(), subscribers: Subscribers::Few(Vec::new()) };
        Self::read(site, now, (address, comment), &audience).await
    }

    /// Whether somebody whom the comment concerns has blocked its author.
    pub(super) fn is_blocked_by(&self, user: UserId) -> bool {
        self.delivery.is_blocked_by(user)
    }

    /// Adds it to the batch that posts the comment.
    pub(crate) fn write(&self, batch: &mut Batch) {
        self.notified.write(batch);
        self.delivery.write(batch, self.now.timestamp().as_score());
        if let Some(job) = &self.job {
            jobs::add(batch, job, self.now, self.author);
        }
    }

    /// Starts the job, once the batch is applied.
    pub(super) fn begin(self, site: &Site) {
        if let Some(job) = self.job {
            site.of::<Jobs>().start_soon(job, self.now);
        }
    }
}

/// The people whom the mentions of an author notify: never the author. Rounds: 3, none without
/// names.
async fn mentions(site: &Site, now: Moment, author: UserId, names: &[String]) -> Result<Notified, Error> {
    let mut people = users_named(site, names).await?;
    people.retain(|user| *user != author);
    Notified::choose(site, now, author, &people).await
}

/// Whether a text mentions anybody whom the text before it did not mention.
pub(super) fn mentions_more([old, new]: [StoredText<'_>; 2]) -> bool {
    let old = names_in(old);
    names_in(new).iter().any(|name| !old.contains(name))
}

/// The changes in inboxes after an edit of a comment: they tell those whom only the new text
/// mentions, and take away the entries of those whom only the old text mentions.
pub(crate) struct Reannouncement {
    delivery: Delivery,
    notified: Notified,
    removal: Removal,
    now: Moment,
}

impl Reannouncement {
    /// Reads who is told. Rounds: none if both texts mention the same people, else at most 6.
    pub(crate) async fn read(
        site: &Site,
        now: Moment,
        (address, author): (CommentAddress, UserId),
        [old, new]: [StoredText<'_>; 2],
    ) -> Result<Self, Error> {
        let (old, new) = (names_in(old), names_in(new));
        let only_in = |names: &[String], others: &[String]| -> Vec<String> {
            names.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        let gone = ids_by_name(site, &only_in(&old, &new)).await?;
        let removal =
            Removal::read(site, gone.into_values().map(|user| (user, EntryId::Mention(address)))).await?;
        let notified = mentions(site, now, author, &only_in(&new, &old)).await?;
        let entries: Vec<_> = notified.people.iter().map(|user| (*user, EntryId::Mention(address))).collect();
        let delivery = Delivery::read(site, Some(author), &entries).await?;
        Ok(Self { delivery, notified, removal, now })
    }

    /// Adds it to the batch that changes the comment.
    pub(crate) fn write(&self, batch: &mut Batch) {
        self.notified.write(batch);
        self.removal.write(batch);
        self.delivery.write(batch, self.now.timestamp().as_score());
    }
}

/// The people who may have been notified of a comment.
pub(super) struct Concerned {
    /// The possible entries in the inboxes of those who are told at once.
    pub(super) entries: Vec<(UserId, EntryId)>,
    /// Whether a job tells the subscribers.
    pub(super) is_large: bool,
}

impl Concerned {
    /// Reads it. Rounds: 1, and one more if the comment mentions anybody.
    pub(super) async fn read(
        site: &Site,
        (address, comment): (CommentAddress, &Comment),
        story_author: UserId,
    ) -> Result<Self, Error> {
        let parent =
            comment.parent_id.map(|parent| Comment::at(CommentAddress { comment: parent, ..address }));
        let (subscribers, parent) = site.store.fetch((Subscribers::of(address.news), parent)).await?;
        let parent = parent.flatten().map(|parent| parent.user_id);
        let audience =
            CommentAudience { authors: parent.into_iter().chain([story_author]).collect(), subscribers };
        let mentioned = ids_by_name(site, &names_in(comment.stored_text())).await?;
        let mentioned = mentioned.into_values().map(|user| (user, EntryId::Mention(address)));
        let entries = audience.entries(address).chain(mentioned).collect();
        Ok(Self { entries, is_large: audience.is_large() })
    }
}

/// The removals from inboxes after the deletion of a comment.
pub(super) struct Retraction {
    removal: Removal,
    address: CommentAddress,
    author: UserId,
    now: Moment,
    is_large: bool,
}

impl Retraction {
    /// Reads what is taken away. Rounds: 2, and one more if the comment mentions anybody.
    pub(super) async fn read(
        site: &Site,
        now: Moment,
        (address, comment): (CommentAddress, &Comment),
        story_author: UserId,
    ) -> Result<Self, Error> {
        let concerned = Concerned::read(site, (address, comment), story_author).await?;
        let removal = Removal::read(site, concerned.entries).await?;
        Ok(Self { removal, address, author: comment.user_id, now, is_large: concerned.is_large })
    }

    /// Adds it to the batch that deletes the comment.
    pub(super) fn write(&self, batch: &mut Batch) {
        self.removal.write(batch);
        // The job that tells the subscribers may still be at work.
        jobs::remove(batch, &Job::new(NOTIFY.name, self.address));
        if self.is_large {
            jobs::add(batch, &self.job(), self.now, self.author);
        }
    }

    /// Starts the job, once the batch is applied.
    pub(super) fn begin(&self, site: &Site) {
        if let Some(job) = self.waiting_job() {
            site.of::<Jobs>().start_soon(job, self.now);
        }
    }

    /// The job that its batch adds, if it adds one.
    pub(super) fn waiting_job(&self) -> Option<Job> {
        self.is_large.then(|| self.job())
    }

    fn job(&self) -> Job {
        Job::new(RETRACT.name, self.address)
    }
}

/// One step: tells some subscribers.
async fn notify(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(address) = current.subject::<CommentAddress>() else {
        return Ok(current.skip());
    };
    let subscribers = members::of(current, keys::news_subscribers(address.news));
    let (comment, chunk) = current.site.store.fetch((Comment::at(address), subscribers)).await?;
    let Some(comment) = comment.filter(|comment| !comment.is_gone()) else {
        // There is nothing left to tell.
        return Ok(current.finish(current.batch()));
    };
    let people = chunk.ids.into_iter().filter(|user| *user != comment.user_id);
    let entries: Vec<_> = people.map(|user| (user, EntryId::Reply(address))).collect();
    let delivery = Delivery::read(current.site, Some(comment.user_id), &entries).await?;
    // The deletion of the comment removes the job, so that this batch fails.
    let mut batch = current.batch();
    delivery.write(&mut batch, comment.ctime.as_score());
    Ok(match chunk.next {
        Some(next) => current.advance(batch, &next),
        None => current.finish(batch),
    })
}

/// One step: takes the entry away from some subscribers.
async fn retract(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(address) = current.subject::<CommentAddress>() else {
        return Ok(current.skip());
    };
    let subscribers = members::of(current, keys::news_subscribers(address.news));
    let chunk = current.site.store.fetch(subscribers).await?;
    let entries = chunk.ids.into_iter().map(|user| (user, EntryId::Reply(address)));
    let removal = Removal::read(current.site, entries).await?;
    let mut batch = current.batch();
    removal.write(&mut batch);
    Ok(match chunk.next {
        Some(next) => current.advance(batch, &next),
        None => current.finish(batch),
    })
}
