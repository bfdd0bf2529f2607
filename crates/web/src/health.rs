//! Whether the site works, for whoever watches it: `GET /health/live` and `GET /health/ready`.
//!
//! The state of the store is looked at most once a second, however often it is asked for, and
//! once every two seconds anyway, so that the log says when the store is lost and when it is
//! back. Nothing is written, and no rate counts these requests.

use crate::App;
use crate::limits::{
    HEALTH_LASTS, HEALTH_PATIENCE, HEALTH_WATCHED_EVERY, LEAST_DISK_BYTES, LEAST_DISK_MEBIBYTES,
};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tidings_keyspace::StoreHealth;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// What the addresses begin with.
const PREFIX: &str = "/health/";
/// What is said of a part that works.
const OK: Cow<'static, str> = Cow::Borrowed("ok");

/// What this server knows about its state.
#[derive(Debug, Default)]
pub struct Health {
    stopping: AtomicBool,
    /// Whether a request has failed because of the store since [`watch`] last looked.
    in_doubt: AtomicBool,
    seen: Mutex<Option<(Instant, Arc<Readiness>)>>,
}

impl Health {
    /// Notes that the server stops: from now on it is not ready.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether the server stops.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Notes that a request has failed because of the store.
    pub(crate) fn note_failure(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
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
    /// What follows from the state of the store, and from the room on its disk if it is known.
    #[must_use]
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
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status == ReadyStatus::Ok
    }

    /// What is wrong, or soon will be; `None` if nothing is.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        let parts = [&self.store, &self.writer, &self.disk];
        parts.into_iter().find(|part| **part != OK).map(|part| &**part)
    }
}

/// The state of the site, at most a second old.
pub async fn readiness(app: &App) -> Arc<Readiness> {
    let seen = app.health.seen.lock().await;
    let readiness = look(app, seen).await;
    if !app.health.is_stopping() {
        return readiness;
    }
    Arc::new(Readiness { status: ReadyStatus::Stopping, ..(*readiness).clone() })
}

/// Looks at the store, unless somebody has within the last second. Others wait meanwhile.
async fn look(
    app: &App,
    mut seen: tokio::sync::MutexGuard<'_, Option<(Instant, Arc<Readiness>)>>,
) -> Arc<Readiness> {
    if let Some((then, readiness)) = &*seen
        && then.elapsed() < HEALTH_LASTS
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

/// Logs when the store is lost and when it is back, until the future is dropped.
pub async fn watch(app: &App) {
    let mut ticks = interval(HEALTH_WATCHED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = Arc::new(Readiness::of(StoreHealth::Works, None));
    let mut lost = None;
    loop {
        ticks.tick().await;
        // What requests have met before this look may be over by now.
        let in_doubt = app.health.in_doubt.swap(false, Ordering::Relaxed);
        let seen = app.health.seen.lock().await;
        let now = look(app, seen).await;
        if in_doubt && lost.is_none() {
            lost = Some(Instant::now());
        }
        if now.status != before.status || (!now.is_ready() && now.cause() != before.cause()) {
            log_loss(&now);
        }
        if !now.is_ready() {
            lost.get_or_insert_with(Instant::now);
        } else if let Some(lost) = lost.take() {
            tracing::info!(seconds = lost.elapsed().as_secs(), "the store is back");
        } else if now.disk != OK && before.disk == OK {
            tracing::warn!(disk = &*now.disk, "the disk of the store is nearly full");
        }
        before = now;
    }
}

fn log_loss(now: &Readiness) {
    match now.status {
        ReadyStatus::Unavailable => tracing::error!(cause = now.cause(), "the store is unavailable"),
        ReadyStatus::ReadOnly => tracing::error!(cause = now.cause(), "the store is read only"),
        ReadyStatus::Ok | ReadyStatus::Stopping => {}
    }
}

/// Whether a path is one of these addresses. They are answered whatever host they are asked
/// for: monitors know a server by its address or by a name of their own.
#[must_use]
pub fn is_health(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// `GET /health/live`: the process answers.
pub async fn live() -> Response {
    uncached(StatusCode::OK, Json(Liveness { status: "ok" }))
}

/// `GET /health/ready`: the site can be used.
pub async fn ready(State(app): State<App>) -> Response {
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
}
