//! The servers on which home timelines are, if they are apart from the store: their connections, and
//! whether they can be used. `timelines::place` deals with the data on them.

use crate::error::Error;
use crate::keys;
use crate::process_state::process_state;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tidings_keyspace::{KeyspaceError, OpenError, ShardedSets, StoreHealth, without_password};

/// How long one call may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);
/// How long readers do without the server after a call has failed.
const AWAY: Duration = Duration::from_secs(1);

/// The server on which home timelines are, as far as it was used.
#[derive(Default)]
pub(crate) struct HomeServers(Mutex<HashMap<String, Arc<HomeServer>>>);

process_state!(HomeServers);

impl HomeServers {
    /// The server of a URL. It is connected when it is first used.
    ///
    /// # Errors
    /// When it is no such URL.
    pub(crate) fn at(&self, url: &str) -> Result<Arc<HomeServer>, Error> {
        let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(url) {
            return Ok(server.clone());
        }
        let sets = open(url).map_err(|error| {
            Error::Store(KeyspaceError::Unavailable(format!("{}: {error}", keys::TIMELINE_PLACE)))
        })?;
        let server = Arc::new(HomeServer {
            sets,
            shown: without_password(url),
            is_lost: AtomicBool::new(false),
            lost_at: Mutex::new(None),
        });
        // Those of earlier moves are no longer needed.
        servers.clear();
        servers.insert(url.to_owned(), server.clone());
        Ok(server)
    }
}

/// Opens a server for home timelines.
///
/// # Errors
/// When the URL is none.
pub fn open(url: &str) -> Result<ShardedSets, OpenError> {
    ShardedSets::awaited(url, TIMEOUT)
}

/// A server or a cluster with home timelines.
pub(crate) struct HomeServer {
    pub(crate) sets: ShardedSets,
    /// Its URL, for the log.
    shown: String,
    is_lost: AtomicBool,
    lost_at: Mutex<Option<Instant>>,
}

impl HomeServer {
    /// Whether it can be used now.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) async fn demand_usable(&self) -> Result<(), Error> {
        match self.sets.health().await {
            StoreHealth::Works => Ok(()),
            StoreHealth::ReadOnly(cause) => Err(Error::Store(KeyspaceError::ReadOnly(cause))),
            StoreHealth::Unavailable(cause) => Err(Error::Store(KeyspaceError::Unavailable(cause))),
        }
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
                *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
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
        let lost_at = *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_lost.load(Ordering::Relaxed) && lost_at.is_some_and(|lost_at| lost_at.elapsed() < AWAY)
    }
}
