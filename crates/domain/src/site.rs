//! The site as the domain sees it: its store, its rules and its password worker.

use crate::action::Turns;
use crate::cache::Caches;
use crate::error::Error;
use crate::jobs::Jobs;
use crate::passwords::PasswordWorker;
use crate::rates::Buckets;
use crate::values::rules::Rules;
use std::sync::atomic::AtomicU64;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, Store};
use tokio::sync::{Mutex, MutexGuard};

/// The default of the setting `site.url`.
const DEFAULT_ADDRESS: &str = "http://localhost:8080";

/// Everything that an action of the domain needs besides its input.
pub struct Site {
    /// The store.
    pub store: Store,
    /// The rules that the operator chose.
    pub rules: Rules,
    /// Hashes and verifies passwords.
    pub passwords: PasswordWorker,
    /// The background jobs that this server's actions have queued.
    pub(crate) jobs: Jobs,
    /// The address of the site, without a slash at the end.
    pub address: String,
    /// The caches.
    pub caches: Caches,
    /// Held while a list of topics is built, one at a time, so that other writes come in
    /// between.
    pub(crate) building: Mutex<()>,
    /// When ranks were refreshed last, in Unix seconds, at the beginning of the list and
    /// further down; see [`crate::news::ranks::is_due`].
    pub(crate) ranks_refreshed: [AtomicU64; 2],
    /// The locks by which actions take turns; see [`Site::act`].
    pub(crate) turns: Turns,
    /// The rates of what this server has seen.
    pub(crate) buckets: Buckets,
    login_turns: Turns,
}

/// The outcome of a batch.
pub(crate) enum Applied {
    /// It was applied.
    Yes(Committed),
    /// This check failed; nothing was written.
    No(CheckId),
}

impl Site {
    /// A site on a store.
    #[must_use]
    pub fn new(store: Store, rules: Rules, passwords: PasswordWorker) -> Self {
        Self {
            store,
            rules,
            passwords,
            jobs: Jobs::default(),
            address: DEFAULT_ADDRESS.to_owned(),
            caches: Caches::default(),
            building: Mutex::new(()),
            ranks_refreshed: Default::default(),
            turns: Turns::default(),
            buckets: Buckets::default(),
            login_turns: Turns::default(),
        }
    }

    /// The same site with another address.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        address.trim_end_matches('/').clone_into(&mut self.address);
        self
    }

    /// The same site with caches of about this many bytes together.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: u64) -> Self {
        self.caches = Caches::with_bytes(bytes);
        self
    }

    /// Commits a batch whose checks may fail. To decide again after a failure, use
    /// [`Site::act`]. Rounds: 1.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn apply(&self, batch: Batch) -> Result<Applied, Error> {
        match self.store.commit(batch).await {
            Ok(committed) => Ok(Applied::Yes(committed)),
            Err(CommitError::Rejected(check)) => Ok(Applied::No(check)),
            Err(CommitError::Keyspace(error)) => Err(error.into()),
        }
    }

    /// Waits for the locks of the keys that count a login's failures. While they are held,
    /// no other login of this server with the same keys is between reading the count and
    /// incrementing it, so concurrent guesses get no more answers than sequential ones.
    pub(crate) async fn login_turns(&self, counted_by: &[String]) -> Vec<MutexGuard<'_, ()>> {
        self.login_turns.all(counted_by).await
    }
}
