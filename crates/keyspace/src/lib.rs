//! Documented keys of four plain types, in an embedded file or on a Redis server.
//!
//! Open a [`Store`], read with a [`Query`], write with a [`Batch`]. A function documents
//! its cost in *rounds*: one query or one commit is one round, however much is in it.
//!
#![doc = include_str!("../README.md")]

mod batch;
mod events;
pub mod limits;
mod query;
mod read_set;
mod redb;
mod redis;

#[cfg(test)]
#[path = "../tests/conformance/strategies.rs"]
mod strategies;

pub use batch::{Batch, Bound, Check, CheckId, CommitError, Committed, Selection, Within, Write};
pub use events::{Notice, Subscription};
pub use limits::COUNTER_LIMIT;
pub use query::{Answer, Answers, Expiry, FromAnswer, Handle, Hash, Order, Query, Read, TrackedHandle};
pub use read_set::{ReadSet, Reads, Tracked};

use read_set::Versions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Why the store could not answer a query or apply a batch.
#[derive(Debug, thiserror::Error)]
pub enum KeyspaceError {
    /// The store cannot be reached, did not answer in time, or failed. The outcome of a
    /// batch is unknown: it may have been applied, or may still be.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// This key holds another type than a read, check or write needs.
    #[error("the key {0:?} holds another type of value")]
    WrongType(String),
    /// This key holds a value that is not a whole number, or an increment would take it
    /// beyond [`COUNTER_LIMIT`].
    #[error("the key {0:?} holds a value that is not a whole number in range")]
    NotAnInteger(String),
    /// The call itself is wrong whatever the store holds, or a value cannot be copied. The
    /// text says which. See [`Batch::validate`] and [`Store::scan`].
    #[error("invalid command: {0}")]
    Invalid(String),
}

/// Why a store could not be opened. The message tells the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine. It is shown without its password.
    #[error("the store URL {0:?} is not one of redb:PATH, redb::memory:, redis://HOST, rediss://HOST")]
    Url(String),
    /// The engine could not open the store.
    #[error("cannot open the store {url}: {reason}")]
    Engine {
        /// The URL, without its password.
        url: String,
        /// What is wrong, and what the operator can do about it.
        reason: String,
    },
}

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long a commit, or a round to a Redis server, may take before it fails with
    /// [`KeyspaceError::Unavailable`]. Default: 2 seconds. A page of [`Store::scan`] or
    /// [`Store::restore`] on Redis may take 15 times as long. Reads of the embedded engine
    /// run to their end.
    pub timeout: Duration,
    /// Memory for cached pages of the embedded engine, in bytes. Default: 64 MiB.
    pub cache_bytes: usize,
    /// Whether the embedded engine may create the file if it does not exist. Default: true.
    pub create: bool,
    /// The clock by which the embedded engine expires keys. A Redis server uses its own.
    pub clock: EngineClock,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            cache_bytes: 64 * 1024 * 1024,
            create: true,
            clock: EngineClock::System,
        }
    }
}

/// The clock by which the embedded engine expires keys.
#[derive(Debug, Clone)]
pub enum EngineClock {
    /// The system's clock.
    System,
    /// A clock that a test sets, in Unix milliseconds.
    Manual(Arc<AtomicU64>),
}

impl EngineClock {
    /// The time now, in Unix milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        match self {
            Self::System => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
            Self::Manual(ms) => ms.load(Ordering::SeqCst),
        }
    }
}

/// The whole value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// A hash: fields and values, in no particular order.
    Hash(Vec<(String, String)>),
    /// A set: members, in no particular order.
    Set(Vec<String>),
    /// A sorted set: members and scores, lowest first.
    SortedSet(Vec<(String, f64)>),
}

/// A key with its whole value, for copying between stores.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The time until the key expires, in whole milliseconds; `None` if it does not.
    pub time_to_live: Option<Duration>,
}

/// One page of [`Store::scan`].
#[derive(Debug)]
pub struct ScanPage {
    /// The entries of this page. A page may be empty although more follow. On Redis, a
    /// key may appear on more than one page.
    pub entries: Vec<Entry>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

/// An open store. Clones are cheap and share the file or the connection.
///
/// An embedded store is closed when its last clone is dropped; [`Store::close`] does so
/// without blocking.
#[derive(Clone)]
pub struct Store {
    engine: Engine,
    versions: Arc<Versions>,
    rounds: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Engine {
    Redb(redb::Redb),
    Redis(redis::Redis),
}

impl Store {
    /// Opens an empty store in memory, on the embedded engine.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn in_memory() -> Result<Self, OpenError> {
        Self::open("redb::memory:", &StoreOptions::default()).await
    }

