//! Counters of a user that tell an action or a job that a list has changed since it was read.

use crate::keys;
use crate::values::UserId;
use tidings_keyspace::Batch;

/// The field of a user that counts changes of the user's own timeline. An action that copies
/// from the timeline checks that it has not changed meanwhile.
pub(crate) const TIMELINE_VERSION: &str = "timeline_version";

/// The field of a user that counts lost followers. A delivery checks that no follower has
/// left since it read the list.
pub(crate) const FOLLOWERS_LOST: &str = "followers_lost";
/// The field of a user that counts changes of the list of followings. A rebuild of the home
/// timeline checks that the list is still the same.
pub(crate) const FOLLOWINGS_VERSION: &str = "followings_version";

/// Notes that a user's list of followings has changed.
pub(crate) fn note_followings_change(batch: &mut Batch, user: UserId) {
    batch.increment_field(keys::user(user), FOLLOWINGS_VERSION, 1);
}

/// Notes that a user has lost followers.
pub(crate) fn note_lost_follower(batch: &mut Batch, user: UserId) {
    batch.increment_field(keys::user(user), FOLLOWERS_LOST, 1);
}
