//! A primary with two replicas and three Sentinels, for one test.

use crate::security::{PASSWORD, SENTINEL_PASSWORD};
use crate::{RedisServer, Security, try_on_free_ports, wait_for};
use std::cell::Cell;
use std::io;
use std::net::TcpStream;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The name by which the Sentinels know the primary.
const NAME: &str = "tidings";
const SERVERS: usize = 3;
const SENTINELS: usize = 3;

/// How long a server may be silent before the Sentinels take it for dead, in milliseconds: as short as
/// a busy machine allows. It must be longer than the time between two looks of a Sentinel at a replica (see
/// [`Sentinel::hurry`]), so that the replica that is promoted is chosen by what the replicas have after the
/// death of the primary.
const DOWN_AFTER_MS: u64 = 2_000;
/// How long a failover may take before another Sentinel tries, in milliseconds.
const FAILOVER_TIMEOUT_MS: u64 = 4_000;

/// A primary, its replicas and their Sentinels. They end when it is dropped, also in a panic.
pub struct ReplicatedRedis {
    /// The primary is any of them.
    servers: Vec<RedisServer>,
    sentinels: Vec<Sentinel>,
    is_secured: bool,
    /// The primary, if the Sentinels have replaced none that is well.
    expected: AtomicUsize,
}

/// One Sentinel.
struct Sentinel {
    process: Child,
    port: u16,
    /// The port by which it is known: the one with TLS, if it is secured.
    known_port: u16,
    is_secured: bool,
    /// One connection for all questions: each that is closed takes a port for a minute.
    connection: Mutex<Option<TcpStream>>,
    _folder: tempfile::TempDir,
}

impl ReplicatedRedis {
    /// Starts everything, and waits until each knows the others.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further options of the servers.
    pub fn start_with(options: &[&str]) -> Self {
        Self::start_all(options, None)
    }

    /// The same with TLS and passwords everywhere.
    pub fn start_secured(security: &Security) -> Self {
        Self::start_all(&[], Some(security))
    }

    fn start_all(options: &[&str], security: Option<&Security>) -> Self {
        // A replica gets its copy at once.
        let options = [options, &["--repl-diskless-sync-delay", "0"]].concat();
        let start = |primary: Option<u16>| {
            RedisServer::start_by(|| {
                let mut all: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
                all.extend(security.map(Security::server_options).unwrap_or_default());
                all.extend(primary.map(replica_of).into_iter().flatten());
                all
            })
        };
        let mut servers = vec![start(None)];
        let primary = servers[0].known_port();
        servers.extend((1..SERVERS).map(|_| start(Some(primary))));
        let sentinels = (0..SENTINELS).map(|_| Sentinel::start(primary, security)).collect();
        let is_secured = security.is_some();
        let started = Self { servers, sentinels, is_secured, expected: AtomicUsize::new(0) };
        for sentinel in &started.sentinels {
            sentinel.hurry();
        }
        started.wait_until_whole();
        started
    }

    /// The URL of the store.
    pub fn url(&self) -> String {
        let places: Vec<String> =
            self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.known_port)).collect();
        let place = format!("{}/{NAME}", places.join(","));
        if self.is_secured {
            return format!("rediss+sentinel://:{PASSWORD}@{place}?sentinel_password={SENTINEL_PASSWORD}");
        }
        format!("redis+sentinel://{place}")
    }

    /// One of the servers.
    pub fn server(&self, number: usize) -> &RedisServer {
        &self.servers[number]
    }

    /// The number of the server that the Sentinels name as primary, if most of them agree.
    pub fn primary(&self) -> Option<usize> {
        let named: Vec<u16> = self.sentinels.iter().filter_map(Sentinel::primary_port).collect();
        self.servers.iter().position(|server| {
            named.iter().filter(|port| **port == server.known_port()).count() > self.sentinels.len() / 2
        })
    }

    /// Panics if the Sentinels have replaced a server that was not killed. A server that was only slow
    /// goes on for a while, with one of its replicas, so what both acknowledge then is lost.
    pub fn demand_calm(&self) {
        let expected = self.expected.load(Ordering::SeqCst);
        assert_eq!(
            self.primary(),
            Some(expected),
            "the machine is too busy: a primary was replaced that lives"
        );
    }

    /// Kills the primary (`kill -9`). Returns its number.
    pub fn kill_primary(&mut self) -> usize {
        self.demand_calm();
        let primary = self.primary().expect("there is a primary");
        self.servers[primary].stop();
        primary
    }

    /// Lets the primary hang (`SIGSTOP`). Returns its number.
    pub fn hang_primary(&self) -> usize {
        self.demand_calm();
        let primary = self.primary().expect("there is a primary");
        self.servers[primary].pause();
        primary
    }

    /// Waits until the Sentinels have promoted another server than `old`. Returns its number.
    pub fn wait_for_failover(&self, old: usize) -> usize {
        let promoted = wait_for("a failover", || {
            self.primary().filter(|number| *number != old && self.is_primary(*number))
        });
        self.expected.store(promoted, Ordering::SeqCst);
        promoted
    }

    /// Starts a server again that was killed, empty, as a replica of the primary.
    pub fn bring_back(&mut self, number: usize) {
        let primary = self.primary().expect("there is a primary");
        assert_ne!(primary, number, "a failover comes first");
        let port = self.servers[primary].known_port();
        self.servers[number].start_again_as_replica_of(port);
    }

    /// Waits until the Sentinels have told the replicas of a failover, all but the old primary, which hangs.
    pub fn wait_until_replicas_follow(&self) {
        wait_for("replicas of the new primary", || {
            let info = self.servers[self.primary()?].ask("INFO replication")?;
            (info.matches("state=online").count() == SERVERS - 2).then_some(())
        });
    }

    /// Waits until every server but the primary is a replica of it, and the Sentinels know all that.
    pub fn wait_until_whole(&self) {
        wait_for("replicas and Sentinels that know each other", || {
            let primary = self.primary()?;
            let info = self.servers[primary].ask("INFO replication")?;
            let replicas = info.matches("state=online").count();
            let is_whole = self.sentinels.iter().all(|sentinel| sentinel.knows_all());
            (self.is_primary(primary) && replicas == SERVERS - 1 && is_whole).then_some(())
        });
    }

    /// Lets a Sentinel hang.
    pub fn pause_sentinel(&self, number: usize) {
        crate::signal(&self.sentinels[number].process, "-STOP");
    }

    /// Ends [`ReplicatedRedis::pause_sentinel`].
    pub fn resume_sentinel(&self, number: usize) {
        crate::signal(&self.sentinels[number].process, "-CONT");
    }

    /// Ends all Sentinels.
    pub fn stop_sentinels(&mut self) {
        self.sentinels.iter_mut().for_each(Sentinel::stop);
    }

    fn is_primary(&self, number: usize) -> bool {
        let role = self.servers[number].ask("ROLE");
        role.is_some_and(|role| role.contains("master"))
    }
}

