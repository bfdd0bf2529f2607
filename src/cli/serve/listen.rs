//! The socket that the site listens on: its own, or one that a service manager has opened.

use crate::WrongUse;
use anyhow::{Context, bail};
use listenfd::ListenFd;
use std::net::SocketAddr;
use tidings_web::Listening;
use tokio::net::TcpListener;

/// A socket that listens.
pub struct Socket {
    pub listening: Listening,
    pub address: SocketAddr,
}

/// Takes the socket that the service manager passes, or listens on an address.
///
/// # Errors
/// When the address is not available, or what was passed is not one TCP socket.
pub async fn listen(address: SocketAddr) -> anyhow::Result<Socket> {
    let mut passed = ListenFd::from_env();
    if passed.len() > 1 {
        bail!(WrongUse::new(format!("the service manager passes {} sockets; pass one", passed.len())));
    }
    let inherited = passed
        .take_tcp_listener(0)
        .context("what the service manager passes is not a listening TCP socket")?;
    let Some(socket) = inherited else {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            WrongUse::new(format!(
                "cannot listen on {address}: {error}; choose another address with --listen or in server.listen"
            ))
        })?;
        let address = listener.local_addr()?;
        return Ok(Socket { listening: listener.into(), address });
    };
    socket.set_nonblocking(true)?;
    let listener =
        TcpListener::from_std(socket).context("the socket of the service manager does not listen")?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "the service manager passes the socket; server.listen has no effect");
    Ok(Socket { listening: Listening::inherited(listener), address })
}
