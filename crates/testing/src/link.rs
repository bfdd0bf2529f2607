//! A link to a server that can be frozen and cut, as a network can.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes connections on to a server. It ends when it is dropped.
pub struct Link {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<watch::Sender<State>>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// Nothing is passed on, and connections stay open.
    is_frozen: bool,
    /// How often all connections were cut.
    cuts: u64,
}

impl Link {
    /// A link to the server at an address.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(watch::Sender::new(State { is_frozen: false, cuts: 0 }));
        let accepting = tokio::spawn({
            let state = state.clone();
            async move {
                loop {
                    let (near, _) = listener.accept().await.unwrap();
                    tokio::spawn(join(near, server, state.subscribe()));
                }
            }
        });
        Self { address, state, accepting }
    }

    /// From now on nothing gets through, and nobody is told.
    pub fn freeze(&self) {
        self.state.send_modify(|state| state.is_frozen = true);
    }

    /// Everything gets through again, what was sent meanwhile too.
    pub fn thaw(&self) {
        self.state.send_modify(|state| state.is_frozen = false);
    }

    /// Cuts all connections. Data in transit is lost.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

/// Passes on what one connection sends and receives, until one end closes or the link is cut.
async fn join(near: TcpStream, server: SocketAddr, state: watch::Receiver<State>) {
    let Ok(far) = TcpStream::connect(server).await else { return };
    near.set_nodelay(true).ok();
    far.set_nodelay(true).ok();
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let cuts = state.borrow().cuts;
    let mut watched = state.clone();
    tokio::select! {
        // A cut first: what a frozen link has not passed on must not get through. An error says that
        // the link is gone.
        biased;
        _ = watched.wait_for(|state| state.cuts > cuts) => {}
        () = pass_on(near_in, far_out, state.clone()) => {}
        () = pass_on(far_in, near_out, state) => {}
    }
}

/// Passes on one direction, except while the link is frozen.
async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length) = from.read(&mut bytes).await {
        let is_up = state.wait_for(|state| !state.is_frozen).await.is_ok();
        if length == 0 || !is_up || to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
