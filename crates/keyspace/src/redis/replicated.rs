//! Batches that are acknowledged when replicas have them (`WAIT`).
//!
//! `WAIT` lets the connection wait on which the batch was sent, and with it everything behind
//! it. So these batches have a connection of their own, and go in groups: while one group waits,
//! the next gathers. A group is one pipeline of the calls of the script, with one `WAIT` at its end,
//! which holds for all of them.
//!
//! Since Redis 7.2, and on Valkey, `WAIT` waits only for what this connection has written itself, and not
//! for what a batch has found that writes nothing: that somebody else has done the same already. So each
//! group ends with an empty message, which goes to the replicas behind everything that was written before.
//!
//! These batches and the reads that decide them are on two connections, which may lead to two servers
//! when a primary is replaced that lives. A batch that says which history its reads were made in
//! is sent to no server with another. So what was read is on the server whose replicas then confirm it.

use super::connection::{ReconnectingConnection, RequestOptions, WAS_REPLACED};
use super::failures::write_failure;
use super::place::Place;
use super::wire;
use crate::KeyspaceError;
use crate::history::History;
use crate::limits::MAX_REPLICATED_GROUP;
use redis::{Cmd, Pipeline, Value};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tidings_supervision::{Policy, supervise};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

/// Where such batches are sent.
pub(super) struct ReplicatedWrites {
    writer: Arc<GroupWriter>,
    timeout: Duration,
    queue: OnceLock<mpsc::Sender<QueuedCommand>>,
}

/// A call of the script, and where its answer goes.
struct QueuedCommand {
    command: Cmd,
    /// The history that it was decided in, if that matters.
    history: Option<History>,
    reply: oneshot::Sender<Result<Value, KeyspaceError>>,
}

impl ReplicatedWrites {
    /// Waits for this many replicas. `reading` is the connection on which batches are decided.
    pub(super) fn new(
        place: Arc<Place>,
        reading: Arc<ReconnectingConnection>,
        timeout: Duration,
        replicas: u32,
    ) -> Self {
        let channel = super::channel_of(&place, "replicated");
        let connection = ReconnectingConnection::new(place, timeout, None).asking_for_history();
        Self {
            writer: Arc::new(GroupWriter { connection, reading, timeout, replicas, channel }),
            timeout,
            queue: OnceLock::new(),
        }
    }

    /// Sends a command and waits until it is answered and the replicas have what it wrote. With a history, it
    /// is sent to no server with another.
    pub(super) async fn send(&self, command: Cmd, history: Option<History>) -> Result<Value, KeyspaceError> {
        let (reply, answer) = oneshot::channel();
        let answered = timeout(self.timeout, async {
            let queue = self.queue.get_or_init(|| self.writer.clone().start());
            if queue.send(QueuedCommand { command, history, reply }).await.is_err() {
                return Err(KeyspaceError::Unavailable("the worker that writes has stopped".to_owned()));
            }
            answer.await.unwrap_or_else(|_| {
                Err(KeyspaceError::Unsure("the worker that writes has stopped".to_owned()))
            })
        });
        answered.await.unwrap_or_else(|_| {
            Err(KeyspaceError::Unsure(format!("Redis did not answer within {:?}", self.timeout)))
        })
    }
}

/// Sends the groups.
struct GroupWriter {
    connection: ReconnectingConnection,
    reading: Arc<ReconnectingConnection>,
    timeout: Duration,
    replicas: u32,
    /// Where the empty messages go. Nobody listens.
    channel: String,
}

impl GroupWriter {
    /// Starts the worker, which ends when the sender is dropped.
    fn start(self: Arc<Self>) -> mpsc::Sender<QueuedCommand> {
        let (queue, receiver) = mpsc::channel(MAX_REPLICATED_GROUP);
        let receiver = Arc::new(Mutex::new(receiver));
        tokio::spawn(async move {
            supervise("replicated writes", Policy::UntilDone, || self.clone().work(receiver.clone())).await;
        });
        queue
    }

