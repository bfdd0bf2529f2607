//! The writer thread: it applies all queued batches in one transaction, flushes once, and
//! answers all of them (group commit).
//!
//! A flush takes long however little it writes, so waiting batches share one. What is
//! flushed is one record in the journal:
//!
//! 1. The batches are applied in a transaction that no reader sees yet.
//! 2. Their writes are appended to the journal, and the journal is flushed.
//! 3. The transaction is committed without a flush. Now readers see it.
//! 4. The callers are answered.
//!
//! So nothing that a crash could undo is read or acknowledged. A *checkpoint* is a commit
//! that flushes the store file, after which the journal starts over. It happens once a
//! second, when the journal has no room for a group, and when expired keys are removed.

use super::apply::preflight;
use super::database::ReopenableDatabase;
use super::journal::{Journal, LoggedBatch};
use super::tables::{META, META_RECORD, Tables};
use crate::batch::{Batch, CommitError, Committed, Write};
use crate::events::Message;
use crate::limits::{MAX_GROUP_BATCHES, MAX_SWEPT_ROWS};
use crate::read_set::Versions;
use crate::{EngineClock, KeyspaceError};
use redb::Durability;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, broadcast, oneshot};

/// How often expired keys are removed, and the store file is flushed if anything was
/// written.
const TIDY_EVERY: Duration = Duration::from_secs(1);

/// A batch in the writer's queue.
pub(super) struct QueuedBatch {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<Result<Committed, CommitError>>,
    /// The place in the bounded queue, freed with the answer.
    pub(super) _place: OwnedSemaphorePermit,
}

/// The state of the writer thread.
pub(super) struct WriterThread {
    database: Arc<ReopenableDatabase>,
    /// Where acknowledged writes are flushed. A store in memory has none.
    journal: Option<Journal>,
    /// Whether the journal may hold writes that the open database lacks. Only reopening
    /// both can tell.
    in_doubt: bool,
    clock: EngineClock,
    messages: broadcast::Sender<Message>,
    versions: Arc<Versions>,
}

impl WriterThread {
    /// A writer of an open store.
    pub(super) fn new(
        database: Arc<ReopenableDatabase>,
        journal: Option<Journal>,
        clock: EngineClock,
        messages: broadcast::Sender<Message>,
        versions: Arc<Versions>,
    ) -> Self {
        Self { database, journal, in_doubt: false, clock, messages, versions }
    }

    /// Runs until the store is closed and every queued batch is answered.
    pub(super) fn run(mut self, queue: &Receiver<QueuedBatch>) {
        let mut next_tidying = Instant::now() + TIDY_EVERY;
        loop {
            let patience = next_tidying.saturating_duration_since(Instant::now());
            match queue.recv_timeout(patience) {
                Ok(first) => {
                    let group =
                        std::iter::once(first).chain(queue.try_iter()).take(MAX_GROUP_BATCHES).collect();
                    self.commit_group(group);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= next_tidying {
                let more = self.tidy();
                next_tidying = if more { Instant::now() } else { Instant::now() + TIDY_EVERY };
            }
        }
        self.close();
    }

    /// Applies a group of batches and answers each of them.
    pub(super) fn commit_group(&mut self, mut group: Vec<QueuedBatch>) {
        // These callers have timed out and been told that the outcome is unknown.
        group.retain(|queued| !queued.reply.is_closed());
        let outcomes = self.apply_group(&group);
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
            Err(error) => {
                tracing::error!(%error, batches = group.len(), "commit failed");
                let mut batches = Vec::with_capacity(group.len());
                for queued in group {
                    let text = format!("the commit failed: {error}");
                    let _ = queued.reply.send(Err(KeyspaceError::Unavailable(text).into()));
                    batches.push(queued.batch);
                }
                self.recover();
                // Writes that the failure has left in the journal can be read from now on.
                self.note_written(batches.iter());
            }
        }
    }

    fn note_written<'a>(&self, batches: impl Iterator<Item = &'a Batch>) {
        for batch in batches {
            self.versions.note_written(batch);
        }
    }

