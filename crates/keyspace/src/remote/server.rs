//! The server's side: it answers what commands ask for.

use super::socket::ControlSocket;
use super::wire::{self, Greeting, Request, Welcome, WireError};
use crate::batch::Batch;
use crate::file_check::FileCheckStep;
use crate::limits::{MAX_REMOTE_CONNECTIONS, MAX_REMOTE_SCAN, REMOTE_IDLE, REMOTE_PATIENCE, REMOTE_SPARED};
use crate::query::{Query, Read, ReadOutcomes};
use crate::{KeyspaceError, ScanPage, Store};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tidings_supervision::places::{HeardStream, Place, PlaceLimits, Places};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long to wait after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const LIMITS: PlaceLimits = PlaceLimits {
    places: MAX_REMOTE_CONNECTIONS,
    idle: REMOTE_IDLE,
    spared: REMOTE_SPARED,
    patience: REMOTE_PATIENCE,
};

/// The connection of a command.
type Stream = HeardStream<UnixStream>;

/// Answers the questions of [`Store::ask_server`], which are the program's own.
pub type AnswerQuestion = Arc<dyn Fn(String) -> BoxFuture<'static, String> + Send + Sync>;

/// The store and the answers that a server offers to commands.
#[derive(Clone)]
pub struct Served {
    /// The store.
    pub store: Store,
    /// The name of the store, so that a command can tell whether it is the one it wants.
    pub name: String,
    /// Answers questions to the program.
    pub answer: AnswerQuestion,
}

/// Answers commands until the future is dropped, which closes their connections. Work that a command
/// has begun and not finished ends as if its process had been killed: each batch is applied whole
/// or not at all.
///
/// At most 16 connections are served at once, and one that is idle makes room for another. Reads run on
/// threads for blocking work.
pub async fn serve(served: &Served, socket: &ControlSocket) {
    // The rounds of commands are not those of the server's own work.
    let served = Served { store: served.store.counted_apart(), ..served.clone() };
    let places = Places::new(LIMITS);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(served.clone(), stream, places.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept the connection of a command");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(served: Served, stream: UnixStream, places: Arc<Places>) {
    let Some(place) = places.admit().await else {
        return refuse(&served, stream).await;
    };
    let mut stream = place.hear(stream);
    let answering = async {
        if welcome(&served, &mut stream, false).await? {
            answer_all(&served, &mut stream, &place).await?;
        }
        Ok(())
    };
    let outcome = place.keep(answering).await.unwrap_or(Err(WireError::Idle));
    if let Err(error) = outcome {
        tracing::debug!(%error, "the connection of a command has ended");
    }
}

/// Says that there is no place.
async fn refuse(served: &Served, mut stream: UnixStream) {
    // The command goes away in any case.
    timeout(REMOTE_IDLE, welcome(served, &mut stream, true)).await.ok();
}

/// Greets. Returns whether requests may follow.
async fn welcome<S>(served: &Served, stream: &mut S, is_full: bool) -> Result<bool, WireError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let own = Greeting::own();
    let welcome = Welcome { store: served.name.clone(), is_full };
    wire::send(stream, &(&own, welcome)).await?;
    let bytes = wire::receive_bytes(stream).await?.ok_or(WireError::Closed)?;
    let (greeting, _) = postcard::take_from_bytes::<Greeting>(&bytes)?;
    Ok(!is_full && greeting == own)
}

