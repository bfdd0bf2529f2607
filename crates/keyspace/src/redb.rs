//! The embedded engine, on redb: one file, no service; while it is open, a journal.
//!
//! Reads run on the caller's thread, in one read transaction per query. A read from the page cache
//! takes a few microseconds, less than a switch to another thread and back, and redb's readers
//! never wait. Only queries that may be large use another thread. Writes queue for the one writer
//! thread (see [`writer`]) and are acknowledged once they are on disk: first in the journal beside
//! the file (see [`journal`]), later in the file.
//!
//! [`tables`] describes the file.

mod apply;
mod database;
mod journal;
mod packed;
mod read;
mod recovery;
mod tables;
mod writer;

#[cfg(test)]
mod tests;

use super::batch::{Batch, CommitError, Committed, Write};
use super::events::{Message, Subscription};
use super::query::{Answers, Order, Query};
use super::{EngineClock, Entry, KeyspaceError, OpenError, ScanPage, StoreOptions, Value};
use crate::limits::{MAX_QUEUED_BATCHES, MAX_QUEUED_MESSAGES, MAX_RESTORED_WRITES};
use crate::read_set::Versions;
use database::{Opener, ReopenableDatabase};
use redb::ReadableTableMetadata;
use std::ops::Bound;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tables::{RowHeader, Tables, ValueType};
use tokio::sync::{Semaphore, broadcast, oneshot};
use writer::{QueuedBatch, WriterThread};

/// An open embedded store. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub(super) struct Redb {
    shared: Arc<RedbShared>,
}

struct RedbShared {
    database: Arc<ReopenableDatabase>,
    clock: EngineClock,
    timeout: Duration,
    places: Arc<Semaphore>,
    /// Where batches are sent to the writer; `None` once the store is closed, which stops it.
    queue: Mutex<Option<Sender<QueuedBatch>>>,
    /// The messages of the batches. The writer holds the only strong sender.
    messages: broadcast::WeakSender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Redb {
    /// Opens the store at a path, or in memory.
    pub(super) fn open(
        path: &str,
        options: &StoreOptions,
        versions: Arc<Versions>,
    ) -> Result<Self, OpenError> {
        let opener = database::opener(path, options.cache_bytes, options.create);
        Self::open_with(opener, options, versions)
            .map_err(|reason| OpenError::Engine { url: format!("redb:{path}"), reason })
    }

    fn open_with(opener: Opener, options: &StoreOptions, versions: Arc<Versions>) -> Result<Self, String> {
        let (database, journal) = ReopenableDatabase::open(opener)?;
        let database = Arc::new(database);
        let (queue, receiver) = std::sync::mpsc::channel();
        // The writer holds the only strong sender, so subscriptions end when it stops.
        let messages = broadcast::Sender::new(MAX_QUEUED_MESSAGES);
        let weak_messages = messages.downgrade();
        let clock = options.clock.clone();
        let writer = WriterThread::new(database.clone(), journal, clock, messages, versions);
        let thread = std::thread::Builder::new()
            .name("keyspace-writer".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(|error| format!("cannot start the writer thread: {error}"))?;
        Ok(Self {
            shared: Arc::new(RedbShared {
                database,
                clock: options.clock.clone(),
                timeout: options.timeout,
                places: Arc::new(Semaphore::new(MAX_QUEUED_BATCHES)),
                queue: Mutex::new(Some(queue)),
                messages: weak_messages,
                writer: Mutex::new(Some(thread)),
            }),
        })
    }

    /// Runs a query on a thread for blocking work.
    pub(super) async fn query_elsewhere(&self, query: Query) -> Result<Answers, KeyspaceError> {
        let store = self.clone();
        let running = tokio::task::spawn_blocking(move || store.query(&query));
        running.await.map_err(|error| KeyspaceError::Unavailable(error.to_string()))?
    }

    /// Runs a query on one snapshot.
    pub(super) fn query(&self, query: &Query) -> Result<Answers, KeyspaceError> {
        let tables = self.read()?;
        let now = self.shared.clock.now_ms();
        let answers = query.reads().iter().map(|read| tables.answer(read, now));
        Ok(Answers::new(answers.collect::<Result<_, _>>()?))
    }

    /// Passes a batch to the writer and waits until it is on disk.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        match tokio::time::timeout(self.shared.timeout, self.submit(batch)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(unavailable("the disk did not answer in time")),
        }
    }

