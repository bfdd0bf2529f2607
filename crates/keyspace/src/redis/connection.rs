//! One multiplexed connection that is replaced when it fails.
//!
//! redis-rs has a connection manager, but it keeps a connection whose requests
//! time out (behind a firewall that forgot it, that lasts a quarter of an hour)
//! and never tries again after a refused password. This one drops a connection
//! on any doubt; the next request connects anew.
//!
//! On the same connection the server tells of keys that anybody writes (client-side
//! caching, in broadcasting mode). What was written before a request was made is
//! told before its answer is given.

use crate::limits::MAX_PENDING_REQUESTS;
use crate::read_set::Versions;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Pipeline, PushInfo, PushKind, RedisError, Value, cmd};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A connection that heals.
pub(super) struct ReconnectingConnection {
    client: Client,
    timeout: Duration,
    versions: Arc<Versions>,
    current: Mutex<CurrentConnection>,
    /// Held while connecting, so that many waiting requests connect once.
    connecting: tokio::sync::Mutex<()>,
}

/// The connection in use, and how many there were before it.
#[derive(Default)]
struct CurrentConnection {
    generation: u64,
    connection: Option<MultiplexedConnection>,
    /// Whether the server tells of writes on it.
    tracks_writes: bool,
}

/// How a request is made.
#[derive(Clone, Copy)]
pub(super) struct RequestOptions {
    /// How long it may take, with the wait for a connection.
    pub(super) timeout: Duration,
    /// Whether it only reads. Then it is made once more when the connection
    /// turns out to be dead, as an idle one may be; a write is not, because
    /// the server may have done it.
    pub(super) reads: bool,
}

/// Why a request has no answer.
pub(super) enum RequestError {
    /// No answer came in time.
    TimedOut,
    /// The connection failed.
    Redis(RedisError),
}

impl ReconnectingConnection {
    /// A connection that is made when it is first needed.
    pub(super) fn new(client: Client, timeout: Duration, versions: Arc<Versions>) -> Self {
        let (current, connecting) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { client, timeout, versions, current, connecting }
    }

    /// Whether the server tells of writes.
    pub(super) fn tracks_writes(&self) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).tracks_writes
    }

    /// Sends commands together. Each is answered by a value, which may be an
    /// error of the server.
    pub(super) async fn send(
        &self,
        pipeline: &Pipeline,
        options: RequestOptions,
    ) -> Result<Vec<Value>, RequestError> {
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
                Err(RequestError::TimedOut)
            }
            Ok(Err(error)) => {
                self.discard(used);
                Err(RequestError::Redis(error))
            }
            Ok(Ok(values)) => {
                if values.iter().any(is_doubtful) {
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
            // Each request brings its own time-out.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(MAX_PENDING_REQUESTS)
            .set_push_sender({
                let versions = self.versions.clone();
                move |push| {
                    heed(&versions, &push);
                    Ok::<_, Infallible>(())
                }
            });
        let mut connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let tracks_writes = track(&mut connection).await?;
        // Nobody reports what was written between two connections. Whoever notes versions
        // from now on reads by the new connection, which nobody has before that.
        self.versions.raise_all();
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

    /// Drops a connection, unless it has been replaced since. Requests that are
    /// under way on it are still answered.
    fn discard(&self, generation: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation == generation {
            current.connection = None;
            current.tracks_writes = false;
        }
    }
}

/// Asks the server to tell of all keys that anybody writes; answers whether it does.
async fn track(connection: &mut MultiplexedConnection) -> Result<bool, RedisError> {
    let mut tracking = cmd("CLIENT");
    tracking.arg("TRACKING").arg("ON").arg("BCAST");
    match connection.send_packed_command(&tracking).await {
        Ok(Value::ServerError(error)) => {
            tracing::warn!(
                error = error.code(),
                "the server does not report writes, so pages cannot be cached; allow CLIENT TRACKING"
            );
            Ok(false)
        }
        Ok(_) => Ok(true),
        Err(error) if error.is_connection_dropped() || error.is_io_error() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Ends what was made from keys that somebody has written.
fn heed(versions: &Versions, push: &PushInfo) {
    match (&push.kind, push.data.first()) {
        (PushKind::Invalidate, Some(Value::Array(keys))) => {
            for key in keys {
                match key {
                    Value::BulkString(key) => versions.raise_key(&String::from_utf8_lossy(key)),
                    _ => versions.raise_all(),
                }
            }
        }
        // All keys at once, or an end of the telling.
        (PushKind::Invalidate | PushKind::Disconnection, _) => versions.raise_all(),
        _ => {}
    }
}

/// Whether after this answer a new connection may do better: after a failover
/// the name may lead to another server, and after a change of the password the
/// handshake has to be made again.
fn is_doubtful(value: &Value) -> bool {
    match value {
        Value::ServerError(error) => {
            matches!(error.code(), "NOAUTH" | "WRONGPASS" | "READONLY" | "MASTERDOWN")
        }
        _ => false,
    }
}
