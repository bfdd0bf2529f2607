//! How a command line and a server write to each other on the socket.
//!
//! Both begin with a [`Greeting`], whose form never changes, so that programs of different versions understand
//! that they do not understand each other. A message is its length, four bytes, the lowest first, and then the
//! message as `postcard` writes it. After the request the server speaks and the command line answers, one [`Call`]
//! after the other, until the end.

use crate::cli::terminal::{Call, MAX_TEXT_BYTES, Surroundings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// The version of the messages. It changes with every change of a type that is part of one.
const PROTOCOL: u32 = 6;
const LENGTH_BYTES: usize = size_of::<u32>();
/// The longest message in bytes: an argument is shorter on every system, and a call has a piece of a text.
const MAX_FRAME_BYTES: usize = 4 << 20;
const _: () = assert!(MAX_TEXT_BYTES * 2 < MAX_FRAME_BYTES);

/// The first message of each side. Nothing may be added before the end of this type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) version: String,
}

impl Greeting {
    /// The greeting of this program.
    pub(super) fn own() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
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

/// The wish of a command line, which follows its greeting.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The arguments, with the name of the program before them.
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) surroundings: Surroundings,
}

/// The words of the server while it runs the command.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// The command line does this, and sends its [`Answer`].
    Call(Call),
    /// The command has ended with this exit status and, if it has failed, this message.
    End(i32, Option<String>),
}

/// The answer to a call: bytes, or the error of the system by its number, if it has one, and by its text.
pub(super) type Answer = Result<Vec<u8>, (Option<i32>, String)>;

/// Why a message was not sent or received.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("a message of {0} bytes is longer than the limit of {MAX_FRAME_BYTES}")]
    TooLong(usize),
    #[error("a message cannot be read: {0}")]
    Unreadable(#[from] postcard::Error),
}

impl From<WireError> for io::Error {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Io(error) => error,
            other => Self::other(other),
        }
    }
}

/// Sends a message.
pub(super) fn send<T: Serialize>(mut stream: &UnixStream, message: &T) -> Result<(), WireError> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES])?;
    let length = frame.len() - LENGTH_BYTES;
    let stated = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME_BYTES);
    let stated = stated.ok_or(WireError::TooLong(length))?;
    if let Some(head) = frame.first_chunk_mut::<LENGTH_BYTES>() {
        *head = stated.to_le_bytes();
    }
    Ok(stream.write_all(&frame)?)
}

/// Receives the bytes of the next message.
pub(super) fn receive_bytes(mut stream: &UnixStream) -> Result<Vec<u8>, WireError> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME_BYTES {
        return Err(WireError::TooLong(length));
    }
    // It grows with what comes, so a stated length alone takes no memory.
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length { Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()) } else { Ok(bytes) }
}

/// Receives the next message.
pub(super) fn receive<T: DeserializeOwned>(stream: &UnixStream) -> Result<T, WireError> {
    Ok(postcard::from_bytes(&receive_bytes(stream)?)?)
}