    /// Reopens the store if a failure has made it unusable.
    fn recover(&mut self) {
        if !self.in_doubt && self.database.works() {
            return;
        }
        if let Some(journal) = self.database.reopen() {
            self.journal = journal;
            self.in_doubt = false;
        }
    }

    /// Removes expired keys and flushes. Returns whether there may be more expired keys.
    pub(super) fn tidy(&mut self) -> bool {
        let more = self.sweep().and_then(|more| self.checkpoint().map(|()| more));
        more.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot remove expired keys and flush the store");
            self.recover();
            false
        })
    }

    /// Closes the store. Writes that cannot be flushed now stay in the journal.
    pub(super) fn close(mut self) {
        match self.checkpoint() {
            Ok(()) => self.database.close(self.journal),
            Err(error) => {
                tracing::error!(%error, "cannot flush the store file; the journal holds its missing writes");
                self.database.close(None);
            }
        }
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
    ) -> Result<Vec<Result<Committed, CommitError>>, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut outcomes = Vec::with_capacity(group.len());
        let mut accepted = Vec::with_capacity(group.len());
        let mut tables = Tables::write(&transaction)?;
        for queued in group {
            let now = self.clock.now_ms();
            let outcome = preflight(&tables, &queued.batch, now);
            match &outcome {
                Ok(committed) => {
                    tables.apply(&queued.batch, &committed.counters, now)?;
                    let writes = queued.batch.writes();
                    if !writes.is_empty() {
                        accepted.push(LoggedBatch { now, writes: Cow::Borrowed(writes) });
                    }
                }
                Err(CommitError::Keyspace(KeyspaceError::Unavailable(reason))) => {
                    return Err(redb::Error::Corrupted(reason.clone()));
                }
                Err(_) => {}
            }
            outcomes.push(outcome);
        }
        drop(tables);
        if accepted.is_empty() {
            transaction.abort()?;
        } else {
            self.commit_durably(transaction, &accepted)?;
        }
        Ok(outcomes)
    }

    /// Commits a transaction in which these batches were applied. It is on disk when this
    /// returns.
    fn commit_durably(
        &mut self,
        mut transaction: redb::WriteTransaction,
        accepted: &[LoggedBatch<'_>],
    ) -> Result<(), redb::Error> {
        let record = self.journal.as_ref().and_then(|journal| journal.record(accepted));
        if let Some(journal) = &mut self.journal
            && let Some(record) = record
        {
            transaction.open_table(META)?.insert(META_RECORD, journal.last() + 1)?;
            transaction.set_durability(Durability::None)?;
            // If the flush fails, the journal may or may not have the record. If the commit
            // fails after it, the database lacks what the journal has.
            self.in_doubt = true;
            journal.append(&record)?;
            transaction.commit()?;
            self.in_doubt = false;
            return Ok(());
        }
        self.commit_checkpoint(transaction)
    }

    /// Flushes the store file if the journal has writes that the file lacks.
    pub(super) fn checkpoint(&mut self) -> Result<(), redb::Error> {
        if self.journal.as_ref().is_some_and(Journal::has_records) {
            let transaction = self.database.begin_write()?;
            self.commit_checkpoint(transaction)?;
        }
        Ok(())
    }

    /// Flushes a transaction, and all before it, to the store file.
    fn commit_checkpoint(&mut self, mut transaction: redb::WriteTransaction) -> Result<(), redb::Error> {
        transaction.set_durability(Durability::Immediate)?;
        transaction.commit()?;
        if let Some(journal) = &mut self.journal {
            journal.start_over();
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
        if Tables::read(&self.database.begin_read()?)?.first_expired(now)?.is_none() {
            return Ok(false);
        }
        let transaction = self.database.begin_write()?;
        let more = Tables::write(&transaction)?.sweep(MAX_SWEPT_ROWS, now)?;
        self.commit_checkpoint(transaction)?;
        Ok(more)
    }
}
