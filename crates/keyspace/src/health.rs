//! Whether a store can be read and written.

use serde::{Deserialize, Serialize};

/// Whether a store can be read and written at the moment. The texts are the cause, in words for the
/// operator and without secrets; they continue a sentence: "the disk is full".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreHealth {
    /// Reads and writes work, as far as is known.
    Works,
    /// Reads work. Writes fail with [`KeyspaceError::ReadOnly`](crate::KeyspaceError::ReadOnly).
    ReadOnly(String),
    /// Neither reads nor writes work.
    Unavailable(String),
}
