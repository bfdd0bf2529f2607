//! The command's side: a store whose rounds a running server answers.

use super::socket::{is_nobody, is_too_long};
use super::wire::{self, Greeting, Request, Welcome, WireError};
use crate::batch::{Batch, CommitError};
use crate::events::{Notice, Subscription};
use crate::file_check::{FileCheck, FileCheckStep};
use crate::limits::{MAX_QUEUED_MESSAGES, MAX_REMOTE_SCAN, REMOTE_REUSED};
use crate::query::{Query, ReadOutcomes};
use crate::snapshot::Snapshot;
use crate::{Entry, KeyPage, KeyspaceError, OpenError, ScanPage, StoreHealth, StoreOptions};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

/// How many times longer than a commit a request may take. The server has time-outs of its own;
/// this one is for a server that does not run any more, and answers may be large.
const PATIENCE: u32 = 15;

/// The store of a running server. Clones share its connection, one request after the other.
#[derive(Clone)]
pub(crate) struct Remote {
    shared: Arc<RemoteShared>,
}

struct RemoteShared {
    socket: PathBuf,
    /// The server's name for its store.
    name: String,
    patience: Duration,
    /// The connection, and since when it has been idle. `None` after a failure: the next request
    /// connects again.
    connection: Mutex<Option<(UnixStream, Instant)>>,
}

impl Remote {
    /// Connects to the server that listens on a socket. Returns `None` if there is none.
    pub(crate) async fn open(socket: &Path, options: &StoreOptions) -> Result<Option<Self>, OpenError> {
        let failed = |reason: String| OpenError::Engine {
            url: format!("of the running server at {}", socket.display()),
            reason,
        };
        let patience = options.timeout * PATIENCE;
        let connected = timeout(patience, connect(socket)).await;
        let connected = connected.unwrap_or_else(|_| Err(ConnectError::Other(no_answer(patience))));
        let (stream, name) = match connected {
            Ok(connected) => connected,
            Err(ConnectError::Nobody) => return Ok(None),
            Err(ConnectError::NotOwner) => return Err(OpenError::NotOwner(socket.display().to_string())),
            Err(ConnectError::Other(reason)) => return Err(failed(reason)),
        };
        Ok(Some(Self {
            shared: Arc::new(RemoteShared {
                socket: socket.to_owned(),
                name,
                patience,
                connection: Mutex::new(Some((stream, Instant::now()))),
            }),
        }))
    }

