//! `GET /metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};
use strum::IntoEnumIterator;

use reqwest::StatusCode;
use tidings::metrics::{Kind, METRICS};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Watched;
use super::exposition::{Family, read};
use crate::client::Client;
use crate::packaging::OF_PROCESS;
use crate::redis_server::RedisServer;

const ANYWHERE: (&str, &str) = ("TIDINGS_METRICS__LISTEN", "127.0.0.1:0");

async fn scrape(address: SocketAddr) -> BTreeMap<String, Family> {
    let answer = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(content_type.starts_with("text/plain; version=0.0.4"), "{content_type}");
    read(&answer.text().await.unwrap())
}

/// The value of the one series with a name and these labels.
fn value(families: &BTreeMap<String, Family>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let family = families.values().flat_map(|family| &family.samples);
    let wanted = |labels_of: &BTreeMap<String, String>| {
        labels.iter().all(|(label, value)| labels_of.get(*label).map(String::as_str) == Some(*value))
    };
    let found: Vec<f64> = family
        .filter(|sample| sample.name == name && wanted(&sample.labels))
        .map(|sample| sample.value)
        .collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    found[0]
}

/// Somebody signs up, posts, votes, and fails to log in.
async fn do_something(client: &Client) {
    let alice = client.register("alice-of-the-metrics").await;
    let story = alice.submit_text("A story", "text").await;
    alice.comment(story, "A comment").await;
    alice.tweet("A tweet").await;
    client.get(&format!("/news/{story}")).await;
    client.get("/").await;
    client.get("/search?q=story").await;
    client.try_log_in("alice-of-the-metrics", "wrong horse").await;
    client.log_in("alice-of-the-metrics", crate::client::PASSWORD).await;
}

async fn check_metrics(store: &str, is_redb: bool) {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index").display().to_string();
    let search = [("TIDINGS_SEARCH__ENABLED", "true"), ("TIDINGS_SEARCH__FOLDER", &*index)];
    let watched = Watched::start(store, &[ANYWHERE, search[0], search[1]]);
    let (client, address) = (watched.client(), watched.metrics_address().await);
    do_something(&client).await;
    let families = scrape(address).await;

    for metric in &METRICS {
        let family = families.get(metric.name).unwrap_or_else(|| panic!("{} is missing", metric.name));
        let kind = format!("{:?}", metric.kind).to_lowercase();
        assert_eq!((&*family.kind, &*family.help), (&*kind, metric.meaning), "{}", metric.name);
        let labels: BTreeSet<String> = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(family.labels, labels, "{}", metric.name);
        assert!(!family.samples.is_empty(), "{}", metric.name);
    }
    for name in OF_PROCESS {
        assert!(families.contains_key(name), "{name}");
    }
    let known = |name: &String| METRICS.iter().any(|metric| metric.name == name);
    let others: Vec<&String> =
        families.keys().filter(|name| !known(name) && !name.starts_with("process_")).collect();
    assert!(others.is_empty(), "{others:?}");

    let get = |route| [("route", route), ("method", "GET"), ("status", "200")];
    assert!(value(&families, "tidings_http_requests_total", &get("/news/{id}")) >= 1.0);
    for action in ["signup", "story", "comment", "tweet"] {
        assert_eq!(value(&families, "tidings_actions_total", &[("action", action)]), 1.0, "{action}");
    }
    assert_eq!(value(&families, "tidings_logins_total", &[("result", "ok")]), 1.0);
    assert_eq!(value(&families, "tidings_logins_total", &[("result", "failed")]), 1.0);
    assert!(value(&families, "tidings_store_reads_total", &[]) > 5.0);
    assert!(value(&families, "tidings_store_commits_total", &[("result", "ok")]) > 5.0);
    assert!(value(&families, "tidings_store_commit_duration_seconds_count", &[]) > 5.0);
    // A job of the server may write just now.
    assert!(value(&families, "tidings_store_writer_queue", &[]) < if is_redb { 10.0 } else { 1.0 });
    check_histogram(&families["tidings_http_request_duration_seconds"]);
    check_labels(&families);
}

