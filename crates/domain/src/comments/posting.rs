//! Posting, editing and deleting comments.

use super::comment::{Comment, read_stored};
use super::notify::{self, CommentAudience, CommentNotice, Subscribers};
use crate::accounts::origins::{self, Origin};
use crate::accounts::{admission, origin_bans, trust};
use crate::action::Logging;
use crate::draws::{Draw, NEXT_ID, Sequence};
use crate::marks::PendingMarks;
use crate::post_rules::CheckedPost;
use crate::values::{
    Body, CommentAddress, CommentId, ItemNumber, MAX_COMMENTS_PER_THREAD, Moment, NewsId, RatedAction, Thing,
    Timestamp, UserId, Withheld, named,
};
use crate::{
    AUDIT, Actor, CountedAction, Decision, Error, Item, KeptAnswer, News, Refusal, Result, Site, User,
    fields, hooks, items, keys, records, review,
};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use strum::{EnumString, IntoStaticStr};
use tidings_keyspace::{Batch, read};
use tidings_text::stored_text::StoredText;

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
/// [`Refusal::Silenced`], [`Refusal::NoSuchNews`], [`Refusal::Closed`],
/// [`Refusal::NoSuchParent`], [`Refusal::BlockedBy`],
/// [`Refusal::ThreadFull`], the refusals of a story or parent that is removed or held,
/// [`Refusal::TooManyRequests`], [`Refusal::RefusedByRule`], or the store's.
pub async fn post_comment(
    site: &Site,
    now: Timestamp,
    author: Actor<'_>,
    CommentDraft { news, parent, body, speaks_as_moderator }: CommentDraft<'_>,
) -> Result<Posted> {
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
    let posted = site.act(&thread, || async {
        let open = OpenThread::read(site, author.user, news, parent).await?;
        let mut batch = Batch::new();
        let [id, item] = draw.take(site, &open.counters, &mut batch).await?;
        // Others may have drawn the last ids meanwhile.
        Refusal::ThreadFull { limit: MAX_COMMENTS_PER_THREAD }.when(id > MAX_COMMENTS_PER_THREAD)?;
        let address = CommentAddress { news, comment: CommentId(id) };
        let mut comment = Comment::new((address, parent), author.id, body, now);
        comment.withheld = waits.clone().map(Withheld::Held);
        comment.speaks_as_moderator = speaks_as_moderator.is_some();
        let done = Posted { change: CommentChange::Insert, address, parent, waits: waits.is_some() };
        items::write(&mut batch, Item::Comment(address), ItemNumber(item));
        if let Some(log) = speaks_as_moderator {
            log(site, &mut batch, (now, author.id), address).await?;
        }
        let mut announcement = None;
        if done.waits {
            review::enqueue(&mut batch, &Thing::Comment(address), now);
        } else {
            let notice = CommentNotice::read(site, moment, &comment, &open.audience).await?;
            if let Some(user) = open.audience.replied_to() {
                Refusal::BlockedBy.when(notice.is_blocked_by(user))?;
                // If this fails, the next attempt refuses.
                batch.field_absent(keys::user_blocks(user), author.id.to_string());
            }
            notice.write(&mut batch);
            hooks::write(&mut batch, &hooks::Event::Comment(address));
            announcement = Some(notice);
        }
        open.check(&mut batch);
        let unused = records::add(&mut batch, [&comment]);
        origins::write(origin.as_ref(), &mut batch, now, author.id);
        let decision = author.decide(batch, (done, announcement), &done)?;
        Ok(decision.if_rejected_by(unused, Err(Error::Busy)))
    });
    let (done, announcement) = posted.await?;
    if let Some(announcement) = announcement {
        announcement.begin(site);
    }
    site.count(CountedAction::Comment);
    site.of::<PendingMarks>().note_own(now, author.id, news);
    Ok(done)
}

/// The numbers of a new comment: its id in the thread, and that of the item.
fn numbers(story: NewsId) -> Draw<2> {
    Draw::new([(Sequence::Comments(story), 1), (Sequence::Items, 1)])
}

/// A kind of change to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, EnumString, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CommentChange {
    /// The comment was written.
    Insert,
    /// The comment was edited.
    Update,
    /// The comment was deleted.
    Delete,
}

named!(CommentChange);

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
    pub const fn changed(change: CommentChange, comment: &Comment) -> Self {
        Self { change, address: comment.address(), parent: comment.parent_id, waits: false }
    }
}

