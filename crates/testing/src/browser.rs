//! A browser and what a person does with it. Links, buttons and fields are found by
//! the text that the person sees.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client as Driver, Locator};
use reqwest::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

use crate::chromedriver::Chromedriver;
use crate::client::Client;
use crate::server::Server;

/// How long to wait for anything. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many times to check whether a key has reached the page before pressing it again.
const KEY_POLLS: usize = 25;

/// How many times to press Tab before giving up.
const MOST_TABS: usize = 150;

pub const ENTER: char = '\u{e007}';
/// The Alt key.
pub const ALT: char = '\u{E00A}';
pub const ESCAPE: char = '\u{e00c}';
pub const TAB: char = '\u{e004}';

/// A browser with one window. It is closed when dropped.
pub struct Browser {
    driver: Driver,
    site: Url,
    /// Whether pages may run scripts.
    runs_scripts: AtomicBool,
    _chromedriver: Chromedriver,
}

impl Browser {
    /// Opens a browser for a site.
    pub async fn open(server: &Server) -> Self {
        Self::start(site_address(server), &[], &[]).await
    }

    /// Opens a browser that finds the site at `http://HOST`.
    pub async fn open_at(server: &Server, host: &str) -> Self {
        let port = site_address(server).port().unwrap();
        let rule = format!("MAP {host} 127.0.0.1:{port}");
        Self::start(Url::parse(&format!("http://{host}")).unwrap(), &[rule], &[]).await
    }

    /// Opens a browser in which a user is logged in.
    pub async fn open_as(server: &Server, user: &Client) -> Self {
        let browser = Self::open(server).await;
        browser.log_in_as(user).await;
        browser
    }

    /// Starts a browser with these host resolver rules and additional arguments.
    /// Paths are relative to `site`.
    pub async fn start(site: Url, rules: &[String], arguments: &[String]) -> Self {
        let chromedriver = Chromedriver::start();
        let driver = chromedriver.open_browser(rules, arguments).await;
        let runs_scripts = AtomicBool::new(true);
        let browser = Self { driver, site, runs_scripts, _chromedriver: chromedriver };
        browser.resize(1280, 800).await;
        browser
    }

    // Setup

    /// Logs in with the session of a client.
    pub async fn log_in_as(&self, user: &Client) {
        let auth = user.auth.as_deref().unwrap();
        self.cdp("Network.setCookie", json!({ "name": "auth", "value": auth, "url": self.site.as_str() }))
            .await;
    }

    /// Disables JavaScript on pages that are opened later.
    pub async fn disable_javascript(&self) {
        self.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        self.runs_scripts.store(false, Ordering::Relaxed);
    }

    /// Emulates a desktop window of this size.
    pub async fn resize(&self, width: u32, height: u32) {
        self.shape(width, height, false).await;
    }

    /// Emulates a phone with a touch screen.
    pub async fn emulate_phone(&self) {
        self.emulate_phone_of(390, 844).await;
    }

    /// Emulates a phone with a screen of this size.
    pub async fn emulate_phone_of(&self, width: u32, height: u32) {
        self.shape(width, height, true).await;
    }

