//! Snapshots of a Redis database, exact to the moment, while any program writes to it.
//!
//! A server cannot give all keys as of one moment, but it reports every key that is written
//! or expires (`CLIENT TRACKING` in broadcasting mode). So:
//!
//! 1. A connection of its own asks for the reports, then reads all keys.
//! 2. The keys that were reported since are read again, round by round.
//! 3. When few are left, the server lets writes wait (`CLIENT PAUSE ... WRITE`), so that a
//!    round comes in which nothing is reported. On a quiet server there is no need.
//!
//! The state is that before the last round. Nothing has changed since each key was read:
//! the reports of all writes before a request have arrived once a second request, sent
//! after the answer to the first one, is answered. (A server sends the reports of all
//! that it has just processed after the answers to it.) So the pause only helps; if it is
//! refused or too short, there are further rounds and no wrong state.
//!
//! The entries that are read go to a temporary file, because a key may be read again later.

use super::connection::{ReconnectingConnection, WriteObserver};
use super::whole::exact_text;
use super::{Redis, RedisShared, wire};
use crate::KeyspaceError;
use crate::limits::{MAX_CHANGED_KEYS, MAX_PAUSED_KEYS, MAX_SNAPSHOT_ROUNDS, SNAPSHOT_CHUNK, SNAPSHOT_PAUSE};
use crate::snapshot::{Snapshot, on_own_thread};
use crate::spool::Spool;
use parking_lot::Mutex;
use redis::{Value, cmd};
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::oneshot;

/// How often keys are read anew because another type was stored between two commands.
const TYPE_ATTEMPTS: u32 = 5;

/// The keys that the server has reported as written.
#[derive(Default)]
struct ChangedKeys(Mutex<Changes>);

#[derive(Default)]
struct Changes {
    keys: HashSet<Vec<u8>>,
    /// Whether there were changes that nobody listed.
    missed: bool,
}

impl WriteObserver for ChangedKeys {
    fn note_key(&self, key: &[u8]) {
        let mut changes = self.0.lock();
        changes.keys.insert(key.to_vec());
        changes.missed |= changes.keys.len() > MAX_CHANGED_KEYS;
    }

    fn note_all(&self) {
        self.0.lock().missed = true;
    }
}

impl ChangedKeys {
    /// Forgets everything so far.
    fn start_over(&self) {
        *self.0.lock() = Changes::default();
    }

    /// Takes the keys that have changed since they were last taken.
    fn take(&self) -> Result<HashSet<Vec<u8>>, KeyspaceError> {
        let mut changes = self.0.lock();
        if changes.missed {
            return Err(KeyspaceError::Unavailable(
                "the connection to Redis was lost, or the database was emptied, during the snapshot"
                    .to_owned(),
            ));
        }
        Ok(std::mem::take(&mut changes.keys))
    }
}

impl Redis {
    /// Reads all keys as of one moment, on a thread of its own.
    pub(crate) async fn snapshot(&self, folder: &Path) -> Result<Snapshot, KeyspaceError> {
        let (reply, outcome) = oneshot::channel();
        let changed = Arc::new(ChangedKeys::default());
        let redis = self.observed_by(changed.clone());
        let folder = folder.to_owned();
        let runtime = tokio::runtime::Handle::current();
        let read_and_send = move || {
            let collected = Spool::create(&folder).and_then(|spool| {
                let collector = Collector::new(redis, changed, spool, &reply);
                runtime.block_on(collector.collect())
            });
            match collected {
                Ok((spool, keys, taken_at_ms)) => {
                    let (mut pages, snapshot) = Snapshot::new(taken_at_ms, keys);
                    if reply.send(Ok(snapshot)).is_ok() {
                        let outcome = spool.send_all(&mut pages, taken_at_ms);
                        pages.finish_blocking(outcome);
                    }
                }
                // This fails if nobody waits any more.
                Err(error) => _ = reply.send(Err(error)),
            }
        };
        on_own_thread("keyspace-snapshot", read_and_send)?;
        outcome.await.unwrap_or_else(|_| {
            Err(KeyspaceError::Unavailable("the snapshot has ended before its last key".to_owned()))
        })
    }

    /// The same database on a connection of its own, whose reports of writes go to `observer`.
    fn observed_by(&self, observer: Arc<dyn WriteObserver>) -> Self {
        let RedisShared { place, timeout, versions, .. } = &*self.shared;
        let connection = ReconnectingConnection::new(place.clone(), *timeout, Some(observer));
        let absence = (!self.shared.is_admitted.load(Ordering::Acquire)).then(|| self.absence());
        let shared = RedisShared::over(connection, place.clone(), (*timeout, versions.clone()), absence);
        Self { shared: Arc::new(shared) }
    }

    /// Waits for an answer of the server.
    async fn ping(&self) -> Result<(), KeyspaceError> {
        wire::checked("", self.one(cmd("PING"), self.patient(true)).await?).map(drop)
    }

    /// The server's clock, in Unix milliseconds.
    async fn now_ms(&self) -> Result<u64, KeyspaceError> {
        let answer = self.one(cmd("TIME"), self.patient(true)).await?;
        let numbers = wire::items(answer).unwrap_or_default().into_iter().filter_map(wire::bytes);
        let numbers: Vec<u64> =
            numbers.filter_map(|bytes| String::from_utf8(bytes).ok()?.parse().ok()).collect();
        match numbers[..] {
            [seconds, microseconds] => Ok(seconds.saturating_mul(1000).saturating_add(microseconds / 1000)),
            _ => Err(wire::unexpected("")),
        }
    }
}

