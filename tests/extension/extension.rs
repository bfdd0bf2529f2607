//! A browser with the extension, and what a person does with it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tidings_domain::sites::{self, SiteVote, Verdict};
use tidings_domain::values::{Hostname, Timestamp, VoterId};

use crate::browser::{Browser, site_address};
use crate::result_pages::ResultPages;
use crate::server::{Engine, Server, Settings};

/// The address that this process connects from.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Replaces the tab behind the popup, and the browser's permission prompt.
const STAND_INS: &str = r#"
    if (location.protocol === "chrome-extension:") {
        chrome.tabs.query = async () => [{ url: sessionStorage.getItem("tab") ?? "chrome://newtab/" }];
        const recorded = (name) => async ({ origins }) => {
            sessionStorage.setItem(name, JSON.stringify([...JSON.parse(sessionStorage.getItem(name) ?? "[]"), ...origins]));
            return sessionStorage.getItem("refuses") === null;
        };
        chrome.permissions.request = recorded("requested");
        chrome.permissions.remove = recorded("removed");
    }
"#;

/// The sites on the result pages, with their numbers of good and bad votes.
const SITES: [(&str, u8, u8); 3] =
    [("good.example", 20, 0), ("bad.example", 0, 10), ("mixed.example", 26, 25)];

/// Starts a server on which these sites have their votes.
pub async fn server_with_scores(settings: Settings<'_>) -> Server {
    let server = Server::start(Engine::Memory, settings).await;
    for (host, good, bad) in SITES {
        for number in 0..good + bad {
            let mut voter = [0; 16];
            voter[0] = number + 1;
            let verdict = Some(if number < good { Verdict::Good } else { Verdict::Bad });
            let ballot = SiteVote { host: Hostname::parse(host).unwrap(), verdict };
            sites::vote(&server.app.site, Timestamp(server.now()), HERE, VoterId::from_bytes(voter), &ballot)
                .await
                .unwrap();
        }
    }
    server
}

/// The address of a server, as the extension stores it.
pub fn address_of(server: &Server) -> String {
    site_address(server).as_str().trim_end_matches('/').to_owned()
}

/// A browser with the extension installed.
pub struct Extension {
    pub browser: Browser,
    id: String,
    _pages: ResultPages,
}

impl Extension {
    /// Starts a browser with the extension and its default settings.
    pub async fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("extension");
        let pages = ResultPages::start().await;
        let rules = [format!("MAP * {}", pages.address)];
        let arguments =
            [format!("--load-extension={}", folder.display()), "--ignore-certificate-errors".to_owned()];
        let id = id_of(&folder);
        let site = format!("chrome-extension://{id}/").parse().unwrap();
        let browser = Browser::start(site, &rules, &arguments).await;
        browser.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": STAND_INS })).await;
        Self { browser, id, _pages: pages }
    }

    /// Starts a browser with the extension, and chooses a server in the options.
    pub async fn start_with(server: &Server) -> Self {
        let extension = Self::start().await;
        extension.open("options").await;
        extension.save_server(&address_of(server)).await;
        extension.browser.wait_for("#said:not([hidden])").await;
        extension
    }

    /// The address of a page of the extension.
    pub fn page(&self, name: &str) -> String {
        format!("chrome-extension://{}/pages/{name}.html", self.id)
    }

    /// Opens a page of the extension and waits until it is ready.
    pub async fn open(&self, name: &str) {
        self.browser.go_to_url(&self.page(name)).await;
        self.browser.wait_for("body[data-ready]").await;
    }

    /// Opens the popup as if on a tab with this address.
    pub async fn open_popup_on(&self, address: &str) {
        self.browser.go_to_url(&self.page("popup")).await;
        self.browser.run(&format!("sessionStorage.setItem('tab', {})", json!(address))).await;
        self.open("popup").await;
    }

    /// Enters a server address in the options and saves them.
    pub async fn save_server(&self, address: &str) {
        self.browser.fill("Server address", address).await;
        self.browser.press("Save").await;
    }

    /// The contents of `storage.local`.
    pub async fn stored(&self) -> Value {
        self.browser.run_async("chrome.storage.local.get().then(arguments[0])", Vec::new()).await
    }

    /// The voter ID for a server in the storage of the extension, or null.
    pub async fn voter(&self, server: &Server) -> Value {
        self.stored().await[format!("voter:{}", address_of(server))].clone()
    }

    /// The addresses of the tabs that show a page of the extension.
    pub async fn tabs(&self) -> Vec<String> {
        let contexts = "chrome.runtime.getContexts({ contextTypes: ['TAB'] }).then(arguments[0])";
        let tabs = self.browser.run_async(contexts, Vec::new()).await;
        tabs.as_array().unwrap().iter().map(|tab| tab["documentUrl"].as_str().unwrap().to_owned()).collect()
    }

    /// The origins of the permissions that were `requested` or `removed`.
    pub async fn permissions(&self, what: &str) -> Value {
        self.browser.run(&format!("return JSON.parse(sessionStorage.getItem('{what}') ?? '[]')")).await
    }

    /// Waits until an element of the popup has this text.
    pub async fn popup_says(&self, css: &str, text: &str) {
        self.browser.wait_for_text(css, text).await;
    }
}

/// The id that Chromium gives an extension in this folder: a hash of the path,
/// written with the letters a to p.
fn id_of(folder: &Path) -> String {
    let hash = Sha256::digest(folder.to_str().unwrap().as_bytes());
    let letter = |digit: u8| char::from(b'a' + digit);
    hash.iter().take(16).flat_map(|byte| [letter(byte >> 4), letter(byte & 15)]).collect()
}
