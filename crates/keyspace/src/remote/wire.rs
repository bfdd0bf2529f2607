//! How requests and answers are written to the socket.
//!
//! Both sides begin with a [`Greeting`], whose form never changes, so that programs of different
//! versions understand that they do not understand each other. A message is its length, four
//! bytes, the lowest first, and then the message as `postcard` writes it.
//!
//! The answer to a request is a `Result`, whose error is a
//! [`KeyspaceError`](crate::KeyspaceError).

use crate::batch::{Check, Write};
use crate::limits::{MAX_FRAME_BYTES, STALLED_AFTER};
use crate::query::Read;
use crate::{Entry, KeyspaceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The version of the messages. It changes with every change of a type that is part of one.
const PROTOCOL: u32 = 5;

/// The version of the program, which all crates of the program share.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const LENGTH_BYTES: usize = size_of::<u32>();

/// The first message of each side. Nothing may be added before the end of this type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) version: String,
}

impl Greeting {
    /// The greeting of this program.
    pub(super) fn own() -> Self {
        Self { protocol: PROTOCOL, version: VERSION.to_owned() }
    }

    /// The version in words; with that of the messages if the program has the same as ours.
    pub(super) fn shown(&self, other: &Self) -> String {
        if self.version == other.version {
            format!("{} (protocol {})", self.version, self.protocol)
        } else {
            self.version.clone()
        }
    }
}

/// The part that the server adds to its greeting.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Welcome {
    /// The name of the store; see [`Served`](super::Served).
    pub(super) store: String,
    /// Whether it has no place for another connection. Then it closes this one.
    pub(super) is_full: bool,
}

/// A request. The type of its answer follows it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// A round of reads: `ReadOutcomes`.
    Query(Cow<'a, [Read]>),
    /// A batch: `Result<Vec<i64>, CommitError>`, with the new values of the counters in their order.
    Commit(Cow<'a, [Check]>, Cow<'a, [Write]>),
    /// The number of keys: `u64`.
    CountKeys,
    /// Whether the store can be read and written: `StoreHealth`.
    Health,
    /// A page of keys: `ScanPage`.
    Scan {
        /// Where it starts.
        cursor: Option<String>,
        /// About how many keys.
        limit: u64,
    },
    /// The names of some keys: `KeyPage`.
    ScanKeys {
        /// Where they start.
        cursor: Option<String>,
        /// About how many keys.
        limit: u64,
    },
    /// Keys to be replaced, and from when their times to live count: `()`.
    Restore(Cow<'a, [Entry]>, Option<u64>),
    /// All keys as of one moment: `(u64, u64)`, the time and about how many keys; then one
    /// `Option<Vec<Entry>>` after the other, until `None` or an error.
    Snapshot,
    /// A check of the checksums in the store file: one `FileCheckStep` after the other, until the
    /// last one or an error.
    CheckFile,
    /// A question to the program: `String`.
    Ask(Cow<'a, str>),
    /// Messages on a channel: a `Notice` after the other, until the connection ends.
    Subscribe(Cow<'a, str>),
}

/// Why a message was not sent or received.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a message of {0} bytes is longer than the limit of {MAX_FRAME_BYTES}")]
    TooLong(usize),
    #[error("a message cannot be read: {0}")]
    Unreadable(#[from] postcard::Error),
    #[error("the connection was closed")]
    Closed,
    #[error("nothing came for {STALLED_AFTER:?}")]
    Stalled,
    #[error("no request came for a while")]
    Idle,
}

/// Writes a message with its length.
pub(super) fn framed<T: Serialize>(message: &T) -> Result<Vec<u8>, WireError> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES])?;
    let length = frame.len() - LENGTH_BYTES;
    let stated = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME_BYTES);
    let stated = stated.ok_or(WireError::TooLong(length))?;
    if let Some(head) = frame.first_chunk_mut::<LENGTH_BYTES>() {
        *head = stated.to_le_bytes();
    }
    Ok(frame)
}

/// Sends a message. The other side must take it in before long.
pub(super) async fn send<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> Result<(), WireError> {
    send_frame(stream, &framed(message)?).await
}

async fn send_frame(stream: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> Result<(), WireError> {
    timeout(STALLED_AFTER, stream.write_all(frame)).await.map_err(|_| WireError::Stalled)??;
    Ok(())
}

/// Sends the answer to a request, or if it is too long an error in its place.
pub(super) async fn send_answer<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    answer: &Result<T, KeyspaceError>,
) -> Result<(), WireError> {
    match framed(answer) {
        Err(error @ WireError::TooLong(_)) => {
            send(stream, &Err::<(), _>(KeyspaceError::Invalid(error.to_string()))).await
        }
        frame => send_frame(stream, &frame?).await,
    }
}

/// Receives the bytes of the next message, however long it takes to begin. Returns `None` if the
/// connection was closed before it.
pub(super) async fn receive_bytes(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Option<Vec<u8>>, WireError> {
    let mut length = [0; LENGTH_BYTES];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    let rest = async {
        stream.read_exact(&mut length[1..]).await?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_FRAME_BYTES {
            return Err(WireError::TooLong(length));
        }
        // It grows with what comes, so a stated length alone takes no memory.
        let mut bytes = Vec::new();
        stream.take(length as u64).read_to_end(&mut bytes).await?;
        if bytes.len() < length { Err(WireError::Closed) } else { Ok(Some(bytes)) }
    };
    timeout(STALLED_AFTER, rest).await.map_err(|_| WireError::Stalled)?
}

/// Receives the next message.
pub(super) async fn receive<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<T, WireError> {
    let bytes = receive_bytes(stream).await?.ok_or(WireError::Closed)?;
    Ok(postcard::from_bytes(&bytes)?)
}
