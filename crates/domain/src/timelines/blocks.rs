//! Blocking: who is blocked does not follow, mention or reply to the one who blocks, who does
//! not read them either.
//!
//! Blocking ends that the blocked person follows. Following, mentions (`accounts::notified`),
//! entries of inboxes (`accounts::inbox`) and replies (`comments::comment`) ask for blocks.

use crate::accounts::mentioned::user_named;
use crate::timelines::follows::{self, write_unfollow};
use crate::timelines::versions::{note_followings_change, note_lost_follower};
use crate::values::{MAX_BLOCKS, Moment, RatedAction};
use crate::{Actor, Decision, Refusal, Result, Site, keys};
use tidings_keyspace::{Batch, read};

/// Blocks a user, who no longer follows the one who blocks. Twice is as once. Rounds: 5.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::BlockingOneself`], [`Refusal::TooManyBlocks`],
/// [`Refusal::SessionEnded`], [`Refusal::TooManyRequests`], or the store's.
pub async fn block(site: &Site, now: Moment, user: Actor<'_>, name: &str) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let person = user_named(site, name).await?;
    Refusal::BlockingOneself.when(person == user.id)?;
    let (blocks, followers) = (keys::user_blocks(user.id), keys::followers(user.id));
    let unfollowed = site.act(&blocks, || async {
        let (blocked, follows) =
            site.store.fetch((read::hash(&blocks), read::score(&followers, person.to_string()))).await?;
        let follows = follows.is_some();
        if blocked.get(&person.to_string()).is_some() && !follows {
            return Decision::Done(None).once(user.request.as_ref(), &());
        }
        Refusal::TooManyBlocks { limit: MAX_BLOCKS }.when(blocked.0.len() as u64 >= MAX_BLOCKS)?;
        let (mut batch, mut job) = (Batch::new(), None);
        batch.set_field(&blocks, person.to_string(), now.timestamp().to_string());
        if follows {
            batch.sorted_member_present(&followers, person.to_string());
            write_unfollow(&mut batch, person, user.id);
            note_followings_change(&mut batch, person);
            note_lost_follower(&mut batch, user.id);
            job = Some(follows::write_clearing(&mut batch, site, (person, user.id), now));
        } else {
            // A person who follows meanwhile must not stay a follower.
            batch.sorted_member_absent(&followers, person.to_string());
        }
        user.decide(batch, job, &())
    });
    if let Some(job) = unfollowed.await? {
        follows::clear(site, now, &job).await;
    }
    Ok(())
}

/// Ends a block. Whether the person followed before does not come back. Does nothing for
/// somebody who is not blocked. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::TooManyRequests`], or the store's.
pub async fn unblock(site: &Site, now: Moment, user: Actor<'_>, name: &str) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let person = user_named(site, name).await?;
    let batch = Batch::of(|batch| batch.delete_field(keys::user_blocks(user.id), person.to_string()));
    user.commit(site, batch).await
}
