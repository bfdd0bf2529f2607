//! A chromedriver of a test's own, which takes its Chromium along when it ends.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tempfile::TempDir;

const ARGUMENTS: [&str; 10] = [
    "--headless=new",
    "--hide-scrollbars",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// The rules for what is asked of no name server, after those of the test.
const LAST_RULES: [&str; 2] = ["EXCLUDE 127.0.0.1", "MAP * ~NOTFOUND"];

/// Runs the driver until the test closes the pipe or ends in whatever way, and
/// then ends the group: the driver, the browser and this shell. The driver
/// alone would leave the browser behind. Of its output the shell keeps no end open, so that
/// it is over when there is no driver.
const SCRIPT: &str = "chromedriver --port=0 2>/dev/null & exec >&-; read -r _; kill -KILL 0";

/// How long the driver may take to start, and any command of it to be done.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running driver and all that it has started.
pub struct Chromedriver {
    shell: Child,
    /// Ends the driver when it is closed.
    pipe: Option<ChildStdin>,
    /// Kept open: the driver writes to it.
    _output: BufReader<ChildStdout>,
    address: String,
    /// The home of the browser.
    folder: TempDir,
}

impl Chromedriver {
    /// Starts a driver on a free port.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let pipe = shell.stdin.take();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        let address = format!("http://127.0.0.1:{}", read_port(&mut output));
        Self { shell, pipe, _output: output, address, folder }
    }

    /// Opens a browser that reaches 127.0.0.1 only, and the hosts that `rules`
    /// lead there (`MAP NAME 127.0.0.1:PORT`), with further arguments.
    pub async fn open_browser(&self, rules: &[String], more: &[String]) -> Client {
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        let all: Vec<&str> = rules.iter().map(String::as_str).chain(LAST_RULES).collect();
        arguments.push(format!("--host-resolver-rules={}", all.join(", ")));
        arguments.push(format!("--user-data-dir={}", self.folder.path().join("browser").display()));
        arguments.extend_from_slice(more);
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            // A dialog that nobody expects stays open, so that a test sees it.
            "unhandledPromptBehavior": "ignore",
        });
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities.as_object().unwrap().clone());
        let opening = tokio::time::timeout(PATIENCE, builder.connect(&self.address));
        opening.await.expect("Chromium starts in time").expect("Chromium starts")
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        self.pipe.take();
        self.shell.wait().ok();
    }
}

/// The port that the driver says it listens on.
fn read_port(output: &mut impl BufRead) -> u16 {
    let mut said = String::new();
    while output.read_line(&mut said).unwrap() > 0 {
        let last = said.lines().last().unwrap_or_default();
        if let Some((_, port)) = last.trim_end_matches('.').split_once("started successfully on port ") {
            return port.parse().unwrap();
        }
    }
    panic!("chromedriver does not start (./check installs it): {said}");
}
