//! The counters and times of the store for `/metrics`. The handles are made once.

use crate::KeyspaceError;
use crate::batch::CommitError;
use metrics::{Counter, Histogram};
use std::time::Duration;

/// The counters of a store.
pub(crate) struct Figures {
    reads: Counter,
    applied: Counter,
    rejected: Counter,
    failed: Counter,
    commit_times: Histogram,
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
}
