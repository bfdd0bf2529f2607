//! Reading from replicas: which may be read, and reads from them.
//!
//! A replica may be read if it has everything that the primary had half a second ago ([`READ_STALENESS`]).
//! That is measured. Four times a second the primary is asked how long its stream of writes is. That is a
//! *mark*: everything that was acknowledged before the question is in the stream up to there. Then each
//! replica is asked how far it is in the same stream, which says which marks it has passed. A replica
//! whose link is down, that has another stream, or that does not answer passes none, and is not read any more
//! within half a second.
//!
//! Which replicas there are, the primary says. A read that fails there, or that is not answered
//! within what is left of it, is made at the primary.

use super::connection::{ReconnectingConnection, RequestOptions};
use super::place::Place;
use super::replicas::{PrimaryState, ReplicaState};
use super::{RedisShared, wire};
use crate::limits::{MEASURE_EVERY, MEASURE_PATIENCE, READ_STALENESS};
use crate::query::{Query, ReadOutcomes};
use futures_util::future::join_all;
use redis::{Pipeline, Value};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tidings_supervision::{Policy, supervise};
use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};

/// Marks that are remembered. A replica that has not passed the oldest of them is too old to be read.
const MARKS: usize = 8;

/// The replicas of a store.
pub(super) struct ReplicaReaders {
    began: Instant,
    /// Those that the primary names.
    readers: Mutex<Vec<Arc<ReplicaReader>>>,
    /// The number of choices so far, by which the replicas take turns.
    turn: AtomicUsize,
}

/// One replica.
struct ReplicaReader {
    address: (String, u16),
    connection: ReconnectingConnection,
    /// It has everything that was acknowledged so many milliseconds after the beginning; 0 if that
    /// is not known.
    complete_ms: AtomicU64,
}

/// How long the stream of the primary was at a time.
struct Mark {
    stream: String,
    offset: u64,
    /// In milliseconds since the beginning.
    asked_ms: u64,
}

impl ReplicaReaders {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), readers: Mutex::default(), turn: AtomicUsize::new(0) }
    }

    /// Whether a replica may be read.
    pub(super) fn has_any(&self) -> bool {
        self.choose().is_some()
    }

    /// Runs a query as one pipeline on a replica. Returns `None` if none may be read, or if it does
    /// not answer in time.
    pub(super) async fn query(&self, query: &Query) -> Option<ReadOutcomes> {
        let (reader, left) = self.choose()?;
        let mut pipeline = Pipeline::with_capacity(query.reads().len());
        for read in query.reads() {
            pipeline.add_command(wire::command_of(read));
        }
        let options = RequestOptions { timeout: left, reads: true };
        let values = match reader.connection.send(&pipeline, options).await {
            Ok(values) if !values.iter().any(is_failure) => values,
            _ => {
                // The next measurement decides.
                reader.complete_ms.store(0, Ordering::Release);
                return None;
            }
        };
        Some(query.reads().iter().zip(values).map(|(read, value)| wire::answer_of(read, value)).collect())
    }

    /// The replica whose turn it is, of those that may be read, and how long that holds.
    fn choose(&self) -> Option<(Arc<ReplicaReader>, Duration)> {
        let now = self.now_ms();
        let readers = self.lock();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let (first, last) = readers.split_at(turn.checked_rem(readers.len())?);
        last.iter().chain(first).find_map(|reader| Some((reader.clone(), reader.may_be_read_for(now)?)))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Keeps to the replicas that the primary names.
    fn update(&self, shared: &RedisShared, named: Vec<(String, u16)>) -> Vec<Arc<ReplicaReader>> {
        let mut readers = self.lock();
        let known = std::mem::take(&mut *readers);
        *readers = named
            .into_iter()
            .filter_map(|address| {
                let same = known.iter().find(|reader| reader.address == address).cloned();
                same.or_else(|| ReplicaReader::new(&shared.place, address, shared.timeout))
            })
            .collect();
        readers.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ReplicaReader>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplicaReader {
    fn new(place: &Place, address: (String, u16), timeout: Duration) -> Option<Arc<Self>> {
        let (host, port) = &address;
        let place = place
            .of_replica(host, *port)
            .inspect_err(|error| tracing::warn!(host, port, %error, "a replica cannot be read"))
            .ok()?;
        let connection = ReconnectingConnection::new(Arc::new(place), timeout, None);
        Some(Arc::new(Self { address, connection, complete_ms: AtomicU64::new(0) }))
    }

    /// How long it may still be read, from this time on.
    fn may_be_read_for(&self, now_ms: u64) -> Option<Duration> {
        let complete = self.complete_ms.load(Ordering::Acquire);
        let age = Duration::from_millis(now_ms.saturating_sub(complete));
        let left = READ_STALENESS.checked_sub(age).filter(|left| !left.is_zero());
        left.filter(|_| complete > 0)
    }

    /// Asks how far it is.
    async fn measure(&self, marks: &VecDeque<Mark>) {
        let Some(info) = replication_info(&self.connection, MEASURE_PATIENCE).await else { return };
        let Some(state) = ReplicaState::read(&info) else { return };
        let passed = |mark: &&Mark| mark.stream == state.stream && mark.offset <= state.offset;
        if let Some(mark) = marks.iter().rev().find(passed) {
            self.complete_ms.fetch_max(mark.asked_ms, Ordering::AcqRel);
        }
    }
}

/// Whether a replica has answered that it cannot answer. An error about a value is an answer.
fn is_failure(value: &Value) -> bool {
    matches!(value, Value::ServerError(error) if error.code() != "WRONGTYPE")
}

async fn replication_info(connection: &ReconnectingConnection, timeout: Duration) -> Option<String> {
    let mut pipeline = Pipeline::with_capacity(1);
    pipeline.cmd("INFO").arg("replication");
    let options = RequestOptions { timeout, reads: true };
    let values = connection.send(&pipeline, options).await.ok()?;
    let info = wire::bytes(values.into_iter().next()?)?;
    Some(String::from_utf8_lossy(&info).into_owned())
}

/// Measures the replicas of a store until it is dropped.
pub(super) fn start(shared: &Arc<RedisShared>) {
    // Without a runtime there are no requests either.
    let Ok(runtime) = Handle::try_current() else { return };
    if shared.readers.is_some() {
        let shared = Arc::downgrade(shared);
        runtime.spawn(async move {
            supervise("replicas", Policy::UntilDone, || work(shared.clone())).await;
        });
    }
}

async fn work(shared: Weak<RedisShared>) {
    let mut ticks = interval(MEASURE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut marks = VecDeque::with_capacity(MARKS);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        if shared.is_admitted.load(Ordering::Acquire)
            && let Some(readers) = &shared.readers
        {
            measure_all(&shared, readers, &mut marks).await;
        }
    }
}

async fn measure_all(shared: &RedisShared, readers: &ReplicaReaders, marks: &mut VecDeque<Mark>) {
    // At least 1, which is a time that is known.
    let asked_ms = readers.now_ms().max(1);
    // A time-out gives the connection up, which has all other requests on it.
    let Some(info) = replication_info(&shared.connection, shared.timeout).await else { return };
    let Some(PrimaryState { stream, offset, replicas }) = PrimaryState::read(&info) else { return };
    if marks.len() == MARKS {
        marks.pop_front();
    }
    marks.push_back(Mark { stream, offset, asked_ms });
    let readers = readers.update(shared, replicas);
    join_all(readers.iter().map(|reader| reader.measure(marks))).await;
}
