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
mod compaction;
mod database;
mod file_check;
mod file_view;
mod health;
mod journal;
mod packed;
mod read;
mod recovery;
mod seal;
mod sealing;
mod steady_clock;
mod store_file;
mod tables;
mod whole;
mod writer;

#[cfg(test)]
mod tests;

use super::batch::{Batch, CommitError};
use super::events::{Message, Subscription};
use super::query::{Query, Read, ReadOutcomes};
use super::{Entry, KeyPage, KeyspaceError, OpenError, ScanPage, StoreHealth, StoreOptions, StoreSigns};
use crate::file_check::{FileCheck, FileState};
use crate::limits::{MAX_QUEUED_BATCHES, MAX_QUEUED_MESSAGES};
use crate::read_set::Versions;
use crate::snapshot::{self, Snapshot};
use database::{Opener, ReopenableDatabase};
use file_check::Unpinned;
use health::Health;
use parking_lot::Mutex;
use redb::ReadableTableMetadata;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;
use steady_clock::SteadyClock;
use tables::Tables;
use tidings_supervision::panics::catch_damage;
use tokio::sync::{Semaphore, broadcast, oneshot};
use writer::{QueuedBatch, Task, WRITER, WriterThread};

/// The time of the last write, which is in the store file; 0 if it is not known.
fn last_time(database: &ReopenableDatabase) -> Result<u64, redb::Error> {
    let meta = database.begin_read()?.open_table(tables::META)?;
    Ok(meta.get(tables::META_CLOCK)?.map_or(0, |time| time.value()))
}

/// An open embedded store. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub(super) struct Redb {
    shared: Arc<RedbShared>,
}

struct RedbShared {
    database: Arc<ReopenableDatabase>,
    clock: Arc<SteadyClock>,
    timeout: Duration,
    places: Arc<Semaphore>,
    /// Where checks of the file wait for their turn.
    file_checks: Arc<Semaphore>,
    /// Where batches are sent to the writer; `None` once the store is closed, which stops it.
    queue: Mutex<Option<Sender<Task>>>,
    /// The messages of the batches. The writer holds the only strong sender.
    messages: broadcast::WeakSender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
    health: Health,
}

impl Redb {
    /// Opens the store at a path, or in memory.
    pub(super) fn open(
        path: &str,
        options: &StoreOptions,
        versions: Arc<Versions>,
    ) -> Result<Self, OpenError> {
        if !options.create && database::is_missing(std::path::Path::new(path)) {
            return Err(OpenError::Missing(path.to_owned()));
        }
        let first = options.create.then(|| options.first.clone());
        let opener = database::opener(path, options.cache_bytes, first);
        Self::open_with(opener, options, versions).map_err(|reason| {
            let url = format!("redb:{path}");
            if reason == database::LOCKED {
                OpenError::Locked { url, reason }
            } else {
                OpenError::Engine { url, reason }
            }
        })
    }

    fn open_with(opener: Opener, options: &StoreOptions, versions: Arc<Versions>) -> Result<Self, String> {
        let (database, files) = ReopenableDatabase::open(opener)?;
        let database = Arc::new(database);
        let (queue, receiver) = std::sync::mpsc::channel();
        // The writer holds the only strong sender, so subscriptions end when it stops.
        let messages = broadcast::Sender::new(MAX_QUEUED_MESSAGES);
        let weak_messages = messages.downgrade();
        let last = last_time(&database).map_err(|error| error.to_string())?;
        let clock = Arc::new(SteadyClock::new(options.clock.clone(), last));
        let writer = WriterThread::new(database.clone(), files, clock.clone(), messages, versions);
        let (health, writer_health) = (writer.health(), writer.health());
        let thread = std::thread::Builder::new()
            .name("keyspace-writer".to_owned())
            .spawn(move || {
                if catch_unwind(AssertUnwindSafe(|| writer.run(&receiver))).is_err() {
                    writer_health.fail();
                    // All that was acknowledged is in the journal, and a restart recovers it.
                    tidings_supervision::fail(WRITER);
                }
            })
            .map_err(|error| format!("cannot start the writer thread: {error}"))?;
        Ok(Self {
            shared: Arc::new(RedbShared {
                database,
                clock,
                timeout: options.timeout,
                places: Arc::new(Semaphore::new(MAX_QUEUED_BATCHES)),
                file_checks: Arc::new(Semaphore::new(1)),
                queue: Mutex::new(Some(queue)),
                messages: weak_messages,
                writer: Mutex::new(Some(thread)),
                health,
            }),
        })
    }

    /// Runs a query on a thread for blocking work; returns it with the outcomes.
    pub(super) async fn query_elsewhere(&self, query: Query) -> Result<(Query, ReadOutcomes), KeyspaceError> {
        let store = self.clone();
        let running = tokio::task::spawn_blocking(move || {
            let outcomes = store.query(&query)?;
            Ok((query, outcomes))
        });
        running.await.map_err(|error| KeyspaceError::Unavailable(error.to_string()))?
    }

