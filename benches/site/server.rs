//! Runs the program in a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tidings_testing::load::Connection;
use tidings_testing::server::without_rates;

/// Settings that do not limit the load.
const SETTINGS: &[(&str, &str)] = &[
    ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0"),
    ("TIDINGS_LIMITS__NEW_VOTERS_PER_DAY", "0"),
    ("TIDINGS_LOG", "warn"),
];

/// A running server. Dropping it stops it.
pub struct Server {
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

/// The settings, as the program reads them from its environment.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    let settings = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    settings.chain(without_rates())
}

impl Server {
    /// Starts the program on a store and waits for its first response. It logs to a file.
    pub async fn start(store: &str, log: &Path) -> Self {
        Self::start_with(store, log, &[]).await
    }

    /// The same, with further settings as environment variables.
    pub async fn start_with(store: &str, log: &Path, further: &[(&str, &str)]) -> Self {
        let began = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDINGS_") {
                command.env_remove(name);
            }
        }
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            .envs(settings())
            .envs(further.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::options().create(true).append(true).open(log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_else(|| {
            panic!("the server did not start; see {}", log.display());
        });
        let address = address.parse().unwrap();
        Connection::open(address).await.exchange("GET / HTTP/1.1\r\nhost: bench\r\n\r\n").await;
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
}

impl Drop for Server {
    fn drop(&mut self) {
        // A clean shutdown: it closes its store.
        let told = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        if !told.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}
