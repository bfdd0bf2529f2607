//! `GET /metrics`: what the server counts, for Prometheus.
//!
//! The crates of the project count and time by the facade `metrics`. Here is what collects
//! that, the list of everything there is, and the figures that are read when somebody asks.

mod endpoint;

pub use endpoint::MetricsEndpoint;

use metrics::Unit;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use std::time::{Duration, Instant};
use tidings_domain::administration::Queues;
use tidings_domain::report::BackupReport;
use tidings_domain::{counts, review};
use tidings_web::App;
use tidings_web::features::search::searching::SEARCH_OUTCOMES;
use tidings_web::server::conditions::KINDS;
use tidings_web::server::health::readiness;
use tokio::sync::Mutex;

/// The bounds of the histograms, in seconds.
const BOUNDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// How long what was read about the jobs counts as known.
const JOBS_LAST: Duration = Duration::from_secs(10);

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How many values lie within which bounds.
    Histogram,
}

/// A metric that the server has.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its meaning.
    pub meaning: &'static str,
}

const fn counter(name: &'static str, labels: &'static [&'static str], meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels, meaning }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, meaning }
}

const fn histogram(name: &'static str, labels: &'static [&'static str], meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Histogram, labels, meaning }
}

/// All metrics, besides `process_*`.
pub const METRICS: [Metric; 34] = [
    gauge("tidings_build_info", &["version"], "1; the label is the version that is running."),
    gauge(
        "tidings_condition",
        &["condition"],
        "1 while a condition is there that an operator should know of, otherwise 0.",
    ),
    counter(
        "tidings_http_requests_total",
        &["route", "method", "status"],
        "Requests that were answered, also from the cache; route is the pattern, or other.",
    ),
    histogram(
        "tidings_http_request_duration_seconds",
        &["route"],
        "From the head of a request to its answer, before it is sent.",
    ),
    gauge("tidings_http_connections", &[], "Open connections."),
    counter("tidings_store_reads_total", &[], "Queries to the store, each with any number of reads."),
    counter(
        "tidings_store_commits_total",
        &["result"],
        "Batches of writes: ok, rejected (something had changed, so it is decided again) or failed.",
    ),
    histogram(
        "tidings_store_commit_duration_seconds",
        &[],
        "How long a batch took until it was on disk, or refused.",
    ),
    gauge(
        "tidings_store_writer_queue",
        &[],
        "Batches that wait for the writer of the embedded store, or are being written; 0 on Redis.",
    ),
    gauge("tidings_journal_bytes", &[], "Records in the journal that the store file lacks."),
    counter("tidings_cache_hits_total", &["cache"], "Look-ups that found a valid entry."),
    counter("tidings_cache_misses_total", &["cache"], "Look-ups that did not."),
    gauge("tidings_cache_bytes", &["cache"], "The approximate size of a cache."),
    gauge("tidings_jobs_waiting", &[], "Background jobs in the queue, of all servers."),
    gauge(
        "tidings_jobs_oldest_seconds",
        &[],
        "The age of the oldest of them; 0 without any. Up to 10 seconds late.",
    ),
    gauge("tidings_review_waiting", &[], "Rows of the review queue. Up to 10 seconds late."),
    gauge(
        "tidings_review_oldest_seconds",
        &[],
        "How long the oldest of them has waited; 0 without any. Up to 10 seconds late.",
    ),
    gauge("tidings_mails_waiting", &[], "Mails that wait to be sent, of all servers."),
    gauge(
        "tidings_mails_oldest_seconds",
        &[],
        "The age of the oldest of them since it was written; 0 without any. Up to 10 seconds late.",
    ),
    counter(
        "tidings_mails_total",
        &["result"],
        "Mails to the relay: sent, failed (some are tried again) or refused (for good).",
    ),
    counter("tidings_deliveries_total", &[], "Tweets that were added to home timelines."),
    counter("tidings_rate_limited_total", &["action"], "Requests that were refused because of a rate."),
    counter(
        "tidings_logins_total",
        &["result"],
        "Logins: ok, second_step (a code is asked for), failed or refused (too many failed or wait).",
    ),
    counter("tidings_panics_total", &[], "Panics of any thread or task."),
    gauge(
        "tidings_backup_last_success_timestamp_seconds",
        &[],
        "The moment of the last good backup, in Unix time; 0 if none is known.",
    ),
    gauge(
        "tidings_backup_last_failure_timestamp_seconds",
        &[],
        "When the last backup of the server, or backup.after, failed, in Unix time; 0 if a later one succeeded.",
    ),
    gauge("tidings_backup_every_seconds", &[], "How often the server makes a backup; 0 if it makes none."),
    counter("tidings_actions_total", &["action"], "What people have done."),
    gauge("tidings_search_documents", &[], "Documents in the search index."),
    gauge("tidings_search_bytes", &[], "The size of the search index."),
    gauge(
        "tidings_search_behind_seconds",
        &[],
        "How long ago the search index had everything; 0 within a second.",
    ),
    counter(
        "tidings_search_queries_total",
        &["result"],
        "Searches; result is found, nothing, refused or failed.",
    ),
    counter("tidings_search_rebuilds_total", &[], "Search indexes that were damaged and made anew."),
    histogram("tidings_search_seconds", &[], "How long searches took."),
];

/// Collects what is counted from now on. Handles that were made before collect nothing, so this
/// comes before the store is opened.
///
/// # Errors
/// When something else collects already.
fn record() -> anyhow::Result<PrometheusHandle> {
    let builder = METRICS
        .iter()
        .filter(|metric| metric.kind == Kind::Histogram)
        .try_fold(PrometheusBuilder::new(), |builder, metric| {
            builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), &BOUNDS)
        })?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| anyhow::anyhow!("metrics are collected already"))?;
    describe();
    counts::begin();
    // So that they are there, at zero, from the start.
    metrics::counter!("tidings_panics_total").increment(0);
    metrics::counter!("tidings_search_rebuilds_total").increment(0);
    for result in ["sent", "failed", "refused"] {
        metrics::counter!("tidings_mails_total", "result" => result).increment(0);
    }
    for result in SEARCH_OUTCOMES {
        metrics::counter!("tidings_search_queries_total", "result" => result).increment(0);
    }
    metrics::gauge!("tidings_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    for gauge in [
        "tidings_search_documents",
        "tidings_search_bytes",
        "tidings_search_behind_seconds",
        "tidings_journal_bytes",
    ] {
        metrics::gauge!(gauge).set(0.0);
    }
    Ok(handle)
}

