//! Several servers of a site on one Redis, behind haproxy as `packaging/haproxy.cfg` has it.
//!
//! Each topology has a network of its own among the loopback addresses, with the addresses of the
//! file, so the address of a server that is away is nobody else's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::program::without_own_settings;
use crate::redis_server::{RedisServer, wait_for};
use crate::server::{Settings, variables};

/// The shipped configuration.
pub const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/haproxy.cfg");
/// How many servers the configuration has.
pub const SERVERS: usize = 3;
/// The prefix of the addresses in the configuration.
const NETWORK: &str = "10.0.0.";
/// The port of haproxy and of the servers.
const PORT: u16 = 8080;
/// How long to wait for something that must happen. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The drain time of the servers: longer than haproxy needs to notice.
const DRAIN_SECONDS: &str = "4";

/// Redis, the servers and haproxy. Dropping it ends them.
pub struct Topology {
    haproxy: Process,
    servers: Vec<WebServer>,
    launch: Launch,
    redis: RedisServer,
    network: String,
    folder: TempDir,
}

/// How servers are started.
struct Launch {
    executable: String,
    variables: BTreeMap<String, String>,
}

/// A server of the site.
struct WebServer {
    process: Process,
    address: SocketAddr,
    log: PathBuf,
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Topology {
    /// Starts everything, and waits until haproxy uses every server. `executable` is the program:
    /// `env!("CARGO_BIN_EXE_tidings")`.
    pub fn start(executable: &str, settings: Settings<'_>) -> Self {
        let redis = RedisServer::start();
        let folder = tempfile::tempdir().unwrap();
        let network = own_network();
        let launch = Launch::new(executable, &redis.url(), settings);
        let servers: Vec<WebServer> = (1..=SERVERS)
            .map(|number| {
                let address = format!("{network}{}:{PORT}", 10 + number).parse().unwrap();
                let log = folder.path().join(format!("web{number}.log"));
                let process = launch.serve(address, &log);
                WebServer { process, address, log }
            })
            .collect();
        servers.iter().for_each(WebServer::wait_until_ready);
        let file = folder.path().join("haproxy.cfg");
        std::fs::write(&file, configuration_for(&network, folder.path())).unwrap();
        let log = File::create(folder.path().join("haproxy.log")).unwrap();
        let haproxy = haproxy(&["-db", "-f", file.to_str().unwrap()]).stderr(log).spawn();
        let haproxy = Process(haproxy.expect("haproxy can be run; install it: apt-get install haproxy"));
        let topology = Self { haproxy, servers, launch, redis, network, folder };
        (0..SERVERS).for_each(|number| topology.wait_until_used(number));
        topology
    }

    /// The address of the site: that of haproxy.
    pub fn address(&self) -> SocketAddr {
        format!("{}10:{PORT}", self.network).parse().unwrap()
    }

    /// The address of a server, which only haproxy uses outside of tests.
    pub fn server(&self, number: usize) -> SocketAddr {
        self.servers[number].address
    }

    /// The server of the store.
    pub fn redis(&self) -> &RedisServer {
        &self.redis
    }

    /// The log of a server.
    pub fn log(&self, number: usize) -> String {
        std::fs::read_to_string(&self.servers[number].log).unwrap()
    }

    /// Tells a server to stop. It still serves while it drains.
    pub fn tell_to_stop(&self, number: usize) {
        let id = self.servers[number].process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits until a server that was told to stop has ended.
    pub fn wait_for_end(&mut self, number: usize) {
        let process = &mut self.servers[number].process.0;
        let status = wait_for("the end of a server", || process.try_wait().unwrap());
        assert!(status.success(), "{}", self.log(number));
    }

    /// Kills a server (`kill -9`).
    pub fn kill(&mut self, number: usize) {
        let process = &mut self.servers[number].process.0;
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Starts a server again that has ended, and waits until it is ready, as systemd does.
    pub fn start_again(&mut self, number: usize) {
        let server = &mut self.servers[number];
        server.process = self.launch.serve(server.address, &server.log);
        server.wait_until_ready();
    }

    /// `systemctl restart` of a server.
    pub fn restart(&mut self, number: usize) {
        self.tell_to_stop(number);
        self.wait_for_end(number);
        self.start_again(number);
    }

    /// Waits until haproxy sends requests to a server.
    pub fn wait_until_used(&self, number: usize) {
        wait_for("haproxy using a server", || self.is_used(number).then_some(()));
    }

    /// Whether haproxy sends requests to a server.
    pub fn is_used(&self, number: usize) -> bool {
        let statistics = self.statistics().unwrap_or_default();
        let name = format!("tidings,web{},", number + 1);
        let line = statistics.lines().find(|line| line.starts_with(&name));
        // The columns are described in section 9.1 of haproxy's management guide. `L7OK` says that the
        // server has been asked.
        line.is_some_and(|line| line.split(',').nth(17) == Some("UP") && line.contains(",L7OK,"))
    }

    /// How many connections haproxy has to a server, in use and idle.
    pub fn connections(&self, number: usize) -> usize {
        let text = self.ask_haproxy("show servers conn tidings").unwrap();
        let (heads, lines) = text.split_once('\n').unwrap();
        let name = format!("tidings/web{} ", number + 1);
        let line = lines.lines().find(|line| line.starts_with(&name)).unwrap();
        // The first line begins with `# `.
        let columns: BTreeMap<&str, &str> =
            heads.split_whitespace().skip(1).zip(line.split_whitespace()).collect();
        ["used_cur", "idle_cur"].iter().map(|column| columns[column].parse::<usize>().unwrap()).sum()
    }

    /// The statistics of haproxy about its servers. Its control socket is there when it runs.
    fn statistics(&self) -> std::io::Result<String> {
        self.ask_haproxy("show stat")
    }

    fn ask_haproxy(&self, question: &str) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(self.folder.path().join("admin.sock"))?;
        writeln!(stream, "{question}")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Whether haproxy still runs. It never ends by itself.
    pub fn haproxy_runs(&mut self) -> bool {
        self.haproxy.0.try_wait().unwrap().is_none()
    }
}

impl Launch {
    fn new(executable: &str, store: &str, settings: Settings<'_>) -> Self {
        let own = [
            ("server.store", store),
            ("server.drain_seconds", DRAIN_SECONDS),
            ("web.trusted_proxies", "127.0.0.1"),
            // All servers would compete for the port.
            ("metrics.listen", ""),
        ];
        let variables = variables(&[&own, settings].concat());
        Self { executable: executable.to_owned(), variables }
    }

    fn serve(&self, address: SocketAddr, log: &Path) -> Process {
        let mut command = without_own_settings(&self.executable);
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.env("TIDINGS_SEARCH__ENABLED", "false");
        command.args(["serve", "--create", "--listen", &address.to_string()]).envs(&self.variables);
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }
}

impl WebServer {
    fn wait_until_ready(&self) {
        wait_for("a server that is ready", || is_ready(self.address).then_some(()));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// haproxy with arguments. For users other than root, its folder is often not among those searched.
pub fn haproxy(arguments: &[&str]) -> Command {
    const INSTALLED: &str = "/usr/sbin/haproxy";
    let mut command = Command::new(if Path::new(INSTALLED).exists() { INSTALLED } else { "haproxy" });
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The shipped configuration with the addresses of a network, and without what only root may.
fn configuration_for(network: &str, folder: &Path) -> String {
    let mut text = std::fs::read_to_string(CONFIGURATION).unwrap();
    let (bind, socket) = (format!("bind {network}10:{PORT}"), folder.join("admin.sock"));
    for (shipped, here) in [
        (NETWORK, network),
        ("bind :80", &bind),
        ("/run/haproxy/admin.sock", socket.to_str().unwrap()),
        ("    maxconn 8000\n", "    maxconn 500\n"),
        ("    log /dev/log local0\n", ""),
        ("    log global\n", ""),
        ("    chroot /var/lib/haproxy\n", ""),
        ("    user haproxy\n", ""),
        ("    group haproxy\n", ""),
    ] {
        assert!(text.contains(shipped), "packaging/haproxy.cfg has no {shipped:?}");
        text = text.replace(shipped, here);
    }
    text
}

/// The address prefix of a network that nobody else uses: one of 65,024 at random.
fn own_network() -> String {
    let mut random = [0; 2];
    getrandom::fill(&mut random).unwrap();
    let [first, second] = random;
    format!("127.{}.{second}.", 1 + first % 254)
}

/// Whether the site at an address says that it can be used.
pub fn is_ready(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    match ask() {
        Ok(answer) => answer.starts_with("HTTP/1.1 200 "),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "no answer within {TIMEOUT:?}");
            false
        }
    }
}
