//! What a server does in the background: all kinds of jobs, put together.
//!
//! How a job is written, claimed and done in steps is told in [`crate::jobs`].

use crate::deactivation::leave;
use crate::error::Error;
use crate::jobs::{self, JobKind};
use crate::site::Site;
use crate::timelines::home_jobs::{clear, deliver, rebuild, sweep};
use crate::values::clock::Moment;
use std::sync::Arc;
use tidings_keyspace::EngineClock;

/// All kinds of jobs.
static KINDS: [JobKind; 5] = [deliver::KIND, sweep::KIND, clear::KIND, rebuild::KIND, leave::KIND];

/// Works on jobs until it is dropped. Started once for a site; started again it does
/// nothing. Rounds: 2 every two seconds, and those of the jobs.
pub async fn run(site: Arc<Site>, clock: EngineClock) {
    jobs::run(site, clock, &KINDS).await;
}

/// Does all jobs that wait, except those that another server works on.
///
/// # Errors
/// When the store fails.
pub async fn finish_waiting(site: &Site, now: Moment) -> Result<(), Error> {
    jobs::finish_waiting(site, now, &KINDS).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_kind_has_a_name_of_its_own() {
        let names: HashSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, HashSet::from(["deliver", "sweep", "clear", "rebuild", "leave"]));
        assert_eq!(names.len(), KINDS.len());
    }
}
