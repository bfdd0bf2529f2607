//! The kinds of values that settings have: how each is read from text and shown.

use super::Origin;
use crate::WrongUse;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use lettre::Address;
use lettre::message::Mailbox;
use strum::EnumString;
use tidings_domain::home_servers;
use tidings_domain::values::rates::seconds_of;
use tidings_domain::values::{
    Choice, Economy, JobsTopic, NameList, Networks, Pause, Rate, ReservedNames, SecondStepAt, SignupAnswers,
    SignupMode, SiteMarks, SiteReaders, TitlePrefixes,
};
use tidings_keyspace::flaw_of_sentinel_url;
use tidings_language::Tag;
use tidings_search::index::{Language, name_of};
use url::Url;

/// Shown in place of a secret.
pub(super) const CONCEALED: &str = "***";
const MOST_SECRET_CHARACTERS: usize = 1024;

/// Which values a setting can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ValueKind {
    /// A text that the type of the setting reads: which, in the words of an error message.
    Form(&'static str),
    /// The same, with commas between several.
    List(&'static str),
    /// The same, or the number 0, which switches it off.
    Limit(&'static str),
    /// The same, with a password in it that is never shown.
    Url(&'static str),
    /// So many characters of these, with commas between them.
    Words(&'static str, usize),
    /// One line of text.
    Line {
        /// The fewest characters.
        least: usize,
        /// The most characters.
        most: usize,
    },
    /// One line of text that is never shown.
    Secret,
    /// True or false.
    Switch,
    /// A whole number.
    Whole {
        /// The unit that is counted, as it follows "a whole number".
        unit: &'static str,
        /// The smallest.
        least: i64,
        /// The greatest.
        most: u64,
    },
    /// A [`SearchLanguage`].
    SearchLanguage,
    /// A number with decimals.
    Decimal {
        /// The smallest.
        least: f64,
        /// The greatest.
        most: f64,
    },
}

impl ValueKind {
    /// The expected values, in the words of an error message.
    fn expected(&self) -> String {
        match self {
            Self::Form(expected) | Self::List(expected) | Self::Limit(expected) | Self::Url(expected) => {
                (*expected).to_owned()
            }
            Self::SearchLanguage => format!(
                "site, {} or none",
                SearchLanguage::LANGUAGES.map(|(language, _)| name_of(Some(language))).join(", ")
            ),
            Self::Words(what, most) => format!("{what} with commas between them, at most {most} characters"),
            Self::Line { least: 0, most } => format!("one line of at most {most} characters"),
            Self::Line { least, most } => format!("one line of {least} to {most} characters"),
            Self::Secret => format!("one line of at most {MOST_SECRET_CHARACTERS} characters"),
            Self::Switch => "true or false".to_owned(),
            Self::Whole { unit, least, most } => format!("a whole number{unit} from {least} to {most}"),
            Self::Decimal { least, most } => format!("a number from {least} to {most}"),
        }
    }

    /// The text of a value in a file, unless it is of another type than this kind.
    pub(super) fn text_of(&self, value: &toml::Value) -> Option<String> {
        use toml::Value;
        match (self, value) {
            (Self::Switch, Value::Boolean(switch)) => Some(switch.to_string()),
            (Self::Whole { .. } | Self::Decimal { .. }, Value::Integer(number)) => Some(number.to_string()),
            // It is switched off in the same way as limits that are numbers.
            (Self::Limit(_), Value::Integer(0)) => Some("0".to_owned()),
            (Self::Decimal { .. }, Value::Float(number)) => Some(number.to_string()),
            (Self::Switch | Self::Whole { .. } | Self::Decimal { .. }, _) => None,
            (_, Value::String(text)) => Some(text.clone()),
            (Self::Words(..) | Self::List(_), Value::Array(values)) => {
                let values: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
                let values = values.filter(|values| !values.iter().any(|value| value.contains(',')))?;
                Some(values.join(", "))
            }
            _ => None,
        }
    }

    /// Whether a text has no control characters, and not more or fewer characters than it may.
    fn fits(&self, text: &str) -> bool {
        let (least, most) = match self {
            Self::Line { least, most } => (*least, *most),
            Self::Words(_, most) => (0, *most),
            _ => (0, MOST_SECRET_CHARACTERS),
        };
        (least..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    }

    /// An accepted value as it is written in a file, secrets concealed.
    pub(super) fn shown(&self, text: &str) -> String {
        let number = match self {
            Self::Switch => Some(text.to_owned()),
            Self::Whole { .. } => i128::from_text(text, self).map(|number| number.to_string()),
            Self::Decimal { .. } => {
                f64::from_text(text, self).map(|number| toml::Value::Float(number).to_string())
            }
            Self::Secret if text.is_empty() => Some("\"\"".to_owned()),
            _ => None,
        };
        number.unwrap_or_else(|| self.concealed(toml::Value::from(text).to_string()))
    }

    /// Whether a value is a secret, which is not shown at all.
    pub(super) fn conceals(&self, text: &str) -> bool {
        matches!(self, Self::Secret) && !text.is_empty()
    }

    /// Whether a text is one that was shown, with [`CONCEALED`] where a secret was.
    pub(super) fn has_concealment(&self, text: &str) -> bool {
        match self {
            Self::Secret => text == CONCEALED,
            Self::Url(_) => text.contains(CONCEALED) && without_credentials(text) == text,
            _ => false,
        }
    }

    /// A value as it may be shown.
    fn concealed(&self, literal: String) -> String {
        match self {
            Self::Secret => format!("\"{CONCEALED}\""),
            Self::Url(_) => without_credentials(&literal),
            _ => literal,
        }
    }

    /// The error for a value that is none of these.
    pub(super) fn wrong(&self, name: &str, literal: String, origin: &Origin) -> WrongUse {
        super::wrong(name, &self.concealed(literal), origin, &self.expected())
    }
}

/// A value that can be read from the text of a setting; `None` when it is not
/// one of its kind.
pub(super) trait FromText: Sized {
    fn from_text(text: &str, kind: &ValueKind) -> Option<Self>;
}

/// Reads the types with a word for each of their values, whole numbers and others between bounds, and types of other
/// parts by what those say.
macro_rules! read_from_text {
    ($($type:ty: |$text:ident, $kind:pat_param| $read:expr;)*) => {
        $(impl FromText for $type {
            fn from_text($text: &str, $kind: &ValueKind) -> Option<Self> {
                $read
            }
        })*
    };
}

/// The number of a text, if it is one between these.
fn between<T: FromStr + PartialOrd>(text: &str, least: T, most: T) -> Option<T> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

read_from_text! {
    bool: |text, _| text.parse().ok();
    SocketAddr: |text, _| text.parse().ok();
    Rate: |text, _| text.parse().ok();
    JobsTopic: |text, _| Self::parse(text);
    SignupMode: |text, _| Self::parse(text);
    SiteReaders: |text, _| Self::parse(text);
    Tag: |text, _| Self::parse(text);
    Economy: |text, _| Self::parse(text);
    SiteMarks: |text, _| text.parse().ok();
    TitlePrefixes: |text, kind| kind.fits(text).then(|| Self::parse(text));
    SignupAnswers: |text, kind| kind.fits(text).then(|| Self::parse(text));
    ReservedNames: |text, kind| kind.fits(text).then(|| Self::parse(text));
    String: |text, kind| kind.fits(text).then(|| text.to_owned());
    Networks: |text, kind| Vec::from_text(text, kind).map(Self);
    Secret: |text, kind| String::from_text(text, kind).map(Self);
    HubUrl: |text, _| web_page(text).map(Self);
    IssuerUrl: |text, _| web_page(text).filter(is_safe_issuer).map(Self);
    NameList: |text, kind| kind.fits(text).then(|| Self::parse(text));
    SecondStepAt: |text, _| Self::parse(text);
    Url: |text, _| web_page(text).filter(is_of_whole_host);
    url::Origin: |text, _| web_page(text).filter(is_of_whole_host).map(|url| url.origin());
    Mailbox: |text, _| text.parse().ok().filter(|_| !text.chars().any(char::is_control));
    LogFormat: |text, _| text.parse().ok();
    MailTls: |text, _| text.parse().ok();
    i128: |text, kind| match kind {
        ValueKind::Whole { least, most, .. } => between(text, (*least).into(), (*most).into()),
        _ => None,
    };
    u64: |text, kind| i128::from_text(text, kind)?.try_into().ok();
    i64: |text, kind| i128::from_text(text, kind)?.try_into().ok();
    f64: |text, kind| match kind {
        ValueKind::Decimal { least, most } => between(text, *least, *most),
        _ => None,
    };
}

/// An empty text is none.
impl<T: FromText> FromText for Option<T> {
    fn from_text(text: &str, kind: &ValueKind) -> Option<Self> {
        if text.is_empty() { Some(None) } else { T::from_text(text, kind).map(Some) }
    }
}

/// Values with commas between them.
impl<T: FromText> FromText for Vec<T> {
    fn from_text(text: &str, kind: &ValueKind) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::new());
        }
        text.split(',').map(|entry| T::from_text(entry.trim(), kind)).collect()
    }
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    /// Text, for people.
    Text,
    /// An object in each line, for programs.
    Json,
}

/// The URL of a web page, if it has no username, password or fragment.
fn web_page(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let fits = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    fits.then_some(url)
}

/// Whether the URL of a page has nothing after its host and port.
fn is_of_whole_host(url: &Url) -> bool {
    url.path() == "/" && url.query().is_none()
}

impl FromText for IpNet {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let address = || text.parse::<IpAddr>().ok().map(|address| Self::from(address.to_canonical()));
        text.parse().ok().or_else(address)
    }
}

/// Where people send requests to whoever runs the site; may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact(pub String);

impl FromText for Contact {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let is_page = || Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        let fits = text.is_empty() || is_page() || text.parse::<Address>().is_ok();
        fits.then(|| Self(text.to_owned()))
    }
}