/// Each series of a histogram grows with its bounds, up to its count.
fn check_histogram(family: &Family) {
    let buckets = |route: &str| -> Vec<f64> {
        let of_route = family.samples.iter().filter(|sample| sample.labels["route"] == route);
        of_route.filter(|sample| sample.name.ends_with("_bucket")).map(|sample| sample.value).collect()
    };
    for count in family.samples.iter().filter(|sample| sample.name.ends_with("_count")) {
        let buckets = buckets(&count.labels["route"]);
        assert!(buckets.len() > 10 && buckets.is_sorted(), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&count.value));
    }
}

/// Labels are patterns, never paths or names.
fn check_labels(families: &BTreeMap<String, Family>) {
    for sample in families.values().flat_map(|family| &family.samples) {
        for (label, value) in &sample.labels {
            assert!(!value.contains("alice"), "{sample:?}");
            let has_number = value.split('/').skip(1).any(|part| part.parse::<u64>().is_ok());
            assert!(label != "route" || !has_number, "{sample:?}");
        }
    }
}

#[tokio::test]
async fn metrics_have_the_names_and_labels_that_are_documented_on_redb() {
    check_metrics("redb::memory:", true).await;
}

#[tokio::test]
async fn metrics_have_the_names_and_labels_that_are_documented_on_redis() {
    let redis = RedisServer::start();
    check_metrics(&redis.url(), false).await;
}

#[tokio::test]
async fn strangers_cannot_make_series() {
    let watched = Watched::start("redb::memory:", &[ANYWHERE]);
    let (client, address) = (watched.client(), watched.metrics_address().await);
    let ask = async |number: usize| {
        for path in ["/nothing/a/b/", "/", "/@", "/news/", "/api/", "/topic/"] {
            client.get(&format!("{path}x{number}")).await;
        }
        let method = reqwest::Method::from_bytes(format!("M{number}").as_bytes()).unwrap();
        client.request(method, "/").send().await.unwrap();
    };
    ask(0).await;
    let series = |families: &BTreeMap<String, Family>| -> BTreeSet<String> {
        let samples = families.values().flat_map(|family| &family.samples);
        samples.map(|sample| format!("{} {:?}", sample.name, sample.labels)).collect()
    };
    let before = series(&scrape(address).await);
    for number in 1..=150 {
        ask(number).await;
    }
    let after = scrape(address).await;
    assert_eq!(series(&after), before);
    let other = [("route", "other"), ("method", "GET"), ("status", "404")];
    assert!(value(&after, "tidings_http_requests_total", &other) >= 150.0);
    // A request that is not HTTP is counted too.
    client.send_raw(b"nonsense\r\n\r\n").await;
    let bad = [("route", "other"), ("method", "other"), ("status", "400")];
    assert_eq!(value(&scrape(address).await, "tidings_http_requests_total", &bad), 1.0);
}

