//! Tests of the socket of a running server: who may use it, versions, ends of connections.

use super::*;
use crate::cli::terminal::MAX_TEXT_BYTES;
use crate::config::CommandLineSettings;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use tidings_domain::Site;
use tidings_domain::passwords::PasswordWorker;
use tidings_keyspace::{EngineClock, Store};
use wire::WireError;

/// A server of a test.
struct Rig {
    folder: tempfile::TempDir,
    config: Config,
    serving: JoinHandle<()>,
}

impl Rig {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.redb");
        let flags = CommandLineSettings {
            store: Some(format!("redb:{}", store.display())),
            ..CommandLineSettings::default()
        };
        let config = Config::load(None, std::iter::empty(), &flags).unwrap();
        let site =
            Site::new(Store::in_memory().await.unwrap(), config.rules.clone(), PasswordWorker::default());
        let app = App::new(site, config.web_settings(), None, EngineClock::System);
        let serving = Serving::new("the store".to_owned(), app, config.clone());
        let socket = ControlSocket::bind(&folder.path().join("s.redb-control")).unwrap();
        Self { folder, config, serving: tokio::spawn(async move { serve(&serving, &socket).await }) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s.redb-control")
    }

    async fn connect(&self) -> RunningServer {
        find(&self.config).await.unwrap().unwrap()
    }

    /// Runs a command. Returns what it prints.
    async fn run(&self, words: &'static [&'static str]) -> anyhow::Result<String> {
        let server = self.connect().await;
        tokio::task::spawn_blocking(move || run_on(&server, words)).await.unwrap()
    }
}

