//! Runs the program in a process of its own, as an operator does, for the benches.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::load::Connection;

/// The engine of a site that a bench measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreEngine {
    Redb,
    Redis,
}

impl StoreEngine {
    pub const ALL: [Self; 2] = [Self::Redb, Self::Redis];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Redb => "redb",
            Self::Redis => "redis",
        }
    }

    /// The engines to measure: the chosen one, or all.
    pub fn chosen(engine: Option<Self>) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |each| engine.is_none_or(|engine| engine == *each))
    }
}

impl FromStr for StoreEngine {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|engine| engine.name() == text).ok_or("it must be redb or redis")
    }
}

/// How to start the program.
pub struct Start<'a> {
    /// The executable: `env!("CARGO_BIN_EXE_tidings")` in a bench.
    pub executable: &'a str,
    /// The address of the store.
    pub store: &'a str,
    /// The file that it logs to.
    pub log: &'a Path,
    /// Variables that change settings. It has no others of the site.
    pub settings: &'a [(&'a str, &'a str)],
}

/// The running program. Dropping it stops it.
pub struct Program {
    process: Child,
    pub address: SocketAddr,
    /// The time from its start to the first response.
    pub start: Duration,
}

/// Memory of a process, in MiB.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// The current memory.
    pub resident: f64,
    /// The peak memory.
    pub peak: f64,
}

/// The program without the settings in the variables of this process.
pub(crate) fn without_own_settings(executable: &str) -> Command {
    let mut command = Command::new(executable);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDINGS_")) {
        command.env_remove(name);
    }
    command
}

impl Program {
    /// Starts the program and waits for its first response.
    pub async fn start(how: Start<'_>) -> Self {
        let began = Instant::now();
        let log = std::fs::File::options().create(true).append(true).open(how.log).unwrap();
        let mut process = without_own_settings(how.executable)
            .args(["serve", "--listen", "127.0.0.1:0", "--create", "--store", how.store])
            // Only who asks for metrics pays for them.
            .env("TIDINGS_METRICS__LISTEN", "")
            .env("TIDINGS_SEARCH__ENABLED", "false")
            .envs(how.settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| {
            panic!("the server did not start; see {}", how.log.display());
        });
        let address = address.parse().unwrap();
        Connection::open(address).await.exchange("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        Self { process, address, start: began.elapsed() }
    }

    /// The memory of the process.
    pub fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let mebibytes = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let kibibytes: f64 = line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().unwrap();
            kibibytes / 1024.0
        };
        Memory { resident: mebibytes("VmRSS"), peak: mebibytes("VmHWM") }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether the process has ended, which it never does by itself.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|status| status.is_some())
    }
}

/// The processor time that a process has taken, its own and the system's for it: a number of ticks, of which a second has
/// a hundred on all machines (proc_pid_stat(5), times(2)).
pub fn processor_time(process: u32) -> Duration {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name before may have blanks.
    let (_, after_name) = status.rsplit_once(')').unwrap();
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

impl Drop for Program {
    fn drop(&mut self) {
        // A clean shutdown: it closes its store.
        let told = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        if !told.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}
