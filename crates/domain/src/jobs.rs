//! Background jobs: work that an action leaves to be done after its answer.
//!
//! An action adds a `Job` to its own batch: a hash with the job's progress, and its name in
//! the queue. Any server of the store may do the next step of any job. A step reads,
//! decides, and commits one batch that also advances the job, under the check that no other
//! server has advanced it meanwhile. So each step happens exactly once, even if a server is
//! killed.
//!
//! The check alone would be correct, but servers would waste time on the same steps. So
//! the server that has done a step holds a lease ([`crate::queue`]) on the job for some
//! seconds, and other servers leave a new job alone for some seconds.
//!
//! Keys: `timeline:jobs` (the queue) and `timeline:job:<name>`.
//!
//! A `JobKind`, in the wing that it belongs to, says what a job does;
//! [`crate::background`] lists the kinds. This module hands out [`status`] for the
//! operator; the rest is for other wings.

pub(crate) mod members;
mod status;
pub(crate) mod store_rules;
mod worker;

pub use status::{JobStatus, Jobs, status};
pub(crate) use worker::run;

use crate::queue::{Lane, Lease};
use crate::values::{Moment, UserId, random_token, shown};
use crate::{Decision, Error, Result, Site, counts, fields, keys};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Fetch, Hash, Order, read};

/// How long other servers leave the next step to the server that did the last one.
const HELD_FOR: Duration = Duration::from_secs(10);
/// Steps of a long job before other jobs get a turn.
const TURN_STEPS: usize = 17;
/// Attempts at one step before the job is left for later.
const STEP_ATTEMPTS: usize = 17;

/// The field of a job that counts its steps. A check of it makes each step happen once.
const STEP: &str = "step";
/// The field of a job with the user whom it is about.
const AUTHOR: &str = "author";

/// A job: the name of its kind and what it is about, stored as `kind:subject`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Job(String);

impl Job {
    /// A job of a kind.
    pub(crate) fn new(kind: &str, subject: impl Display) -> Self {
        Self(format!("{kind}:{subject}"))
    }

    /// A job from its stored name; its kind may be unknown.
    pub(crate) const fn from_name(name: String) -> Self {
        Self(name)
    }

    fn kind(&self) -> &str {
        self.0.split_once(':').map_or("", |(kind, _)| kind)
    }

    fn subject(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, subject)| subject)
    }

    fn kind_in<'a>(&self, kinds: &'a [JobKind]) -> Option<&'a JobKind> {
        kinds.iter().find(|kind| kind.name == self.kind())
    }
}

shown!(Job: |job| job.0);

/// A kind of job.
pub(crate) struct JobKind {
    /// The prefix of the names of its jobs.
    pub(crate) name: &'static str,
    /// Decides the next step of a job: the batch to commit.
    pub(crate) step: for<'a> fn(&'a Step<'a>) -> Decided<'a>,
}

/// The future decision of a step.
pub(crate) type Decided<'a> = BoxFuture<'a, Result<Decision<StepOutcome>>>;

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// The job is finished.
    Done,
    /// The job goes on.
    More,
    /// The job no longer exists, or another server is working on it.
    NotOurs,
}

/// A job at the start of one of its steps.
pub(crate) struct Step<'a> {
    pub(crate) site: &'a Site,
    pub(crate) now: Moment,
    job: &'a Job,
    hash: Hash,
    /// The jobs that its batch adds.
    added: &'a Mutex<Vec<Job>>,
    /// Deliveries in its batch.
    deliveries: &'a AtomicU64,
}

