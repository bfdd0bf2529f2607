//! What somebody does with a browser, in the words of who looks at the page:
//! links, buttons and fields go by their texts.

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

/// How long anything that must come may take. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Looks for a key that was struck, before it counts as dropped.
const KEY_POLLS: usize = 25;

pub const ENTER: char = '\u{e007}';
pub const ESCAPE: char = '\u{e00c}';

/// A browser with a window. It ends when it is dropped.
pub struct Browser {
    driver: Driver,
    site: Url,
    _chromedriver: Chromedriver,
}

impl Browser {
    /// Opens a window for a site.
    pub async fn open(server: &Server) -> Self {
        Self::start(site_address(server), &[], &[]).await
    }

    /// Opens a window in which the site is at `http://HOST`.
    pub async fn open_at(server: &Server, host: &str) -> Self {
        let port = site_address(server).port().unwrap();
        let rule = format!("MAP {host} 127.0.0.1:{port}");
        Self::start(Url::parse(&format!("http://{host}")).unwrap(), &[rule], &[]).await
    }

    /// Opens a window in which somebody is logged in.
    pub async fn open_as(server: &Server, user: &Client) -> Self {
        let browser = Self::open(server).await;
        browser.become_user(user).await;
        browser
    }

    /// Opens a window of a browser that finds hosts by these rules, and is
    /// started with further arguments. `site` is what paths belong to.
    pub async fn start(site: Url, rules: &[String], arguments: &[String]) -> Self {
        let chromedriver = Chromedriver::start();
        let driver = chromedriver.open_browser(rules, arguments).await;
        let browser = Self { driver, site, _chromedriver: chromedriver };
        browser.resize(1280, 800).await;
        browser
    }

    // What kind of window

    /// Takes over the session of a client.
    pub async fn become_user(&self, user: &Client) {
        let auth = user.auth.as_deref().unwrap();
        self.cdp("Network.setCookie", json!({ "name": "auth", "value": auth, "url": self.site.as_str() }))
            .await;
    }

