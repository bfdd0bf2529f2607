//! Takes backups while the site is served, and removes old ones.
//!
//! The files are the whole memory of it: the time of the last backup is in the name of the
//! newest, and a backup for which the program has not succeeded has a file `.after` beside it. So restarts
//! change nothing. While the server runs, the next backup is due by the time
//! that has passed, whatever becomes of the clock. Only files with names of this form are ever
//! removed. A file with a time in the future comes from a wrong clock. It says nothing about when
//! the last backup was made, is not counted among those that are kept, and is not removed.

use super::{disk, take};
use crate::config;
use anyhow::Context;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::Site;
use tidings_domain::report::BackupReport;
use tidings_domain::values::Timestamp;
use tidings_keyspace::EngineClock;
use tokio::process::Command;

/// How long to wait after a failure, unless backups are made more often.
const RETRY_AFTER: Duration = Duration::from_secs(600);

/// How long the program may run that follows a backup.
const AFTER_LIMIT: Duration = Duration::from_secs(3_600);
/// The ending of the name of a file that says that a backup waits for the program.
const WAITING: &str = ".after";

/// The form of the time in a name.
const NAME_TIME: &str = "%Y%m%dT%H%M%SZ";

/// When to take backups, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Where the files are.
    pub folder: PathBuf,
    /// How often.
    pub every: Duration,
    /// How many are kept.
    pub keep: usize,
    /// The program that runs after each backup.
    pub after: Option<PathBuf>,
}

impl Schedule {
    /// The schedule of the settings, if they ask for backups.
    pub fn of(settings: &config::Backup) -> Option<Self> {
        (!settings.folder.is_empty()).then(|| Self {
            folder: PathBuf::from(&settings.folder),
            every: settings.every,
            keep: usize::try_from(settings.keep).unwrap_or(usize::MAX),
            after: (!settings.after.is_empty()).then(|| PathBuf::from(&settings.after)),
        })
    }

    /// How long to wait after the start before the next backup, by the time of the newest.
    fn wait(&self, newest: Option<Timestamp>, now_ms: u64) -> Duration {
        newest.map_or(Duration::ZERO, |newest| {
            let due = Duration::from_secs(newest.0).saturating_add(self.every);
            due.saturating_sub(Duration::from_millis(now_ms)).min(self.every)
        })
    }

    /// Takes a backup now, then removes the oldest beyond those that are kept. Files from the
    /// future are neither counted nor removed.
    async fn take(&self, site: &Site, now_ms: u64) -> anyhow::Result<()> {
        make_folder(&self.folder)?;
        for name in abandoned(&self.folder)? {
            disk::remove(&self.folder.join(name));
        }
        let path = self.folder.join(format!("{}.backup", stem(now_ms)));
        let summary = take::to_file(&site.store, path.clone(), Box::new(|_, _| {})).await?;
        tracing::info!(
            path = %path.display(),
            keys = summary.keys,
            bytes = summary.bytes,
            "made a backup"
        );
        for old in beyond(names(&self.folder, now_ms)?, self.keep) {
            disk::remove(&self.folder.join(&old));
            tracing::info!(name = old, "removed an old backup");
        }
        if self.after.is_some() {
            let waiting = waiting_beside(&path);
            std::fs::write(&waiting, "").with_context(|| format!("cannot write {}", waiting.display()))?;
        }
        Ok(())
    }

    /// Runs the program for each backup that waits for it, the oldest first, until one fails.
    async fn run_program(&self) -> anyhow::Result<()> {
        for name in waiting(&self.folder)? {
            let path = self.folder.join(name);
            let waiting = waiting_beside(&path);
            // The backup may be gone, or nobody asks for the program any more.
            if let Some(program) = self.after.as_ref().filter(|_| path.exists())
                && let Err(error) = run_after(program, &path).await
            {
                if let Err(error) = std::fs::write(&waiting, format!("{error:#}")) {
                    tracing::warn!(%error, path = %waiting.display(), "a restart forgets that backup.after failed");
                }
                return Err(error);
            }
            disk::remove(&waiting);
        }
        Ok(())
    }

