//! Documented keys of four plain types, in an embedded file or on a Redis server.
//!
//! Open a [`Store`], read with a [`Query`], write with a [`Batch`]. A function documents
//! its cost in *rounds*: one query or one commit is one round, however much is in it.
//!
#![doc = include_str!("../README.md")]

mod batch;
pub mod certificates;
mod events;
mod figures;
mod file_check;
mod health;
pub mod limits;
mod query;
mod read_set;
mod redb;
mod redis;
mod remote;
mod rounds;
mod snapshot;
mod spool;
mod unreadable;

#[cfg(test)]
#[path = "../tests/conformance/strategies.rs"]
mod strategies;

pub use batch::{Batch, Bound, Check, CheckId, CommitError, Committed, Selection, Within, Write};
pub use events::{Notice, Subscription};
pub use file_check::FileState;
pub use health::StoreHealth;
pub use limits::COUNTER_LIMIT;
pub use query::{Answer, Answers, Expiry, FromAnswer, Handle, Hash, Order, Query, Read, TrackedHandle};
pub use read_set::{ReadSet, Reads, Tracked};
pub use redis::sharded_sets::{Addition, Removal, Removed, SetPart, SetRead, ShardedSets};
pub use remote::{AnswerQuestion, ControlSocket, Served, SocketError, serve};
pub use rounds::count_rounds;
pub use snapshot::{Snapshot, give_way};
pub use unreadable::report_unreadable;

use figures::Figures;
use file_check::{FileCheck, FileCheckStep};
use query::ReadOutcomes;
use read_set::Versions;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Why the store could not answer a query or apply a batch.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
pub enum KeyspaceError {
    /// The store cannot be reached, did not answer in time, or failed. A batch was not applied,
    /// and will not be.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The store can be read but not written, for this cause. Nothing was written. The store
    /// tells by itself when it can be written again; see [`Store::health`].
    #[error("the store is read only: {0}")]
    ReadOnly(String),
    /// This key holds another type than a read, check or write needs.
    #[error("the key {0:?} holds another type of value")]
    WrongType(String),
    /// This key holds a value that is not a whole number, or an increment would take it
    /// beyond [`COUNTER_LIMIT`].
    #[error("the key {0:?} holds a value that is not a whole number in range")]
    NotAnInteger(String),
    /// What is stored at this key is damaged: the file has changed, or the disk fails.
    #[error("the value at the key {0:?} is damaged")]
    Damaged(String),
    /// The call itself is wrong whatever the store holds, or a value cannot be copied. The
    /// text says which. See [`Batch::validate`] and [`Store::scan`].
    #[error("invalid command: {0}")]
    Invalid(String),
    /// It is not known whether the batch was applied, for this cause: it may have been, may
    /// still be, or may be lost with the server that has it. Only commits fail so.
    #[error("the batch may or may not have been applied: {0}")]
    Unsure(String),
}

impl KeyspaceError {
    /// The key whose value is to blame, if only that value cannot be used: the rest of the
    /// store works.
    #[must_use]
    pub fn unreadable_key(&self) -> Option<&str> {
        match self {
            Self::WrongType(key) | Self::NotAnInteger(key) | Self::Damaged(key) => Some(key),
            Self::Unavailable(_) | Self::ReadOnly(_) | Self::Invalid(_) | Self::Unsure(_) => None,
        }
    }
}

