//! The socket on which connections arrive, and how they are accepted.

use crate::limits::{ACCEPT_LOG_INTERVAL, ACCEPT_PAUSE, SOCKET_BUFFER_BYTES};
use socket2::SockRef;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Instant;
use tokio::net::{TcpListener, TcpStream};

/// A listening socket.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    /// Whether a service manager holds the socket too, for the next process.
    is_inherited: bool,
    /// When it was last logged that nothing can be accepted.
    warned: Option<Instant>,
}

impl From<TcpListener> for Listening {
    fn from(listener: TcpListener) -> Self {
        Self { listener, is_inherited: false, warned: None }
    }
}

impl Listening {
    /// A socket that a service manager has opened and keeps open. Connections that are not
    /// accepted when the server stops are for the next process.
    pub const fn inherited(listener: TcpListener) -> Self {
        Self { listener, is_inherited: true, warned: None }
    }

    /// Bounds what the system buffers for each connection; accepted connections inherit it.
    pub(crate) fn limit_buffers(&self) {
        let socket = SockRef::from(&self.listener);
        let limited = limit_unsent(&socket).and_then(|()| socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES));
        if let Err(error) = limited {
            tracing::warn!(%error, "cannot limit the buffers of connections");
        }
    }

    /// Accepts the next connection, after errors too.
    pub(crate) async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return prepared(accepted),
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    self.warn(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Stops listening. Returns the connections that the system has accepted already, unless
    /// the next process gets them.
    pub(crate) fn stop(self) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
        let listener = if self.is_inherited { None } else { self.listener.into_std().ok() };
        // The socket does not block: an error says that there is none left.
        std::iter::from_fn(move || {
            let listener = listener.as_ref()?;
            let (stream, peer) = loop {
                match listener.accept() {
                    Ok(accepted) => break accepted,
                    Err(error) if is_of_connection(&error) => {}
                    Err(_) => return None,
                }
            };
            stream.set_nonblocking(true).ok()?;
            Some(prepared((TcpStream::from_std(stream).ok()?, peer)))
        })
    }

    fn warn(&mut self, error: &Error) {
        let now = Instant::now();
        if self.warned.is_none_or(|warned| now.duration_since(warned) >= ACCEPT_LOG_INTERVAL) {
            tracing::warn!(%error, "cannot accept connections; they wait until it works again");
            self.warned = Some(now);
        }
    }
}

fn prepared((stream, peer): (TcpStream, SocketAddr)) -> (TcpStream, SocketAddr) {
    // Sends responses at once. If this fails, they may be slower.
    stream.set_nodelay(true).ok();
    (stream, peer)
}

/// Whether only one connection is concerned, which its client has ended.
fn is_of_connection(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::Interrupted
    )
}

/// Bounds what is accepted from us and not sent yet. A bound on what is sent and not
/// acknowledged would be too low for a loopback, whose packets have up to 64 KiB: each
/// acknowledgement would take 40 ms.
#[cfg(target_os = "linux")]
fn limit_unsent(socket: &SockRef<'_>) -> std::io::Result<()> {
    socket.set_tcp_notsent_lowat(u32::try_from(SOCKET_BUFFER_BYTES).unwrap_or(u32::MAX))
}

/// Systems other than Linux bound the sum of both.
#[cfg(not(target_os = "linux"))]
fn limit_unsent(socket: &SockRef<'_>) -> std::io::Result<()> {
    socket.set_send_buffer_size(SOCKET_BUFFER_BYTES)
}
