//! A multiplexed connection that is replaced when it fails.
//!
//! redis-rs has a connection manager, but that one does not replace a connection whose
//! requests time out (behind a firewall that has dropped it, that lasts a quarter of an
//! hour), and never retries after a refused password. This one drops a connection that may
//! be broken; the next request connects again.
//!
//! On the same connection, the server reports the keys that any client writes (client-side
//! caching in broadcasting mode). It reports a write before it answers any request that
//! comes after the write. So each answer *confirms* that the reports arrive. Without one, after
//! [`CONFIRMED_FOR`], nothing that is cached may be used: see [`ReconnectingConnection::is_confirmed`].

use super::place::{Located, NoConnection, Place};
use super::replicas;
use crate::history::History;
use crate::limits::{CONFIRMED_FOR, MAX_PENDING_REQUESTS, WATCH_EVERY};
use futures_util::FutureExt;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline, PushInfo, PushKind, RedisError, Value, cmd};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidings_supervision::steps::step;

/// Why nothing was sent to a server with another history.
pub(super) const WAS_REPLACED: &str =
    "the primary was replaced between what was read and what was to be written; try again";

/// A connection that reconnects after a failure.
pub(super) struct ReconnectingConnection {
    place: Arc<Place>,
    timeout: Duration,
    /// The observer of the writes that the server reports; `None` if they are not wanted.
    observer: Option<Arc<dyn WriteObserver>>,
    /// Whether servers are asked which history they have.
    asks_for_history: bool,
    current: Arc<Mutex<CurrentConnection>>,
    /// Locked while connecting, so that concurrent requests share one attempt.
    connecting: tokio::sync::Mutex<()>,
    began: Duration,
    /// When the latest request was sent that has been answered, in milliseconds since `began`.
    confirmed_ms: AtomicU64,
    /// Until when the server counts as away, because the latest request had no answer in time.
    away: Mutex<Option<std::time::Instant>>,
}

/// An observer of the writes that the server reports.
pub(super) trait WriteObserver: Send + Sync {
    /// This key was written, or has expired.
    fn note_key(&self, key: &[u8]);
    /// Any key may have been written: the database was emptied, or the connection is new.
    fn note_all(&self);
}

/// The connection in use, and the number of connections so far.
#[derive(Default)]
struct CurrentConnection {
    generation: u64,
    connection: Option<MultiplexedConnection>,
    /// The term of the server; see `place.rs`.
    term: u64,
    /// Whether the server reports writes on it.
    tracks_writes: bool,
    /// The history of the server of the latest connection, which need not be in use any more.
    history: History,
}

impl CurrentConnection {
    /// Drops a connection, unless it has been replaced since.
    fn discard(&mut self, generation: u64) {
        if self.generation == generation {
            self.connection = None;
            self.tracks_writes = false;
        }
    }
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

/// A connection, its number, and the history of its server.
type Connected = (u64, MultiplexedConnection, History);

/// Why a request has no answer.
pub(super) enum RedisRequestError {
    /// There is no connection, so nothing was sent.
    NotConnected(NoConnection),
    /// No answer came in time. Perhaps the request was not even sent.
    TimedOut { is_sent: bool },
    /// The connection failed after the request was sent, or while it was.
    Lost(RedisError),
}

impl RedisRequestError {
    /// Whether the server may have got the request.
    pub(super) const fn is_sent(&self) -> bool {
        match self {
            Self::NotConnected(_) => false,
            Self::TimedOut { is_sent } => *is_sent,
            Self::Lost(_) => true,
        }
    }
}

impl ReconnectingConnection {
    /// Connects when the first request is sent.
    pub(super) fn new(
        place: Arc<Place>,
        timeout: Duration,
        observer: Option<Arc<dyn WriteObserver>>,
    ) -> Self {
        let (current, connecting) = (Arc::default(), tokio::sync::Mutex::default());
        let (began, confirmed_ms) = (coarse_time(), AtomicU64::new(0));
        let (asks_for_history, away) = (false, Mutex::default());
        Self { place, timeout, observer, asks_for_history, current, connecting, began, confirmed_ms, away }
    }

