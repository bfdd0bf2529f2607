//! The site as the domain sees it: its store, its rules, its password worker,
//! and the one way to apply a decision that others may race with.

use crate::cache::Caches;
use crate::error::Error;
use crate::passwords::PasswordWorker;
use crate::timelines::deliveries::Deliveries;
use crate::values::rules::Rules;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicU64;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, Store};
use tokio::sync::{Mutex, MutexGuard};

/// Attempts before an action gives up as [`Error::Busy`].
const ATTEMPTS: usize = 24;
/// Locks that contended actions spread over.
const LOCKS: usize = 64;

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
    /// What is done in the background.
    pub deliveries: Deliveries,
    /// Where the site is reached, without a slash at the end.
    pub address: String,
    /// What is cached.
    pub caches: Caches,
    /// Held by who builds a list of topics: others write in between.
    pub(crate) building: Mutex<()>,
    /// When ranks were refreshed last, in Unix seconds, at the beginning of the list and
    /// further down; see [`crate::news::ranks::is_due`].
    pub(crate) ranks_refreshed: [AtomicU64; 2],
    locks: Vec<Mutex<()>>,
    login_locks: Vec<Mutex<()>>,
}

/// What became of a batch.
pub enum Applied {
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
            deliveries: Deliveries::default(),
            address: DEFAULT_ADDRESS.to_owned(),
            caches: Caches::default(),
            building: Mutex::new(()),
            ranks_refreshed: Default::default(),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            login_locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
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

    /// Commits a batch whose checks may fail.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn apply(&self, batch: Batch) -> Result<Applied, Error> {
        match self.store.commit(batch).await {
            Ok(committed) => Ok(Applied::Yes(committed)),
            Err(CommitError::Rejected(check)) => Ok(Applied::No(check)),
            Err(CommitError::Keyspace(error)) => Err(error.into()),
        }
    }

    /// The attempts of an action that others may race with: read, decide,
    /// commit, and all over again when a check did not hold. `home` names what
    /// they race for.
    #[must_use]
    pub fn attempts(&self, home: &str) -> Attempts<'_> {
        Attempts { lock: self.locks.get(stripe(home)), turn: None, made: 0 }
    }

    /// Waits for one's turn at everything that a login is counted by. While
    /// the turns are held, no other login of this server that is counted by
    /// the same is between looking at the count and adding to it: a crowd of
    /// concurrent guesses gets no more answers than a patient one.
    pub(crate) async fn login_turns(&self, counted_by: &[String]) -> Vec<MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = counted_by.iter().map(|key| stripe(key)).collect();
        // Everybody takes the locks in the same order, and each once: nobody waits in a circle.
        stripes.sort_unstable();
        stripes.dedup();
        let mut turns = Vec::with_capacity(stripes.len());
        for lock in stripes.into_iter().filter_map(|stripe| self.login_locks.get(stripe)) {
            turns.push(lock.lock().await);
        }
        turns
    }
}

/// Which of the locks guards a key.
fn stripe(key: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0)
}

/// The attempts of one action; see [`Site::attempts`].
pub struct Attempts<'a> {
    lock: Option<&'a Mutex<()>>,
    turn: Option<MutexGuard<'a, ()>>,
    made: usize,
}

impl Attempts<'_> {
    /// Waits until the next attempt may begin. The first is optimistic, unless
    /// others are taking turns already; after a conflict those of this server
    /// that want the same home take turns, so that no crowd starves itself.
    ///
    /// # Errors
    /// [`Error::Busy`] after two dozen conflicts.
    pub async fn next(&mut self) -> Result<(), Error> {
        if self.made == ATTEMPTS {
            return Err(Error::Busy);
        }
        if let Some(lock) = self.lock
            && self.turn.is_none()
            && (self.made > 0 || lock.try_lock().is_err())
        {
            self.turn = Some(lock.lock().await);
        }
        self.made += 1;
        Ok(())
    }
}
