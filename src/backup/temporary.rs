//! A backup in a store of its own, in a temporary folder, to look into it or to change a copy.

use super::format::Summary;
use super::reader::BackupError;
use super::restore;
use crate::cli::terminal::progress_bar;
use crate::config::Config;
use anyhow::Context;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tempfile::TempDir;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::{Site, migrations};
use tidings_keyspace::{EngineClock, Store, StoreOptions};

/// A backup in a store of its own. The folder goes with it; close the store of the site first.
pub struct RestoredBackup {
    /// The site in the backup, in the layout of this version.
    pub site: Site,
    /// The summary of the file.
    pub summary: Summary,
    _folder: TempDir,
}

/// Reads the whole file, and restores it into a temporary folder. Its store has this clock, or one that stands at
/// the time of the backup.
///
/// # Errors
/// When the file is not a whole backup, or when it cannot be restored.
pub async fn restored(
    path: &Path,
    config: &Config,
    clock: Option<EngineClock>,
) -> anyhow::Result<RestoredBackup> {
    let named = || format!("{} is no good backup", path.display());
    let length = std::fs::metadata(path).with_context(named)?.len();
    let header = restore::header(path).with_context(named)?;
    restore::demand_known_layout(header).with_context(named)?;

    let folder =
        tempfile::Builder::new().prefix("tidings-check-").tempdir().context("cannot create a folder")?;
    let url = format!("redb:{}", folder.path().join("backup.redb").display());
    let standing = || EngineClock::Manual(Arc::new(AtomicU64::new(header.taken_at_ms)));
    let clock = clock.unwrap_or_else(standing);
    let now_ms = clock.now_ms();
    let options = StoreOptions { create: true, clock, ..StoreOptions::default() };
    let store = Store::open(&url, &options).await?;
    let bar = progress_bar(length, "restoring");
    // Nobody else sees this store, so the file need not be verified first.
    let written =
        restore::write_unverified(&store, path, now_ms, move |position, _| bar.set_position(position));
    let summary = written.await.map_err(|error| {
        if error.is::<BackupError>() {
            error.context(named())
        } else {
            error.context("the backup cannot be restored into the folder for temporary files (TMPDIR)")
        }
    })?;
    let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default())
        .reached_at(config.site.url.as_str());
    let state = migrations::state_of(&store).await?;
    migrations::migrate(&site, &state, &migrations::MIGRATIONS, &|_, _| {}).await?;
    Ok(RestoredBackup { site, summary, _folder: folder })
}
