//! A store without a writer thread. The test calls the writer itself, so that nothing
//! depends on time.

use super::*;
use crate::EngineClock;
use std::collections::BTreeMap;

/// A store and its writer.
pub(super) struct Rig {
    pub(super) redb: Redb,
    pub(super) writer: WriterThread,
}

/// All keys with their values, and when they expire, in Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State(BTreeMap<String, (Value, Option<u64>)>);

impl State {
    /// The keys and values, without expiries.
    pub(super) fn values(self) -> BTreeMap<String, Value> {
        self.0.into_iter().map(|(key, (value, _))| (key, value)).collect()
    }

    /// The state without the keys that have expired by a time.
    pub(super) fn at(&self, now: u64) -> Self {
        let live = |expires: &Option<u64>| expires.is_none_or(|expires| expires > now);
        Self(self.0.clone().into_iter().filter(|(_, (_, expires))| live(expires)).collect())
    }
}

impl Rig {
    pub(super) fn open(opener: Opener, clock: &Arc<AtomicU64>) -> Result<Self, String> {
        Self::open_with(opener, clock, Arc::default())
    }

    pub(super) fn open_with(
        opener: Opener,
        clock: &Arc<AtomicU64>,
        versions: Arc<Versions>,
    ) -> Result<Self, String> {
        let (database, files) = ReopenableDatabase::open(opener)?;
        let database = Arc::new(database);
        let last = last_time(&database).unwrap();
        let clock = Arc::new(SteadyClock::new(EngineClock::Manual(clock.clone()), last));
        let messages = broadcast::Sender::new(1);
        let writer = WriterThread::new(database.clone(), files, clock.clone(), messages.clone(), versions);
        let shared = RedbShared {
            database: database.clone(),
            clock: clock.clone(),
            timeout: PATIENCE,
            places: Arc::new(Semaphore::new(MAX_QUEUED_BATCHES)),
            file_checks: Arc::new(Semaphore::new(1)),
            queue: Mutex::new(None),
            messages: messages.downgrade(),
            writer: Mutex::new(None),
            health: writer.health(),
        };
        let redb = Redb { shared: Arc::new(shared) };
        Ok(Self { redb, writer })
    }

    /// A store in memory, which has no journal.
    pub(super) fn in_memory(clock: &Arc<AtomicU64>) -> Self {
        Self::open(database::opener(":memory:", 1 << 20, Some(None)), clock).unwrap()
    }

    /// Closes the store, of which nothing is left open.
    pub(super) fn close(self) {
        self.writer.close();
    }

    /// Commits batches as one group.
    pub(super) fn commit(
        &mut self,
        batches: impl IntoIterator<Item = Batch>,
    ) -> Vec<Result<Vec<i64>, CommitError>> {
        let (mut queue, mut answers) = (Vec::new(), Vec::new());
        for batch in batches {
            let (reply, answer) = oneshot::channel();
            let place = self.redb.shared.places.clone().try_acquire_owned().unwrap();
            queue.push(QueuedBatch { batch, reply, _place: place });
            answers.push(answer);
        }
        self.writer.commit_group(queue);
        answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect()
    }

    /// The state of the store.
    pub(super) fn state(&self) -> State {
        let now = self.redb.shared.clock.now_ms();
        let entries = self.redb.scan(None, usize::MAX).unwrap().entries;
        let row = |mut entry: Entry| {
            match &mut entry.value {
                Value::Hash(fields) => fields.sort(),
                Value::Set(members) => members.sort(),
                Value::String(_) | Value::SortedSet(_) => {}
            }
            let left = |left: Duration| u64::try_from(left.as_millis()).unwrap();
            (entry.key, (entry.value, entry.time_to_live.map(|time_to_live| now + left(time_to_live))))
        };
        State(entries.into_iter().map(row).collect())
    }
}
