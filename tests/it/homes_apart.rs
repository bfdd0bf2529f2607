//! Home timelines on a cluster of their own, with the program: under kills of servers and of masters,
//! while servers keep them at different places, and while the cluster is away. `tidings check timelines` is the judge.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidings_domain::home_servers;
use tidings_keyspace::{Addition, Batch, SetRead, ShardedSets, Store, StoreOptions, read};

use crate::client::{Client, ids};
use crate::deliveries::{
    AUTHOR, FOLLOWERS, KILLED_AFTER, PULL_LIMIT, client, has_jobs, prepare, tweet, wait_for_jobs,
    wait_for_the_last,
};
use crate::program::{Program, Ran, serve_command, wait_until};
use crate::redis_server::{RedisCluster, RedisServer};

const EVERYTHING: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

async fn open(redis: &RedisServer) -> Store {
    let options = StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() };
    Store::open(&redis.url(), &options).await.unwrap()
}

fn settings(homes: &str) -> [(&str, &str); 3] {
    [
        ("TIDINGS_TIMELINES__STORE", homes),
        ("TIDINGS_TIMELINES__PULL_LIMIT", PULL_LIMIT),
        ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ]
}

/// A server of a site that keeps home timelines at a URL, or in the store.
fn start(redis: &RedisServer, homes: &str) -> Program {
    Program::start_with(&redis.url(), &settings(homes))
}

/// Runs a command on the store, with the settings of such a server.
fn run(redis: &RedisServer, homes: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(arguments).args(["--store", &redis.url()]).envs(settings(homes)).output().unwrap().into()
}

/// Demands that no timeline is other than it should be, without a repair.
#[track_caller]
fn demand_no_difference(redis: &RedisServer, homes: &str) {
    let checked = run(redis, homes, &["check", "timelines"]).good();
    assert!(checked.contains("no differences"), "{checked}");
}

async fn homes(sets: &ShardedSets, readers: impl Iterator<Item = u64>) -> Vec<BTreeSet<u64>> {
    let read = |user| SetRead {
        key: format!("user:{user}:home_timeline"),
        bounds: EVERYTHING,
        limit: u64::MAX,
        keep: 800,
    };
    let parts = sets.read(readers.map(read).collect()).await.unwrap();
    // The mark of a timeline is no number.
    let ids =
        |entries: Vec<(String, f64)>| entries.into_iter().filter_map(|(id, _)| id.parse().ok()).collect();
    parts.into_iter().map(|part| ids(part.entries)).collect()
}

