//! Work that an action leaves for the background: delivering tweets to those
//! who follow, and taking out of timelines what no longer belongs there.
//!
//! An action puts a *job* into its own batch: a hash that tells how far the job
//! has come, and its name in `timeline:jobs`. Any server of the store may do
//! the next *step* of any job. A step reads, decides, and commits one batch
//! that also moves the job on, under the check that nobody else has moved it
//! meanwhile. So a step happens once, whoever does it and whoever is killed.
//!
//! The check would be enough. But servers that do the same work in vain are
//! slow, so the one that has done a step of a longer job holds a lease on it
//! for some seconds, and only jobs that nobody has begun for some seconds are
//! taken from others.

mod clear;
mod deliver;
mod followers;
mod leave;
mod rebuild;
mod sweep;

use crate::error::Error;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::clock::Moment;
use crate::values::ids::{TweetId, UserId};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tidings_keyspace::{Batch, EngineClock, Expiry, Hash, Order, Query, Store};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Jobs that a server works on at the same time.
const CONCURRENT_JOBS: usize = 4;
/// Jobs of this server that may wait in its memory; further ones are found
/// like those of other servers.
const WAITING_JOBS: usize = 4_096;
/// How often the store is looked through for jobs that nobody works on.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How many waiting jobs are looked at then.
const LOOK_AT: u64 = 256;
/// How long the server that began a job is trusted to begin it.
const FRESH_MS: u64 = 5_000;
/// How long the server that did a step is trusted to do the next.
const LEASE: Duration = Duration::from_secs(10);
/// Steps of a long job before others get their turn.
const TURN_STEPS: usize = 16;
/// Tries at one step before the job is left for later.
const STEP_ATTEMPTS: usize = 16;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Job {
    /// Put a tweet into the home timelines of its author's followers.
    Deliver(TweetId),
    /// Take a deleted tweet out of the home timelines of its author's followers.
    Sweep(TweetId),
    /// Take the tweets of the second user out of the home timeline of the
    /// first, who does not follow them any more.
    Clear(UserId, UserId),
    /// Make the home timeline of a user anew, who has been away.
    Rebuild(UserId),
    /// Take a deactivated account out of everything that it is in.
    Leave(UserId),
}

impl fmt::Display for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deliver(tweet) => write!(formatter, "deliver:{tweet}"),
            Self::Sweep(tweet) => write!(formatter, "sweep:{tweet}"),
            Self::Clear(reader, author) => write!(formatter, "clear:{reader}:{author}"),
            Self::Rebuild(reader) => write!(formatter, "rebuild:{reader}"),
            Self::Leave(user) => write!(formatter, "leave:{user}"),
        }
    }
}

impl FromStr for Job {
    type Err = crate::values::ids::NotAnId;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let (kind, of) = name.split_once(':').ok_or(crate::values::ids::NotAnId)?;
        Ok(match kind {
            "deliver" => Self::Deliver(of.parse()?),
            "sweep" => Self::Sweep(of.parse()?),
            "clear" => {
                let (reader, author) = of.split_once(':').ok_or(crate::values::ids::NotAnId)?;
                Self::Clear(reader.parse()?, author.parse()?)
            }
            "rebuild" => Self::Rebuild(of.parse()?),
            "leave" => Self::Leave(of.parse()?),
            _ => return Err(crate::values::ids::NotAnId),
        })
    }
}

/// The field of a job that counts its steps. It makes each happen once.
const STEP: &str = "step";

/// Adds a new job to the batch of the action that causes it. `author` is the
/// user whose followers it is about. Once the batch is applied the action calls
/// [`Deliveries::begin`].
pub(crate) fn add(batch: &mut Batch, job: Job, now: Moment, author: UserId) {
    let name = job.to_string();
    let first = first_step(now).to_string();
    batch.set_fields(keys::timeline_job(&name), [(STEP, first), ("author", author.to_string())]);
    batch.sorted_add(keys::TIMELINE_JOBS, name, now.as_score());
}

