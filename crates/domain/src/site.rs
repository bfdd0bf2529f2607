//! The site as the domain sees it: its store, its rules and its password worker.

use crate::action::Turns;
use crate::cache::Caches;
use crate::error::Error;
use crate::jobs::Jobs;
use crate::passwords::PasswordWorker;
use crate::values::rules::Rules;
use std::sync::atomic::AtomicU64;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, Store};
use tokio::sync::{Mutex, MutexGuard};

/// Where a site is reached that was not told; the default of `site.url`.
const DEFAULT_ADDRESS: &str = "http://localhost:8080";

/// Everything that an action of the domain needs beside its input.
pub struct Site {
    /// The store.
    pub store: Store,
    /// The rules that the operator chose.
    pub rules: Rules,
    /// Where passwords are hashed.
    pub passwords: PasswordWorker,
    /// The background jobs that this server's actions have caused.
    pub(crate) jobs: Jobs,
    /// Where the site is reached, without a slash at the end.
    pub address: String,
    /// What is cached.
    pub caches: Caches,
    /// Held by who builds a list of topics: others write in between.
    pub(crate) building: Mutex<()>,
    /// When ranks were refreshed last, in Unix seconds, at the beginning of the list and
    /// further down; see [`crate::news::ranks::is_due`].
    pub(crate) ranks_refreshed: [AtomicU64; 2],
    /// What actions take turns at; see [`Site::act`].
    pub(crate) turns: Turns,
    login_turns: Turns,
}

/// What became of a batch.
pub(crate) enum Applied {
    /// It was applied.
    Yes(Committed),
    /// This check did not hold; nothing was written.
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
            login_turns: Turns::default(),
        }
    }

    /// The same site, reached at an address.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        address.trim_end_matches('/').clone_into(&mut self.address);
        self
    }

    /// The same site, with caches of another size: all of them together may take about so
    /// many bytes.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: u64) -> Self {
        self.caches = Caches::with_bytes(bytes);
        self
    }

    /// Commits a batch whose checks may fail. What is to be decided again then is an
    /// action: see [`Site::act`]. Rounds: 1.
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

    /// Waits for one's turn at everything that a login is counted by. While
    /// the turns are held, no other login of this server that is counted by
    /// the same is between looking at the count and adding to it: a crowd of
    /// concurrent guesses gets no more answers than a patient one.
    pub(crate) async fn login_turns(&self, counted_by: &[String]) -> Vec<MutexGuard<'_, ()>> {
        self.login_turns.all(counted_by).await
    }
}
