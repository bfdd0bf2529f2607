//! The program as an operator runs it, in a process of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use tidings_keyspace::{Store, StoreOptions, Value};
use tidings_testing::client::Client;
use tidings_testing::server::{dump, http_client, without_rates};

/// How long to wait for something that must happen.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The output of a command, and its exit code.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The message of a command that has failed with an exit status.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.err
    }

    /// Output and messages.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// Runs the program to its end.
pub fn tidings(words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(words).stdin(Stdio::null()).output().unwrap().into()
}

/// Runs the program, which must end well. Returns all that it says.
#[track_caller]
pub fn succeed(words: &[&str]) -> String {
    let ran = tidings(words);
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    ran.said()
}

/// The program as an operator runs it. Killed without warning when dropped.
pub struct Program {
    process: Child,
    pub address: SocketAddr,
    log: NamedTempFile,
}

/// `tidings serve` on a store and a free port, to be started.
pub fn serve_command(store: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = serve_existing_command(store, settings);
    command.arg("--create");
    command
}

/// The same for a site that must exist.
pub fn serve_existing_command(store: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .env("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0")
        // A busy machine confirms a write late.
        .env("TIDINGS_SERVER__STORE_TIMEOUT_SECONDS", "20")
        .env("TIDINGS_TRUST__DAYS", "0")
        .env("TIDINGS_TRUST__KARMA", "0")
        .envs(without_rates())
        // Tests would compete for the port.
        .env("TIDINGS_METRICS__LISTEN", "")
        .env("TIDINGS_SEARCH__ENABLED", "false")
        .envs(settings.iter().copied())
        .stdin(Stdio::null());
    command
}

impl Program {
    /// Starts `tidings serve` on a store, and waits until it listens.
    pub fn start(store: &str) -> Self {
        Self::start_with(store, &[])
    }

    /// The same, with settings as environment variables.
    pub fn start_with(store: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_command(serve_command(store, settings))
    }

    /// A client of it.
    pub fn visitor(&self) -> Client {
        Client::new(http_client(), self.address)
    }

    /// Starts a command that serves, and waits until it listens.
    pub fn start_command(mut command: Command) -> Self {
        let log = NamedTempFile::new().unwrap();
        let mut process = command.stdout(Stdio::piped()).stderr(log.reopen().unwrap()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        // A test that is the program has said something before.
        let address = lines.filter_map(|line| {
            let (_, address) = line.split_once("listening on http://")?;
            Some(address.parse().unwrap())
        });
        let log_text = || std::fs::read_to_string(log.path()).unwrap();
        let address = { address }.next().unwrap_or_else(|| panic!("it does not listen: {}", log_text()));
        Self { process, address, log }
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal, such as `-TERM`.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the program has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        wait_until("the end of the program", || self.process.try_wait().unwrap())
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }

    /// Waits until a line of the log has this text, and returns it.
    pub fn wait_for_log(&self, text: &str) -> String {
        wait_until(text, || self.log().lines().find(|line| line.contains(text)).map(str::to_owned))
    }

    /// SIGTERM, and waits for the end.
    pub fn stop(mut self) {
        self.signal("-TERM");
        assert!(self.wait().success());
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Waits for what another process does.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {what}");
        #[allow(clippy::disallowed_methods)] // A poll of another process.
        std::thread::sleep(Duration::from_millis(2));
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

/// Runs a command that does not start to serve. Returns its exit status, and what it says.
pub fn run_to_end(mut command: Command) -> (Option<i32>, String) {
    let ended = command.output().unwrap();
    assert!(ended.stdout.is_empty(), "{ended:?}");
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

/// `tidings serve` in memory on an address, or on the socket of another program.
pub fn serve_on(address: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(["serve", "--store", "redb::memory:", "--listen", address]);
    command
        .env("TIDINGS_METRICS__LISTEN", "")
        .env("TIDINGS_SEARCH__ENABLED", "false")
        .envs(settings.iter().copied())
        .stdin(Stdio::null());
    command
}

#[test]
fn an_address_that_cannot_be_had_is_wrong_use_with_the_cause_before_the_advice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, said) = run_to_end(serve_on(&address, &[]));
    assert_eq!(status, Some(2), "{said}");
    let last = said.lines().last().unwrap();
    let expected = format!(
        "tidings: cannot listen on {address}: Address already in use (os error 98); choose another address \
         with --listen or in server.listen"
    );
    assert_eq!(last, expected);
}

#[test]
fn a_wrong_setting_ends_the_program_with_2_and_a_store_that_refuses_with_1() {
    let wrong = [("TIDINGS_SITE__URL", "nonsense"), ("TIDINGS_LOG", "verbose"), ("TIDINGS_MAIL__RELAY", "?")];
    for setting in wrong {
        let (status, said) = run_to_end(serve_command("redb::memory:", &[setting]));
        assert_eq!(status, Some(2), "{setting:?}: {said}");
    }
    let (status, said) = run_to_end(serve_command("redb:/no/such/folder/site.redb", &[]));
    assert_eq!(status, Some(1), "{said}");
    assert!(said.lines().last().unwrap().starts_with("tidings: "), "{said}");
}

#[test]
fn an_empty_log_filter_is_the_default() {
    let program = Program::start_with("redb::memory:", &[("TIDINGS_LOG", "")]);
    program.wait_for_log(" INFO tidings::cli::serve: serving");
}

/// Opens a store file that a program had open that was killed.
pub async fn open_again(path: &Path) -> Store {
    let url = format!("redb:{}", path.display());
    // The file is free again only when the last of the killed program is gone.
    tidings_testing::until_ok(async || Store::open(&url, &StoreOptions::default()).await).await
}

/// Everything in the store of a program that was killed.
pub async fn dump_of(path: &Path) -> BTreeMap<String, Value> {
    let store = open_again(path).await;
    let dump = dump(&store).await;
    store.close().await;
    dump
}