    async fn work(self: Arc<Self>, queue: Arc<Mutex<mpsc::Receiver<QueuedCommand>>>) {
        let mut queue = queue.lock().await;
        let mut group = Vec::new();
        while queue.recv_many(&mut group, MAX_REPLICATED_GROUP).await > 0 {
            // Nobody would learn what became of a batch whose caller has given up.
            group.retain(|queued| !queued.reply.is_closed());
            if !group.is_empty() {
                self.send_group(&mut group).await;
            }
        }
    }

    /// Sends a group and answers it, which empties it.
    async fn send_group(&self, group: &mut Vec<QueuedCommand>) {
        let history = match self.connection.reach().await {
            Ok(history) => history,
            Err(failure) => return refuse(group.drain(..), &write_failure(&failure, self.timeout)),
        };
        let was_replaced =
            |queued: &mut QueuedCommand| queued.history.as_ref().is_some_and(|decided| *decided != history);
        let replaced: Vec<QueuedCommand> = group.extract_if(.., was_replaced).collect();
        for queued in &replaced {
            // If the reading connection still leads there, one of the two is of before.
            if let Some(decided) = &queued.history
                && self.reading.history() == *decided
            {
                self.reading.discard_in(decided);
                self.connection.discard_in(&history);
            }
        }
        refuse(replaced, &KeyspaceError::Unavailable(WAS_REPLACED.to_owned()));
        if group.is_empty() {
            return;
        }
        let mut pipeline = Pipeline::with_capacity(group.len() + 2);
        for queued in group.iter() {
            pipeline.add_command(queued.command.clone());
        }
        pipeline.cmd("PUBLISH").arg(&self.channel).arg("");
        // The answer to WAIT must come before the request is given up.
        let patience_ms = u64::try_from(self.timeout.as_millis() / 2).unwrap_or(u64::MAX);
        pipeline.cmd("WAIT").arg(self.replicas).arg(patience_ms.max(1));
        let options = RequestOptions { timeout: self.timeout, reads: false };
        match self.connection.send_in(Some(&history), &pipeline, options).await {
            Ok(mut values) => {
                let replicas = values.pop();
                let acknowledged = self.acknowledged(values.pop(), replicas);
                for (queued, value) in group.drain(..).zip(values) {
                    let answer = match (&value, &acknowledged) {
                        // Nothing was written, or the caller finds out: see `write_failure`.
                        (Value::ServerError(_), _) | (_, Ok(())) => Ok(value),
                        (_, Err(error)) => Err(error.clone()),
                    };
                    // This fails if the caller has given up.
                    queued.reply.send(answer).ok();
                }
            }
            Err(failure) => {
                refuse(group.drain(..), &write_failure(&failure, self.timeout));
            }
        }
    }

    /// Whether enough replicas have everything, by the answers to PUBLISH and WAIT.
    ///
    /// If not, nothing is sure, not even that a check of a batch does not hold: what it looked at
    /// may be lost.
    fn acknowledged(&self, published: Option<Value>, answer: Option<Value>) -> Result<(), KeyspaceError> {
        let unsure = |reason: String| Err(KeyspaceError::Unsure(reason));
        if let Some(Value::ServerError(error)) = published {
            return unsure(format!("Redis answered {} to PUBLISH", error.code()));
        }
        match answer {
            Some(Value::ServerError(error)) => unsure(format!("Redis answered {}", error.code())),
            Some(value) => match wire::integer(&value) {
                Some(count) if count >= i64::from(self.replicas) => Ok(()),
                Some(count) => unsure(format!("{count} of {} replicas have confirmed it", self.replicas)),
                None => unsure("Redis answered something unexpected".to_owned()),
            },
            None => unsure("Redis did not say how many replicas have it".to_owned()),
        }
    }
}

/// Answers batches that have failed together.
fn refuse(batches: impl IntoIterator<Item = QueuedCommand>, error: &KeyspaceError) {
    for queued in batches {
        // This fails if the caller has given up.
        queued.reply.send(Err(error.clone())).ok();
    }
}
