//! The counters and times of the store for `/metrics`, whose handles are made once, and the commits of the last
//! minute.

use crate::KeyspaceError;
use crate::batch::CommitError;
use crate::health::CommitTimes;
use metrics::{Counter, Histogram};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Half of the time that [`Figures::commits`] tells of.
const WINDOW: Duration = Duration::from_secs(30);

/// The counters of a store.
pub(crate) struct Figures {
    reads: Counter,
    applied: Counter,
    rejected: Counter,
    failed: Counter,
    commit_times: Histogram,
    recent: Mutex<RecentCommits>,
}

/// The commits of this window and of the one before.
struct RecentCommits {
    windows: [CommitTimes; 2],
    began: Instant,
}

impl RecentCommits {
    /// The windows as they are at a time.
    fn at(&mut self, now: Instant) -> &mut [CommitTimes; 2] {
        let passed = now.saturating_duration_since(self.began);
        if passed >= WINDOW {
            let before = if passed < 2 * WINDOW { self.windows[0] } else { CommitTimes::default() };
            *self = Self { windows: [CommitTimes::default(), before], began: now };
        }
        &mut self.windows
    }
}

impl Default for Figures {
    fn default() -> Self {
        let commits =
            |result: &'static str| metrics::counter!("tidings_store_commits_total", "result" => result);
        let figures = Self {
            reads: metrics::counter!("tidings_store_reads_total"),
            applied: commits("ok"),
            rejected: commits("rejected"),
            failed: commits("failed"),
            commit_times: metrics::histogram!("tidings_store_commit_duration_seconds"),
            recent: Mutex::new(RecentCommits { windows: Default::default(), began: Instant::now() }),
        };
        for counter in [&figures.reads, &figures.applied, &figures.rejected, &figures.failed] {
            counter.increment(0);
        }
        figures
    }
}

impl Figures {
    /// Counts a query.
    pub(crate) fn note_query(&self) {
        self.reads.increment(1);
    }

    /// Counts and times a commit.
    pub(crate) fn note_commit<T>(&self, outcome: &Result<T, CommitError>, took: Duration) {
        self.commit_times.record(took);
        let is_unconfirmed = matches!(outcome, Err(CommitError::Keyspace(KeyspaceError::Unsure(_))));
        if outcome.is_ok() || is_unconfirmed {
            let mut recent = self.recent.lock();
            recent.at(Instant::now())[0].note(took, is_unconfirmed);
        }
        let counter = match outcome {
            Ok(_) => &self.applied,
            Err(CommitError::Rejected(_)) => &self.rejected,
            Err(CommitError::Keyspace(
                KeyspaceError::Unavailable(_) | KeyspaceError::ReadOnly(_) | KeyspaceError::Unsure(_),
            )) => &self.failed,
            // The stored values do not fit or are damaged; nothing was written.
            Err(CommitError::Keyspace(_)) => &self.rejected,
        };
        counter.increment(1);
    }

    /// The commits of the last half to whole minute.
    pub(crate) fn commits(&self) -> CommitTimes {
        let mut recent = self.recent.lock();
        let [this, before] = *recent.at(Instant::now());
        this.and(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_told_for_a_minute() {
        let began = Instant::now();
        let mut recent = RecentCommits { windows: Default::default(), began };
        recent.at(began)[0].note(Duration::from_secs(2), true);
        let seen = |recent: &mut RecentCommits, seconds| {
            let [this, before] = *recent.at(began + Duration::from_secs(seconds));
            this.and(before)
        };
        for seconds in [0, 29, 31, 59] {
            let commits = seen(&mut recent, seconds);
            assert_eq!((commits.count, commits.unconfirmed), (1, 1), "{seconds}");
            assert_eq!(commits.slowest, Duration::from_secs(2));
        }
        assert_eq!(seen(&mut recent, 62), CommitTimes::default());
    }
}
