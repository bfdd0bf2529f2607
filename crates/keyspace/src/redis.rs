//! The engine on a Redis or Valkey server.
//!
//! A query is one pipeline, without MULTI, so other writes may be applied between its
//! reads. A batch is one call of `commit.lua`. If its outcome is unknown, because the
//! connection was lost or no answer came in time, the caller is told so. The batch is never
//! repeated here, because the server may have applied it.
//!
//! The server is the one that the URL names, or that the Sentinels name at the moment (`place.rs`).
//! With `StoreOptions::replicas`, a batch is acknowledged when replicas have it (`replicated.rs`).

mod connection;
mod failures;
mod guard;
mod learning;
mod listener;
mod place;
mod replicas;
mod replicated;
mod sentinel_url;
mod server_info;
pub(super) mod sharded_sets;
mod snapshot;
mod watch;
mod whole;
mod wire;

#[cfg(test)]
mod tests;

use super::batch::{Batch, CommitError};
use super::events::Subscription;
use super::query::{Query, ReadOutcomes};
use super::{History, KeyspaceError, OpenError, StoreHealth, StoreOptions, StoreSigns};
use crate::certificates;
use crate::read_set::Versions;
use connection::{ReconnectingConnection, RedisRequestError, RequestOptions, WAS_REPLACED};
use failures::{OpenFailure, advice, info_of, reason_of, write_failure};
use guard::Guard;
pub(super) use guard::GuardedKeys;
use learning::Learning;
use parking_lot::Mutex;
use place::Place;
use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, Pipeline, ProtocolVersion, RedisError,
    TlsCertificates, Value, cmd,
};
use replicated::ReplicatedWrites;
use server_info::{IS_LOADING, check_info, evicts, why_read_only};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The script that applies a batch.
const COMMIT: &str = include_str!("redis/commit.lua");

/// A store on a server. Clones share its connection.
#[derive(Clone)]
pub(super) struct Redis {
    shared: Arc<RedisShared>,
}

struct RedisShared {
    /// For everything but [`RedisShared::replicated`].
    connection: Arc<ReconnectingConnection>,
    /// For batches, if they are to wait for replicas.
    replicated: Option<ReplicatedWrites>,
    /// How many replicas a batch waits for.
    replicas: u32,
    /// The replicas, if they may be read.
    place: Arc<Place>,
    /// Whether another server is to take over when this one fails.
    waits_for_failovers: bool,
    timeout: Duration,
    /// The SHA-1 of [`COMMIT`], by which the server caches it.
    commit_digest: String,
    /// Whether the server may be used.
    is_admitted: AtomicBool,
    /// The keys that show that the database still has the data.
    guard: Arc<Guard>,
    /// Why not.
    absence: Mutex<String>,
    versions: Arc<Versions>,
    learning: Learning,
    /// Whether the last batch was refused because the server cannot save.
    cannot_save: AtomicBool,
    /// The policy by which the server deletes keys, if it does, as it last said.
    evicts: Mutex<Option<String>>,
}

impl Redis {
    /// Connects to the server that a URL names.
    pub(super) async fn open(
        url: &str,
        options: &StoreOptions,
        versions: Arc<Versions>,
    ) -> Result<Self, OpenError> {
        let redis = Self::new(url, options, versions, None)?;
        redis.check_server().await.map_err(|failure| {
            let (url, reason) = (super::without_password(url), failure.reason);
            if failure.may_heal {
                OpenError::Absent { url, reason }
            } else {
                OpenError::Engine { url, reason }
            }
        })?;
        Ok(redis)
    }

    /// The store of a server that is not to be used before [`Redis::admit`], for this reason.
    pub(super) fn awaited(
        url: &str,
        options: &StoreOptions,
        versions: Arc<Versions>,
        reason: String,
    ) -> Result<Self, OpenError> {
        Self::new(url, options, versions, Some(reason))
    }

    fn new(
        url: &str,
        options: &StoreOptions,
        versions: Arc<Versions>,
        absence: Option<String>,
    ) -> Result<Self, OpenError> {
        let StoreOptions { timeout, replicas, .. } = *options;
        let place = Place::parse(url, timeout).map_err(|error| OpenError::Engine {
            url: super::without_password(url),
            reason: advice(&error),
        })?;
        let place = Arc::new(place);
        let guard = Arc::new(Guard::default());
        let observer = guard::Observer { versions: versions.clone(), guard: guard.clone() };
        let mut connection = ReconnectingConnection::new(place.clone(), timeout, Some(Arc::new(observer)));
        if replicas > 0 {
            connection = connection.asking_for_history();
        }
        let shared = RedisShared::over(connection, place.clone(), (timeout, versions), absence);
        let replicated = (replicas > 0)
            .then(|| ReplicatedWrites::new(place.clone(), shared.connection.clone(), timeout, replicas));
        let waits_for_failovers = replicas > 0 || place.has_sentinels();
        let shared = Arc::new(RedisShared { replicated, replicas, waits_for_failovers, guard, ..shared });
        watch::start("redis", &shared, watch::watch);
        Ok(Self { shared })
    }