/// The options of a replica.
pub(crate) fn replica_of(primary: u16) -> [String; 3] {
    ["--replicaof".to_owned(), "127.0.0.1".to_owned(), primary.to_string()]
}

impl Sentinel {
    fn start(primary: u16, security: Option<&Security>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let known_port = Cell::new(0);
        let (port, process) = try_on_free_ports(|port| {
            let configuration = folder.path().join("sentinel.conf");
            let mut text = format!(
                "port {port}\nbind 127.0.0.1\nprotected-mode no\ndir {}\n\
                 sentinel monitor {NAME} 127.0.0.1 {primary} 2\n\
                 sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}\n\
                 sentinel failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}\n\
                 sentinel parallel-syncs {NAME} {SERVERS}\n",
                folder.path().display()
            );
            known_port.set(port);
            if let Some(security) = security {
                text += &format!(
                    "requirepass {SENTINEL_PASSWORD}\nsentinel sentinel-pass {SENTINEL_PASSWORD}\n\
                     sentinel auth-pass {NAME} {PASSWORD}\n"
                );
                for (name, value) in security.tls() {
                    if name == "tls-port" {
                        known_port.set(value.parse().expect("a port"));
                    }
                    text += &format!("{name} {value}\n");
                }
            }
            std::fs::write(&configuration, text).expect("the folder can be written");
            let mut command = crate::command();
            command.arg(&configuration).arg("--sentinel");
            crate::start_process(command, port)
        });
        let (known_port, is_secured) = (known_port.get(), security.is_some());
        Self { process, port, known_port, is_secured, connection: Mutex::default(), _folder: folder }
    }

    /// Looks at the servers and tells of itself ten times as often as Sentinels do, so that a failover
    /// takes a second or two. Sentinels older than Redis 7 cannot, and take longer.
    fn hurry(&self) {
        let periods = "info-period 100 ask-period 200 publish-period 200";
        self.ask(&format!("SENTINEL DEBUG {periods}")).ok();
    }

    /// Sends a command, written as one line; answers what came back, raw.
    fn ask(&self, line: &str) -> io::Result<String> {
        let mut connection = self.connection.lock().expect("no other question has panicked");
        // After a failure the connection is not kept.
        let mut stream = match connection.take() {
            Some(stream) => stream,
            None => TcpStream::connect(("127.0.0.1", self.port))?,
        };
        let answer = crate::ask(&mut stream, self.is_secured.then_some(SENTINEL_PASSWORD), line)?;
        *connection = Some(stream);
        Ok(answer)
    }

    fn primary_port(&self) -> Option<u16> {
        let answer = self.ask(&format!("SENTINEL GET-MASTER-ADDR-BY-NAME {NAME}")).ok()?;
        answer.trim_end().rsplit("\r\n").next()?.parse().ok()
    }

    /// Whether it knows all replicas and the other Sentinels, and takes none of them for dead.
    fn knows_all(&self) -> bool {
        let count = |what: &str, flags: &str| {
            let answer = self.ask(&format!("SENTINEL {what} {NAME}")).unwrap_or_default();
            let mut lines = answer.lines();
            let mut count = 0;
            while let Some(line) = lines.next() {
                if line == "flags" {
                    count += usize::from(lines.nth(1) == Some(flags));
                }
            }
            count
        };
        count("REPLICAS", "slave") == SERVERS - 1 && count("SENTINELS", "sentinel") == SENTINELS - 1
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.stop();
    }
}
