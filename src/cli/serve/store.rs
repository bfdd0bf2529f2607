//! Opening the store of a site, and waiting for one that is not there yet.

use super::service_manager;
use crate::cli::here::{NoSite, open_store, store_options};
use crate::config::Config;
use std::time::{Duration, Instant};
use tidings_domain::migrations::UnusableStore;
use tidings_keyspace::{OpenError, Store};
use tokio::time::sleep;

/// How long to wait for a file that another process has open: as long as one takes to stop, and
/// a little more.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
/// How often to look whether it is free.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// The pauses between attempts to reach a server: each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long the service manager is to wait after each attempt.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// The store of a site.
pub struct Opened {
    pub store: Store,
    /// Whether it cannot be used before [`wait_for`] has ended.
    pub is_awaited: bool,
}

/// Opens the configured store. Waits for a file that another process is about to close. A Redis
/// server that is not there is no error: the store is unavailable until it comes.
///
/// # Errors
/// A message for the operator, when only a change of the settings or of the store helps.
pub async fn open(config: &Config) -> anyhow::Result<Opened> {
    let began = Instant::now();
    let mut is_logged = false;
    loop {
        let error = match open_store(config).await {
            Ok(store) => return Ok(Opened { store, is_awaited: false }),
            Err(error) => error,
        };
        match error.downcast_ref::<OpenError>() {
            Some(OpenError::Locked { url, .. }) if began.elapsed() < LOCK_PATIENCE => {
                if !is_logged {
                    tracing::info!(store = url, "another process has the store open; waiting for its end");
                    is_logged = true;
                }
                sleep(LOCK_PAUSE).await;
            }
            Some(OpenError::Absent { reason, .. }) => {
                let options = store_options(config);
                let store = Store::awaited(config.server.store.as_str(), &options, reason.clone())?;
                return Ok(Opened { store, is_awaited: true });
            }
            _ => return Err(error),
        }
    }
}

/// Waits until an awaited store can be used, and lets it be used. Its health says meanwhile why it
/// cannot, and so does the log.
///
/// # Errors
/// When the server is there and refuses to be used: see [`open`].
pub async fn wait_for(store: &Store, config: &Config) -> anyhow::Result<()> {
    let (mut pause, mut is_logged) = (FIRST_PAUSE, false);
    loop {
        let error = match open_store(config).await {
            Ok(_) => break,
            Err(error) => error,
        };
        let is_unfilled =
            error.is::<NoSite>() || matches!(error.downcast_ref(), Some(UnusableStore::Unfinished(_)));
        let reason = match error.downcast_ref::<OpenError>() {
            Some(OpenError::Absent { reason, .. }) => reason.clone(),
            // It may be filled yet, by a backup or by its own file.
            None if is_unfilled => {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::error!("{error}");
                }
                error.to_string()
            }
            _ => return Err(error),
        };
        store.still_awaited(&reason);
        service_manager::tell_waiting(&reason, START_PATIENCE);
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    store.admit();
    Ok(())
}
