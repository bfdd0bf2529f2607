//! Whether the site works, for whoever watches it: `GET /health/live` and `GET /health/ready`.
//!
//! The state of the store is looked at most once a second, however often it is asked for, and
//! once every two seconds anyway, so that the log says when the store is lost and when it is
//! back. Nothing is written, and no rate counts these requests.

use crate::App;
use crate::limits::{
    HEALTH_LASTS, HEALTH_PATIENCE, HEALTH_WATCHED_EVERY, LEAST_DISK_BYTES, LEAST_DISK_MEBIBYTES,
    LOSS_LOGGED_EVERY,
};
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tidings_keyspace::StoreHealth;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Both addresses.
const ADDRESSES: [&str; 2] = ["/health/live", "/health/ready"];
/// The report for a healthy part.
const OK: Cow<'static, str> = Cow::Borrowed("ok");

/// The state of this server: whether it is stopping, and whether its store works.
#[derive(Debug, Default)]
pub struct Health {
    stopping: AtomicBool,
    /// How the first request has failed that failed because of the store since [`watch`] last looked.
    failure: std::sync::Mutex<Option<StoreHealth>>,
    seen: Mutex<Option<(Instant, Arc<Readiness>)>>,
}

impl Health {
    /// Notes that the server stops: from now on it is not ready.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether the server stops.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Notes that a request has failed because the store is in this state.
    pub(crate) fn note_failure(&self, state: StoreHealth) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(state);
    }

    /// The first failure since the last call.
    fn take_failure(&self) -> Option<StoreHealth> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether the site can be used, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// `ok`, or the first of these that is true.
    pub status: ReadyStatus,
    /// `ok`, or what is wrong with the store.
    pub store: Cow<'static, str>,
    /// `ok`, or what is wrong with the thread that writes to the embedded store.
    pub writer: Cow<'static, str>,
    /// `ok`, or what is wrong with the disk of the embedded store.
    pub disk: Cow<'static, str>,
}

/// Whether the site can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    /// It can.
    Ok,
    /// The server stops.
    Stopping,
    /// The store cannot be reached.
    Unavailable,
    /// The store can be read only.
    ReadOnly,
}

/// The answer of a server that runs.
#[derive(Debug, Serialize)]
pub struct Liveness {
    /// Always `ok`.
    status: &'static str,
}

impl Readiness {
    /// The readiness by the state of the store, and by the room on its disk if that is known.
    pub fn of(store: StoreHealth, free_bytes: Option<u64>) -> Self {
        let mut readiness = Self { status: ReadyStatus::Ok, store: OK, writer: OK, disk: OK };
        // The store still works, so this alone is a warning.
        if let Some(free) = free_bytes.filter(|free| *free < LEAST_DISK_BYTES) {
            let free = free / (1024 * 1024);
            readiness.disk = format!("{free} MiB are free, less than {LEAST_DISK_MEBIBYTES} MiB").into();
        }
        let (status, cause) = match store {
            StoreHealth::Works => return readiness,
            StoreHealth::ReadOnly(cause) => (ReadyStatus::ReadOnly, cause),
            StoreHealth::Unavailable(cause) => (ReadyStatus::Unavailable, cause),
        };
        readiness.status = status;
        let part = readiness.part_of(&cause);
        *part = cause.into();
        readiness
    }

    /// The part that a cause is about. The store gives it in words only.
    fn part_of(&mut self, cause: &str) -> &mut Cow<'static, str> {
        if cause.contains("writer") {
            &mut self.writer
        } else if cause.contains("disk") {
            &mut self.disk
        } else {
            &mut self.store
        }
    }

    /// Whether the site can be used.
    pub fn is_ready(&self) -> bool {
        self.status == ReadyStatus::Ok
    }

    /// The current or coming problem; `None` if there is none.
    pub fn cause(&self) -> Option<&str> {
        let parts = [&self.store, &self.writer, &self.disk];
        parts.into_iter().find(|part| **part != OK).map(|part| &**part)
    }
}

/// The state of the site, at most a second old.
pub async fn readiness(app: &App) -> Arc<Readiness> {
    let seen = app.health.seen.lock().await;
    let readiness = look(app, seen, HEALTH_LASTS).await;
    if !app.health.is_stopping() {
        return readiness;
    }
    Arc::new(Readiness { status: ReadyStatus::Stopping, ..(*readiness).clone() })
}

/// Looks at the store, unless somebody has lately. Others wait meanwhile.
async fn look(
    app: &App,
    mut seen: tokio::sync::MutexGuard<'_, Option<(Instant, Arc<Readiness>)>>,
    lasts: Duration,
) -> Arc<Readiness> {
    if let Some((then, readiness)) = &*seen
        && then.elapsed() < lasts
    {
        return readiness.clone();
    }
    let store = timeout(HEALTH_PATIENCE, app.site.store.health()).await;
    let store = store.unwrap_or_else(|_| StoreHealth::Unavailable("it does not answer in time".to_owned()));
    let free = match &app.settings.store_folder {
        Some(folder) => free_bytes(folder.clone()).await,
        None => None,
    };
    let readiness = Arc::new(Readiness::of(store, free));
    *seen = Some((Instant::now(), readiness.clone()));
    readiness
}