/// The language of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchLanguage {
    /// That of the site.
    Site,
    /// A language; `None` finds words as they are.
    Of(Option<Language>),
}

impl SearchLanguage {
    /// All languages with their tags, in the order of their names.
    const LANGUAGES: [(Language, &str); 18] = {
        use Language::{
            Arabic, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian, Norwegian,
            Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Turkish,
        };
        [
            (Arabic, "ar"),
            (Danish, "da"),
            (Dutch, "nl"),
            (English, "en"),
            (Finnish, "fi"),
            (French, "fr"),
            (German, "de"),
            (Greek, "el"),
            (Hungarian, "hu"),
            (Italian, "it"),
            (Norwegian, "no"),
            (Portuguese, "pt"),
            (Romanian, "ro"),
            (Russian, "ru"),
            (Spanish, "es"),
            (Swedish, "sv"),
            (Tamil, "ta"),
            (Turkish, "tr"),
        ]
    };

    /// The language of searches on a site that speaks a language.
    pub fn on(self, site: &Tag) -> Option<Language> {
        match self {
            Self::Site => {
                let known = |name: &str| Self::LANGUAGES.into_iter().find(|(_, tag)| *tag == name);
                site.wider().find_map(known).map(|(language, _)| language)
            }
            Self::Of(language) => language,
        }
    }
}

