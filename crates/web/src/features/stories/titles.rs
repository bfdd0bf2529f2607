//! Titles of pages of other sites, fetched when somebody who submits a link asks for one.
//!
//! The server then sends a request to an address that a person has chosen. So that nobody
//! reaches what only the server can reach, each address is checked after the look-up, and
//! the connection goes to exactly the address that was checked (`server::outgoing`).
//! This is repeated for each redirect. `docs/security.md` lists the bounds.

mod fetch;
mod page;

use crate::error::TitleError;
use crate::limits::{MAX_TITLE_FETCHES, TITLE_FETCHES_OF_ACCOUNT, TITLE_FETCHES_OF_NETWORK, TITLE_TIMEOUT};
use crate::server::outgoing::Ports;
use crate::settings::TitleSettings;
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use tidings_domain::values::{Network as ClientNetwork, NewsUrl, RatedAction, Title, UserId};
use tidings_domain::{Error, Refusal};
use url::Url;

/// The fetches that are under way, each with its account and network. Slow pages of one of them
/// leave places for others.
#[derive(Default)]
struct Fetches(Mutex<Vec<(UserId, ClientNetwork)>>);

impl Fetches {
    fn take(&'static self, account: UserId, address: IpAddr) -> Result<FetchPlace, Error> {
        let fetch = (account, ClientNetwork::of(address));
        let mut under_way = self.0.lock();
        if under_way.len() >= MAX_TITLE_FETCHES {
            return Err(Error::Busy);
        }
        let of_account = under_way.iter().filter(|other| other.0 == fetch.0).count();
        let of_network = under_way.iter().filter(|other| other.1 == fetch.1).count();
        let by_address = of_network >= TITLE_FETCHES_OF_NETWORK;
        if by_address || of_account >= TITLE_FETCHES_OF_ACCOUNT {
            let (action, seconds) = (RatedAction::FetchTitle, TITLE_TIMEOUT.as_secs());
            return Err(Refusal::TooManyRequests { action, by_address, seconds, lacking: None }.into());
        }
        under_way.push(fetch);
        Ok(FetchPlace(Arc::new(Place { fetches: self, fetch })))
    }
}

/// One of the fetches that may be under way at the same time.
#[derive(Clone)]
pub struct FetchPlace(#[allow(dead_code)] Arc<Place>);

struct Place {
    fetches: &'static Fetches,
    fetch: (UserId, ClientNetwork),
}

impl FetchPlace {
    /// A place for an account at an address.
    ///
    /// # Errors
    /// [`Error::Busy`] if [`MAX_TITLE_FETCHES`] are taken; [`Refusal::TooManyRequests`] if the account
    /// has [`TITLE_FETCHES_OF_ACCOUNT`] or the network [`TITLE_FETCHES_OF_NETWORK`] of them.
    pub fn take(account: UserId, address: IpAddr) -> Result<Self, Error> {
        static FETCHES: Fetches = Fetches(Mutex::new(Vec::new()));
        FETCHES.take(account, address)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = self.fetches.0.lock();
        if let Some(place) = under_way.iter().position(|fetch| *fetch == self.fetch) {
            under_way.swap_remove(place);
        }
    }
}

/// Refuses a URL for which no look-up is needed: another port, or an address that is not public.
///
/// # Errors
/// The [`TitleError`] that says why.
pub fn check_address(settings: &TitleSettings, url: &NewsUrl) -> Result<(), TitleError> {
    let url = Url::parse(url.as_str()).map_err(|_| TitleError::NotAPage)?;
    Ok(settings.network.check(&url, Ports::OfTheWeb).map(|_| ())?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_pages_of_one_account_or_network_leave_places_for_others() {
        let fetches: &'static Fetches = Box::leak(Box::default());
        let take = |account: u64, address: &str| fetches.take(UserId(account), address.parse().unwrap());
        let is_refused = |taken: Result<FetchPlace, Error>, by_network: bool| {
            matches!(taken, Err(Error::Refused(Refusal::TooManyRequests { by_address, seconds: 5, .. }))
                if by_address == by_network)
        };
        let of_account: Vec<_> = (1..3).map(|last| take(1, &format!("192.0.{last}.1")).unwrap()).collect();
        assert!(is_refused(take(1, "192.0.9.1"), false));
        let of_network: Vec<_> =
            (2..6).map(|account| take(account, &format!("2001:db8:1:{account}::1")).unwrap()).collect();
        assert!(is_refused(take(6, "2001:db8:1:99::1"), true));
        let others: Vec<_> =
            (0..10).map(|number| take(10 + number, &format!("198.51.{number}.1")).unwrap()).collect();
        assert!(matches!(take(99, "203.0.113.1"), Err(Error::Busy)));
        let copy = of_account[0].clone();
        drop((of_account, of_network, others));
        assert_eq!(fetches.0.lock().len(), 1);
        drop(copy);
        assert!(fetches.0.lock().is_empty());
    }
}