    /// The first backup that waits for the program: its time, and why the program failed.
    fn waits(&self) -> Option<(Timestamp, String)> {
        self.after.as_ref()?;
        let name = waiting(&self.folder).ok()?.into_iter().next()?;
        let why = std::fs::read_to_string(waiting_beside(&self.folder.join(&name))).unwrap_or_default();
        let why = if why.is_empty() { "backup.after did not run to its end".to_owned() } else { why };
        Some((time_of(&name)?, why))
    }

    /// The time of the newest backup that does not wait for the program.
    fn last_good(&self, now_ms: u64) -> Option<Timestamp> {
        let is_good = |name: &String| !waiting_beside(&self.folder.join(name)).exists();
        names(&self.folder, now_ms)
            .ok()?
            .iter()
            .filter(|name| is_good(name))
            .filter_map(|name| time_of(name))
            .max()
    }
}

/// The file beside a backup that says that it waits for the program, and why the program failed.
fn waiting_beside(backup: &Path) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(WAITING);
    name.into()
}

/// The names of the backups that wait for the program, the oldest first.
fn waiting(folder: &Path) -> anyhow::Result<Vec<String>> {
    // There is no folder before the first backup.
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let backup =
        |name: String| Some(name.strip_suffix(WAITING).filter(|name| time_of(name).is_some())?.to_owned());
    Ok(files(folder)?.into_iter().filter_map(backup).collect())
}

/// Runs the program for what is to be done with a backup, such as copying it away. It is killed if it takes too long,
/// or if the server stops.
///
/// # Errors
/// When it cannot be run, takes too long, or ends with another status than 0.
async fn run_after(program: &Path, backup: &Path) -> anyhow::Result<()> {
    let named = || format!("backup.after ({})", program.display());
    let mut command = Command::new(program);
    command.arg(backup).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(AFTER_LIMIT, command.status()).await;
    let status = ended.with_context(|| format!("{} did not end within {AFTER_LIMIT:?}", named()))?;
    let status = status.with_context(|| format!("cannot run {}", named()))?;
    anyhow::ensure!(status.success(), "{} ended with {status}", named());
    Ok(())
}

/// Takes backups until it is dropped.
pub async fn run(site: Arc<Site>, schedule: Schedule, clock: EngineClock) {
    let now_ms = clock.now_ms();
    let retry = schedule.every.min(RETRY_AFTER);
    let report = site.of::<BackupReport>();
    report.switch_on(schedule.last_good(now_ms), schedule.every, Timestamp(now_ms / 1000));
    let waits = schedule.waits();
    // When the program is tried again, if a backup waits for it.
    let mut again = waits.is_some().then(Instant::now);
    if let Some((at, why)) = waits {
        report.failed(at, why);
    }
    let mut due = Instant::now() + schedule.wait(newest(&schedule.folder, now_ms), now_ms);
    loop {
        tokio::time::sleep_until(again.map_or(due, |again| again.min(due)).into()).await;
        let (began, now_ms) = (Instant::now(), clock.now_ms());
        let taken = if began < due { Ok(()) } else { schedule.take(&site, now_ms).await };
        if began >= due {
            due = began + if taken.is_ok() { schedule.every } else { retry };
        }
        let run = schedule.run_program().await;
        again = run.is_err().then(|| Instant::now() + retry);
        let now = Timestamp(now_ms / 1000);
        match taken.and(run) {
            Ok(()) => report.succeeded(schedule.last_good(now_ms).unwrap_or(now)),
            Err(error) => {
                let why = format!("{error:#}");
                // Before the line: whoever reads that may ask for the state.
                report.failed(now, why.clone());
                tracing::error!(error = why, folder = %schedule.folder.display(), "the backup failed");
            }
        }
    }
}

/// The name of a backup of this time, without its extension.
pub fn stem(now_ms: u64) -> String {
    let time =
        i64::try_from(now_ms / 1000).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    format!("tidings-{}", time.unwrap_or_default().strftime(NAME_TIME))
}