/// Why a store could not be opened. The message tells the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file of an embedded store does not exist, and must not be created.
    #[error("there is no store at {0}; check the path")]
    Missing(String),
    /// The URL names no engine. It is shown without its password.
    #[error(
        "the store URL {0:?} is not one of redb:PATH, redb::memory:, redis://HOST, rediss://HOST, \
         redis+sentinel://HOST,HOST,HOST/NAME, rediss+sentinel://HOST,HOST,HOST/NAME"
    )]
    Url(String),
    /// The engine could not open the store.
    #[error("cannot open the store {url}: {reason}")]
    Engine {
        /// The URL, without its password.
        url: String,
        /// What is wrong, and what the operator can do about it.
        reason: String,
    },
    /// The Redis server cannot be used now, and perhaps later without any change of the
    /// settings: it does not run, cannot be reached, or loads its data.
    #[error("cannot open the store {url}: {reason}")]
    Absent {
        /// The URL, without its password.
        url: String,
        /// What is wrong, and what the operator can do about it.
        reason: String,
    },
    /// Another process has the file of an embedded store open. It may be about to end.
    #[error("cannot open the store {url}: {reason}")]
    Locked {
        /// The URL.
        url: String,
        /// What is wrong, and what the operator can do about it.
        reason: String,
    },
}

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long a commit, or a round to a Redis server, may take before it fails with
    /// [`KeyspaceError::Unavailable`] or [`KeyspaceError::Unsure`]. Default: 2 seconds. A page of [`Store::scan`] or
    /// [`Store::restore`] on Redis may take 15 times as long. Reads of the embedded engine
    /// run to their end.
    pub timeout: Duration,
    /// Memory for cached pages of the embedded engine, in bytes. Default: 64 MiB.
    pub cache_bytes: usize,
    /// Whether the embedded engine may create the file if it does not exist. Default: true.
    pub create: bool,
    /// The clock by which the embedded engine expires keys. A Redis server uses its own.
    pub clock: EngineClock,
    /// How many replicas of a Redis server must have a batch before it is acknowledged. If fewer say
    /// so within half the time-out, the commit fails with [`KeyspaceError::Unsure`]. Default: none.
    pub replicas: u32,
    /// Whether replicas of a Redis server may answer [`Store::query_replica`]. Default: no.
    pub reads_replicas: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            cache_bytes: 64 * 1024 * 1024,
            create: true,
            clock: EngineClock::System,
            replicas: 0,
            reads_replicas: false,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The time until the key expires, in whole milliseconds; `None` if it does not.
    pub time_to_live: Option<Duration>,
}

/// One page of [`Store::scan`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ScanPage {
    /// The entries of this page. A page may be empty although more follow. On Redis, a
    /// key may appear on more than one page.
    pub entries: Vec<Entry>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

/// One page of [`Store::scan_keys`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct KeyPage {
    /// The keys of this page. On Redis, a key may appear on more than one page.
    pub keys: Vec<String>,
    /// Keys that are not UTF-8, as they can be shown.
    pub not_text: Vec<String>,
    /// The keys between which nothing can be read, because the file is damaged there; empty for
    /// its beginning or its end.
    pub damaged: Option<(String, String)>,
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
    figures: Arc<Figures>,
}