fn describe() {
    Collector::default().describe();
    for metric in &METRICS {
        let unit = match metric.name {
            name if name.ends_with("_seconds") => Unit::Seconds,
            name if name.ends_with("_bytes") => Unit::Bytes,
            _ => Unit::Count,
        };
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(metric.name, unit, metric.meaning),
            Kind::Gauge => metrics::describe_gauge!(metric.name, unit, metric.meaning),
            Kind::Histogram => metrics::describe_histogram!(metric.name, unit, metric.meaning),
        }
    }
}

/// Reads what is not counted as it happens.
struct Figures {
    app: App,
    process: Collector,
    /// When the jobs and the mails were last looked at.
    jobs: Mutex<Option<Instant>>,
}

impl Figures {
    fn new(app: App) -> Self {
        Self { app, process: Collector::default(), jobs: Mutex::default() }
    }

    /// Reads the figures. Rounds: 3 every ten seconds.
    async fn read(&self) {
        self.process.collect();
        for cache in self.app.site.caches.status() {
            metrics::counter!("tidings_cache_hits_total", "cache" => cache.name).absolute(cache.hits);
            metrics::counter!("tidings_cache_misses_total", "cache" => cache.name).absolute(cache.misses);
            set("tidings_cache_bytes", Some(cache.name), cache.bytes);
        }
        let queued = u64::try_from(self.app.site.store.queued_batches()).unwrap_or(u64::MAX);
        set("tidings_store_writer_queue", None, queued);
        if let Some(searching) = self.app.search.get() {
            let state = searching.state();
            set("tidings_search_documents", None, state.documents);
            set("tidings_search_bytes", None, state.bytes);
            set("tidings_search_behind_seconds", None, state.behind_seconds);
        }
        let backups = self.app.site.of::<BackupReport>().state(self.app.now());
        let last = backups.last_success.map_or(0, |last| last.0);
        set("tidings_backup_last_success_timestamp_seconds", None, last);
        let failed = backups.last_failure.map_or(0, |(at, _)| at.0);
        set("tidings_backup_last_failure_timestamp_seconds", None, failed);
        set("tidings_backup_every_seconds", None, backups.every.as_secs());
        let there = readiness(&self.app).await;
        for kind in &KINDS {
            let is_there = there.conditions.iter().any(|condition| condition.name == kind.name);
            metrics::gauge!("tidings_condition", "condition" => kind.name).set(f64::from(u8::from(is_there)));
        }
        self.read_jobs().await;
    }

    async fn read_jobs(&self) {
        let mut looked = self.jobs.lock().await;
        if looked.is_some_and(|then| then.elapsed() < JOBS_LAST) {
            return;
        }
        *looked = Some(Instant::now());
        // While the store is unreachable, the last figures stay.
        let now = self.app.now();
        if let Ok(Queues { jobs, mails, .. }) = Queues::read(&self.app.site, &self.app.site.store).await {
            set("tidings_jobs_waiting", None, jobs.waiting.count);
            set("tidings_jobs_oldest_seconds", None, jobs.waiting.oldest_seconds(now));
            set("tidings_mails_waiting", None, mails.count);
            set("tidings_mails_oldest_seconds", None, mails.oldest_seconds(now));
        }
        if let Ok(queue) = review::status(&self.app.site).await {
            set("tidings_review_waiting", None, queue.rows);
            let age = queue.oldest.map_or(0, |oldest| now.seconds_since(oldest));
            set("tidings_review_oldest_seconds", None, age);
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn set(name: &'static str, cache: Option<&'static str>, value: u64) {
    let gauge = match cache {
        Some(cache) => metrics::gauge!(name, "cache" => cache),
        None => metrics::gauge!(name),
    };
    gauge.set(value as f64);
}
