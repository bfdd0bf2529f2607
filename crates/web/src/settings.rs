//! The settings of the web layer. The program fills them from its own settings.

use crate::limits::{self, TITLE_TIMEOUT};
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tidings_search::index::Language;
use url::{Origin, Url};

/// The settings that pages and calls depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How the site presents itself.
    pub site: SiteSettings,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The origins of other sites whose pages may vote on sites.
    pub vote_origins: Vec<Origin>,
    /// Whether avatars of users with an e-mail address come from gravatar.com.
    pub gravatars: bool,
    /// The hour of the day (UTC) at which digests are mailed.
    pub digest_hour: u64,
    /// How long a request may take altogether.
    pub request_timeout: Duration,
    /// How titles of other sites' pages are fetched.
    pub titles: TitleSettings,
    /// What connections may cost.
    pub transport: TransportSettings,
    /// How often the figures of the administration page are stored.
    pub keep_figures_every: Duration,
    /// The folder of the embedded store's file, whose disk must have room; `None` without a file.
    pub store_folder: Option<PathBuf>,
    /// The search of this server.
    pub search: SearchSettings,
}

/// The search of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    /// Whether there is any.
    pub is_on: bool,
    /// The folder of its index; `None` keeps it in memory.
    pub folder: Option<PathBuf>,
    /// The language whose words are found in all their forms.
    pub language: Option<Language>,
    /// Searches that run at the same time.
    pub threads: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { is_on: false, folder: None, language: Some(Language::English), threads: 1 }
    }
}

impl Settings {
    /// Whether an address is that of a trusted proxy.
    #[must_use]
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&peer))
    }
}

/// What connections may cost, and for which hosts they are.
#[derive(Debug, Clone, PartialEq)]
pub struct TransportSettings {
    /// Hosts that the site answers for besides that of its address.
    pub hosts: Vec<String>,
    /// Connections at the same time.
    pub connections: usize,
    /// Connections of one address at the same time; 0 = no limit.
    pub connections_per_address: usize,
    /// Requests that may write, at the same time.
    pub writes_at_once: usize,
    /// Bytes of all answers under way.
    pub answers_bytes: usize,
    /// How long the head of a request may take, from its first byte.
    pub head_timeout: Duration,
    /// The time in which a client must take [`limits::SEND_LEAST_BYTES`] of an answer that
    /// waits for it.
    pub send_window: Duration,
}

impl Default for TransportSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            connections: limits::MAX_CONNECTIONS,
            connections_per_address: limits::CONNECTIONS_PER_ADDRESS,
            writes_at_once: limits::WRITES_AT_ONCE,
            answers_bytes: limits::ANSWERS_BYTES,
            head_timeout: limits::HEAD_TIMEOUT,
            send_window: limits::SEND_WINDOW,
        }
    }
}

/// How the site presents itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteSettings {
    /// The name of the site.
    pub name: String,
    /// The address that people reach the site at.
    pub url: Url,
    /// One sentence about the site, for feeds and search engines; may be empty.
    pub description: String,
}

impl SiteSettings {
    /// Whether visitors use https, so that cookies may be `Secure`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The full address of a page of this site, `path` beginning with `/`.
    #[must_use]
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.url.as_str().trim_end_matches('/'))
    }
}

/// How titles are fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct TitleSettings {
    /// Whether they are.
    pub is_on: bool,
    /// How long a fetch may take altogether.
    pub timeout: Duration,
    /// What can be reached.
    pub network: Network,
}

impl Default for TitleSettings {
    fn default() -> Self {
        Self { is_on: true, timeout: TITLE_TIMEOUT, network: Network::default() }
    }
}

/// The network that titles are fetched from. By default it is the public internet, and no
/// setting of the program changes that. Tests let servers of their own through.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// Names with their addresses. Other names are looked up by the system.
    pub names: BTreeMap<String, Vec<IpAddr>>,
    /// Addresses with ports that can be reached although they are not public.
    pub let_through: Vec<SocketAddr>,
    /// A certificate (DER) that is trusted besides those of Mozilla's list.
    pub certificate: Option<Vec<u8>>,
}
