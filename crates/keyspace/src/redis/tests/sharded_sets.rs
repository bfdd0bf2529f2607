//! Sets on a server and on a cluster of their own: each call does the same on both, and what was
//! acknowledged is not lost.

use super::PATIENCE;
use crate::{Addition, KeyspaceError, OpenError, SetPart, SetRead, ShardedSets, StoreHealth};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidings_testing_redis::{RedisCluster, RedisServer};
use tokio::task::{JoinSet, block_in_place};

/// The time-out of the sets here. A busy machine must not make a call fail without cause.
const TIMEOUT: Duration = Duration::from_secs(5);

const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

async fn open(url: &str) -> ShardedSets {
    ShardedSets::open(url, TIMEOUT).await.unwrap()
}

/// Starts a cluster, on a thread where it may block.
async fn start() -> RedisCluster {
    tokio::task::spawn_blocking(RedisCluster::start).await.unwrap()
}

fn addition(key: &str, scores: Range<i32>) -> Addition {
    let members = scores.map(|score| (format!("m{score}"), f64::from(score))).collect();
    Addition { key: key.to_owned(), members }
}

fn reading(key: &str, bounds: (f64, f64), limit: u64) -> SetRead {
    SetRead { key: key.to_owned(), bounds, limit, keep: 2 }
}

/// The scores of a set, highest first.
async fn scores(sets: &ShardedSets, key: &str) -> Vec<f64> {
    let part = sets.read(vec![reading(key, ALL, u64::MAX)]).await.unwrap().remove(0);
    part.entries.into_iter().map(|(_, score)| score).collect()
}

