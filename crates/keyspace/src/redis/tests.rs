//! Rules of the Redis engine alone: outages, other programs' keys, and servers that cannot
//! be used.

mod exactness;
mod failover;
mod sharded_sets;

use super::server_info::check_info;
use crate::{
    Batch, CommitError, Entry, KeyspaceError, OpenError, Order, ReadSet, Store, StoreHealth, StoreOptions,
    Value, read,
};
use std::time::{Duration, Instant};
use tidings_testing_redis::RedisServer;

/// The time-out of the stores in these tests.
const TIMEOUT: Duration = Duration::from_millis(400);

/// How long a call may take: the time-out, and some more on a busy machine.
const END: Duration = Duration::from_secs(3);

/// How long to poll for something that must happen.
const PATIENCE: Duration = Duration::from_secs(15);

async fn open(server: &RedisServer) -> Store {
    open_url(&server.url()).await.unwrap()
}

async fn open_url(url: &str) -> Result<Store, OpenError> {
    Store::open(url, &StoreOptions { timeout: TIMEOUT, ..StoreOptions::default() }).await
}

/// Asserts that a store does not open because its server is absent, for this reason.
fn assert_absent(opened: Result<Store, OpenError>, why: &str) {
    let error = opened.err();
    assert!(matches!(&error, Some(OpenError::Absent { reason, .. }) if reason.contains(why)), "{error:?}");
}

/// Asserts that a store never opens, for a reason with these parts.
fn assert_refused(opened: Result<Store, OpenError>, why: &[&str]) {
    let error = opened.err();
    let is_told = |reason: &str| why.iter().all(|part| reason.contains(part));
    assert!(matches!(&error, Some(OpenError::Engine { reason, .. }) if is_told(reason)), "{error:?}");
}

