//! Learning what others have written, so that what is cached can be used.
//!
//! The server reports a write before it answers anything that it gets after the write, so any
//! answer will do. A caller that comes while a question is under way waits for the next one, which is
//! asked for all callers that wait: a busy site asks once for many requests.
//!
//! A report names a key. If fields of a hash were read, and the hash is reported, the same question
//! reads these fields again.

use super::{Redis, wire};
use crate::KeyspaceError;
use crate::limits::{MAX_PIPELINE_COMMANDS, MAX_SETTLING_ROUNDS};
use crate::query::{Answer, Read};
use crate::read_set::Doubt;
use parking_lot::Mutex;
use redis::{Pipeline, Value, cmd};
use tokio::sync::watch;

/// The questions so far, and who asks them.
pub(super) struct Learning {
    state: Mutex<LearningState>,
    /// The number of the latest question that is over, and what became of it. It wakes all who wait at once.
    latest: watch::Sender<(u64, Result<(), KeyspaceError>)>,
}

#[derive(Default)]
struct LearningState {
    /// The number of the latest question.
    asked: u64,
    /// Whether somebody waits for the next one.
    is_wanted: bool,
    /// Whether a task asks. It ends when nobody waits.
    is_asking: bool,
}

impl Default for Learning {
    fn default() -> Self {
        Self { state: Mutex::default(), latest: watch::Sender::new((0, Ok(()))) }
    }
}

impl Learning {
    /// Takes part in the next question. Returns its number, and whether the caller must see to it that it
    /// is asked.
    fn join(&self) -> (u64, bool) {
        let mut state = self.state.lock();
        state.is_wanted = true;
        (state.asked + 1, !std::mem::replace(&mut state.is_asking, true))
    }

    /// Begins a question, if anybody waits for it. Returns its number.
    fn begin(&self) -> Option<u64> {
        let mut state = self.state.lock();
        state.is_asking = std::mem::take(&mut state.is_wanted);
        state.is_asking.then(|| {
            state.asked += 1;
            state.asked
        })
    }
}

/// Lets the next caller start a task that asks, if this one does not end by itself.
struct Asking<'a>(&'a Learning);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_asking = false;
    }
}

impl Redis {
    /// Returns when everything is known that was written before the call.
    pub(crate) async fn learn_writes(&self) -> Result<(), KeyspaceError> {
        let learning = &self.shared.learning;
        let mut results = learning.latest.subscribe();
        // A question that begins after the call.
        let (number, must_ask) = learning.join();
        if must_ask {
            let engine = Self { shared: self.shared.clone() };
            tokio::spawn(async move { engine.ask_while_wanted().await });
        }
        // Two questions, each with a time-out of its own, which gives up the connection.
        let timeout = 2 * self.shared.timeout;
        match tokio::time::timeout(timeout, results.wait_for(|(latest, _)| *latest >= number)).await {
            Ok(Ok(latest)) => latest.1.clone(),
            _ => Err(KeyspaceError::Unavailable(format!("Redis did not answer within {timeout:?}"))),
        }
    }

    /// Asks for all who wait, as long as there are any. It is a task of its own, so that the next question is
    /// under way before those run who waited for the last one, and whoever has started it may give up.
    async fn ask_while_wanted(&self) {
        let learning = &self.shared.learning;
        while let Some(number) = learning.begin() {
            let unasked = Asking(learning);
            let outcome = self.ask_what_was_written().await;
            std::mem::forget(unasked);
            learning.latest.send_modify(|latest| *latest = (number, outcome));
        }
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
