//! The writer thread: it applies all queued batches in one transaction, flushes once, and
//! answers all of them (group commit).
//!
//! A flush takes long however little it writes, so waiting batches share one. They are
//! flushed as one record in the journal:
//!
//! 1. The batches are applied in a transaction that no reader sees yet.
//! 2. Their writes are appended to the journal, and the journal is flushed.
//! 3. The transaction is committed without a flush. Now readers see it.
//! 4. The callers are answered.
//!
//! So nothing that a crash could undo is read or acknowledged. A *checkpoint* is a commit
//! that flushes the store file, after which the journal starts over. It happens once a
//! second, when the journal has no room for a group, when redb has written much to the file, and when
//! expired keys are removed.
//!
//! While the disk takes no writes, the writer refuses all batches, and readers go on with what
//! redb has in memory. Once a second it tries the disk again. See [`super::store_file`].

use super::apply::preflight;
use super::compaction;
use super::database::{Files, ReopenableDatabase};
use super::file_check::{PinnedFile, Unpinned};
use super::health::Health;
use super::journal::LoggedBatch;
use super::of_one_key;
use super::sealing::{Sealing, Step};
use super::steady_clock::SteadyClock;
use super::store_file::Trouble;
use super::tables::{META, META_CLOCK, META_RECORD, Tables, WriteTable};
use crate::batch::{Batch, Check, CommitError, Write};
use crate::events::Message;
use crate::limits::{MAX_GROUP_BATCHES, MAX_SWEPT_ROWS, MAX_UNFLUSHED_BYTES};
use crate::read_set::Versions;
use crate::{Entry, KeyspaceError, StoreHealth};
use redb::Durability;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tidings_supervision::panics::catch_damage;
use tokio::sync::{OwnedSemaphorePermit, broadcast, oneshot};

/// How often expired keys are removed, and the store file is flushed if anything was
/// written.
const TIDY_EVERY: Duration = Duration::from_secs(1);

/// The name of the writer among the workers.
pub(super) const WRITER: &str = "store writer";

/// A batch in the writer's queue.
pub(super) struct QueuedBatch {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<Result<Vec<i64>, CommitError>>,
    /// The place in the bounded queue, freed with the answer.
    pub(super) _place: OwnedSemaphorePermit,
}

/// A task for the writer.
pub(super) enum Task {
    Commit(QueuedBatch),
    /// To replace whole keys, in one transaction.
    Restore(Vec<Entry>, Option<u64>, oneshot::Sender<Result<(), KeyspaceError>>),
    /// To pin the store file as of a checkpoint.
    Pin(oneshot::Sender<Result<PinnedFile, Unpinned>>),
    /// To write the store file anew, without deleted data.
    Compact(oneshot::Sender<Result<(), KeyspaceError>>),
}

/// Why nothing is written while a flush takes longer than a caller waits.
const DISK_HANGS: &str = "the disk does not answer";
/// Why nothing is written during work that takes its time.
const IS_REWRITTEN: &str = "the store file is being written anew";

/// The state of the writer thread.
pub(super) struct WriterThread {
    database: Arc<ReopenableDatabase>,
    /// The store file, and the journal where acknowledged writes are flushed. A store in memory has
    /// none.
    files: Option<Files>,
    /// Whether the journal may hold writes that the open database lacks, or the other way round.
    /// Only reopening both can tell.
    in_doubt: bool,
    /// Whether the last group has come so far that the disk may have it.
    is_logged: bool,
    /// The rest of the work of giving check values to rows of an earlier version.
    sealing: Option<Sealing>,
    clock: Arc<SteadyClock>,
    messages: broadcast::Sender<Message>,
    versions: Arc<Versions>,
    health: Health,
}

impl WriterThread {
    /// A writer of an open store.
    pub(super) fn new(
        database: Arc<ReopenableDatabase>,
        files: Option<Files>,
        clock: Arc<SteadyClock>,
        messages: broadcast::Sender<Message>,
        versions: Arc<Versions>,
    ) -> Self {
        let health = Health::default();
        let (in_doubt, is_logged) = (false, false);
        let sealing = database.begin_read().and_then(|transaction| Sealing::of(&transaction));
        let sealing = sealing.unwrap_or_default();
        let writer =
            Self { database, files, in_doubt, is_logged, sealing, clock, messages, versions, health };
        writer.note_health();
        writer
    }

    /// Where to learn what the store can do.
    pub(super) fn health(&self) -> Health {
        self.health.clone()
    }