/// Waits until something is so.
async fn until(is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The error message for a URL that cannot be opened.
async fn refusal(url: &str) -> String {
    let start = Instant::now();
    let error = open_url(url).await.err().expect("it does not open");
    assert!(start.elapsed() < END, "{error}");
    assert!(matches!(error, OpenError::Engine { .. } | OpenError::Absent { .. }));
    error.to_string()
}

#[tokio::test]
async fn a_server_that_is_absent_may_come_and_one_that_refuses_does_not_change_its_mind() {
    let mut server = RedisServer::start();
    server.stop();
    let Err(OpenError::Absent { url, reason }) = open_url(&server.url()).await else { panic!("it opens") };
    assert!(reason.contains("check that the server runs"), "{reason}");
    assert_eq!(url, server.url());
    assert_absent(open_url("redis://unknown.invalid").await, "");
    let locked = RedisServer::start_with(&["--requirepass", "secret"]);
    assert_refused(open_url(&locked.url()).await, &[]);
}

#[tokio::test]
async fn an_awaited_store_is_unavailable_until_it_is_admitted() {
    let server = RedisServer::start();
    let options = StoreOptions { timeout: TIMEOUT, ..StoreOptions::default() };
    let store = Store::awaited(&server.url(), &options, "it is away".to_owned()).unwrap();
    // The server runs, and perhaps must not be used.
    let read = get(&store, "key").await;
    assert!(matches!(&read, Err(KeyspaceError::Unavailable(reason)) if reason == "it is away"), "{read:?}");
    assert!(increment(&store, "key").await.is_err());
    store.still_awaited("it loads its data");
    assert_eq!(store.health().await, StoreHealth::Unavailable("it loads its data".to_owned()));
    store.admit();
    increment(&store, "key").await.unwrap();
    assert_eq!(get(&store, "key").await.unwrap().as_deref(), Some("1"));
    assert!(Store::awaited("redb::memory:", &options, String::new()).is_err());
}

async fn get(store: &Store, key: &str) -> Result<Option<String>, KeyspaceError> {
    store.fetch(read::string(key)).await
}

async fn increment(store: &Store, key: &str) -> Result<i64, CommitError> {
    let committed = store.commit(Batch::of(|batch| batch.increment(key, 1))).await?;
    Ok(committed.counter(key).unwrap())
}

/// Asserts that reads and writes fail as they should, within the time-out.
async fn assert_away(store: &Store) {
    let start = Instant::now();
    let read = get(store, "key").await;
    assert!(matches!(read, Err(KeyspaceError::Unavailable(_))), "{read:?}");
    assert!(start.elapsed() < END, "{:?}", start.elapsed());
    let start = Instant::now();
    let written = increment(store, "lost").await;
    let is_away = matches!(
        written,
        Err(CommitError::Keyspace(KeyspaceError::Unavailable(_) | KeyspaceError::Unsure(_)))
    );
    assert!(is_away, "{written:?}");
    assert!(start.elapsed() < END, "{:?}", start.elapsed());
}

/// Waits until the store answers again. Each attempt must end within the time-out.
async fn assert_comes_back(store: &Store) {
    until(async || {
        let start = Instant::now();
        let written = increment(store, "back").await;
        assert!(start.elapsed() < END, "{:?}", start.elapsed());
        written.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_and_starts_again() {
    let mut server = RedisServer::start();
    let store = open(&server).await;
    assert_eq!(increment(&store, "counter").await.unwrap(), 1);
    for _ in 0..3 {
        server.stop();
        assert_away(&store).await;
        assert_away(&store).await;
        // The new server does not have the script.
        server.start_again();
        assert_comes_back(&store).await;
        assert_eq!(get(&store, "counter").await.unwrap(), None);
        assert_eq!(increment(&store, "counter").await.unwrap(), 1);
    }
}

#[tokio::test]
async fn a_read_finds_its_way_to_a_restarted_server() {
    let mut server = RedisServer::start();
    let store = open(&server).await;
    get(&store, "key").await.unwrap();
    server.stop();
    server.start_again();
    // A read does not fail because an idle connection is dead.
    assert_eq!(get(&store, "key").await.unwrap(), None);
    assert_eq!(increment(&store, "counter").await.unwrap(), 1);
}

#[tokio::test]
async fn a_server_that_hangs() {
    let server = RedisServer::start();
    let store = open(&server).await;
    increment(&store, "counter").await.unwrap();
    server.pause();
    assert_away(&store).await;
    // Concurrent requests do not wait for each other's time-outs.
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = store.clone();
        tasks.spawn(async move { assert_away(&store).await });
    }
    tasks.join_all().await;
    // Once it is known to hang, nobody waits for it any more.
    let began = Instant::now();
    for _ in 0..10 {
        assert_away(&store).await;
    }
    assert!(began.elapsed() < 2 * TIMEOUT, "{:?}", began.elapsed());
    assert!(refusal(&server.url()).await.contains("did not answer in time"));
    server.resume();
    assert_comes_back(&store).await;
    // The server may have applied the increments late, but each at most once.
    let lost: u32 = get(&store, "lost").await.unwrap().map_or(0, |text| text.parse().unwrap());
    assert!(lost <= 51, "{lost}");
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
}

#[tokio::test]
async fn a_load_that_meets_an_outage_goes_on_after_it() {
    let mut server = RedisServer::start();
    let store = open(&server).await;
    let mut tasks = tokio::task::JoinSet::new();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for _ in 0..20 {
        let (store, stop) = (store.clone(), stop.clone());
        tasks.spawn(async move {
            let mut last = Err(CommitError::Keyspace(KeyspaceError::Invalid("none yet".to_owned())));
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                let start = Instant::now();
                last = increment(&store, "load").await;
                assert!(start.elapsed() < END);
                tokio::task::yield_now().await;
            }
            last
        });
    }
    server.stop();
    assert_away(&store).await;
    server.start_again();
    assert_comes_back(&store).await;
    for _ in 0..50 {
        increment(&store, "after").await.unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    for last in tasks.join_all().await {
        assert!(last.is_ok(), "{last:?}");
    }
}

#[tokio::test]
async fn a_flushed_script_is_sent_again() {
    let server = RedisServer::start();
    let store = open(&server).await;
    for expected in 1..4 {
        server.send(b"SCRIPT FLUSH");
        assert_eq!(increment(&store, "counter").await.unwrap(), expected);
        assert_eq!(increment(&store, "other").await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_its_password() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for scheme in ["redis", "rediss"] {
        let text = refusal(&format!("{scheme}://user:secret@127.0.0.1:{port}")).await;
        assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
        assert!(text.contains("check that the server runs"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(!refusal("redis://user:secret@host:port").await.contains("secret"));
    assert!(refusal("redis://127.0.0.1:1/notanumber").await.contains("URL"));
    // A server that accepts connections and never answers; and TLS to a server without it.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    assert!(!refusal(&format!("redis://{silent}")).await.is_empty());
    let server = RedisServer::start();
    assert!(!refusal(&format!("rediss://127.0.0.1:{}", server.port())).await.is_empty());
}

#[tokio::test]
async fn passwords() {
    let server = RedisServer::start_with(&["--requirepass", "secret"]);
    let url = |user: &str| format!("redis://{user}127.0.0.1:{}", server.port());
    for user in ["", ":wrong@", "someone:secret@"] {
        let text = refusal(&url(user)).await;
        assert!(text.contains("user name or the password"), "{text}");
        assert!(!text.contains("secret@") && !text.contains("wrong@"), "{text}");
    }
    let store = open_url(&url(":secret@")).await.unwrap();
    increment(&store, "counter").await.unwrap();
}

fn read_only(cause: &str) -> StoreHealth {
    StoreHealth::ReadOnly(cause.to_owned())
}

#[tokio::test]
async fn a_replica_is_refused_and_one_made_later_is_told() {
    let server = RedisServer::start();
    let store = open(&server).await;
    increment(&store, "counter").await.unwrap();
    server.send(b"REPLICAOF 127.0.0.1 1");
    assert!(refusal(&server.url()).await.contains("read-only replica"));
    let written = increment(&store, "counter").await.unwrap_err();
    assert!(matches!(written, CommitError::Keyspace(KeyspaceError::ReadOnly(_))), "{written}");
    assert_eq!(store.health().await, read_only("the Redis server is a read-only replica"));
    server.send(b"REPLICAOF NO ONE");
    assert_eq!(store.health().await, StoreHealth::Works);
    assert_eq!(increment(&store, "counter").await.unwrap(), 2);
}

#[tokio::test]
async fn a_full_server_refuses_batches_whole() {
    let server = RedisServer::start_with(&["--maxmemory-policy", "noeviction"]);
    let store = open(&server).await;
    increment(&store, "counter").await.unwrap();
    server.send(b"CONFIG SET maxmemory 1");
    let mut batch = Batch::new();
    // The server would apply the first write, which frees memory, and refuse the second.
    batch.delete("counter");
    batch.set("new", "1");
    let written = store.commit(batch).await.unwrap_err();
    assert!(matches!(written, CommitError::Keyspace(KeyspaceError::ReadOnly(_))), "{written}");
    assert_eq!(store.health().await, read_only("the Redis server has no memory left"));
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    server.send(b"CONFIG SET maxmemory 0");
    assert_eq!(increment(&store, "counter").await.unwrap(), 2);
}

#[tokio::test]
async fn a_server_that_deletes_keys_says_so_each_time_it_is_asked() {
    let server = RedisServer::start();
    let store = open(&server).await;
    for (policy, limit, evicts) in [
        ("allkeys-lru", "0", None),
        ("allkeys-lru", "100mb", Some("allkeys-lru")),
        ("volatile-ttl", "100mb", Some("volatile-ttl")),
        ("noeviction", "100mb", None),
    ] {
        server.send(format!("CONFIG SET maxmemory-policy {policy}").as_bytes());
        server.send(format!("CONFIG SET maxmemory {limit}").as_bytes());
        assert_eq!(store.health().await, StoreHealth::Works);
        assert_eq!(store.signs().evicts.as_deref(), evicts, "{policy} {limit}");
    }
}

#[tokio::test]
async fn nothing_is_written_while_another_program_has_changed_what_guards_the_store() {
    let server = RedisServer::start();
    let store = open(&server).await;
    server.send(b"SET layout 8");
    store.guard(("layout", "8"), "unfinished");
    assert_eq!(increment(&store, "counter").await.unwrap(), 1);
    server.send(b"SET layout 9");
    let cause = "the key layout was changed from 8 to 9";
    wait_for_health(&store, read_only(cause)).await;
    assert_eq!(store.signs().changed_guard.as_deref(), Some(cause));
    let written = increment(&store, "counter").await.unwrap_err();
    assert!(matches!(written, CommitError::Keyspace(KeyspaceError::ReadOnly(_))), "{written}");
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    server.send(b"SET layout 8");
    wait_for_health(&store, StoreHealth::Works).await;
    assert_eq!(increment(&store, "counter").await.unwrap(), 2);
}

#[tokio::test]
async fn nothing_is_written_to_a_database_that_has_just_lost_its_data() {
    let server = RedisServer::start();
    let store = open(&server).await;
    for lost in [b"DEL layout".as_slice(), b"SET layout 9", b"FLUSHDB"] {
        server.send(b"SET layout 8");
        store.guard(("layout", "8"), "unfinished");
        wait_for_health(&store, StoreHealth::Works).await;
        increment(&store, "counter").await.unwrap();
        // Before the watch can know.
        server.send(b"DEL counter");
        server.send(lost);
        let written = increment(&store, "counter").await.unwrap_err();
        assert!(
            matches!(
                written,
                CommitError::Keyspace(KeyspaceError::Unavailable(_) | KeyspaceError::ReadOnly(_))
            ),
            "{written}"
        );
        assert!(!server.send(b"KEYS *").contains("counter"));
    }
}

async fn wait_for_health(store: &Store, health: StoreHealth) {
    until(async || store.health().await == health).await;
}

#[tokio::test]
async fn databases_are_separate() {
    let server = RedisServer::start();
    let first = open_url(&format!("{}/1", server.url())).await.unwrap();
    let second = open_url(&format!("{}/2", server.url())).await.unwrap();
    increment(&first, "counter").await.unwrap();
    assert_eq!(get(&second, "counter").await.unwrap(), None);
    assert_eq!((first.count_keys().await.unwrap(), second.count_keys().await.unwrap()), (1, 0));
}

/// The read sets of two keys and of a field.
struct ReadSets([ReadSet; 3]);

impl ReadSets {
    async fn take(store: &Store) -> Self {
        // The query may fail because of the key's type, but it has read the key.
        let name = read::field("user:1", "username");
        Self([
            store.record_reads(store.fetch(read::expiry("item:1"))).await.1,
            store.record_reads(store.fetch(read::expiry("user:1"))).await.1,
            store.record_reads(store.fetch(name)).await.1,
        ])
    }

    /// Which of them are unchanged.
    async fn unchanged(&self, store: &Store) -> [bool; 3] {
        store.learn_writes().await.unwrap();
        assert!(store.tracks_writes());
        self.0.each_ref().map(|reads| store.is_unchanged(reads))
    }
}

#[tokio::test]
async fn a_read_set_ends_when_others_write() {
    let mut server = RedisServer::start();
    let (store, other) = (open(&server).await, open(&server).await);
    let set = async |store: &Store, key: &str, field: &str| {
        store.commit(Batch::of(|batch| batch.set_field(key, field, "1"))).await.unwrap();
    };
    let read = ReadSets::take(&store).await;
    set(&other, "item:2", "title").await;
    assert_eq!(read.unchanged(&store).await, [true; 3]);
    set(&other, "item:1", "title").await;
    assert_eq!(read.unchanged(&store).await, [false, true, true]);
    // The server does not report which field was written, so what was read is read again.
    set(&other, "user:1", "points").await;
    assert_eq!(read.unchanged(&store).await, [false, false, true]);
    set(&other, "user:1", "username").await;
    assert_eq!(read.unchanged(&store).await, [false; 3]);
    // The same holds for other programs, and for keys that expire.
    for (command, unchanged) in [
        ("HSET user:1 points 2", [true, false, true]),
        ("HSET user:1 username ann", [true, false, false]),
        ("HSET user:1 username ann", [true, false, true]),
        ("EXPIRE user:1 1000", [true, false, true]),
        ("HDEL user:1 username", [true, false, false]),
        ("HSET user:1 username eve", [true, false, false]),
        ("DEL user:1", [true, false, false]),
        ("SET user:1 text", [true, false, false]),
        ("DEL user:1", [true, false, false]),
        ("FLUSHALL", [false; 3]),
    ] {
        let read = ReadSets::take(&store).await;
        server.send(command.as_bytes());
        assert_eq!(read.unchanged(&store).await, unchanged, "{command}");
    }
    server.send(b"SET item:1 text PX 20");
    get(&store, "anything").await.unwrap();
    let read = ReadSets::take(&store).await;
    until(async || !read.unchanged(&store).await[0]).await;
    // Writes between two connections are not reported.
    for cut in [true, false] {
        let read = ReadSets::take(&store).await;
        if cut {
            server.send(b"CLIENT KILL TYPE normal");
        } else {
            server.stop();
            server.start_again();
        }
        assert_eq!(read.unchanged(&store).await, [false; 3], "{cut}");
        let read = ReadSets::take(&store).await;
        assert_eq!(read.unchanged(&store).await, [true; 3], "{cut}");
        server.send(b"SET user:1 text");
        assert_eq!(read.unchanged(&store).await, [true, false, false], "{cut}");
    }
}

#[tokio::test]
async fn a_cached_value_is_never_older_than_what_another_has_been_told() {
    let server = RedisServer::start();
    let (store, other) = (open(&server).await, open(&server).await);
    let mut cached: Option<(Option<String>, ReadSet)> = None;
    for _ in 0..300 {
        let written = increment(&other, "counter").await.unwrap();
        // A round, with which the server reports the write.
        get(&store, "session").await.unwrap();
        let value = match &cached {
            Some((value, reads)) if store.is_unchanged(reads) => value.clone(),
            _ => {
                let (value, reads) = store.record_reads(get(&store, "counter")).await;
                cached.insert((value.unwrap(), reads)).0.clone()
            }
        };
        assert_eq!(value, Some(written.to_string()));
    }
}

#[tokio::test]
async fn a_server_that_does_not_tell_of_writes_is_used_all_the_same() {
    let server = RedisServer::start();
    server.send(b"ACL SETUSER modest on >secret ~* &* +@all -client|tracking");
    let store = open_url(&format!("redis://modest:secret@127.0.0.1:{}", server.port())).await.unwrap();
    assert_eq!(increment(&store, "counter").await.unwrap(), 1);
    assert_eq!(get(&store, "counter").await.unwrap().as_deref(), Some("1"));
    assert!(!store.tracks_writes());
}

#[tokio::test]
async fn bytes_that_are_no_text_are_read_and_not_copied() {
    let server = RedisServer::start();
    let store = open(&server).await;
    server.send(b"SET string a\xffb");
    server.send(b"HSET hash field a\xffb");
    server.send(b"ZADD sorted inf a\xffb");
    assert_eq!(get(&store, "string").await.unwrap().as_deref(), Some("a\u{fffd}b"));
    let reads = (read::hash("hash"), read::sorted_range("sorted", Order::Ascending, 0, 9));
    let (hash, sorted) = store.fetch(reads).await.unwrap();
    assert_eq!(hash.get("field"), Some("a\u{fffd}b"));
    assert_eq!(sorted, [("a\u{fffd}b".to_owned(), f64::INFINITY)]);
    for (key, other) in [("string", "hash sorted"), ("hash", "string sorted"), ("sorted", "string hash")] {
        server.send(format!("DEL {other}").as_bytes());
        let error = store.scan(None, 100).await.unwrap_err();
        assert!(matches!(&error, KeyspaceError::Invalid(text) if text.contains(key)), "{error}");
        server.send(b"SET string a\xffb");
        server.send(b"HSET hash field a\xffb");
        server.send(b"ZADD sorted inf a\xffb");
    }
    server.send(b"FLUSHALL");
    server.send(b"SET key\xff text");
    let error = store.scan(None, 100).await.unwrap_err();
    assert!(matches!(&error, KeyspaceError::Invalid(text) if text.contains("key\u{fffd}")), "{error}");
}

#[tokio::test]
async fn keys_of_other_types_are_told_and_not_skipped() {
    let server = RedisServer::start();
    let store = open(&server).await;
    increment(&store, "counter").await.unwrap();
    server.send(b"RPUSH queue a");
    let error = store.scan(None, 100).await.unwrap_err();
    assert!(
        matches!(&error, KeyspaceError::Invalid(text) if text.contains("queue") && text.contains("list"))
    );
    assert!(matches!(get(&store, "queue").await, Err(KeyspaceError::WrongType(key)) if key == "queue"));
    let mut batch = Batch::new();
    batch.key_present("queue");
    batch.increment("queue", 1);
    let written = store.commit(batch).await;
    assert!(matches!(written, Err(CommitError::Keyspace(KeyspaceError::WrongType(key))) if key == "queue"));
    server.send(b"DEL queue");
    let entries = store.scan(None, 100).await.unwrap().entries;
    let counter =
        Entry { key: "counter".to_owned(), value: Value::String("1".to_owned()), time_to_live: None };
    assert_eq!(entries, [counter]);
}

#[test]
fn servers_are_judged_by_what_they_tell() {
    let info = |version: &str, more: &str| format!("# Server\r\nredis_version:{version}\r\n{more}\r\n");
    for version in ["6.2.0", "7.0.15", "7.2.4", "8.0.0", "10.1.0"] {
        assert_eq!(check_info(&info(version, "cluster_enabled:0\r\nrole:master")), Ok(()));
    }
    for version in ["6.0.16", "5.0.7", "2.8", ""] {
        assert!(check_info(&info(version, "")).unwrap_err().contains("6.2 or newer"));
    }
    assert!(check_info("").unwrap_err().contains("6.2 or newer"));
    assert!(check_info(&info("7.0.0", "cluster_enabled:1")).unwrap_err().contains("cluster"));
    assert!(check_info(&info("7.0.0", "role:slave")).unwrap_err().contains("replica"));
    assert!(check_info(&info("7.0.0", "loading:1")).unwrap_err().contains("loading"));
}

#[tokio::test]
async fn a_snapshot_needs_reports_of_writes_and_no_pause() {
    let server = RedisServer::start();
    server.send(b"SET key text");
    server.send(b"ACL SETUSER modest on >secret ~* &* +@all -client|tracking");
    server.send(b"ACL SETUSER patient on >secret ~* &* +@all -client|pause -client|unpause");
    let url = |user: &str| format!("redis://{user}:secret@127.0.0.1:{}", server.port());
    let refused = open_url(&url("modest")).await.unwrap().snapshot().await.err().unwrap();
    assert!(
        matches!(&refused, KeyspaceError::Invalid(text) if text.contains("CLIENT TRACKING")),
        "{refused}"
    );
    let mut snapshot = open_url(&url("patient")).await.unwrap().snapshot().await.unwrap();
    assert_eq!(snapshot.next_page().await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn a_snapshot_of_a_server_that_is_away_fails_within_the_time_out() {
    let mut server = RedisServer::start();
    let store = open(&server).await;
    server.stop();
    let start = Instant::now();
    assert!(matches!(store.snapshot().await, Err(KeyspaceError::Unavailable(_))));
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[tokio::test]
async fn keys_that_cannot_be_copied_are_told_by_a_snapshot() {
    let server = RedisServer::start();
    let store = open(&server).await;
    server.send(b"RPUSH queue a");
    let error = store.snapshot().await.err().unwrap();
    assert!(matches!(&error, KeyspaceError::Invalid(text) if text.contains("queue")), "{error}");
}