    /// Switches JavaScript off for the pages to come.
    pub async fn disable_javascript(&self) {
        self.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// A window of a desk.
    pub async fn resize(&self, width: u32, height: u32) {
        self.shape(width, height, false).await;
    }

    /// A phone, with a finger for a pointer.
    pub async fn become_phone(&self) {
        self.shape(390, 844, true).await;
    }

    async fn shape(&self, width: u32, height: u32, phone: bool) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics).await;
        self.cdp("Emulation.setTouchEmulationEnabled", json!({ "enabled": phone })).await;
    }

    /// The colours that the user prefers: `light` or `dark`.
    pub async fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub async fn cdp(&self, command: &str, parameters: Value) -> Value {
        let call = DevToolsCommand { command: command.to_owned(), parameters };
        self.driver.issue_cmd(call).await.unwrap()
    }

    // Where

    /// Opens an address of the site.
    pub async fn go(&self, path: &str) {
        self.driver.goto(self.site.join(path).unwrap().as_str()).await.unwrap();
    }

    /// Opens an address as it is.
    pub async fn go_to_url(&self, url: &str) {
        self.driver.goto(url).await.unwrap();
    }

    /// The address of the page within the site, with query and fragment.
    pub async fn address(&self) -> String {
        let url = self.driver.current_url().await.unwrap();
        let address = url.as_str().strip_prefix(self.site.as_str());
        format!("/{}", address.unwrap_or_else(|| panic!("{url} is on the site")))
    }

    /// Waits until the page with this address is shown.
    pub async fn arrive(&self, address: &str) {
        let shown = async || self.address().await == address;
        self.wait_until(&format!("the page is {address}"), shown).await;
    }

    /// Opens the same page again.
    pub async fn reload(&self) {
        self.driver.refresh().await.unwrap();
    }

    // What is done

    /// Clicks the link with this text.
    pub async fn follow(&self, text: &str) {
        self.click_path(&format!("//a[normalize-space(.)={}]", quoted(text))).await;
    }

    /// Clicks the button with this text.
    pub async fn press(&self, text: &str) {
        self.click_path(&format!("//button[normalize-space(.)={}]", quoted(text))).await;
    }

    /// Clicks the first element that matches.
    pub async fn click(&self, css: &str) {
        self.wait_for(css).await.click().await.unwrap();
    }

    async fn click_path(&self, path: &str) {
        self.find(Locator::XPath(path)).await.click().await.unwrap();
    }

    /// Replaces what is in the field with this label.
    pub async fn fill(&self, label: &str, text: &str) {
        let field = self.field(label).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// What is in the field with this label.
    pub async fn filled(&self, label: &str) -> String {
        self.field(label).await.prop("value").await.unwrap().unwrap()
    }

    async fn field(&self, label: &str) -> Element {
        let path = format!("//*[@id=//label[normalize-space(.)={}]/@for]", quoted(label));
        self.find(Locator::XPath(&path)).await
    }

    /// Strikes a key, wherever the focus is. A browser that is busy with a new page may drop
    /// what is typed: a key that did not reach the page is struck again.
    pub async fn strike(&self, key: char) {
        const LISTEN: &str = "window.struck = false; \
             window.addEventListener('keydown', () => { window.struck = true }, { capture: true })";
        self.run(LISTEN).await;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let keys = KeyActions::new("keyboard".to_owned());
            let keys = keys.then(KeyAction::Down { value: key }).then(KeyAction::Up { value: key });
            self.driver.perform_actions(keys).await.unwrap();
            for _ in 0..KEY_POLLS {
                // A page that the key has left does not know of it any more.
                match self.driver.execute("return window.struck ?? true", Vec::new()).await {
                    Ok(struck) if struck != json!(true) => tokio::time::sleep(POLL_INTERVAL).await,
                    Ok(_) | Err(_) => return,
                }
            }
            assert!(Instant::now() < deadline, "the key {key:?} never arrived at {}", self.address().await);
        }
    }

    /// Runs a script, which may `return` a value.
    pub async fn run(&self, script: &str) -> Value {
        self.driver.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script with arguments, the last being a function to call with the outcome.
    pub async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.driver.execute_async(script, arguments).await.unwrap()
    }

    // What is seen

    /// The first element that matches, once there is one.
    pub async fn wait_for(&self, css: &str) -> Element {
        self.find(Locator::Css(css)).await
    }

    async fn find(&self, locator: Locator<'_>) -> Element {
        let waiting = self.driver.wait().at_most(PATIENCE).every(POLL_INTERVAL);
        match waiting.for_element(locator).await {
            Ok(element) => element,
            Err(error) => panic!("no {locator:?} at {}: {error}", self.address().await),
        }
    }

    /// How many elements match.
    pub async fn count(&self, css: &str) -> usize {
        self.driver.find_all(Locator::Css(css)).await.unwrap().len()
    }

    /// The text that is seen in the first element that matches.
    pub async fn text(&self, css: &str) -> String {
        self.wait_for(css).await.text().await.unwrap()
    }

    /// Waits until the first element that matches says this.
    pub async fn wait_for_text(&self, css: &str, text: &str) {
        // An element may go with its page while it is looked at.
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

    /// Waits until the name of the user stands in the page's head.
    pub async fn wait_until_logged_in(&self, username: &str) {
        self.wait_for(&format!(".site-header a[href='/@{username}']")).await;
    }

    /// Waits until nobody is logged in.
    pub async fn wait_until_logged_out(&self) {
        self.wait_for(".site-header a[href^='/login']").await;
    }

    /// Waits for a condition.
    pub async fn wait_until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition().await {
            assert!(
                Instant::now() < deadline,
                "{what}: not within {PATIENCE:?}, at {}",
                self.address().await
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Marks the page: the mark is lost when another is opened.
    pub async fn mark_page(&self) {
        self.run("window.marked = true").await;
    }

    /// Whether the page is still the one that was marked.
    pub async fn is_marked(&self) -> bool {
        self.run("return window.marked === true").await == json!(true)
    }

    /// The text of the dialog that a script has opened.
    pub async fn script_dialog(&self) -> Option<String> {
        self.driver.get_alert_text().await.ok()
    }

    /// What the browser has complained about since the last look.
    pub async fn complaints(&self) -> Vec<String> {
        let entries = self.driver.issue_cmd(BrowserLog).await.unwrap();
        let message = |entry: &Value| entry["message"].as_str().unwrap().to_owned();
        entries.as_array().unwrap().iter().map(message).collect()
    }

    /// A picture of the window, as PNG.
    pub async fn picture(&self) -> Vec<u8> {
        self.driver.screenshot().await.unwrap()
    }
}

/// Where a server is reached.
pub fn site_address(server: &Server) -> Url {
    server.visitor().request(Method::GET, "/").build().unwrap().url().clone()
}

/// A text as XPath writes it.
fn quoted(text: &str) -> String {
    assert!(!text.contains('"'), "XPath cannot escape it: {text}");
    format!("\"{text}\"")
}

/// A command for chromedriver to pass on to the browser.
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

/// Asks for the messages on the console, and takes them away.
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
