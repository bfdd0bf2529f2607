//! A keyspace: documented keys of four plain types, on one of several engines.
//!
//! A key holds a string, a hash, a set or a sorted set, and may expire. Reads
//! travel together in a [`Query`] (one round), writes in a [`Batch`] (checks,
//! then writes, all or nothing). Nothing here knows what the keys mean.
//!
//! The rules are those of Redis, so that both engines give the same answers:
//! a hash, set or sorted set that loses its last entry is absent; sorted sets
//! order by score, then by member bytes; an expired key is absent to every
//! read and check whether or not it has been removed yet.

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

/// Why a keyspace could not answer.
#[derive(Debug, thiserror::Error)]
pub enum KeyspaceError {
    /// The store cannot be reached, is out of time, or failed; nothing is
    /// known about a write that was under way.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The key holds another type than the command needs.
    #[error("the key {0:?} holds another type of value")]
    WrongType(String),
    /// An increment met a value that is not a whole number within [`COUNTER_LIMIT`].
    #[error("the key {0:?} holds a value that is not a whole number in range")]
    NotAnInteger(String),
    /// The command itself makes no sense; a defect of the caller.
    #[error("invalid command: {0}")]
    Invalid(String),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine.
    #[error("the store URL {0:?} is not one of redb:PATH, redb::memory:, redis://HOST, rediss://HOST")]
    Url(String),
    /// The engine refused.
    #[error("cannot open the store {url}: {reason}")]
    Engine {
        /// The URL, without its password.
        url: String,
        /// What the engine said.
        reason: String,
    },
}

/// What to open, beyond the URL.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long one round may take before it counts as failed.
    pub timeout: Duration,
    /// Memory for cached pages of the embedded engine, in bytes.
    pub cache_bytes: usize,
    /// Whether the embedded engine may create the file of a new, empty store.
    pub create: bool,
    /// The clock that expiry is measured by on the embedded engine; a Redis
    /// server has its own.
    pub clock: EngineClock,
    /// The seed by which keys are assigned to stripes: see [`ReadSet`]. `None` draws one at
    /// random, which a server must do; a test sets it to get the same stripes in each run.
    pub stripe_seed: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            cache_bytes: 64 * 1024 * 1024,
            create: true,
            clock: EngineClock::System,
            stripe_seed: None,
        }
    }
}

/// The time by which the embedded engine expires keys.
#[derive(Debug, Clone)]
pub enum EngineClock {
    /// The system's clock.
    System,
    /// A clock that tests move, in Unix milliseconds.
    Manual(Arc<AtomicU64>),
}

impl EngineClock {
    /// Unix milliseconds.
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

/// The value of one key, whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// A hash: fields and values.
    Hash(Vec<(String, String)>),
    /// A set: members.
    Set(Vec<String>),
    /// A sorted set: members and scores.
    SortedSet(Vec<(String, f64)>),
}

/// One key with all that it holds, for copying between stores.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The milliseconds that it still lives, if it expires.
    pub time_to_live: Option<Duration>,
}

/// One page of a walk over all keys.
#[derive(Debug)]
pub struct ScanPage {
    /// The entries of this page; may be empty before the end. On Redis a key
    /// may come more than once over a whole walk.
    pub entries: Vec<Entry>,
    /// Where the next page starts; `None` after the last.
    pub next: Option<String>,
}