impl FromText for SearchLanguage {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let mut known = Self::LANGUAGES.into_iter().map(|(language, _)| Some(language)).chain([None]);
        match text {
            "site" => Some(Self::Site),
            text => known.find(|language| name_of(*language) == text).map(Self::Of),
        }
    }
}

/// The longest interval, in seconds: ten years.
const MOST_INTERVAL_SECONDS: u32 = 3_650 * 86_400;

/// How often something happens: a whole number of seconds, minutes, hours or days.
impl FromText for Duration {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let seconds = seconds_of(text).filter(|seconds| (1..=MOST_INTERVAL_SECONDS).contains(seconds))?;
        Some(Self::from_secs(seconds.into()))
    }
}

impl FromText for Pause {
    fn from_text(text: &str, kind: &ValueKind) -> Option<Self> {
        if text == "0" {
            Some(Self(0))
        } else {
            Duration::from_text(text, kind).map(|time| Self(time.as_secs()))
        }
    }
}

/// Whether mail goes over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum MailTls {
    /// Over TLS or not at all.
    Required,
    /// Over TLS if the relay offers it. Mail with a secret: over TLS or not at all.
    Opportunistic,
    /// In clear, reset links too.
    None,
}

/// The name of a host, in lower case and in ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(pub String);

impl FromText for HostName {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        match url::Host::parse(text).ok()? {
            url::Host::Domain(name) => Some(Self(name)),
            // Addresses are always answered for.
            url::Host::Ipv4(_) | url::Host::Ipv6(_) => None,
        }
    }
}