    /// The server's name for its store.
    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }

    pub(crate) async fn query(&self, query: &Query) -> Result<ReadOutcomes, KeyspaceError> {
        self.call(&Request::Query(Cow::Borrowed(query.reads()))).await
    }

    pub(crate) async fn commit(&self, batch: &Batch) -> Result<Vec<i64>, CommitError> {
        let request = Request::Commit(Cow::Borrowed(batch.checks()), Cow::Borrowed(batch.writes()));
        let is_sent = AtomicBool::new(false);
        match self.call_noting::<Result<Vec<i64>, CommitError>>(&request, &is_sent).await {
            Err(KeyspaceError::Unavailable(reason)) if is_sent.load(Ordering::Relaxed) => {
                Err(KeyspaceError::Unsure(reason).into())
            }
            answered => answered?,
        }
    }

    pub(crate) async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        self.call(&Request::CountKeys).await
    }

    pub(crate) async fn health(&self) -> StoreHealth {
        let health = self.call(&Request::Health).await;
        health.unwrap_or_else(|error: KeyspaceError| StoreHealth::Unavailable(error.to_string()))
    }

    pub(crate) async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        self.call(&Request::Scan { cursor, limit: u64::try_from(limit).unwrap_or(u64::MAX) }).await
    }

    pub(crate) async fn scan_keys(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<KeyPage, KeyspaceError> {
        self.call(&Request::ScanKeys { cursor, limit: u64::try_from(limit).unwrap_or(u64::MAX) }).await
    }

    /// Reads all keys as of one moment, on a connection of its own.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, KeyspaceError> {
        let (mut stream, _) = connect(&self.shared.socket).await.map_err(ConnectError::into_error)?;
        wire::send(&mut stream, &Request::Snapshot).await.map_err(|error| lost(&error))?;
        let begun = wire::receive::<Result<(u64, u64), KeyspaceError>>(&mut stream).await;
        let (taken_at_ms, keys) = begun.map_err(|error| lost(&error))??;
        let (pages, snapshot) = Snapshot::received(taken_at_ms, keys);
        tokio::spawn(async move {
            loop {
                let page: Result<Option<Vec<Entry>>, KeyspaceError> =
                    wire::receive(&mut stream).await.unwrap_or_else(|error| Err(lost(&error)));
                let is_over = !matches!(page, Ok(Some(_)));
                // This fails if the snapshot was dropped.
                if pages.send(page).await.is_err() || is_over {
                    return;
                }
            }
        });
        Ok(snapshot)
    }

    /// Checks the file of the server's store, on a connection of its own.
    pub(crate) async fn check_file(&self) -> Result<FileCheck, KeyspaceError> {
        let (mut stream, _) = connect(&self.shared.socket).await.map_err(ConnectError::into_error)?;
        wire::send(&mut stream, &Request::CheckFile).await.map_err(|error| lost(&error))?;
        let (steps, check) = FileCheck::new();
        tokio::spawn(async move {
            loop {
                let step: Result<FileCheckStep, KeyspaceError> =
                    wire::receive(&mut stream).await.unwrap_or_else(|error| Err(lost(&error)));
                let is_over = !matches!(step, Ok(FileCheckStep::Progress(..)));
                // This fails if the check was dropped.
                if steps.send(step).await.is_err() || is_over {
                    return;
                }
            }
        });
        Ok(check)
    }

    pub(crate) async fn restore(
        &self,
        entries: &[Entry],
        as_of_ms: Option<u64>,
    ) -> Result<(), KeyspaceError> {
        for chunk in entries.chunks(MAX_REMOTE_SCAN) {
            self.call::<()>(&Request::Restore(Cow::Borrowed(chunk), as_of_ms)).await?;
        }
        Ok(())
    }

    pub(crate) async fn ask(&self, question: &str) -> Result<String, KeyspaceError> {
        self.call(&Request::Ask(Cow::Borrowed(question))).await
    }

    /// Subscribes to a channel, on a connection of its own. The subscription ends with the
    /// connection.
    pub(crate) fn subscribe(&self, channel: &str) -> Subscription {
        let (notices, receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
        let (socket, channel) = (self.shared.socket.clone(), channel.to_owned());
        tokio::spawn(async move {
            if let Err(error) = listen(&socket, &channel, &notices).await {
                tracing::debug!(error, "the subscription has ended");
            }
        });
        Subscription::from_server(receiver)
    }

    /// Sends a request and waits for its answer. The outcome of what was sent and not answered
    /// is unknown.
    async fn call<T: DeserializeOwned>(&self, request: &Request<'_>) -> Result<T, KeyspaceError> {
        self.call_noting(request, &AtomicBool::new(false)).await
    }

    /// The same, and notes whether the request was sent, at least in part.
    async fn call_noting<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
        is_sent: &AtomicBool,
    ) -> Result<T, KeyspaceError> {
        let RemoteShared { patience, .. } = *self.shared;
        let answered = timeout(patience, self.exchange(request, is_sent)).await;
        answered.unwrap_or_else(|_| Err(KeyspaceError::Unavailable(no_answer(patience))))
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
        is_sent: &AtomicBool,
    ) -> Result<T, KeyspaceError> {
        let shared = &*self.shared;
        let mut connection = shared.connection.lock().await;
        // If the request fails or is given up, the connection is dropped.
        // The server closes one before long over which nothing comes.
        let kept = connection.take().filter(|(_, idle_since)| idle_since.elapsed() < REMOTE_REUSED);
        let mut stream = match kept {
            Some((stream, _)) => stream,
            None => connect(&shared.socket).await.map_err(ConnectError::into_error)?.0,
        };
        is_sent.store(true, Ordering::Relaxed);
        let answer = match wire::send(&mut stream, request).await {
            Err(error @ WireError::TooLong(_)) => return Err(KeyspaceError::Invalid(error.to_string())),
            Err(error) => return Err(lost(&error)),
            Ok(()) => wire::receive(&mut stream).await.map_err(|error| lost(&error))?,
        };
        *connection = Some((stream, Instant::now()));
        answer
    }
}

