//! When users were here last: `seen_time`. Who stays away for long gets no
//! deliveries any more; on return, the home timeline is rebuilt in the background.

use crate::accounts::users::DEACTIVATED;
use crate::accounts::users::User;
use crate::error::Error;
use crate::jobs::{self, Job};
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::{Moment, Timestamp};
use std::sync::Arc;
use tidings_keyspace::Batch;

/// Seconds for which a noted visit is news enough.
const NOTED_SECONDS: u64 = 900;

/// The kind of job that rebuilds the home timeline of a user who has returned. What it
/// does is told where timelines are: `timelines::home_jobs::rebuild`.
pub(crate) const REBUILD_HOME: &str = "rebuild";

/// Notes that a user is here. Answers whether that is a return: then what is
/// stored of the home timeline is not to be trusted any more.
///
/// # Errors
/// When the store fails.
pub(crate) async fn note_visit(site: &Site, now: Timestamp, user: &mut Arc<User>) -> Result<bool, Error> {
    if user.seen_time.is_some_and(|seen| now.seconds_since(seen) < NOTED_SECONDS) {
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
        // Until the timeline is rebuilt it is read from those who are followed.
        // Deliveries that pass the user by raise it as well.
        batch.sorted_raise(keys::HOME_FLOORS, user.id.to_string(), now.as_score());
        jobs::add(&mut batch, &job, moment, user.id);
    }
    match site.apply(batch).await? {
        Applied::Yes(_) if returns => site.jobs.start_soon(job, moment),
        // Noted by another request at the same time.
        Applied::Yes(_) | Applied::No(_) => {}
    }
    Arc::make_mut(user).seen_time = Some(now);
    Ok(returns)
}
