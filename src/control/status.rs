//! `tidings status`: how a site is, for a person and for programs.

use crate::cli::now;
use serde::Serialize;
use std::fmt::Write;
use tidings_domain::Site;
use tidings_domain::administration::Queues;
use tidings_domain::home_servers::{self, HomesStatus};
use tidings_domain::report::BackupReport;
use tidings_domain::values::Timestamp;
use tidings_domain::values::day::{parse_moment, to_the_minute, written};
use tidings_domain::values::words::{age, grouped};
use tidings_keyspace::StoreHealth;
use tidings_web::App;
use tidings_web::server::conditions::{self, Condition, Facts};
use tidings_web::server::health::{Readiness, ReadyStatus, readiness};

/// The state of a site. Unknown values are `None`: without a running server that can be reached, all
/// values that need a running server. The keys up to `last_backup` are promised to programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// Mails that wait to be sent; `None` if the store cannot be read.
    pub mails_waiting: Option<u64>,
    /// The age of the oldest of them since it was written; 0 without any.
    pub mails_oldest_seconds: Option<u64>,
    /// Whether the store can be read and not written; `None` if it cannot be read.
    pub read_only: Option<bool>,
    /// When the last good backup was made, as `2026-11-22T03:00:00Z`.
    pub last_backup: Option<String>,
    /// Whether the site can be used, as `/health/ready` says it.
    pub state: ReadyStatus,
    /// Why not, or what soon will be wrong, in the words of `/health/ready`.
    pub cause: Option<String>,
    /// The last scheduled backup, if it has failed. It is a condition, too.
    pub failed_backup: Option<FailedBackup>,
    /// The conditions that are there, the most urgent first; see `/health/ready`.
    pub conditions: Vec<Condition>,
    /// The home timelines, if they are not in the store.
    pub home_timelines: Option<HomesStatus>,
}

/// A scheduled backup that has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedBackup {
    /// When, as `2026-11-22T03:00:00Z`.
    pub time: String,
    /// Why.
    pub cause: String,
}

/// Where home timelines are, in one line.
fn homes_line(HomesStatus { store, cause }: &HomesStatus) -> String {
    let state = if cause.is_some() { "CANNOT BE REACHED" } else { "read and write" };
    format!("{store} ({})", with_cause(state, cause.as_deref()))
}

impl Status {
    /// The status of a store that cannot be reached, and why.
    pub fn unreachable(store: String, cause: String) -> Self {
        let health = StoreHealth::Unavailable(cause);
        Self::of_store(store, None, &alone(now(), health))
    }

    /// The status that is known without a server.
    fn of_store(store: String, jobs_waiting: Option<u64>, readiness: &Readiness) -> Self {
        let state = readiness.status;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store,
            jobs_waiting,
            read_only: (state != ReadyStatus::Unavailable).then_some(state == ReadyStatus::ReadOnly),
            state,
            cause: readiness.cause().map(str::to_owned),
            conditions: readiness.conditions.clone(),
            ..Self::default()
        }
    }

    /// Whether nothing needs a person at once.
    pub fn is_good(&self) -> bool {
        !matches!(self.state, ReadyStatus::Unavailable | ReadyStatus::ReadOnly)
    }

    /// Whether the store can be used, and if not, why: "READ ONLY: the disk is full".
    pub fn condition(&self) -> String {
        let state = match self.state {
            ReadyStatus::Ok => "read and write",
            ReadyStatus::Stopping => "the server stops",
            ReadyStatus::Unavailable => "CANNOT BE REACHED",
            ReadyStatus::ReadOnly => "READ ONLY",
        };
        with_cause(state, self.cause.as_deref())
    }

    /// The problem of the store, as a sentence; call it if the status is not good.
    pub fn complaint(&self) -> String {
        let is_read_only = self.state == ReadyStatus::ReadOnly;
        let state = if is_read_only { "the store is read only" } else { "the store cannot be reached" };
        with_cause(state, self.cause.as_deref())
    }

    /// The mails that wait, for people.
    fn mails(&self) -> Option<String> {
        let waiting = self.mails_waiting?;
        let oldest = self.mails_oldest_seconds.filter(|_| waiting > 0);
        let oldest = oldest.map(|seconds| format!(", the oldest for {}", age(seconds).in_english()));
        Some(format!("{} waiting{}", grouped(waiting), oldest.unwrap_or_default()))
    }

    /// The status on one screen, at this time.
    pub fn screen(&self, now: Timestamp) -> String {
        let running = match self.uptime_seconds {
            Some(seconds) => format!("running for {}", age(seconds).in_english()),
            None if self.store.starts_with("redis") => {
                "no running server was found (with Redis it needs server.control)".to_owned()
            }
            None => "no running server was found".to_owned(),
        };
        let requests = self.requests_per_second.map(|rate| match self.p99_ms {
            Some(p99) => format!("{rate:.1} per second, 99 of 100 within {p99:.1} ms"),
            None => format!("{rate:.1} per second"),
        });
        let rows = [
            ("Store", Some(format!("{} ({})", self.store, self.condition()))),
            ("Requests", requests),
            ("Memory", self.memory_bytes.map(|bytes| format!("{} MiB", grouped(bytes >> 20)))),
            ("Jobs", self.jobs_waiting.map(|jobs| format!("{} waiting", grouped(jobs)))),
            ("Mails", self.mails()),
            ("Last backup", self.last_backup.as_deref().map(|time| with_age(time, now))),
        ];
        let mut screen = format!("Tidings {}: {running}\n", self.version);
        let rows = rows.map(|(name, value)| (name, value.unwrap_or_else(|| "unknown".to_owned())));
        let homes = self.home_timelines.as_ref().map(homes_line);
        for (name, value) in rows.into_iter().chain(homes.map(|homes| ("Timelines", homes))) {
            // Writing to a string cannot fail.
            writeln!(screen, "  {name:<12} {value}").ok();
        }
        for condition in &self.conditions {
            let (since, sentences) = (with_age(&condition.since, now), condition.sentences());
            writeln!(screen, "\n  {}, since {since}:\n  {sentences}", condition.name).ok();
        }
        screen
    }
}