    /// Runs a query on one snapshot.
    pub(super) fn query(&self, query: &Query) -> Result<ReadOutcomes, KeyspaceError> {
        self.read_all(query.reads())
    }

    fn read_all(&self, reads: &[Read]) -> Result<ReadOutcomes, KeyspaceError> {
        let tables = self.read()?;
        // redb panics if a page makes no sense. Then only the keys in it cannot be read.
        Ok(catch_damage(|| tables.answers(reads)).unwrap_or_else(|_| {
            reads.iter().map(|read| of_one_key(read.key(), || tables.answer(read))).collect()
        }))
    }

    /// Batches that the writer has not answered yet.
    pub(super) fn queued_batches(&self) -> usize {
        MAX_QUEUED_BATCHES.saturating_sub(self.shared.places.available_permits())
    }

    /// How long the writer may be busy before it counts as hanging: a checkpoint takes several flushes.
    fn patience(&self) -> Duration {
        2 * self.shared.timeout
    }

    /// Passes a batch to the writer and waits until it is on disk. Refuses it at once while the writer does not
    /// answer: nothing of it is applied.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Vec<i64>, CommitError> {
        if let Some(cause) = self.shared.health.hangs(self.patience()) {
            return Err(KeyspaceError::ReadOnly(cause.to_owned()).into());
        }
        match tokio::time::timeout(self.shared.timeout, self.submit(batch)).await {
            Ok(outcome) => outcome,
            // It may still be applied.
            Err(_) => Err(KeyspaceError::Unsure("the disk did not answer in time".to_owned()).into()),
        }
    }

    async fn submit(&self, batch: Batch) -> Result<Vec<i64>, CommitError> {
        let Ok(place) = self.shared.places.clone().acquire_owned().await else { return Err(closed().into()) };
        let (reply, outcome) = oneshot::channel();
        let Some(queue) = self.shared.queue.lock().clone() else { return Err(closed().into()) };
        if queue.send(Task::Commit(QueuedBatch { batch, reply, _place: place })).is_err() {
            return Err(KeyspaceError::Unavailable("the writer has stopped".to_owned()).into());
        }
        // The writer stops when all senders are dropped, so a waiting caller must not
        // hold one.
        drop(queue);
        outcome
            .await
            .unwrap_or_else(|_| Err(KeyspaceError::Unsure("the writer has stopped".to_owned()).into()))
    }

    /// The number of keys that are not expired.
    pub(super) fn count_keys(&self) -> Result<u64, KeyspaceError> {
        let tables = self.read()?;
        let end = tables.now.saturating_add(1).to_be_bytes();
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
            entries.extend(tables.entry(key, row)?);
        }
        Ok(ScanPage { entries, next: None })
    }

    /// One page of the names of all keys. Where the table is damaged, the page ends after the
    /// damage, with the first key that can be read from the other end.
    pub(super) fn scan_keys(&self, cursor: Option<String>, limit: usize) -> Result<KeyPage, KeyspaceError> {
        let tables = self.read()?;
        let mut page = KeyPage::default();
        let after = |key: Option<&str>| key.map_or(Bound::Unbounded, |key| Bound::Excluded(key.to_owned()));
        // redb panics at pages that make no sense.
        let whole = catch_damage(|| page.read(&tables, after(cursor.as_deref()), limit));
        if let Ok(Ok(())) = whole {
            return Ok(page);
        }
        let last = page.keys.last().cloned().or(cursor);
        let mut following = None;
        let _ = catch_damage(|| {
            let start = after(last.as_deref());
            let start = start.as_ref().map(String::as_bytes);
            for row in tables.keys.range::<&[u8]>((start, Bound::Unbounded))?.rev() {
                following = tables::text(row?.0.value()).ok().map(str::to_owned);
            }
            Ok::<_, KeyspaceError>(())
        });
        page.keys.extend(following.clone());
        page.next.clone_from(&following);
        page.damaged = Some((last.unwrap_or_default(), following.unwrap_or_default()));
        Ok(page)
    }

    /// Reads all keys as of now, on a thread of its own.
    pub(super) fn snapshot(&self) -> Result<Snapshot, KeyspaceError> {
        let keys = self.count_keys()?;
        let tables = self.read()?;
        let (pages, snapshot) = Snapshot::new(tables.now, keys);
        let places = self.shared.places.clone();
        let mut pages = pages.resting_while(move || places.available_permits() < MAX_QUEUED_BATCHES);
        let reader = move || {
            // redb panics at pages that make no sense.
            let outcome = catch_damage(|| tables.send_all(&mut pages)).unwrap_or_else(|what| {
                tracing::debug!(what, "a snapshot meets what is damaged");
                Err(KeyspaceError::Unavailable(DAMAGED_FILE.to_owned()))
            });
            // Frees the pages that only the snapshot has kept.
            drop(tables);
            pages.finish_blocking(outcome);
        };
        snapshot::on_own_thread("keyspace-snapshot", reader)?;
        Ok(snapshot)
    }

    /// Checks the checksums of the file as of now, on a thread of its own. Only one check runs at a
    /// time: a further one waits for its turn.
    pub(super) async fn check_file(&self) -> Result<FileCheck, KeyspaceError> {
        let turn = self.shared.file_checks.clone().acquire_owned().await.map_err(|_| closed())?;
        let pinned = match self.ask_writer(Task::Pin).await? {
            Ok(pinned) => pinned,
            Err(Unpinned::NoFile) => return Ok(FileCheck::over(FileState::NoFile)),
            Err(Unpinned::NotNow(reason)) => return Ok(FileCheck::over(FileState::Unchecked(reason))),
        };
        let (steps, check) = FileCheck::new();
        let checker = move || {
            file_check::check(pinned, &steps);
            drop(turn);
        };
        snapshot::on_own_thread("keyspace-file-check", checker)?;
        Ok(check)
    }

    /// Writes the file anew, without deleted data. No batch is applied meanwhile.
    pub(super) async fn compact(&self) -> Result<(), KeyspaceError> {
        self.ask_writer(Task::Compact).await?
    }

    /// Asks the writer for something that is no batch, and waits for it.
    async fn ask_writer<T>(&self, task: impl FnOnce(oneshot::Sender<T>) -> Task) -> Result<T, KeyspaceError> {
        let (reply, done) = oneshot::channel();
        let queue = self.shared.queue.lock().clone();
        queue.ok_or_else(closed)?.send(task(reply)).map_err(|_| closed())?;
        done.await.map_err(|_| closed())
    }

    /// Replaces whole keys, in one transaction, without a time-out: a restore takes as long as it needs.
    /// Their times to live count from a moment, or from the writing.
    pub(super) async fn restore(
        &self,
        entries: Vec<Entry>,
        as_of_ms: Option<u64>,
    ) -> Result<(), KeyspaceError> {
        self.ask_writer(|reply| Task::Restore(entries, as_of_ms, reply)).await?
    }

    /// Subscribes to a channel. On a closed store the subscription ends at once.
    pub(super) fn subscribe(&self, channel: &str) -> Subscription {
        let messages = self.shared.messages.upgrade().unwrap_or_else(|| broadcast::Sender::new(1));
        Subscription::in_process(messages.subscribe(), channel)
    }

    /// Whether the store can be read and written at the moment.
    pub(super) fn health(&self) -> StoreHealth {
        self.shared.health.get(self.patience())
    }

    /// Signs of trouble besides.
    pub(super) fn signs(&self) -> StoreSigns {
        StoreSigns { clock_is_behind: self.shared.clock.seconds_ahead(), ..StoreSigns::default() }
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
        Ok(Tables::read(&self.shared.database.begin_read()?)?.at(self.shared.clock.now_ms()))
    }
}