/// An open keyspace. Cheap to clone; clones share the connection.
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
    /// An empty store in memory, on the embedded engine.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn in_memory() -> Result<Self, OpenError> {
        Self::open("redb::memory:", &StoreOptions::default()).await
    }

    /// Opens the store that a URL names: `redb:PATH`, `redb::memory:`,
    /// `redis://...` or `rediss://...`.
    ///
    /// # Errors
    /// When the URL names no engine, or the engine cannot be opened. A Redis
    /// server that cannot be reached is an error here; later on it is not (the
    /// engine reconnects by itself).
    pub async fn open(url: &str, options: &StoreOptions) -> Result<Self, OpenError> {
        let versions = Arc::new(Versions::new(options.stripe_seed));
        let engine = if let Some(path) = url.strip_prefix("redb:") {
            Engine::Redb(redb::Redb::open(path, options, versions.clone())?)
        } else if url.starts_with("redis://") || url.starts_with("rediss://") {
            Engine::Redis(redis::Redis::open(url, options, versions.clone()).await?)
        } else {
            return Err(OpenError::Url(without_password(url)));
        };
        Ok(Self { engine, versions, rounds: Arc::default() })
    }

    /// Runs the reads of a query in one round.
    ///
    /// # Errors
    /// [`KeyspaceError::WrongType`] for the first command whose key holds
    /// another type; [`KeyspaceError::Unavailable`] when the store is away.
    pub async fn query(&self, query: Query) -> Result<Answers, KeyspaceError> {
        if query.is_empty() {
            return Ok(Answers::default());
        }
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let noted = self.versions.note_query(&query);
        let answers = match &self.engine {
            Engine::Redb(engine) => engine.query(query),
            Engine::Redis(engine) => engine.query(query).await,
        };
        Ok(answers?.with_noted(noted))
    }

    /// Applies a batch: all its checks hold and all its writes are applied and
    /// durable, or nothing has happened.
    ///
    /// # Errors
    /// [`CommitError::Rejected`] with the first check that does not hold;
    /// otherwise the keyspace's own error.
    pub async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.validate()?;
        self.rounds.fetch_add(1, Ordering::Relaxed);
        match &self.engine {
            Engine::Redb(engine) => engine.commit(batch).await,
            Engine::Redis(engine) => {
                let outcome = engine.commit(&batch).await;
                self.versions.raise_written(&batch);
                outcome
            }
        }
    }

    /// Draws the next number of a counter, in a commit of its own. A number
    /// is never given twice; it may be lost.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn next_id(&self, counter: &str) -> Result<i64, KeyspaceError> {
        let mut batch = Batch::new();
        batch.increment(counter, 1);
        self.draw(batch).await
    }

    /// Draws the next number of a counter in a hash, like [`Store::next_id`].
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

    /// The rounds (queries and commits) that this store has been asked for,
    /// by all its clones.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// The same store with a count of rounds of its own, for work that is
    /// nobody's request.
    #[must_use]
    pub fn counted_apart(&self) -> Self {
        Self { rounds: Arc::default(), ..self.clone() }
    }

    /// The number of live keys. Exact on Redis up to keys that have expired
    /// but are not removed yet.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.count_keys(),
            Engine::Redis(engine) => engine.count_keys().await,
        }
    }

    /// Reads about `limit` keys with all that they hold, from `cursor` on
    /// (`None` = from the start).
    ///
    /// # Errors
    /// When the store is away, or [`KeyspaceError::Invalid`] naming a key that
    /// holds bytes that are not UTF-8, or a type that is none of the four.
    pub async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.scan(cursor, limit),
            Engine::Redis(engine) => engine.scan(cursor, limit).await,
        }
    }

    /// Writes entries whole, replacing what their keys held. Ends all read sets.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.restore(entries).await,
            Engine::Redis(engine) => engine.restore(entries).await,
        };
        self.versions.raise_all();
        outcome
    }

    /// Does a piece of work and records all that it reads, except reads that are kept
    /// apart ([`Query::keep_apart`]). Where only a few reads of a round matter, track
    /// these ([`Query::track`]).
    pub async fn record_reads<T>(&self, work: impl Future<Output = T>) -> (T, ReadSet) {
        ReadSet::record(work).await
    }

    /// Whether reading again would give the same answers, as far as this process knows:
    /// see [`Store::tracks_writes`]. A key that expires does not count as written.
    #[must_use]
    pub fn is_unchanged(&self, reads: &ReadSet) -> bool {
        reads.is_unchanged(&self.versions)
    }

    /// Whether the answer to a query also brings the keys that anybody has written
    /// before it: then an unchanged read set can be relied on. Always so on the embedded
    /// engine; a Redis server may refuse to tell.
    #[must_use]
    pub fn tracks_writes(&self) -> bool {
        match &self.engine {
            Engine::Redb(_) => true,
            Engine::Redis(engine) => engine.tracks_writes(),
        }
    }

    /// Listens for messages on a channel, from now on.
    #[must_use]
    pub fn subscribe(&self, channel: &str) -> Subscription {
        match &self.engine {
            Engine::Redb(engine) => engine.subscribe(channel),
            Engine::Redis(engine) => engine.subscribe(channel),
        }
    }

    /// Whether other processes may use this store at the same time.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Redis(_))
    }

    /// Waits until what was acknowledged is on disk and lets go of it.
    /// Called once, at the end.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Redb(engine) => engine.close().await,
            Engine::Redis(_) => {}
        }
    }
}

/// A store URL as it may be shown and logged: without its password.
///
/// It works on the text, because a URL that cannot be parsed (often because of
/// its password) is the one that is shown most.
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
            ("redb:tidings.redb", "redb:tidings.redb"),
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
