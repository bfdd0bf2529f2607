//! The findings of a check of votes, and the outcomes of backups.

use crate::values::{Timestamp, UserId};
use parking_lot::Mutex;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Told how far a migration is: how much of how much is done. The caller also learns from it that
/// the migration advances, so one that takes long calls it at least every few seconds.
pub type Advance<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// The outcome of the backups that this server makes.
#[derive(Debug, Default)]
pub struct BackupReport(Mutex<Backups>);

crate::process_state::process_state!(BackupReport);

/// The backups, and when the last good one was noted by a clock that nobody sets.
#[derive(Debug, Default)]
struct Backups {
    state: BackupState,
    noted: Option<Instant>,
}

/// See [`BackupReport`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupState {
    /// Whether the server makes backups.
    pub is_on: bool,
    /// How often.
    pub every: Duration,
    /// Since when.
    pub on_since: Option<Timestamp>,
    /// The moment of the last good one, also of one that a command has made.
    pub last_success: Option<Timestamp>,
    /// When the last attempt of the server failed and why, unless a later one of it succeeded.
    pub last_failure: Option<(Timestamp, String)>,
}

impl BackupReport {
    /// The state at a time. If the clock was ahead, the time that has passed since says when something was.
    pub fn state(&self, now: Timestamp) -> BackupState {
        let backups = self.0.lock();
        let mut state = backups.state.clone();
        let passed = backups.noted.map_or(0, |noted| noted.elapsed().as_secs());
        state.last_success = state.last_success.map(|at| at.min(Timestamp(now.0.saturating_sub(passed))));
        state.on_since = state.on_since.map(|at| at.min(now));
        state.last_failure = state.last_failure.map(|(at, why)| (at.min(now), why));
        state
    }

    /// Notes that the server makes backups, how often, and when the last one was made.
    pub fn switch_on(&self, last_success: Option<Timestamp>, every: Duration, now: Timestamp) {
        let Backups { state, .. } = &mut *self.0.lock();
        // A command may have made one since the newest file.
        let last_success = state.last_success.max(last_success);
        *state = BackupState { is_on: true, every, on_since: Some(now), last_success, last_failure: None };
    }

    /// Notes a good backup of a command. Whether those of the server fail is another matter.
    pub fn made_by_command(&self, at: Timestamp) {
        let mut backups = self.0.lock();
        backups.state.last_success = Some(at);
        backups.noted = Some(Instant::now());
    }

    /// Notes a good backup.
    pub fn succeeded(&self, at: Timestamp) {
        self.made_by_command(at);
        self.0.lock().state.last_failure = None;
    }

    /// Notes why a backup failed.
    pub fn failed(&self, at: Timestamp, why: String) {
        self.0.lock().state.last_failure = Some((at, why));
    }
}

/// Accounts that vote for each other far more than would be likely by chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoteRing {
    /// The names of the accounts.
    pub accounts: Vec<String>,
    /// Their ids, in the same order.
    #[serde(skip)]
    pub ids: Vec<UserId>,
    /// Votes of the accounts for each other.
    pub shared_votes: u64,
    /// How many chance would have them cast.
    pub expected_votes: f64,
    /// Of what the accounts post while the others are active, the part that each of the others
    /// votes for.
    #[serde(skip)]
    pub share: f64,
    /// The median time from posting to these votes, in seconds. Not known if all are on comments.
    pub median_seconds: Option<u64>,
    /// Whether two of the accounts or more came from the same network lately.
    pub same_network: bool,
}

/// The result of looking for vote rings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VoteRingReport {
    /// The rings, those with the most votes first.
    pub groups: Vec<VoteRing>,
    /// The stories that were read.
    #[serde(skip)]
    pub stories: u64,
    /// The votes on these stories and their comments.
    #[serde(skip)]
    pub votes: u64,
    /// Whether there were more than a check reads; then the newest were read.
    #[serde(skip)]
    pub is_cut: bool,
}

/// A check that runs in the background, one at a time on each server, and its last result.
#[derive(Debug, Default)]
pub struct BackgroundCheck<T> {
    running: AtomicBool,
    last: Mutex<Option<Arc<(Timestamp, T)>>>,
}

crate::process_state::process_state!(BackgroundCheck<VoteRingReport>);

impl<T> BackgroundCheck<T> {
    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// The last result, and when its check began; `None` if there was none since the start of the
    /// server.
    pub fn last(&self) -> Option<Arc<(Timestamp, T)>> {
        self.last.lock().clone()
    }

    /// Takes the place of the one check that may run; `None` if one does.
    pub(crate) fn begin(&self) -> Option<RunningCheck<'_, T>> {
        (!self.running.swap(true, Ordering::AcqRel)).then(|| RunningCheck(self))
    }
}

/// The one check that runs. Its place is free when this is dropped.
pub(crate) struct RunningCheck<'a, T>(&'a BackgroundCheck<T>);

impl<T> RunningCheck<'_, T> {
    /// Keeps the result of a check that began at a time.
    pub(crate) fn keep(self, began: Timestamp, result: T) {
        *self.0.last.lock() = Some(Arc::new((began, result)));
    }
}

impl<T> Drop for RunningCheck<'_, T> {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_backup_was_made_in_the_future() {
        let (report, now) = (BackupReport::default(), Timestamp(1_800_000_000));
        let ahead = Timestamp(now.0 + 86_400);
        report.succeeded(ahead);
        assert_eq!(report.state(ahead).last_success, Some(ahead));
        // The clock was corrected.
        let told = report.state(now).last_success.unwrap();
        assert!(told <= now && told.0 > now.0 - 600, "{told}");
        report.failed(ahead, "no room".to_owned());
        assert_eq!(report.state(now).last_failure, Some((now, "no room".to_owned())));
    }

    #[test]
    fn one_check_runs_at_a_time_and_its_result_is_kept() {
        let check: BackgroundCheck<u8> = BackgroundCheck::default();
        assert!(check.last().is_none() && !check.is_running());
        let running = check.begin().unwrap();
        assert!(check.begin().is_none() && check.is_running());
        running.keep(Timestamp(7), 1);
        assert_eq!(*check.last().unwrap(), (Timestamp(7), 1));
        // A check that fails keeps the result of the one before.
        drop(check.begin().unwrap());
        assert!(!check.is_running());
        assert_eq!(check.last().unwrap().1, 1);
    }
}
