//! A real `redis-server` for one test: on a free port, in a temporary folder,
//! without persistence, gone when dropped. Also several of them, with Sentinels or as a cluster.
//!
//! A crate of its own, so that the tests of the keyspace need not wait for the rest
//! of the harness, which depends on the whole site.

#![allow(clippy::expect_used, clippy::panic)]

mod cluster;
mod failover;
mod security;

pub use cluster::RedisCluster;
pub use failover::ReplicatedRedis;
pub use security::Security;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to answer after its start.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long the server may take for a command.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server.
pub struct RedisServer {
    process: Child,
    port: u16,
    options: Vec<String>,
    folder: tempfile::TempDir,
}

impl RedisServer {
    /// Starts a server.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further options, such as `["--requirepass", "secret"]`.
    pub fn start_with(options: &[&str]) -> Self {
        Self::start_by(|| options.iter().map(|option| (*option).to_owned()).collect())
    }

    /// Starts a server with options that may name further free ports, anew for each attempt.
    pub(crate) fn start_by(options: impl Fn() -> Vec<String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let used = RefCell::new(Vec::new());
        let (port, process) = try_on_free_ports(|port| {
            let options = options();
            let process = launch(port, &options, &folder);
            used.replace(options);
            process
        });
        Self { process, port, options: used.into_inner(), folder }
    }

    /// The URL of the store on this server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port by which other servers and clients know it: the one with TLS, if there is one.
    pub(crate) fn known_port(&self) -> u16 {
        self.option("--tls-port").map_or(self.port, |port| port.parse().expect("a port"))
    }

    /// The first value of an option that the server was started with.
    fn option(&self, name: &str) -> Option<&str> {
        let at = self.options.iter().position(|option| option == name)?;
        self.options.get(at + 1).map(String::as_str)
    }

    /// Writes the data to the disk, so that the server has them when it is started again.
    pub fn save(&self) {
        assert!(self.send(b"SAVE").starts_with("+OK"));
    }

    /// Stops the server at once; what was not saved is lost.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts the stopped server again, on the same port, with what was saved.
    pub fn start_again(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if let Some(process) = launch(self.port, &self.options, &self.folder) {
                self.process = process;
                return;
            }
        }
        panic!("redis-server does not start again on port {}", self.port);
    }

    /// Starts the stopped server again, on the same port, empty, as a replica.
    pub(crate) fn start_again_as_replica_of(&mut self, primary: u16) {
        let is_replica = self.options.iter().position(|option| option == "--replicaof");
        if let Some(at) = is_replica {
            self.options.drain(at..at + 3);
        }
        self.options.extend(failover::replica_of(primary));
        self.start_again();
    }

    /// Makes the server hang: it accepts connections and does not answer.
    pub fn pause(&self) {
        signal(&self.process, "-STOP");
    }

    /// Ends a [`RedisServer::pause`].
    pub fn resume(&self) {
        signal(&self.process, "-CONT");
    }

    /// Sends a command, written as one line; answers what came back, raw.
    pub fn send(&self, line: &[u8]) -> String {
        send(self.port, line).expect("the server answers")
    }

    /// The same, or nothing if the server does not answer.
    pub fn try_send(&self, line: &[u8]) -> Option<String> {
        send(self.port, line).ok()
    }

    /// The same for an answer of any length, with the password of the server, if it has one.
    pub(crate) fn ask(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        ask(&mut stream, self.option("--requirepass"), line).ok()
    }
}

fn signal(process: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(status.expect("there is a kill command").success());
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a process on a free port. Another process may take the port first; then on another one.
fn try_on_free_ports(start: impl Fn(u16) -> Option<Child>) -> (u16, Child) {
    for _ in 0..10 {
        let port = free_port();
        if let Some(process) = start(port) {
            return (port, process);
        }
    }
    panic!("redis-server does not start on any free port");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// A server that answers, or nothing when it has stopped by itself.
fn launch(port: u16, options: &[String], folder: &tempfile::TempDir) -> Option<Child> {
    let mut command = command();
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no", "--loglevel", "warning"])
        .arg("--dir")
        .arg(folder.path())
        .args(options);
    start_process(command, port)
}

/// The program: `redis-server`, or what `TEST_REDIS_SERVER` names, such as `valkey-server`.
fn command() -> Command {
    Command::new(std::env::var_os("TEST_REDIS_SERVER").unwrap_or_else(|| "redis-server".into()))
}

/// A process that answers on a port, or nothing when it has stopped by itself.
fn start_process(mut command: Command, port: u16) -> Option<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("{program} cannot be run ({error}); install it: apt-get install redis-server")
    });
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        if process.try_wait().expect("the server's state is known").is_some() {
            return None;
        }
        // The server of another test may have taken the port, and answer in place of this one.
        let itself = format!("process_id:{}\r\n", process.id());
        if send(port, b"INFO server")
            .is_ok_and(|answer| answer.contains(&itself) || answer.starts_with("-NOAUTH"))
        {
            return Some(process);
        }
        #[allow(clippy::disallowed_methods)] // A poll of another process, on a test's own thread.
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = process.kill();
    let _ = process.wait();
    panic!("redis-server does not answer on port {port} within {TIMEOUT:?}");
}

fn send(port: u16, line: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(&[line, b"\r\n"].concat())?;
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer)?;
    answer.truncate(length);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Sends a command, written as one line, after the password; answers all that came back, raw.
fn ask(stream: &mut TcpStream, password: Option<&str>, line: &str) -> std::io::Result<String> {
    /// The answer to PING ends that of the command.
    const END: &[u8] = b"+PONG\r\n";
    let login = password.map(|password| format!("AUTH {password}\r\n")).unwrap_or_default();
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(format!("{login}{line}\r\nPING\r\n").as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(END) {
        match stream.read(&mut part)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => answer.extend_from_slice(&part[..length]),
        }
    }
    answer.truncate(answer.len() - END.len());
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let welcome = if password.is_some() { "+OK\r\n" } else { "" };
    let refused = || std::io::Error::other(answer.clone());
    Ok(answer.strip_prefix(welcome).ok_or_else(refused)?.to_owned())
}

/// Polls other processes until there is something, half a minute at most.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT * 3;
    while Instant::now() < deadline {
        if let Some(found) = found() {
            return found;
        }
        #[allow(clippy::disallowed_methods)] // A poll of other processes, on a test's own thread.
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no {what} within {:?}", TIMEOUT * 3);
}
