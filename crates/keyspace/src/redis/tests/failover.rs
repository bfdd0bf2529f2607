//! Replicas and Sentinels: what was acknowledged outlives the primary, what is not sure is told, and
//! nothing stale is taken for new.

use super::{END, PATIENCE, assert_absent, assert_refused, get, increment, open_url, until};
use crate::{
    Batch, CommitError, KeyspaceError, Notice, ReadSet, Store, StoreHealth, StoreOptions, Subscription, read,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_testing_redis::{RedisServer, ReplicatedRedis};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::timeout;

/// How long to poll for what takes several failovers.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// The time-out of the stores here. A busy machine must not make a write unsure without cause.
const TIMEOUT: Duration = Duration::from_secs(2);

fn options(replicas: u32) -> StoreOptions {
    StoreOptions { timeout: TIMEOUT, replicas, ..StoreOptions::default() }
}

async fn open(redis: &ReplicatedRedis, replicas: u32) -> Store {
    Store::open(&redis.url(), &options(replicas)).await.unwrap()
}

/// Starts everything, on a thread where it may block.
async fn start(servers: &'static [&'static str]) -> ReplicatedRedis {
    tokio::task::spawn_blocking(move || ReplicatedRedis::start_with(servers)).await.unwrap()
}

/// The writes of one writer, by their outcome.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<String>,
    unsure: Vec<String>,
    refused: Vec<String>,
}

/// Writes until it is told to stop: each batch has two keys, the name and a member of `all`.
async fn write_on(store: Store, writer: usize, stop: Arc<AtomicBool>) -> Ledger {
    let mut ledger = Ledger::default();
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("write:{writer}:{number}");
        let mut batch = Batch::new();
        batch.key_absent(&name);
        batch.set(&name, "done");
        batch.add_member("all", &name);
        match store.commit(batch).await {
            Ok(_) => ledger.acknowledged.push(name),
            Err(CommitError::Keyspace(KeyspaceError::Unsure(_))) => ledger.unsure.push(name),
            Err(CommitError::Keyspace(KeyspaceError::Unavailable(_) | KeyspaceError::ReadOnly(_))) => {
                ledger.refused.push(name);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error:?}"),
        }
    }
    ledger
}

/// Whether a write is there: its key, and its place in the set.
async fn found(store: &Store, name: &str) -> (bool, bool) {
    let (key, listed) = store.fetch((read::string(name), read::has_member("all", name))).await.unwrap();
    (key.is_some(), listed)
}

/// Reads until the store answers.
async fn assert_answers(store: &Store) {
    until(async || get(store, "anything").await.is_ok()).await;
}

