//! How to open a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long a commit, or a round to a Redis server, may take before it fails with
    /// [`Unavailable`](crate::KeyspaceError::Unavailable) or [`Unsure`](crate::KeyspaceError::Unsure).
    /// Default: 2 seconds. A page of [`Store::scan`](crate::Store::scan) or
    /// [`Store::restore`](crate::Store::restore) on Redis may take 15 times as long. Reads of the embedded
    /// engine run to their end.
    pub timeout: Duration,
    /// Memory for cached pages of the embedded engine, in bytes. Default: 64 MiB.
    pub cache_bytes: usize,
    /// Whether the embedded engine may create the file if it does not exist. Default: true.
    pub create: bool,
    /// A key and its text that a new file has from its first moment. Default: none.
    pub first: Option<(String, String)>,
    /// The clock by which the embedded engine expires keys. A Redis server uses its own.
    pub clock: EngineClock,
    /// How many replicas of a Redis server must have a batch before it is acknowledged. If fewer say
    /// so within half the time-out, the commit fails with [`Unsure`](crate::KeyspaceError::Unsure).
    /// Default: none.
    pub replicas: u32,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            cache_bytes: 64 * 1024 * 1024,
            create: true,
            first: None,
            clock: EngineClock::System,
            replicas: 0,
        }
    }
}

/// The clock by which the embedded engine expires keys.
#[derive(Debug, Clone)]
pub enum EngineClock {
    /// The system's clock.
    System,
    /// A clock that somebody sets, in Unix milliseconds.
    Manual(Arc<AtomicU64>),
}

impl EngineClock {
    /// The time now, in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        match self {
            Self::System => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
            Self::Manual(ms) => ms.load(Ordering::SeqCst),
        }
    }
}
