//! When users last visited: the field `seen_time`. Tweets are no longer delivered to a user
//! who stays away for long; on return, the home timeline is absent, and made anew.

use crate::accounts::users::DEACTIVATED;
use crate::activity::ActionCounters;
use crate::values::{Hour, Timestamp};
use crate::{Applied, Result, Site, User, keys};
use std::sync::Arc;
use tidings_keyspace::Batch;

/// Seconds between two writes of `seen_time`.
const NOTED_SECONDS: u64 = 900;

/// Notes a visit. Rounds: at most 1.
pub(crate) async fn note_visit(site: &Site, now: Timestamp, user: &mut Arc<User>) -> Result<()> {
    // The first visit in an hour is always noted, so that people can be counted.
    let is_noted =
        |seen: Timestamp| seen.0.abs_diff(now.0) < NOTED_SECONDS && Hour::of(seen) == Hour::of(now);
    if user.seen_time.is_some_and(is_noted) {
        return Ok(());
    }
    let key = keys::user(user.id);
    let mut batch = Batch::new();
    batch.field_absent(&key, DEACTIVATED);
    batch.field_unchanged(&key, "seen_time", user.seen_time.map(|seen| seen.to_string()));
    batch.set_field(&key, "seen_time", now.to_string());
    // On a conflict another request has noted the visit.
    if let Applied::Yes(_) = site.apply(batch).await? {
        site.of::<ActionCounters>().count_visit(user.seen_time, now);
    }
    Arc::make_mut(user).seen_time = Some(now);
    Ok(())
}
