//! Tests of the socket of a running server: who may use it, versions, ends of connections.

use super::wire::{self, Greeting, WireError};
use super::*;
use crate::limits::{MAX_FRAME_BYTES, MAX_REMOTE_CONNECTIONS, REMOTE_IDLE, REMOTE_PATIENCE};
use crate::{Batch, CommitError, KeyspaceError, OpenError, Query, Store, StoreOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};

/// A server of a test, with the store that it serves.
struct Rig {
    folder: tempfile::TempDir,
    store: Store,
    serving: tokio::task::JoinHandle<()>,
}

impl Rig {
    async fn start() -> Self {
        let store = Store::in_memory().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let answer: AnswerQuestion =
            Arc::new(|question| Box::pin(async move { format!("{question} indeed") }));
        let served = Served { store: store.clone(), name: "the store".to_owned(), answer };
        let socket = ControlSocket::bind(&folder.path().join("control")).unwrap();
        Self { folder, store, serving: tokio::spawn(async move { serve(&served, &socket).await }) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    async fn open(&self) -> Store {
        open(&self.path()).await.unwrap().unwrap()
    }

    /// Stops serving, as a server does that ends.
    async fn stop(&mut self) {
        self.serving.abort();
        assert!((&mut self.serving).await.is_err());
    }
}

async fn open(path: &Path) -> Result<Option<Store>, OpenError> {
    Store::of_server(path, &StoreOptions::default()).await
}

async fn open_error(path: &Path) -> String {
    open(path).await.err().map(|error| error.to_string()).unwrap_or_default()
}

fn setting(key: &str, value: &str) -> Batch {
    let mut batch = Batch::new();
    batch.set(key, value);
    batch
}

fn asking(key: &str) -> Query {
    let mut query = Query::new();
    let _ = query.string(key);
    query
}

#[tokio::test]
async fn the_server_tells_its_name_and_answers_questions() {
    let rig = Rig::start().await;
    let store = rig.open().await;
    assert_eq!(store.served_as(), Some("the store"));
    assert_eq!(store.ask_server("good").await.unwrap().as_deref(), Some("good indeed"));
    assert_eq!((rig.store.served_as(), rig.store.ask_server("good").await.unwrap()), (None, None));
    assert!(store.is_shared() && !store.tracks_writes() && !rig.store.is_shared());
}

#[tokio::test]
async fn a_write_through_the_socket_ends_what_the_server_has_cached() {
    let rig = Rig::start().await;
    let (_, reads) = rig.store.record_reads(rig.store.query(asking("key"))).await;
    let (_, others) = rig.store.record_reads(rig.store.query(asking("other"))).await;
    rig.open().await.commit(setting("key", "value")).await.unwrap();
    assert!(!rig.store.is_unchanged(&reads) && rig.store.is_unchanged(&others));
}

#[tokio::test]
async fn the_rounds_of_commands_are_not_counted_as_the_servers() {
    let rig = Rig::start().await;
    let before = rig.store.rounds();
    rig.open().await.commit(setting("key", "value")).await.unwrap();
    assert_eq!(rig.store.rounds(), before);
}

#[tokio::test]
async fn without_a_server_there_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    assert!(open(&path).await.unwrap().is_none());
    assert!(open(&path.join("below")).await.unwrap().is_none());
    assert!(open(&folder.path().join("x".repeat(200))).await.unwrap().is_none());
    // A socket that a killed server has left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists() && open(&path).await.unwrap().is_none());
}

#[tokio::test]
async fn only_the_owner_may_connect() {
    let rig = Rig::start().await;
    assert_eq!(rig.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Nothing else is left in the folder.
    assert_eq!(std::fs::read_dir(rig.folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_socket_is_removed_at_the_end_but_never_that_of_another_server() {
    let mut rig = Rig::start().await;
    rig.stop().await;
    assert!(!rig.path().exists());
    let first = ControlSocket::bind(&rig.path()).unwrap();
    std::fs::remove_file(first.path()).unwrap();
    let second = ControlSocket::bind(&rig.path()).unwrap();
    drop(first);
    assert!(second.path().exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let socket = ControlSocket::bind(&path).unwrap();
    let again = ControlSocket::bind(&path);
    assert!(matches!(again, Err(SocketError::InUse(_))), "{again:?}");
    drop(socket);
    std::fs::write(&path, "a file").unwrap();
    assert!(matches!(ControlSocket::bind(&path), Err(SocketError::NotASocket(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    let long = ControlSocket::bind(&folder.path().join("x".repeat(120))).unwrap_err();
    assert!(long.to_string().contains("more than the system allows"), "{long}");
    let absent = ControlSocket::bind(&folder.path().join("absent/control")).unwrap_err();
    assert!(absent.to_string().contains("cannot listen on"), "{absent}");
}

#[tokio::test]
async fn another_version_is_refused_by_both_sides() {
    // A newer server, whose welcome nobody here can read.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    let listener = UnixListener::bind(&path).unwrap();
    for (greeting, words) in [
        (Greeting { version: "9.9.9".to_owned(), ..Greeting::own() }, "is version 9.9.9, this command is"),
        (Greeting { protocol: 99, ..Greeting::own() }, "(protocol 99), this command is version"),
    ] {
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            wire::send(&mut stream, &(greeting, "something", 7)).await.unwrap();
        };
        let (refusal, ()) = tokio::join!(open_error(&path), serving);
        assert!(refusal.contains(words), "{refusal}");
        assert!(refusal.contains("use the command of the same version"), "{refusal}");
    }
    // A newer command.
    let rig = Rig::start().await;
    let mut stream = UnixStream::connect(rig.path()).await.unwrap();
    wire::receive_bytes(&mut stream).await.unwrap().unwrap();
    let newer = Greeting { version: "9.9.9".to_owned(), ..Greeting::own() };
    wire::send(&mut stream, &(newer, "something")).await.unwrap();
    assert!(wire::receive_bytes(&mut stream).await.unwrap().is_none());
}

/// A connection that has greeted and been welcomed.
async fn greeted(rig: &Rig) -> UnixStream {
    let mut stream = UnixStream::connect(rig.path()).await.unwrap();
    wire::receive_bytes(&mut stream).await.unwrap().unwrap();
    wire::send(&mut stream, &Greeting::own()).await.unwrap();
    stream
}

/// A connection on which the server goes on working.
async fn busy(rig: &Rig) -> UnixStream {
    let mut stream = greeted(rig).await;
    wire::send(&mut stream, &wire::Request::Health).await.unwrap();
    wire::receive_bytes(&mut stream).await.unwrap().unwrap();
    wire::send(&mut stream, &wire::Request::Subscribe("channel".into())).await.unwrap();
    stream
}

#[tokio::test]
async fn connections_are_bounded_and_a_place_becomes_free_again() {
    let rig = Rig::start().await;
    let mut subscribed = Vec::new();
    for _ in 0..MAX_REMOTE_CONNECTIONS {
        subscribed.push(busy(&rig).await);
    }
    let refusal = open_error(&rig.path()).await;
    assert!(refusal.contains("as many other commands as it can"), "{refusal}");
    subscribed.pop();
    rig.open().await.count_keys().await.unwrap();
}

#[tokio::test]
async fn clients_that_send_nothing_keep_no_command_out_and_are_dropped() {
    let rig = Rig::start().await;
    let began = std::time::Instant::now();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(UnixStream::connect(rig.path()).await.unwrap());
    }
    rig.open().await.commit(setting("key", "value")).await.unwrap();
    assert!(began.elapsed() < REMOTE_IDLE);
    for mut stream in silent {
        while wire::receive_bytes(&mut stream).await.is_ok_and(|bytes| bytes.is_some()) {}
    }
    assert!(began.elapsed() < REMOTE_IDLE + REMOTE_PATIENCE * 3, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_command_whose_idle_connection_was_closed_goes_on() {
    let rig = Rig::start().await;
    let store = rig.open().await;
    store.commit(setting("key", "value")).await.unwrap();
    // The last of them gets the place of the command.
    let mut others = Vec::new();
    for _ in 0..MAX_REMOTE_CONNECTIONS {
        others.push(busy(&rig).await);
    }
    others.pop();
    store.commit(setting("key", "other")).await.unwrap();
    let mut query = Query::new();
    let value = query.string("key");
    assert_eq!(store.query(query).await.unwrap().take(value).as_deref(), Some("other"));
}

#[tokio::test]
async fn a_command_learns_that_the_server_has_stopped() {
    let mut rig = Rig::start().await;
    let store = rig.open().await;
    store.commit(setting("key", "value")).await.unwrap();
    rig.stop().await;
    let lost = store.commit(setting("key", "other")).await.unwrap_err();
    let CommitError::Keyspace(KeyspaceError::Unsure(reason)) = &lost else { panic!("{lost:?}") };
    assert!(reason.contains("is lost") && reason.contains("may or may not"), "{reason}");
    let gone = store.query(asking("key")).await.unwrap_err();
    assert!(gone.to_string().contains("has stopped; run the command again"), "{gone}");
    // If a server comes back, the same store goes on.
    let answer: AnswerQuestion = Arc::new(|question| Box::pin(async move { question }));
    let served = Served { store: rig.store.clone(), name: "the store".to_owned(), answer };
    let socket = ControlSocket::bind(&rig.path()).unwrap();
    rig.serving = tokio::spawn(async move { serve(&served, &socket).await });
    let mut query = Query::new();
    let value = query.string("key");
    assert_eq!(store.query(query).await.unwrap().take(value).as_deref(), Some("value"));
}

#[tokio::test]
async fn a_command_that_dies_or_talks_nonsense_disturbs_nobody() {
    let rig = Rig::start().await;
    let store = rig.open().await;
    for nonsense in [
        &[][..],
        &[1],
        &[3, 0, 0, 0, 9],
        &u32::MAX.to_le_bytes(),
        &[2, 0, 0, 0, 200, 200],
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        for greets in [false, true] {
            let mut stream = UnixStream::connect(rig.path()).await.unwrap();
            wire::receive_bytes(&mut stream).await.unwrap().unwrap();
            if greets {
                wire::send(&mut stream, &Greeting::own()).await.unwrap();
            }
            stream.write_all(nonsense).await.unwrap();
            stream.shutdown().await.unwrap();
            // It closes the connection, whatever it has understood.
            assert!(!matches!(wire::receive_bytes(&mut stream).await, Ok(Some(_))), "{nonsense:?}");
        }
    }
    store.commit(setting("key", "value")).await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_a_connection_that_works() {
    let rig = Rig::start().await;
    let store = rig.open().await;
    // The server may still be busy with all of those that were given up, each on its connection.
    for number in 0..MAX_REMOTE_CONNECTIONS - 2 {
        let mut given_up = Box::pin(store.commit(setting("key", "value")));
        // One step or a few of it, then the caller goes away.
        for _ in 0..number % 4 {
            let step = std::future::poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context)));
            if step.await.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(given_up);
        let mut query = Query::new();
        let absent = query.string("absent");
        assert_eq!(store.query(query).await.unwrap().take(absent), None);
    }
}

#[test]
fn a_message_that_is_too_long_is_not_sent() {
    let text = "x".repeat(MAX_FRAME_BYTES + 1);
    assert!(matches!(wire::framed(&text), Err(WireError::TooLong(_))));
}