    /// Opens the store that a URL names: `redb:PATH`, `redb::memory:`,
    /// `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]` or the same with `rediss` for TLS.
    ///
    /// # Errors
    /// [`OpenError::Url`] if the URL names no engine. [`OpenError::Engine`] if the file
    /// cannot be opened or created, if the Redis server cannot be reached or refuses the
    /// login, or if it is a replica, part of a cluster, or older than 6.2. A server that
    /// goes away later does not have to be opened again: the engine reconnects.
    pub async fn open(url: &str, options: &StoreOptions) -> Result<Self, OpenError> {
        let versions = Arc::new(Versions::default());
        let engine = if let Some(path) = url.strip_prefix("redb:") {
            Engine::Redb(redb::Redb::open(path, options, versions.clone())?)
        } else if url.starts_with("redis://") || url.starts_with("rediss://") {
            Engine::Redis(redis::Redis::open(url, options, versions.clone()).await?)
        } else {
            return Err(OpenError::Url(without_password(url)));
        };
        Ok(Self { engine, versions, rounds: Arc::default() })
    }

    /// Runs the reads of a query in one round; an empty query takes none.
    ///
    /// On the embedded engine all reads see the same state of the store, and run on the
    /// calling thread: a few microseconds each, and more for large collections. On Redis
    /// they are one pipeline, between whose commands other writes may be applied.
    ///
    /// # Errors
    /// [`KeyspaceError::WrongType`] for the first read whose key holds another type.
    /// [`KeyspaceError::Unavailable`] if the store cannot be reached, did not answer in
    /// time, or failed.
    pub async fn query(&self, query: Query) -> Result<Answers, KeyspaceError> {
        if query.is_empty() {
            return Ok(Answers::default());
        }
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let noted = self.versions.note_query(&query);
        let answers = match &self.engine {
            Engine::Redb(engine) if query.may_be_large() => engine.query_elsewhere(query).await,
            Engine::Redb(engine) => engine.query(&query),
            Engine::Redis(engine) => engine.query(query).await,
        };
        Ok(answers?.with_noted(noted))
    }

    /// Applies a batch in one round: either all its checks hold and all its writes are
    /// applied, or nothing is written.
    ///
    /// On the embedded engine the writes are on disk when this returns; commits at the
    /// same time share a flush. On Redis the server's configuration decides when they are.
    ///
    /// # Errors
    /// [`CommitError::Rejected`] with the first check that does not hold. The errors of
    /// [`Batch::validate`]. [`KeyspaceError::WrongType`] or
    /// [`KeyspaceError::NotAnInteger`] if a check or a write does not fit what its key holds. In all
    /// these cases nothing is written. After [`KeyspaceError::Unavailable`] the outcome is
    /// unknown.
    pub async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.validate()?;
        self.rounds.fetch_add(1, Ordering::Relaxed);
        match &self.engine {
            Engine::Redb(engine) => engine.commit(batch).await,
            Engine::Redis(engine) => {
                let outcome = engine.commit(&batch).await;
                self.versions.note_written(&batch);
                outcome
            }
        }
    }

