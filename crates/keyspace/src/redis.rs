//! The engine on a Redis or Valkey server.
//!
//! A query is one pipeline, without MULTI, so other writes may be applied between its
//! reads. A batch is one call of `commit.lua`. If its outcome is unknown, because the
//! connection was lost or no answer came in time, the caller is told so. The batch is never
//! repeated here, because the server may have applied it.
//!
//! The server is the one that the URL names, or that the Sentinels name at the moment (`place.rs`).
//! With `StoreOptions::replicas`, a batch is acknowledged when replicas have it (`replicated.rs`).
//! With `StoreOptions::reads_replicas`, some queries are answered by replicas (`readers.rs`).

mod connection;
mod listener;
mod place;
mod readers;
mod replicas;
mod replicated;
mod sentinel_url;
mod snapshot;
mod watch;
mod wire;

#[cfg(test)]
mod tests;

use super::batch::{Batch, CommitError, Committed};
use super::events::Subscription;
use super::query::{Expiry, Query, ReadOutcomes};
use super::{
    Entry, KeyPage, KeyspaceError, OpenError, ScanPage, StoreHealth, StoreOptions, Value as EntryValue,
};
use crate::certificates;
use crate::limits::{MAX_COMMAND_ENTRIES, MAX_PIPELINE_BYTES, MAX_PIPELINE_COMMANDS, READ_STALENESS};
use crate::read_set::Versions;
use connection::{ReconnectingConnection, RedisRequestError, RequestOptions};
use place::{NoConnection, Place};
use readers::ReplicaReaders;
use redis::{
    Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, Pipeline, ProtocolVersion,
    RedisError, TlsCertificates, Value, cmd,
};
use replicated::ReplicatedWrites;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The script that applies a batch.
const COMMIT: &str = include_str!("redis/commit.lua");

/// How many times longer a step of a scan or a restore may take than another round. It may
/// carry a key with a million members.
const BULK_PATIENCE: u32 = 15;

/// A store on a server. Clones share its connection.
#[derive(Clone)]
pub(super) struct Redis {
    shared: Arc<RedisShared>,
}

struct RedisShared {
    /// For everything but [`RedisShared::replicated`].
    connection: ReconnectingConnection,
    /// For batches, if they are to wait for replicas.
    replicated: Option<ReplicatedWrites>,
    /// How many replicas a batch waits for.
    replicas: u32,
    /// The replicas, if they may be read.
    readers: Option<ReplicaReaders>,
    place: Arc<Place>,
    /// Whether another server is to take over when this one fails.
    waits_for_failovers: bool,
    timeout: Duration,
    /// The SHA-1 of [`COMMIT`], by which the server caches it.
    commit_digest: String,
    /// Whether the server may be used.
    is_admitted: AtomicBool,
    /// Why not.
    absence: Mutex<String>,
    /// Whether the last batch was refused because the server cannot save.
    cannot_save: AtomicBool,
}

/// Why the server cannot be used.
struct OpenFailure {
    /// For the operator.
    reason: String,
    /// Whether it may be usable later although no setting was changed.
    may_heal: bool,
}

impl OpenFailure {
    fn of(error: &RedisError) -> Self {
        Self { reason: advice(error), may_heal: may_heal(error) }
    }

