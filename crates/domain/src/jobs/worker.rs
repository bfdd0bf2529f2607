//! The worker of a server: it does the jobs that the server's own actions have queued, and
//! takes over abandoned jobs.

use super::{Job, JobKind, StepOutcome, do_some_steps, warn_of_unknown_kind};
use crate::jobs::Jobs;
use crate::queue::{Lane, Lease};
use crate::values::{JOB_SCAN, Moment};
use crate::{Result, Site, keys};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tidings_keyspace::{Batch, EngineClock, Store};
use tidings_supervision::catch;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Receiver;

/// Jobs that a server works on concurrently.
const CONCURRENT_JOBS: usize = 4;
/// How often the worker looks in the store for abandoned jobs.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long other servers leave a new job to the server that added it, in milliseconds.
const FRESH_MS: u64 = 5_000;

/// Runs the worker of a site until the future is dropped. A second call for the same site
/// does nothing. Rounds: 2 every two seconds, and those of the jobs.
pub(crate) async fn run(site: Arc<Site>, clock: EngineClock, kinds: &'static [JobKind]) {
    let Ok(mut receiver) = site.of::<Jobs>().receiver.try_lock() else { return };
    let worker = Worker {
        store: site.store.counted_apart(),
        site: site.clone(),
        clock,
        kinds,
        places: Arc::new(Semaphore::new(CONCURRENT_JOBS)),
        at_work: Arc::default(),
        tasks: tokio::task::JoinSet::new(),
    };
    worker.run(&mut receiver).await;
}

/// Moves a failed job to the end of the queue. If the store is unavailable, the job keeps
/// its place.
async fn queue_again(site: &Site, job: &Job, now: Moment) {
    let mut batch = Batch::new();
    batch.key_present(keys::timeline_job(&job.0));
    Lane::JOBS.write(&mut batch, &job.0, now.as_score());
    if let Err(error) = site.apply(batch).await {
        tracing::debug!(%job, %error, "background job not queued again");
    }
}

struct Worker {
    site: Arc<Site>,
    /// Where the worker looks for jobs; its rounds are counted separately.
    store: Store,
    clock: EngineClock,
    kinds: &'static [JobKind],
    places: Arc<Semaphore>,
    /// Jobs that this server is working on.
    at_work: Arc<Mutex<HashSet<Job>>>,
    /// The tasks end with the worker.
    tasks: tokio::task::JoinSet<()>,
}

impl Worker {
    async fn run(mut self, receiver: &mut Receiver<(Job, Moment)>) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some((job, begun)) = receiver.recv() => self.start(job, begun).await,
                _ = looks.tick() => {
                    if self.look().await {
                        looks.reset_immediately();
                    }
                }
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Starts a job as soon as one of the concurrent places is free.
    async fn start(&mut self, job: Job, begun: Moment) {
        let Some(kind) = job.kind_in(self.kinds) else {
            return warn_of_unknown_kind(&self.site, &job, Moment::now(&self.clock));
        };
        let Ok(place) = self.places.clone().acquire_owned().await else { return };
        if !self.at_work.lock().insert(job.clone()) {
            return;
        }
        let (site, clock, at_work) = (self.site.clone(), self.clock.clone(), self.at_work.clone());
        self.tasks.spawn(async move {
            let outcome = catch("job", do_some_steps(&site, Moment::now(&clock), kind, &job)).await;
            at_work.lock().remove(&job);
            match outcome {
                Some(Ok(StepOutcome::Done)) => site.of::<Jobs>().note_finished(&job, begun, &clock),
                Some(Ok(StepOutcome::More)) => site.of::<Jobs>().start_soon(job, begun),
                Some(Ok(StepOutcome::NotOurs)) => {}
                failed @ (Some(Err(_)) | None) => {
                    let now = Moment::now(&clock);
                    if site.of::<Jobs>().note_failure(&job, now) {
                        match failed {
                            Some(Err(error)) => {
                                tracing::warn!(%job, %error, "background job failed; it will be retried");
                            }
                            _ => tracing::error!(%job, "background job panicked; it will be retried"),
                        }
                    }
                    queue_again(&site, &job, now).await;
                }
            }
            drop(place);
        });
    }

    /// Looks in the store for abandoned jobs. Returns whether there may be many more.
    async fn look(&mut self) -> bool {
        match self.abandoned().await {
            Ok(jobs) => {
                let many = u64::try_from(jobs.len()).is_ok_and(|jobs| jobs > JOB_SCAN / 2);
                for (job, begun) in jobs {
                    self.start(job, begun).await;
                }
                many
            }
            Err(error) => {
                // Requests report the failure; the next look may succeed.
                tracing::debug!(%error, "cannot look for background jobs");
                false
            }
        }
    }

    /// Jobs that no server is working on. Rounds: 2.
    async fn abandoned(&self) -> Result<Vec<(Job, Moment)>> {
        let due = self.store.fetch(Lane::JOBS.due(Moment::now(&self.clock).timestamp(), JOB_SCAN)).await?;
        if u64::try_from(due.len()).is_ok_and(|due| due < JOB_SCAN) {
            let names: HashSet<&str> = due.iter().map(|(name, _)| name.as_str()).collect();
            self.site.of::<Jobs>().note_waiting(|job| names.contains(job.0.as_str()));
        }
        let leases = due.iter().map(|(name, _)| Lease::of(name)).collect::<Vec<_>>();
        let leases = self.store.fetch(leases).await?;
        let now = Moment::now(&self.clock);
        let mut jobs = Vec::new();
        for ((name, score), held) in due.into_iter().zip(leases) {
            let job = Job::from_name(name);
            let begun = Moment::from_score(score);
            let is_left = now.0.abs_diff(begun.0) < FRESH_MS || !held.is_free(&self.site, now);
            let is_left = is_left && self.site.store.is_shared();
            let at_work = self.at_work.lock().contains(&job);
            if job.kind_in(self.kinds).is_none() {
                warn_of_unknown_kind(&self.site, &job, now);
            } else if !at_work && !is_left {
                jobs.push((job, begun));
            }
        }
        Ok(jobs)
    }
}
