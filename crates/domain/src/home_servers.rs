//! The server on which home timelines are, if they are apart from the store (`timelines.store`): its connections,
//! and whether it can be used. `timelines::homes` deals with the data on it.

use crate::{Error, Site, keys};
use parking_lot::Mutex;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tidings_keyspace::{KeyspaceError, OpenError, SetRead, ShardedSets, StoreHealth, without_password};

/// How long one call may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long readers do without the server after a call has failed.
const AWAY: Duration = Duration::from_secs(1);

/// The server of a site; empty if home timelines are in the store.
#[derive(Default)]
struct SiteHomes(OnceLock<Arc<HomeServer>>);

crate::process_state::process_state!(SiteHomes);

impl Site {
    /// The same site with home timelines on the server of a URL; in the store if it is empty. The server is
    /// connected when it is first used.
    ///
    /// # Errors
    /// When it is no such URL.
    pub fn with_homes_at(self, url: &str) -> Result<Self, OpenError> {
        if !url.is_empty() {
            let server = HomeServer::new(open(url)?, without_password(url));
            self.of::<SiteHomes>().0.get_or_init(|| Arc::new(server));
        }
        Ok(self)
    }

    /// The server of home timelines, if they are apart from the store.
    pub(crate) fn home_server(&self) -> Option<&Arc<HomeServer>> {
        self.of::<SiteHomes>().0.get()
    }
}

/// Opens a server for home timelines.
///
/// # Errors
/// When the URL is none.
pub fn open(url: &str) -> Result<ShardedSets, OpenError> {
    ShardedSets::awaited(url, TIMEOUT)
}

/// Looks whether home timelines can be where the settings say. In the store of a site they could not be told from
/// its own.
///
/// # Errors
/// When the server is the store of a site. An absent server is no error.
pub async fn look(site: &Site) -> Result<(), OpenError> {
    let Some(server) = site.home_server() else { return Ok(()) };
    let bounds = (f64::NEG_INFINITY, f64::INFINITY);
    let version = SetRead { key: keys::LAYOUT_VERSION.to_owned(), bounds, limit: 1, keep: 1 };
    // It is a text, and only there if a store is.
    match server.sets.read(vec![version]).await {
        Err(KeyspaceError::WrongType(_)) => Err(OpenError::Engine {
            url: server.shown.clone(),
            reason: "this database is the store of a site; name a server of its own, or another \
                     database by /NUMBER"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Where home timelines are that are apart from the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HomesStatus {
    /// The URL of their server, without a password.
    pub store: String,
    /// Why it cannot be used now.
    pub cause: Option<String>,
}

/// Where home timelines are, and whether their server works; `None` if they are in the store.
pub async fn status(site: &Site) -> Option<HomesStatus> {
    let server = site.home_server()?;
    let trouble = match server.sets.health().await {
        StoreHealth::Works => None,
        StoreHealth::ReadOnly(cause) => Some(Error::Store(KeyspaceError::ReadOnly(cause))),
        StoreHealth::Unavailable(cause) => Some(Error::Store(KeyspaceError::Unavailable(cause))),
    };
    Some(HomesStatus { store: server.shown.clone(), cause: trouble.map(|error| error.to_string()) })
}

/// A server or a cluster with home timelines.
pub(crate) struct HomeServer {
    pub(crate) sets: ShardedSets,
    /// Tells it from other servers: a part of the hash of its URL without a password.
    pub(crate) name: String,
    /// Its URL, for the log.
    shown: String,
    is_lost: AtomicBool,
    lost_at: Mutex<Option<Instant>>,
}

impl HomeServer {
    fn new(sets: ShardedSets, shown: String) -> Self {
        let mut name = hex::encode(Sha256::digest(&shown));
        name.truncate(16);
        Self { sets, name, shown, is_lost: AtomicBool::new(false), lost_at: Mutex::new(None) }
    }

    /// Notes how a call has ended, and logs when the server is lost and when it is back.
    ///
    /// # Errors
    /// The one of the call.
    pub(crate) fn note<T>(&self, outcome: Result<T, KeyspaceError>) -> Result<T, KeyspaceError> {
        match &outcome {
            Ok(_) if self.is_lost.swap(false, Ordering::Relaxed) => {
                tracing::info!(server = self.shown, "the home timelines are back");
            }
            Ok(_) => {}
            Err(error) => {
                *self.lost_at.lock() = Some(Instant::now());
                if !self.is_lost.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        server = self.shown,
                        %error,
                        "the home timelines cannot be reached; pages are made without them, and deliveries wait"
                    );
                }
            }
        }
        outcome
    }

    /// Whether a call has just failed.
    pub(crate) fn is_away(&self) -> bool {
        let lost_at = *self.lost_at.lock();
        self.is_lost.load(Ordering::Relaxed) && lost_at.is_some_and(|lost_at| lost_at.elapsed() < AWAY)
    }
}
