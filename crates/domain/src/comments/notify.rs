//! Telling people of a comment in their inboxes: the author of the story, the author of the
//! comment that it replies to, the subscribers of the thread, and those whom it mentions.
//!
//! A few subscribers are told in the batch that posts the comment. If there are more, a job
//! tells them all, so that posting costs the same in every thread. It goes on while the comment is removed, and ends
//! when it is deleted.

use crate::accounts::mentioned::{names_in, users_named};
use crate::accounts::{Delivery, EntryId, Notified};
use crate::jobs::{self, Job, JobKind, Jobs, Step, StepOutcome, members};
use crate::values::{CommentAddress, Moment, NewsId, SUBSCRIBERS_AT_ONCE, UserId};
use crate::{Comment, Decision, Result, Site, fields, keys};
use tidings_keyspace::{Batch, Fetch, Order, read};
use tidings_text::stored_text::StoredText;

/// The jobs `notify:<news id>-<comment id>`, which tell the subscribers of a thread.
pub(crate) const NOTIFY: JobKind = JobKind { name: "notify", step: |current| Box::pin(notify(current)) };

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
        comment: &Comment,
        audience: &CommentAudience,
    ) -> Result<Self> {
        let (address, author) = (comment.address(), comment.user_id);
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
    pub(crate) async fn of_first_comment(site: &Site, now: Moment, comment: &Comment) -> Result<Self> {
        let audience = CommentAudience { authors: Vec::new(), subscribers: Subscribers::Few(Vec::new()) };
        Self::read(site, now, comment, &audience).await
    }

    /// Reads who is told of another text of a comment: those whom only the new one mentions. Those whom it mentions no longer
    /// are not shown their entries. Rounds: none if it mentions nobody else, else at most 4.
    pub(crate) async fn of_edit(
        site: &Site,
        now: Moment,
        (address, author): (CommentAddress, UserId),
        texts: [StoredText<'_>; 2],
    ) -> Result<Self> {
        let notified = mentions(site, now, author, &names_added(texts)).await?;
        let entries: Vec<_> = notified.people.iter().map(|user| (*user, EntryId::Mention(address))).collect();
        let delivery = Delivery::read(site, Some(author), &entries).await?;
        Ok(Self { delivery, notified, job: None, author, now })
    }

    /// Whether somebody whom the comment concerns has blocked its author.
    pub(super) fn is_blocked_by(&self, user: UserId) -> bool {
        self.delivery.is_blocked_by(user)
    }

    /// Adds it to the batch that posts or edits the comment.
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
async fn mentions(site: &Site, now: Moment, author: UserId, names: &[String]) -> Result<Notified> {
    let mut people = users_named(site, names).await?;
    people.retain(|user| *user != author);
    Notified::choose(site, now, author, &people).await
}

/// The names that a text mentions, and the text before it did not.
pub(super) fn names_added([old, new]: [StoredText<'_>; 2]) -> Vec<String> {
    let old = names_in(old);
    names_in(new).into_iter().filter(|name| !old.contains(name)).collect()
}

/// One step: tells some subscribers.
async fn notify(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(address) = current.subject::<CommentAddress>() else { return Ok(current.skip()) };
    let subscribers = members::of(current, keys::news_subscribers(address.news));
    let (comment, chunk) = current.site.store.fetch((Comment::at(address), subscribers)).await?;
    let Some(comment) = comment.filter(|comment| !comment.deleted) else {
        // There is nothing left to tell.
        return Ok(current.finish(current.batch()));
    };
    let people = chunk.ids.into_iter().filter(|user| *user != comment.user_id);
    let entries: Vec<_> = people.map(|user| (user, EntryId::Reply(address))).collect();
    let delivery = Delivery::read(current.site, Some(comment.user_id), &entries).await?;
    let mut batch = current.batch();
    delivery.write(&mut batch, comment.ctime.as_score());
    Ok(match chunk.next {
        Some(next) => current.advance(batch, &next),
        None => current.finish(batch),
    })
}
