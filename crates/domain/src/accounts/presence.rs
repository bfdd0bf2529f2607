//! When users last visited: the field `seen_time`. Tweets are no longer delivered to a user
//! who stays away for long; on return, the home timeline is rebuilt in the background.

use crate::accounts::users::{DEACTIVATED, User};
use crate::activity::ActionCounters;
use crate::error::Error;
use crate::jobs::{self, Job, Jobs};
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::{Moment, Timestamp};
use crate::values::day::Hour;
use std::sync::Arc;
use tidings_keyspace::Batch;

/// Seconds between two writes of `seen_time`.
const NOTED_SECONDS: u64 = 900;

/// The kind of job that rebuilds the home timeline of a user who has returned. It is
/// implemented in `timelines::home_jobs::rebuild`.
pub(crate) const REBUILD_HOME: &str = "rebuild";

/// Notes a visit. Returns whether the user returns after a long absence: then the stored
/// home timeline is not complete. Rounds: at most 1.
pub(crate) async fn note_visit(site: &Site, now: Timestamp, user: &mut Arc<User>) -> Result<bool, Error> {
    // The first visit in an hour is always noted, so that people can be counted.
    let is_noted =
        |seen: Timestamp| seen.0.abs_diff(now.0) < NOTED_SECONDS && Hour::of(seen) == Hour::of(now);
    if user.seen_time.is_some_and(is_noted) {
        return Ok(false);
    }
    let key = keys::user(user.id);
    let mut batch = Batch::new();
    batch.field_absent(&key, DEACTIVATED);
    batch.field_unchanged(&key, "seen_time", user.seen_time.map(|seen| seen.to_string()));
    batch.set_field(&key, "seen_time", now.to_string());
    let returns = user.seen_time.is_some_and(|seen| site.rules.timelines.is_inactive(seen, now));
    let (job, moment) = (Job::new(REBUILD_HOME, user.id), Moment(now.0.saturating_mul(1000)));
    if returns {
        // Until the timeline is rebuilt, it is read from the authors' own timelines. A
        // delivery that skips the user raises the floor as well.
        batch.sorted_raise(keys::HOME_FLOORS, user.id.to_string(), now.as_score());
        jobs::add(&mut batch, &job, moment, user.id);
    }
    // On a conflict another request has noted the visit.
    if let Applied::Yes(_) = site.apply(batch).await? {
        site.of::<ActionCounters>().count_visit(user.seen_time, now);
        if returns {
            site.of::<Jobs>().start_soon(job, moment);
        }
    }
    Arc::make_mut(user).seen_time = Some(now);
    Ok(returns)
}
