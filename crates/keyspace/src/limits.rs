//! Every cap of the crate: on what callers may send, and on the memory and the time that
//! a request may take.

use std::time::Duration;

/// The largest absolute value of a counter. An increment beyond it is refused with
/// [`NotAnInteger`](crate::KeyspaceError::NotAnInteger).
///
/// Redis scripts compute with doubles, which represent every whole number up to this limit
/// exactly.
pub const COUNTER_LIMIT: i64 = 1_000_000_000_000_000;

/// The longest time to live of a key: a century.
pub const MAX_TIME_TO_LIVE: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The most sets in one [`Selection`](crate::Selection).
pub const MAX_SELECTION_SETS: usize = 64;

/// The most fields that are tracked one by one. A read of more fields counts as a read of
/// the whole hash, which keeps the read set short.
pub(crate) const MAX_TRACKED_FIELDS: usize = 4;

/// The places of the table that says how recently anything was written, eight bytes each:
/// 2 MiB in all.
pub(crate) const VERSION_PLACES: u64 = 1 << 18;

/// The keys and fields whose latest writes are remembered, before those of the time before
/// are dropped: about 4 MiB. A busy site writes thousands in a second. A cached value that
/// is used at least every 20 seconds then never depends on what was dropped.
pub(crate) const MAX_LATEST_WRITES: usize = 1 << 16;

/// The most names of written keys that are kept for those who follow writes: a few MiB.
pub(crate) const MAX_WRITTEN_KEYS: usize = 1 << 15;

/// The hashes whose fields are remembered with their values, before those of the time before are
/// dropped: about 8 MiB. Only for a Redis server.
pub(crate) const MAX_KNOWN_KEYS: usize = 1 << 15;

/// The most fields that are remembered of one hash.
pub(crate) const MAX_KNOWN_FIELDS: usize = 32;

/// How many times one question to the server reads the fields in doubt again. Keys that are reported
/// during the last of these reads stay in doubt.
pub(crate) const MAX_SETTLING_ROUNDS: usize = 2;

/// The most messages that wait for a slow subscriber before it misses some.
pub(crate) const MAX_QUEUED_MESSAGES: usize = 1024;

/// The most batches that wait for the writer of the embedded engine. A further commit
/// waits for a place in the queue.
pub(crate) const MAX_QUEUED_BATCHES: usize = 1024;

/// The bytes that the embedded engine writes to its file between two flushes. It keeps them in memory until then, to
/// go on serving them if the flush fails.
pub(crate) const MAX_UNFLUSHED_BYTES: usize = 16 << 20;

/// The most batches in one transaction of the embedded engine. This bounds how long the
/// first batch of a transaction waits for the last.
pub(crate) const MAX_GROUP_BATCHES: usize = 256;

/// About the most rows that one transaction removes because their keys have expired. This
/// bounds how long batches wait for it.
pub(crate) const MAX_SWEPT_ROWS: u64 = 2_000;

/// The keys in one page of a snapshot at most.
pub(crate) const MAX_SNAPSHOT_PAGE_ENTRIES: usize = 1000;

/// About the bytes in one page of a snapshot at most. A larger key has a page of its own.
pub(crate) const MAX_SNAPSHOT_PAGE_BYTES: usize = 1 << 20;

/// The pages of a snapshot that wait to be taken, at most.
pub(crate) const MAX_SNAPSHOT_PAGES: usize = 2;

/// The keys that a snapshot of a Redis database reads at a time.
pub(crate) const SNAPSHOT_CHUNK: usize = 200;

/// How often a snapshot of a Redis database reads again what was written meanwhile, at most.
pub(crate) const MAX_SNAPSHOT_ROUNDS: u32 = 200;

/// With so many changed keys or fewer, a snapshot of a Redis database lets writes wait; with
/// more, when a round does not halve them.
pub(crate) const MAX_PAUSED_KEYS: usize = 500;

/// How long the writes of a Redis server wait for a snapshot, at most. The pause ends by
/// itself, also if this process dies.
pub(crate) const SNAPSHOT_PAUSE: Duration = Duration::from_millis(500);

/// The changed keys that a snapshot of a Redis database remembers, at most.
pub(crate) const MAX_CHANGED_KEYS: usize = 4_000_000;

/// The memory reserved for the fields of a hash before they are read, in fields. A corrupt
/// count in the store file must not reserve all memory.
pub(crate) const MAX_RESERVED_FIELDS: usize = 1024;

/// The length of the journal file, in bytes. This bounds how much is applied again when a
/// store is opened after a crash, and so how long that takes.
pub(crate) const JOURNAL_BYTES: usize = 8 << 20;

/// The longest record in the journal, in bytes. It is faster to flush a larger group of
/// batches to the store file at once than to write it twice.
pub(crate) const MAX_RECORD_BYTES: usize = 256 << 10;

/// The most requests under way on the connection to a Redis server. Further ones wait.
pub(crate) const MAX_PENDING_REQUESTS: usize = 1024;

/// How long what is cached may be used after a Redis server was last heard of. It bounds how long
/// writes of others can go unnoticed when the server, or the way to it, is gone.
pub(crate) const CONFIRMED_FOR: Duration = Duration::from_secs(2);

/// How often a Redis server is asked for a sign of life, and the Sentinels for the primary.
pub(crate) const WATCH_EVERY: Duration = Duration::from_secs(1);

/// The most batches that wait for replicas together. This bounds how long the first of them waits.
pub(crate) const MAX_REPLICATED_GROUP: usize = 256;

/// The size of a pipeline, in bytes, at which a restore sends it to a Redis server.
pub(crate) const MAX_PIPELINE_BYTES: usize = 1024 * 1024;

/// The most commands that a restore puts into one pipeline.
pub(crate) const MAX_PIPELINE_COMMANDS: usize = 1000;

/// The most fields or members in one command of a restore.
pub(crate) const MAX_COMMAND_ENTRIES: usize = 1000;

/// The most calls under way to sets on a cluster, together. Further ones wait. With
/// [`MAX_SET_PIPELINES`], it bounds the memory for what is sent.
pub(crate) const MAX_SET_CALLS: usize = 64;

/// The most pipelines under way for one of these calls.
pub(crate) const MAX_SET_PIPELINES: usize = 16;

/// The most keys in one pipeline to sets on a cluster. It bounds how long a server works on it.
pub(crate) const MAX_SET_PIPELINE_KEYS: usize = 1000;

/// About the most bytes in one pipeline to sets on a cluster.
pub(crate) const MAX_SET_PIPELINE_BYTES: usize = 1024 * 1024;

/// The connections for writes to each server that has sets.
pub(crate) const SET_WRITE_CONNECTIONS: usize = 4;

/// The nodes of a cluster that are asked at once which slots there are.
pub(crate) const MAX_ASKED_NODES: usize = 5;