impl Step<'_> {
    /// The subject of the job; `None` if it cannot be parsed.
    pub(crate) fn subject<T: FromStr>(&self) -> Option<T> {
        self.job.subject().parse().ok()
    }

    /// The user whom the job is about; for many kinds the author whose followers it
    /// processes.
    pub(crate) fn author(&self) -> Option<UserId> {
        self.field(AUTHOR)
    }

    /// A field that an earlier step has written.
    pub(crate) fn field<T: FromStr>(&self, field: &str) -> Option<T> {
        fields::read(self.hash.get(field), || keys::timeline_job(&self.job.0), field)
    }

    /// A batch that fails if the job has advanced meanwhile.
    pub(crate) fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        let key = keys::timeline_job(&self.job.0);
        batch.field_equals(key, STEP, self.hash.get(STEP).unwrap_or_default());
        batch
    }

    /// Starts jobs that the batch of this step adds, once it is applied.
    pub(crate) fn starts(&self, jobs: impl IntoIterator<Item = Job>) {
        self.added.lock().extend(jobs);
    }

    /// Notes how many deliveries the batch of this step makes.
    pub(crate) fn delivers(&self, deliveries: u64) {
        self.deliveries.store(deliveries, Ordering::Relaxed);
    }

    /// Ends the job with a batch.
    pub(crate) fn finish(&self, mut batch: Batch) -> Decision<StepOutcome> {
        remove(&mut batch, self.job);
        Decision::commit(batch, StepOutcome::Done)
    }

    /// Advances the job with a batch; `fields` say where the next step starts.
    pub(crate) fn advance(&self, mut batch: Batch, fields: &[(&str, String)]) -> Decision<StepOutcome> {
        let key = keys::timeline_job(&self.job.0);
        batch.increment_field(&key, STEP, 1);
        if !fields.is_empty() {
            batch.set_fields(&key, fields.iter().map(|(field, value)| (*field, value.as_str())));
        }
        Lease::write(&mut batch, self.site, &self.job.0, self.now, HELD_FOR);
        Decision::commit(batch, StepOutcome::More)
    }

    /// Skips a job whose subject cannot be parsed. It stays in the queue.
    pub(crate) fn skip(&self) -> Decision<StepOutcome> {
        tracing::warn!(job = %self.job, "background job skipped: its subject cannot be read");
        Decision::Done(StepOutcome::NotOurs)
    }
}

/// Adds a new job to the batch of the action that needs it. Once the batch is applied, the
/// action calls [`Jobs::start_soon`] or [`work_on`].
pub(crate) fn add(batch: &mut Batch, job: &Job, now: Moment, author: UserId) {
    let first = first_step(now).to_string();
    batch.set_fields(keys::timeline_job(&job.0), [(STEP, first), (AUTHOR, author.to_string())]);
    Lane::JOBS.write(batch, &job.0, now.as_score());
}