fn run_on(server: &RunningServer, words: &[&str]) -> anyhow::Result<String> {
    let mut printed = Vec::new();
    let arguments = ["tidings"].iter().chain(words).map(OsString::from);
    server.run(arguments, Surroundings::default(), |call| {
        match call {
            Call::Print(text) => printed.extend(text),
            Call::Password => return Ok(b"swordfish 12".to_vec()),
            _ => {}
        }
        Ok(Vec::new())
    })?;
    Ok(String::from_utf8(printed)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_runs_on_the_store_of_the_server() {
    let rig = Rig::start().await;
    let added = rig.run(&["user", "add", "alice", "--store", "redb:/no/such"]).await.unwrap();
    assert!(added.starts_with("created the account alice (user 1)\n"), "{added}");
    assert!(rig.run(&["user", "list"]).await.unwrap().starts_with("alice: joined "));
    let refused = rig.run(&["user", "add", "ALICE"]).await.unwrap_err();
    assert_eq!(refused.downcast_ref::<FailedThere>().unwrap().status, 1, "{refused}");
    let wrong = rig.run(&["user", "add", "not a name"]).await.unwrap_err();
    assert_eq!(wrong.downcast_ref::<FailedThere>().unwrap().status, 2, "{wrong}");
}

/// They read or write what they find under a path, or serve.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_open_files_themselves_do_not_run_in_a_server() {
    let rig = Rig::start().await;
    for words in [
        &["check", "backup", "/etc/passwd"][..],
        &["restore", "/etc/passwd"],
        &["erase", "--from-backup", "/etc/passwd", "story:1", "/tmp/out"],
        &["copy", "redb:/a", "redb:/b"],
        &["create"],
        &["generate", "/tmp/out"],
        &["serve"],
        &["demo"],
        &[],
    ] {
        let refused = rig.run(words).await.unwrap_err().to_string();
        assert_eq!(refused, "this command runs in a process of its own", "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_there_is_none() {
    let mut rig = Rig::start().await;
    rig.serving.abort();
    assert!((&mut rig.serving).await.is_err());
    assert!(!rig.path().exists() && find(&rig.config).await.unwrap().is_none());
    // A socket that a killed server has left.
    drop(UnixListener::bind(rig.path()).unwrap());
    assert!(rig.path().exists() && find(&rig.config).await.unwrap().is_none());
    for url in ["redb:below/x/y", &format!("redb:{}", "x".repeat(200)), "redis://localhost"] {
        assert!(find_at(url, &rig.config).await.unwrap().is_none(), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_may_connect() {
    let rig = Rig::start().await;
    assert_eq!(rig.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Nothing else is left in the folder.
    assert_eq!(std::fs::read_dir(rig.folder.path()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_is_removed_at_the_end_but_never_that_of_another_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    let first = ControlSocket::bind(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = ControlSocket::bind(&path).unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    drop(UnixListener::bind(&path).unwrap());
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_is_refused_by_both_sides() {
    let rig = Rig::start().await;
    let newer = || Greeting { version: "9.9.9".to_owned(), ..Greeting::own() };
    // A newer command line.
    let stream = UnixStream::connect(rig.path()).unwrap();
    let (greeting, _) =
        postcard::take_from_bytes::<Greeting>(&wire::receive_bytes(&stream).unwrap()).unwrap();
    assert_eq!(greeting, Greeting::own());
    wire::send(&stream, &(newer(), "something")).unwrap();
    assert!(wire::receive_bytes(&stream).is_err());
    // A newer server, whose words nobody here can read.
    std::fs::remove_file(rig.path()).unwrap();
    let listener = UnixListener::bind(rig.path()).unwrap();
    for (greeting, words) in [
        (newer(), "is version 9.9.9, this command is"),
        (Greeting { protocol: 99, ..Greeting::own() }, "(protocol 99), this command is version"),
    ] {
        let listener = listener.try_clone().unwrap();
        let serving = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            wire::send(&stream, &(greeting, 7, "something")).unwrap();
        });
        let refusal = find(&rig.config).await.unwrap_err().to_string();
        serving.join().unwrap();
        assert!(refusal.contains(words), "{refusal}");
        assert!(refusal.contains("use the command of the same version"), "{refusal}");
    }
}

/// A command that has asked for a password, and waits.
fn waiting(rig: &Rig) -> UnixStream {
    let stream = UnixStream::connect(rig.path()).unwrap();
    wire::receive_bytes(&stream).unwrap();
    let arguments = ["tidings", "user", "add", "alice"].map(|word| word.as_bytes().to_vec()).into();
    let request = Request { arguments, surroundings: Surroundings::default() };
    wire::send(&stream, &(Greeting::own(), request)).unwrap();
    assert!(matches!(wire::receive::<Said>(&stream).unwrap(), Said::Call(Call::Password)));
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_bounded_and_one_that_goes_makes_room() {
    let rig = Rig::start().await;
    let mut commands: Vec<UnixStream> = (0..16).map(|_| waiting(&rig)).collect();
    // Those that say nothing take no place of a command.
    let _silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(rig.path()).unwrap()).collect();
    let refusal = rig.run(&["user", "list"]).await.unwrap_err().to_string();
    assert!(refusal.contains("as many other commands as it can"), "{refusal}");
    commands.pop();
    let deadline = Instant::now() + Duration::from_secs(30);
    while rig.run(&["user", "list"]).await.is_err() {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_learns_that_the_server_has_stopped() {
    let mut rig = Rig::start().await;
    let server = rig.connect().await;
    let (asked, is_asked) = mpsc::channel();
    let (_end, ends) = mpsc::channel::<()>();
    let running = tokio::task::spawn_blocking(move || {
        let words = ["tidings", "user", "add", "alice"].map(OsString::from);
        server.run(words, Surroundings::default(), |_| {
            asked.send(()).ok();
            ends.recv_timeout(Duration::from_millis(100)).ok();
            Ok(b"swordfish 12".to_vec())
        })
    });
    tokio::task::spawn_blocking(move || is_asked.recv()).await.unwrap().unwrap();
    rig.serving.abort();
    assert!((&mut rig.serving).await.is_err());
    let lost = running.await.unwrap();
    // It may have ended first.
    if let Err(lost) = lost {
        assert!(lost.to_string().contains("is lost; the last step may or may not"), "{lost}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_line_that_dies_or_talks_nonsense_disturbs_nobody() {
    let rig = Rig::start().await;
    for nonsense in [
        &[][..],
        &[1],
        &[3, 0, 0, 0, 9],
        &u32::MAX.to_le_bytes(),
        &[2, 0, 0, 0, 200, 200],
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        for runs in [false, true] {
            let mut stream = if runs { waiting(&rig) } else { UnixStream::connect(rig.path()).unwrap() };
            if !runs {
                wire::receive_bytes(&stream).unwrap();
            }
            stream.write_all(nonsense).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            // It closes the connection, whatever it has understood.
            while wire::receive_bytes(&stream).is_ok() {}
        }
    }
    assert_eq!(rig.run(&["user", "list"]).await.unwrap(), "");
}

#[test]
fn a_message_that_is_too_long_is_not_sent_and_the_longest_call_is() {
    let (here, _there) = UnixStream::pair().unwrap();
    let text = vec![b'x'; 8 * MAX_TEXT_BYTES];
    assert!(matches!(wire::send(&here, &text), Err(WireError::TooLong(_))));
}