/// Answers requests until the command closes the connection.
async fn answer_all(served: &Served, stream: &mut Stream, place: &Place) -> Result<(), WireError> {
    while let Some(bytes) = wire::receive_bytes(stream).await? {
        let _working = place.work().ok_or(WireError::Idle)?;
        match postcard::from_bytes(&bytes)? {
            Request::Query(reads) => {
                wire::send_answer(stream, &query(&served.store, reads.into_owned()).await).await?;
            }
            Request::Commit(checks, writes) => {
                let mut batch = Batch::new();
                checks.into_owned().into_iter().for_each(|check| _ = batch.check(check));
                writes.into_owned().into_iter().for_each(|write| batch.write(write));
                let outcome = served.store.commit(batch).await.map(|committed| committed.values());
                wire::send_answer(stream, &Ok(outcome)).await?;
            }
            Request::CountKeys => {
                let store = served.store.clone();
                let counted = blocking(async move { store.count_keys().await }).await;
                wire::send_answer(stream, &counted).await?;
            }
            Request::Health => wire::send_answer(stream, &Ok(served.store.health().await)).await?,
            Request::Scan { cursor, limit } => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_REMOTE_SCAN);
                wire::send_answer(stream, &scan(&served.store, cursor, limit).await).await?;
            }
            Request::ScanKeys { cursor, limit } => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(MAX_REMOTE_SCAN);
                let store = served.store.clone();
                let page = blocking(async move { store.scan_keys(cursor, limit).await }).await;
                wire::send_answer(stream, &page).await?;
            }
            Request::Restore(entries, as_of_ms) => {
                let restored = served.store.replace(entries.into_owned(), as_of_ms).await;
                wire::send_answer(stream, &restored).await?;
            }
            Request::Ask(question) => {
                let answer = (served.answer)(question.into_owned()).await;
                wire::send_answer(stream, &Ok(answer)).await?;
            }
            Request::Snapshot => send_snapshot(&served.store, stream).await?,
            Request::CheckFile => send_file_check(&served.store, stream).await?,
            Request::Subscribe(channel) => return forward(&served.store, stream, &channel).await,
        }
    }
    Ok(())
}

async fn query(store: &Store, reads: Vec<Read>) -> Result<ReadOutcomes, KeyspaceError> {
    let mut query = Query::new();
    reads.into_iter().for_each(|read| query.read(read));
    // The reads of a command must not hold up requests of the site.
    query.expect_large();
    store.outcomes_of(query).await.map(|(_, outcomes)| outcomes)
}

/// Reads a page of keys that fits into an answer, if any does.
async fn scan(store: &Store, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
    let mut limit = limit;
    loop {
        let (page_store, page_cursor) = (store.clone(), cursor.clone());
        let page = blocking(async move { page_store.scan(page_cursor, limit).await }).await?;
        let is_too_long = matches!(wire::framed(&Ok::<_, KeyspaceError>(&page)), Err(WireError::TooLong(_)));
        if !is_too_long || limit <= 1 {
            return Ok(page);
        }
        limit /= 2;
    }
}

/// Sends all keys as of now, until the last page or an error.
async fn send_snapshot(store: &Store, stream: &mut Stream) -> Result<(), WireError> {
    let mut snapshot = match store.snapshot().await {
        Ok(snapshot) => snapshot,
        Err(error) => return wire::send_answer(stream, &Err::<(), _>(error)).await,
    };
    wire::send_answer(stream, &Ok((snapshot.taken_at_ms(), snapshot.keys()))).await?;
    loop {
        let page = snapshot.next_page().await;
        let is_too_long = matches!(wire::framed(&page), Err(WireError::TooLong(_)));
        let is_over = is_too_long || !matches!(page, Ok(Some(_)));
        wire::send_answer(stream, &page).await?;
        if is_over {
            return Ok(());
        }
    }
}

/// Sends the steps of a check of the store file, until the last one or an error.
async fn send_file_check(store: &Store, stream: &mut Stream) -> Result<(), WireError> {
    let mut check = match store.begin_file_check().await {
        Ok(check) => check,
        Err(error) => return wire::send_answer(stream, &Err::<(), _>(error)).await,
    };
    loop {
        let step = check.next().await;
        wire::send_answer(stream, &step).await?;
        if !matches!(step, Ok(FileCheckStep::Progress(..))) {
            return Ok(());
        }
    }
}

/// Runs work that may block its thread.
async fn blocking<T: Send + 'static>(
    work: impl Future<Output = Result<T, KeyspaceError>> + Send + 'static,
) -> Result<T, KeyspaceError> {
    let runtime = tokio::runtime::Handle::current();
    let running = tokio::task::spawn_blocking(move || runtime.block_on(work));
    running.await.map_err(|error| KeyspaceError::Unavailable(error.to_string()))?
}

/// Forwards the messages of a channel until either side ends.
async fn forward(store: &Store, stream: &mut Stream, channel: &str) -> Result<(), WireError> {
    let mut subscription = store.subscribe(channel);
    loop {
        // The command sends nothing more, so anything to read is the end.
        let notice = tokio::select! {
            notice = subscription.next() => notice,
            _ = stream.read_u8() => None,
        };
        let Some(notice) = notice else { return Ok(()) };
        wire::send(stream, &notice).await?;
    }
}