/// The time in the name of a backup; `None` if the name has another form.
fn time_of(name: &str) -> Option<Timestamp> {
    let text = name.strip_prefix("tidings-")?.strip_suffix(".backup")?;
    let time = jiff::civil::DateTime::strptime(NAME_TIME, text).ok()?;
    let seconds = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
    let time = Timestamp(u64::try_from(seconds).ok()?);
    // There is more than one way to write a time, and only one that is ours.
    (format!("{}.backup", stem(time.0.checked_mul(1000)?)) == name).then_some(time)
}

/// The time of the newest backup in a folder; `None` if there is none, or no such folder.
fn newest(folder: &Path, now_ms: u64) -> Option<Timestamp> {
    names(folder, now_ms).ok()?.iter().filter_map(|name| time_of(name)).max()
}

/// The names of all backups in a folder that are not from the future, the oldest first.
fn names(folder: &Path, now_ms: u64) -> anyhow::Result<Vec<String>> {
    let is_ours = |name: &String| time_of(name).is_some_and(|time| time.0 <= now_ms / 1000);
    // The time in a name has the same length in each, the year first.
    Ok(files(folder)?.into_iter().filter(is_ours).collect())
}

/// The names of all files in a folder, in their order.
fn files(folder: &Path) -> anyhow::Result<Vec<String>> {
    let read = || -> std::io::Result<Vec<String>> {
        let names = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        Ok(names.collect::<std::io::Result<Vec<_>>>()?.into_iter().flatten().collect())
    };
    let mut names = read().with_context(|| format!("cannot read {}", folder.display()))?;
    names.sort_unstable();
    Ok(names)
}

/// Those of the names, the oldest first, that are too many.
fn beyond(mut names: Vec<String>, keep: usize) -> Vec<String> {
    names.truncate(names.len().saturating_sub(keep));
    names
}

/// Files of backups that a process did not finish.
fn abandoned(folder: &Path) -> anyhow::Result<Vec<String>> {
    // One that another server is writing is locked.
    let is_free = |name: &String| File::open(folder.join(name)).is_ok_and(|file| file.try_lock().is_ok());
    let is_ours = |name: &String| name.strip_suffix(".partial").is_some_and(|whole| time_of(whole).is_some());
    Ok(files(folder)?.into_iter().filter(is_ours).filter(is_free).collect())
}