/// The room on the disk of a folder; `None` if it cannot be found out in time.
async fn free_bytes(folder: PathBuf) -> Option<u64> {
    // A network file system may take its time.
    let asked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&folder).ok());
    let figures = timeout(HEALTH_PATIENCE, asked).await.ok()?.ok()??;
    Some(figures.f_bavail.saturating_mul(figures.f_frsize))
}

/// Logs when the store is lost and when it is back, until the future is dropped. Nothing else of
/// the program does, so that the log has each of them once.
pub async fn watch(app: &App) {
    let mut ticks = interval(HEALTH_WATCHED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Told::default();
    loop {
        ticks.tick().await;
        // Failures that requests met before this check may be over by now.
        let failure = app.health.take_failure().map(|state| Readiness::of(state, None));
        let seen = app.health.seen.lock().await;
        let seen = look(app, seen, Duration::ZERO).await;
        // A loss that is known needs no request to tell of it.
        let unknown = failure.filter(|_| told.loss.is_none());
        for readiness in unknown.iter().chain([&*seen]) {
            if let Some(news) = told.learn(readiness, Instant::now()) {
                news.log();
            }
        }
    }
}

/// The state of the store as the log has last told it.
#[derive(Debug, Default)]
struct Told {
    loss: Option<Loss>,
    disk_is_low: bool,
}

/// A store that cannot be reached or is read only.
#[derive(Debug)]
struct Loss {
    status: ReadyStatus,
    cause: String,
    since: Instant,
    /// When the log last said so.
    logged: Instant,
}

/// A message for the log.
#[derive(Debug, PartialEq, Eq)]
enum News<'a> {
    Unavailable(&'a str),
    ReadOnly(&'a str),
    /// The same as a while ago, or for another reason.
    StillUnavailable(&'a str),
    StillReadOnly(&'a str),
    /// After so many seconds.
    Back(u64),
    Writable(u64),
    DiskIsLow(&'a str),
}

impl Told {
    /// Takes in the state of the store at a time. Returns what is new.
    fn learn<'a>(&mut self, readiness: &'a Readiness, now: Instant) -> Option<News<'a>> {
        let (status, cause) = (readiness.status, readiness.cause().unwrap_or_default());
        if readiness.is_ready() {
            let was_low = std::mem::replace(&mut self.disk_is_low, readiness.disk != OK);
            return match self.loss.take() {
                Some(loss) => Some(loss.end(now)),
                None => (self.disk_is_low && !was_low).then_some(News::DiskIsLow(&readiness.disk)),
            };
        }
        let is_read_only = status == ReadyStatus::ReadOnly;
        let Some(loss) = self.loss.as_mut().filter(|loss| loss.status == status) else {
            self.loss = Some(Loss { status, cause: cause.to_owned(), since: now, logged: now });
            return Some(if is_read_only { News::ReadOnly(cause) } else { News::Unavailable(cause) });
        };
        // The cause of a lost connection changes all the time; that of a read-only store says what to do.
        let has_new_cause = is_read_only && loss.cause != cause;
        if now.saturating_duration_since(loss.logged) < LOSS_LOGGED_EVERY && !has_new_cause {
            return None;
        }
        (loss.logged, loss.cause) = (now, cause.to_owned());
        Some(if is_read_only { News::StillReadOnly(cause) } else { News::StillUnavailable(cause) })
    }
}

impl Loss {
    /// The message about its end.
    fn end(&self, now: Instant) -> News<'static> {
        let seconds = now.saturating_duration_since(self.since).as_secs();
        if self.status == ReadyStatus::ReadOnly { News::Writable(seconds) } else { News::Back(seconds) }
    }
}

impl News<'_> {
    fn log(&self) {
        match *self {
            Self::Unavailable(cause) => {
                tracing::error!(cause, "the store cannot be reached; the site answers 503 until it is back");
            }
            Self::ReadOnly(cause) => {
                tracing::error!(
                    cause,
                    "the store is read only; writes get a 503 until it can be written again"
                );
            }
            Self::StillUnavailable(cause) => tracing::warn!(cause, "the store still cannot be reached"),
            Self::StillReadOnly(cause) => tracing::warn!(cause, "the store is still read only"),
            Self::Back(seconds) => tracing::info!(seconds, "the store is back"),
            Self::Writable(seconds) => tracing::info!(seconds, "the store can be written again"),
            Self::DiskIsLow(disk) => tracing::warn!(disk, "the disk of the store is nearly full"),
        }
    }
}

/// Whether a path is one of these addresses. They are answered whatever host they are asked
/// for: monitors know a server by its address or by a name of their own.
pub fn is_health(path: &str) -> bool {
    ADDRESSES.contains(&path)
}

/// `GET /health/live`: the process answers.
pub async fn live() -> Response {
    uncached(StatusCode::OK, Json(Liveness { status: "ok" }))
}

/// `GET /health/ready`: the site can be used.
pub async fn ready(app: App) -> Response {
    let readiness = readiness(&app).await;
    let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    uncached(status, Json((*readiness).clone()))
}

fn uncached(status: StatusCode, body: impl IntoResponse) -> Response {
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(readiness: &Readiness) -> String {
        serde_json::to_string(readiness).unwrap_or_default()
    }

    #[test]
    fn what_works_is_ok() {
        let plenty = Some(LEAST_DISK_BYTES);
        for free in [None, plenty] {
            let readiness = Readiness::of(StoreHealth::Works, free);
            let expected = r#"{"status":"ok","store":"ok","writer":"ok","disk":"ok"}"#;
            assert_eq!(texts(&readiness), expected);
        }
    }

    #[test]
    fn little_room_is_said_but_does_not_take_the_site_out_of_service() {
        let readiness = Readiness::of(StoreHealth::Works, Some(12 * 1024 * 1024 + 5));
        assert_eq!(readiness.status, ReadyStatus::Ok);
        assert_eq!(readiness.disk, "12 MiB are free, less than 64 MiB");
    }

    #[test]
    fn the_cause_is_told_at_the_part_that_it_is_about() {
        let read_only = |cause: &str| StoreHealth::ReadOnly(cause.to_owned());
        for (store, expected) in [
            (
                read_only("the disk is full"),
                r#"{"status":"read_only","store":"ok","writer":"ok","disk":"the disk is full"}"#,
            ),
            (
                read_only("this Redis server is a replica"),
                r#"{"status":"read_only","store":"this Redis server is a replica","writer":"ok","disk":"ok"}"#,
            ),
            (
                StoreHealth::Unavailable("the writer has stopped".to_owned()),
                r#"{"status":"unavailable","store":"ok","writer":"the writer has stopped","disk":"ok"}"#,
            ),
        ] {
            let readiness = Readiness::of(store, Some(u64::MAX));
            assert_eq!(texts(&readiness), expected);
            assert!(readiness.cause().is_some_and(|cause| expected.contains(cause)));
        }
    }

    /// The messages for the log about states, each so many seconds after the start.
    fn told(states: &[(u64, StoreHealth)]) -> Vec<String> {
        let (mut told, start) = (Told::default(), Instant::now());
        let mut news = Vec::new();
        for (seconds, state) in states {
            let readiness = Readiness::of(state.clone(), None);
            let now = start + Duration::from_secs(*seconds);
            news.extend(told.learn(&readiness, now).map(|new| format!("{seconds}: {new:?}")));
        }
        news
    }

    #[test]
    fn the_log_says_each_change_once_and_a_long_loss_once_a_minute() {
        let works = || StoreHealth::Works;
        let away = |cause: &str| StoreHealth::Unavailable(cause.to_owned());
        let read_only = |cause: &str| StoreHealth::ReadOnly(cause.to_owned());
        assert!(told(&[(0, works()), (2, works())]).is_empty());
        let lost = [(0, works()), (2, away("reset")), (4, away("refused")), (61, away("refused"))];
        assert_eq!(told(&lost), [r#"2: Unavailable("reset")"#]);
        let rest = [(62, away("refused")), (64, away("refused")), (66, works()), (68, works())];
        assert_eq!(
            told(&[&lost[..], &rest[..]].concat())[1..],
            [r#"62: StillUnavailable("refused")"#, "66: Back(64)"]
        );
        let full = [(0, read_only("full")), (2, read_only("full")), (4, read_only("broken")), (6, works())];
        let expected = [r#"0: ReadOnly("full")"#, r#"4: StillReadOnly("broken")"#, "6: Writable(6)"];
        assert_eq!(told(&full), expected);
        let both = [(0, away("refused")), (2, read_only("a replica")), (4, works())];
        let expected = [r#"0: Unavailable("refused")"#, r#"2: ReadOnly("a replica")"#, "4: Writable(2)"];
        assert_eq!(told(&both), expected);
    }

    #[test]
    fn a_disk_that_fills_is_said_once() {
        let (mut told, now) = (Told::default(), Instant::now());
        let at = |free| Readiness::of(StoreHealth::Works, Some(free));
        assert_eq!(told.learn(&at(LEAST_DISK_BYTES), now), None);
        let low = at(1024 * 1024);
        assert_eq!(told.learn(&low, now), Some(News::DiskIsLow("1 MiB are free, less than 64 MiB")));
        assert_eq!(told.learn(&low, now), None);
        assert_eq!(told.learn(&at(LEAST_DISK_BYTES), now), None);
        assert!(told.learn(&low, now).is_some());
    }
}
