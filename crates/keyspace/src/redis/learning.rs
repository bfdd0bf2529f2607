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
use tokio::sync::Mutex;

/// The questions so far.
pub(super) struct Learning {
    /// The number of the latest question.
    asked: AtomicU64,
    /// Locked while one is under way.
    turn: Mutex<LastQuestion>,
}

/// The latest question that was answered or failed.
struct LastQuestion {
    number: u64,
    outcome: Result<(), KeyspaceError>,
}

impl Default for Learning {
    fn default() -> Self {
        let last = LastQuestion { number: 0, outcome: Ok(()) };
        Self { asked: AtomicU64::new(0), turn: Mutex::new(last) }
    }
}

impl Redis {
    /// Returns when everything is known that was written before the call.
    pub(crate) async fn learn_writes(&self) -> Result<(), KeyspaceError> {
        let learning = &self.shared.learning;
        // A question with a later number begins after the call.
        let before = learning.asked.load(Ordering::Acquire);
        let timeout = self.shared.timeout;
        let Ok(mut last) = tokio::time::timeout(timeout, learning.turn.lock()).await else {
            return Err(KeyspaceError::Unavailable(format!("Redis did not answer within {timeout:?}")));
        };
        if last.number <= before {
            let number = learning.asked.fetch_add(1, Ordering::AcqRel) + 1;
            let outcome = self.ask_what_was_written().await;
            *last = LastQuestion { number, outcome };
        }
        last.outcome.clone()
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