#[tokio::test]
async fn only_metrics_are_at_the_address_of_metrics() {
    let watched = Watched::start("redb::memory:", &[ANYWHERE]);
    let address = watched.metrics_address().await;
    for (path, status) in [("/", 404), ("/health/live", 404), ("/metrics?x=y", 200)] {
        let answer = reqwest::get(format!("http://{address}{path}")).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    let posted = reqwest::Client::new().post(format!("http://{address}/metrics")).send().await.unwrap();
    assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
    // It is not on the site.
    assert_eq!(watched.client().get("/metrics").await.status, StatusCode::NOT_FOUND);
}

/// The status of `/metrics` under the name of a host.
async fn status_for(address: SocketAddr, host: &str) -> StatusCode {
    let request = reqwest::Client::new().get(format!("http://{address}/metrics")).header("host", host);
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn a_web_page_cannot_read_metrics_on_loopback_through_a_name_that_leads_there() {
    let watched = Watched::start("redb::memory:", &[ANYWHERE]);
    let address = watched.metrics_address().await;
    for host in ["localhost:9464", "127.0.0.1", "[::1]:9464"] {
        assert_eq!(status_for(address, host).await, StatusCode::OK, "{host}");
    }
    for host in ["rebind.example:9464", "192.0.2.1", "metrics.example"] {
        assert_eq!(status_for(address, host).await, StatusCode::BAD_REQUEST, "{host}");
    }
    let named = ("TIDINGS_METRICS__HOSTS", "metrics.example, other.example");
    let watched = Watched::start("redb::memory:", &[ANYWHERE, named]);
    let address = watched.metrics_address().await;
    assert_eq!(status_for(address, "metrics.example:9464").await, StatusCode::OK);
    assert_eq!(status_for(address, "rebind.example").await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn metrics_elsewhere_answer_to_any_name_unless_some_are_set() {
    let everywhere = ("TIDINGS_METRICS__LISTEN", "0.0.0.0:0");
    let named = ("TIDINGS_METRICS__HOSTS", "metrics.example");
    for (settings, expected) in
        [(vec![everywhere], StatusCode::OK), (vec![everywhere, named], StatusCode::BAD_REQUEST)]
    {
        let watched = Watched::start("redb::memory:", &settings);
        let address = SocketAddr::from(([127, 0, 0, 1], watched.metrics_address().await.port()));
        assert_eq!(status_for(address, "prometheus.example").await, expected);
        for host in ["metrics.example", "192.0.2.1:9464"] {
            assert_eq!(status_for(address, host).await, StatusCode::OK, "{host}");
        }
    }
}

#[tokio::test]
async fn unfinished_requests_keep_no_monitor_out_and_are_dropped() {
    let watched = Watched::start("redb::memory:", &[ANYWHERE]);
    let address = watched.metrics_address().await;
    let began = Instant::now();
    let mut unfinished = Vec::new();
    for number in 0..30 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: local").await.unwrap();
        }
        unfinished.push(stream);
    }
    scrape(address).await;
    assert!(began.elapsed() < Duration::from_secs(10));
    for mut stream in unfinished {
        let mut rest = Vec::new();
        // Either ends the connection.
        stream.read_to_end(&mut rest).await.ok();
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_taken_address_is_a_warning_and_the_site_works() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let watched = Watched::start("redb::memory:", &[("TIDINGS_METRICS__LISTEN", &address)]);
    let line = watched.line("no metrics").await;
    assert!(line.contains("WARN") && line.contains(&address) && line.contains("metrics.listen"), "{line}");
    assert_eq!(watched.client().get("/").await.status, StatusCode::OK);
}

#[tokio::test]
async fn refusals_because_of_a_rate_are_counted_by_action() {
    let settings = [ANYWHERE, ("TIDINGS_RATES__COMMENT_PER_ACCOUNT", "1/1h")];
    let watched = Watched::start("redb::memory:", &settings);
    // Administrators, such as the first account, have no rate.
    watched.client().register("alice").await;
    let bob = watched.client().register("bob").await;
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "one").await;
    for _ in 0..3 {
        let story = story.to_string();
        let fields = [("news_id", &*story), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", "two")];
        let refused = bob.post("/api/postcomment", &fields).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    }
    let families = scrape(watched.metrics_address().await).await;
    assert_eq!(value(&families, "tidings_rate_limited_total", &[("action", "comment")]), 3.0);
    assert_eq!(value(&families, "tidings_rate_limited_total", &[("action", "tweet")]), 0.0);
}

#[test]
fn every_metric_is_documented() {
    let operating = include_str!("../../../docs/operating.md");
    for metric in &METRICS {
        assert!(operating.contains(&format!("`{}", metric.name)), "{}", metric.name);
        assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
    }
    for action in tidings_domain::counts::CountedAction::iter() {
        assert!(operating.contains(&format!("`{}`", action.name())), "{}", action.name());
    }
}