/// Adds to the set until that is taken.
async fn assert_adds(sets: &ShardedSets, key: &str) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = sets.add(vec![addition(key, 0..1)], 10).await {
        assert!(matches!(error, KeyspaceError::Unavailable(_)), "{error}");
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn assert_additions_are_kept_to_the_highest(sets: &ShardedSets) {
    sets.add(vec![addition("set", 0..3), addition("other", 7..8)], 5).await.unwrap();
    assert_eq!(scores(sets, "set").await, [2.0, 1.0, 0.0]);
    sets.add(vec![addition("set", 3..9)], 5).await.unwrap();
    assert_eq!(scores(sets, "set").await, [8.0, 7.0, 6.0, 5.0, 4.0]);
    // Again, and some that are too low.
    sets.add(vec![addition("set", 3..9), addition("set", 0..2)], 5).await.unwrap();
    assert_eq!(scores(sets, "set").await, [8.0, 7.0, 6.0, 5.0, 4.0]);
    let raised = Addition { key: "set".to_owned(), members: vec![("m4".to_owned(), 9.5)] };
    sets.add(vec![raised], 5).await.unwrap();
    assert_eq!(scores(sets, "set").await, [9.5, 8.0, 7.0, 6.0, 5.0]);
    // One at a time, the lowest are dropped a little later.
    let mut most = 0;
    for number in 10..510 {
        sets.add(vec![addition("set", number..number + 1)], 5).await.unwrap();
        let found = scores(sets, "set").await;
        assert_eq!(found.first(), Some(&f64::from(number)));
        most = most.max(found.len());
    }
    assert!((6..100).contains(&most), "{most}");
    assert_eq!(scores(sets, "other").await, [7.0]);
    // More members than one command carries; none; and a score that is none.
    sets.add(vec![addition("large", 0..2_500), addition("none", 0..0)], 2_100).await.unwrap();
    assert_eq!(scores(sets, "large").await.len(), 2_100);
    let wrong = Addition { key: "set".to_owned(), members: vec![("x".to_owned(), f64::NAN)] };
    assert!(matches!(sets.add(vec![wrong], 5).await, Err(KeyspaceError::Invalid(_))));
    sets.add(Vec::new(), 5).await.unwrap();
    let keys = ["set", "other", "large", "absent"].map(str::to_owned);
    for _ in 0..2 {
        sets.delete(keys.to_vec()).await.unwrap();
        assert_eq!(scores(sets, "set").await, [0.0; 0]);
    }
}

/// A set that is not trimmed yet has members that are lower than others that were dropped.
async fn assert_low_members_do_not_hide_what_was_dropped(sets: &ShardedSets) {
    sets.add(vec![addition("set", 100..110)], 5).await.unwrap();
    // One that came late, and is not dropped at once.
    let mut late = 0;
    while scores(sets, "set").await.len() == 5 {
        sets.add(vec![addition("set", late..late + 1)], 5).await.unwrap();
        late += 1;
    }
    let whole = SetRead { keep: 5, ..reading("set", ALL, u64::MAX) };
    let part = SetRead { keep: 5, ..reading("set", (107.0, 109.0), 2) };
    let parts = sets.read(vec![whole, part]).await.unwrap();
    assert_eq!(parts[0].entries.len(), 6);
    assert_eq!((parts[0].end, parts[1].end), (Some(105.0), Some(105.0)));
    sets.delete(vec!["set".to_owned()]).await.unwrap();
}

async fn assert_parts_are_read(sets: &ShardedSets) {
    sets.add(vec![addition("set", 0..10)], 10).await.unwrap();
    let reads = vec![
        reading("set", (2.0, 5.0), 3),
        reading("absent", ALL, u64::MAX),
        SetRead { keep: 10, ..reading("set", (100.0, f64::INFINITY), u64::MAX) },
        SetRead { keep: 10, ..reading("set", ALL, u64::MAX) },
        reading("absent", (0.0, 1.0), 5),
        SetRead { keep: 11, ..reading("set", (9.0, 9.0), 5) },
        SetRead { keep: 11, ..reading("set", ALL, u64::MAX) },
    ];
    let parts = sets.read(reads).await.unwrap();
    let entry = |score: i32| (format!("m{score}"), f64::from(score));
    let part = |entries, end| SetPart { entries, end };
    assert_eq!(parts[0], part(vec![entry(5), entry(4), entry(3)], Some(8.0)));
    assert_eq!(parts[1], part(Vec::new(), None));
    assert_eq!(parts[2], part(Vec::new(), Some(0.0)));
    assert_eq!(parts[3], part((0..10).rev().map(entry).collect(), Some(0.0)));
    assert_eq!(parts[4], part(Vec::new(), None));
    assert_eq!(parts[5], part(vec![entry(9)], None));
    assert_eq!(parts[6].end, None);
    sets.delete(vec!["set".to_owned()]).await.unwrap();
}

/// More keys than one pipeline carries, with slots of every server; each answer is that of its key.
async fn assert_many_keys_are_one_call(sets: &ShardedSets) {
    let keys: Vec<String> = (0..2_500).map(|number| format!("user:{number}:home_timeline")).collect();
    let additions = (0..).zip(&keys).map(|(number, key)| addition(key, number..number + 2)).collect();
    sets.add(additions, 5).await.unwrap();
    let reads = keys.iter().map(|key| reading(key, ALL, u64::MAX)).collect();
    let parts = sets.read(reads).await.unwrap();
    for (number, part) in (0..).zip(parts) {
        assert_eq!((part.entries.len(), part.end), (2, Some(f64::from(number))), "{number}");
    }
    sets.delete(keys.clone()).await.unwrap();
    let reads = keys.iter().map(|key| reading(key, (0.0, 1.0), 1)).collect();
    assert!(sets.read(reads).await.unwrap().iter().all(|part| part.entries.is_empty()));
}

async fn assert_each_call_does_its_part(sets: &ShardedSets) {
    assert_additions_are_kept_to_the_highest(sets).await;
    assert_low_members_do_not_hide_what_was_dropped(sets).await;
    assert_parts_are_read(sets).await;
    assert_many_keys_are_one_call(sets).await;
    assert_eq!(sets.health().await, StoreHealth::Works);
}

#[tokio::test]
async fn sets_on_a_single_server_keep_what_is_highest_and_guard_what_is_full() {
    let server = RedisServer::start();
    let sets = open(&server.url()).await;
    assert_each_call_does_its_part(&sets).await;
    server.send(b"SET other text");
    let wrong = sets.add(vec![addition("other", 0..1)], 5).await;
    assert!(matches!(&wrong, Err(KeyspaceError::WrongType(key)) if key == "other"), "{wrong:?}");
    for bounds in [ALL, (0.0, 1.0)] {
        let wrong = sets.read(vec![reading("other", bounds, u64::MAX)]).await;
        assert!(matches!(&wrong, Err(KeyspaceError::WrongType(key)) if key == "other"), "{wrong:?}");
    }
    // One whose memory is full says so.
    server.send(b"CONFIG SET maxmemory 1");
    let full = sets.add(vec![addition("set", 0..1)], 5).await;
    assert!(matches!(full, Err(KeyspaceError::ReadOnly(_))), "{full:?}");
    assert!(matches!(sets.health().await, StoreHealth::ReadOnly(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sets_on_a_cluster_do_the_same_and_follow_slots_that_move() {
    let cluster = start().await;
    let sets = open(&cluster.url()).await;
    assert_each_call_does_its_part(&sets).await;
    // A slot moves under writers: all keys with this tag are in it.
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let (sets, stop) = (sets.clone(), stop.clone());
        writers.spawn(async move {
            let mut written = 0;
            while !stop.load(Ordering::SeqCst) {
                let additions = (0..8).map(|key| {
                    let members = vec![(format!("{writer}:{written}"), f64::from(written))];
                    Addition { key: format!("{{moved}}:{key}"), members }
                });
                // A key that is on its way can be neither here nor there for a moment; the call waits.
                sets.add(additions.collect(), u64::MAX).await.unwrap();
                written += 1;
            }
            written
        });
    }
    assert_adds(&sets, "{moved}:0").await;
    block_in_place(|| {
        for _ in 0..2 {
            cluster.move_slot_of("{moved}", || {
                // Half of the keys are on the new server, which answers for them when it is asked so; new
                // keys are made there.
                let runtime = tokio::runtime::Handle::current();
                runtime.block_on(async {
                    for number in 0..20 {
                        let key = format!("{{moved}}:new:{number}");
                        sets.add(vec![addition(&key, 0..3)], 2).await.unwrap();
                        let whole = sets.read(vec![reading(&key, ALL, u64::MAX)]).await.unwrap();
                        let part = sets.read(vec![reading(&key, (2.0, 9.0), 5)]).await.unwrap();
                        assert_eq!((whole[0].entries.len(), whole[0].end), (2, part[0].end));
                        assert_eq!(part[0].entries, [("m2".to_owned(), 2.0)]);
                        sets.delete(vec![key]).await.unwrap();
                    }
                });
            });
        }
    });
    stop.store(true, Ordering::SeqCst);
    let written: i32 = writers.join_all().await.into_iter().sum();
    assert!(written > 0);
    for key in 0..8 {
        // The first has one more, from the beginning.
        let count = scores(&sets, &format!("{{moved}}:{key}")).await.len();
        assert_eq!(count, usize::try_from(written).unwrap() + usize::from(key == 0), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_dies_under_writers_takes_nothing_along_that_was_acknowledged() {
    let mut cluster = start().await;
    let sets = open(&cluster.url()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        // Two servers of the site.
        let sets = if writer % 2 == 0 { sets.clone() } else { open(&cluster.url()).await };
        let stop = stop.clone();
        writers.spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                // On all servers.
                let additions =
                    (0..6).map(|key| addition(&format!("set:{writer}:{key}"), number..number + 1));
                match sets.add(additions.collect(), u64::MAX).await {
                    Ok(()) => acknowledged.push(number),
                    // It may be done; nothing is promised.
                    Err(KeyspaceError::Unavailable(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            (writer, acknowledged)
        });
    }
    assert_adds(&sets, "first").await;
    let killed = block_in_place(|| {
        let killed = cluster.kill_master();
        cluster.wait_for_failover(killed);
        killed
    });
    // The cluster is done: the sets follow.
    for key in 0..20 {
        assert_adds(&sets, &format!("after:{key}")).await;
    }
    block_in_place(|| cluster.bring_back(killed));
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged_in_all = 0;
    for (writer, acknowledged) in writers.join_all().await {
        acknowledged_in_all += acknowledged.len();
        for key in 0..6 {
            let found: HashSet<u64> =
                scores(&sets, &format!("set:{writer}:{key}")).await.into_iter().map(f64::to_bits).collect();
            let lost: Vec<&i32> = acknowledged
                .iter()
                .filter(|number| !found.contains(&f64::from(**number).to_bits()))
                .collect();
            assert!(lost.is_empty(), "{writer}:{key} has lost {lost:?}");
        }
    }
    assert!(acknowledged_in_all > 0);
    assert_eq!(sets.health().await, StoreHealth::Works);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_away_is_unavailable_until_it_comes_back() {
    let mut cluster = start().await;
    let sets = ShardedSets::open(&cluster.url(), Duration::from_millis(400)).await.unwrap();
    assert_adds(&sets, "set").await;
    block_in_place(|| cluster.stop());
    for _ in 0..2 {
        let began = Instant::now();
        let added = sets.add(vec![addition("set", 0..1)], 5).await;
        assert!(matches!(added, Err(KeyspaceError::Unavailable(_))), "{added:?}");
        let read = sets.read(vec![reading("set", ALL, 5)]).await;
        assert!(matches!(read, Err(KeyspaceError::Unavailable(_))), "{read:?}");
        assert!(matches!(sets.health().await, StoreHealth::Unavailable(_)));
        assert!(began.elapsed() < super::END, "{:?}", began.elapsed());
    }
    // Absent at the start is no error.
    let early = ShardedSets::open(&cluster.url(), Duration::from_millis(400)).await.unwrap();
    assert!(matches!(early.health().await, StoreHealth::Unavailable(_)));
    block_in_place(|| cluster.start_again());
    for sets in [sets, early] {
        assert_adds(&sets, "set").await;
        assert_eq!(sets.health().await, StoreHealth::Works);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_confirmed_by_a_replica_is_not_acknowledged() {
    let cluster = start().await;
    let open = async || ShardedSets::open(&cluster.url(), Duration::from_millis(800)).await.unwrap();
    let (sets, other) = (open().await, open().await);
    assert_adds(&sets, "set").await;
    let masters = cluster.masters();
    let replicas = (0..6).filter(|number| !masters.contains(number));
    replicas.clone().for_each(|number| cluster.pause(number));
    // The second finds that it is there already.
    for sets in [&sets, &other] {
        let began = Instant::now();
        let added = sets.add(vec![addition("set", 5..6)], 5).await;
        assert!(
            matches!(&added, Err(KeyspaceError::Unavailable(reason))
                if reason.contains("no replica has confirmed")),
            "{added:?}"
        );
        assert!(began.elapsed() < super::END, "{:?}", began.elapsed());
    }
    // Reads do not wait for it.
    assert_eq!(scores(&sets, "set").await, [5.0, 0.0]);
    replicas.for_each(|number| cluster.resume(number));
    assert_adds(&sets, "set").await;
}

/// Why the sets at a URL cannot be opened.
async fn refusal(url: &str) -> String {
    match ShardedSets::open(url, TIMEOUT).await {
        Err(OpenError::Engine { reason, .. }) => reason,
        other => panic!("{:?}", other.err()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_opened_is_told() {
    for (url, expected) in [
        ("redb:file", "it must be redis+cluster://HOST,HOST,HOST"),
        ("redis+cluster://a:x", "\"x\" is no port"),
        ("redis+cluster://a b", "the URL is invalid"),
        ("redis+cluster://a/3", "a cluster has one database"),
        ("redis+sentinel://a", "add /NAME"),
    ] {
        let reason = refusal(url).await;
        assert!(reason.contains(expected), "{url}: {reason}");
        assert_eq!(ShardedSets::flaw_of_url(url), Some(reason));
    }
    for url in ["redis://a", "rediss+sentinel://a,b/name", "redis+cluster://a,b:1", "rediss+cluster://:p@a"] {
        assert_eq!(ShardedSets::flaw_of_url(url), None, "{url}");
    }
    // No store can be on a cluster.
    let refused = super::open_url("redis+cluster://:hunter2@a,b").await.err();
    assert!(
        matches!(&refused, Some(OpenError::Engine { reason, url })
            if reason.contains("timelines.store") && !url.contains("hunter2")),
        "{refused:?}"
    );
    let server = RedisServer::start_with(&["--requirepass", "secret"]);
    let url = |scheme: &str, login: &str| format!("{scheme}://{login}127.0.0.1:{}", server.port());
    for (scheme, login) in [("redis", ":wrong@"), ("redis", ""), ("redis+cluster", ":wrong@")] {
        let reason = refusal(&url(scheme, login)).await;
        assert!(reason.contains("put the right ones into the URL"), "{login}: {reason}");
    }
    let reason = refusal(&url("redis+cluster", ":secret@")).await;
    assert!(reason.contains("name a single server as redis://"), "{reason}");
    // Absent is no error.
    for scheme in ["redis", "redis+cluster"] {
        let sets = ShardedSets::open(&format!("{scheme}://127.0.0.1:1"), TIMEOUT).await.unwrap();
        assert!(matches!(sets.health().await, StoreHealth::Unavailable(_)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_a_password_lets_in_who_has_it() {
    let cluster = tokio::task::spawn_blocking(RedisCluster::start_with_password).await.unwrap();
    assert_adds(&open(&cluster.url()).await, "set").await;
    let reason = refusal(&cluster.url().replace("secret", "wrong")).await;
    assert!(reason.contains("put the right ones into the URL") && !reason.contains("wrong@"), "{reason}");
    let reason = refusal(&format!("redis://:secret@127.0.0.1:{}", cluster.node(0).port())).await;
    assert!(reason.contains("name it as redis+cluster://"), "{reason}");
}
