//! Before a store is served: whether this program can use it, the migrations that it needs, with a
//! backup first, and whether home timelines can be where the settings say.

use crate::backup::{schedule, take};
use crate::cli::terminal::progress_bar;
use crate::config::Config;
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tidings_domain::migrations::{self, Migration, StoreState};
use tidings_domain::values::Moment;
use tidings_domain::{Site, home_servers, store_check};
use tidings_keyspace::{EngineClock, Expiry, read};

/// How often the service manager hears that a migration advances, at most.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How often the log says how far it is.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Passes on to the service manager that a migration advances, and how far it is.
pub type Tell = fn(&str);

/// Says how far a migration, or the backup before it, is: on a terminal, in the log, and to the
/// service manager, which would otherwise end a start that takes long.
struct Progress {
    what: &'static str,
    bar: ProgressBar,
    tell: Tell,
    said: Mutex<Said>,
}

/// When something was last said.
struct Said {
    told: Option<Instant>,
    logged: Instant,
}

impl Progress {
    fn new(what: &'static str, tell: Tell) -> Self {
        let said = Mutex::new(Said { told: None, logged: Instant::now() });
        Self { what, bar: progress_bar(0, what), tell, said }
    }

    fn advance(&self, done: u64, total: u64) {
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
        let mut said = self.said.lock();
        if said.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            said.told = Some(Instant::now());
            (self.tell)(&format!("{}: {done} of {total}", self.what));
        }
        if said.logged.elapsed() >= LOG_EVERY {
            said.logged = Instant::now();
            tracing::info!(done, total, "{}", self.what);
        }
    }
}

/// Prepares a store to be served. `tell` hears that a migration advances.
///
/// # Errors
/// When a newer program has changed the store, a restore into it is not finished, a
/// migration or the backup before it fails, or home timelines would be in the store of a site.
pub async fn prepare(site: &Site, config: &Config, now_ms: u64, tell: Tell) -> anyhow::Result<()> {
    prepare_with(site, &backup_folder(config), &migrations::MIGRATIONS, (now_ms, tell)).await?;
    home_servers::look(site).await.context("timelines.store cannot have the home timelines")
}

/// Brings the store of a command to the present layout. An empty one stays empty.
///
/// # Errors
/// As [`prepare`].
pub async fn bring_to_present(site: &Site, config: &Config, now_ms: u64) -> anyhow::Result<()> {
    let state = migrations::state_of(&site.store).await?;
    if state.pending(&migrations::MIGRATIONS).is_empty() && !migrations::is_incomplete(&site.store).await? {
        return Ok(());
    }
    prepare_with(site, &backup_folder(config), &migrations::MIGRATIONS, (now_ms, |_| {})).await?;
    complete(site, |_| {}).await
}

/// Makes what a store of Lamer News lacks, and says how far that is.
///
/// # Errors
/// When the store fails. The next start does the rest.
pub async fn complete(site: &Site, tell: Tell) -> anyhow::Result<()> {
    migrations::complete_lamer_news(site, &|_, _| {}).await?;
    if !migrations::is_incomplete(&site.store).await? {
        return Ok(());
    }
    tracing::info!("making the lists that Lamer News did not have; the site can be used meanwhile");
    let total = site.store.count_keys().await?;
    let progress = Progress::new("making the lists that Lamer News did not have", tell);
    let mut done = 0;
    let report = store_check::complete(site, Moment::now(&EngineClock::System), |step| match step {
        store_check::Progress::Walk(_) => done = 0,
        store_check::Progress::Keys(keys) => {
            done += keys;
            progress.advance(done, total);
        }
        store_check::Progress::File(..) => {}
    });
    let report = report.await;
    drop(progress);
    if let Some(report) = report? {
        let (made, left) = (report.totals.mended, report.totals.left());
        tracing::info!(made, left, "the site has all lists that Lamer News did not have");
    }
    Ok(())
}