    fn of_request(failure: RedisRequestError) -> Self {
        match failure {
            RedisRequestError::TimedOut { .. } => Self { reason: NO_ANSWER.to_owned(), may_heal: true },
            RedisRequestError::NotConnected(NoConnection::NoPrimary(reason)) => {
                Self { reason, may_heal: true }
            }
            RedisRequestError::NotConnected(NoConnection::Refused(reason)) => {
                Self { reason, may_heal: false }
            }
            RedisRequestError::NotConnected(NoConnection::Redis(error)) | RedisRequestError::Lost(error) => {
                Self::of(&error)
            }
        }
    }
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
        let StoreOptions { timeout, replicas, reads_replicas, .. } = *options;
        let place = Place::parse(url, timeout).map_err(|error| OpenError::Engine {
            url: super::without_password(url),
            reason: advice(&error),
        })?;
        let place = Arc::new(place);
        let replicated = (replicas > 0).then(|| ReplicatedWrites::new(place.clone(), timeout, replicas));
        let shared = Arc::new(RedisShared {
            connection: ReconnectingConnection::new(place.clone(), timeout, Some(versions)),
            replicated,
            replicas,
            readers: reads_replicas.then(ReplicaReaders::new),
            waits_for_failovers: replicas > 0 || place.has_sentinels(),
            place,
            timeout,
            commit_digest: redis::Script::new(COMMIT).get_hash().to_owned(),
            is_admitted: AtomicBool::new(absence.is_none()),
            absence: Mutex::new(absence.unwrap_or_default()),
            cannot_save: AtomicBool::new(false),
        });
        watch::start(&shared);
        readers::start(&shared);
        Ok(Self { shared })
    }

    /// Says why an awaited store still cannot be used.
    pub(super) fn set_absence(&self, reason: &str) {
        *self.shared.absence.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_owned();
    }

    fn absence(&self) -> String {
        self.shared.absence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets an awaited store be used.
    pub(super) fn admit(&self) {
        self.shared.is_admitted.store(true, Ordering::Release);
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
        let info = match sent.map(|mut values| values.pop()) {
            Err(failure) => return Err(OpenFailure::of_request(failure)),
            Ok(Some(Value::ServerError(error))) => return Err(OpenFailure::of(&error.into())),
            Ok(Some(value)) => wire::bytes(value).unwrap_or_default(),
            Ok(None) => Vec::new(),
        };
        check_info(&String::from_utf8_lossy(&info))
            .map_err(|reason| OpenFailure { may_heal: reason == IS_LOADING, reason })
    }

    /// What the server can do at the moment, by its own account.
    pub(super) async fn health(&self) -> StoreHealth {
        let state_of = |error| match error {
            KeyspaceError::ReadOnly(cause) => StoreHealth::ReadOnly(cause),
            KeyspaceError::Unavailable(cause) => StoreHealth::Unavailable(cause),
            error => StoreHealth::Unavailable(error.to_string()),
        };
        match self.one(cmd("INFO"), self.reading()).await {
            Ok(Value::ServerError(error)) => state_of(wire::server_error("", &error)),
            Ok(value) => {
                let info = wire::bytes(value).unwrap_or_default();
                let cannot_save = self.shared.cannot_save.load(Ordering::Relaxed);
                why_read_only(&String::from_utf8_lossy(&info), self.shared.replicas, cannot_save)
                    .map_or(StoreHealth::Works, |cause| StoreHealth::ReadOnly(cause.to_owned()))
            }
            Err(error) => state_of(error),
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

    /// Runs a query as one pipeline on a replica. Returns `None` if none may be read now.
    pub(super) async fn query_replica(&self, query: &Query) -> Option<ReadOutcomes> {
        match &self.shared.readers {
            Some(readers) if self.shared.is_admitted.load(Ordering::Acquire) => readers.query(query).await,
            _ => None,
        }
    }

    /// Whether a replica may be read now.
    pub(super) fn has_replica(&self) -> bool {
        self.shared.readers.as_ref().is_some_and(ReplicaReaders::has_any)
    }

    /// Whether what is cached is as new as what may be read from a replica.
    pub(super) fn is_as_current_as_replicas(&self) -> bool {
        let connection = &self.shared.connection;
        connection.tracks_writes() && connection.unconfirmed_for() <= READ_STALENESS
    }

    /// Applies a batch in one call of the script.
    pub(super) async fn commit(&self, batch: &Batch) -> Result<Committed, CommitError> {
        let by_digest = self.call_script("EVALSHA", &self.shared.commit_digest, batch).await?;
        let value = match by_digest {
            // The server does not have the script, because it has not run it since its
            // start. It has done nothing, so the batch is sent again with the script.
            Value::ServerError(error) if error.code() == "NOSCRIPT" => {
                self.call_script("EVAL", COMMIT, batch).await?
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

    async fn call_script(&self, name: &str, script: &str, batch: &Batch) -> Result<Value, KeyspaceError> {
        let mut command = cmd(name);
        command.arg(script);
        wire::add_batch(&mut command, batch, |channel| self.channel(channel));
        self.demand_admitted()?;
        if let Some(replicated) = &self.shared.replicated {
            return replicated.send(command).await;
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

    /// The name of a channel on the server. It contains the number of the database, because
    /// all databases of a server share their channels.
    fn channel(&self, channel: &str) -> String {
        format!("{}:{channel}", self.shared.place.database())
    }

    /// The number of keys of the database.
    pub(super) async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        let value = self.one(cmd("DBSIZE"), self.reading()).await?;
        let count = wire::integer(&value).and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| match &value {
            Value::ServerError(error) => wire::server_error("", error),
            _ => wire::unexpected(""),
        })
    }

    /// Reads one page of keys. The cursor is that of SCAN.
    pub(super) async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        let (keys, next) = self.texts_of_keys(cursor, limit).await?;
        Ok(ScanPage { entries: self.entries(keys).await?, next })
    }

    /// The names of some keys, which are texts, and the cursor of the next ones.
    async fn texts_of_keys(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<(Vec<String>, Option<String>), KeyspaceError> {
        let (keys, next) = self.key_names(cursor, limit).await?;
        Ok((keys.into_iter().map(|key| exact_text("", key)).collect::<Result<_, _>>()?, next))
    }

    /// One page of the names of all keys.
    pub(super) async fn scan_keys(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<KeyPage, KeyspaceError> {
        let (names, next) = self.key_names(cursor, limit).await?;
        let mut page = KeyPage { next, ..KeyPage::default() };
        for name in names {
            match String::from_utf8(name) {
                Ok(key) => page.keys.push(key),
                Err(error) => page.not_text.push(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            }
        }
        Ok(page)
    }

    /// The names of some keys, and the cursor of the next ones.
    async fn key_names(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<(Vec<Vec<u8>>, Option<String>), KeyspaceError> {
        let mut scan = cmd("SCAN");
        scan.arg(cursor.unwrap_or_else(|| "0".to_owned())).arg("COUNT").arg(limit.max(1));
        let page = self.one(scan, self.patient(true)).await?;
        if let Value::ServerError(error) = &page {
            return Err(wire::server_error("", error));
        }
        let mut page = wire::items(page).ok_or_else(|| wire::unexpected(""))?.into_iter();
        let next = page.next().and_then(wire::bytes).ok_or_else(|| wire::unexpected(""))?;
        let next = exact_text("", next)?;
        let keys = page.next().and_then(wire::items).ok_or_else(|| wire::unexpected(""))?;
        let keys = keys.into_iter().map(|key| wire::bytes(key).ok_or_else(|| wire::unexpected("")));
        Ok((keys.collect::<Result<_, _>>()?, (next != "0").then_some(next)))
    }

    /// Reads whole keys. Leaves out those that no longer exist.
    async fn entries(&self, keys: Vec<String>) -> Result<Vec<Entry>, KeyspaceError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut types = Pipeline::with_capacity(keys.len());
        for key in &keys {
            types.cmd("TYPE").arg(key);
        }
        let types = self.send(&types, self.patient(true)).await?;
        let mut present = Vec::with_capacity(keys.len());
        let mut reads = Pipeline::with_capacity(keys.len() * 2);
        for (key, held) in keys.into_iter().zip(types) {
            if let Value::ServerError(error) = &held {
                return Err(wire::server_error(&key, error));
            }
            let held = wire::bytes(held).ok_or_else(|| wire::unexpected(&key))?;
            match held.as_slice() {
                b"none" => continue,
                b"string" => reads.cmd("GET").arg(&key),
                b"hash" => reads.cmd("HGETALL").arg(&key),
                b"set" => reads.cmd("SMEMBERS").arg(&key),
                b"zset" => reads.cmd("ZRANGE").arg(&key).arg(0).arg(-1).arg("WITHSCORES"),
                other => {
                    let held = String::from_utf8_lossy(other);
                    return Err(KeyspaceError::Invalid(format!(
                        "the key {key:?} holds a {held}, which is not one of the four types"
                    )));
                }
            };
            reads.cmd("PTTL").arg(&key);
            present.push((key, held));
        }
        if present.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = self.send(&reads, self.patient(true)).await?.into_iter();
        let mut entries = Vec::with_capacity(present.len());
        for (key, held) in present {
            let (value, expiry) = (values.next().unwrap_or_default(), values.next().unwrap_or_default());
            let expiry = wire::integer(&expiry).ok_or_else(|| wire::unexpected(&key))?;
            let value = entry_value(&key, &held, value)?;
            let time_to_live = match wire::expiry(expiry) {
                Expiry::Absent => continue,
                Expiry::Never => None,
                Expiry::In(time_to_live) => Some(time_to_live),
            };
            if let Some(value) = value {
                entries.push(Entry { key, value, time_to_live });
            }
        }
        Ok(entries)
    }

    /// Replaces whole keys, in pipelines of bounded size.
    pub(super) async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        let mut pipeline = Pipeline::new();
        let mut bytes = 0;
        for command in entries.into_iter().flat_map(restoring) {
            bytes += command.get_packed_command().len();
            pipeline.add_command(command);
            if bytes >= MAX_PIPELINE_BYTES || pipeline.len() >= MAX_PIPELINE_COMMANDS {
                self.send_restoring(&pipeline).await?;
                pipeline.clear();
                bytes = 0;
            }
        }
        if pipeline.is_empty() { Ok(()) } else { self.send_restoring(&pipeline).await }
    }

    async fn send_restoring(&self, pipeline: &Pipeline) -> Result<(), KeyspaceError> {
        let values = self.send(pipeline, self.patient(false)).await?;
        let failed = values.iter().find_map(|value| match value {
            Value::ServerError(error) => Some(wire::server_error("", error)),
            _ => None,
        });
        failed.map_or(Ok(()), Err)
    }

    fn reading(&self) -> RequestOptions {
        RequestOptions { timeout: self.shared.timeout, reads: true }
    }

    fn patient(&self, reads: bool) -> RequestOptions {
        RequestOptions { timeout: self.shared.timeout * BULK_PATIENCE, reads }
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

    /// Refuses while the server must not be used.
    fn demand_admitted(&self) -> Result<(), KeyspaceError> {
        if self.shared.is_admitted.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(KeyspaceError::Unavailable(self.absence()))
    }
}

fn reason_of(failure: &RedisRequestError, timeout: Duration) -> String {
    match failure {
        RedisRequestError::TimedOut { .. } => format!("Redis did not answer within {timeout:?}"),
        RedisRequestError::NotConnected(error) => format!("no connection to Redis: {error}"),
        RedisRequestError::Lost(error) => format!("the connection to Redis has failed: {error}"),
    }
}

/// The error for a batch that has no answer.
fn write_failure(failure: &RedisRequestError, timeout: Duration) -> KeyspaceError {
    let reason = reason_of(failure, timeout);
    if failure.is_sent() { KeyspaceError::Unsure(reason) } else { KeyspaceError::Unavailable(reason) }
}

/// What is wrong with the URL of a store that Sentinels look after; nothing if it is not such a URL.
pub(super) fn flaw_of_url(url: &str) -> Option<String> {
    if sentinel_url::is_of_sentinels(url) { sentinel_url::SentinelUrl::parse(url).err() } else { None }
}

const NO_ANSWER: &str = "the server did not answer in time; check that it runs, that the address is right, and that no firewall blocks it";

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

/// Why the connection failed, and what the operator can do.
fn advice(error: &RedisError) -> String {
    let refused_login = error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"));
    if refused_login {
        return format!(
            "the server refuses the user name or the password ({error}); \
             put the right ones into the URL: redis://USER:PASSWORD@HOST"
        );
    }
    if error.code() == Some("NOPERM") {
        return format!("the user may not do what is needed ({error}); allow it all commands and all keys");
    }
    match error.kind() {
        ErrorKind::InvalidClientConfig => format!("the URL is invalid: {error}"),
        ErrorKind::Io if error.is_timeout() => NO_ANSWER.to_owned(),
        ErrorKind::Io => format!("{error}; check that the server runs and that the address is right"),
        _ => error.to_string(),
    }
}

/// Whether the server may be usable later although no setting was changed.
fn may_heal(error: &RedisError) -> bool {
    match error.code() {
        Some("LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN") => return true,
        Some(_) => return error.detail().is_some_and(|detail| detail.contains("max number of clients")),
        None => {}
    }
    // A certificate that is not trusted remains so.
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    error.kind() == ErrorKind::Io
        && source.is_none_or(|source| source.kind() != std::io::ErrorKind::InvalidData)
}

const IS_LOADING: &str = "the server is still loading its data; try again when it is done";

/// The oldest version that has all commands: it added ZMSCORE and ZRANGE ... REV.
const OLDEST_VERSION: (u32, u32) = (6, 2);

/// A field of the answer of a server to INFO.
fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Why a server takes no writes that must be on this many replicas, by its answer to INFO.
/// `is_refused`: it has said last that it cannot save. INFO does not tell whether a snapshot that
/// fails keeps it from writing.
fn why_read_only(info: &str, replicas: u32, is_refused: bool) -> Option<&'static str> {
    let number = |name| info_field(info, name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let never_evicts = info_field(info, "maxmemory_policy") == Some("noeviction");
    if info_field(info, "role") == Some("slave") && info_field(info, "slave_read_only") != Some("0") {
        return Some(wire::IS_REPLICA);
    }
    if replicas::online_replicas(info) < usize::try_from(replicas).unwrap_or(usize::MAX) {
        return Some(wire::TOO_FEW_REPLICAS);
    }
    let is_full = number("maxmemory") > 0 && number("used_memory") >= number("maxmemory");
    if never_evicts && is_full {
        return Some(wire::OUT_OF_MEMORY);
    }
    let fails = |name| info_field(info, name) == Some("err");
    let log_fails = info_field(info, "aof_enabled") == Some("1") && fails("aof_last_write_status");
    (log_fails || (is_refused && fails("rdb_last_bgsave_status"))).then_some(wire::CANNOT_SAVE)
}

/// Checks the answer of a server to INFO.
fn check_info(info: &str) -> Result<(), String> {
    let field = |name: &str| info_field(info, name);
    let version = field("redis_version").unwrap_or("unknown");
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST_VERSION {
        return Err(format!("the server has version {version}; Redis 6.2 or newer, or Valkey, is needed"));
    }
    if field("redis_mode") == Some("cluster") {
        return Err("the server is part of a cluster; name a single server".to_owned());
    }
    if field("role") == Some("slave") {
        return Err("the server is a read-only replica; name its primary".to_owned());
    }
    if field("loading") == Some("1") {
        return Err(IS_LOADING.to_owned());
    }
    let policy = field("maxmemory_policy").unwrap_or("noeviction");
    if policy != "noeviction" && field("maxmemory").is_some_and(|limit| limit != "0") {
        tracing::warn!(
            policy,
            "the server deletes keys when its memory is full; set maxmemory-policy to noeviction"
        );
    }
    Ok(())
}

/// The value of a key, for a copy. A value that is not UTF-8 is an error, because it cannot
/// be copied unchanged.
fn entry_value(key: &str, held: &[u8], value: Value) -> Result<Option<EntryValue>, KeyspaceError> {
    if let Value::ServerError(error) = &value {
        return Err(wire::server_error(key, error));
    }
    if held == b"string" {
        return match value {
            Value::Nil => Ok(None),
            value => Ok(Some(EntryValue::String(value_text(key, value)?))),
        };
    }
    let items = wire::flat(value).ok_or_else(|| wire::unexpected(key))?;
    if items.is_empty() {
        return Ok(None);
    }
    let mut items = items.into_iter();
    let value = match held {
        b"set" => EntryValue::Set(items.map(|member| value_text(key, member)).collect::<Result<_, _>>()?),
        b"hash" => {
            let mut fields = Vec::with_capacity(items.len() / 2);
            while let (Some(field), Some(value)) = (items.next(), items.next()) {
                fields.push((value_text(key, field)?, value_text(key, value)?));
            }
            EntryValue::Hash(fields)
        }
        _ => {
            let mut members = Vec::with_capacity(items.len() / 2);
            while let (Some(member), Some(score)) = (items.next(), items.next()) {
                let score = wire::score(&score).ok_or_else(|| wire::unexpected(key))?;
                members.push((value_text(key, member)?, score));
            }
            EntryValue::SortedSet(members)
        }
    };
    Ok(Some(value))
}

fn value_text(key: &str, value: Value) -> Result<String, KeyspaceError> {
    exact_text(key, wire::bytes(value).ok_or_else(|| wire::unexpected(key))?)
}

/// Bytes as text. If they are not UTF-8, the error names the key; an empty `key` means that
/// the bytes are a key themselves.
fn exact_text(key: &str, bytes: Vec<u8>) -> Result<String, KeyspaceError> {
    String::from_utf8(bytes).map_err(|error| {
        let shown = String::from_utf8_lossy(error.as_bytes());
        KeyspaceError::Invalid(if key.is_empty() {
            format!("the key {shown:?} is not UTF-8")
        } else {
            format!("the key {key:?} holds {shown:?}, which is not UTF-8")
        })
    })
}

/// The commands that replace what a key holds by an entry.
fn restoring(entry: Entry) -> Vec<redis::Cmd> {
    let Entry { key, value, time_to_live } = entry;
    let command = |name: &str| {
        let mut command = cmd(name);
        command.arg(&key);
        command
    };
    let mut commands = vec![command("DEL")];
    if time_to_live.is_some_and(|left| left.as_millis() == 0) {
        return commands;
    }
    match value {
        EntryValue::String(text) => {
            let mut set = command("SET");
            set.arg(text);
            commands.push(set);
        }
        EntryValue::Hash(fields) => commands.extend(fields.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut set = command("HSET");
            for (field, value) in chunk {
                set.arg(field).arg(value);
            }
            set
        })),
        EntryValue::Set(members) => commands.extend(members.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut add = command("SADD");
            add.arg(chunk);
            add
        })),
        EntryValue::SortedSet(members) => commands.extend(members.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut add = command("ZADD");
            for (member, score) in chunk {
                add.arg(wire::score_text(*score)).arg(member);
            }
            add
        })),
    }
    if let Some(time_to_live) = time_to_live {
        let mut expire = command("PEXPIRE");
        expire.arg(u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX));
        commands.push(expire);
    }
    commands
}
