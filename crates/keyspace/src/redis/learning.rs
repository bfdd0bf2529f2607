//! Learning what others have written, so that what is cached can be used.
//!
//! The server reports a write before it answers anything that it gets after the write, so any
//! answer will do. Who asks while another's question is under way waits for it, and then one asks
//! for all who wait: a busy site asks once for many requests.
//!
//! A report names a key. If fields of a hash were read, and the hash is reported, the same question
//! reads these fields again.

use super::{Redis, wire};
use crate::KeyspaceError;
use crate::limits::{MAX_PIPELINE_COMMANDS, MAX_SETTLING_ROUNDS};
use crate::query::{Answer, Read};
use crate::read_set::Doubt;
use redis::{Pipeline, Value, cmd};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, watch};

/// The questions so far.
pub(super) struct Learning {
    /// The number of the latest question.
    asked: AtomicU64,
    /// The number of the latest question that is over, and what became of it. It wakes all who wait at once:
    /// handing a lock from one to the next took as long as several questions.
    latest: watch::Sender<(u64, Result<(), KeyspaceError>)>,
    /// Locked while a question is under way.
    turn: Mutex<()>,
}

impl Default for Learning {
    fn default() -> Self {
        Self { asked: AtomicU64::new(0), latest: watch::Sender::new((0, Ok(()))), turn: Mutex::new(()) }
    }
}

impl Redis {
    /// Returns when everything is known that was written before the call.
    pub(crate) async fn learn_writes(&self) -> Result<(), KeyspaceError> {
        let Learning { asked, latest, turn } = &self.shared.learning;
        // A question with a later number begins after the call.
        let before = asked.load(Ordering::Acquire);
        let mut results = latest.subscribe();
        let wait = async {
            tokio::select! {
                biased;
                Some(outcome) = async {
                    let later = results.wait_for(|(number, _)| *number > before).await;
                    later.ok().map(|later| later.1.clone())
                } => Err(outcome),
                turn = turn.lock() => Ok(turn),
            }
        };
        let timeout = self.shared.timeout;
        // The question has a time-out of its own, which gives up the connection.
        let _turn = match tokio::time::timeout(timeout, wait).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(outcome)) => return outcome,
            Err(_) => {
                return Err(KeyspaceError::Unavailable(format!("Redis did not answer within {timeout:?}")));
            }
        };
        let number = asked.fetch_add(1, Ordering::AcqRel) + 1;
        let outcome = self.ask_what_was_written().await;
        latest.send_modify(|latest| *latest = (number, outcome.clone()));
        outcome
    }

    async fn ask_what_was_written(&self) -> Result<(), KeyspaceError> {
        let versions = &self.shared.versions;
        for _ in 0..MAX_SETTLING_ROUNDS {
            let doubts = versions.doubts(MAX_PIPELINE_COMMANDS);
            let reads = doubts.into_iter().map(|(doubt, fields)| {
                let read = Read::HashFields(doubt.key.to_string(), fields);
                (doubt, read)
            });
            self.read_again(reads.collect()).await?;
            if !versions.has_doubts() {
                break;
            }
        }
        Ok(())
    }

    /// Reads again what is in doubt. If nothing is, it asks for a sign of life.
    async fn read_again(&self, doubts: Vec<(Doubt, Read)>) -> Result<(), KeyspaceError> {
        let mut pipeline = Pipeline::with_capacity(doubts.len().max(1));
        if doubts.is_empty() {
            pipeline.add_command(cmd("PING"));
        }
        for (_, read) in &doubts {
            pipeline.add_command(wire::command_of(read));
        }
        let values: Vec<Value> = self.send(&pipeline, self.reading()).await?;
        for ((doubt, read), value) in doubts.iter().zip(values) {
            let answer = wire::answer_of(read, value);
            let Read::HashFields(_, fields) = read else { continue };
            let texts = match &answer {
                Ok(Answer::Texts(texts)) => Some(&**texts),
                _ => None,
            };
            self.shared.versions.settle(doubt, fields, texts);
        }
        Ok(())
    }
}
