//! Whether a store can be read and written.

use std::time::Duration;

/// Whether a store can be read and written at the moment. The texts are the cause, in words for the
/// operator and without secrets; they continue a sentence: "the disk is full".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreHealth {
    /// Reads and writes work, as far as is known.
    Works,
    /// Reads work. Writes fail with [`KeyspaceError::ReadOnly`](crate::KeyspaceError::ReadOnly).
    ReadOnly(String),
    /// Neither reads nor writes work.
    Unavailable(String),
}

/// Signs of trouble in a store that works, or seems to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSigns {
    /// The commits of the last minute.
    pub commits: CommitTimes,
    /// The policy by which a Redis server deletes keys when its memory is full, if it does.
    pub evicts: Option<String>,
    /// How another program has changed the key that the store is guarded by; nothing is written then.
    pub changed_guard: Option<String>,
    /// By how many seconds the system's clock is behind the last write.
    pub clock_is_behind: u64,
}

/// How long commits took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommitTimes {
    /// How many there were, also those that were not confirmed.
    pub count: u32,
    /// How long they took together.
    pub total: Duration,
    /// The slowest.
    pub slowest: Duration,
    /// Those that were not confirmed in time: whether they were applied was not known.
    pub unconfirmed: u32,
}

impl CommitTimes {
    /// Adds one.
    pub(crate) fn note(&mut self, took: Duration, is_unconfirmed: bool) {
        *self = self.and(Self { count: 1, total: took, slowest: took, unconfirmed: is_unconfirmed.into() });
    }

    /// These and others.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            total: self.total.saturating_add(other.total),
            slowest: self.slowest.max(other.slowest),
            unconfirmed: self.unconfirmed.saturating_add(other.unconfirmed),
        }
    }

    /// How long one took, on average.
    pub fn average(&self) -> Duration {
        self.total.checked_div(self.count).unwrap_or_default()
    }
}