/// Where a job begins to count: at a number that no job of the same name had
/// before, so that a step of an earlier one is no step of this.
fn first_step(now: Moment) -> u64 {
    let random = crate::values::secrets::random_token().unwrap_or_default();
    let random = random.get(..10).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    random.unwrap_or(now.0)
}

/// Adds the removal of a job to a batch, done or void.
pub(crate) fn remove(batch: &mut Batch, job: Job) {
    let name = job.to_string();
    batch.delete(keys::timeline_job(&name));
    batch.delete(keys::timeline_lease(&name));
    batch.sorted_remove(keys::TIMELINE_JOBS, name);
}

/// A job as one step finds it.
struct Current<'a> {
    site: &'a Site,
    now: Moment,
    job: Job,
    hash: Hash,
}

impl Current<'_> {
    /// The user whose followers it is about.
    fn author(&self) -> Option<UserId> {
        self.hash.get("author")?.parse().ok()
    }

    /// A batch that holds only while the job is where it was found.
    fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        let key = keys::timeline_job(&self.job.to_string());
        batch.field_equals(key, STEP, self.hash.get(STEP).unwrap_or_default());
        batch
    }

    /// Lets the job end with a batch.
    async fn finish(&self, mut batch: Batch) -> Result<Outcome, Error> {
        remove(&mut batch, self.job);
        Ok(match self.site.apply(batch).await? {
            Applied::Yes(_) => Outcome::Done,
            Applied::No(_) => Outcome::Conflict,
        })
    }

    /// Moves the job on with a batch; `fields` tell where it goes on.
    async fn advance(&self, mut batch: Batch, fields: &[(&str, String)]) -> Result<Outcome, Error> {
        let name = self.job.to_string();
        let key = keys::timeline_job(&name);
        batch.increment_field(&key, STEP, 1);
        if !fields.is_empty() {
            batch.set_fields(&key, fields.iter().map(|(field, value)| (*field, value.as_str())));
        }
        batch.set_expiring(keys::timeline_lease(&name), &self.site.deliveries.server, LEASE);
        Ok(match self.site.apply(batch).await? {
            Applied::Yes(_) => Outcome::More,
            Applied::No(_) => Outcome::Conflict,
        })
    }
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The job is finished.
    Done,
    /// The job goes on.
    More,
    /// Something changed meanwhile; the step is to be tried again.
    Conflict,
    /// There is no such job any more, or another server works on it.
    NotOurs,
}

/// Does the next step of a job.
async fn step(site: &Site, now: Moment, job: Job) -> Result<Outcome, Error> {
    let name = job.to_string();
    let mut query = Query::new();
    let hash = query.hash(keys::timeline_job(&name));
    let lease = query.string(keys::timeline_lease(&name));
    let mut answers = site.store.query(query).await?;
    let (hash, lease) = (answers.take(hash), answers.take(lease));
    // An embedded store has one server: a lease of another is from a process
    // that was here before.
    let is_leased = site.store.is_shared() && lease.is_some_and(|server| server != site.deliveries.server);
    if hash.is_empty() || is_leased {
        return Ok(Outcome::NotOurs);
    }
    let current = Current { site, now, job, hash };
    match job {
        Job::Deliver(tweet) => deliver::step(&current, tweet).await,
        Job::Sweep(tweet) => sweep::step(&current, tweet).await,
        Job::Clear(reader, author) => clear::step(&current, reader, author).await,
        Job::Rebuild(reader) => rebuild::step(&current, reader).await,
        Job::Leave(user) => leave::step(&current, user).await,
    }
}

/// Works on a job until it is finished or somebody else's. Answers whether it
/// was finished here.
///
/// # Errors
/// When the store fails, or the job finds no peace; it stays where it is then.
pub(crate) async fn work_on(site: &Site, now: Moment, job: Job) -> Result<bool, Error> {
    loop {
        match work_some(site, now, job).await? {
            Outcome::Done => return Ok(true),
            Outcome::More => {}
            Outcome::NotOurs | Outcome::Conflict => return Ok(false),
        }
    }
}