    /// The same connection, which knows the histories of the servers that it leads to.
    pub(super) fn asking_for_history(self) -> Self {
        Self { asks_for_history: true, ..self }
    }

    /// The history of the server that the next request goes to, unless the connection is replaced first.
    pub(super) async fn reach(&self) -> Result<History, RedisRequestError> {
        match tokio::time::timeout(self.timeout, self.connect()).await {
            Ok(Ok((_, _, history))) => Ok(history),
            Ok(Err(error)) => Err(RedisRequestError::NotConnected(error)),
            Err(_) => Err(RedisRequestError::TimedOut { is_sent: false }),
        }
    }

    /// The history of the server that the latest request went to.
    pub(super) fn history(&self) -> History {
        self.current.lock().history.clone()
    }

    /// Drops the connection if its server has this history, so that the next one says what history it has by then.
    pub(super) fn discard_in(&self, history: &History) {
        let mut current = self.current.lock();
        if current.history == *history {
            let generation = current.generation;
            current.discard(generation);
        }
    }

    /// Whether the server reports writes, and has been heard of lately.
    pub(super) fn tracks_writes(&self) -> bool {
        self.is_confirmed() && self.current.lock().tracks_writes
    }

    /// Whether the reports of all writes before the last [`CONFIRMED_FOR`] have arrived.
    pub(super) fn is_confirmed(&self) -> bool {
        // How long ago they were last known to have arrived.
        let confirmed = Duration::from_millis(self.confirmed_ms.load(Ordering::Acquire));
        self.elapsed().saturating_sub(confirmed) <= CONFIRMED_FOR
    }

    fn elapsed(&self) -> Duration {
        coarse_time().saturating_sub(self.began)
    }

    /// Sends commands as one pipeline. Returns one value for each, which may be an error
    /// of the server.
    pub(super) async fn send(
        &self,
        pipeline: &Pipeline,
        options: RequestOptions,
    ) -> Result<Vec<Value>, RedisRequestError> {
        self.send_in(None, pipeline, options).await
    }

    /// The same to a server with this history, and to no other.
    pub(super) async fn send_in(
        &self,
        history: Option<&History>,
        pipeline: &Pipeline,
        options: RequestOptions,
    ) -> Result<Vec<Value>, RedisRequestError> {
        let mut used = 0;
        let attempts = async {
            let answer = self.send_once(history, pipeline, &mut used).await;
            match answer {
                Err(RedisRequestError::Lost(error)) if options.reads && error.is_connection_dropped() => {
                    self.discard(used);
                    self.send_once(history, pipeline, &mut used).await
                }
                answer => answer,
            }
        };
        match tokio::time::timeout(options.timeout, attempts).await {
            Err(_) => {
                self.discard(used);
                // The next attempt of the watch comes before that.
                let until = std::time::Instant::now() + options.timeout + 2 * WATCH_EVERY;
                *self.away.lock() = Some(until);
                Err(RedisRequestError::TimedOut { is_sent: used != 0 })
            }
            Ok(Err(error)) => {
                self.discard(used);
                Err(error)
            }
            Ok(Ok(values)) => {
                if values.iter().any(needs_new_connection) {
                    self.discard(used);
                }
                Ok(values)
            }
        }
    }

    async fn send_once(
        &self,
        history: Option<&History>,
        pipeline: &Pipeline,
        used: &mut u64,
    ) -> Result<Vec<Value>, RedisRequestError> {
        let (generation, mut connection, reached) =
            self.connect().await.map_err(RedisRequestError::NotConnected)?;
        if history.is_some_and(|history| *history != reached) {
            return Err(RedisRequestError::NotConnected(NoConnection::NoPrimary(WAS_REPLACED.to_owned())));
        }
        *used = generation;
        step();
        let sent = self.elapsed();
        let values = connection
            .send_packed_commands(pipeline, 0, pipeline.len())
            .await
            .map_err(RedisRequestError::Lost)?;
        self.note_confirmed(sent);
        Ok(values)
    }

