//! Documented keys of four plain types, in an embedded file or on a Redis server.
//!
//! Open a [`Store`], read with [`Store::fetch`], write with a [`Batch`]. A function documents
//! its cost in *rounds*: one fetch or one commit is one round, however much is in it.
//!
#![doc = include_str!("../README.md")]

mod batch;
pub mod certificates;
mod entries;
mod error;
mod events;
mod fetch;
mod figures;
mod file_check;
mod health;
mod history;
pub mod limits;
mod options;
mod query;
mod read_set;
mod redb;
mod redis;
mod rounds;
mod snapshot;
mod spool;
mod store;
mod unreadable;
mod url;
mod written_keys;

#[cfg(test)]
#[path = "../tests/conformance/strategies.rs"]
mod strategies;

pub use batch::{Batch, Bound, Check, CheckId, CommitError, Committed, Selection, Within, Write};
pub use entries::{Entry, KeyPage, ScanPage, Value};
pub use error::{KeyspaceError, OpenError};
pub use events::{Notice, Subscription};
pub use fetch::{Asked, Boxed, Fetch, KnownOr, read};
pub use file_check::FileState;
pub use health::{CommitTimes, StoreHealth, StoreSigns};
pub use history::History;
pub use limits::COUNTER_LIMIT;
pub use options::{EngineClock, StoreOptions};
pub use query::{Answer, Answers, Expiry, FromAnswer, Hash, Order, Query, Read};
pub use read_set::{ReadSet, Reads, Tracked};
pub use redis::sharded_sets::{Addition, SetPart, SetRead, ShardedSets};
pub use rounds::{count_rounds, note_rounds};
pub use snapshot::{Snapshot, give_way};
pub use store::Store;
pub use unreadable::report_unreadable;
pub use url::{flaw_of_sentinel_url, without_password};
pub use written_keys::WrittenKeys;
