//! The settings of the web layer. The program fills them from its own settings.

use crate::languages::Languages;
use crate::limits::{self, PROVIDER_ASKED_EVERY, PROVIDER_PATIENCE, SEARCH_PATIENCE, TITLE_TIMEOUT};
use ipnet::IpNet;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tidings_search::index::Language;
use tidings_text::address::link_address;
use tidings_text::links::{Piece, text_and_links};
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
    /// The WebSub hub that is told when feeds change.
    pub hub: Option<Url>,
    /// Whether avatars of users with an e-mail address come from gravatar.com.
    pub gravatars: bool,
    /// The hour of the day (UTC) at which digests are mailed.
    pub digest_hour: u64,
    /// How long a request may take altogether.
    pub request_timeout: Duration,
    /// How titles of other sites' pages are fetched.
    pub titles: TitleSettings,
    /// The hosts that the site answers for, and the limits on connections.
    pub transport: TransportSettings,
    /// How often the figures of the administration page are stored.
    pub keep_figures_every: Duration,
    /// The folder of the embedded store's file, whose disk must have room; `None` without a file.
    pub store_folder: Option<PathBuf>,
    /// The search of this server.
    pub search: SearchSettings,
    /// The OpenID provider through which people log in.
    pub oidc: Option<OidcSettings>,
}

/// The OpenID provider through which people log in. The rules for it are among those of the domain.
#[derive(Debug, Clone, PartialEq)]
pub struct OidcSettings {
    /// Its address.
    pub issuer: Url,
    /// The name of this site there.
    pub client_id: String,
    /// The file with the secret of this site there.
    pub client_secret_file: PathBuf,
    /// Its name, for people.
    pub name: String,
    /// The scopes that are asked for, with spaces between them.
    pub scopes: String,
    /// The claim that has the groups of a person.
    pub groups_claim: String,
    /// How long an answer may take.
    pub patience: Duration,
    /// How often it is asked what it is while that fails.
    pub retry_every: Duration,
    /// The shortest time between two looks at its keys.
    pub keys_every: Duration,
}

impl OidcSettings {
    /// Those of an issuer, with nothing that it must know of this site.
    pub fn of(issuer: Url) -> Self {
        Self {
            issuer,
            client_id: String::new(),
            client_secret_file: PathBuf::new(),
            name: String::new(),
            scopes: String::new(),
            groups_claim: String::new(),
            patience: PROVIDER_PATIENCE,
            retry_every: PROVIDER_ASKED_EVERY,
            keys_every: PROVIDER_ASKED_EVERY,
        }
    }
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
    /// How long a search may take; then the results so far are the answer.
    pub patience: Duration,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            is_on: false,
            folder: None,
            language: Some(Language::English),
            threads: 1,
            patience: SEARCH_PATIENCE,
        }
    }
}

impl Settings {
    /// Whether an address is that of a trusted proxy.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&peer))
    }
}

/// The hosts that the site answers for, and the limits on connections.
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
    /// Where people send requests: an e-mail address, or the address of a page; may be empty.
    pub contact: String,
    /// The names of the hosts that the site had before, the first one first.
    pub old_hosts: Vec<String>,
    /// The languages that it can speak.
    pub languages: Languages,
}

impl SiteSettings {
    /// Whether visitors use https, so that cookies may be `Secure`.
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The full address of a page of this site, `path` beginning with `/`.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.url.as_str().trim_end_matches('/'))
    }

    /// The name of the host that the site began with, which ids of its entries keep when it moves.
    pub fn first_host(&self) -> &str {
        self.old_hosts.first().map(String::as_str).or(self.url.host_str()).unwrap_or_default()
    }

    /// A text in which links to hosts of the site before are links to the present one, as long as that makes the
    /// text at most twice as long.
    pub fn with_moved_links<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.old_hosts.is_empty() || !self.old_hosts.iter().any(|host| text.contains(host.as_str())) {
            return Cow::Borrowed(text);
        }
        let mut moved = String::with_capacity(text.len());
        let mut rest_bytes = text.len();
        for piece in text_and_links(text) {
            let (Piece::Text(part) | Piece::Link(part)) = piece;
            rest_bytes -= part.len();
            let link = if matches!(piece, Piece::Link(_)) { self.moved(part) } else { None };
            match link {
                Some(link) if moved.len() + link.len() + rest_bytes <= 2 * text.len() => {
                    moved.push_str(&link)
                }
                _ => moved.push_str(part),
            }
        }
        Cow::Owned(moved)
    }

    /// A link to this site, if it is one to an old host.
    fn moved(&self, link: &str) -> Option<String> {
        let link = link_address(link);
        let (_, after_scheme) = link.split_once("://")?;
        let end = after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len());
        let (host, path) = after_scheme.split_at(end);
        let is_old = self.old_hosts.iter().any(|old| old.eq_ignore_ascii_case(host));
        is_old.then(|| {
            if path.starts_with(['?', '#']) { self.link(&format!("/{path}")) } else { self.link(path) }
        })
    }
}

/// How titles are fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct TitleSettings {
    /// Whether they are.
    pub is_on: bool,
    /// How long a fetch may take altogether.
    pub timeout: Duration,
    /// The network that can be reached.
    pub network: Network,
}

impl Default for TitleSettings {
    fn default() -> Self {
        Self { is_on: true, timeout: TITLE_TIMEOUT, network: Network::default() }
    }
}

/// The network that titles are fetched from and that webhooks are in. By default it is the public internet, and no
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

#[cfg(test)]
mod tests {
    use crate::markup::test_support::settings;

    #[test]
    fn links_to_old_hosts_become_links_to_the_present_one() {
        let mut site = settings().site;
        site.old_hosts = vec!["old.example".to_owned(), "www.older.example".to_owned()];
        let here = "http://localhost:8080";
        for (text, shown) in [
            ("see https://old.example/news/7?a=1#b.", format!("see {here}/news/7?a=1#b.")),
            ("[it](http://OLD.example) (old.example/x)", format!("[it]({here}) (old.example/x)")),
            ("www.older.example/a", format!("{here}/a")),
            ("https://old.example?a", format!("{here}/?a")),
            ("https://old.example:8443/ https://x.old.example/ https://old.example.org/", String::new()),
            ("mail@old.example", String::new()),
        ] {
            let shown = if shown.is_empty() { text.to_owned() } else { shown };
            assert_eq!(site.with_moved_links(text), shown);
        }
        let many = "http://old.example ".repeat(50);
        site.url = "https://a-very-long-name-of-a-host-that-nobody-would-ever-choose.example"
            .parse()
            .expect("a URL");
        let shown = site.with_moved_links(&many);
        assert!(shown.contains("nobody") && shown.contains("old") && shown.len() <= 2 * many.len());
    }

    #[test]
    fn ids_keep_the_first_host() {
        let mut site = settings().site;
        assert_eq!(site.first_host(), "localhost");
        site.old_hosts = vec!["first.example".to_owned(), "second.example".to_owned()];
        assert_eq!(site.first_host(), "first.example");
    }
}