    async fn submit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let Ok(place) = self.shared.places.clone().acquire_owned().await else {
            return Err(unavailable("the store is closed"));
        };
        let (reply, outcome) = oneshot::channel();
        let Some(queue) = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Err(unavailable("the store is closed"));
        };
        if queue.send(QueuedBatch { batch, reply, _place: place }).is_err() {
            return Err(unavailable("the writer has stopped"));
        }
        // The writer stops when all senders are dropped, so a waiting caller must not
        // hold one.
        drop(queue);
        outcome.await.unwrap_or_else(|_| Err(unavailable("the writer has stopped")))
    }

    /// The number of keys that are not expired.
    pub(super) fn count_keys(&self) -> Result<u64, KeyspaceError> {
        let tables = self.read()?;
        let now = self.shared.clock.now_ms();
        let end = now.saturating_add(1).to_be_bytes();
        let mut expired: u64 = 0;
        for entry in tables.expiries.range(..end.as_slice())? {
            entry?;
            expired += 1;
        }
        Ok(tables.keys.len()?.saturating_sub(expired))
    }

    /// Reads keys in byte order; the cursor is the last key read.
    pub(super) fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        let tables = self.read()?;
        let now = self.shared.clock.now_ms();
        let start = cursor.as_deref().map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_bytes()));
        let mut entries = Vec::new();
        let mut last = None;
        for row in tables.keys.range::<&[u8]>((start, Bound::Unbounded))? {
            if entries.len() >= limit.max(1) {
                return Ok(ScanPage { entries, next: last });
            }
            let (key, row) = row?;
            let (key, row) = (tables::text(key.value())?, row.value());
            last = Some(key.to_owned());
            let header = RowHeader::of(row)?;
            if header.expired(now) {
                continue;
            }
            let value = match header.encoding.value_type() {
                ValueType::String => Value::String(tables::text(RowHeader::body(row))?.to_owned()),
                ValueType::Hash => Value::Hash(tables.hash(key, row)?),
                ValueType::Set => Value::Set(tables.set_members(key)?),
                ValueType::SortedSet => {
                    Value::SortedSet(tables.sorted_range(key, row, Order::Ascending, 0, u64::MAX)?)
                }
            };
            let remaining = header.expires_at.saturating_sub(now);
            let time_to_live = (header.expires_at != 0).then(|| Duration::from_millis(remaining));
            entries.push(Entry { key: key.to_owned(), value, time_to_live });
        }
        Ok(ScanPage { entries, next: None })
    }

    /// Replaces whole keys, in batches of bounded size, without a time-out: a restore takes
    /// as long as it needs.
    pub(super) async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        let mut batch = Batch::new();
        for write in entries.into_iter().flat_map(writes_of) {
            batch.write(write);
            if batch.writes().len() >= MAX_RESTORED_WRITES {
                self.submit_restored(std::mem::take(&mut batch)).await?;
            }
        }
        if batch.writes().is_empty() { Ok(()) } else { self.submit_restored(batch).await }
    }

    async fn submit_restored(&self, batch: Batch) -> Result<(), KeyspaceError> {
        match self.submit(batch).await {
            Ok(_) => Ok(()),
            Err(CommitError::Keyspace(error)) => Err(error),
            Err(CommitError::Rejected(_)) => {
                Err(KeyspaceError::Invalid("a restore has no checks".to_owned()))
            }
        }
    }

    /// Subscribes to a channel. On a closed store the subscription ends at once.
    pub(super) fn subscribe(&self, channel: &str) -> Subscription {
        let messages = self.shared.messages.upgrade().unwrap_or_else(|| broadcast::Sender::new(1));
        Subscription::in_process(messages.subscribe(), channel)
    }

    /// Waits until all queued batches are answered, then closes the file.
    pub(super) async fn close(&self) {
        let shared = self.shared.clone();
        let stopped = tokio::task::spawn_blocking(move || shared.stop()).await;
        if let Err(error) = stopped {
            tracing::error!(%error, "the store did not close cleanly");
        }
    }

    fn read(&self) -> Result<Tables<tables::ReadTable>, KeyspaceError> {
        Ok(Tables::read(&self.shared.database.begin_read()?)?)
    }
}

impl RedbShared {
    /// Lets the writer finish its queue and waits for it. The writer does not need the
    /// runtime, so this may block a thread of the runtime.
    fn stop(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer thread has failed");
        }
    }
}

impl Drop for RedbShared {
    fn drop(&mut self) {
        self.stop();
    }
}

fn unavailable(reason: &str) -> CommitError {
    KeyspaceError::Unavailable(reason.to_owned()).into()
}

/// The writes that replace what a key holds by an entry.
fn writes_of(entry: Entry) -> Vec<Write> {
    let Entry { key, value, time_to_live } = entry;
    let mut writes = vec![Write::Delete(key.clone())];
    if time_to_live.is_some_and(|left| left.as_millis() == 0) {
        return writes;
    }
    match value {
        Value::String(text) => writes.push(Write::Set(key.clone(), text, None)),
        Value::Hash(fields) => {
            let chunks = fields.chunks(MAX_RESTORED_WRITES);
            writes.extend(chunks.map(|chunk| Write::SetFields(key.clone(), chunk.to_vec())));
        }
        Value::Set(members) => {
            writes.extend(members.into_iter().map(|member| Write::AddMember(key.clone(), member)));
        }
        Value::SortedSet(members) => {
            let adds =
                members.into_iter().map(|(member, score)| Write::SortedAdd(key.clone(), member, score));
            writes.extend(adds);
        }
    }
    if let Some(time_to_live) = time_to_live {
        writes.push(Write::Expire(key, time_to_live));
    }
    writes
}
