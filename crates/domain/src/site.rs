//! The site as the domain sees it: its store, its rules and its password worker.

use crate::cache::Caches;
use crate::passwords::PasswordWorker;
use crate::process_state::{ProcessState, States};
use crate::values::{Changeable, Rules};
use crate::{Error, Result, changes};
use std::net::IpAddr;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, History, Store};

/// The default of the setting `site.url`.
const DEFAULT_ADDRESS: &str = "http://localhost:8080";

/// Everything that an action of the domain needs besides its input.
pub struct Site {
    /// The store.
    pub store: Store,
    /// The rules that the operator chose.
    pub rules: Changeable<Rules>,
    /// Hashes and verifies passwords.
    pub passwords: PasswordWorker,
    /// The address of the site, without a slash at the end.
    pub address: String,
    /// The configured name of the site.
    pub name: String,
    /// Whether only this machine can reach the server directly: it listens on a loopback address.
    pub is_local: bool,
    /// Whether the site sends mail.
    pub sends_mail: bool,
    /// Whether a command of the operator acts on it, and not the server.
    pub(crate) is_for_command: bool,
    /// The caches.
    pub caches: Caches,
    states: States,
}

/// The outcome of a batch.
pub(crate) enum Applied {
    /// It was applied.
    Yes(Committed),
    /// This check failed; nothing was written.
    No(CheckId),
}

impl Applied {
    /// The new values of the batch's counters.
    ///
    /// # Errors
    /// This one, if a check failed.
    pub(crate) fn or(self, failure: impl Into<Error>) -> Result<Committed> {
        match self {
            Self::Yes(committed) => Ok(committed),
            Self::No(_) => Err(failure.into()),
        }
    }
}

#[cfg(test)]
impl Site {
    /// A site for a test, on a store of its own.
    pub async fn in_memory() -> Self {
        Self::on(Store::in_memory().await.unwrap())
    }

    /// A site for a test.
    pub fn on(store: Store) -> Self {
        Self::new(store, Rules::default(), PasswordWorker::default())
    }
}

impl Site {
    /// A site on a store.
    pub fn new(store: Store, rules: Rules, passwords: PasswordWorker) -> Self {
        Self {
            store,
            rules: rules.into(),
            passwords,
            address: DEFAULT_ADDRESS.to_owned(),
            name: String::new(),
            is_local: false,
            sends_mail: false,
            is_for_command: false,
            caches: Caches::default(),
            states: States::default(),
        }
    }

    /// The state of a feature in the memory of this process.
    pub fn of<T: ProcessState>(&self) -> &T {
        self.states.of()
    }

    /// The same site with another address.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        address.trim_end_matches('/').clone_into(&mut self.address);
        self
    }

    /// The same site with a name.
    #[must_use]
    pub fn called(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The same site, which listens on this address. On a loopback address, the first account is
    /// the administrator.
    #[must_use]
    pub const fn listening_on(mut self, address: IpAddr) -> Self {
        self.is_local = address.is_loopback();
        self
    }

    /// The same site, on which a command of the operator acts.
    #[must_use]
    pub const fn for_command(mut self) -> Self {
        self.is_for_command = true;
        self
    }

    /// The same site, which sends mail or does not.
    #[must_use]
    pub const fn sending_mail(mut self, sends_mail: bool) -> Self {
        self.sends_mail = sends_mail;
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
    pub(crate) async fn apply(&self, batch: Batch) -> Result<Applied> {
        apply(&self.store, batch).await
    }
}

/// [`Site::apply`] on a store.
pub(crate) async fn apply(store: &Store, mut batch: Batch) -> Result<Applied> {
    changes::note(&mut batch);
    applied(store.commit(batch).await)
}

/// [`apply`] of a batch that was decided in this history of a store.
///
/// # Errors
/// When the store fails, or has another server by now.
pub(crate) async fn apply_in(store: &Store, history: &History, mut batch: Batch) -> Result<Applied> {
    changes::note(&mut batch);
    applied(store.commit_in(history, batch).await)
}

fn applied(outcome: Result<Committed, CommitError>) -> Result<Applied> {
    match outcome {
        Ok(committed) => Ok(Applied::Yes(committed)),
        Err(CommitError::Rejected(check)) => Ok(Applied::No(check)),
        Err(CommitError::Keyspace(error)) => Err(error.into()),
    }
}