impl KeptAnswer for Posted {
    fn to_text(&self) -> String {
        (self.change.name().to_owned(), (self.address, (self.parent, self.waits))).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (change, (address, (parent, waits))) =
            <(String, (CommentAddress, (Option<CommentId>, bool)))>::from_text(text)?;
        Some(Self { change: change.parse().ok()?, address, parent, waits })
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
    ) -> Result<Self> {
        let thread = keys::thread(news);
        let above = parent.map(|parent| read::field(&thread, parent.to_string()));
        let reads = (News::by_id(news), numbers(news).stored(), above, Subscribers::of(news));
        let (news, counters, above, subscribers) = site.store.fetch(reads).await?;
        let news = news.ok_or(Refusal::NoSuchNews)?;
        news.state().demand_open(viewer)?;
        news.refuse_if_locked()?;
        let drawn = counters.first().and_then(Option::as_deref);
        let drawn: u64 = fields::read(drawn, || thread, NEXT_ID).unwrap_or(0);
        Refusal::ThreadFull { limit: MAX_COMMENTS_PER_THREAD }.when(drawn >= MAX_COMMENTS_PER_THREAD)?;
        let mut authors = vec![news.user_id];
        let above = parent.zip(above.flatten());
        if parent.is_some() {
            let comment = above.as_ref().and_then(|(id, json)| Comment::read(news.id, &id.to_string(), json));
            let comment = comment.ok_or(Refusal::NoSuchParent)?;
            comment.state().demand_open(viewer)?;
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
/// [`Refusal::Silenced`], [`Refusal::NoSuchComment`], [`Refusal::Closed`], [`Refusal::ThreadLocked`],
/// [`Refusal::TooManyRequests`], the refusals of [`Comment::may_edit`], or the store's.
pub async fn edit_comment(
    site: &Site,
    now: Timestamp,
    viewer: Actor<'_>,
    address: CommentAddress,
    body: &Body,
) -> Result<Comment> {
    viewer.demand_may_post(now)?;
    let has_spent = AtomicBool::new(false);
    let request = viewer.user.request.as_ref();
    site.act(&keys::thread(address.news), || async {
        let stored = read_stored(site, address).await?;
        stored.news.state().demand_open(&viewer)?;
        stored.news.refuse_if_locked()?;
        let before = &stored.comment;
        before.may_edit(&viewer, now, site.rules.limits.comment_edit_seconds)?;
        let is_held = before.withheld.as_ref().is_some_and(Withheld::is_held);
        trust::refuse_many_links(site, now, viewer.user, StoredText::Formatted(body.as_str()))?;
        admission::admit_edit(site, now, viewer.user, (checked(body), is_held)).await?;
        let texts = [before.body.as_str(), body.as_str()].map(StoredText::Formatted);
        if !notify::names_added(texts).is_empty() && !has_spent.swap(true, Ordering::Relaxed) {
            viewer.spend(site, Moment::from_timestamp(now), RatedAction::Comment).await?;
        }
        let mut batch = Batch::new();
        // A comment that waits notifies nobody.
        if !is_held {
            let place = (address, before.user_id);
            CommentNotice::of_edit(site, Moment::from_timestamp(now), place, texts).await?.write(&mut batch);
        }
        let mut comment = Comment::clone(before);
        comment.edit(body.as_str().to_owned(), now);
        records::change(&mut batch, before, &comment);
        stored.news.check_not_locked(&mut batch);
        let done = Posted::changed(CommentChange::Update, &comment);
        Decision::commit(batch, comment).once(request, &done)
    })
    .await
}

/// Deletes a comment. It notifies nobody any more, and inboxes no longer show it. Deleting it again changes nothing.
/// Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchComment`], the refusals of [`Comment::may_delete`], or the store's.
pub async fn delete_comment(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    address: CommentAddress,
) -> Result<Comment> {
    let (thread, request) = (keys::thread(address.news), viewer.request.as_ref());
    let deleted = site.act(&thread, || async {
        let stored = read_stored(site, address).await?;
        stored.news.state().demand_known(viewer)?;
        let before = &stored.comment;
        if before.deleted && viewer.id == before.user_id {
            let done = Posted::changed(CommentChange::Delete, before);
            return Decision::Done(Comment::clone(before)).once(request, &done);
        }
        before.may_delete(viewer, now, site.rules.limits.comment_edit_seconds)?;
        let mut comment = Comment::clone(before);
        comment.deleted = true;
        let mut batch = Batch::new();
        records::change(&mut batch, before, &comment);
        // A comment that readers have flagged still needs a decision: its row stays.
        if comment.withheld.as_ref().is_some_and(Withheld::is_held) {
            review::settle(&mut batch, &Thing::Comment(address));
        }
        let done = Posted::changed(CommentChange::Delete, &comment);
        Decision::commit(batch, comment).once(request, &done)
    });
    let comment = deleted.await?;
    site.count(CountedAction::Deletion);
    tracing::info!(target: AUDIT, by = viewer.username, news = %address.news, comment = %address.comment, "deleted a comment");
    Ok(comment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Applied;
    use crate::comments::held::CommentPublication;

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
            let site = Site::in_memory().await;
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
            let found = read_stored(&site, held).await.unwrap();
            let moderator = person("3", "m");
            let publication = CommentPublication::read(&site, now, &moderator, found).await.unwrap();

            site.store.commit(Batch::of(|batch| batch.set_field(key, field, value))).await.unwrap();
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
}