#[derive(Clone)]
enum Engine {
    Redb(redb::Redb),
    Redis(redis::Redis),
    Remote(remote::Remote),
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
    /// `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, or
    /// `redis+sentinel://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]/NAME[/DATABASE]` with the Sentinels that
    /// know the primary as `NAME`; with `rediss` instead of `redis`, over TLS. A password of the
    /// Sentinels is added as `?sentinel_password=`, and a user as `&sentinel_user=`.
    ///
    /// # Errors
    /// [`OpenError::Url`] if the URL names no engine. [`OpenError::Missing`] if the file does not
    /// exist and the options do not let it be created. [`OpenError::Locked`] if another process
    /// has it open. [`OpenError::Absent`] if the Redis server cannot be reached, or the Sentinels
    /// name none.
    /// [`OpenError::Engine`] if the file cannot be opened or created, if the Redis server refuses
    /// the login, or if it is a replica, part of a cluster, or older than 6.2. A server that
    /// goes away later does not have to be opened again: the engine reconnects.
    pub async fn open(url: &str, options: &StoreOptions) -> Result<Self, OpenError> {
        let (engine, versions) = if let Some(path) = url.strip_prefix("redb:") {
            demand_no_replicas(url, options)?;
            let versions = Arc::new(Versions::default());
            (Engine::Redb(redb::Redb::open(path, options, versions.clone())?), versions)
        } else if REDIS_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            let versions = Arc::new(Versions::with_reports());
            (Engine::Redis(redis::Redis::open(url, options, versions.clone()).await?), versions)
        } else if redis::is_of_cluster(url) {
            let reason = "the store must be one server, because a batch is atomic; a cluster is for home \
                          timelines: name it in timelines.store"
                .to_owned();
            return Err(OpenError::Engine { url: without_password(url), reason });
        } else {
            return Err(OpenError::Url(without_password(url)));
        };
        Ok(Self { engine, versions, rounds: Arc::default(), figures: Arc::default() })
    }

    /// Opens the store of the server that listens on a [`ControlSocket`]. Returns `None` if no
    /// server does.
    ///
    /// It is the same store as any other, except that this process does not learn of the writes
    /// of others, so it must cache nothing ([`Store::tracks_writes`] is false). If the server stops, rounds
    /// fail with [`KeyspaceError::Unavailable`].
    ///
    /// # Errors
    /// [`OpenError::Engine`] if the server may not be asked, has another version, or does not answer.
    pub async fn of_server(socket: &Path, options: &StoreOptions) -> Result<Option<Self>, OpenError> {
        let Some(engine) = remote::Remote::open(socket, options).await? else { return Ok(None) };
        Ok(Some(Self {
            engine: Engine::Remote(engine),
            versions: Arc::default(),
            rounds: Arc::default(),
            figures: Arc::default(),
        }))
    }

    /// What the server calls the store ([`Served::name`]), if it is the store of a running server.
    #[must_use]
    pub fn served_as(&self) -> Option<&str> {
        match &self.engine {
            Engine::Remote(engine) => Some(engine.name()),
            Engine::Redb(_) | Engine::Redis(_) => None,
        }
    }

    /// Asks the program that serves the store ([`Served::answer`]). Returns `None` if it is not the store
    /// of a running server.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn ask_server(&self, question: &str) -> Result<Option<String>, KeyspaceError> {
        match &self.engine {
            Engine::Remote(engine) => engine.ask(question).await.map(Some),
            Engine::Redb(_) | Engine::Redis(_) => Ok(None),
        }
    }

    /// A store on a Redis server that cannot be used yet: see [`OpenError::Absent`]. Everything
    /// fails with [`KeyspaceError::Unavailable`] and this reason, until [`Store::admit`].
    ///
    /// # Errors
    /// [`OpenError::Url`] if the URL is not one of a Redis server; [`OpenError::Engine`] if it
    /// cannot be read.
    pub fn awaited(url: &str, options: &StoreOptions, reason: String) -> Result<Self, OpenError> {
        if !url.starts_with("redis") {
            return Err(OpenError::Url(without_password(url)));
        }
        let versions = Arc::new(Versions::with_reports());
        let engine = Engine::Redis(redis::Redis::awaited(url, options, versions.clone(), reason)?);
        Ok(Self { engine, versions, rounds: Arc::default(), figures: Arc::default() })
    }

    /// Says why an awaited store still cannot be used. Does nothing to a store that was opened.
    pub fn still_awaited(&self, reason: &str) {
        match &self.engine {
            Engine::Redb(_) | Engine::Remote(_) => {}
            Engine::Redis(engine) => engine.set_absence(reason),
        }
    }

    /// Lets an awaited store be used: [`Store::open`] has found that its server can be. Does
    /// nothing to a store that was opened.
    pub fn admit(&self) {
        match &self.engine {
            Engine::Redb(_) | Engine::Remote(_) => {}
            Engine::Redis(engine) => engine.admit(),
        }
    }

    /// Runs the reads of a query in one round; an empty query takes none.
    ///
    /// On the embedded engine all reads see the same state of the store, and run on the
    /// calling thread: a few microseconds each, and more for large collections. On Redis
    /// they are one pipeline, between whose commands other writes may be applied.
    ///
    /// # Errors
    /// [`KeyspaceError::WrongType`] or [`KeyspaceError::Damaged`] for the first read whose
    /// value cannot be read, unless the read is [tolerant](Handle::or_absent): then the round
    /// succeeds without it.
    /// [`KeyspaceError::Unavailable`] if the store cannot be reached, did not answer in
    /// time, or failed.
    pub async fn query(&self, query: Query) -> Result<Answers, KeyspaceError> {
        if query.is_empty() {
            return Ok(Answers::default());
        }
        let noted = self.versions.note_query(&query);
        let outcomes = self.outcomes_of(&query).await?;
        self.versions.note_values(&query, &outcomes);
        Ok(query.answers_of(outcomes)?.with_noted(noted))
    }

    /// [`Store::query`], which a replica of the Redis server may answer
    /// ([`StoreOptions::reads_replicas`]). It has everything that was acknowledged a second before the answer, at
    /// least. If no replica is so far, or does not answer within that second, the server itself is asked.
    ///
    /// No write must be decided by what it answers, and nothing that is made of it must be cached
    /// until something that was read is written: the write may have been reported before the read.
    ///
    /// # Errors
    /// As [`Store::query`].
    pub async fn query_replica(&self, query: Query) -> Result<Answers, KeyspaceError> {
        let Engine::Redis(engine) = &self.engine else { return self.query(query).await };
        if query.is_empty() {
            return Ok(Answers::default());
        }
        let noted = self.versions.note_query(&query);
        let Some(outcomes) = engine.query_replica(&query).await else { return self.query(query).await };
        self.note_round();
        self.figures.note_query();
        Ok(query.answers_of(outcomes)?.with_noted(noted))
    }

    /// Whether a replica may answer [`Store::query_replica`] now.
    #[must_use]
    pub fn has_replica(&self) -> bool {
        match &self.engine {
            Engine::Redis(engine) => engine.has_replica(),
            Engine::Redb(_) | Engine::Remote(_) => false,
        }
    }

    /// Whether what was cached of the server itself is as new as what a replica may answer: the reports of
    /// all writes of a second ago have arrived.
    #[must_use]
    pub fn is_as_current_as_replicas(&self) -> bool {
        match &self.engine {
            Engine::Redis(engine) => engine.is_as_current_as_replicas(),
            Engine::Redb(_) | Engine::Remote(_) => true,
        }
    }

    /// What becomes of each read of a query, in one round.
    pub(crate) async fn outcomes_of(&self, query: &Query) -> Result<ReadOutcomes, KeyspaceError> {
        self.note_round();
        self.figures.note_query();
        match &self.engine {
            Engine::Redb(engine) if query.may_be_large() => engine.query_elsewhere(query).await,
            Engine::Redb(engine) => engine.query(query),
            Engine::Redis(engine) => engine.query(query).await,
            Engine::Remote(engine) => engine.query(query).await,
        }
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
    /// these cases, and after [`KeyspaceError::Unavailable`] and [`KeyspaceError::ReadOnly`], nothing is
    /// written. After [`KeyspaceError::Unsure`] the outcome is unknown: make the batch safe to repeat.
    pub async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.validate()?;
        self.note_round();
        let began = Instant::now();
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.commit(batch).await,
            Engine::Redis(engine) => {
                let outcome = engine.commit(&batch).await;
                self.versions.note_written(&batch);
                outcome
            }
            Engine::Remote(engine) => {
                let outcome = engine.commit(&batch).await;
                self.versions.note_written(&batch);
                outcome
            }
        };
        self.figures.note_commit(&outcome, began.elapsed());
        outcome
    }

    fn note_round(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        rounds::note_round();
    }

    /// Batches that wait for the writer of the embedded engine, or are being written.
    #[must_use]
    pub fn queued_batches(&self) -> usize {
        match &self.engine {
            Engine::Redb(engine) => engine.queued_batches(),
            Engine::Redis(_) | Engine::Remote(_) => 0,
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
            Engine::Remote(engine) => engine.count_keys().await,
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
            Engine::Remote(engine) => engine.scan(cursor, limit).await,
        }
    }

    /// Every key with its value as of one moment, page by page, while reads and writes go on.
    ///
    /// On the embedded engine it is one read transaction on a thread of its own, which gives
    /// way to others. Until its last page has been taken or it is dropped, no page of the file
    /// that a write frees can be used again, so the file grows by what is written meanwhile.
    ///
    /// On Redis everything is read before this returns, into a temporary file of the system's
    /// folder for such files: see [`Store::snapshot_by_way_of`].
    ///
    /// # Errors
    /// As [`Store::snapshot_by_way_of`].
    pub async fn snapshot(&self) -> Result<Snapshot, KeyspaceError> {
        self.snapshot_by_way_of(&std::env::temp_dir()).await
    }

    /// [`Store::snapshot`], with the folder in which the Redis engine makes its temporary file.
    ///
    /// The file takes as many bytes as all keys and values, and those again that were written
    /// meanwhile. On a busy server the writes of all clients wait for a few milliseconds
    /// at the end, and never longer than half a second.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`] if the store or the file fails, if the database is
    /// emptied meanwhile, or if it does not come to rest. [`KeyspaceError::Invalid`] as for
    /// [`Store::scan`], and if the server does not permit `CLIENT TRACKING`.
    pub async fn snapshot_by_way_of(&self, folder: &Path) -> Result<Snapshot, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.snapshot(),
            Engine::Redis(engine) => engine.snapshot(folder).await,
            Engine::Remote(engine) => engine.snapshot().await,
        }
    }

    /// Checks every checksum in the file of the embedded engine as of now, while reads and writes go
    /// on. `progress` is told how many of how many bytes are read. The file is not changed.
    ///
    /// It reads the file about twice, on a thread that gives way to others, and takes at most about
    /// 80 MiB of memory. Writes wait for one flush at its beginning. Meanwhile the file grows as it
    /// does during a snapshot. Checks run one after the other.
    ///
    /// A store in memory and one on Redis have no file that this could check.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`] if the store is closed or the connection to it is lost.
    pub async fn check_file(&self, mut progress: impl FnMut(u64, u64)) -> Result<FileState, KeyspaceError> {
        let mut check = self.begin_file_check().await?;
        loop {
            match check.next().await? {
                FileCheckStep::Progress(read, all) => progress(read, all),
                FileCheckStep::Over(state) => return Ok(state),
            }
        }
    }

    /// Begins what [`Store::check_file`] does.
    async fn begin_file_check(&self) -> Result<FileCheck, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.check_file().await,
            Engine::Redis(_) => Ok(FileCheck::over(FileState::NoFile)),
            Engine::Remote(engine) => engine.check_file().await,
        }
    }

    /// Reads the names of about `limit` keys, whatever they hold, starting at `cursor` (`None`: at
    /// the beginning). Otherwise as [`Store::scan`], but values that cannot be read do not matter.
    /// Takes one round trip on Redis.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn scan_keys(&self, cursor: Option<String>, limit: usize) -> Result<KeyPage, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.scan_keys(cursor, limit),
            Engine::Redis(engine) => engine.scan_keys(cursor, limit).await,
            Engine::Remote(engine) => engine.scan_keys(cursor, limit).await,
        }
    }

    /// Writes entries, replacing what their keys held. Ends all read sets.
    ///
    /// It is not atomic: entries are written in groups, of up to 50,000 writes on the embedded
    /// engine and a thousand on Redis.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; then some of the entries may be written.
    pub async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.restore(entries).await,
            Engine::Redis(engine) => engine.restore(entries).await,
            Engine::Remote(engine) => engine.restore(&entries).await,
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
    /// of the server, and only if [`Store::tracks_writes`] is true. If the server has not answered
    /// anything that was sent within the last 2 seconds (it is asked once a second), this is false.
    #[must_use]
    pub fn is_unchanged(&self, reads: &ReadSet) -> bool {
        let may_be_cached = match &self.engine {
            Engine::Redb(_) | Engine::Remote(_) => true,
            Engine::Redis(engine) => engine.is_confirmed(),
        };
        may_be_cached && reads.is_unchanged(&self.versions)
    }

    /// Learns of every write that was acknowledged to anyone before the call: afterwards,
    /// [`Store::is_unchanged`] tells of exactly what was read before, by field where only some
    /// fields of a hash were read. One round on Redis, which concurrent callers share, and
    /// another if a hash was written of which fields had been read; none on the embedded engine.
    ///
    /// Any other answer of a Redis server brings the names of all keys that were written before,
    /// too. But what was read of fields of these keys counts as written until this is called.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn learn_writes(&self) -> Result<(), KeyspaceError> {
        match &self.engine {
            Engine::Redb(_) | Engine::Remote(_) => Ok(()),
            Engine::Redis(engine) => {
                self.note_round();
                engine.learn_writes().await
            }
        }
    }

    /// Whether [`Store::learn_writes`] would find that what now counts as written was not.
    #[must_use]
    pub fn has_doubts(&self) -> bool {
        self.versions.has_doubts()
    }

    /// Whether this process learns of every write to the store, by anyone, no later than
    /// with the answer to a round that starts after it. Always true on the embedded engine.
    /// False on Redis if the connection is down, or if the server does not permit
    /// `CLIENT TRACKING`, and for the store of a running server; then nothing must be cached.
    #[must_use]
    pub fn tracks_writes(&self) -> bool {
        match &self.engine {
            Engine::Redb(_) => true,
            Engine::Redis(engine) => engine.tracks_writes(),
            Engine::Remote(_) => false,
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
            Engine::Remote(engine) => engine.subscribe(channel),
        }
    }

    /// Whether other processes may use this store at the same time as equals: true on Redis, and for
    /// the store of a running server. False for a server's own embedded store, which commands
    /// use through the server.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Redis(_) | Engine::Remote(_))
    }

    /// Whether a commit is acknowledged only when replicas have it ([`StoreOptions::replicas`]). An empty batch
    /// then waits until they have everything that was written before, by anyone.
    #[must_use]
    pub fn waits_for_replicas(&self) -> bool {
        match &self.engine {
            Engine::Redis(engine) => engine.waits_for_replicas(),
            Engine::Redb(_) | Engine::Remote(_) => false,
        }
    }

    /// What the store can do at the moment. Takes nothing on the embedded engine, and one round
    /// trip on Redis and to a running server, which does not count as a round.
    pub async fn health(&self) -> StoreHealth {
        match &self.engine {
            Engine::Redb(engine) => engine.health(),
            Engine::Redis(engine) => engine.health().await,
            Engine::Remote(engine) => engine.health().await,
        }
    }

    /// Closes an embedded store: waits until all queued batches are answered, and flushes
    /// the file. Later commits and queries fail. Does nothing on Redis and for the store of a running
    /// server.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Redb(engine) => engine.close().await,
            Engine::Redis(_) | Engine::Remote(_) => {}
        }
    }
}

