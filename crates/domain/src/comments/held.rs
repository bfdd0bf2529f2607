//! Comments that wait for a moderator: stored in their thread, and in no count, list or inbox
//! until they are published.

use super::comment::{Comment, OpenThread, StoredComment, write_new};
use super::notify::CommentNotice;
use crate::accounts::users::User;
use crate::error::Error;
use crate::hooks::{self, Event};
use crate::keys;
use crate::review;
use crate::site::Site;
use crate::unseen;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::CommentAddress;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, read};

/// Adds a comment that waits to a batch, and its row in the queue.
pub(super) fn write(batch: &mut Batch, address: CommentAddress, comment: &Comment) {
    write_with_story(batch, address, comment);
    review::enqueue(batch, &Thing::Comment(address), comment.ctime);
}

/// The same for the first comment of a story that waits: it has no row of its own.
pub(crate) fn write_with_story(batch: &mut Batch, address: CommentAddress, comment: &Comment) {
    batch.set_field(keys::thread(address.news), address.comment.to_string(), comment.to_json());
    unseen::add(batch, comment.user_id, &Thing::Comment(address), comment.ctime.as_score());
}

/// A comment that waits, as it is stored.
pub(crate) struct HeldComment {
    pub(crate) address: CommentAddress,
    pub(crate) comment: Comment,
    json: String,
}

impl HeldComment {
    /// A comment that was read with its story.
    pub(crate) fn of(address: CommentAddress, StoredComment { comment, json, .. }: StoredComment) -> Self {
        Self { address, comment, json }
    }

    /// Reads a comment; `None` if there is none, or if it does not wait. Rounds: 1.
    pub(crate) async fn find(site: &Site, address: CommentAddress) -> Result<Option<Self>, Error> {
        let field = address.comment.to_string();
        let Some(json) = site.store.fetch(read::field(keys::thread(address.news), &field)).await? else {
            return Ok(None);
        };
        let comment = Comment::read(address.news, &field, &json);
        let comment =
            comment.filter(|comment| !comment.deleted && matches!(comment.withheld, Some(Withheld::Held(_))));
        Ok(comment.map(|comment| Self { address, comment, json }))
    }

    /// Adds the published comment to a batch: as new as one that is posted now. The batch fails
    /// if it was edited or decided meanwhile.
    pub(crate) fn write_published(&self, batch: &mut Batch, now: Timestamp) {
        let mut comment = self.comment.clone();
        (comment.withheld, comment.ctime) = (None, now);
        batch.field_equals(keys::thread(self.address.news), self.address.comment.to_string(), &self.json);
        write_new(batch, self.address.news, &comment);
        unseen::remove(batch, comment.user_id, &Thing::Comment(self.address));
        hooks::write(batch, &Event::Comment(self.address));
    }
}

/// A held comment that is about to be published, with what was read for it.
pub(crate) struct CommentPublication {
    held: HeldComment,
    open: OpenThread,
    announcement: CommentNotice,
}

impl CommentPublication {
    /// Reads what a moderator needs to publish a comment. Rounds: as for posting one.
    ///
    /// # Errors
    /// Those of posting a comment: its story or parent may be gone, or the thread locked.
    pub(crate) async fn read(
        site: &Site,
        now: Moment,
        moderator: &User,
        held: HeldComment,
    ) -> Result<Self, Error> {
        let open = OpenThread::read(site, moderator, held.address.news, held.comment.parent_id).await?;
        let announcement =
            CommentNotice::read(site, now, (held.address, &held.comment), &open.audience).await?;
        Ok(Self { held, open, announcement })
    }

    /// Adds the publication to a batch.
    pub(crate) fn write(&self, batch: &mut Batch, now: Moment) {
        self.open.check(batch);
        batch.increment_field(keys::news(self.held.address.news), "comments", 1);
        self.announcement.write(batch);
        self.held.write_published(batch, now.timestamp());
    }

    /// Starts the job that tells the subscribers, once the batch is applied.
    pub(crate) fn begin(self, site: &Site) {
        self.announcement.begin(site);
    }
}
