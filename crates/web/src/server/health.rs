//! Whether the site works, for whoever watches it: `GET /health/live` and `GET /health/ready`.
//!
//! The state of the store is looked at most once a second, however often it is asked for, and
//! once every two seconds anyway, so that the log says when a condition of [`super::conditions`]
//! comes and goes. Nothing is written, and no rate counts these requests.

use crate::App;
use crate::limits::{
    HEALTH_LASTS, HEALTH_PATIENCE, HEALTH_WATCHED_EVERY, LEAST_DISK_BYTES, LEAST_DISK_MEBIBYTES,
    QUEUES_READ_EVERY,
};
use crate::server::conditions::{Condition, Conditions, Facts};
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::administration::Queues;
use tidings_domain::report::BackupReport;
use tidings_domain::values::Timestamp;
use tidings_keyspace::StoreHealth;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The report for a healthy part.
const OK: Cow<'static, str> = Cow::Borrowed("ok");

/// The state of this server: whether it is stopping, and whether it works.
#[derive(Default)]
pub struct Health {
    stopping: AtomicBool,
    /// How the first request has failed that failed because of the store since [`watch`] last looked.
    failure: parking_lot::Mutex<Option<StoreHealth>>,
    /// Faults that parts of the server tell of themselves, by the names of conditions.
    told: parking_lot::Mutex<BTreeMap<&'static str, String>>,
    seen: Mutex<Seen>,
}

/// The findings of the last look.
#[derive(Default)]
struct Seen {
    known: Option<(Instant, Arc<Readiness>)>,
    conditions: Conditions,
    queues: Queues,
    /// The latest time by the system's clock.
    latest: Timestamp,
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

    /// Notes what a part of the server says of itself: that this condition is there, with its cause, or that it is
    /// not.
    pub fn tell(&self, condition: &'static str, cause: Option<String>) {
        match cause {
            Some(cause) => self.told.lock().insert(condition, cause),
            None => self.told.lock().remove(condition),
        };
    }

    /// Notes that a request has failed because the store is in this state.
    pub(crate) fn note_failure(&self, state: StoreHealth) {
        self.failure.lock().get_or_insert(state);
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
    /// The conditions that an operator should know of, the most urgent first.
    pub conditions: Vec<Condition>,
}

/// Whether the site can be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    /// It can.
    #[default]
    Ok,
    /// The server stops.
    Stopping,
    /// The store cannot be reached.
    Unavailable,
    /// The store can be read only.
    ReadOnly,
}

impl Readiness {
    /// The readiness by the state of the store, and by the room on its disk if that is known.
    pub fn of(store: StoreHealth, free_bytes: Option<u64>) -> Self {
        let conditions = Vec::new();
        let mut readiness = Self { status: ReadyStatus::Ok, store: OK, writer: OK, disk: OK, conditions };
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

/// The conditions at this moment, also those of the queues. Rounds: 1, and a look at the store.
pub async fn conditions_now(app: &App) -> Vec<Condition> {
    let queues = Queues::read(&app.site, &app.site.store.counted_apart()).await.ok();
    let mut seen = app.health.seen.lock().await;
    seen.queues = queues.unwrap_or(seen.queues);
    look(app, seen, Duration::ZERO).await.conditions.clone()
}

/// Looks at the store and the rest, unless somebody has lately. Others wait meanwhile.
async fn look(app: &App, mut seen: tokio::sync::MutexGuard<'_, Seen>, lasts: Duration) -> Arc<Readiness> {
    if let Some((then, readiness)) = &seen.known
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
    let facts = facts(app, &mut seen, store, free);
    let conditions = seen.conditions.learn(&facts, Instant::now());
    let readiness = Arc::new(Readiness { conditions, ..Readiness::of(facts.store, free) });
    seen.known = Some((Instant::now(), readiness.clone()));
    readiness
}

/// The facts as they are known, with this state of the store.
fn facts(app: &App, seen: &mut Seen, store: StoreHealth, free_bytes: Option<u64>) -> Facts {
    let now = app.now();
    seen.latest = seen.latest.max(now);
    Facts {
        now,
        store,
        signs: app.site.store.signs(),
        free_bytes,
        latest: seen.latest,
        queues: seen.queues,
        backup: app.site.of::<BackupReport>().state(now),
        connections: app.settings.transport.connections,
        told: app.health.told.lock().clone(),
    }
}

/// The room on the disk of a folder; `None` if it cannot be found out in time.
async fn free_bytes(folder: PathBuf) -> Option<u64> {
    // A network file system may take its time.
    let asked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&folder).ok());
    let figures = timeout(HEALTH_PATIENCE, asked).await.ok()?.ok()??;
    Some(figures.f_bavail.saturating_mul(figures.f_frsize))
}

/// Looks every two seconds until the future is dropped, so that the log says when a condition begins and when
/// it ends. Rounds: 1 every ten seconds.
pub async fn watch(app: &App) {
    let mut ticks = interval(HEALTH_WATCHED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let store = app.site.store.counted_apart();
    let mut queues_read: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let mut queues = None;
        if queues_read.is_none_or(|then| then.elapsed() >= QUEUES_READ_EVERY) {
            queues_read = Some(Instant::now());
            // While the store is unreachable, the last ones stay.
            queues = Queues::read(&app.site, &store).await.ok();
        }
        // A failure that requests met before this look may be over by now.
        let failure = app.health.failure.lock().take();
        let mut seen = app.health.seen.lock().await;
        seen.queues = queues.unwrap_or(seen.queues);
        // A loss that is known needs no request to tell of it.
        if let Some(state) = failure.filter(|_| !seen.conditions.has_loss()) {
            let facts = facts(app, &mut seen, state, None);
            seen.conditions.learn(&facts, Instant::now());
        }
        look(app, seen, Duration::ZERO).await;
    }
}

/// `GET /health/live`: the process answers.
pub async fn live() -> Response {
    uncached(StatusCode::OK, Json(json!({ "status": OK })))
}

/// `GET /health/ready`: the site can be used.
pub async fn ready(app: App) -> Response {
    let readiness = readiness(&app).await;
    let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut readiness = (*readiness).clone();
    // Strangers may ask.
    readiness.conditions.iter_mut().for_each(Condition::for_strangers);
    uncached(status, Json(readiness))
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
            let expected = r#"{"status":"ok","store":"ok","writer":"ok","disk":"ok","conditions":[]}"#;
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
                r#"{"status":"read_only","store":"ok","writer":"ok","disk":"the disk is full","conditions":[]}"#,
            ),
            (
                read_only("this Redis server is a replica"),
                r#"{"status":"read_only","store":"this Redis server is a replica","writer":"ok","disk":"ok","conditions":[]}"#,
            ),
            (
                StoreHealth::Unavailable("the writer has stopped".to_owned()),
                r#"{"status":"unavailable","store":"ok","writer":"the writer has stopped","disk":"ok","conditions":[]}"#,
            ),
        ] {
            let readiness = Readiness::of(store, Some(u64::MAX));
            assert_eq!(texts(&readiness), expected);
            assert!(readiness.cause().is_some_and(|cause| expected.contains(cause)));
        }
    }
}
