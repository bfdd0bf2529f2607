//! The jobs that this server works on, and the figures of all jobs for the operator.

use super::Job;
use crate::queue::{Lane, LaneFigures};
use crate::values::{MAX_QUEUED_JOBS, Moment};
use crate::{Result, Site};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidings_keyspace::{EngineClock, Fetch};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The jobs that the actions of this server have queued.
pub struct Jobs {
    waiting: Sender<(Job, Moment)>,
    /// StoredLease by the worker. When it panics, the next one takes it.
    pub(super) receiver: tokio::sync::Mutex<Receiver<(Job, Moment)>>,
    finished: AtomicU64,
    last_milliseconds: AtomicU64,
    /// Jobs that this server cannot do.
    failing: Mutex<HashMap<Job, Failing>>,
}

/// A job that a server cannot do. Its place in the queue does not say since when: each attempt puts it at the end.
#[derive(Clone, Copy)]
struct Failing {
    since: Moment,
    /// When the log said so last.
    told: Moment,
}

/// How often the log says that a job cannot be done.
const TOLD_EVERY: Duration = Duration::from_secs(3_600);

crate::process_state::process_state!(Jobs);

impl Default for Jobs {
    fn default() -> Self {
        let (waiting, receiver) = channel(MAX_QUEUED_JOBS);
        Self {
            waiting,
            receiver: tokio::sync::Mutex::new(receiver),
            finished: AtomicU64::new(0),
            last_milliseconds: AtomicU64::new(0),
            failing: Mutex::default(),
        }
    }
}

impl Jobs {
    /// Passes a job that was added at `now` to this server's worker. If its queue is full,
    /// the worker finds the job in the store later.
    pub(crate) fn start_soon(&self, job: Job, now: Moment) {
        if let Err(refused) = self.waiting.try_send((job, now)) {
            tracing::debug!(job = %refused.into_inner().0, "background job queue is full; the job will be found in the store");
        }
    }

    /// Notes that a job cannot be done. Returns whether the log should say so: the first time, and once an hour.
    pub(super) fn note_failure(&self, job: &Job, now: Moment) -> bool {
        let mut failing = self.failing.lock();
        if !failing.contains_key(job) && failing.len() >= MAX_QUEUED_JOBS {
            return false;
        }
        let known = failing.insert(job.clone(), Failing { since: now, told: now });
        let Some(Failing { since, told }) = known else { return true };
        let lasts = now.0.saturating_sub(told.0) < u64::try_from(TOLD_EVERY.as_millis()).unwrap_or(u64::MAX);
        failing.insert(job.clone(), Failing { since, told: if lasts { told } else { now } });
        !lasts
    }

    /// Forgets the jobs that wait no more.
    pub(super) fn note_waiting(&self, is_waiting: impl Fn(&Job) -> bool) {
        self.failing.lock().retain(|job, _| is_waiting(job));
    }

    fn oldest_failing(&self) -> Option<Moment> {
        self.failing.lock().values().map(|failing| failing.since).min()
    }

    pub(super) fn note_finished(&self, job: &Job, begun: Moment, clock: &EngineClock) {
        let milliseconds = clock.now_ms().saturating_sub(begun.0);
        self.failing.lock().remove(job);
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.last_milliseconds.store(milliseconds, Ordering::Relaxed);
        tracing::debug!(%job, milliseconds, "background job finished");
    }
}

/// The figures of the background jobs, for the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobStatus {
    /// Jobs in the queue, of all servers. The oldest waits since it was queued, or cannot be done since.
    pub waiting: LaneFigures,
    /// Jobs that this server has finished since it started.
    pub finished: u64,
    /// How long the last of them took, from the action to its last step, in milliseconds.
    pub last_milliseconds: u64,
}

impl JobStatus {
    pub(crate) fn read(site: &Site) -> impl Fetch<Value = Self> {
        let jobs = site.of::<Jobs>();
        let failing = jobs.oldest_failing();
        let (finished, last) = (&jobs.finished, &jobs.last_milliseconds);
        let (finished, last_milliseconds) = (finished.load(Ordering::Relaxed), last.load(Ordering::Relaxed));
        Lane::JOBS.waiting().map(move |LaneFigures { count, oldest }| Self {
            waiting: LaneFigures { count, oldest: oldest.into_iter().chain(failing).min() },
            finished,
            last_milliseconds,
        })
    }
}

/// The figures of the background jobs. Rounds: 1.
pub async fn status(site: &Site) -> Result<JobStatus> {
    Ok(site.store.fetch(JobStatus::read(site)).await?)
}