/// A state, with why it is so, if that is known.
fn with_cause(state: &str, cause: Option<&str>) -> String {
    cause.map_or_else(|| state.to_owned(), |cause| format!("{state}: {cause}"))
}

/// A time of a status, for people: "22 Nov 2026, 03:00 UTC, 5 hours ago".
fn with_age(time: &str, now: Timestamp) -> String {
    match parse_moment(time) {
        Ok(then) => {
            format!("{}, {} ago", to_the_minute(then).in_english(), age(now.seconds_since(then)).in_english())
        }
        Err(_) => time.to_owned(),
    }
}

/// The status as a running server knows it.
pub async fn of_server(app: &App, store: String) -> Status {
    let p99 = app.traffic.p99();
    let backup = app.site.of::<BackupReport>().state(app.now());
    Status {
        uptime_seconds: Some(app.traffic.uptime().as_secs()),
        requests_per_second: Some(rounded(app.traffic.requests_per_second())),
        p99_ms: (!p99.is_zero()).then(|| rounded(p99.as_secs_f64() * 1000.0)),
        memory_bytes: memory(),
        last_backup: backup.last_success.map(written),
        failed_backup: backup.last_failure.map(|(at, cause)| FailedBackup { time: written(at), cause }),
        ..of((&app.site, app.now()), store, &*readiness(app).await).await
    }
}

/// The status as far as the store tells it.
pub async fn of_site(site: &Site, store: String) -> Status {
    let now = now();
    of((site, now), store, &alone(now, site.store.health().await)).await
}

/// The readiness by the state of the store alone.
fn alone(now: Timestamp, health: StoreHealth) -> Readiness {
    let conditions = conditions::of(&Facts::of_store(now, health.clone()));
    Readiness { conditions, ..Readiness::of(health, None) }
}

async fn of((site, now): (&Site, Timestamp), store: String, readiness: &Readiness) -> Status {
    match Queues::read(site, &site.store).await {
        Ok(Queues { jobs, mails, .. }) => Status {
            home_timelines: home_servers::status(site).await,
            mails_waiting: Some(mails.count),
            mails_oldest_seconds: Some(mails.oldest_seconds(now)),
            ..Status::of_store(store, Some(jobs.waiting.count), readiness)
        },
        // The known state of the store may be a second old.
        Err(error) if readiness.is_ready() => Status::unreachable(store, error.to_string()),
        Err(_) => Status::of_store(store, None, readiness),
    }
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
            mails_waiting: Some(3),
            mails_oldest_seconds: Some(7_200),
            read_only: Some(false),
            last_backup: Some("2023-02-02T04:36:03Z".to_owned()),
            ..Status::default()
        }
    }

    #[test]
    fn home_timelines_of_their_own_are_said_with_what_is_wrong() {
        let homes = |cause: Option<&str>| HomesStatus {
            store: "redis+cluster://a,b".to_owned(),
            cause: cause.map(str::to_owned),
        };
        for (homes, line) in [
            (homes(None), "  Timelines    redis+cluster://a,b (read and write)\n"),
            (homes(Some("no answer")), "(CANNOT BE REACHED: no answer)\n"),
        ] {
            let screen = Status { home_timelines: Some(homes), ..running() }.screen(NOW);
            assert!(screen.ends_with(line), "{screen}");
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
             Mails        3 waiting, the oldest for 2 hours\n  \
             Last backup  2 Feb 2023, 04:36 UTC, 5 hours ago\n"
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
        let full = StoreHealth::ReadOnly("the disk is full".to_owned());
        let gone = StoreHealth::Unavailable("connection refused".to_owned());
        for (health, condition, read_only) in [
            (full, "(READ ONLY: the disk is full)", Some(true)),
            (gone, "(CANNOT BE REACHED: connection refused)", None),
        ] {
            let status = Status::of_store("redb:tidings.redb".to_owned(), None, &alone(NOW, health));
            assert!(!status.is_good() && status.screen(NOW).contains(condition), "{status:?}");
            assert_eq!(status.read_only, read_only);
        }
    }

    #[test]
    fn little_room_is_said_while_all_is_well() {
        let readiness = Readiness::of(StoreHealth::Works, Some(12 << 20));
        let status = Status { cause: readiness.cause().map(str::to_owned), ..running() };
        assert!(status.is_good());
        let screen = status.screen(NOW);
        assert!(screen.contains("(read and write: 12 MiB are free, less than 64 MiB)"), "{screen}");
    }

    #[test]
    fn conditions_are_said_with_their_time_and_what_to_do() {
        let health = StoreHealth::Unavailable("gone".to_owned());
        let status = Status { conditions: alone(Timestamp(NOW.0 - 61), health).conditions, ..running() };
        let screen = status.screen(NOW);
        let lines = "\n  store_unavailable, since 2 Feb 2023, 09:35 UTC, 61 seconds ago:\n  \
                     The store cannot be reached; the site answers 503 until it is back (gone). Check the disk or \
                     Redis; the site comes back by itself.\n";
        assert!(screen.ends_with(lines), "{screen}");
    }

    #[test]
    fn the_memory_of_this_process_is_known() {
        assert!(memory().unwrap() > 1 << 20);
    }
}