/// Adds fields of its own to a new job, for its first step.
pub(crate) fn add_fields(
    batch: &mut Batch,
    job: &Job,
    fields: impl IntoIterator<Item = (&'static str, String)>,
) {
    batch.set_fields(keys::timeline_job(&job.0), fields);
}

/// The number of the first step: random, so that a late step of an earlier job with the same
/// name fails its check.
fn first_step(now: Moment) -> u64 {
    let random = random_token().unwrap_or_default();
    let random = random.get(..10).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    random.unwrap_or(now.0)
}

/// Adds the removal of a job to a batch, because it is done or no longer needed.
pub(crate) fn remove(batch: &mut Batch, job: &Job) {
    batch.delete(keys::timeline_job(&job.0));
    Lease::write_end(batch, &job.0);
    Lane::JOBS.write_removal(batch, &job.0);
}

/// Whether a job waits or is under way.
pub(crate) fn is_waiting(job: &Job) -> impl Fetch<Value = bool> + use<> {
    read::expiry(keys::timeline_job(&job.0)).map(|expiry| expiry != Expiry::Absent)
}

/// Makes a batch fail if a job waits or is under way.
pub(crate) fn demand_none(batch: &mut Batch, job: &Job) {
    batch.key_absent(keys::timeline_job(&job.0));
}

/// Works on a job until it is finished, or another server has it. Returns whether it was
/// finished here. Rounds: 2 for each step, and those of its kind.
///
/// # Errors
/// [`Error::Busy`] when a step conflicts too often, or the store's. The job then stays in
/// the queue.
pub(crate) async fn work_on(site: &Site, now: Moment, kind: &JobKind, job: &Job) -> Result<bool> {
    loop {
        match do_some_steps(site, now, kind, job).await? {
            StepOutcome::Done => return Ok(true),
            StepOutcome::More => {}
            StepOutcome::NotOurs => return Ok(false),
        }
    }
}

/// Does some steps of a job, at most so many that other jobs get a turn.
async fn do_some_steps(site: &Site, now: Moment, kind: &JobKind, job: &Job) -> Result<StepOutcome> {
    for _ in 0..TURN_STEPS {
        let outcome = do_step(site, now, kind, job).await?;
        if outcome != StepOutcome::More {
            return Ok(outcome);
        }
    }
    Ok(StepOutcome::More)
}

/// Does the next step of a job.
async fn do_step(site: &Site, now: Moment, kind: &JobKind, job: &Job) -> Result<StepOutcome> {
    let (added, deliveries) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let taken = || std::mem::take(&mut *added.lock());
    let done = site.act_without_turns(STEP_ATTEMPTS, || async {
        // Jobs and deliveries that a failed attempt has noted are void.
        drop(taken());
        deliveries.store(0, Ordering::Relaxed);
        let (hash, held) =
            site.store.fetch((read::hash(keys::timeline_job(&job.0)), Lease::of(&job.0))).await?;
        if hash.is_empty() || held.is_of_another(site, now) {
            return Ok(Decision::Done(StepOutcome::NotOurs));
        }
        let step = Step { site, now, job, hash, added: &added, deliveries: &deliveries };
        (kind.step)(&step).await
    });
    let outcome = done.await?;
    counts::count_deliveries(deliveries.into_inner());
    for job in taken() {
        site.of::<Jobs>().start_soon(job, now);
    }
    Ok(outcome)
}

/// Does all jobs in the queue, except those that another server is working on. Jobs of
/// unknown kinds stay in the queue.
pub(crate) async fn finish_waiting(site: &Site, now: Moment, kinds: &[JobKind]) -> Result<()> {
    let waiting = read::sorted_range(&*Lane::JOBS.key, Order::Ascending, 0, u64::MAX);
    for (name, _) in site.store.fetch(waiting).await? {
        let job = Job::from_name(name);
        let Some(kind) = job.kind_in(kinds) else {
            warn_of_unknown_kind(site, &job, now);
            continue;
        };
        match work_on(site, now, kind, &job).await {
            Err(Error::Busy) => {
                tracing::warn!(%job, "background job kept losing to other writers; it will be retried")
            }
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

fn warn_of_unknown_kind(site: &Site, job: &Job, now: Moment) {
    if site.of::<Jobs>().note_failure(job, now) {
        tracing::warn!(%job, "unknown kind of background job skipped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(1_800_000_000_000);
    const DONE: &str = "done";

    /// Has as many steps as its subject says, and counts the steps of all jobs in one key.
    const COUNTING: JobKind = JobKind { name: "count", step: |current| Box::pin(count(current)) };

    async fn count(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
        let Some(to) = current.subject::<u64>() else {
            return Ok(current.skip());
        };
        let mut batch = current.batch();
        batch.increment(DONE, 1);
        let counted = current.field("counted").unwrap_or(0) + 1;
        if counted == to {
            return Ok(current.finish(batch));
        }
        Ok(current.advance(batch, &[("counted", counted.to_string())]))
    }

    async fn site_with_jobs(names: &[&str]) -> Site {
        let site = Site::in_memory().await;
        let mut batch = Batch::new();
        for name in names {
            add(&mut batch, &Job::from_name((*name).to_owned()), NOW, UserId(1));
        }
        site.store.commit(batch).await.unwrap();
        site
    }

    async fn steps_done(site: &Site) -> Option<String> {
        site.store.fetch(read::string(DONE)).await.unwrap()
    }

    #[test]
    fn a_job_is_its_kind_and_its_subject() {
        let job = Job::new("clear", "3:9");
        assert_eq!((job.kind(), job.subject(), job.to_string().as_str()), ("clear", "3:9", "clear:3:9"));
        assert_eq!(Job::from_name("clear:3:9".to_owned()), job);
        for name in ["", "count", "counts:1", ":1"] {
            assert!(Job::from_name(name.to_owned()).kind_in(&[COUNTING]).is_none(), "{name}");
        }
    }

    #[tokio::test]
    async fn each_step_of_a_waiting_job_is_done_once() {
        let site = site_with_jobs(&["count:3", "count:40"]).await;
        finish_waiting(&site, NOW, &[COUNTING]).await.unwrap();
        assert_eq!(steps_done(&site).await.as_deref(), Some("43"));
        assert_eq!(status(&site).await.unwrap().waiting.count, 0);
        finish_waiting(&site, NOW, &[COUNTING]).await.unwrap();
        assert_eq!(steps_done(&site).await.as_deref(), Some("43"));
    }

    /// A server and a command that runs in it, both at work on the same jobs.
    #[tokio::test]
    async fn a_server_and_a_command_together_do_each_step_once() {
        let site = site_with_jobs(&["count:60", "count:61", "count:62"]).await;
        let command = Site::on(site.store.clone());
        let together = [&site, &command].map(|site| finish_waiting(site, NOW, &[COUNTING]));
        for outcome in futures_util::future::join_all(together).await {
            outcome.unwrap();
        }
        // If one kept losing to the other, it has left the job.
        finish_waiting(&site, NOW, &[COUNTING]).await.unwrap();
        assert_eq!(steps_done(&site).await.as_deref(), Some("183"));
        assert_eq!(status(&command).await.unwrap().waiting.count, 0);
    }

    #[tokio::test]
    async fn a_job_that_cannot_be_read_stays_and_does_not_delay_others() {
        let site = site_with_jobs(&["count:x", "other:1", "count:2"]).await;
        finish_waiting(&site, NOW, &[COUNTING]).await.unwrap();
        assert_eq!(steps_done(&site).await.as_deref(), Some("2"));
        assert_eq!(status(&site).await.unwrap().waiting.count, 2);
    }

    /// Each attempt puts the job at the end of the queue, and the log would say so every two seconds.
    #[tokio::test]
    async fn a_job_that_cannot_be_done_is_told_once_an_hour_and_counts_since_it_fails() {
        let site = site_with_jobs(&["count:1"]).await;
        let (jobs, job) = (site.of::<Jobs>(), Job::from_name("count:1".to_owned()));
        let later = |seconds| NOW.after(Duration::from_secs(seconds));
        for (seconds, is_told) in [(0, true), (2, false), (3_599, false), (3_600, true), (3_602, false)] {
            assert_eq!(jobs.note_failure(&job, later(seconds)), is_told, "after {seconds} s");
        }
        let mut batch = Batch::new();
        batch.sorted_add(keys::TIMELINE_JOBS, "count:1", later(3_602).as_score());
        site.store.commit(batch).await.unwrap();
        assert_eq!(status(&site).await.unwrap().waiting.oldest, Some(NOW));
        jobs.note_waiting(|_| false);
        assert_eq!(status(&site).await.unwrap().waiting.oldest, Some(later(3_602)));
        assert!(jobs.note_failure(&job, later(3_603)));
    }

    #[tokio::test]
    async fn a_step_that_always_conflicts_is_left_in_the_queue() {
        let conflicting = JobKind {
            name: "conflict",
            step: |current| {
                Box::pin(async {
                    let mut batch = current.batch();
                    batch.key_present("absent");
                    Ok(current.finish(batch))
                })
            },
        };
        let site = site_with_jobs(&["conflict:1"]).await;
        let job = Job::new("conflict", 1);
        assert!(matches!(work_on(&site, NOW, &conflicting, &job).await, Err(Error::Busy)));
        finish_waiting(&site, NOW, &[conflicting]).await.unwrap();
        assert_eq!(status(&site).await.unwrap().waiting.count, 1);
    }
}