    /// Whether the server is known not to answer. The watch asks once a second whether it does again.
    pub(super) fn is_away(&self) -> bool {
        let away = *self.away.lock();
        away.is_some_and(|until| std::time::Instant::now() < until)
    }

    /// Notes that a request was answered that was sent so long after the beginning.
    fn note_confirmed(&self, sent: Duration) {
        let sent = u64::try_from(sent.as_millis()).unwrap_or(u64::MAX);
        self.confirmed_ms.fetch_max(sent, Ordering::AcqRel);
        *self.away.lock() = None;
    }

    async fn connect(&self) -> Result<Connected, NoConnection> {
        match self.connected() {
            Some(connected) => Ok(connected),
            // It is rare, and large.
            None => self.connect_anew().boxed().await,
        }
    }

    async fn connect_anew(&self) -> Result<Connected, NoConnection> {
        let _turn = self.connecting.lock().await;
        if let Some(connected) = self.connected() {
            return Ok(connected);
        }
        let Located { client, term } = self.place.locate().await?;
        let generation = self.next_generation();
        let sent = self.elapsed();
        let config = self.config(generation);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if self.place.has_sentinels() {
            replicas::demand_primary(&mut connection).await?;
        }
        let history = if self.asks_for_history {
            replicas::history_of(&mut connection).await?
        } else {
            History::default()
        };
        let mut tracks_writes = false;
        if let Some(observer) = &self.observer {
            tracks_writes = track(&mut connection).await?;
            // Writes between two connections are not reported, so all read sets end. This comes
            // before the first read on the new connection.
            observer.note_all();
        }
        self.note_confirmed(sent);
        let mut current = self.current.lock();
        *current = CurrentConnection {
            generation,
            connection: Some(connection.clone()),
            term,
            tracks_writes,
            history: history.clone(),
        };
        Ok((generation, connection, history))
    }

    fn config(&self, generation: u64) -> AsyncConnectionConfig {
        let (observer, current) = (self.observer.clone(), Arc::downgrade(&self.current));
        AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            // `send` has its own time-out for each request.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(MAX_PENDING_REQUESTS)
            .set_push_sender(move |push: PushInfo| {
                // Requests from now on must not fail because of a connection that is known to
                // be dead.
                if push.kind == PushKind::Disconnection
                    && let Some(current) = current.upgrade()
                {
                    current.lock().discard(generation);
                }
                if let Some(observer) = &observer {
                    note_reported(observer.as_ref(), &push);
                }
                Ok::<_, Infallible>(())
            })
    }

    /// The connection in use, unless the store has another server since it was made.
    fn connected(&self) -> Option<Connected> {
        let mut current = self.current.lock();
        if current.term != self.place.term() {
            let generation = current.generation;
            current.discard(generation);
        }
        current.connection.clone().map(|connection| (current.generation, connection, current.history.clone()))
    }

    /// The number of the next attempt to connect.
    fn next_generation(&self) -> u64 {
        let mut current = self.current.lock();
        current.generation += 1;
        current.generation
    }

    /// Drops a connection, unless it has been replaced since. Requests that are under way
    /// on it are still answered.
    fn discard(&self, generation: u64) {
        self.current.lock().discard(generation);
    }
}

/// The time since some moment in the past, a few milliseconds late. A page asks for it a hundred times, once
/// for each cached value, and the exact time costs more.
#[cfg(target_os = "linux")]
fn coarse_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// The time since the first call.
#[cfg(not(target_os = "linux"))]
fn coarse_time() -> Duration {
    static BEGAN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGAN.elapsed()
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
            matches!(error.code(), "NOAUTH" | "WRONGPASS" | "READONLY" | "MASTERDOWN" | "UNBLOCKED")
                // From within a script of a server older than 7.
                || error.details().is_some_and(|details| details.contains("-READONLY "))
        }
        _ => false,
    }
}
