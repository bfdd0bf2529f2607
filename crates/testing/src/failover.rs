//! Failovers of the store under load: what the site acknowledged, and what is there afterwards.

use crate::client::Client;
use crate::redis_server::ReplicatedRedis;
use crate::server::Server;
use reqwest::StatusCode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::store_check;
use tidings_keyspace::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long the site may refuse writes because of one failover before the run is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the writers write between two failovers.
const BETWEEN: Duration = Duration::from_millis(500);
/// The pause of a writer that was refused, as of a reader who tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// What a run found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Stories that were acknowledged.
    pub acknowledged: usize,
    /// Stories of which the writer was told that they may or may not be there.
    pub unsure: usize,
    /// Stories that were refused.
    pub refused: usize,
    /// Titles that were acknowledged and are not there.
    pub lost: Vec<String>,
    /// Titles that were refused and are there all the same.
    pub done_though_refused: Vec<String>,
    /// What `tidings check store` says.
    pub half_done: Vec<String>,
    /// For each failover, how long no write was acknowledged.
    pub gaps: Vec<Duration>,
}

/// The stories of one writer, by what the site said.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<(Instant, String)>,
    unsure: Vec<String>,
    refused: Vec<String>,
}

/// A site on a primary with two replicas, which waits for one of them.
pub async fn start_site() -> (Server, ReplicatedRedis) {
    let started = tokio::task::spawn_blocking(ReplicatedRedis::start).await;
    let redis = started.unwrap_or_else(|error| panic!("Redis does not start: {error}"));
    let server = Server::at(&redis.url(), &[("server.store_replicas", "1")]).await;
    (server, redis)
}

/// Lets members submit stories while the primary is killed, again and again. Each time, a replica
/// takes over, and the killed server comes back as its replica. Needs a runtime of several threads.
pub async fn run(server: &Server, redis: &mut ReplicatedRedis, writers: usize, failovers: usize) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let mut writing = JoinSet::new();
    for (number, client) in server.members(writers).await.into_iter().enumerate() {
        writing.spawn(submit_on(client, number, stop.clone()));
    }
    let visitor = server.visitor();
    let mut kills = Vec::new();
    for _ in 0..failovers {
        sleep(BETWEEN).await;
        kills.push(Instant::now());
        tokio::task::block_in_place(|| {
            let killed = redis.kill_primary();
            redis.wait_for_failover(killed);
            redis.bring_back(killed);
        });
        let deadline = Instant::now() + PATIENCE;
        while visitor.get("/api/getnews/latest/0/1").await.status != StatusCode::OK {
            assert!(Instant::now() < deadline, "the site does not read again");
            sleep(PAUSE).await;
        }
        tokio::task::block_in_place(|| redis.wait_until_whole());
    }
    sleep(BETWEEN).await;
    stop.store(true, Ordering::SeqCst);
    redis.demand_calm();
    let ledgers = writing.join_all().await;
    let mut outcome = compare(server, &ledgers).await;
    outcome.gaps = gaps(&ledgers, &kills);
    outcome
}

/// Submits stories until it is told to stop.
async fn submit_on(client: Client, writer: usize, stop: Arc<AtomicBool>) -> Ledger {
    let mut ledger = Ledger::default();
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let title = format!("Story {number} of {writer}");
        let fields = [("news_id", "-1"), ("title", &title), ("url", ""), ("text", "A text")];
        let answer = client.post("/api/submit", &fields).await;
        let body = answer.json();
        match (answer.status, body["status"].as_str()) {
            (StatusCode::OK, Some("ok")) => {
                ledger.acknowledged.push((Instant::now(), title));
                continue;
            }
            (StatusCode::SERVICE_UNAVAILABLE, Some("err")) => {
                let error = body["error"].as_str().unwrap_or_default();
                let is_unsure = error.contains("may or may not have been done; repeat it");
                if is_unsure { &mut ledger.unsure } else { &mut ledger.refused }.push(title);
            }
            _ => panic!("{answer:?}"),
        }
        sleep(PAUSE).await;
    }
    ledger
}

/// Compares what the writers were told with what the store has.
async fn compare(server: &Server, ledgers: &[Ledger]) -> Outcome {
    let stored: BTreeSet<String> = server.dump().await.into_iter().filter_map(title_of).collect();
    let is_stored = |title: &&String| stored.contains(*title);
    let mut outcome = Outcome::default();
    for ledger in ledgers {
        outcome.acknowledged += ledger.acknowledged.len();
        outcome.unsure += ledger.unsure.len();
        outcome.refused += ledger.refused.len();
        let titles = ledger.acknowledged.iter().map(|(_, title)| title);
        outcome.lost.extend(titles.filter(|title| !is_stored(title)).cloned());
        outcome.done_though_refused.extend(ledger.refused.iter().filter(is_stored).cloned());
    }
    let site = &server.app.site;
    let found =
        store_check::check(site, server.app.moment(), false, |_| {}).await.expect("the store answers");
    outcome.half_done = found.differences.iter().map(|difference| format!("{difference:?}")).collect();
    outcome
}

/// The title of a stored story.
fn title_of((key, value): (String, Value)) -> Option<String> {
    let Value::Hash(fields) = value else { return None };
    key.strip_prefix("news:")?.parse::<u64>().ok()?;
    fields.into_iter().collect::<BTreeMap<_, _>>().remove("title")
}

/// How long no write was acknowledged after each kill.
fn gaps(ledgers: &[Ledger], kills: &[Instant]) -> Vec<Duration> {
    let mut moments: Vec<Instant> =
        ledgers.iter().flat_map(|ledger| ledger.acknowledged.iter().map(|(moment, _)| *moment)).collect();
    moments.sort_unstable();
    let longest_between = |from: Instant, to: Option<Instant>| {
        let here = moments.iter().filter(|moment| **moment >= from && to.is_none_or(|to| **moment < to));
        let mut last = from;
        here.map(|moment| moment.duration_since(std::mem::replace(&mut last, *moment))).max()
    };
    let ends = kills.iter().skip(1).copied().map(Some).chain([None]);
    kills.iter().zip(ends).map(|(from, to)| longest_between(*from, to).unwrap_or(PATIENCE)).collect()
}