    /// Draws the next number of a counter, in one round. No number is drawn twice; one may
    /// be skipped if the caller does not get the answer.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn next_id(&self, counter: &str) -> Result<i64, KeyspaceError> {
        let mut batch = Batch::new();
        batch.increment(counter, 1);
        self.draw(batch).await
    }

    /// Draws the next number of a counter in a field of a hash, like [`Store::next_id`].
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn next_id_in(&self, hash: &str, field: &str) -> Result<i64, KeyspaceError> {
        let mut batch = Batch::new();
        batch.increment_field(hash, field, 1);
        self.draw(batch).await
    }

    async fn draw(&self, batch: Batch) -> Result<i64, KeyspaceError> {
        match self.commit(batch).await {
            Ok(committed) => committed
                .counters
                .first()
                .copied()
                .ok_or_else(|| KeyspaceError::Invalid("no number came back for a counter".to_owned())),
            Err(CommitError::Keyspace(error)) => Err(error),
            Err(CommitError::Rejected(_)) => {
                Err(KeyspaceError::Invalid("drawing a number has no check to fail".to_owned()))
            }
        }
    }

    /// The number of rounds (queries and commits) that this store and its clones have
    /// been asked for. Tests use it to bound the cost of an action.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// The same store with a round counter of its own, for background work that should
    /// not count with the rest.
    #[must_use]
    pub fn counted_apart(&self) -> Self {
        Self { rounds: Arc::default(), ..self.clone() }
    }

    /// The number of keys. On Redis it includes keys that have expired and are not
    /// removed yet. Takes one command on Redis; on the embedded engine, time in proportion
    /// to the number of such keys.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.count_keys(),
            Engine::Redis(engine) => engine.count_keys().await,
        }
    }

    /// Reads about `limit` keys with their whole values, starting at `cursor` (`None`:
    /// at the beginning). Keys that exist during the whole scan are on some page; keys that
    /// are written meanwhile may be missed. A page is in memory whole, however large the
    /// values are. Takes three round trips on Redis.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; [`KeyspaceError::Invalid`] if a key or a value is
    /// not UTF-8, or a key holds a type that is none of the four.
    pub async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.scan(cursor, limit),
            Engine::Redis(engine) => engine.scan(cursor, limit).await,
        }
    }

    /// Writes entries, replacing what their keys held. Ends all read sets.
    ///
    /// It is not atomic: entries are written in groups of about a thousand writes.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; then some of the entries may be written.
    pub async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.restore(entries).await,
            Engine::Redis(engine) => engine.restore(entries).await,
        };
        self.versions.note_all_written();
        outcome
    }

    /// Runs a future and records every read that it makes from a store, except those
    /// excluded by [`Query::keep_apart`]. Tasks that it spawns are not recorded. If only a
    /// few reads of a round matter, track those instead: see [`Query::track`].
    pub async fn record_reads<T>(&self, work: impl Future<Output = T>) -> (T, ReadSet) {
        ReadSet::record(work).await
    }

    /// Whether nothing in the read set has been written since it was read, as far as this
    /// process knows. If so, reading again would give the same answers, except for keys
    /// that have expired since. Takes no round.
    ///
    /// On a Redis server the writes of other processes become known with the next answer
    /// of the server, and only if [`Store::tracks_writes`] is true.
    #[must_use]
    pub fn is_unchanged(&self, reads: &ReadSet) -> bool {
        reads.is_unchanged(&self.versions)
    }

    /// Whether this process learns of every write to the store, by anyone, no later than
    /// with the answer to a round that starts after it. Always true on the embedded engine.
    /// False on Redis if the connection is down, or if the server does not permit
    /// `CLIENT TRACKING`; then nothing must be cached.
    #[must_use]
    pub fn tracks_writes(&self) -> bool {
        match &self.engine {
            Engine::Redb(_) => true,
            Engine::Redis(engine) => engine.tracks_writes(),
        }
    }

    /// Subscribes to the messages that batches publish on a channel from now on.
    ///
    /// On Redis it opens a connection of its own, in the background, and renews it if it
    /// breaks. It must be called within a Tokio runtime.
    #[must_use]
    pub fn subscribe(&self, channel: &str) -> Subscription {
        match &self.engine {
            Engine::Redb(engine) => engine.subscribe(channel),
            Engine::Redis(engine) => engine.subscribe(channel),
        }
    }

    /// Whether other processes may use this store at the same time: true on Redis.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Redis(_))
    }

    /// Closes an embedded store: waits until all queued batches are answered, and flushes
    /// the file. Later commits and queries fail. Does nothing on Redis.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Redb(engine) => engine.close().await,
            Engine::Redis(_) => {}
        }
    }
}

/// A store URL without its password, to be shown and logged.
///
/// It works on the text, because the URLs shown most often are those that cannot be parsed,
/// and often it is the password that breaks them.
#[must_use]
pub fn without_password(store_url: &str) -> String {
    let hidden = || {
        let (scheme, rest) = store_url.split_once("://")?;
        let (login, place) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{place}"))
    };
    hidden().unwrap_or_else(|| store_url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_are_hidden() {
        for (url, shown) in [
            ("redb:store.redb", "redb:store.redb"),
            ("redb::memory:", "redb::memory:"),
            ("redis://host:6379/1", "redis://host:6379/1"),
            ("redis://user@host", "redis://user@host"),
            ("redis://:secret@host", "redis://:***@host"),
            ("rediss://user:secret@host:1/2", "rediss://user:***@host:1/2"),
            ("redis://user:se:c/r#e@t@host", "redis://user:***@host"),
            ("redis://user:secret@host:port", "redis://user:***@host:port"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
