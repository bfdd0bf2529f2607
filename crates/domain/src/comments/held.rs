//! Publishing comments that waited for a moderator.

use super::comment::{Comment, StoredComment};
use super::notify::CommentNotice;
use super::posting::OpenThread;
use crate::records::{self, AsRead};
use crate::values::{Moment, Timestamp};
use crate::{Result, Site, User, hooks};
use tidings_keyspace::Batch;

/// Adds to a batch that a comment which waited is published: as new as one that is posted now. The batch fails if it was
/// edited or decided meanwhile.
pub(crate) fn write_published(batch: &mut Batch, held: &AsRead<Comment>, now: Timestamp) {
    let comment = held.changed(|comment| (comment.withheld, comment.ctime) = (None, now));
    records::change(batch, held, &comment);
    hooks::write(batch, &hooks::Event::Comment(comment.address()));
}

/// A held comment that is about to be published, with what was read for it.
pub(crate) struct CommentPublication {
    held: AsRead<Comment>,
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
        StoredComment { comment: held, .. }: StoredComment,
    ) -> Result<Self> {
        let open = OpenThread::read(site, moderator, held.news, held.parent_id).await?;
        let announcement = CommentNotice::read(site, now, &held, &open.audience).await?;
        Ok(Self { held, open, announcement })
    }

    /// Adds the publication to a batch.
    pub(crate) fn write(&self, batch: &mut Batch, now: Moment) {
        self.open.check(batch);
        self.announcement.write(batch);
        write_published(batch, &self.held, now.timestamp());
    }

    /// Starts the job that tells the subscribers, once the batch is applied.
    pub(crate) fn begin(self, site: &Site) {
        self.announcement.begin(site);
    }
}
