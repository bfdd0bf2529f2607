//! The program under systemd: what it tells it, and the socket that it gets from it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use tidings_keyspace::{Batch, Store, StoreOptions};

use crate::program::{Program, serve_command};
use crate::redis_server::RedisServer;

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
const REQUEST: &[u8] = b"GET /api/getnews/top/0/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Listens to what a program tells.
struct Manager {
    socket: UnixDatagram,
    folder: tempfile::TempDir,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self { socket, folder }
    }

    fn start(&self, store: &str) -> Program {
        let mut command = serve_command(store, &[]);
        command.env("NOTIFY_SOCKET", self.folder.path().join("notify")).env("WATCHDOG_USEC", "300000");
        Program::start_command(command)
    }

    /// The next message that begins with this line.
    fn expect(&self, line: &str) -> String {
        let mut bytes = [0; 4_096];
        loop {
            let length = self.socket.recv(&mut bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
            let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if message.lines().any(|told| told.starts_with(line)) {
                return message;
            }
        }
    }
}

#[test]
fn systemd_is_told_when_the_site_is_ready_alive_reloading_and_stopping() {
    let manager = Manager::new();
    let mut program = manager.start("redb::memory:");
    manager.expect("READY=1");
    manager.expect("WATCHDOG=1");
    manager.expect("WATCHDOG=1");
    program.signal("-HUP");
    let reloading = manager.expect("RELOADING=1");
    let time = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
    assert!(time.parse::<u64>().unwrap() > 0, "{reloading}");
    manager.expect("READY=1");
    program.signal("-TERM");
    // The drain time of zero, and what a stop may take besides.
    let stopping = manager.expect("STOPPING=1");
    assert!(stopping.contains("EXTEND_TIMEOUT_USEC=30000000"), "{stopping}");
    assert!(program.wait().success());
}

#[test]
fn a_site_without_its_store_is_not_ready_and_the_start_may_take_longer() {
    let manager = Manager::new();
    let mut redis = RedisServer::start();
    redis.stop();
    let _program = manager.start(&redis.url());
    let message = manager.expect("EXTEND_TIMEOUT_USEC=");
    assert!(message.contains("STATUS=waiting for the store"), "{message}");
    redis.start_again();
    manager.expect("READY=1");
}

#[tokio::test]
async fn a_start_that_migrates_the_store_asks_for_more_time_as_it_advances() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("store.redb").display());
    let store = Store::open(&url, &StoreOptions::default()).await.unwrap();
    let mut batch = Batch::new();
    batch.set("users.count", "1");
    batch.set_fields("user:1", [("id", "1"), ("username", "alice")]);
    store.commit(batch).await.unwrap();
    store.close().await;
    let manager = Manager::new();
    let program = manager.start(&url);
    for status in ["STATUS=making a backup before the store is migrated", "STATUS=migrating the store"] {
        let message = manager.expect(status);
        assert!(message.contains("EXTEND_TIMEOUT_USEC=300000000"), "{message}");
    }
    manager.expect("READY=1");
    program.wait_for_log("migrating the store");
}

/// Starts the program with a socket that somebody else holds.
fn start_with_socket(socket: &TcpListener) -> Program {
    let serve = serve_command("redb::memory:", &[]);
    // The number of the process must be known to itself.
    let script = "exec 3<&0 0</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdin(Stdio::from(OwnedFd::from(socket.try_clone().unwrap())));
    Program::start_command(command)
}

#[test]
fn no_connection_is_refused_while_the_program_restarts_on_a_socket_of_systemd() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let ask = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(REQUEST).unwrap();
        stream
    };
    let answered = |mut stream: TcpStream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    };
    let mut first = start_with_socket(&socket);
    assert_eq!(first.address, address);
    answered(ask());
    first.signal("-TERM");
    assert!(first.wait().success());
    // Nobody accepts these now.
    let waiting: Vec<TcpStream> = (0..10).map(|_| ask()).collect();
    let _second = start_with_socket(&socket);
    waiting.into_iter().for_each(answered);
}
