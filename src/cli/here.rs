//! Where a command runs: in the server that has the store open, or in a process of its own, which opens it.

use super::now;
use crate::config::Config;
use crate::upgrade;
use anyhow::bail;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use tidings_domain::Site;
use tidings_domain::identity::stored_texts;
use tidings_domain::migrations::unfinished::{self, Begun, FilledBy, Filling};
use tidings_domain::migrations::{self, UnusableStore};
use tidings_domain::passwords::PasswordWorker;
use tidings_keyspace::{EngineClock, OpenError, Store, StoreOptions, without_password};
use tidings_language::speak;
use tidings_web::App;

/// Where a command runs.
pub struct Here {
    /// The settings: those of the server, or those of the command line.
    pub config: Config,
    /// The server whose part it is, if there is one.
    pub server: Option<App>,
    /// The store that was opened here.
    opened: OnceLock<Store>,
}

impl Here {
    /// In a process of its own.
    pub const fn alone(config: Config) -> Self {
        Self { config, server: None, opened: OnceLock::new() }
    }

    /// In a server, with its settings.
    pub const fn in_server(config: Config, app: App) -> Self {
        Self { config, server: Some(app), opened: OnceLock::new() }
    }

    /// Closes the store, unless it is the server's.
    pub async fn close(&self) {
        if let Some(store) = self.opened.get() {
            store.close().await;
        }
    }

    /// The server's store, or one that is opened here. A command uses one.
    async fn reach(&self, open: impl AsyncFnOnce(&Config) -> anyhow::Result<Store>) -> anyhow::Result<Store> {
        match &self.server {
            // The rounds of commands are not those of the server's own work.
            Some(app) => Ok(app.site.store.counted_apart()),
            None => {
                let store = open(&self.config).await?;
                Ok(self.opened.get_or_init(|| store).clone())
            }
        }
    }

    /// The store as it is, which must exist: for commands that read keys, whatever they mean.
    pub async fn store(&self) -> anyhow::Result<Store> {
        self.reach(async |config| open_existing_store(config.server.store.as_str(), config).await).await
    }

    /// The site in a store that must exist, in the present layout.
    pub async fn site(&self) -> anyhow::Result<Site> {
        let open = async |config: &Config| {
            present(open_existing_store(config.server.store.as_str(), config).await?, config).await
        };
        self.site_on(&self.reach(open).await?)
    }

    /// The same. Creates the store if there is none and nobody has named its path, or with `--create`.
    pub async fn site_or_new(&self) -> anyhow::Result<Site> {
        let open = async |config: &Config| {
            let store = present(open_store(config).await?, config).await?;
            migrations::begin_new(&store).await?;
            Ok(store)
        };
        self.site_on(&self.reach(open).await?)
    }

    /// The same for an import. If it begins a new site, the store is marked until [`unfinished::end`].
    pub async fn site_to_import(&self, kind: &str, file: &Path) -> anyhow::Result<Site> {
        let from = format!("{kind} {}", file.display());
        let filling = &Filling::begun(FilledBy::Import, from, now());
        self.site_on(&self.reach(async |config| open_to_import(config, filling).await).await?)
    }

    /// The site, in a store that the command has reached.
    ///
    /// # Errors
    /// When `timelines.store` is no URL.
    pub fn site_on(&self, store: &Store) -> anyhow::Result<Site> {
        // New passwords take turns with those of the people on the site.
        let passwords = self.server.as_ref().map(|app| app.site.passwords.clone());
        site_with(store, &self.config, passwords.unwrap_or_default())
    }
}

async fn open_to_import(config: &Config, filling: &Filling) -> anyhow::Result<Store> {
    let store = open_configured(config, Some(filling.first())).await?;
    match unfinished::begin(&store, filling).await? {
        Begun::Other(other) => return Err(UnusableStore::Unfinished(other).into()),
        // Only another program has something there.
        Begun::Filled(_) if !migrations::has_site(&store).await? => {
            unfinished::mark(&store, filling).await?;
            migrations::note_newest(&store).await?;
            return Ok(store);
        }
        Begun::Filled(_) => return present(usable(store).await?, config).await,
        Begun::Again(_) => tracing::info!("an earlier import of this file was interrupted; it goes on"),
        Begun::Anew => {}
    }
    migrations::begin_new(&store).await?;
    Ok(store)
}

/// Brings a store to the present layout, as the server does when it starts. A new one stays as it is.
async fn present(store: Store, config: &Config) -> anyhow::Result<Store> {
    let site = site_with(&store, config, PasswordWorker::default())?;
    upgrade::bring_to_present(&site, config, EngineClock::System.now_ms()).await?;
    // The language of messages to people.
    let language = stored_texts(&store).await?.language(&config.rules);
    speak(config.languages.speakable(&language));
    Ok(store)
}

/// The configured site on a store.
pub(super) fn site_with(store: &Store, config: &Config, passwords: PasswordWorker) -> anyhow::Result<Site> {
    let site = Site::new(store.clone(), config.rules.clone(), passwords)
        .reached_at(config.site.url.as_str())
        .called(&config.site.name);
    Ok(site.with_homes_at(config.timelines.store.as_str())?)
}

/// Opens the configured store as it is. Creates it if there is none and nobody has named its path, or with
/// `--create`.
pub(super) async fn open_store(config: &Config) -> anyhow::Result<Store> {
    usable(open_configured(config, None).await?).await
}

/// Opens the configured store, whether or not it is whole. `first` is the first key of a new file.
async fn open_configured(config: &Config, first: Option<(String, String)>) -> anyhow::Result<Store> {
    let options = StoreOptions { create: config.creates_store(), first, ..store_options(config) };
    let url = config.server.store.as_str();
    match Store::open(url, &options).await {
        Err(OpenError::Missing(path)) => {
            bail!("there is no store at {path}; to start a new site there, add --create")
        }
        opened if options.create => Ok(opened?),
        opened => with_site(opened?, url).await,
    }
}

/// A Redis database has no site: it is empty, or another program's.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no site in the database at {0}; check its address and number, or, to start a new site there, \
     add --create"
)]
pub(super) struct NoSite(String);

/// A store that has a site, if it is on Redis. There a new site looks like a site that was lost.
async fn with_site(store: Store, url: &str) -> anyhow::Result<Store> {
    if url.starts_with("redis") && !migrations::has_site(&store).await? {
        return Err(NoSite(without_password(url)).into());
    }
    Ok(store)
}

/// Opens a store that must exist: a mistyped path is an error, not an empty store.
pub(super) async fn open_existing_store(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = StoreOptions { create: false, ..store_options(config) };
    usable(with_site(Store::open(url, &options).await?, url).await?).await
}

/// A store that this program knows, and that is whole.
async fn usable(store: Store) -> anyhow::Result<Store> {
    migrations::state_of(&store).await?.demand_usable()?;
    Ok(store)
}

pub(super) fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        timeout: Duration::from_secs(config.server.store_timeout_seconds),
        cache_bytes: usize::try_from(config.server.cache_mebibytes.saturating_mul(1024 * 1024))
            .unwrap_or(usize::MAX),
        replicas: u32::try_from(config.server.store_replicas).unwrap_or(u32::MAX),
        ..StoreOptions::default()
    }
}