/// A mail server: host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relay {
    /// The name or address, an IPv6 address without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

/// The address of a hub for feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubUrl(pub Url);

/// The issuer of an OpenID provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerUrl(pub Url);

/// Whether nobody between this server and an issuer can read along. An issuer has no query.
fn is_safe_issuer(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.query().is_none() && (url.scheme() == "https" || is_here)
}

impl FromText for Relay {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let host = match url::Host::parse(host).ok()? {
            url::Host::Domain(domain) => domain,
            url::Host::Ipv4(address) => address.to_string(),
            url::Host::Ipv6(address) => address.to_string(),
        };
        Some(Self { host, port })
    }
}

/// A secret that is in no log: `Debug` shows `***`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(CONCEALED)
    }
}

/// The URL of a store. It may hold a password, so `Debug` and `Display` leave
/// the credentials out.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// The whole URL, to open the store with.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder of an embedded store's file.
    pub fn folder(&self) -> Option<PathBuf> {
        file_of(&self.0).map(folder_of)
    }

    /// The folder of the search index beside the store; `None` in memory.
    pub fn search_folder(&self) -> Option<PathBuf> {
        if self.0.starts_with("redb:") {
            return file_of(&self.0).map(|path| format!("{}.search", path.display()).into());
        }
        Some("tidings.search".into())
    }
}

/// The file of the embedded store with this URL; `None` without one.
pub fn file_of(store: &str) -> Option<&Path> {
    store.strip_prefix("redb:").filter(|path| *path != ":memory:").map(Path::new)
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

impl FromText for StoreUrl {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        let known = match text.split_once(':')? {
            ("redb", path) => !path.is_empty(),
            ("redis" | "rediss", _) => Url::parse(text).is_ok_and(|url| url.has_host()),
            ("redis+sentinel" | "rediss+sentinel", _) => flaw_of_sentinel_url(text).is_none(),
            // No store can be there. The error on opening it says why, and what to do instead.
            ("redis+cluster" | "rediss+cluster", _) => true,
            _ => false,
        };
        (known && !text.chars().any(char::is_control)).then(|| Self(text.to_owned()))
    }
}

macro_rules! shown_without_credentials {
    ($($trait:ident for $type:ident,)*) => {
        $(impl fmt::$trait for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&without_credentials(&self.0))
            }
        })*
    };
}

shown_without_credentials!(Display for StoreUrl, Debug for StoreUrl, Display for TimelinesUrl, Debug for TimelinesUrl,);

/// Where home timelines are; empty for the store. It may hold a password, so `Debug` and
/// `Display` leave the credentials out.
#[derive(Clone, PartialEq, Eq)]
pub struct TimelinesUrl(String);

impl TimelinesUrl {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromText for TimelinesUrl {
    fn from_text(text: &str, _: &ValueKind) -> Option<Self> {
        (text.is_empty() || home_servers::open(text).is_ok()).then(|| Self(text.to_owned()))
    }
}

/// The URL with `***` for everything between `://` and the last `@`, which is
/// where a password could be even when the URL is not well formed.
fn without_credentials(url: &str) -> String {
    // The password of the Sentinels, and whatever follows it.
    let (url, end) = match url.split_once("sentinel_password=") {
        Some((url, password)) => {
            let quote = if password.ends_with('"') { "\"" } else { "" };
            (url, format!("sentinel_password={CONCEALED}{quote}"))
        }
        None => (url, String::new()),
    };
    let shown = match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) if scheme.len() < url.len() - rest.len() => {
            format!("{scheme}://{CONCEALED}@{rest}")
        }
        _ => url.to_owned(),
    };
    shown + &end
}