    /// Why nothing may be written at the moment.
    fn trouble(&self) -> Option<Trouble> {
        self.files.as_ref().and_then(Files::trouble)
    }

    fn note_health(&self) {
        self.health.set(match self.trouble() {
            None => StoreHealth::Works,
            Some(trouble) => StoreHealth::ReadOnly(trouble.cause),
        });
    }

    /// Runs until the store is closed and every queued batch is answered.
    pub(super) fn run(mut self, queue: &Receiver<Task>) {
        let mut next_tidying = Instant::now() + TIDY_EVERY;
        // As of other workers; see `tidings_supervision::catch`.
        let span = tracing::info_span!("background", worker = WRITER);
        loop {
            let patience = next_tidying.saturating_duration_since(Instant::now());
            let received = queue.recv_timeout(patience);
            let _working = span.enter();
            match received {
                Ok(first) => {
                    let tasks = std::iter::once(first).chain(queue.try_iter()).take(MAX_GROUP_BATCHES);
                    self.perform(tasks);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= next_tidying {
                let more = self.health().during(DISK_HANGS, || self.tidy());
                next_tidying = if more { Instant::now() } else { Instant::now() + TIDY_EVERY };
            }
        }
        self.close();
    }

    /// Applies the batches among some tasks as one group, and then does the rest.
    fn perform(&mut self, tasks: impl Iterator<Item = Task>) {
        let mut group = Vec::new();
        let (mut restores, mut pins, mut compactions) = (Vec::new(), Vec::new(), Vec::new());
        for task in tasks {
            match task {
                Task::Commit(batch) => group.push(batch),
                Task::Restore(entries, as_of, reply) => restores.push((entries, as_of, reply)),
                Task::Pin(reply) => pins.push(reply),
                Task::Compact(reply) => compactions.push(reply),
            }
        }
        let health = self.health();
        if !group.is_empty() {
            health.during(DISK_HANGS, || self.commit_group(group));
        }
        for (entries, as_of, reply) in restores {
            // This fails if nobody waits any more.
            let _ = reply.send(health.during(IS_REWRITTEN, || self.restore(&entries, as_of)));
        }
        for reply in pins {
            // This fails if the check was dropped.
            let _ = reply.send(health.during(DISK_HANGS, || self.pin_file()));
        }
        for reply in compactions {
            // This fails if nobody waits any more.
            let _ = reply.send(health.during(IS_REWRITTEN, || self.compact()));
        }
    }

    /// Writes the store file anew, with what is there and nothing of what was deleted, and an empty journal.
    /// No batch is applied meanwhile. After a power cut there is the old file or the new one, and the journal
    /// belongs to both.
    fn compact(&mut self) -> Result<(), KeyspaceError> {
        if let Some(trouble) = self.trouble() {
            return Err(KeyspaceError::ReadOnly(trouble.cause));
        }
        let Some(path) = self.files.as_ref().and_then(|files| files.path.clone()) else { return Ok(()) };
        let written = catch_damage(|| {
            self.checkpoint()?;
            compaction::write_anew(&self.database.begin_read()?, &path)
        });
        let renamed = match written {
            Ok(written) => written.and_then(|new| {
                // The records of the journal have what was deleted, too.
                if let Some(files) = &mut self.files {
                    files.journal.wipe()?;
                }
                Ok(new.take_the_place_of(&path)?)
            }),
            Err(what) => Err(redb::Error::Corrupted(what)),
        };
        if let Err(error) = renamed {
            compaction::remove_rest(&path);
            self.recover();
            return Err(error.into());
        }
        // The open file is the old one.
        self.in_doubt = true;
        self.recover();
        if self.in_doubt {
            return Err(KeyspaceError::Unavailable("the new store file cannot be opened".to_owned()));
        }
        Ok(())
    }

    /// Replaces whole keys. They are too much for the journal, so they are flushed to the store file at once.
    fn restore(&mut self, entries: &[Entry], as_of_ms: Option<u64>) -> Result<(), KeyspaceError> {
        if let Some(trouble) = self.trouble() {
            return Err(KeyspaceError::ReadOnly(trouble.cause));
        }
        let restored = self.without_panic(|writer| {
            let transaction = writer.database.begin_write()?;
            let now = as_of_ms.unwrap_or_else(|| writer.clock.now_ms());
            Tables::write(&transaction)?.at(now).replace(entries)?;
            writer.commit_doubtfully(transaction)
        });
        restored.map_err(|error| {
            self.recover();
            self.note_health();
            KeyspaceError::Unavailable(format!("the restore failed: {error}"))
        })
    }

    /// Makes a checkpoint and pins the store file as it is then.
    pub(super) fn pin_file(&mut self) -> Result<PinnedFile, Unpinned> {
        if self.files.is_none() && !self.in_doubt {
            return Err(Unpinned::NoFile);
        }
        if let Some(trouble) = self.trouble() {
            return Err(Unpinned::NotNow(trouble.cause));
        }
        let pinned = self.without_panic(Self::checkpoint).and_then(|()| {
            let Some(files) = self.files.as_ref().filter(|_| !self.in_doubt) else {
                return Err(redb::Error::DatabaseClosed);
            };
            Ok(PinnedFile { transaction: self.database.begin_read()?, view: files.store.view()? })
        });
        pinned.map_err(|error| {
            self.recover();
            self.note_health();
            Unpinned::NotNow(error.to_string())
        })
    }

    /// Applies a group of batches and answers each of them.
    pub(super) fn commit_group(&mut self, mut group: Vec<QueuedBatch>) {
        // These callers have timed out and been told that the outcome is unknown.
        group.retain(|queued| !queued.reply.is_closed());
        if let Some(trouble) = self.trouble() {
            self.note_health();
            refuse(group, &KeyspaceError::ReadOnly(trouble.cause));
            return;
        }
        let outcomes = self.without_panic(|writer| writer.apply_group(&group));
        self.note_written(group.iter().map(|queued| &queued.batch));
        match outcomes {
            Ok(outcomes) => {
                for (queued, outcome) in group.into_iter().zip(outcomes) {
                    if outcome.is_ok() {
                        self.send_messages(&queued.batch);
                    }
                    // This fails if the caller has timed out.
                    let _ = queued.reply.send(outcome);
                }
            }
            Err(error) => self.fail_group(group, &error),
        }
    }

    /// Answers a group that could not be committed.
    fn fail_group(&mut self, group: Vec<QueuedBatch>, error: &redb::Error) {
        let trouble = self.trouble();
        self.note_health();
        let failure = match &trouble {
            // The journal has refused the record, so nothing has happened.
            Some(trouble) if !trouble.lasts && !self.is_logged => {
                KeyspaceError::ReadOnly(trouble.cause.clone())
            }
            _ => {
                tracing::error!(%error, batches = group.len(), "commit failed");
                let reason = format!("the commit failed: {error}");
                // Writes that the disk may have are there after the store is opened again.
                if self.is_logged || trouble.is_some() {
                    KeyspaceError::Unsure(reason)
                } else {
                    KeyspaceError::Unavailable(reason)
                }
            }
        };
        self.recover();
        // Writes that the failure has left in the journal can be read from now on.
        self.note_written(group.iter().map(|queued| &queued.batch));
        if trouble.is_none() && !self.is_logged && group.len() > 1 {
            // Nothing of the group has happened. One of the batches may have met a damaged page,
            // and the others need not fail with it.
            for queued in group {
                self.commit_group(vec![queued]);
            }
        } else {
            refuse(group, &failure);
        }
    }

    fn note_written<'a>(&self, batches: impl Iterator<Item = &'a Batch>) {
        for batch in batches {
            self.versions.note_written(batch);
        }
    }

    /// Reopens the store if a failure has made it unusable.
    fn recover(&mut self) {
        // After a flush that failed, nothing more is written to the file.
        let lasts = self.trouble().is_some_and(|trouble| trouble.lasts);
        if lasts || (!self.in_doubt && self.database.works()) {
            return;
        }
        match self.database.reopen(self.files.take()) {
            Some(files) => {
                self.files = files;
                self.in_doubt = false;
                self.note_health();
            }
            None => {
                self.in_doubt = true;
                self.health.set(StoreHealth::Unavailable("the store file cannot be opened again".to_owned()));
            }
        }
    }

    /// Removes expired keys and flushes. Returns whether there may be more expired keys.
    pub(super) fn tidy(&mut self) -> bool {
        if self.in_doubt {
            self.recover();
        }
        if !self.heal() {
            return false;
        }
        let more = self.without_panic(|writer| {
            // A failure to remove expired keys must not keep the other keys from the file.
            let swept = writer.sweep();
            let sealed = writer.seal_some();
            writer.checkpoint().and(sealed).and(swept)
        });
        let more = more.unwrap_or_else(|error| {
            if self.trouble().is_none() {
                tracing::warn!(%error, "cannot remove expired keys and flush the store");
            }
            self.recover();
            false
        });
        self.note_health();
        more
    }

    /// Tries the disk again if it has taken no writes. Returns whether it does.
    fn heal(&mut self) -> bool {
        let Some(files) = &mut self.files else { return true };
        if files.trouble().is_none() {
            return true;
        }
        // A journal that is not ready must not be replaced before the file has its writes.
        if files.store.catch_up() {
            if files.journal.is_ready() {
                files.journal.mend();
            } else if let Err(reason) = self.database.prepare_journal(files) {
                tracing::error!(reason, "the journal cannot be created");
            }
        }
        self.note_health();
        self.trouble().is_none()
    }

    /// Closes the store. Writes that cannot be flushed now stay in the journal.
    pub(super) fn close(mut self) {
        let flushed = if self.heal() { self.checkpoint() } else { Err(redb::Error::PreviousIo) };
        match flushed {
            Ok(()) => self.database.close(self.files.take().map(|files| files.journal)),
            Err(error) => {
                tracing::error!(%error, "cannot flush the store file; the journal holds its missing writes");
                self.database.close(None);
            }
        }
        self.health.close();
    }

    fn send_messages(&self, batch: &Batch) {
        for write in batch.writes() {
            if let Write::Publish(channel, message) = write {
                // This fails if there are no subscribers.
                let _ = self.messages.send((channel.clone(), message.clone()));
            }
        }
    }

    /// Applies a group of batches. Returns the outcome of each once those that passed are
    /// on disk. After an error, all outcomes are unknown.
    fn apply_group(
        &mut self,
        group: &[QueuedBatch],
    ) -> Result<Vec<Result<Vec<i64>, CommitError>>, redb::Error> {
        self.is_logged = false;
        let transaction = self.database.begin_write()?;
        let mut outcomes = Vec::with_capacity(group.len());
        let mut accepted = Vec::with_capacity(group.len());
        let mut tables = Tables::write(&transaction)?;
        for queued in group {
            tables.now = self.clock.now_ms();
            let outcome = checked(&tables, &queued.batch);
            if let Ok(counters) = &outcome {
                tables.apply(&queued.batch, counters)?;
                let writes = queued.batch.writes();
                if !writes.is_empty() {
                    accepted.push(LoggedBatch { now: tables.now, writes: Cow::Borrowed(writes) });
                }
            }
            outcomes.push(outcome);
        }
        drop(tables);
        if accepted.is_empty() {
            transaction.abort()?;
        } else {
            let flushes = !group.iter().all(|queued| queued.batch.flushes_later());
            self.commit_durably(transaction, &accepted, flushes)?;
        }
        Ok(outcomes)
    }

    /// Commits a transaction in which these batches were applied. It is on disk when this
    /// returns, or, if it need not be flushed, with the next one that is.
    fn commit_durably(
        &mut self,
        mut transaction: redb::WriteTransaction,
        accepted: &[LoggedBatch<'_>],
        flushes: bool,
    ) -> Result<(), redb::Error> {
        let is_logged_first = self.unflushed_bytes() < MAX_UNFLUSHED_BYTES;
        let files = self.files.as_ref().filter(|_| is_logged_first);
        let record = files.and_then(|files| files.journal.record(accepted));
        if let Some(Files { journal, .. }) = &mut self.files
            && let Some(record) = record
        {
            let mut meta = transaction.open_table(META)?;
            meta.insert(META_RECORD, journal.last() + 1)?;
            meta.insert(META_CLOCK, self.clock.now_ms())?;
            drop(meta);
            transaction.set_durability(Durability::None)?;
            self.is_logged = true;
            if let Err(error) = journal.append(&record, flushes) {
                // A record that the disk has refused is incomplete, and never read.
                self.is_logged = journal.trouble().is_none_or(|trouble| trouble.lasts);
                return Err(error.into());
            }
            // If the commit fails, the database lacks what the journal has.
            self.in_doubt = true;
            transaction.commit()?;
            self.in_doubt = false;
            return Ok(());
        }
        self.is_logged = true;
        self.commit_doubtfully(transaction)
    }

    /// Flushes a transaction to the store file. If that fails, readers see what may be lost, unless the store is
    /// opened again.
    fn commit_doubtfully(&mut self, transaction: redb::WriteTransaction) -> Result<(), redb::Error> {
        self.in_doubt = self.files.is_some();
        self.commit_checkpoint(transaction)?;
        self.in_doubt = false;
        Ok(())
    }

    /// Does some work. After a panic in it, the store is opened again.
    fn without_panic<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.in_doubt = true;
            Err(redb::Error::Corrupted("the writer has failed".to_owned()))
        })
    }

    /// The bytes that redb has written to the store file since its last flush.
    pub(super) fn unflushed_bytes(&self) -> usize {
        self.files.as_ref().map_or(0, |files| files.store.unflushed_bytes())
    }

    /// Flushes the store file if the journal has writes that the file lacks.
    pub(super) fn checkpoint(&mut self) -> Result<(), redb::Error> {
        if self.files.as_ref().is_some_and(|files| files.journal.has_records()) {
            let transaction = self.database.begin_write()?;
            self.commit_checkpoint(transaction)?;
        }
        Ok(())
    }

    /// Flushes a transaction, and all before it, to the store file.
    fn commit_checkpoint(&mut self, mut transaction: redb::WriteTransaction) -> Result<(), redb::Error> {
        transaction.set_durability(Durability::Immediate)?;
        transaction.commit()?;
        if let Some(files) = &mut self.files {
            if let Some(trouble) = files.store.trouble() {
                return Err(std::io::Error::other(trouble.cause).into());
            }
            files.journal.start_over();
        }
        Ok(())
    }

    /// Removes some of the expired keys. Returns whether there may be more.
    ///
    /// This is a checkpoint and has no record in the journal. So when a record is applied
    /// again after a crash, no key is present that had been removed the first time. Such a
    /// key could come back to life if the clock was set back.
    pub(super) fn sweep(&mut self) -> Result<bool, redb::Error> {
        let now = self.clock.now_ms();
        // A read comes first, so that an idle store does not write.
        if Tables::read(&self.database.begin_read()?)?.at(now).first_expired()?.is_none() {
            return Ok(false);
        }
        let transaction = self.database.begin_write()?;
        let more = Tables::write(&transaction)?.at(now).sweep(MAX_SWEPT_ROWS)?;
        self.commit_checkpoint(transaction)?;
        Ok(more)
    }

    /// Gives check values to some rows of an earlier version. Like a sweep, this is a checkpoint and has
    /// no record in the journal.
    fn seal_some(&mut self) -> Result<(), redb::Error> {
        let Some(step) = self.sealing.take().and_then(|sealing| next_step(&sealing, &self.database)) else {
            return Ok(());
        };
        if step.writes() {
            let transaction = self.database.begin_write()?;
            step.write(&transaction)?;
            self.commit_checkpoint(transaction)?;
        }
        self.sealing = step.next();
        Ok(())
    }
}