/// Why there is no connection.
enum ConnectError {
    /// No server listens there.
    Nobody,
    /// The socket belongs to another user.
    NotOwner,
    Other(String),
}

impl ConnectError {
    fn into_error(self) -> KeyspaceError {
        KeyspaceError::Unavailable(match self {
            Self::NotOwner => "the socket of the server belongs to another user now".to_owned(),
            Self::Nobody => "the running server has stopped; run the command again".to_owned(),
            Self::Other(reason) => reason,
        })
    }
}

/// Connects and greets. Returns the name of the store, too.
async fn connect(socket: &Path) -> Result<(UnixStream, String), ConnectError> {
    if is_too_long(socket) {
        return Err(ConnectError::Nobody);
    }
    let mut stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        _ if is_nobody(&error) => ConnectError::Nobody,
        std::io::ErrorKind::PermissionDenied => ConnectError::NotOwner,
        _ => ConnectError::Other(error.to_string()),
    })?;
    let greeted = greet(&mut stream).await.map_err(|error| ConnectError::Other(error.to_string()))?;
    let (own, server) = (Greeting::own(), &greeted.0);
    if *server != own {
        return Err(ConnectError::Other(format!(
            "the running server is version {}, this command is version {}: use the command of the same \
             version",
            server.shown(&own),
            own.shown(server)
        )));
    }
    match greeted.1 {
        Some(Welcome { store, is_full: false }) => Ok((stream, store)),
        Some(_) => Err(ConnectError::Other(
            "it serves as many other commands as it can; try again when one of them has finished".to_owned(),
        )),
        None => Err(ConnectError::Other("it does not say what it serves".to_owned())),
    }
}

async fn greet(stream: &mut UnixStream) -> Result<(Greeting, Option<Welcome>), WireError> {
    let bytes = wire::receive_bytes(stream).await?.ok_or(WireError::Closed)?;
    let (server, rest) = postcard::take_from_bytes::<Greeting>(&bytes)?;
    let own = Greeting::own();
    let welcome = if server == own { Some(postcard::from_bytes(rest)?) } else { None };
    // A server that has no place, or is stopping, may have closed the connection.
    wire::send(stream, &own).await.ok();
    Ok((server, welcome))
}

/// Forwards the messages of a channel until the connection or the receiver ends.
async fn listen(socket: &Path, channel: &str, notices: &mpsc::Sender<Notice>) -> Result<(), String> {
    let (mut stream, _) = connect(socket).await.map_err(|error| error.into_error().to_string())?;
    let request = Request::Subscribe(Cow::Borrowed(channel));
    wire::send(&mut stream, &request).await.map_err(|error| error.to_string())?;
    // Messages before the server has read this are missed.
    let mut next = Notice::Missed;
    loop {
        if notices.send(next).await.is_err() {
            return Ok(());
        }
        next = tokio::select! {
            notice = wire::receive(&mut stream) => notice.map_err(|error| error.to_string())?,
            () = notices.closed() => return Ok(()),
        };
    }
}

fn no_answer(patience: Duration) -> String {
    format!("the running server did not answer within {} seconds", patience.as_secs())
}

/// The connection ended during a request.
fn lost(error: &WireError) -> KeyspaceError {
    KeyspaceError::Unavailable(format!(
        "the connection to the running server is lost ({error}); the last step may or may not have \
         been done, so look at the result before you run the command again"
    ))
}
