//! Posts that no other list of their author has, `unseen:<user id>`: those that wait for approval, were rejected, removed
//! or deleted before it, and removed tweets. With `user.posted:`, `user.comments:` and `user:<id>:user_timeline` it has
//! everything that is left of what somebody posted.

use crate::keys;
use crate::values::ids::UserId;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::Batch;

/// Adds to a batch that only this list of its author has a post. `time` is that of the post, as a score.
pub(crate) fn add(batch: &mut Batch, author: UserId, thing: &Thing, time: f64) {
    batch.sorted_add(keys::user_unseen(author), thing.key(), time);
}

/// Adds to a batch that another list of its author has a post, or that nothing is left of it.
pub(crate) fn remove(batch: &mut Batch, author: UserId, thing: &Thing) {
    batch.sorted_remove(keys::user_unseen(author), thing.key());
}

/// Whether a post in this state, deleted or not, may be in no other list of its author.
pub(crate) const fn may_have(state: Option<&Withheld>) -> bool {
    matches!(state, Some(Withheld::Held(_) | Withheld::Removed(_)))
}
