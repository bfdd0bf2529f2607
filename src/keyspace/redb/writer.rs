//! The one thread that writes: it takes all queued batches, applies them in one
//! transaction, commits once, then answers all of them (group commit).
//!
//! A disk that is told to flush takes milliseconds, however much it flushes:
//! the more batches wait, the more share one flush.

use super::apply::preflight;
use super::database::Slot;
use super::tables::Tables;
use crate::keyspace::batch::{Batch, CommitError, Committed, Write};
use crate::keyspace::events::Message;
use crate::keyspace::footprint::Versions;
use crate::keyspace::{EngineClock, KeyspaceError};
use redb::Durability;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, broadcast, oneshot};

/// The most batches in one transaction: it bounds how long the first of them
/// waits for the last.
const MAX_GROUP: usize = 256;

/// How often expired keys are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// About the most rows that one transaction sweeps away: it bounds how long
/// batches wait for the sweep.
const SWEEP_ROWS: u64 = 2_000;

/// A batch on its way to the writer.
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) reply: oneshot::Sender<Result<Committed, CommitError>>,
    /// The job's place in the bounded queue, given back with the answer.
    pub(super) _place: OwnedSemaphorePermit,
}

/// The writer's thread.
pub(super) struct Writer {
    pub(super) slot: Arc<Slot>,
    pub(super) clock: EngineClock,
    pub(super) jobs: Receiver<Job>,
    pub(super) messages: broadcast::Sender<Message>,
    pub(super) versions: Arc<Versions>,
}

impl Writer {
    /// Works until nobody can send jobs any more and all are answered.
    pub(super) fn run(self) {
        let mut next_sweep = Instant::now() + SWEEP_EVERY;
        loop {
            let patience = next_sweep.saturating_duration_since(Instant::now());
            match self.jobs.recv_timeout(patience) {
                Ok(first) => {
                    let group = std::iter::once(first).chain(self.jobs.try_iter()).take(MAX_GROUP).collect();
                    self.commit_group(group);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= next_sweep {
                let more = self.sweep().unwrap_or_else(|error| {
                    tracing::warn!(%error, "expired keys could not be removed");
                    self.slot.recover();
                    false
                });
                next_sweep = if more { Instant::now() } else { Instant::now() + SWEEP_EVERY };
            }
        }
        self.slot.close();
    }

    fn commit_group(&self, mut group: Vec<Job>) {
        // Who has gone away has been told that the outcome is unknown.
        group.retain(|job| !job.reply.is_closed());
        let outcomes = self.apply_group(&group);
        for job in &group {
            // Also after a failure: nobody knows what it has left.
            self.versions.raise_written(&job.batch);
        }
        match outcomes {
            Ok(outcomes) => {
                for (job, outcome) in group.into_iter().zip(outcomes) {
                    if outcome.is_ok() {
                        self.send_messages(&job.batch);
                    }
                    // A caller that has gone away does not want to know.
                    let _ = job.reply.send(outcome);
                }
            }
            Err(error) => {
                tracing::error!(%error, batches = group.len(), "a commit failed");
                for job in group {
                    let text = format!("the commit failed: {error}");
                    let _ = job.reply.send(Err(KeyspaceError::Unavailable(text).into()));
                }
                self.slot.recover();
            }
        }
    }

    fn send_messages(&self, batch: &Batch) {
        for write in batch.writes() {
            if let Write::Publish(channel, message) = write {
                // Nobody listens: then nobody wants to know.
                let _ = self.messages.send((channel.clone(), message.clone()));
            }
        }
    }

    /// The outcome of each batch, after all that passed are on disk; or the
    /// failure of the store, after which none of them is.
    fn apply_group(&self, group: &[Job]) -> Result<Vec<Result<Committed, CommitError>>, redb::Error> {
        let mut transaction = self.slot.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let mut outcomes = Vec::with_capacity(group.len());
        let mut written = false;
        let mut tables = Tables::write(&transaction)?;
        for job in group {
            let now = self.clock.now_ms();
            let outcome = preflight(&tables, &job.batch, now);
            match &outcome {
                Ok(committed) => {
                    tables.apply(&job.batch, &committed.counters, now)?;
                    written |= !job.batch.writes().is_empty();
                }
                Err(CommitError::Keyspace(KeyspaceError::Unavailable(reason))) => {
                    return Err(redb::Error::Corrupted(reason.clone()));
                }
                Err(_) => {}
            }
            outcomes.push(outcome);
        }
        drop(tables);
        if written {
            transaction.commit()?;
        } else {
            transaction.abort()?;
        }
        Ok(outcomes)
    }

    /// Removes some of the keys that expired, if any. Answers whether there
    /// may be more.
    pub(super) fn sweep(&self) -> Result<bool, redb::Error> {
        let now = self.clock.now_ms();
        // Looked at first without writing, so that an idle store stays idle.
        if Tables::read(&self.slot.begin_read()?)?.first_expired(now)?.is_none() {
            return Ok(false);
        }
        let transaction = self.slot.begin_write()?;
        let more = Tables::write(&transaction)?.sweep(SWEEP_ROWS, now)?;
        transaction.commit()?;
        Ok(more)
    }
}
