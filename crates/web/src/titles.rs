//! Titles of pages of other sites, fetched when somebody who submits a link asks for one.
//!
//! The server then sends a request to an address that a person has chosen. So that nobody
//! reaches what only the server can reach, each address is checked after the look-up, and
//! the connection goes to exactly the address that was checked (`addresses`, `fetch`).
//! This is repeated for each redirect. `docs/security.md` lists the bounds.

mod addresses;
mod fetch;
mod page;

use crate::limits::{MAX_TITLE_FETCHES, TITLE_TIMEOUT};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::values::text::Title;
use tidings_domain::values::urls::NewsUrl;
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;

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

/// Why there is no title. None of the messages has a text of the other site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TitleError {
    /// The setting `web.fetch_titles` is off.
    #[error("this site does not fetch titles. Enter one yourself")]
    SwitchedOff,
    /// The name has no address, or one that is not public. Which one is not told, because
    /// that would reveal the names of the server's own network.
    #[error("this address is not on the public internet")]
    NotPublic,
    /// Another port than those of web sites.
    #[error("titles are fetched from the ports 80 and 443 only")]
    Port,
    /// A redirect leads to something that is not an http or https URL.
    #[error("this page leads to an address that is not a web page")]
    BadRedirect,
    /// Too many redirects.
    #[error("this page leads from one address to the next too often")]
    TooManyRedirects,
    /// No connection, or one that broke.
    #[error("the site could not be reached")]
    Unreachable,
    /// A TLS connection that is not secure.
    #[error("the site has no valid certificate")]
    Insecure,
    /// It took too long.
    #[error("the site did not answer in time")]
    TimedOut,
    /// A status that is not a success.
    #[error("the site has no page at this address (its answer is {0})")]
    Status(u16),
    /// Not HTML.
    #[error("there is no web page at this address")]
    NotAPage,
    /// A page without a title.
    #[error("this page has no title")]
    NoTitle,
}

/// One of the fetches that may be under way at the same time.
#[derive(Clone)]
pub struct FetchPlace(#[allow(dead_code)] Arc<SemaphorePermit<'static>>);

impl FetchPlace {
    /// A place; `None` if [`MAX_TITLE_FETCHES`] are taken.
    #[must_use]
    pub fn take() -> Option<Self> {
        static PLACES: Semaphore = Semaphore::const_new(MAX_TITLE_FETCHES);
        PLACES.try_acquire().ok().map(|permit| Self(Arc::new(permit)))
    }
}

/// Refuses a URL for which no look-up is needed: another port, or an address that is not public.
///
/// # Errors
/// The [`TitleError`] that says why.
pub fn check_address(settings: &TitleSettings, url: &NewsUrl) -> Result<(), TitleError> {
    let url = Url::parse(url.as_str()).map_err(|_| TitleError::NotAPage)?;
    settings.network.check(&url).map(|_| ())
}

/// The title of the page at a URL. It reads at most
/// [`TITLE_BYTES`](crate::limits::TITLE_BYTES) from each of at most
/// [`TITLE_REDIRECTS`](crate::limits::TITLE_REDIRECTS) + 1 addresses.
/// `home` is the address of this site, which the other site is told.
///
/// # Errors
/// See [`TitleError`].
pub async fn fetch_title(
    settings: &TitleSettings,
    home: &Url,
    place: FetchPlace,
    url: &NewsUrl,
) -> Result<Title, TitleError> {
    let fetch = async {
        let url = Url::parse(url.as_str()).map_err(|_| TitleError::NotAPage)?;
        let page = fetch::fetch_page(&settings.network, home, &place, url).await?;
        // Parsing half a megabyte takes some milliseconds.
        let read = tokio::task::spawn_blocking(move || page.title());
        read.await.ok().flatten().ok_or(TitleError::NoTitle)
    };
    tokio::time::timeout(settings.timeout, fetch).await.unwrap_or(Err(TitleError::TimedOut))
}