    /// Says why an awaited store still cannot be used.
    pub(super) fn set_absence(&self, reason: &str) {
        self.shared.note_absence(reason);
    }

    fn absence(&self) -> String {
        self.shared.absence.lock().clone()
    }

    /// Lets an awaited store be used.
    pub(super) fn admit(&self) {
        self.shared.is_admitted.store(true, Ordering::Release);
    }

    /// From now on the database must have one key and must not have another: see
    /// [`Store::guard`](crate::Store::guard).
    pub(super) fn guard(&self, keys: GuardedKeys) {
        self.shared.guard.set(keys);
    }

    /// Whether the server reports the writes of others, and has been heard of lately.
    pub(super) fn tracks_writes(&self) -> bool {
        self.shared.connection.tracks_writes()
    }

    /// Whether the server has been heard of lately, so that what is cached may be used.
    pub(super) fn is_confirmed(&self) -> bool {
        self.shared.connection.is_confirmed()
    }

    /// Whether batches wait for replicas.
    pub(super) fn waits_for_replicas(&self) -> bool {
        self.shared.replicated.is_some()
    }

    /// Refuses a server that cannot be used.
    async fn check_server(&self) -> Result<(), OpenFailure> {
        let mut pipeline = Pipeline::new();
        pipeline.add_command(cmd("INFO"));
        let sent = self.shared.connection.send(&pipeline, self.reading()).await;
        check_info(&info_of(sent)?).map_err(|reason| OpenFailure { may_heal: reason == IS_LOADING, reason })
    }

    /// Whether the store can be read and written at the moment, as the server says.
    pub(super) async fn health(&self) -> StoreHealth {
        match self.one(cmd("INFO"), self.reading()).await.and_then(|answer| wire::checked("", answer)) {
            Ok(value) => {
                let info = wire::text(value).unwrap_or_default();
                *self.shared.evicts.lock() = evicts(&info);
                let cannot_save = self.shared.cannot_save.load(Ordering::Relaxed);
                let cause = why_read_only(&info, self.shared.replicas, cannot_save).map(str::to_owned);
                cause
                    .or_else(|| self.shared.guard.changed())
                    .map_or(StoreHealth::Works, StoreHealth::ReadOnly)
            }
            Err(KeyspaceError::ReadOnly(cause)) => StoreHealth::ReadOnly(cause),
            Err(KeyspaceError::Unavailable(cause)) => StoreHealth::Unavailable(cause),
            Err(error) => StoreHealth::Unavailable(error.to_string()),
        }
    }

    /// Signs of trouble besides.
    pub(super) fn signs(&self) -> StoreSigns {
        StoreSigns {
            evicts: self.shared.evicts.lock().clone(),
            changed_guard: self.shared.guard.changed(),
            ..StoreSigns::default()
        }
    }

    /// Runs a query as one pipeline.
    pub(super) async fn query(&self, query: &Query) -> Result<ReadOutcomes, KeyspaceError> {
        let mut pipeline = Pipeline::with_capacity(query.reads().len());
        for read in query.reads() {
            pipeline.add_command(wire::command_of(read));
        }
        let values = self.send(&pipeline, self.reading()).await?;
        Ok(query.reads().iter().zip(values).map(|(read, value)| wire::answer_of(read, value)).collect())
    }

    /// The history of the server, if batches wait for its replicas.
    pub(super) async fn history(&self) -> Result<History, KeyspaceError> {
        if !self.waits_for_replicas() {
            return Ok(History::default());
        }
        self.demand_admitted()?;
        let reached = self.shared.connection.reach().await;
        reached.map_err(|failure| KeyspaceError::Unavailable(reason_of(&failure, self.shared.timeout)))
    }

    /// Applies a batch in one call of the script; one that was decided in a history, in no other.
    pub(super) async fn commit(
        &self,
        history: Option<&History>,
        batch: &Batch,
    ) -> Result<Vec<i64>, CommitError> {
        let by_digest = self.call_script(history, "EVALSHA", &self.shared.commit_digest, batch).await?;
        let value = match by_digest {
            // The server does not have the script, because it has not run it since its
            // start. It has done nothing, so the batch is sent again with the script.
            Value::ServerError(error) if error.code() == "NOSCRIPT" => {
                self.call_script(history, "EVAL", COMMIT, batch).await?
            }
            value => value,
        };
        let refusal = match &value {
            Value::ServerError(error) => Some(wire::commit_error(error)),
            _ => None,
        };
        let cannot_save =
            matches!(&refusal, Some(KeyspaceError::ReadOnly(cause)) if cause == wire::CANNOT_SAVE);
        self.shared.cannot_save.store(cannot_save, Ordering::Relaxed);
        match refusal {
            Some(error) => Err(error.into()),
            None => wire::outcome_of(batch, value),
        }
    }