/// Does some steps of a job: a long one lets others in between.
async fn work_some(site: &Site, now: Moment, job: Job) -> Result<Outcome, Error> {
    let (mut steps, mut conflicts) = (0, 0);
    loop {
        match step(site, now, job).await? {
            Outcome::More if steps == TURN_STEPS => return Ok(Outcome::More),
            Outcome::More => (steps, conflicts) = (steps + 1, 0),
            Outcome::Conflict if conflicts == STEP_ATTEMPTS => return Err(Error::Busy),
            Outcome::Conflict => conflicts += 1,
            outcome => return Ok(outcome),
        }
    }
}

/// Does all jobs that wait, except those that another server works on.
///
/// # Errors
/// When the store fails.
pub async fn finish_waiting(site: &Site, now: Moment) -> Result<(), Error> {
    let mut query = Query::new();
    let waiting = query.sorted_range(keys::TIMELINE_JOBS, Order::Ascending, 0, u64::MAX);
    for (name, _) in site.store.query(query).await?.take(waiting) {
        match name.parse::<Job>() {
            Ok(job) => match work_on(site, now, job).await {
                Err(Error::Busy) => {
                    tracing::warn!(%job, "background job kept losing to other writers; it will be retried")
                }
                outcome => drop(outcome?),
            },
            Err(_) => tracing::warn!(name, "unknown kind of background job skipped"),
        }
    }
    Ok(())
}

/// What this server knows of the jobs that its own actions have caused.
pub struct Deliveries {
    /// By what name this server holds leases.
    server: String,
    waiting: Sender<(Job, Moment)>,
    receiver: Mutex<Option<Receiver<(Job, Moment)>>>,
    finished: AtomicU64,
    last_milliseconds: AtomicU64,
}

/// How this server's deliveries have gone, for the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Jobs that are not finished, of all servers.
    pub waiting: u64,
    /// Jobs that this server has finished since it started.
    pub finished: u64,
    /// How long the last of them took, from the action to the last timeline.
    pub last_milliseconds: u64,
}

impl Default for Deliveries {
    fn default() -> Self {
        let (waiting, receiver) = channel(WAITING_JOBS);
        let server =
            crate::values::secrets::random_token().unwrap_or_else(|_| std::process::id().to_string());
        Self {
            server,
            waiting,
            receiver: Mutex::new(Some(receiver)),
            finished: AtomicU64::new(0),
            last_milliseconds: AtomicU64::new(0),
        }
    }
}

impl Deliveries {
    /// Has a job begun soon that was added at `now`. When too many wait it is
    /// found in the store later.
    pub(crate) fn begin(&self, job: Job, now: Moment) {
        if self.waiting.try_send((job, now)).is_err() {
            tracing::debug!(%job, "background job queue is full; the job will be found in the store");
        }
    }

    fn note_finished(&self, job: Job, begun: Moment, clock: &EngineClock) {
        let milliseconds = clock.now_ms().saturating_sub(begun.0);
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.last_milliseconds.store(milliseconds, Ordering::Relaxed);
        tracing::debug!(%job, milliseconds, "background job finished");
    }
}

/// How the deliveries go. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn status(site: &Site) -> Result<DeliveryStatus, Error> {
    let mut query = Query::new();
    let waiting = query.sorted_count(keys::TIMELINE_JOBS);
    let waiting = site.store.query(query).await?.take(waiting);
    Ok(DeliveryStatus {
        waiting,
        finished: site.deliveries.finished.load(Ordering::Relaxed),
        last_milliseconds: site.deliveries.last_milliseconds.load(Ordering::Relaxed),
    })
}

/// Does the work of the background, until it is dropped. Started once for a
/// site; started again it does nothing.
pub async fn run(site: Arc<Site>, clock: EngineClock) {
    let receiver = site.deliveries.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut receiver) = receiver else { return };
    let worker = Worker {
        store: site.store.counted_apart(),
        site,
        clock,
        places: Arc::new(Semaphore::new(CONCURRENT_JOBS)),
        at_work: Arc::default(),
        tasks: tokio::task::JoinSet::new(),
    };
    worker.run(&mut receiver).await;
}

