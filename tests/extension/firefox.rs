//! The package for Firefox, in Debian's Firefox: installing it, marks on a result
//! page, and a vote in the popup, opened with the real toolbar button. The test
//! drives the browser with Marionette, which is JSON with a length prefix over TCP.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::extension::{address_of, server_with_scores};
use crate::result_pages::ResultPages;

/// Runs the browser until the test closes the pipe or ends, then kills it.
const SCRIPT: &str = "firefox-esr --headless --marionette --remote-allow-system-access --no-remote \
    --profile \"$HOME\" >/dev/null 2>&1 & read -r _; kill -KILL 0";

/// The id of the extension in its manifest.
const ID: &str = "sites@tidings.invalid";

/// How long to wait for anything. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Selects the tab with an address, and clicks the extension's button on it.
const CLICK_BUTTON: &str = "
    const { extension } = WebExtensionPolicy.getByID(arguments[0]);
    const { ExtensionParent } = ChromeUtils.importESModule('resource://gre/modules/ExtensionParent.sys.mjs');
    gBrowser.selectedTab = [...gBrowser.tabs].find((tab) => tab.linkedBrowser.currentURI.spec === arguments[1]);
    ExtensionParent.apiManager.global.browserActionFor(extension).triggerAction(window);
";

/// Runs a script in the popup and returns its value. Returns null while the popup
/// is not ready: while it opens, Firefox replaces the browser element in it.
const IN_POPUP: &str = "
    const done = arguments[arguments.length - 1];
    const { messageManager } = document.querySelector('.webextension-popup-browser') ?? {};
    const name = `answer${Math.random()}`;
    messageManager?.addMessageListener(name, ({ data }) => done(data));
    const script = `sendAsyncMessage('${name}', (() => { ${arguments[0]} })() ?? null)`;
    messageManager?.loadFrameScript('data:,' + encodeURIComponent(script), false);
    window.setTimeout(() => done(null), 500);
";

/// A Firefox for one test. It is killed when dropped.
struct Firefox {
    shell: Child,
    stream: TcpStream,
    sent: u64,
    _profile: TempDir,
}

impl Firefox {
    /// Starts a browser that gets all sites from `pages`.
    fn start(pages: &ResultPages) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let port = pages.address.port();
        let preferences = [
            ("marionette.port", json!(0)),
            ("network.proxy.type", json!(1)),
            ("network.proxy.ssl", json!("127.0.0.1")),
            ("network.proxy.ssl_port", json!(port)),
            // Grant permissions without a prompt.
            ("extensions.webextOptionalPermissionPrompts", json!(false)),
        ];
        let lines = preferences.map(|(name, value)| format!("user_pref(\"{name}\", {value});\n"));
        fs::write(profile.path().join("user.js"), lines.concat()).unwrap();
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let file = profile.path().join("MarionetteActivePort");
        let port =
            wait_for("Firefox (./check installs it)", || fs::read_to_string(&file).ok()?.parse::<u16>().ok());
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut firefox = Self { shell, stream, sent: 0, _profile: profile };
        // The browser starts with a message about its protocol.
        firefox.receive();
        firefox.call("WebDriver:NewSession", &json!({ "acceptInsecureCerts": true }));
        firefox
    }

    /// Sends a command and returns its result.
    fn call(&mut self, command: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let message = json!([0, self.sent, command, parameters]).to_string();
        self.stream.write_all(format!("{}:{message}", message.len()).as_bytes()).unwrap();
        let answer = self.receive();
        assert_eq!(answer[2], Value::Null, "{command}");
        answer[3].clone()
    }

    fn receive(&mut self) -> Value {
        let mut length = String::new();
        let mut byte = [0];
        loop {
            self.stream.read_exact(&mut byte).unwrap();
            if byte == *b":" {
                break;
            }
            length.push(char::from(byte[0]));
        }
        let mut message = vec![0; length.parse().unwrap()];
        self.stream.read_exact(&mut message).unwrap();
        serde_json::from_slice(&message).unwrap()
    }

    /// Selects where scripts run: in pages (`content`) or in the browser itself (`chrome`).
    fn look_at(&mut self, context: &str) {
        self.call("Marionette:SetContext", &json!({ "value": context }));
    }

    fn go(&mut self, url: &str) {
        self.call("WebDriver:Navigate", &json!({ "url": url }));
    }

    fn run(&mut self, script: &str, arguments: &Value) -> Value {
        let parameters = json!({ "script": script, "args": arguments });
        self.call("WebDriver:ExecuteScript", &parameters)["value"].clone()
    }

    /// Runs a script until it returns a value.
    fn wait_for(&mut self, script: &str) -> Value {
        wait_for(script, || Some(self.run(script, &json!([]))).filter(|value| !value.is_null()))
    }

    /// Runs a script in the popup until it returns a value.
    fn wait_for_in_popup(&mut self, script: &str) -> Value {
        let parameters = json!({ "script": IN_POPUP, "args": [script] });
        wait_for(script, || {
            let answer = self.call("WebDriver:ExecuteAsyncScript", &parameters)["value"].clone();
            Some(answer).filter(|value| !value.is_null())
        })
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        self.shell.stdin.take();
        self.shell.wait().ok();
    }
}