/// Makes the folder if it is not there. The folder that it is in must be there.
pub(crate) fn make_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("cannot create the folder {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::super::disk::partial_of;
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::values::Rules;
    use tidings_keyspace::{Batch, Store};

    /// 2026-11-22 18:00:00 UTC.
    const NOW: u64 = 1_795_370_400_000;
    const HOUR: Duration = Duration::from_secs(3_600);

    async fn site() -> Site {
        let store = Store::in_memory().await.unwrap();
        store.commit(Batch::of(|batch| batch.set("users.count", "1"))).await.unwrap();
        Site::new(store, Rules::default(), PasswordWorker::default())
    }

    fn schedule(folder: &Path) -> Schedule {
        Schedule { folder: folder.to_owned(), every: HOUR, keep: 3, after: None }
    }

    #[test]
    fn names_tell_the_time() {
        assert_eq!(stem(NOW), "tidings-20261122T180000Z");
        assert_eq!(time_of("tidings-20261122T180000Z.backup"), Some(Timestamp(NOW / 1000)));
        for other in [
            "tidings-20261122T180000Z.backup.partial",
            "tidings-20261122T180000Z-before-layout-2.backup",
            "tidings-20261122T18000Z.backup",
            "tidings-20261322T180000Z.backup",
            "tidings-2026-11-22.backup",
            "tidings-.backup",
            "tidings-+2026112T180000Z.backup",
            "mine.backup",
        ] {
            assert_eq!(time_of(other), None, "{other}");
        }
    }

    #[test]
    fn the_next_backup_is_due_by_the_name_of_the_newest() {
        let schedule = schedule(Path::new("."));
        let minutes = |count: u64| Duration::from_secs(count * 60);
        assert_eq!(schedule.wait(None, NOW), Duration::ZERO);
        for (ago, wait) in [(0, 60), (1, 59), (59, 1), (60, 0), (61, 0), (1_000, 0)] {
            let newest = Timestamp(NOW / 1000 - ago * 60);
            assert_eq!(schedule.wait(Some(newest), NOW), minutes(wait), "{ago}");
        }
    }

    #[tokio::test]
    async fn a_file_from_the_future_neither_stops_backups_nor_has_a_newer_one_removed() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = Schedule { keep: 2, ..schedule(folder.path()) };
        let future = [NOW + 86_400_000, NOW + 100 * 365 * 86_400_000];
        let future = future.map(|time| format!("{}.backup", stem(time)));
        for name in &future {
            std::fs::write(folder.path().join(name), "by a wrong clock").unwrap();
        }
        assert_eq!(newest(folder.path(), NOW), None);
        assert_eq!(schedule.wait(newest(folder.path(), NOW), NOW), Duration::ZERO);
        let site = site().await;
        for hour in 0..4 {
            schedule.take(&site, NOW + hour * 3_600_000).await.unwrap();
        }
        let now = NOW + 3 * 3_600_000;
        let expected = [2, 3].map(|hour| format!("{}.backup", stem(NOW + hour * 3_600_000)));
        assert_eq!(names(folder.path(), now).unwrap(), expected);
        assert_eq!(schedule.wait(newest(folder.path(), now), now), HOUR);
        assert!(future.iter().all(|name| folder.path().join(name).exists()));
    }

    #[tokio::test]
    async fn backups_go_on_whatever_becomes_of_the_clock() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = Schedule { every: Duration::from_millis(20), ..schedule(folder.path()) };
        let time = Arc::new(AtomicU64::new(NOW));
        let clock = EngineClock::Manual(time.clone());
        let running = tokio::spawn(run(Arc::new(site().await), schedule, clock));
        // It goes forward, stands, and is set back by years.
        for now in [NOW, NOW + 5_000, NOW - 20 * 365 * 86_400_000] {
            time.store(now, Ordering::SeqCst);
            let path = folder.path().join(format!("{}.backup", stem(now)));
            let waits = async {
                while !path.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), waits).await.unwrap();
        }
        running.abort();
    }

    #[tokio::test]
    async fn only_our_own_oldest_backups_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = schedule(&folder.path().join("backups"));
        let site = site().await;
        make_folder(&schedule.folder).unwrap();
        let others =
            ["tidings-2020.backup", "mine.backup", "tidings-20200101T000000Z-before-layout-1.backup"];
        for other in others {
            std::fs::write(schedule.folder.join(other), "mine").unwrap();
        }
        let partial = partial_of(&schedule.folder.join(format!("{}.backup", stem(NOW))));
        std::fs::write(&partial, "left by a process that was killed").unwrap();
        for hour in 0..5 {
            schedule.take(&site, NOW + hour * 3_600_000).await.unwrap();
        }
        let expected: Vec<String> =
            (2..5).map(|hour| format!("{}.backup", stem(NOW + hour * 3_600_000))).collect();
        assert_eq!(names(&schedule.folder, u64::MAX).unwrap(), expected);
        assert_eq!(newest(&schedule.folder, u64::MAX), Some(Timestamp(NOW / 1000 + 4 * 3_600)));
        for other in others {
            assert!(schedule.folder.join(other).exists(), "{other}");
        }
        assert!(!partial.exists());
    }

    /// A program that copies what it gets, and then does this.
    fn program(folder: &Path, last: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join("program");
        let copy = folder.join("copy");
        std::fs::write(&program, format!("#!/bin/sh\ncp \"$1\" {}\n{last}\n", copy.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    #[tokio::test]
    async fn a_program_gets_each_backup_and_its_failure_is_that_of_the_backup() {
        let folder = tempfile::tempdir().unwrap();
        let program = program(folder.path(), "exit 0");
        let schedule = Schedule { after: Some(program.clone()), ..schedule(folder.path()) };
        let site = site().await;
        schedule.take(&site, NOW).await.unwrap();
        schedule.run_program().await.unwrap();
        let made = std::fs::read(folder.path().join(format!("{}.backup", stem(NOW)))).unwrap();
        assert_eq!(std::fs::read(folder.path().join("copy")).unwrap(), made);
        self::program(folder.path(), "exit 3");
        schedule.take(&site, NOW + 3_600_000).await.unwrap();
        let error = schedule.run_program().await.unwrap_err();
        assert!(format!("{error:#}").contains("ended with exit status: 3"), "{error:#}");
        std::fs::remove_file(&program).unwrap();
        let error = schedule.run_program().await.unwrap_err();
        assert!(format!("{error:#}").contains("cannot run backup.after"), "{error:#}");
        assert_eq!(schedule.last_good(NOW + 3_600_000), Some(Timestamp(NOW / 1000)));
    }

    #[tokio::test]
    async fn a_program_that_fails_is_tried_again_with_the_same_file_and_old_backups_go() {
        let folder = tempfile::tempdir().unwrap();
        let calls = folder.path().join("calls");
        let program = program(folder.path(), &format!("echo \"$1\" >> {}; exit 3", calls.display()));
        let backups = folder.path().join("backups");
        let schedule = Schedule { after: Some(program), keep: 2, ..schedule(&backups) };
        let site = site().await;
        for hour in 0..6 {
            schedule.take(&site, NOW + hour * 3_600_000).await.unwrap();
            for _ in 0..3 {
                schedule.run_program().await.unwrap_err();
            }
            assert!(names(&backups, u64::MAX).unwrap().len() <= 2, "hour {hour}");
        }
        // Three attempts for the same file, until it is one of those that are removed.
        let calls = std::fs::read_to_string(calls).unwrap();
        assert_eq!(calls.lines().next(), calls.lines().nth(2));
        assert_eq!(calls.lines().count(), 18);
        let files = std::fs::read_dir(&backups).unwrap().count();
        assert_eq!(files, 4, "two backups, both waiting");
        self::program(folder.path(), "exit 0");
        schedule.run_program().await.unwrap();
        assert_eq!((waiting(&backups).unwrap().len(), schedule.waits()), (0, None));
    }

    #[tokio::test]
    async fn the_failure_of_the_program_is_known_after_a_restart_and_makes_no_new_backup() {
        let folder = tempfile::tempdir().unwrap();
        let backups = folder.path().join("backups");
        let runs = folder.path().join("runs");
        let lines = format!("echo >> {}; exit 3", runs.display());
        let schedule = Schedule { after: Some(program(folder.path(), &lines)), ..schedule(&backups) };
        let site = Arc::new(site().await);
        for round in 0..2 {
            let clock = EngineClock::Manual(Arc::new(AtomicU64::new(NOW + round * 1_000)));
            let has_run = || std::fs::read(&runs).is_ok_and(|lines| lines.len() as u64 > round);
            let running = tokio::spawn(run(site.clone(), schedule.clone(), clock.clone()));
            let report = site.of::<BackupReport>();
            let waits = async {
                while report.state(Timestamp(NOW / 1000)).last_failure.is_none() || !has_run() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), waits).await.unwrap();
            running.abort();
            running.await.ok();
            let state = report.state(Timestamp(NOW / 1000));
            assert!(state.last_failure.unwrap().1.contains("exit status: 3"));
            assert_eq!(state.last_success, None);
            assert_eq!(names(&backups, u64::MAX).unwrap().len(), 1);
        }
        assert_eq!(schedule.waits().unwrap().0, Timestamp(NOW / 1000));
    }

    #[tokio::test]
    async fn a_failure_removes_nothing_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = schedule(&folder.path().join("missing").join("backups"));
        let error = schedule.take(&site().await, NOW).await.unwrap_err();
        assert!(format!("{error:#}").contains("cannot create the folder"), "{error:#}");
        // The name is taken: the store cannot be written over another backup.
        let schedule = Schedule { keep: 1, ..self::schedule(folder.path()) };
        let site = site().await;
        schedule.take(&site, NOW).await.unwrap();
        let error = schedule.take(&site, NOW).await.unwrap_err();
        assert!(format!("{error:#}").contains("exists already"), "{error:#}");
        assert_eq!(names(&schedule.folder, NOW).unwrap().len(), 1);
    }
}
