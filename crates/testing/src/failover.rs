//! Failovers of the store under load: what the site acknowledged, and what is there afterwards.

use crate::client::{Client, HttpResponse};
use crate::redis_server::ReplicatedRedis;
use crate::server::Server;
use reqwest::StatusCode;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::store_check::{self, Part};
use tidings_keyspace::Value;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long the site may refuse writes because of one failover before the run is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the writers write between two failovers.
const BETWEEN: Duration = Duration::from_millis(500);
/// The pause of a writer that was refused, as of a reader who tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// The fault of a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is killed (`kill -9`), and comes back empty as a replica.
    Dies,
    /// It hangs (`SIGSTOP`) until another has taken over, and then goes on with all that it has.
    Hangs,
}

/// The findings of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Stories and subscriptions that were acknowledged.
    pub acknowledged: usize,
    /// Answers that said that it may or may not have been done. The request was then repeated.
    pub unsure: usize,
    /// Answers that said that it was not done.
    pub refused: usize,
    /// Stories and subscriptions that were acknowledged and are not there.
    pub lost: Vec<String>,
    /// Titles that were refused and are there all the same.
    pub done_though_refused: Vec<String>,
    /// The differences that `tidings check store` finds.
    pub half_done: Vec<String>,
    /// For each failover, how long no write was acknowledged.
    pub gaps: Vec<Duration>,
}

/// The stories of one writer, by what the site said.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<(Instant, String)>,
    /// The keys of the subscribers of stories that the writer has subscribed to.
    subscribed: Vec<String>,
    /// The member of the writer in these sets.
    writer: String,
    unsure: usize,
    refused: Vec<String>,
    refusals: usize,
}

/// A writer follows the thread of every so many stories.
const STORIES_PER_SUBSCRIPTION: usize = 4;

/// A site on a primary with two replicas, which waits for one of them.
pub async fn start_site() -> (Server, ReplicatedRedis) {
    let started = tokio::task::spawn_blocking(ReplicatedRedis::start).await;
    let redis = started.unwrap_or_else(|error| panic!("Redis does not start: {error}"));
    let server = Server::at(&redis.url(), &[("server.store_replicas", "1")]).await;
    (server, redis)
}

/// Lets members submit stories and subscribe to their threads while the primary fails, again and again. Each
/// time, a replica takes over, and the old primary comes back as its replica. All requests have names, and what is
/// not sure is repeated until it is. Needs a runtime of several threads.
pub async fn run(
    server: &Server,
    redis: &mut ReplicatedRedis,
    fault: Fault,
    writers: usize,
    failovers: usize,
) -> Outcome {
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
        tokio::task::block_in_place(|| match fault {
            Fault::Dies => {
                let killed = redis.kill_primary();
                redis.wait_for_failover(killed);
                redis.bring_back(killed);
            }
            Fault::Hangs => {
                let old = redis.hang_primary();
                redis.wait_for_failover(old);
                redis.wait_until_replicas_follow();
                redis.server(old).resume();
            }
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
    let mut ledger = Ledger { writer: client.user_id.to_string(), ..Ledger::default() };
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let title = format!("Story {number} of {writer}");
        let fields =
            [("news_id", "-1"), ("title", &*title), ("url", ""), ("text", "A text"), ("request", &*title)];
        let (answer, was_unsure) = ledger.repeat_until_sure(&client, "/api/submit", &fields, &stop).await;
        let body = answer.json();
        match answer.status {
            StatusCode::OK if body["status"] == "ok" => ledger.acknowledged.push((Instant::now(), title)),
            StatusCode::SERVICE_UNAVAILABLE => {
                // A refusal says nothing about what was sent before.
                if !was_unsure {
                    ledger.refused.push(title);
                }
                sleep(PAUSE).await;
                continue;
            }
            _ => panic!("{answer:?}"),
        }
        if number % STORIES_PER_SUBSCRIPTION == 0 {
            let news = body["news_id"].to_string();
            // The form sets a state.
            let fields = [("news_id", &*news), ("request", "subscribe")];
            let (answer, _) = ledger.repeat_until_sure(&client, "/subscribe", &fields, &stop).await;
            match answer.status {
                StatusCode::SEE_OTHER => ledger.subscribed.push(format!("news.subscribers:{news}")),
                StatusCode::SERVICE_UNAVAILABLE => {}
                _ => panic!("{answer:?}"),
            }
        }
    }
    ledger
}

impl Ledger {
    /// Sends a request, and again while it is not sure whether it was done, unless it is told to stop. Returns the
    /// last answer, and whether it was ever not sure.
    async fn repeat_until_sure(
        &mut self,
        client: &Client,
        path: &str,
        fields: &[(&str, &str)],
        stop: &AtomicBool,
    ) -> (HttpResponse, bool) {
        let mut was_unsure = false;
        loop {
            let answer = client.post(path, fields).await;
            if answer.status != StatusCode::SERVICE_UNAVAILABLE {
                return (answer, was_unsure);
            }
            let text = String::from_utf8_lossy(&answer.body);
            let is_unsure = text.contains("it isn't clear whether it was saved. Please try again");
            self.unsure += usize::from(is_unsure);
            self.refusals += usize::from(!is_unsure);
            was_unsure |= is_unsure;
            if !was_unsure || stop.load(Ordering::SeqCst) {
                return (answer, was_unsure);
            }
            sleep(PAUSE).await;
        }
    }
}

/// Compares what the writers were told with what the store has.
async fn compare(server: &Server, ledgers: &[Ledger]) -> Outcome {
    let dump = server.dump().await;
    let stored: BTreeSet<String> = dump.iter().filter_map(title_of).collect();
    let is_stored = |title: &&String| stored.contains(*title);
    let mut outcome = Outcome::default();
    for ledger in ledgers {
        outcome.acknowledged += ledger.acknowledged.len() + ledger.subscribed.len();
        outcome.unsure += ledger.unsure;
        outcome.refused += ledger.refusals;
        let titles = ledger.acknowledged.iter().map(|(_, title)| title);
        outcome.lost.extend(titles.filter(|title| !is_stored(title)).cloned());
        let is_member = |key: &&String| match dump.get(*key) {
            Some(Value::SortedSet(members)) => members.iter().any(|(member, _)| *member == ledger.writer),
            _ => false,
        };
        outcome.lost.extend(ledger.subscribed.iter().filter(|key| !is_member(key)).cloned());
        outcome.done_though_refused.extend(ledger.refused.iter().filter(is_stored).cloned());
    }
    let site = &server.app.site;
    let found = store_check::check(site, Part::Whole, server.app.moment(), false, |_| {})
        .await
        .expect("the store answers");
    outcome.half_done = found.differences.iter().map(|difference| format!("{difference:?}")).collect();
    outcome
}

/// The title of a stored story.
fn title_of((key, value): (&String, &Value)) -> Option<String> {
    let Value::Hash(fields) = value else { return None };
    key.strip_prefix("news:")?.parse::<u64>().ok()?;
    fields.iter().find_map(|(field, value)| (field == "title").then(|| value.clone()))
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