/// A snapshot in the making.
struct Collector<'a> {
    redis: Redis,
    changed: Arc<ChangedKeys>,
    spool: Spool,
    /// Hashes of the keys that were read, because SCAN may return a key twice.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// The time of the server, and when that was.
    clock: (u64, Instant),
    /// Where the snapshot goes; closed if nobody waits for it any more.
    reply: &'a oneshot::Sender<Result<Snapshot, KeyspaceError>>,
}

impl<'a> Collector<'a> {
    fn new(
        redis: Redis,
        changed: Arc<ChangedKeys>,
        spool: Spool,
        reply: &'a oneshot::Sender<Result<Snapshot, KeyspaceError>>,
    ) -> Self {
        let (seen, hasher) = (HashSet::new(), RandomState::new());
        Self { redis, changed, spool, seen, hasher, clock: (0, Instant::now()), reply }
    }

    /// Reads everything. Returns the entries, about how many keys they are, and the moment
    /// whose state they are.
    async fn collect(mut self) -> Result<(Spool, u64, u64), KeyspaceError> {
        self.redis.ping().await?;
        if !self.redis.tracks_writes() {
            return Err(KeyspaceError::Invalid(
                "the server does not report writes, so a snapshot is not possible; allow CLIENT TRACKING"
                    .to_owned(),
            ));
        }
        self.changed.start_over();
        self.clock = (self.redis.now_ms().await?, Instant::now());
        self.read_all().await?;
        let mut paused = None;
        let settled = self.settle(&mut paused).await;
        if paused.is_some() {
            let mut resume = cmd("CLIENT");
            resume.arg("UNPAUSE");
            // If this fails, the pause ends by its time.
            if let Err(error) = self.redis.one(resume, self.redis.patient(false)).await {
                tracing::debug!(%error, "cannot let the writes of the server go on at once");
            }
        }
        settled?;
        let now = self.now_ms();
        Ok((self.spool, u64::try_from(self.seen.len()).unwrap_or(u64::MAX), now))
    }

    /// Reads every key once.
    async fn read_all(&mut self) -> Result<(), KeyspaceError> {
        let mut cursor = None;
        loop {
            let (mut keys, next) = self.redis.texts_of_keys(cursor, SNAPSHOT_CHUNK).await?;
            keys.retain(|key| {
                let is_new = self.seen.insert(self.hasher.hash_one(key));
                if !is_new {
                    // It was read before; reading it again as a changed key keeps one of both.
                    self.changed.note_key(key.as_bytes());
                }
                is_new
            });
            for chunk in keys.chunks(SNAPSHOT_CHUNK) {
                self.read(chunk, 0).await?;
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads what has changed until nothing has changed since it was read. Notes when writes
    /// were paused.
    async fn settle(&mut self, paused: &mut Option<Instant>) -> Result<(), KeyspaceError> {
        let mut before = usize::MAX;
        for round in 1..=MAX_SNAPSHOT_ROUNDS {
            // Two, one after the other: see the top of this file.
            self.redis.ping().await?;
            self.redis.ping().await?;
            let changed = self.changed.take()?;
            if changed.is_empty() {
                return Ok(());
            }
            // Each round takes less time than the one before, until it has what is always written.
            let is_little = changed.len() <= MAX_PAUSED_KEYS || changed.len() > before / 2;
            before = changed.len();
            if is_little && paused.is_none_or(|since| since.elapsed() > SNAPSHOT_PAUSE * 2) {
                *paused = Some(Instant::now());
                self.pause().await?;
            }
            let keys = self.names(changed).await?;
            for chunk in keys.chunks(SNAPSHOT_CHUNK) {
                for key in chunk {
                    self.spool.replace(key, round);
                }
                self.read(chunk, round).await?;
            }
        }
        Err(KeyspaceError::Unavailable(
            "the database changes faster than it can be read; try again when there are fewer writes"
                .to_owned(),
        ))
    }

    /// Lets all writes wait for a short time.
    async fn pause(&self) -> Result<(), KeyspaceError> {
        let mut pause = cmd("CLIENT");
        pause.arg("PAUSE").arg(u64::try_from(SNAPSHOT_PAUSE.as_millis()).unwrap_or_default()).arg("WRITE");
        if let Value::ServerError(error) = self.redis.one(pause, self.redis.patient(false)).await? {
            tracing::debug!(error = error.code(), "the server does not let writes wait for a snapshot");
        }
        Ok(())
    }

    /// Changed keys as texts. The server reports keys of all its databases, so those that are
    /// not texts may be of another one.
    async fn names(&self, changed: HashSet<Vec<u8>>) -> Result<Vec<String>, KeyspaceError> {
        let mut names = Vec::with_capacity(changed.len());
        for key in changed {
            let mut exists = cmd("EXISTS");
            exists.arg(&key);
            match exact_text("", key) {
                Ok(key) => names.push(key),
                Err(error) => {
                    let here = self.redis.one(exists, self.redis.patient(true)).await?;
                    if wire::integer(&here) != Some(0) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(names)
    }

    /// Reads keys into the file.
    async fn read(&mut self, keys: &[String], round: u32) -> Result<(), KeyspaceError> {
        if self.reply.is_closed() {
            return Err(KeyspaceError::Unavailable("the snapshot is not wanted any more".to_owned()));
        }
        let now = self.now_ms();
        let mut attempt = 0;
        let entries = loop {
            attempt += 1;
            match self.redis.entries(keys.to_vec()).await {
                // The type of a key has changed after it was asked for.
                Err(KeyspaceError::WrongType(_)) if attempt < TYPE_ATTEMPTS => {}
                outcome => break outcome?,
            }
        };
        for entry in entries {
            self.spool.add(entry, round, now)?;
        }
        Ok(())
    }

    /// The time of the server.
    fn now_ms(&self) -> u64 {
        let (server, then) = self.clock;
        server.saturating_add(u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}