    async fn shape(&self, width: u32, height: u32, phone: bool) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics).await;
        self.cdp("Emulation.setTouchEmulationEnabled", json!({ "enabled": phone })).await;
    }

    /// Sets the preferred colour scheme: `light` or `dark`.
    pub async fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Cuts the connection, or restores it.
    pub async fn set_offline(&self, offline: bool) {
        self.set_network(json!({ "offline": offline, "latency": 0 })).await;
    }

    /// Emulates a slow connection without a cache, so that a page is painted before all of it
    /// has arrived.
    pub async fn slow_down(&self) {
        self.cdp("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
        self.set_network(json!({ "offline": false, "latency": 50, "downloadThroughput": 40_000 })).await;
    }

    async fn set_network(&self, mut conditions: Value) {
        for unlimited in ["downloadThroughput", "uploadThroughput"] {
            if conditions.get(unlimited).is_none() {
                conditions[unlimited] = json!(-1);
            }
        }
        self.cdp("Network.enable", json!({})).await;
        self.cdp("Network.emulateNetworkConditions", conditions).await;
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub async fn cdp(&self, command: &str, parameters: Value) -> Value {
        let call = DevToolsCommand { command: command.to_owned(), parameters };
        self.driver.issue_cmd(call).await.unwrap()
    }

    // Navigation

    /// Opens a path of the site.
    pub async fn go(&self, path: &str) {
        self.driver.goto(self.site.join(path).unwrap().as_str()).await.unwrap();
    }

    /// Opens a URL.
    pub async fn go_to_url(&self, url: &str) {
        self.driver.goto(url).await.unwrap();
    }

    /// The path of the current page, with query and fragment.
    pub async fn address(&self) -> String {
        let url = self.driver.current_url().await.unwrap();
        let address = url.as_str().strip_prefix(self.site.as_str());
        format!("/{}", address.unwrap_or_else(|| panic!("{url} is on the site")))
    }

    /// Waits until the current page has this path, with query and fragment.
    pub async fn arrive(&self, address: &str) {
        let shown = async || self.address().await == address;
        self.wait_until(&format!("the page is {address}"), shown).await;
    }

    /// Reloads the page.
    pub async fn reload(&self) {
        self.driver.refresh().await.unwrap();
    }

    /// Goes back in the history. The script ends before the page is left: chromedriver runs a
    /// script again that a new page has interrupted, and would go back twice.
    pub async fn go_back(&self) {
        self.run("setTimeout(() => history.back())").await;
    }

    // Actions

    /// Clicks the link with this text.
    pub async fn follow(&self, text: &str) {
        self.click_path(&format!("//a[normalize-space(.)={}]", quoted(text))).await;
    }

    /// Clicks the button with this text.
    pub async fn press(&self, text: &str) {
        self.click_path(&format!("//button[normalize-space(.)={}]", quoted(text))).await;
    }

    /// Logs out, with the menu behind the name.
    pub async fn log_out(&self) {
        self.click(".menu.own summary").await;
        self.press("Log out").await;
    }

    /// Clicks the first element that matches.
    pub async fn click(&self, css: &str) {
        self.wait_for(css).await.click().await.unwrap();
    }

    async fn click_path(&self, path: &str) {
        self.find(Locator::XPath(path)).await.click().await.unwrap();
    }

    /// Replaces the text in the field with this label.
    pub async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// The text in the field with this label.
    pub async fn field_value(&self, label: &str) -> String {
        self.field(label).await.prop("value").await.unwrap().unwrap()
    }

    async fn field(&self, label: &str) -> Element {
        let path = format!("//*[@id=//label[normalize-space(.)={}]/@for]", quoted(label));
        self.find(Locator::XPath(&path)).await
    }

    /// Presses a key, wherever the focus is. A browser that is loading a page may drop the key,
    /// so a key that has not reached the page is pressed again.
    pub async fn press_key(&self, key: char) {
        self.press_keys(&[key]).await;
    }

    /// Presses keys together: the last one while the others are held down.
    pub async fn press_keys(&self, keys: &[char]) {
        const LISTEN: &str = "window.keyPressed = false; \
             window.addEventListener('keydown', () => { window.keyPressed = true }, { capture: true })";
        if !self.runs_scripts.load(Ordering::Relaxed) {
            // The page cannot tell whether the key has arrived.
            return self.send_keys(keys).await;
        }
        self.run(LISTEN).await;
        let deadline = Instant::now() + TIMEOUT;
        loop {
            self.send_keys(keys).await;
            for _ in 0..KEY_POLLS {
                // If the key has opened another page, the variable is gone.
                match self.driver.execute("return window.keyPressed ?? true", Vec::new()).await {
                    Ok(pressed) if pressed != json!(true) => tokio::time::sleep(POLL_INTERVAL).await,
                    Ok(_) | Err(_) => return,
                }
            }
            assert!(Instant::now() < deadline, "the keys {keys:?} never arrived at {}", self.address().await);
        }
    }

    /// Presses keys together once.
    async fn send_keys(&self, keys: &[char]) {
        let down = keys.iter().map(|key| KeyAction::Down { value: *key });
        let up = keys.iter().rev().map(|key| KeyAction::Up { value: *key });
        let actions = KeyActions::new("keyboard".to_owned());
        let actions = down.chain(up).fold(actions, KeyActions::then);
        self.driver.perform_actions(actions).await.unwrap();
    }

    /// Presses Tab until an element that matches has the focus.
    pub async fn tab_to(&self, css: &str) {
        for _ in 0..MOST_TABS {
            if self.has_focus(css).await {
                return;
            }
            self.press_key(TAB).await;
        }
        panic!("Tab never reaches {css} at {}", self.address().await);
    }

    /// Goes to an element with Tab and presses Enter.
    pub async fn enter(&self, css: &str) {
        self.wait_for(css).await;
        self.tab_to(css).await;
        self.press_key(ENTER).await;
    }

    /// Whether an element that matches has the focus.
    pub async fn has_focus(&self, css: &str) -> bool {
        let script = format!("return document.activeElement.matches({})", json!(css));
        self.run(&script).await == json!(true)
    }

    /// Types where the focus is.
    pub async fn type_text(&self, text: &str) {
        self.wait_for(":focus").await.send_keys(text).await.unwrap();
    }

    /// Runs a script and returns its result.
    pub async fn run(&self, script: &str) -> Value {
        self.driver.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script with arguments. The last argument is a function that takes the result.
    pub async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.driver.execute_async(script, arguments).await.unwrap()
    }

    // Observations

    /// Waits for an element that matches, and returns the first.
    pub async fn wait_for(&self, css: &str) -> Element {
        self.find(Locator::Css(css)).await
    }

    async fn find(&self, locator: Locator<'_>) -> Element {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.driver.find(locator).await {
                Ok(element) => return element,
                // The driver also fails while the browser leaves a page.
                Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL_INTERVAL).await,
                Err(error) => panic!("no {locator:?} at {}: {error}", self.address().await),
            }
        }
    }

    /// How many elements match.
    pub async fn count(&self, css: &str) -> usize {
        self.driver.find_all(Locator::Css(css)).await.unwrap().len()
    }

    /// The visible text of the first element that matches.
    pub async fn text(&self, css: &str) -> String {
        self.wait_for(css).await.text().await.unwrap()
    }

    /// Waits until the first element that matches has this text.
    pub async fn wait_for_text(&self, css: &str, text: &str) {
        // The element may disappear with its page between the two calls.
        let says = async || match self.driver.find(Locator::Css(css)).await {
            Ok(element) => element.text().await.is_ok_and(|found| found == text),
            Err(_) => false,
        };
        self.wait_until(&format!("{css} says {text:?}"), says).await;
    }

    /// Waits until no element matches.
    pub async fn wait_until_gone(&self, css: &str) {
        self.wait_until(&format!("{css} is gone"), async || self.count(css).await == 0).await;
    }

    /// Waits until the header of the page shows the user's name.
    pub async fn wait_until_logged_in(&self, username: &str) {
        self.wait_for(&format!(".site-header a[href='/@{username}']")).await;
    }

    /// Waits until nobody is logged in.
    pub async fn wait_until_logged_out(&self) {
        self.wait_for(".site-header a[href^='/login']").await;
    }

    /// Waits for a condition.
    pub async fn wait_until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !condition().await {
            assert!(
                Instant::now() < deadline,
                "{what}: timed out after {TIMEOUT:?}, at {}",
                self.address().await
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Marks the page. The mark is lost when the browser loads a page.
    pub async fn mark_page(&self) {
        self.run("window.marked = true").await;
    }

    /// Whether the page still has its mark.
    pub async fn is_marked(&self) -> bool {
        self.run("return window.marked === true").await == json!(true)
    }

    /// The text of the dialog that a script has opened, if any.
    pub async fn script_dialog(&self) -> Option<String> {
        self.driver.get_alert_text().await.ok()
    }

    /// The console messages since the last call.
    pub async fn console_messages(&self) -> Vec<String> {
        let entries = self.driver.issue_cmd(BrowserLog).await.unwrap();
        let message = |entry: &Value| entry["message"].as_str().unwrap().to_owned();
        entries.as_array().unwrap().iter().map(message).collect()
    }

    /// A screenshot of the window, as PNG.
    pub async fn screenshot(&self) -> Vec<u8> {
        self.driver.screenshot().await.unwrap()
    }
}

/// The address of a server.
pub fn site_address(server: &Server) -> Url {
    server.visitor().request(Method::GET, "/").build().unwrap().url().clone()
}

/// A text as an XPath string literal.
fn quoted(text: &str) -> String {
    assert!(!text.contains('"'), "XPath cannot escape it: {text}");
    format!("\"{text}\"")
}

/// A command that chromedriver passes on to the browser.
#[derive(Debug)]
struct DevToolsCommand {
    command: String,
    parameters: Value,
}

impl WebDriverCompatibleCommand for DevToolsCommand {
    fn endpoint(&self, driver: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        driver.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "cmd": self.command, "params": self.parameters }).to_string()))
    }
}

/// Returns the console messages and removes them.
#[derive(Debug)]
struct BrowserLog;

impl WebDriverCompatibleCommand for BrowserLog {
    fn endpoint(&self, driver: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        driver.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