/// Makes the home timelines of all followers, as if each had read it: that of the last one is made by the server.
async fn make_homes(store: &Store, sets: &ShardedSets, program: &Program) {
    let last = AUTHOR + FOLLOWERS;
    client(program, last).get("/api/timeline/home").await;
    wait_for_jobs(store).await;
    let at: Option<String> = store.fetch(read::field(format!("user:{last}"), "home_at")).await.unwrap();
    let at = at.unwrap();
    let (_, mark) = at.rsplit_once(' ').unwrap();
    for chunk in (AUTHOR + 1..last).collect::<Vec<_>>().chunks(1_000) {
        let home = |user: &u64| Addition {
            key: format!("user:{user}:home_timeline"),
            members: vec![(mark.to_owned(), f64::INFINITY)],
        };
        sets.add(chunk.iter().map(home).collect(), 801).await.unwrap();
        let mut batch = Batch::new();
        chunk.iter().for_each(|user| batch.set_field(format!("user:{user}"), "home_at", &at));
        store.commit(batch).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_servers_and_of_a_master_lose_no_delivery() {
    let (redis, mut cluster) = (RedisServer::start(), RedisCluster::start());
    let store = open(&redis).await;
    prepare(&store).await;
    let survivor = start(&redis, &cluster.url());
    let sets = home_servers::open(&cluster.url()).unwrap();
    make_homes(&store, &sets, &survivor).await;
    let mut tweets = BTreeSet::new();
    let (mut killed, mut interrupted) = (None, 0);
    for (number, after) in KILLED_AFTER.into_iter().enumerate() {
        let mut program = start(&redis, &cluster.url());
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
    for chunk in (AUTHOR + 1..=AUTHOR + FOLLOWERS).collect::<Vec<_>>().chunks(1_000) {
        for (user, home) in chunk.iter().zip(homes(&sets, chunk.iter().copied()).await) {
            assert_eq!(home, tweets, "user {user}");
        }
    }
    assert_eq!(
        store.fetch(read::sorted_count(format!("user:{}:home_timeline", AUTHOR + 1))).await.unwrap(),
        0,
        "the store has a home timeline"
    );
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
            person.call(&format!("/api/deltweet?tweet_id={id}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_homes_at_different_places_lose_nothing() {
    const PEOPLE: usize = 12;
    let (redis, cluster) = (RedisServer::start(), RedisCluster::start());
    let (store, url) = (open(&redis).await, cluster.url());
    let servers = ["", &url].map(|homes| start(&redis, homes));
    let visitor = servers[0].visitor();
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
    // Not synchronisation: people use the site for so long.
    tokio::time::sleep(Duration::from_secs(3)).await;
    is_over.store(true, Ordering::SeqCst);
    for person in work {
        person.await.unwrap();
    }
    wait_for_jobs(&store).await;
    // Each reader sees the same on both servers, before and after the timelines are made there.
    for person in &people {
        let mut pages = Vec::new();
        for server in [0, 1, 1, 0, 0] {
            pages.push(person.at(servers[server].address).api_get("/api/timeline/home?count=100").await);
            wait_for_jobs(&store).await;
        }
        assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
    }
    demand_no_difference(&redis, "");
    demand_no_difference(&redis, &url);
}

#[test]
fn home_timelines_are_not_put_into_the_store_by_its_address() {
    let redis = RedisServer::start();
    run(&redis, "", &["create"]).good();
    for (homes, reason) in [(redis.url().as_str(), "the store of a site"), ("http://x", "timelines.store")] {
        let ran = Ran::from(serve_command(&redis.url(), &settings(homes)).output().unwrap());
        assert!(ran.code != Some(0) && ran.said().contains(reason), "{ran:?}");
    }
    // Another database of the same server is a place of its own.
    start(&redis, &format!("{}/1", redis.url()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_cluster_pages_are_complete_and_deliveries_wait() {
    let (redis, mut cluster) = (RedisServer::start(), RedisCluster::start());
    let store = open(&redis).await;
    let url = cluster.url();
    let program = start(&redis, &url);
    let visitor = program.visitor();
    let (alice, bob) = (visitor.register("alice").await, visitor.register("bob").await);
    bob.follow("alice").await;
    let mut tweets = vec![alice.tweet("before").await];
    wait_for_jobs(&store).await;

    (0..6).for_each(|node| cluster.pause(node));
    tweets.push(alice.tweet("meanwhile").await);
    let seen = async || -> Vec<u64> {
        ids(&bob.api_get("/api/timeline/home").await["tweets"]).into_iter().rev().collect()
    };
    assert_eq!(seen().await, tweets);
    program.wait_for_log("the home timelines cannot be reached");
    let status = run(&redis, &url, &["status"]).said();
    assert!(
        status.contains("Timelines    redis+cluster://") && status.contains("CANNOT BE REACHED"),
        "{status}"
    );
    (0..6).for_each(|node| cluster.resume(node));
    wait_for_jobs(&store).await;
    program.wait_for_log("the home timelines are back");
    assert_eq!(seen().await, tweets);
    demand_no_difference(&redis, &url);

    // A timeline that a cluster has lost is made anew from the store: by a repair, or once it is read.
    cluster.stop();
    cluster.start_again();
    wait_until("the differences are found", || {
        let checked = run(&redis, &url, &["check", "timelines"]);
        (checked.code == Some(1)).then_some(())
    });
    run(&redis, &url, &["check", "timelines", "--repair"]).good();
    demand_no_difference(&redis, &url);
    assert_eq!(seen().await, tweets);
    cluster.stop();
    cluster.start_again();
    tweets.push(alice.tweet("afterwards").await);
    assert_eq!(seen().await, tweets);
    wait_for_jobs(&store).await;
    assert_eq!(seen().await, tweets);
    wait_for_jobs(&store).await;
    demand_no_difference(&redis, &url);
}
