//! The errors of a store.

/// Why the store could not answer a query or apply a batch.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KeyspaceError {
    /// The store cannot be reached, did not answer in time, or failed. A batch was not applied,
    /// and will not be.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The store can be read but not written, for this cause. Nothing was written. The store
    /// tells by itself when it can be written again; see [`Store::health`](crate::Store::health).
    #[error("the store is read only: {0}")]
    ReadOnly(String),
    /// This key holds another type than a read, check or write needs.
    #[error("the key {0:?} holds another type of value")]
    WrongType(String),
    /// This key holds a value that is not a whole number, or an increment would take it
    /// beyond [`COUNTER_LIMIT`](crate::COUNTER_LIMIT).
    #[error("the key {0:?} holds a value that is not a whole number in range")]
    NotAnInteger(String),
    /// The stored value at this key is damaged: the file has changed, or the disk fails.
    #[error("the value at the key {0:?} is damaged")]
    Damaged(String),
    /// The call itself is wrong whatever the store holds, or a value cannot be copied. The
    /// text says which. See [`Batch::validate`](crate::Batch::validate) and
    /// [`Store::scan`](crate::Store::scan).
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
        /// The problem, and what the operator can do about it.
        reason: String,
    },
    /// The Redis server cannot be used now, and perhaps later without any change of the
    /// settings: it does not run, cannot be reached, or loads its data.
    #[error("cannot open the store {url}: {reason}")]
    Absent {
        /// The URL, without its password.
        url: String,
        /// The problem, and what the operator can do about it.
        reason: String,
    },
    /// Another process has the file of an embedded store open. It may be about to end.
    #[error("cannot open the store {url}: {reason}")]
    Locked {
        /// The URL.
        url: String,
        /// The problem, and what the operator can do about it.
        reason: String,
    },
}
