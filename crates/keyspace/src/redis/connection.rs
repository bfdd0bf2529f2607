//! A multiplexed connection that is replaced when it fails.
//!
//! redis-rs has a connection manager, but that one does not replace a connection whose
//! requests time out (behind a firewall that has dropped it, that lasts a quarter of an
//! hour), and never retries after a refused password. This one drops a connection that may
//! be broken; the next request connects again.
//!
//! On the same connection, the server reports the keys that any client writes (client-side
//! caching in broadcasting mode). It reports a write before it answers any request that
//! comes after the write.

use crate::limits::MAX_PENDING_REQUESTS;
use crate::read_set::Versions;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Pipeline, PushInfo, PushKind, RedisError, Value, cmd};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A connection that reconnects after a failure.
pub(super) struct ReconnectingConnection {
    client: Client,
    timeout: Duration,
    observer: Arc<dyn WriteObserver>,
    current: Mutex<CurrentConnection>,
    /// Locked while connecting, so that concurrent requests share one attempt.
    connecting: tokio::sync::Mutex<()>,
}

/// Who learns of the writes that the server reports.
pub(super) trait WriteObserver: Send + Sync {
    /// This key was written, or has expired.
    fn note_key(&self, key: &[u8]);
    /// Any key may have been written: the database was emptied, or the connection is new.
    fn note_all(&self);
}

impl WriteObserver for Versions {
    fn note_key(&self, key: &[u8]) {
        self.note_written_key(&String::from_utf8_lossy(key));
    }

    fn note_all(&self) {
        self.note_all_written();
    }
}

/// The connection in use, and the number of connections so far.
#[derive(Default)]
struct CurrentConnection {
    generation: u64,
    connection: Option<MultiplexedConnection>,
    /// Whether the server reports writes on it.
    tracks_writes: bool,
}

/// How to send a request.
#[derive(Clone, Copy)]
pub(super) struct RequestOptions {
    /// How long it may take, including the wait for a connection.
    pub(super) timeout: Duration,
    /// Whether it only reads. Then it is sent once more if the connection turns out to be
    /// dead, as an idle one may be. A write is not, because the server may have applied it.
    pub(super) reads: bool,
}

/// Why a request has no answer.
pub(super) enum RedisRequestError {
    /// No answer came in time.
    TimedOut,
    /// The connection failed.
    Redis(RedisError),
}

impl ReconnectingConnection {
    /// Connects when the first request is sent.
    pub(super) fn new(client: Client, timeout: Duration, observer: Arc<dyn WriteObserver>) -> Self {
        let (current, connecting) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { client, timeout, observer, current, connecting }
    }

    /// Whether the server reports writes.
    pub(super) fn tracks_writes(&self) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).tracks_writes
    }

    /// Sends commands as one pipeline. Returns one value for each, which may be an error
    /// of the server.
    pub(super) async fn send(
        &self,
        pipeline: &Pipeline,
        options: RequestOptions,
    ) -> Result<Vec<Value>, RedisRequestError> {
        let mut used = 0;
        let attempts = async {
            let answer = self.send_once(pipeline, &mut used).await;
            match answer {
                Err(error) if options.reads && error.is_connection_dropped() => {
                    self.discard(used);
                    self.send_once(pipeline, &mut used).await
                }
                answer => answer,
            }
        };
        match tokio::time::timeout(options.timeout, attempts).await {
            Err(_) => {
                self.discard(used);
                Err(RedisRequestError::TimedOut)
            }
            Ok(Err(error)) => {
                self.discard(used);
                Err(RedisRequestError::Redis(error))
            }
            Ok(Ok(values)) => {
                if values.iter().any(needs_new_connection) {
                    self.discard(used);
                }
                Ok(values)
            }
        }
    }

    async fn send_once(&self, pipeline: &Pipeline, used: &mut u64) -> Result<Vec<Value>, RedisError> {
        let (generation, mut connection) = self.connect().await?;
        *used = generation;
        connection.send_packed_commands(pipeline, 0, pipeline.len()).await
    }

    async fn connect(&self) -> Result<(u64, MultiplexedConnection), RedisError> {
        if let Some(connected) = self.connected() {
            return Ok(connected);
        }
        let _turn = self.connecting.lock().await;
        if let Some(connected) = self.connected() {
            return Ok(connected);
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            // `send` has its own time-out for each request.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(MAX_PENDING_REQUESTS)
            .set_push_sender({
                let observer = self.observer.clone();
                move |push| {
                    note_reported(observer.as_ref(), &push);
                    Ok::<_, Infallible>(())
                }
            });
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let tracks_writes = track(&mut connection).await?;
        // Writes between two connections are not reported, so all read sets end. This comes
        // before the first read on the new connection.
        self.observer.note_all();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.generation += 1;
        current.connection = Some(connection.clone());
        current.tracks_writes = tracks_writes;
        Ok((current.generation, connection))
    }

    fn connected(&self) -> Option<(u64, MultiplexedConnection)> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.connection.clone().map(|connection| (current.generation, connection))
    }

    /// Drops a connection, unless it has been replaced since. Requests that are under way
    /// on it are still answered.
    fn discard(&self, generation: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation == generation {
            current.connection = None;
            current.tracks_writes = false;
        }
    }
}

/// Asks the server to report the keys that any client writes. Returns whether it does.
async fn track(connection: &mut MultiplexedConnection) -> Result<bool, RedisError> {
    let mut tracking = cmd("CLIENT");
    tracking.arg("TRACKING").arg("ON").arg("BCAST");
    match connection.send_packed_command(&tracking).await {
        Ok(Value::ServerError(error)) => {
            tracing::warn!(
                error = error.code(),
                "the server does not report writes, so reads cannot be cached; allow CLIENT TRACKING"
            );
            Ok(false)
        }
        Ok(_) => Ok(true),
        Err(error) if error.is_connection_dropped() || error.is_io_error() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Passes on what the server reports as written.
fn note_reported(observer: &dyn WriteObserver, push: &PushInfo) {
    match (&push.kind, push.data.first()) {
        (PushKind::Invalidate, Some(Value::Array(keys))) => {
            for key in keys {
                match key {
                    Value::BulkString(key) => observer.note_key(key),
                    _ => observer.note_all(),
                }
            }
        }
        // FLUSHALL, or the end of the reports.
        (PushKind::Invalidate | PushKind::Disconnection, _) => observer.note_all(),
        _ => {}
    }
}

/// Whether a new connection may help after this answer. After a failover, the host name may
/// lead to another server. After a change of the password, the client must log in again.
fn needs_new_connection(value: &Value) -> bool {
    match value {
        Value::ServerError(error) => {
            matches!(error.code(), "NOAUTH" | "WRONGPASS" | "READONLY" | "MASTERDOWN")
        }
        _ => false,
    }
}