/// Writes until the store takes it.
async fn assert_writes(store: &Store, key: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match increment(store, key).await {
            Ok(_) => return,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Publishes until the message arrives: while the subscription is made again, messages are missed.
async fn assert_publishes(store: &Store, messages: &mut Subscription, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline);
        store.commit(Batch::of(|batch| batch.publish("news", text))).await.unwrap();
        let arrives = async { while messages.next().await != Some(Notice::Message(text.to_owned())) {} };
        if timeout(Duration::from_millis(500), arrives).await.is_ok() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failovers_under_sixteen_writers_lose_nothing_that_was_acknowledged() {
    let mut redis = start(&[]).await;
    let store = open(&redis, 1).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        // Two servers of the site.
        let store = if writer % 2 == 0 { store.clone() } else { open(&redis, 1).await };
        writers.spawn(write_on(store, writer, stop.clone()));
    }
    let mut messages = store.subscribe("news");
    assert_eq!(messages.next().await, Some(Notice::Missed));
    for round in 0..3 {
        assert_writes(&store, "round").await;
        let primary = block_in_place(|| {
            let killed = redis.kill_primary();
            let primary = redis.wait_for_failover(killed);
            redis.bring_back(killed);
            primary
        });
        // Sentinel is done: the store follows within seconds.
        let began = Instant::now();
        assert_answers(&store).await;
        assert_writes(&store, "round").await;
        assert!(began.elapsed() < Duration::from_secs(5), "{round}: {:?}", began.elapsed());
        assert_eq!(redis.primary(), Some(primary));
        // The subscription goes on, and says that it may have missed something.
        assert_eq!(messages.next().await, Some(Notice::Missed), "{round}");
        assert_publishes(&store, &mut messages, &format!("after {round}")).await;
        block_in_place(|| redis.wait_until_whole());
    }
    stop.store(true, Ordering::SeqCst);
    redis.demand_calm();
    let ledgers = writers.join_all().await;
    let mut unsure = 0;
    for ledger in &ledgers {
        assert!(!ledger.acknowledged.is_empty());
        for name in &ledger.acknowledged {
            assert_eq!(found(&store, name).await, (true, true), "{name} was acknowledged");
        }
        for name in &ledger.unsure {
            let (key, listed) = found(&store, name).await;
            assert_eq!(key, listed, "{name} is half done");
        }
        for name in &ledger.refused {
            assert_eq!(found(&store, name).await, (false, false), "{name} was not to be done");
        }
        unsure += ledger.unsure.len();
    }
    assert!(unsure > 0, "no write met a failover");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failover_nothing_cached_is_older_than_what_was_acknowledged() {
    let mut redis = start(&[]).await;
    let (store, other) = (open(&redis, 1).await, open(&redis, 1).await);
    let mut cached: Option<(i64, ReadSet)> = None;
    for round in 0..2 {
        let killed = block_in_place(|| redis.kill_primary());
        let (mut written, mut is_over) = (0, false);
        let deadline = Instant::now() + LONG_PATIENCE;
        // Through the failover, and some rounds after it.
        let mut after = 0;
        while after < 50 {
            assert!(Instant::now() < deadline, "{round}");
            if let Ok(count) = increment(&other, "counter").await {
                written = count;
                after += i32::from(is_over);
            }
            // A round, with which the server reports the write.
            if get(&store, "session").await.is_err() {
                continue;
            }
            let current = cached.as_ref().filter(|(_, reads)| store.is_unchanged(reads));
            let value = match current {
                Some((value, _)) => Some(*value),
                None => {
                    let (value, reads) = store.record_reads(get(&store, "counter")).await;
                    let value = value.ok().map(|text| text.map_or(0, |text| text.parse().unwrap()));
                    cached = value.map(|value| (value, reads));
                    value
                }
            };
            assert!(value.is_none_or(|value| value >= written), "{value:?} is older than {written}");
            is_over = redis.primary().is_some_and(|primary| primary != killed);
        }
        block_in_place(|| {
            redis.wait_for_failover(killed);
            redis.bring_back(killed);
            redis.wait_until_whole();
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_is_left_for_the_new_one_and_not_used_when_it_wakes() {
    let redis = start(&[]).await;
    let store = open(&redis, 1).await;
    increment(&store, "counter").await.unwrap();
    let mut messages = store.subscribe("news");
    assert_eq!(messages.next().await, Some(Notice::Missed));
    let old = redis.primary().unwrap();
    redis.server(old).pause();
    block_in_place(|| redis.wait_for_failover(old));
    let began = Instant::now();
    assert_writes(&store, "counter").await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(messages.next().await, Some(Notice::Missed));
    // It takes itself for the primary until a Sentinel tells it otherwise.
    redis.server(old).resume();
    for _ in 0..200 {
        let value = get(&store, "counter").await.unwrap();
        assert_eq!(value.as_deref(), Some("2"));
    }
    block_in_place(|| redis.wait_until_whole());
    increment(&store, "counter").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_was_decided_on_a_primary_that_was_replaced_is_not_applied_by_the_new_one() {
    let redis = start(&[]).await;
    let (store, other) = (open(&redis, 1).await, open(&redis, 1).await);
    let history = store.history().await.unwrap();
    assert_eq!(history, other.history().await.unwrap());
    let write = || Batch::of(|batch| batch.increment("counter", 1));
    store.commit_in(&history, write()).await.unwrap();
    let old = redis.primary().unwrap();
    redis.server(old).pause();
    block_in_place(|| redis.wait_for_failover(old));
    assert_answers(&store).await;
    assert_writes(&other, "another").await;
    for batch in [write(), Batch::new()] {
        let refused = store.commit_in(&history, batch).await.unwrap_err();
        assert!(
            matches!(&refused, CommitError::Keyspace(KeyspaceError::Unavailable(reason))
                if reason.contains("the primary was replaced")),
            "{refused}"
        );
    }
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    redis.server(old).resume();
    block_in_place(|| redis.wait_until_whole());
    let history = store.history().await.unwrap();
    store.commit_in(&history, write()).await.unwrap();
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_goes_on_without_sentinels() {
    let mut redis = start(&[]).await;
    let store = open(&redis, 0).await;
    // One that hangs does not slow down a start.
    redis.pause_sentinel(0);
    let began = Instant::now();
    increment(&open(&redis, 0).await, "counter").await.unwrap();
    assert!(began.elapsed() < TIMEOUT, "{:?}", began.elapsed());
    redis.resume_sentinel(0);
    redis.stop_sentinels();
    increment(&store, "counter").await.unwrap();
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("2"));
    // A new start has to wait for them.
    assert_absent(Store::open(&redis.url(), &options(0)).await, "cannot be reached");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_no_sentinel_knows_may_come_and_a_malformed_url_does_not() {
    let redis = start(&[]).await;
    let url = redis.url().replace("/tidings", "/unknown");
    assert_absent(Store::open(&url, &options(0)).await, "knows no primary unknown");
    assert_refused(open_url(&redis.url().replace("/tidings", "")).await, &["add /NAME"]);
    let awaited = Store::awaited(&redis.url(), &options(1), "it is away".to_owned()).unwrap();
    assert!(increment(&awaited, "key").await.is_err());
    awaited.admit();
    increment(&awaited, "key").await.unwrap();
    // Databases are separate here, too.
    let other = Store::open(&format!("{}/1", redis.url()), &options(0)).await.unwrap();
    assert_eq!(get(&other, "key").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_of_the_store_are_used_with_sentinels() {
    let redis = start(&["--user", "site", "on", ">secret", "~*", "&*", "+@all"]).await;
    let url = |login: &str| redis.url().replace("://", &format!("://{login}@"));
    assert_refused(Store::open(&url("site:wrong"), &options(1)).await, &[]);
    let store = Store::open(&url("site:secret"), &options(1)).await.unwrap();
    assert_eq!(increment(&store, "counter").await.unwrap(), 1);
}

#[tokio::test]
async fn a_sentinel_that_refuses_ends_the_start_with_what_to_do() {
    // Sentinels refuse as servers do.
    let locked = RedisServer::start_with(&["--requirepass", "secret"]);
    let url = format!("redis+sentinel://127.0.0.1:{}/news", locked.port());
    for (url, code) in [(url.clone(), "NOAUTH"), (format!("{url}?sentinel_password=wrong"), "WRONGPASS")] {
        let opened = Store::open(&url, &options(0)).await;
        assert_refused(opened, &[code, "?sentinel_password=PASSWORD"]);
    }
    // With the right one it is asked; it is no Sentinel.
    let asked = Store::open(&format!("{url}?sentinel_password=secret"), &options(0)).await;
    assert_absent(asked, "knows no primary news");
}

#[tokio::test]
async fn a_write_that_no_replica_has_is_not_sure() {
    let server = RedisServer::start();
    let short = StoreOptions { timeout: Duration::from_millis(400), replicas: 1, ..StoreOptions::default() };
    let store = Store::open(&server.url(), &short).await.unwrap();
    // As for the primary that comes back alone after a split.
    let began = Instant::now();
    let written = increment(&store, "counter").await.unwrap_err();
    assert!(
        matches!(&written, CommitError::Keyspace(KeyspaceError::Unsure(reason))
            if reason.contains("0 of 1 replicas")),
        "{written}"
    );
    assert!(began.elapsed() < END, "{:?}", began.elapsed());
    // It is there, for now.
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    // The outcome of a check is as unsure.
    let mut batch = Batch::new();
    batch.key_absent("counter");
    batch.set("other", "1");
    assert!(matches!(store.commit(batch).await, Err(CommitError::Keyspace(KeyspaceError::Unsure(_)))));
    assert!(
        matches!(store.health().await, StoreHealth::ReadOnly(cause) if cause.contains("too few replicas"))
    );
    // With the setting that every server should have, nothing is written at all.
    server.send(b"CONFIG SET min-replicas-to-write 1");
    let written = increment(&store, "counter").await;
    assert!(matches!(written, Err(CommitError::Keyspace(KeyspaceError::ReadOnly(_)))), "{written:?}");
    // A store that does not wait for replicas says so, too.
    let other = Store::open(&server.url(), &StoreOptions::default()).await.unwrap();
    assert!(
        matches!(other.health().await, StoreHealth::ReadOnly(cause) if cause.contains("too few replicas"))
    );
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    // With a replica, all is well.
    server.send(b"CONFIG SET min-replicas-to-write 0");
    let port = server.port().to_string();
    let _replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]);
    assert_writes(&store, "counter").await;
    assert_eq!(store.health().await, StoreHealth::Works);
}

#[tokio::test]
async fn what_another_has_written_and_no_replica_has_is_as_unsure() {
    let server = RedisServer::start_with(&["--repl-diskless-sync-delay", "0"]);
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &server.port().to_string()]);
    let short = StoreOptions { timeout: Duration::from_millis(800), replicas: 1, ..StoreOptions::default() };
    let open = async || Store::open(&server.url(), &short).await.unwrap();
    let (store, other) = (open().await, open().await);
    assert_writes(&store, "counter").await;
    replica.pause();
    let is_unsure =
        |error: Option<CommitError>| matches!(error, Some(CommitError::Keyspace(KeyspaceError::Unsure(_))));
    assert!(is_unsure(increment(&store, "counter").await.err()));
    // The other has written nothing, so there is nothing of its own to wait for.
    assert!(is_unsure(other.commit(Batch::new()).await.err()));
    assert!(is_unsure(other.commit(Batch::of(|batch| batch.key_absent("counter"))).await.err()));
    replica.resume();
    until(async || !is_unsure(other.commit(Batch::new()).await.err())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_wait_for_replicas_together_and_reads_do_not_wait() {
    let redis = start(&[]).await;
    let store = open(&redis, 1).await;
    let mut tasks = JoinSet::new();
    for _ in 0..200 {
        let store = store.clone();
        tasks.spawn(async move { increment(&store, "counter").await.unwrap() });
    }
    let mut drawn = tasks.join_all().await;
    drawn.sort_unstable();
    assert_eq!(drawn, (1..=200).collect::<Vec<i64>>());
    // A server that does not know the script yet.
    redis.server(redis.primary().unwrap()).send(b"SCRIPT FLUSH");
    assert_eq!(increment(&store, "counter").await.unwrap(), 201);
    // Replicas that hang keep writes waiting, and no read.
    let primary = redis.primary().unwrap();
    let replicas = (0..3).filter(|number| *number != primary);
    replicas.clone().for_each(|number| redis.server(number).pause());
    let writing = tokio::spawn({
        let store = store.clone();
        async move { increment(&store, "counter").await }
    });
    let mut read = 0;
    while !writing.is_finished() {
        let began = Instant::now();
        get(&store, "counter").await.unwrap();
        assert!(began.elapsed() < TIMEOUT / 2, "{:?}", began.elapsed());
        read += 1;
    }
    assert!(read > 10, "{read}");
    let written = writing.await.unwrap();
    assert!(matches!(written, Err(CommitError::Keyspace(KeyspaceError::Unsure(_)))), "{written:?}");
    replicas.for_each(|number| redis.server(number).resume());
    assert_writes(&store, "counter").await;
}

#[tokio::test]
async fn what_is_cached_is_not_used_when_the_server_has_not_been_heard_of() {
    let server = RedisServer::start();
    let store = Store::open(&server.url(), &options(0)).await.unwrap();
    let (value, reads) = store.record_reads(get(&store, "key")).await;
    assert_eq!(value.unwrap(), None);
    // The server is asked for a sign of life: without any other request, the value stays usable.
    let end = Instant::now() + Duration::from_millis(3_500);
    while Instant::now() < end {
        assert!(store.is_unchanged(&reads) && store.tracks_writes());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.pause();
    let paused = Instant::now();
    while store.is_unchanged(&reads) {
        // Some more for the way of an answer that was under way.
        assert!(paused.elapsed() < Duration::from_millis(2_500), "{:?}", paused.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!store.tracks_writes());
    server.resume();
    until(async || store.tracks_writes()).await;
    let (_, reads) = store.record_reads(get(&store, "key")).await;
    assert!(store.is_unchanged(&reads));
}