    async fn call_script(
        &self,
        history: Option<&History>,
        name: &str,
        script: &str,
        batch: &Batch,
    ) -> Result<Value, KeyspaceError> {
        let mut command = cmd(name);
        command.arg(script);
        let guard = self.shared.guard.keys();
        wire::add_batch(&mut command, batch, guard.as_ref(), |channel| self.channel(channel));
        self.demand_admitted()?;
        if let Some(cause) = self.shared.guard.changed() {
            return Err(KeyspaceError::ReadOnly(cause));
        }
        if let Some(replicated) = &self.shared.replicated {
            if history.is_some_and(|history| *history != self.shared.connection.history()) {
                return Err(KeyspaceError::Unavailable(WAS_REPLACED.to_owned()));
            }
            return replicated.send(command, history.cloned()).await;
        }
        let mut pipeline = Pipeline::with_capacity(1);
        pipeline.add_command(command);
        let options = RequestOptions { timeout: self.shared.timeout, reads: false };
        let sent = self.shared.connection.send(&pipeline, options).await;
        let mut values = sent.map_err(|failure| write_failure(&failure, options.timeout))?;
        Ok(values.pop().unwrap_or_default())
    }

    /// Subscribes to a channel.
    pub(super) fn subscribe(&self, channel: &str) -> Subscription {
        let place = self.shared.place.clone();
        Subscription::from_server(listener::listen(place, self.channel(channel), self.shared.timeout))
    }

    fn channel(&self, channel: &str) -> String {
        channel_of(&self.shared.place, channel)
    }

    fn reading(&self) -> RequestOptions {
        RequestOptions { timeout: self.shared.timeout, reads: true }
    }

    /// Sends one command.
    async fn one(&self, command: redis::Cmd, options: RequestOptions) -> Result<Value, KeyspaceError> {
        let mut pipeline = Pipeline::with_capacity(1);
        pipeline.add_command(command);
        Ok(self.send(&pipeline, options).await?.pop().unwrap_or_default())
    }

    async fn send(&self, pipeline: &Pipeline, options: RequestOptions) -> Result<Vec<Value>, KeyspaceError> {
        self.demand_admitted()?;
        let sent = self.shared.connection.send(pipeline, options).await;
        sent.map_err(|failure| KeyspaceError::Unavailable(reason_of(&failure, options.timeout)))
    }

    /// Refuses while the server must not be used, or is known not to answer: nobody waits in vain.
    fn demand_admitted(&self) -> Result<(), KeyspaceError> {
        if !self.shared.is_admitted.load(Ordering::Acquire) {
            return Err(KeyspaceError::Unavailable(self.absence()));
        }
        if self.shared.connection.is_away() {
            let failure = RedisRequestError::TimedOut { is_sent: false };
            return Err(KeyspaceError::Unavailable(reason_of(&failure, self.shared.timeout)));
        }
        Ok(())
    }
}

impl RedisShared {
    /// A store that waits for no replicas. An absence says why the server must not be used.
    fn over(
        connection: ReconnectingConnection,
        place: Arc<Place>,
        (timeout, versions): (Duration, Arc<Versions>),
        absence: Option<String>,
    ) -> Self {
        Self {
            connection: Arc::new(connection),
            versions,
            learning: Learning::default(),
            replicated: None,
            replicas: 0,
            waits_for_failovers: false,
            place,
            timeout,
            commit_digest: redis::Script::new(COMMIT).get_hash().to_owned(),
            is_admitted: AtomicBool::new(absence.is_none()),
            guard: Arc::default(),
            absence: Mutex::new(absence.unwrap_or_default()),
            cannot_save: AtomicBool::new(false),
            evicts: Mutex::default(),
        }
    }

    /// Notes why the server must not be used. Returns whether the reason is another one than before.
    fn note_absence(&self, reason: &str) -> bool {
        let mut absence = self.absence.lock();
        std::mem::replace(&mut *absence, reason.to_owned()) != reason
    }
}

/// The name of a channel on the server. It contains the number of the database, because all
/// databases of a server share their channels.
fn channel_of(place: &Place, channel: &str) -> String {
    format!("{}:{channel}", place.database())
}

/// The problem with the URL of a store that Sentinels look after; `None` if there is none, or if it is
/// not such a URL.
pub(super) fn flaw_of_url(url: &str) -> Option<String> {
    if sentinel_url::is_of_sentinels(url) { sentinel_url::SentinelUrl::parse(url).err() } else { None }
}

/// Whether a URL is to be one of a cluster.
pub(super) fn is_of_cluster(url: &str) -> bool {
    url.starts_with("redis+cluster:") || url.starts_with("rediss+cluster:")
}

fn client(url: &str, timeout: Duration) -> Result<Client, RedisError> {
    let info = url.into_connection_info()?;
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    // Without this, the kernel gives up on a peer that has vanished only after a quarter
    // of an hour.
    #[cfg(target_os = "linux")]
    let tcp = tcp.set_user_timeout(timeout);
    // Only RESP3 lets a server report writes on the same connection.
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    client_of(info.set_tcp_settings(tcp).set_redis_settings(settings))
}

fn client_of(info: ConnectionInfo) -> Result<Client, RedisError> {
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        let authorities = TlsCertificates { client_tls: None, root_cert: Some(certificates::all()) };
        return Client::build_with_tls(info, authorities);
    }
    Client::open(info)
}