impl KeyPage {
    /// Reads the names of keys from a place on.
    fn read(
        &mut self,
        tables: &Tables<tables::ReadTable>,
        start: Bound<String>,
        limit: usize,
    ) -> Result<(), KeyspaceError> {
        let start = start.as_ref().map(String::as_bytes);
        for row in tables.keys.range::<&[u8]>((start, Bound::Unbounded))? {
            let (key, _) = row?;
            match tables::text(key.value()) {
                Ok(key) => self.keys.push(key.to_owned()),
                Err(_) => self.not_text.push(String::from_utf8_lossy(key.value()).into_owned()),
            }
            if self.keys.len() >= limit.max(1) {
                self.next = self.keys.last().cloned();
                break;
            }
        }
        Ok(())
    }
}

impl RedbShared {
    /// Lets the writer finish its queue and waits for it. The writer does not need the
    /// runtime, so this may block a thread of the runtime.
    fn stop(&self) {
        drop(self.queue.lock().take());
        let thread = self.writer.lock().take();
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

/// Why a store cannot be read whole.
const DAMAGED_FILE: &str = "a part of the store file is damaged; `tidings check store` says where";

/// Reads one key. If redb panics because the key's page makes no sense, the key is damaged.
fn of_one_key<T>(key: &str, read: impl FnOnce() -> Result<T, KeyspaceError>) -> Result<T, KeyspaceError> {
    let what = match catch_damage(read) {
        Ok(Err(KeyspaceError::Damaged(what))) | Err(what) => what,
        Ok(outcome) => return outcome,
    };
    tracing::debug!(key, what, "a value is damaged");
    Err(KeyspaceError::Damaged(key.to_owned()))
}

fn closed() -> KeyspaceError {
    KeyspaceError::Unavailable("the store is closed".to_owned())
}
