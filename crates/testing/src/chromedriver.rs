//! A chromedriver for one test. When it ends, its Chromium ends too.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
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

/// The last host resolver rules: no other hosts are looked up.
const LAST_RULES: [&str; 2] = ["EXCLUDE 127.0.0.1", "MAP * ~NOTFOUND"];

/// Runs the driver until the test closes the pipe or ends for any reason, then
/// kills the process group: the driver, the browser and this shell. Killing only the
/// driver would leave the browser running. The shell closes its own standard output, so
/// that the test sees the end of the output if the driver ends.
const SCRIPT: &str = "chromedriver --port=0 2>/dev/null & exec >&-; read -r _; kill -KILL 0";

/// Attempts to start a driver.
const ATTEMPTS: usize = 5;
/// How long a browser may take to start.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The program that shows pages and nothing else. It starts in a third of the time of the whole browser, which
/// alone has extensions and is taken where this one is missing.
const SHELL: &str = "/usr/bin/chromium-headless-shell";

/// A running driver and its browser.
pub struct Chromedriver {
    shell: Child,
    /// Closing it ends the driver.
    pipe: Option<ChildStdin>,
    /// Must stay open, because the driver writes to it.
    output: BufReader<ChildStdout>,
    address: String,
    /// Holds the browser's files.
    folder: TempDir,
}

impl Chromedriver {
    /// Starts a driver on a free port. The driver takes a port of IPv6 first; if that of IPv4
    /// is in use, it ends, and another one is started.
    pub fn start() -> Self {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            match Self::try_start() {
                Ok(driver) => return driver,
                Err(output) => said = output,
            }
        }
        panic!("chromedriver does not start (./check installs it): {said}");
    }

    fn try_start() -> Result<Self, String> {
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
        let output = BufReader::new(shell.stdout.take().unwrap());
        let mut driver = Self { shell, pipe, output, address: String::new(), folder };
        driver.address = format!("http://127.0.0.1:{}", read_port(&mut driver.output)?);
        Ok(driver)
    }

    /// Opens a browser. With additional arguments it is the whole one, as extensions need it. It reaches only 127.0.0.1 and the
    /// hosts that `rules` map to it (`MAP NAME 127.0.0.1:PORT`).
    pub async fn open_browser(&self, rules: &[String], more: &[String]) -> Client {
        let mut arguments: Vec<String> = ARGUMENTS.map(str::to_owned).to_vec();
        let all: Vec<&str> = rules.iter().map(String::as_str).chain(LAST_RULES).collect();
        arguments.push(format!("--host-resolver-rules={}", all.join(", ")));
        arguments.push(format!("--user-data-dir={}", self.folder.path().join("browser").display()));
        arguments.extend_from_slice(more);
        let mut capabilities = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            // An unexpected dialog stays open, so that a test can find it.
            "unhandledPromptBehavior": "ignore",
        });
        if more.is_empty() && Path::new(SHELL).exists() {
            capabilities["browserName"] = "chrome-headless-shell".into();
            capabilities["goog:chromeOptions"]["binary"] = SHELL.into();
        }
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities.as_object().unwrap().clone());
        let opening = tokio::time::timeout(TIMEOUT, builder.connect(&self.address));
        opening.await.expect("Chromium starts in time").expect("Chromium starts")
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        self.pipe.take();
        self.shell.wait().ok();
    }
}

/// Reads the port from the output of the driver. The error is the output.
fn read_port(output: &mut impl BufRead) -> Result<u16, String> {
    let mut said = String::new();
    while output.read_line(&mut said).unwrap() > 0 {
        let last = said.lines().last().unwrap_or_default();
        if let Some((_, port)) = last.trim_end_matches('.').split_once("started successfully on port ") {
            return Ok(port.parse().unwrap());
        }
    }
    Err(said)
}