// Blocks the test's thread only; the servers run on other threads.
#[allow(clippy::disallowed_methods)]
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: timed out after {TIMEOUT:?}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Packs the extension and returns the path of the package for Firefox.
fn pack(folder: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packed = Command::new(root.join("extension/pack")).arg(folder).output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let said = String::from_utf8(packed.stdout).unwrap();
    said.lines().find(|path| path.ends_with("firefox.zip")).unwrap().to_owned()
}

// The test blocks its own thread while it waits for Firefox, so the servers need other threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_package_marks_results_and_votes_in_firefox() {
    let server = server_with_scores(&[]).await;
    let pages = ResultPages::start().await;
    let folder = tempfile::tempdir().unwrap();
    let package = pack(folder.path());
    let mut firefox = Firefox::start(&pages);
    firefox.call("Addon:Install", &json!({ "path": package, "temporary": true }));

    firefox.look_at("chrome");
    let policy = "return WebExtensionPolicy.getByID(arguments[0])";
    let host = firefox.run(&format!("{policy}.mozExtensionHostname"), &json!([ID]));
    let page = |name: &str| format!("moz-extension://{}/pages/{name}.html", host.as_str().unwrap());
    assert_eq!(firefox.run(&format!("{policy}.extension.warnings ?? []"), &json!([ID])), json!([]));
    let tabs = "[...gBrowser.tabs].map((tab) => tab.linkedBrowser.currentURI.spec)";
    firefox.wait_for(&format!("return {tabs}.includes({}) || null", json!(page("help"))));

    firefox.look_at("content");
    firefox.go(&page("options"));
    firefox.wait_for("return document.querySelector('body[data-ready]') && true");
    firefox.run("document.getElementById('server').value = arguments[0]", &json!([address_of(&server)]));
    let save = json!({ "using": "css selector", "value": "button[type=submit]" });
    let button = firefox.call("WebDriver:FindElement", &save);
    let id = button["value"].as_object().unwrap().values().next().unwrap().clone();
    firefox.call("WebDriver:ElementClick", &json!({ "id": id }));
    firefox.wait_for("return document.querySelector('#said:not([hidden])') && true");

    let search = "https://www.google.com/search?q=tides";
    firefox.go(search);
    let marks = "const marks = [...document.querySelectorAll('.tidings-mark')]; \
        return marks.length < 3 ? null : marks.map((mark) => mark.dataset.score)";
    assert_eq!(firefox.wait_for(marks), json!(["Good", "Bad", "Controversial"]));

    let site = "https://quiet.example/tides";
    firefox.go(site);
    firefox.look_at("chrome");
    firefox.run(CLICK_BUTTON, &json!([ID, site]));
    let text = |id: &str| format!("return content.document.getElementById('{id}').textContent || null");
    firefox.wait_for_in_popup(&text("score"));
    assert_eq!(firefox.wait_for_in_popup(&text("host")), "quiet.example");
    firefox.wait_for_in_popup("content.document.querySelector('#votes button').click(); return true");
    assert_eq!(firefox.wait_for_in_popup(&text("said")), "Your vote has been counted. Thank you.");
    assert_eq!(server.number("link:quiet.example", "sum_of_votes").await, 1);
}
