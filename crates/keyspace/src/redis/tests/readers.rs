//! Reads from replicas: they reach one that keeps up, and what they answer is never older than half a second.

use super::{PATIENCE, get, increment};
use crate::limits::READ_STALENESS;
use crate::{Query, Store, StoreOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidings_testing_redis::{RedisServer, ReplicatedRedis};
use tokio::task::block_in_place;

/// The times in these tests are measured in whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);

/// A primary and its replica.
fn pair() -> (RedisServer, RedisServer) {
    let primary = RedisServer::start_with(&["--repl-diskless-sync-delay", "0"]);
    let port = primary.port().to_string();
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]);
    (primary, replica)
}

async fn open(url: &str) -> Store {
    let options =
        StoreOptions { timeout: Duration::from_secs(2), reads_replicas: true, ..StoreOptions::default() };
    Store::open(url, &options).await.unwrap()
}

/// Waits until a replica may be read, or until none may.
async fn wait_for_replica(store: &Store, is_there: bool) {
    let deadline = Instant::now() + PATIENCE;
    while store.has_replica() != is_there {
        assert!(Instant::now() < deadline, "{is_there}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Reads a counter as lists are read.
async fn read(store: &Store, key: &str) -> i64 {
    let mut query = Query::new();
    let value = query.string(key);
    let value = store.query_replica(query).await.unwrap().take(value);
    value.map_or(0, |value| value.parse().unwrap())
}

/// How many keys a server has looked up for those who read.
fn look_ups(server: &RedisServer) -> u64 {
    let info = server.send(b"INFO stats");
    let figure = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{info}")).trim().parse::<u64>().unwrap()
    };
    figure("keyspace_hits") + figure("keyspace_misses")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_from_a_replica_and_everything_else_from_the_primary() {
    let (primary, replica) = pair();
    let store = open(&primary.url()).await;
    increment(&store, "counter").await.unwrap();
    wait_for_replica(&store, true).await;
    while read(&store, "counter").await != 1 {}
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = (look_ups(&primary), look_ups(&replica));
        for _ in 0..20 {
            assert_eq!(read(&store, "counter").await, 1);
        }
        let from_replica = look_ups(&replica) - before.1;
        assert_eq!(from_replica + look_ups(&primary) - before.0, 20);
        // A busy machine may measure the replica too late; then the primary is asked.
        if from_replica > 0 {
            break;
        }
        assert!(Instant::now() < deadline);
    }
    let before = look_ups(&replica);
    for _ in 0..20 {
        assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    }
    assert_eq!(look_ups(&replica), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_ask_for_it_reads_no_replica() {
    let (primary, replica) = pair();
    let watching = open(&primary.url()).await;
    wait_for_replica(&watching, true).await;
    let store = super::open(&primary).await;
    assert!(!store.has_replica());
    let before = look_ups(&replica);
    read(&store, "counter").await;
    assert_eq!(look_ups(&replica), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_hangs_is_not_waited_for_and_read_again_when_it_is_back() {
    let (primary, replica) = pair();
    let store = open(&primary.url()).await;
    wait_for_replica(&store, true).await;
    replica.pause();
    for written in 1..=3 {
        increment(&store, "counter").await.unwrap();
        assert_eq!(read(&store, "counter").await, written);
    }
    wait_for_replica(&store, false).await;
    assert_eq!(read(&store, "counter").await, 3);
    replica.resume();
    wait_for_replica(&store, true).await;
    let before = look_ups(&replica);
    let deadline = Instant::now() + PATIENCE;
    while look_ups(&replica) == before {
        assert!(Instant::now() < deadline);
        assert_eq!(read(&store, "counter").await, 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_is_cut_off_from_the_primary_is_not_read() {
    let (primary, replica) = pair();
    let store = open(&primary.url()).await;
    wait_for_replica(&store, true).await;
    // It answers, and has what it had.
    assert!(replica.send(b"REPLICAOF 127.0.0.1 1").contains("OK"));
    increment(&store, "counter").await.unwrap();
    wait_for_replica(&store, false).await;
    let before = look_ups(&replica);
    assert_eq!(read(&store, "counter").await, 1);
    // Nor is one that has become a primary: its stream is another.
    assert!(replica.send(b"REPLICAOF NO ONE").contains("OK"));
    assert_eq!(read(&store, "counter").await, 1);
    assert_eq!(look_ups(&replica), before);
}

/// Writes until it is told to stop. Notes each number with the time when it was acknowledged.
async fn write_on(store: Store, stop: Arc<AtomicBool>, acknowledged: Arc<Mutex<Vec<Instant>>>) {
    while !stop.load(Ordering::SeqCst) {
        increment(&store, "counter").await.unwrap();
        acknowledged.lock().unwrap().push(Instant::now());
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_that_is_older_than_it_may_be_whatever_happens_to_the_replica() {
    let (primary, replica) = pair();
    let store = open(&primary.url()).await;
    wait_for_replica(&store, true).await;
    let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let writer = tokio::spawn(write_on(store.clone(), stop.clone(), acknowledged.clone()));
    let back = format!("REPLICAOF 127.0.0.1 {}", primary.port());
    // Some reads of each kind: it keeps up, hangs, catches up, is cut off, and gets a new copy.
    let troubles: [&dyn Fn(); 5] = [
        &|| {},
        &|| replica.pause(),
        &|| replica.resume(),
        &|| assert!(replica.send(b"REPLICAOF 127.0.0.1 1").contains("OK")),
        &|| assert!(replica.send(back.as_bytes()).contains("OK")),
    ];
    let before = look_ups(&replica);
    for trouble in troubles {
        block_in_place(trouble);
        let began = Instant::now();
        while began.elapsed() < READ_STALENESS + Duration::from_millis(200) {
            let start = Instant::now();
            let seen = read(&store, "counter").await;
            let oldest = start.checked_sub(READ_STALENESS + ROUNDING).unwrap();
            let must_be_seen = acknowledged.lock().unwrap().partition_point(|when| *when <= oldest);
            assert!(seen >= i64::try_from(must_be_seen).unwrap(), "{seen} instead of {must_be_seen}");
            tokio::task::yield_now().await;
        }
    }
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    assert!(look_ups(&replica) > before);
    wait_for_replica(&store, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_are_found_through_sentinels_and_after_a_failover() {
    let mut redis = tokio::task::spawn_blocking(ReplicatedRedis::start).await.unwrap();
    let store = open(&redis.url()).await;
    wait_for_replica(&store, true).await;
    let promoted = block_in_place(|| {
        let killed = redis.kill_primary();
        redis.wait_for_failover(killed)
    });
    wait_for_replica(&store, true).await;
    let deadline = Instant::now() + PATIENCE;
    while increment(&store, "counter").await.is_err() {
        assert!(Instant::now() < deadline);
    }
    let other =
        (0..3).find(|number| *number != promoted && redis.server(*number).try_send(b"PING").is_some());
    let other = redis.server(other.unwrap());
    let before = look_ups(other);
    while look_ups(other) == before {
        assert!(Instant::now() < deadline);
        read(&store, "counter").await;
    }
}
