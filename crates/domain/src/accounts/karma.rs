//! Karma: earned by visiting and by being voted up, spent on votes.

use crate::accounts::users::User;
use crate::error::Error;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use std::sync::Arc;
use tidings_keyspace::Batch;

/// Gives the viewer the karma for visiting, if the last gain is long enough ago. Concurrent
/// visits earn it once. Rounds: at most 1.
///
/// # Errors
/// When the store fails; the user is unchanged then.
pub async fn reward_visit(site: &Site, now: Timestamp, user: &mut Arc<User>) -> Result<(), Error> {
    let karma = &site.rules.karma;
    let last = user.karma_incr_time;
    if karma.visit_seconds == 0 || last.is_some_and(|last| now.is_within(karma.visit_seconds, last)) {
        return Ok(());
    }
    let key = keys::user(user.id);
    let mut batch = Batch::new();
    batch.key_present(&key);
    batch.field_unchanged(&key, "karma_incr_time", last.map(|last| last.to_string()));
    batch.set_field(&key, "karma_incr_time", now.to_string());
    batch.increment_field(&key, "karma", karma.visit_increment);
    if let Applied::Yes(committed) = site.apply(batch).await? {
        let user = Arc::make_mut(user);
        user.karma = committed.field(&key, "karma").unwrap_or(user.karma);
        user.karma_incr_time = Some(now);
    }
    Ok(())
}