/// [`prepare`] with other migrations.
async fn prepare_with(
    site: &Site,
    folder: &Option<PathBuf>,
    all: &[Migration],
    (now_ms, tell): (u64, Tell),
) -> anyhow::Result<()> {
    let state = migrations::state_of(&site.store).await?;
    state.demand_usable()?;
    let pending = state.pending(all);
    let keys = pending.iter().filter_map(|migration| migration.changes_with).map(read::expiry);
    let found = site.store.fetch(keys.collect::<Vec<_>>()).await?;
    let is_changed = found.into_iter().any(|expiry| expiry != Expiry::Absent);
    if let Some(last) = pending.last() {
        match folder {
            Some(folder) => back_up(site, (&state, last), folder, (now_ms, tell)).await?,
            None if !is_changed => tracing::info!(
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
    let progress = Progress::new("migrating the store", tell);
    let advance = |done, total| progress.advance(done, total);
    migrations::migrate(site, &state, all, &advance).await.context("cannot migrate the store")
}

async fn back_up(
    site: &Site,
    (state, last): (&StoreState, &Migration),
    folder: &Path,
    (now_ms, tell): (u64, Tell),
) -> anyhow::Result<()> {
    let name = format!("{}-before-layout-{}.backup", schedule::stem(now_ms), last.to);
    let path = folder.join(name);
    schedule::make_folder(folder)?;
    if path.exists() {
        // A start that was interrupted in this second has made it.
        return Ok(());
    }
    let progress = Progress::new("making a backup before the store is migrated", tell);
    progress.advance(0, state.keys);
    let report = Box::new(move |done, total| progress.advance(done, total));
    let taken = take::to_file(&site.store, path.clone(), report).await;
    let summary = taken.context("cannot make a backup before the store is migrated")?;
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
    config.server.store.folder()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::restore;
    use tidings_domain::keys;
    use tidings_domain::migrations::Migrating;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::report::Advance;
    use tidings_domain::values::{Rules, Timestamp};
    use tidings_keyspace::{Batch, Store};

    const NOW: u64 = 1_795_370_400_000;
    const TOLD: (u64, Tell) = (NOW, |_| {});

    async fn site() -> Site {
        let site = Site::new(Store::in_memory().await.unwrap(), Rules::default(), PasswordWorker::default());
        set(&site, keys::LAYOUT_VERSION, "1").await;
        set(&site, keys::MODERATION_COUNT, "1").await;
        set(&site, "planted", "old").await;
        site
    }

    async fn set(site: &Site, key: &str, value: &str) {
        site.store.commit(Batch::of(|batch| batch.set(key, value))).await.unwrap();
    }

    async fn get(store: &Store, key: &str) -> Option<String> {
        store.fetch(read::string(key)).await.unwrap()
    }

    fn change<'a>(site: &'a Site, advance: Advance<'a>) -> Migrating<'a> {
        Box::pin(async move {
            advance(1, 2);
            set(site, "planted", "new").await;
            Ok(())
        })
    }

    fn migrations(only_adds: bool) -> [Migration; 1] {
        let changes_with = (!only_adds).then_some("planted");
        [Migration { to: 2, what: "change a key", changes_with, run: change }]
    }

    #[tokio::test]
    async fn the_backup_before_a_migration_has_the_old_state() {
        let (site, folder) = (site().await, tempfile::tempdir().unwrap());
        let place = Some(folder.path().to_owned());
        prepare_with(&site, &place, &migrations(false), TOLD).await.unwrap();
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("new"));
        let path = folder.path().join("tidings-20261122T180000Z-before-layout-2.backup");
        let summary = restore::verify(&path, |_| {}).unwrap();
        assert_eq!((summary.header.layout, summary.keys), (1, 3));
        let old = Store::in_memory().await.unwrap();
        restore::begin(&old, &restore::filling(&summary, Timestamp(7))).await.unwrap();
        restore::write_keys(&old, &path, summary, NOW, |_| {}).await.unwrap();
        assert_eq!(get(&old, "planted").await.as_deref(), Some("old"));
    }

    #[tokio::test]
    async fn without_a_place_for_a_backup_nothing_is_changed() {
        let site = site().await;
        let error = prepare_with(&site, &None, &migrations(false), TOLD).await.unwrap_err();
        assert!(error.to_string().contains("set backup.folder"), "{error}");
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("old"));
        prepare_with(&site, &None, &migrations(true), TOLD).await.unwrap();
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("new"));
    }

    #[tokio::test]
    async fn a_backup_that_fails_prevents_the_migration() {
        let (site, folder) = (site().await, tempfile::tempdir().unwrap());
        let folder = Some(folder.path().join("missing").join("folder"));
        let error = prepare_with(&site, &folder, &migrations(true), TOLD).await.unwrap_err();
        assert!(error.to_string().contains("cannot create the folder"), "{error}");
        assert_eq!(get(&site.store, "planted").await.as_deref(), Some("old"));
    }

    #[tokio::test]
    async fn the_service_manager_hears_that_the_backup_and_the_migration_advance() {
        static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let (site, folder) = (site().await, tempfile::tempdir().unwrap());
        let tell: Tell = |text| HEARD.lock().push(text.to_owned());
        let place = Some(folder.path().to_owned());
        prepare_with(&site, &place, &migrations(false), (NOW, tell)).await.unwrap();
        let heard = HEARD.lock();
        assert_eq!(heard[0], "making a backup before the store is migrated: 0 of 3");
        assert!(heard[1].starts_with("migrating the store: 0 of 0"), "{heard:?}");
    }

    #[tokio::test]
    async fn a_new_store_needs_no_backup() {
        let (store, folder) = (Store::in_memory().await.unwrap(), tempfile::tempdir().unwrap());
        let site = Site::new(store, Rules::default(), PasswordWorker::default());
        let path = folder.path().to_owned();
        prepare_with(&site, &Some(path), &migrations(false), TOLD).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(migrations::state_of(&site.store).await.unwrap().layout, 2);
    }
}
