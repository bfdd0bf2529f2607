//! An open store, on either engine.

mod whole;

use crate::batch::{Batch, CommitError, Committed};
use crate::events::Subscription;
use crate::fetch::Fetch;
use crate::figures::Figures;
use crate::health::{StoreHealth, StoreSigns};
use crate::history::History;
use crate::query::{Answers, Query, ReadOutcomes};
use crate::read_set::{ReadSet, Versions};
use crate::url::{REDIS_SCHEMES, without_password};
use crate::written_keys::WrittenKeys;
use crate::{KeyspaceError, OpenError, StoreOptions, redb, redis, rounds};
use futures_util::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

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
}

impl Store {
    const fn redis(&self) -> Option<&redis::Redis> {
        match &self.engine {
            Engine::Redb(_) => None,
            Engine::Redis(redis) => Some(redis),
        }
    }

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

    /// Writes the file of an embedded store anew, so that it has nothing of what was deleted. Commits wait
    /// meanwhile. Returns false if there is no such file, on Redis.
    ///
    /// # Errors
    /// When the disk fails. The file is then as it was.
    pub async fn compact(&self) -> Result<bool, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.compact().await.map(|()| true),
            Engine::Redis(_) => Ok(false),
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
        if let Some(redis) = self.redis() {
            redis.set_absence(reason);
        }
    }

    /// Lets an awaited store be used: [`Store::open`] has found that its server can be. Does
    /// nothing to a store that was opened.
    pub fn admit(&self) {
        if let Some(redis) = self.redis() {
            redis.admit();
        }
    }

    /// From now on, a Redis database without the key `present`, or with the key `absent`, is unavailable:
    /// it has lost its data, or is being filled. While `present` holds another text than this, nothing is
    /// written. It is looked at once a second, and can be used again when it has the data again. Does
    /// nothing to another store.
    pub fn guard(&self, (present, text): (&str, &str), absent: &str) {
        if let Some(redis) = self.redis() {
            let [present, text, absent] = [present, text, absent].map(str::to_owned);
            redis.guard(redis::GuardedKeys { present, text, absent });
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
    /// value cannot be read, unless the read is [tolerant](crate::Fetch::or_absent): then the round
    /// succeeds without it.
    /// [`KeyspaceError::Unavailable`] if the store cannot be reached, did not answer in
    /// time, or failed.
    pub async fn query(&self, query: Query) -> Result<Answers, KeyspaceError> {
        if query.is_empty() {
            return Ok(Answers::default());
        }
        let noted = self.versions.note_query(&query);
        let (query, outcomes) = self.outcomes_of(query).await?;
        self.versions.note_values(&query, &outcomes);
        Ok(query.answers_of(outcomes)?.with_noted(noted))
    }

    /// Fetches things that are read together. Rounds: 1, or none if there is nothing to read.
    ///
    /// # Errors
    /// As [`Store::query`].
    pub async fn fetch<F: Fetch>(&self, what: F) -> Result<F::Value, KeyspaceError> {
        let mut query = Query::new();
        let asked = what.ask(&mut query);
        let mut answers = self.query(query).await?;
        Ok(F::take(asked, &mut answers))
    }

    /// Runs a query in one round; returns it with the outcome of each of its reads.
    pub(crate) async fn outcomes_of(&self, query: Query) -> Result<(Query, ReadOutcomes), KeyspaceError> {
        self.note_round();
        self.figures.note_query();
        let outcomes = match &self.engine {
            Engine::Redb(engine) if query.may_be_large() => return engine.query_elsewhere(query).await,
            Engine::Redb(engine) => engine.query(&query),
            Engine::Redis(engine) => engine.query(&query).await,
        };
        Ok((query, outcomes?))
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
        self.apply(None, batch).await
    }

    /// The history of writes of the server that reads after this call are answered by; always the same unless
    /// commits wait for replicas ([`StoreOptions::replicas`]). Takes no round.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn history(&self) -> Result<History, KeyspaceError> {
        match self.redis() {
            Some(redis) => redis.history().boxed().await,
            None => Ok(History::default()),
        }
    }

    /// [`Store::commit`] of a batch that was decided by reads in this history. So the server that applies it
    /// has what was read, and with [`StoreOptions::replicas`], so have replicas when this returns.
    ///
    /// # Errors
    /// As [`Store::commit`]; [`KeyspaceError::Unavailable`] if the store has another server by now.
    pub async fn commit_in(&self, history: &History, batch: Batch) -> Result<Committed, CommitError> {
        self.apply(Some(history), batch).await
    }

    async fn apply(&self, history: Option<&History>, batch: Batch) -> Result<Committed, CommitError> {
        batch.validate()?;
        self.note_round();
        let began = Instant::now();
        let counters = batch.counters();
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.commit(batch).await,
            Engine::Redis(engine) => {
                // Apart from the future of the caller, which is deep enough without it for the compiler.
                let outcome = engine.commit(history, &batch).boxed().await;
                self.versions.note_written(&batch);
                outcome
            }
        };
        self.figures.note_commit(&outcome, began.elapsed());
        outcome.map(|values| Committed::of(counters, values))
    }

    fn note_round(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        rounds::note_rounds(1);
    }

    /// Batches that wait for the writer of the embedded engine, or are being written.
    pub fn queued_batches(&self) -> usize {
        match &self.engine {
            Engine::Redb(engine) => engine.queued_batches(),
            Engine::Redis(_) => 0,
        }
    }

    /// Draws the next number of a counter, in one round. No number is drawn twice; one may
    /// be skipped if the caller does not get the answer. It is flushed with the batch that uses it
    /// ([`Batch::flushed_later`]).
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn next_id(&self, counter: &str) -> Result<i64, KeyspaceError> {
        let mut batch = Batch::new();
        batch.increment(counter, 1);
        match self.commit(batch.flushed_later()).await {
            Ok(committed) => committed
                .values()
                .pop()
                .ok_or_else(|| KeyspaceError::Invalid("no number came back for a counter".to_owned())),
            Err(CommitError::Keyspace(error)) => Err(error),
            Err(CommitError::Rejected(_)) => {
                Err(KeyspaceError::Invalid("drawing a number has no check to fail".to_owned()))
            }
        }
    }

    /// The number of rounds (queries and commits) that this store and its clones have
    /// been asked for. Tests use it to bound the cost of an action.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// The same store with a round counter of its own, for background work that should
    /// not count with the rest.
    pub fn counted_apart(&self) -> Self {
        Self { rounds: Arc::default(), ..self.clone() }
    }

    /// Runs a future and records every read that it makes from a store, except those
    /// excluded by [`Fetch::apart`]. Tasks that it spawns are not recorded. If only a
    /// few reads of a round matter, track those instead: see [`Fetch::tracked`].
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
    pub fn is_unchanged(&self, reads: &ReadSet) -> bool {
        self.redis().is_none_or(redis::Redis::is_confirmed) && reads.is_unchanged(&self.versions)
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
        let Some(redis) = self.redis() else { return Ok(()) };
        self.note_round();
        redis.learn_writes().await
    }

    /// Whether [`Store::learn_writes`] would find that what now counts as written was not.
    pub fn has_doubts(&self) -> bool {
        self.versions.has_doubts()
    }

    /// Whether this process learns of every write to the store, by anyone, no later than
    /// with the answer to a round that starts after it. Always true on the embedded engine.
    /// False on Redis if the connection is down, or if the server does not permit
    /// `CLIENT TRACKING`; then nothing must be cached.
    pub fn tracks_writes(&self) -> bool {
        self.redis().is_none_or(redis::Redis::tracks_writes)
    }

    /// Collects the names of keys that are written from now on and that `is_wanted` accepts, on Redis also
    /// those that other processes write. There may be others while [`Store::tracks_writes`] is false, and
    /// wherever the collection says so: after a lost connection, or when too many have been written.
    ///
    /// `is_wanted` runs at every write, so it must be fast.
    pub fn watch_keys(&self, is_wanted: fn(&str) -> bool) -> Arc<WrittenKeys> {
        self.versions.watchers.add(is_wanted)
    }

    /// Subscribes to the messages that batches publish on a channel from now on.
    ///
    /// On Redis it opens a connection of its own, in the background, and renews it if it
    /// breaks. It must be called within a Tokio runtime.
    pub fn subscribe(&self, channel: &str) -> Subscription {
        match &self.engine {
            Engine::Redb(engine) => engine.subscribe(channel),
            Engine::Redis(engine) => engine.subscribe(channel),
        }
    }

    /// Whether other processes may use this store at the same time as equals: true on Redis. Only one process
    /// has an embedded store open.
    pub const fn is_shared(&self) -> bool {
        self.redis().is_some()
    }

    /// Whether a commit is acknowledged only when replicas have it ([`StoreOptions::replicas`]). An empty batch
    /// then waits until they have everything that was written before, by anyone.
    pub fn waits_for_replicas(&self) -> bool {
        self.redis().is_some_and(redis::Redis::waits_for_replicas)
    }

    /// Whether the store can be read and written at the moment. Takes no round trip on the embedded engine,
    /// and one on Redis, which does not count as a round.
    pub async fn health(&self) -> StoreHealth {
        match &self.engine {
            Engine::Redb(engine) => engine.health(),
            Engine::Redis(engine) => engine.health().await,
        }
    }

    /// Signs of trouble besides [`Store::health`]. Takes no round trip: those of a Redis server are as old as the last
    /// call of [`Store::health`].
    pub fn signs(&self) -> StoreSigns {
        let signs = match &self.engine {
            Engine::Redb(engine) => engine.signs(),
            Engine::Redis(engine) => engine.signs(),
        };
        StoreSigns { commits: self.figures.commits(), ..signs }
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

/// Refuses to promise what an embedded store cannot keep.
fn demand_no_replicas(url: &str, options: &StoreOptions) -> Result<(), OpenError> {
    if options.replicas == 0 {
        return Ok(());
    }
    let reason = "an embedded store has no replicas to wait for; let store_replicas be 0".to_owned();
    Err(OpenError::Engine { url: url.to_owned(), reason })
}
