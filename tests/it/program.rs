//! The program as an operator runs it, in a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidings_keyspace::{Store, StoreOptions};
use tidings_testing::server::without_rates;

/// How long to wait for something that must happen.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The program as an operator runs it. Killed without warning when dropped.
pub struct Program {
    process: Child,
    pub address: SocketAddr,
}

impl Program {
    /// Starts `tidings serve` on a store, and waits until it listens.
    pub fn start(store: &str) -> Self {
        Self::start_with(store, &[])
    }

    /// The same, with settings as environment variables.
    pub fn start_with(store: &str, settings: &[(&str, &str)]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_tidings"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            .env("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0")
            .env("TIDINGS_ACCOUNTS__NEW_DAYS", "0")
            .env("TIDINGS_ACCOUNTS__NEW_POSTS", "0")
            .envs(without_rates())
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").map(|address| address.parse().unwrap());
        Self { process, address: address.unwrap_or_else(|| panic!("the program says {line:?}")) }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have been killed before.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn the_program_may_open_as_many_files_as_the_system_allows() {
    let (soft, hard) = rlimit::Resource::NOFILE.get().unwrap();
    rlimit::Resource::NOFILE.set(300.min(hard), hard).unwrap();
    let program = Program::start("redb::memory:");
    rlimit::Resource::NOFILE.set(soft, hard).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", program.process.id())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let figures: Vec<&str> = line.split_whitespace().take(2).collect();
    let hard = hard.to_string();
    assert_eq!(figures, [&*hard, &*hard]);
}

/// Opens a store file that a program had open that was killed.
pub async fn open_again(path: &Path) -> Store {
    let url = format!("redb:{}", path.display());
    // The file is free again only when the last of the killed program is gone.
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match Store::open(&url, &StoreOptions::default()).await {
            Ok(store) => return store,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    }
}
