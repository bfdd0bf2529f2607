//! The background work of a server: the list of all kinds of jobs, and the two ways to
//! run them.
//!
//! It has no keys of its own. [`crate::jobs`] explains how a job is queued, leased and
//! done in steps. It hands out [`run`] for a server and [`finish_waiting`] for commands.

use crate::accounts::inbox::seen;
use crate::comments::notify::NOTIFY;
use crate::deactivation::leave;
use crate::jobs::{self, JobKind};
use crate::marks::WhichMarks;
use crate::moderation::{bans, discounts, erasing, reminder, remove_all, retention, traces};
use crate::news::{by_votes, visits};
use crate::timelines::home_jobs::{clear, deliver, rebuild};
use crate::values::{Moment, Timestamp};
use crate::{Error, Site};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tidings_keyspace::EngineClock;
use tidings_supervision::{Policy, repeat, retry, supervise};

/// All kinds of jobs.
static KINDS: [JobKind; 11] = [
    deliver::KIND,
    clear::KIND,
    rebuild::KIND,
    NOTIFY,
    leave::KIND,
    remove_all::KIND,
    remove_all::RESTORE,
    bans::KIND,
    discounts::KIND,
    traces::KIND,
    erasing::KIND,
];

/// Runs the workers of a site until the future is dropped: its jobs, its visits of threads, what was
/// seen of inboxes, stories that grow older, bans that end, reminders of what waits, and what is kept for some time only. A second call for the same site does none of its jobs. Rounds: 3 every two
/// seconds, and those of the jobs and visits.
pub fn run(site: Arc<Site>, clock: EngineClock) -> BoxFuture<'static, ()> {
    Box::pin(work(site, clock))
}

async fn work(site: Arc<Site>, clock: EngineClock) {
    let store = site.store.counted_apart();
    let now = || Moment::now(&clock);
    tokio::join!(
        // A second worker of the same site ends at once.
        supervise("jobs", Policy::UntilDone, || jobs::run(site.clone(), clock.clone(), &KINDS)),
        repeat("visits", visits::EVERY, || visits::store_marks(&site, now().timestamp(), WhichMarks::Due)),
        supervise("inboxes", Policy::Forever, || seen::run(&site)),
        retry("ages", by_votes::EVERY, || by_votes::sweep(&site, &store, now().timestamp())),
        retry("bans", bans::EVERY, || bans::follow_ended(&site, &store, now())),
        retry("reminders", reminder::EVERY, || reminder::remind(&site, now())),
        retry("retention", retention::EVERY, || retention::sweep(&site, now())),
    );
}

/// Stores what is only in memory, before a server stops.
pub async fn store_rest(site: &Site, now: Timestamp) {
    visits::store_marks(site, now, WhichMarks::All).await;
    seen::mark_all(site).await;
}

/// Does all jobs in the queue, except those that another server is working on. The bans that have
/// ended are among them.
pub async fn finish_waiting(site: &Site, now: Moment) -> Result<(), Error> {
    bans::follow_ended(site, &site.store, now).await?;
    jobs::finish_waiting(site, now, &KINDS).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_kind_has_a_different_name() {
        let names: HashSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let expected =
            "deliver clear rebuild notify leave remove_all restore_all siteban discount erase erase_all";
        assert_eq!(names, expected.split(' ').collect());
        assert_eq!(names.len(), KINDS.len());
    }
}