/// The beginnings of the URLs of Redis servers.
const REDIS_SCHEMES: [&str; 4] = ["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://"];

/// Refuses to promise what an embedded store cannot keep.
fn demand_no_replicas(url: &str, options: &StoreOptions) -> Result<(), OpenError> {
    if options.replicas == 0 {
        return Ok(());
    }
    let reason = "an embedded store has no replicas to wait for; let store_replicas be 0".to_owned();
    Err(OpenError::Engine { url: url.to_owned(), reason })
}

/// What is wrong with a URL that begins with `redis+sentinel:` or `rediss+sentinel:`. Other URLs are
/// not looked at.
#[must_use]
pub fn flaw_of_sentinel_url(store_url: &str) -> Option<String> {
    redis::flaw_of_url(store_url)
}

/// A store URL without its password, to be shown and logged.
///
/// It works on the text, because the URLs shown most often are those that cannot be parsed,
/// and often it is the password that breaks them.
#[must_use]
pub fn without_password(store_url: &str) -> String {
    let hidden = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let (login, place) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{place}"))
    };
    // The password of the Sentinels is the last that can stand in a URL, or a user follows it.
    let (url, of_sentinels) = match store_url.split_once(SENTINEL_PASSWORD) {
        Some((url, _)) => (url, "sentinel_password=***"),
        None => (store_url, ""),
    };
    format!("{}{of_sentinels}", hidden(url).unwrap_or_else(|| url.to_owned()))
}

const SENTINEL_PASSWORD: &str = "sentinel_password=";

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
            (
                "redis+sentinel://a:1,b/n?sentinel_password=secret",
                "redis+sentinel://a:1,b/n?sentinel_password=***",
            ),
            (
                "redis+sentinel://me:secret@a,b/n?sentinel_password=sec@ret&sentinel_user=x",
                "redis+sentinel://me:***@a,b/n?sentinel_password=***",
            ),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
