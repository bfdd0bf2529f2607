//! Before a store is served: whether this program can use it, the migrations that it needs, with a
//! backup first, and where the home timelines of a new site are.

use crate::backup::disk::SystemDisk;
use crate::backup::schedule;
use crate::backup::take;
use crate::config::Config;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use tidings_domain::migrations::{self, Migration, StoreState};
use tidings_domain::site::Site;
use tidings_domain::timelines::moving;

/// Prepares a store to be served.
///
/// # Errors
/// When a newer program has changed the store, a restore into it is not finished, or a
/// migration or the backup before it fails.
pub async fn prepare(site: &Site, config: &Config, now_ms: u64) -> anyhow::Result<()> {
    prepare_with(site, &backup_folder(config), &migrations::MIGRATIONS, now_ms).await?;
    moving::begin_new_site(site, &config.timelines.store.destination()).await?;
    Ok(())
}

/// [`prepare`] with other migrations.
async fn prepare_with(
    site: &Site,
    folder: &Option<PathBuf>,
    all: &[Migration],
    now_ms: u64,
) -> anyhow::Result<()> {
    let state = migrations::state_of(&site.store).await?;
    state.demand_usable()?;
    let pending = state.pending(all);
    if let Some(last) = pending.last() {
        match folder {
            Some(folder) => back_up(site, &state, last, folder, now_ms).await?,
            None if pending.iter().all(|migration| migration.only_adds) => tracing::info!(
                "no backup is made before the store is migrated, because backup.folder is not set; \
                 nothing is changed or removed"
            ),
            None => bail!(
                "the store has layout {} and must be migrated to {}; \
                 set backup.folder, so that a backup can be made first",
                state.layout,
                last.to
            ),
        }
    }
    migrations::migrate(site, &state, all).await.context("cannot migrate the store")
}

async fn back_up(
    site: &Site,
    state: &StoreState,
    last: &Migration,
    folder: &Path,
    now_ms: u64,
) -> anyhow::Result<()> {
    let name = format!("{}-before-layout-{}.backup", schedule::stem(now_ms), last.to);
    let path = folder.join(name);
    schedule::make_folder(folder)?;
    let progress = Box::new(|_, _| {});
    let summary = take::to_file(&site.store, SystemDisk, path.clone(), progress)
        .await
        .context("cannot make a backup before the store is migrated")?;
    tracing::info!(
        path = %path.display(),
        keys = summary.keys,
        from = state.layout,
        to = last.to,
        "made a backup before the store is migrated"
    );
    Ok(())
}

/// Where a backup is made before a migration: in `backup.folder`, or beside the store file.
fn backup_folder(config: &Config) -> Option<PathBuf> {
    if !config.backup.folder.is_empty() {
        return Some(PathBuf::from(&config.backup.folder));
    }
    let path = config.server.store.as_str().strip_prefix("redb:").filter(|path| *path != ":memory:")?;
    Some(crate::backup::disk::folder_of(Path::new(path)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::backup::restore;
    use tidings_domain::migrations::Migrating;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::values::rules::Rules;
    use tidings_keyspace::{Batch, Query, Store};

    const NOW: u64 = 1_795_370_400_000;

    async fn site() -> Site {
        let site = Site::new(Store::in_memory().await.unwrap(), Rules::default(), PasswordWorker::default());
        set(&site, "planted", "old").await;
        site
    }

    async fn set(site: &Site, key: &str, value: &str) {
        let mut batch = Batch::new();
        batch.set(key, value);
        site.store.commit(batch).await.unwrap();
    }

    async fn get(store: &Store, key: &str) -> Option<String> {
        let mut query = Query::new();
        let value = query.string(key);
        store.query(query).await.unwrap().take(value)
    }

    fn change(site: &Site) -> Migrating<'_> {
        Box::pin(async {
            set(site, "planted", "new").await;
            Ok(())
        })
    }

    fn migrations(only_adds: bool) -> [Migration; 1] {
        [Migration { to: 1, what: "change a key", only_adds, run: change }]
    }

    #[tokio::test]
    async fn the_backup_before_a_migration_has_the_old_state() {
        let (site, folder) = (site().await, tempfile::tempdir().unwrap());
        let place = Some(folder.path().to_owned());
        prepare_with(&site, &place, &migrations(false), NOW).await.unwrap();
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("new"));
        let path = folder.path().join("tidings-20261122T180000Z-before-layout-1.backup");
        let summary = restore::verify(&path, |_| {}).unwrap();
        assert_eq!((summary.header.layout, summary.keys), (0, 1));
        let old = Store::in_memory().await.unwrap();
        restore::begin(&old, &summary).await.unwrap();
        restore::write_keys(&old, &path, summary, NOW, |_| {}).await.unwrap();
        assert_eq!(get(&old, "planted").await.as_deref(), Some("old"));
    }

    #[tokio::test]
    async fn without_a_place_for_a_backup_nothing_is_changed() {
        let site = site().await;
        let error = prepare_with(&site, &None, &migrations(false), NOW).await.unwrap_err();
        assert!(error.to_string().contains("set backup.folder"), "{error}");
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("old"));
        prepare_with(&site, &None, &migrations(true), NOW).await.unwrap();
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("new"));
    }

    #[tokio::test]
    async fn a_backup_that_fails_prevents_the_migration() {
        let (site, folder) = (site().await, tempfile::tempdir().unwrap());
        let folder = Some(folder.path().join("missing").join("folder"));
        let error = prepare_with(&site, &folder, &migrations(true), NOW).await.unwrap_err();
        assert!(error.to_string().contains("cannot create the folder"), "{error}");
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("old"));
    }

    #[tokio::test]
    async fn a_new_store_needs_no_backup() {
        let (store, folder) = (Store::in_memory().await.unwrap(), tempfile::tempdir().unwrap());
        let site = Site::new(store, Rules::default(), PasswordWorker::default());
        let path = folder.path().to_owned();
        prepare_with(&site, &Some(path), &migrations(false), NOW).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(migrations::state_of(&site.store).await.unwrap().layout, 1);
    }
}