/// The next step of a sealing. A page that makes no sense, or a failing disk, ends it until the next start.
fn next_step(sealing: &Sealing, database: &ReopenableDatabase) -> Option<Step> {
    let found = catch_damage(|| sealing.step(&database.begin_read()?)).map_err(redb::Error::Corrupted);
    found
        .and_then(|step| step)
        .map_err(|error| {
            tracing::warn!(%error, "not all values of an earlier version get check values");
        })
        .ok()
}

/// Checks a batch. If it meets what is damaged, only this batch fails: nothing has been changed
/// for it.
fn checked(tables: &Tables<WriteTable<'_>>, batch: &Batch) -> Result<Vec<i64>, CommitError> {
    // redb panics if a page makes no sense.
    match catch_damage(|| preflight(tables, batch)) {
        Ok(Err(CommitError::Keyspace(KeyspaceError::Damaged(_)))) | Err(_) => {
            Err(KeyspaceError::Damaged(damaged_key(tables, batch)).into())
        }
        Ok(outcome) => outcome,
    }
}

/// The first key of a batch that cannot be read; if there is none, the first key.
fn damaged_key(tables: &Tables<WriteTable<'_>>, batch: &Batch) -> String {
    let keys = batch.checks().iter().map(Check::key).chain(batch.writes().iter().map(Write::key));
    let is_damaged = |key: &&str| of_one_key(key, || Ok(tables.live_row(key).map(drop)?)).is_err();
    keys.clone().find(is_damaged).or(keys.clone().next()).unwrap_or_default().to_owned()
}

/// Answers all batches of a group with the same failure.
fn refuse(group: Vec<QueuedBatch>, failure: &KeyspaceError) {
    for queued in group {
        // This fails if the caller has timed out.
        let _ = queued.reply.send(Err(failure.clone().into()));
    }
}