/// Puts a job that failed behind the others. Where the store is away, it stays
/// where it was.
async fn queue_again(site: &Site, job: Job, now: Moment) {
    let name = job.to_string();
    let mut batch = Batch::new();
    batch.key_present(keys::timeline_job(&name));
    batch.sorted_add(keys::TIMELINE_JOBS, name, now.as_score());
    if let Err(error) = site.apply(batch).await {
        tracing::debug!(%job, %error, "background job not queued again");
    }
}

struct Worker {
    site: Arc<Site>,
    /// Where jobs are looked for.
    store: Store,
    clock: EngineClock,
    places: Arc<Semaphore>,
    /// Jobs that this server works on at the moment.
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

    /// Starts to work on a job when there is a place.
    async fn start(&mut self, job: Job, begun: Moment) {
        let Ok(place) = self.places.clone().acquire_owned().await else { return };
        if !self.at_work.lock().unwrap_or_else(PoisonError::into_inner).insert(job) {
            return;
        }
        let (site, clock, at_work) = (self.site.clone(), self.clock.clone(), self.at_work.clone());
        self.tasks.spawn(async move {
            let outcome = work_some(&site, Moment::now(&clock), job).await;
            at_work.lock().unwrap_or_else(PoisonError::into_inner).remove(&job);
            match outcome {
                Ok(Outcome::Done) => site.deliveries.note_finished(job, begun, &clock),
                Ok(Outcome::More) => site.deliveries.begin(job, begun),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%job, %error, "background job failed; it will be retried");
                    queue_again(&site, job, Moment::now(&clock)).await;
                }
            }
            drop(place);
        });
    }

    /// Looks through the store for jobs that nobody works on. Answers whether
    /// there may be many more.
    async fn look(&mut self) -> bool {
        match self.abandoned().await {
            Ok(jobs) => {
                let many = u64::try_from(jobs.len()).is_ok_and(|jobs| jobs > LOOK_AT / 2);
                for (job, begun) in jobs {
                    self.start(job, begun).await;
                }
                many
            }
            Err(error) => {
                // Requests say so; the next look may be luckier.
                tracing::debug!(%error, "cannot look for background jobs");
                false
            }
        }
    }

    async fn abandoned(&self) -> Result<Vec<(Job, Moment)>, Error> {
        let mut query = Query::new();
        let waiting = query.sorted_range(keys::TIMELINE_JOBS, Order::Ascending, 0, LOOK_AT);
        let waiting = self.store.query(query).await?.take(waiting);
        let mut query = Query::new();
        let leases: Vec<_> =
            waiting.iter().map(|(name, _)| query.expiry(keys::timeline_lease(name))).collect();
        let mut answers = self.store.query(query).await?;
        let is_shared = self.site.store.is_shared();
        let now = Moment::now(&self.clock);
        let mut jobs = Vec::new();
        for ((name, score), lease) in waiting.into_iter().zip(leases) {
            let is_leased = answers.take(lease) != Expiry::Absent;
            let begun = moment_of(score);
            let is_fresh = now.0.saturating_sub(begun.0) < FRESH_MS;
            let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
            match name.parse::<Job>() {
                Ok(job) if at_work.contains(&job) || is_shared && (is_leased || is_fresh) => {}
                Ok(job) => jobs.push((job, begun)),
                Err(_) => tracing::warn!(name, "unknown kind of background job skipped"),
            }
        }
        Ok(jobs)
    }
}

/// The moment that a score in seconds means.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn moment_of(score: f64) -> Moment {
    // Out of range saturates; not a number becomes 0.
    Moment((score * 1000.0).round() as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_known_by_its_name() {
        for job in [
            Job::Deliver(TweetId(7)),
            Job::Sweep(TweetId(7)),
            Job::Clear(UserId(1), UserId(2)),
            Job::Rebuild(UserId(3)),
            Job::Leave(UserId(4)),
        ] {
            assert_eq!(job.to_string().parse::<Job>().unwrap(), job);
        }
        for name in ["", "deliver", "deliver:", "deliver:x", "clear:1", "other:1"] {
            assert!(name.parse::<Job>().is_err(), "{name}");
        }
    }
}
