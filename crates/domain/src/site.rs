//! The site as the domain sees it: its store, its rules and its password worker.

use crate::action::Turns;
use crate::activity::{ActionCounters, Unkept};
use crate::cache::{Caches, Shared};
use crate::error::Error;
use crate::home_servers::HomeServers;
use crate::identity::Identity;
use crate::jobs::Jobs;
use crate::marks::PendingMarks;
use crate::passwords::PasswordWorker;
use crate::rates::Buckets;
use crate::repeats::AnsweredNames;
use crate::report::{BackgroundCheck, BackupReport, VoteRingReport};
use crate::review::WaitingRows;
use crate::values::changeable::Changeable;
use crate::values::ids::UserId;
use crate::values::limits::MAX_OWNERS_TO_TELL;
use crate::values::rules::Rules;
use crate::values::signing::SigningKey;
use std::net::IpAddr;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use tidings_keyspace::{Batch, CheckId, CommitError, Committed, Store};
use tokio::sync::{Mutex, OnceCell};

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
    /// What people have done on this server.
    pub actions: ActionCounters,
    /// What of it, and of what was answered, is not stored yet.
    pub(crate) unkept: Unkept,
    /// The background jobs that this server's actions have queued.
    pub(crate) jobs: Jobs,
    /// How far this server's readers have read threads, until it is stored.
    pub(crate) marks: PendingMarks,
    /// The address of the site, without a slash at the end.
    pub address: String,
    /// Whether only this machine can reach the server directly: it listens on a loopback address.
    pub is_local: bool,
    /// Whether the site sends mail.
    pub sends_mail: bool,
    /// Whether a command of the operator acts on it, and not the server.
    pub(crate) is_for_command: bool,
    /// The caches.
    pub caches: Caches,
    /// Held while a list of topics is built, one at a time, so that other writes come in
    /// between.
    pub(crate) building: Mutex<()>,
    /// Held while the list of a day or a month is built.
    pub(crate) building_past: Mutex<()>,
    /// The accounts of which exports are under way, each as often as it has some.
    pub(crate) exporting: std::sync::Mutex<Vec<UserId>>,
    /// The backups that this server makes.
    pub backup: BackupReport,
    /// The search for vote rings.
    pub vote_rings: BackgroundCheck<VoteRingReport>,
    /// When ranks were refreshed last, in Unix seconds, at the beginning of the list and
    /// further down; see [`crate::news::ranks::is_due`].
    pub(crate) ranks_refreshed: [AtomicU64; 2],
    /// The servers on which home timelines are apart from the store.
    pub(crate) home_servers: HomeServers,
    /// The locks by which actions take turns; see [`Site::act`].
    pub(crate) turns: Turns,
    /// Accounts whose owners are to be told that many addresses try to log in to them.
    attacked: std::sync::Mutex<Vec<UserId>>,
    /// The rates of what this server has seen.
    pub(crate) buckets: Buckets,
    /// The latest requests with names that this server has answered.
    pub(crate) answered: AnsweredNames,
    /// The key of the site's signatures, once it is known.
    pub(crate) signing_key: OnceCell<SigningKey>,
    /// The secret of the tags of networks, once it was read.
    pub(crate) network_secret: tokio::sync::OnceCell<String>,
    /// How many rows of the review queue wait.
    pub(crate) waiting_rows: WaitingRows,
    /// The identity that was read last.
    last_identity: std::sync::Mutex<Shared<Identity>>,
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
            rules: rules.into(),
            passwords,
            actions: ActionCounters::default(),
            unkept: Unkept::default(),
            jobs: Jobs::default(),
            marks: PendingMarks::default(),
            address: DEFAULT_ADDRESS.to_owned(),
            is_local: false,
            sends_mail: false,
            is_for_command: false,
            caches: Caches::default(),
            building: Mutex::new(()),
            building_past: Mutex::new(()),
            exporting: std::sync::Mutex::default(),
            backup: BackupReport::default(),
            vote_rings: BackgroundCheck::default(),
            ranks_refreshed: Default::default(),
            home_servers: HomeServers::default(),
            turns: Turns::default(),
            attacked: std::sync::Mutex::default(),
            buckets: Buckets::default(),
            answered: AnsweredNames::default(),
            signing_key: OnceCell::new(),
            network_secret: tokio::sync::OnceCell::new(),
            waiting_rows: WaitingRows::default(),
            last_identity: std::sync::Mutex::new(Identity::default().into()),
        }
    }

    /// The same site with another address.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        address.trim_end_matches('/').clone_into(&mut self.address);
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
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn apply(&self, batch: Batch) -> Result<Applied, Error> {
        apply(&self.store, batch).await
    }

    /// Notes an account whose owner is to be told that many addresses try to log in to it.
    pub(crate) fn note_attacked(&self, id: UserId) {
        let mut attacked = self.attacked.lock().unwrap_or_else(PoisonError::into_inner);
        if attacked.len() < MAX_OWNERS_TO_TELL {
            attacked.push(id);
        }
    }

    /// The identity that was read last; that of the configuration before the first read.
    pub(crate) fn last_identity(&self) -> Shared<Identity> {
        self.last_identity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers the identity that was just read.
    pub(crate) fn remember_identity(&self, identity: &Shared<Identity>) {
        *self.last_identity.lock().unwrap_or_else(PoisonError::into_inner) = identity.clone();
    }

    /// Takes the accounts whose owners are to be told that many addresses try to log in.
    #[must_use]
    pub fn take_attacked(&self) -> Vec<UserId> {
        std::mem::take(&mut *self.attacked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// [`Site::apply`] on a store.
///
/// # Errors
/// When the store fails.
pub(crate) async fn apply(store: &Store, batch: Batch) -> Result<Applied, Error> {
    match store.commit(batch).await {
        Ok(committed) => Ok(Applied::Yes(committed)),
        Err(CommitError::Rejected(check)) => Ok(Applied::No(check)),
        Err(CommitError::Keyspace(error)) => Err(error.into()),
    }
}
