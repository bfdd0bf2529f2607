//! Erasing a comment: its text is gone, and its place in the thread stays.

use super::comment::{self, StoredComment};
use super::notify::Retraction;
use super::withdrawal;
use crate::error::{Error, Refusal};
use crate::jobs::Job;
use crate::keys;
use crate::site::Site;
use crate::unseen;
use crate::values::clock::Moment;
use crate::values::ids::CommentAddress;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::Batch;

/// Adds to a batch that a comment is erased, whatever its state. Returns the comment as it was, and the job
/// to start once the batch is applied. Rounds: at most 4.
///
/// # Errors
/// [`Refusal::NoSuchComment`], [`Refusal::ErasedAlready`], or the store's.
pub(crate) async fn erase(
    site: &Site,
    now: Moment,
    address: CommentAddress,
    batch: &mut Batch,
) -> Result<(StoredComment, Option<Job>), Error> {
    let stored = comment::read_stored(site, address).await?;
    if stored.comment.is_erased() {
        return Err(Refusal::ErasedAlready.into());
    }
    let (mut erased, news) = (stored.comment.clone(), &stored.news);
    erased.erase();
    comment::write_change(batch, address, &stored.json, &erased);
    unseen::remove(batch, erased.user_id, &Thing::Comment(address));
    // Deleted, removed and held posts are not counted.
    if !stored.comment.is_gone() && news.comments > 0 {
        batch.field_at_least(keys::news(address.news), "comments", 1);
        batch.increment_field(keys::news(address.news), "comments", -1);
    }
    // Nobody was told of what waits.
    let is_held = matches!(stored.comment.withheld, Some(Withheld::Held(_)));
    let mut job = None;
    if !stored.comment.deleted && !is_held {
        let retraction = Retraction::read(site, now, (address, &stored.comment), news.user_id).await?;
        withdrawal::forget(batch, address);
        retraction.write(batch);
        job = retraction.waiting_job();
    } else {
        withdrawal::forget(batch, address);
    }
    Ok((stored, job))
}
