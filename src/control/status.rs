//! `tidings status`: how a site is, for a person and for programs.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use tidings_domain::jobs;
use tidings_domain::site::Site;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day::{parse_moment, to_the_minute, written};
use tidings_domain::values::words::{grouped, span, wait};
use tidings_keyspace::StoreHealth;
use tidings_web::App;

/// How a site is. What is not known is `None`: without a running server that is reached, all that
/// only a server knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// The store, without a password.
    pub store: String,
    /// How long the server has been running.
    pub uptime_seconds: Option<u64>,
    /// Requests that the server has answered in the last minute, per second.
    pub requests_per_second: Option<f64>,
    /// The time within which it has answered 99 of 100 of them, in milliseconds.
    pub p99_ms: Option<f64>,
    /// The memory of the server.
    pub memory_bytes: Option<u64>,
    /// Background jobs in the queue; `None` if the store cannot be read.
    pub jobs_waiting: Option<u64>,
    /// Whether the store can be read and not written; `None` if it cannot be read.
    pub read_only: Option<bool>,
    /// When the last good backup was made, as `2026-11-22T03:00:00Z`.
    pub last_backup: Option<String>,
}

impl Status {
    /// The status of a store that cannot be reached.
    #[must_use]
    pub fn unreachable(store: String) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store,
            uptime_seconds: None,
            requests_per_second: None,
            p99_ms: None,
            memory_bytes: None,
            jobs_waiting: None,
            read_only: None,
            last_backup: None,
        }
    }

    /// Whether nothing needs a person at once.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.jobs_waiting.is_some() && self.read_only == Some(false)
    }

    /// The status on one screen, at this time.
    #[must_use]
    pub fn screen(&self, now: Timestamp) -> String {
        let running = match self.uptime_seconds {
            Some(seconds) if seconds < 60 => format!("running for {}", span(seconds)),
            Some(seconds) => format!("running for {}", wait(seconds)),
            None => "no running server was found".to_owned(),
        };
        let condition = match (self.jobs_waiting, self.read_only) {
            (None, _) | (_, None) => "CANNOT BE REACHED",
            (_, Some(true)) => "READ ONLY",
            (_, Some(false)) => "read and write",
        };
        let requests = self.requests_per_second.map(|rate| match self.p99_ms {
            Some(p99) => format!("{rate:.1} per second, 99 of 100 within {p99:.1} ms"),
            None => format!("{rate:.1} per second"),
        });
        let backup = self.last_backup.as_deref().map(|time| match parse_moment(time) {
            Ok(made) => format!("{}, {} ago", to_the_minute(made), wait(now.0.saturating_sub(made.0))),
            Err(_) => time.to_owned(),
        });
        let rows = [
            ("Store", Some(format!("{} ({condition})", self.store))),
            ("Requests", requests),
            ("Memory", self.memory_bytes.map(|bytes| format!("{} MiB", grouped(bytes >> 20)))),
            ("Jobs", self.jobs_waiting.map(|jobs| format!("{} waiting", grouped(jobs)))),
            ("Last backup", backup),
        ];
        let mut screen = format!("Tidings {}: {running}\n", self.version);
        for (name, value) in rows {
            // Writing to a string cannot fail.
            writeln!(screen, "  {name:<12} {}", value.as_deref().unwrap_or("unknown")).ok();
        }
        screen
    }
}

/// The status as a running server knows it.
pub(super) async fn of_server(app: &App, store: String) -> Status {
    let p99 = app.traffic.p99();
    Status {
        uptime_seconds: Some(app.traffic.uptime().as_secs()),
        requests_per_second: Some(rounded(app.traffic.requests_per_second())),
        p99_ms: (!p99.is_zero()).then(|| rounded(p99.as_secs_f64() * 1000.0)),
        memory_bytes: memory(),
        last_backup: app.site.backup.state().last_success.map(written),
        ..of_site(&app.site, store).await
    }
}

/// The status as far as the store tells it.
pub async fn of_site(site: &Site, store: String) -> Status {
    let jobs_waiting = match jobs::status(site).await {
        Ok(jobs) => Some(jobs.waiting),
        Err(error) => {
            tracing::warn!(%error, "the background jobs cannot be counted");
            None
        }
    };
    let read_only = match site.store.health().await {
        StoreHealth::Works => Some(false),
        StoreHealth::ReadOnly(_) => Some(true),
        StoreHealth::Unavailable(_) => None,
    };
    Status { jobs_waiting, read_only, ..Status::unreachable(store) }
}

/// A figure with three decimals.
fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

/// The memory of this process, where the system tells it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_675_330_563);

    fn running() -> Status {
        Status {
            version: "1.2.3".to_owned(),
            store: "redb:tidings.redb".to_owned(),
            uptime_seconds: Some(7_200),
            requests_per_second: Some(12.34),
            p99_ms: Some(4.56),
            memory_bytes: Some(1_500 << 20),
            jobs_waiting: Some(1_234),
            read_only: Some(false),
            last_backup: Some("2023-02-02T04:36:03Z".to_owned()),
        }
    }

    #[test]
    fn one_screen_says_how_the_site_is() {
        let status = running();
        assert!(status.is_good());
        assert_eq!(
            status.screen(NOW),
            "Tidings 1.2.3: running for 2 hours\n  \
             Store        redb:tidings.redb (read and write)\n  \
             Requests     12.3 per second, 99 of 100 within 4.6 ms\n  \
             Memory       1,500 MiB\n  \
             Jobs         1,234 waiting\n  \
             Last backup  2023-02-02 04:36 UTC, 5 hours ago\n"
        );
    }

    #[test]
    fn what_is_not_known_is_said_to_be_unknown() {
        let stopped = Status {
            uptime_seconds: None,
            requests_per_second: None,
            p99_ms: None,
            memory_bytes: None,
            last_backup: None,
            ..running()
        };
        assert!(stopped.is_good());
        let screen = stopped.screen(NOW);
        assert!(screen.starts_with("Tidings 1.2.3: no running server was found\n"), "{screen}");
        assert!(screen.contains("Requests     unknown\n"), "{screen}");
        let json = serde_json::to_value(&stopped).unwrap();
        assert!(json["uptime_seconds"].is_null() && json["last_backup"].is_null());
    }

    #[test]
    fn a_store_that_cannot_be_written_or_read_is_not_good() {
        let read_only = Status { read_only: Some(true), ..running() };
        assert!(!read_only.is_good() && read_only.screen(NOW).contains("(READ ONLY)"));
        let gone = Status { read_only: None, jobs_waiting: None, ..running() };
        assert!(!gone.is_good() && gone.screen(NOW).contains("(CANNOT BE REACHED)"));
    }

    #[test]
    fn the_memory_of_this_process_is_known() {
        assert!(memory().unwrap() > 1 << 20);
    }
}
