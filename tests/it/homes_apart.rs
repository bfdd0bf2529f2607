//! Home timelines on a cluster of their own, with the program: under kills of servers and of masters,
//! while they move, and while the cluster is away. `tidings check timelines` is the judge.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidings_domain::home_servers;
use tidings_keyspace::{Query, SetRead, ShardedSets, Store, StoreOptions};

use crate::client::Client;
use crate::deliveries::{
    AUTHOR, FOLLOWERS, KILLED_AFTER, PULL_LIMIT, has_jobs, prepare, tweet, wait_for_jobs, wait_for_the_last,
};
use crate::program::{Program, wait_until};
use crate::redis_server::{RedisCluster, RedisServer};
use crate::server::http_client;

const EVERYTHING: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

async fn open(redis: &RedisServer) -> Store {
    let options = StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() };
    Store::open(&redis.url(), &options).await.unwrap()
}

/// A server of a site whose home timelines begin on the cluster.
fn start(redis: &RedisServer, cluster: &RedisCluster) -> Program {
    let settings = [
        ("TIDINGS_TIMELINES__STORE", cluster.url()),
        ("TIDINGS_TIMELINES__PULL_LIMIT", PULL_LIMIT.to_owned()),
    ];
    Program::start_with(&redis.url(), &settings.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// Runs a command on the store.
fn run(redis: &RedisServer, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(arguments).args(["--store", &redis.url()]);
    command.env("TIDINGS_TIMELINES__PULL_LIMIT", PULL_LIMIT).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Demands that no timeline is other than it should be, without a repair.
#[track_caller]
fn demand_no_difference(redis: &RedisServer) {
    let checked = run(redis, &["check", "timelines"]);
    assert!(checked.status.success() && said(&checked).contains("no differences"), "{}", said(&checked));
}

async fn homes(sets: &ShardedSets, readers: impl Iterator<Item = u64>) -> Vec<BTreeSet<u64>> {
    let read = |user| SetRead {
        key: format!("user:{user}:home_timeline"),
        bounds: EVERYTHING,
        limit: u64::MAX,
        keep: 800,
    };
    let parts = sets.read(readers.map(read).collect()).await.unwrap();
    let ids = |entries: Vec<(String, f64)>| entries.into_iter().map(|(id, _)| id.parse().unwrap()).collect();
    parts.into_iter().map(|part| ids(part.entries)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_servers_and_of_a_master_lose_no_delivery() {
    let (redis, mut cluster) = (RedisServer::start(), RedisCluster::start());
    let store = open(&redis).await;
    prepare(&store).await;
    let survivor = start(&redis, &cluster);
    let mut tweets = BTreeSet::new();
    let (mut killed, mut interrupted) = (None, 0);
    for (number, after) in KILLED_AFTER.into_iter().enumerate() {
        let mut program = start(&redis, &cluster);
        tweets.insert(tweet(&program, &format!("killed after {after} ms")).await);
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_millis(after)).await;
        if number == 2 {
            killed = Some(cluster.kill_master());
        }
        program.kill();
        interrupted += usize::from(has_jobs(&store).await);
    }
    assert!(interrupted > 0, "no kill hit a delivery");
    cluster.wait_for_failover(killed.unwrap());
    wait_for_the_last(&survivor, &tweets).await;
    wait_for_jobs(&store).await;
    let sets = home_servers::open(&cluster.url()).unwrap();
    for chunk in (AUTHOR + 1..=AUTHOR + FOLLOWERS).collect::<Vec<_>>().chunks(1_000) {
        for (user, home) in chunk.iter().zip(homes(&sets, chunk.iter().copied()).await) {
            assert_eq!(home, tweets, "user {user}");
        }
    }
    let mut query = Query::new();
    let left = query.sorted_count(format!("user:{}:home_timeline", AUTHOR + 1));
    assert_eq!(store.query(query).await.unwrap().take(left), 0, "the store has a home timeline");
}

/// People who post, follow, unfollow and delete until they are told to stop.
async fn use_the_site(person: Client, number: usize, others: usize, is_over: Arc<AtomicBool>) {
    let mut round = number;
    while !is_over.load(Ordering::SeqCst) {
        round += 1;
        let id = person.tweet("Hello").await;
        let other = format!("user-{}", round % others);
        if round % others != number {
            let call = if round.is_multiple_of(3) { "/api/unfollow" } else { "/api/follow" };
            person.api_post(call, &[("username", &other)]).await;
        }
        if round.is_multiple_of(4) {
            person.api_post("/api/deltweet", &[("tweet_id", &id.to_string())]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn home_timelines_move_to_a_cluster_and_back_while_people_use_the_site() {
    const PEOPLE: usize = 12;
    let (redis, cluster) = (RedisServer::start(), RedisCluster::start());
    let store = open(&redis).await;
    let settings = [("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0")];
    let servers = [&settings, &settings].map(|settings| Program::start_with(&redis.url(), settings));
    let visitor = Client::new(http_client(), servers[0].address);
    let is_over = Arc::new(AtomicBool::new(false));
    let mut people = Vec::new();
    for number in 0..PEOPLE {
        let person = visitor.register(&format!("user-{number}")).await;
        people.push(person.at(servers[number % 2].address));
    }
    let work = people.iter().cloned().enumerate();
    let work: Vec<_> = work
        .map(|(number, person)| tokio::spawn(use_the_site(person, number, PEOPLE, is_over.clone())))
        .collect();
    let url = cluster.url();
    let mut said_all = Vec::new();
    for to in [&url, "store", &url] {
        let moved = run(&redis, &["move", "timelines", "--to", to]);
        assert!(moved.status.success(), "{}", said(&moved));
        said_all.push(said(&moved));
    }
    is_over.store(true, Ordering::SeqCst);
    for person in work {
        person.await.unwrap();
    }
    assert!(said_all[0].contains(&format!("the home timelines of {PEOPLE} users are at redis+cluster://")));
    wait_for_jobs(&store).await;
    demand_no_difference(&redis);
    let again = run(&redis, &["move", "timelines", "--to", &url]);
    assert!(again.status.success() && said(&again).contains(" already"), "{}", said(&again));
    let mut query = Query::new();
    let left: Vec<_> =
        (1..=12).map(|user| query.sorted_count(format!("user:{user}:home_timeline"))).collect();
    let mut answers = store.query(query).await.unwrap();
    assert!(left.into_iter().all(|left| answers.take(left) == 0), "home timelines are left in the store");
    // Each reader sees the same on both servers.
    for person in &people {
        let page = person.api_get("/api/timeline/home?count=100").await;
        assert_eq!(page, person.at(servers[0].address).api_get("/api/timeline/home?count=100").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn home_timelines_do_not_move_into_the_store_by_its_address() {
    let redis = RedisServer::start();
    let store = open(&redis).await;
    let program = Program::start_with(&redis.url(), &[("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0")]);
    let visitor = Client::new(http_client(), program.address);
    let (alice, bob) = (visitor.register("alice").await, visitor.register("bob").await);
    bob.follow("alice").await;
    alice.tweet("Hello").await;
    wait_for_jobs(&store).await;
    let refused = run(&redis, &["move", "timelines", "--to", &redis.url()]);
    assert!(
        !refused.status.success() && said(&refused).contains("the store of a site"),
        "{}",
        said(&refused)
    );
    demand_no_difference(&redis);
    // Another database of the same server is a place of its own.
    let other = format!("{}/1", redis.url());
    let moved = run(&redis, &["move", "timelines", "--to", &other]);
    assert!(moved.status.success(), "{}", said(&moved));
    demand_no_difference(&redis);
    // A copy of the store names the same place for home timelines, and the command says so.
    let folder = tempfile::tempdir().unwrap();
    let copy = format!("redb:{}", folder.path().join("copy.redb").display());
    let copied = run(&redis, &["copy", &redis.url(), &copy]);
    let advice = format!("move timelines --to store --leave-old --store {copy}");
    assert!(copied.status.success() && said(&copied).contains(&advice), "{}", said(&copied));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    let moved = command.args(advice.split(' ')).output().unwrap();
    assert!(moved.status.success(), "{}", said(&moved));
    demand_no_difference(&redis);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    let checked = command.args(["check", "timelines", "--store", &copy]).output().unwrap();
    assert!(said(&checked).contains("no differences"), "{}", said(&checked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_cluster_pages_are_complete_and_deliveries_wait() {
    let (redis, mut cluster) = (RedisServer::start(), RedisCluster::start());
    let store = open(&redis).await;
    let settings = [
        ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0".to_owned()),
        ("TIDINGS_TIMELINES__STORE", cluster.url()),
    ];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let program = Program::start_with(&redis.url(), &settings);
    let visitor = Client::new(http_client(), program.address);
    let (alice, bob) = (visitor.register("alice").await, visitor.register("bob").await);
    bob.follow("alice").await;
    let mut tweets = vec![alice.tweet("before").await];
    wait_for_jobs(&store).await;

    (0..6).for_each(|node| cluster.pause(node));
    tweets.push(alice.tweet("meanwhile").await);
    let seen = async || -> Vec<u64> {
        let page = bob.api_get("/api/timeline/home").await;
        page["tweets"].as_array().unwrap().iter().rev().map(|tweet| tweet["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(seen().await, tweets);
    program.wait_for_log("the home timelines cannot be reached");
    let status = said(&run(&redis, &["status"]));
    assert!(
        status.contains("Timelines    redis+cluster://") && status.contains("CANNOT BE REACHED"),
        "{status}"
    );
    (0..6).for_each(|node| cluster.resume(node));
    wait_for_jobs(&store).await;
    program.wait_for_log("the home timelines are back");
    assert_eq!(seen().await, tweets);
    demand_no_difference(&redis);

    // A cluster that has lost everything is made anew from the store.
    cluster.stop();
    cluster.start_again();
    wait_until("the differences are found", || {
        let checked = run(&redis, &["check", "timelines"]);
        (checked.status.code() == Some(1)).then_some(())
    });
    let repaired = run(&redis, &["check", "timelines", "--repair"]);
    assert!(repaired.status.success(), "{}", said(&repaired));
    demand_no_difference(&redis);
    assert_eq!(seen().await, tweets);
}

#[tokio::test]
async fn a_place_that_cannot_be_used_is_refused_and_nothing_has_changed() {
    let (redis, absent) = (RedisServer::start(), "redis://127.0.0.1:1");
    assert!(run(&redis, &["create"]).status.success());
    let store = open(&redis).await;
    for (to, status, reason) in [
        ("http://x", 2, "expected redis+cluster://HOST,HOST,HOST"),
        ("redb:x", 2, "expected redis+cluster://HOST,HOST,HOST"),
        (absent, 1, "Connection refused"),
    ] {
        let refused = run(&redis, &["move", "timelines", "--to", to]);
        assert!(
            refused.status.code() == Some(status) && said(&refused).contains(reason),
            "{}",
            said(&refused)
        );
    }
    let mut query = Query::new();
    let place = query.hash("timeline:place");
    assert!(store.query(query).await.unwrap().take(place).is_empty());
    let mut command =
        crate::program::serve_command(&redis.url(), &[("TIDINGS_TIMELINES__STORE", "http://x")]);
    let output = command.output().unwrap();
    assert!(said(&output).contains("timelines.store"), "{}", said(&output));
}
