//! A write ends what was read of its key or field, and nothing else, whoever writes.

use super::{PATIENCE, open};
use crate::{Batch, ReadSet, Store, StoreOptions, read};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tidings_testing_redis::RedisServer;

const KEYS: [&str; 2] = ["user:1", "user:2"];
const FIELDS: [&str; 3] = ["name", "karma", "mail"];

async fn read(store: &Store, key: &str, field: &str) -> Option<String> {
    store.fetch(read::hash_fields(key, [field])).await.unwrap().into_iter().next().flatten()
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// The target of a write: the key, and the field if it is a write to one field.
type Written = (&'static str, Option<&'static str>);

/// Writes something, as this server, as another one, or as another program.
async fn write(server: &RedisServer, writers: [&Store; 2], random: &mut Random) -> Written {
    let (key, field) = (KEYS[random.below(KEYS.len())], FIELDS[random.below(FIELDS.len())]);
    let value = random.below(3).to_string();
    let mut batch = Batch::new();
    let way = random.below(10);
    match way {
        0..4 => batch.set_field(key, field, &value),
        4 => batch.delete_field(key, field),
        5 => batch.delete(key),
        6 => {
            // Two in one moment, which the server reports as one.
            let [first, second] = [1, 2].map(|number| FIELDS[(random.below(2) + number) % FIELDS.len()]);
            server.send(format!("EVAL \"redis.call('HSET','{key}','{first}','{value}') redis.call('HSET','{key}','{second}','{value}') return 1\" 0").as_bytes());
            return (key, None);
        }
        7 => _ = server.send(format!("HSET {key} {field} {value}").as_bytes()),
        8 => _ = server.send(format!("HDEL {key} {field}").as_bytes()),
        _ => {
            let command = ["DEL", "PERSIST", "UNLINK"][random.below(3)];
            server.send(format!("{command} {key}").as_bytes());
            return (key, None);
        }
    }
    if way < 6 {
        writers[random.below(2)].commit(batch).await.unwrap();
    }
    (key, (way != 5).then_some(field))
}

#[tokio::test]
async fn a_write_ends_what_read_its_field_and_nothing_else() {
    let server = RedisServer::start();
    let (store, other, plain) = (open(&server).await, open(&server).await, open(&server).await);
    let (mut random, mut kept) = (Random(1), 0);
    let mut cached: HashMap<(&str, &str), (Option<String>, ReadSet)> = HashMap::new();
    for step in 0..600 {
        let (key, field) = write(&server, [&store, &other], &mut random).await;
        store.learn_writes().await.unwrap();
        for ((of, name), (value, reads)) in &mut cached {
            let now = read(&plain, of, name).await;
            let is_same = now == *value;
            let is_written = *of == key && field.is_none_or(|field| field == *name);
            let is_unchanged = store.is_unchanged(reads);
            assert!(is_same || !is_unchanged, "step {step}: {of} {name} is stale");
            assert!(is_unchanged || is_written, "step {step}: {of} {name} has ended");
            kept += usize::from(is_unchanged && *of == key);
            if !is_unchanged {
                let (again, now) = store.record_reads(read(&store, of, name)).await;
                (*value, *reads) = (again, now);
            }
        }
        if step == 0 {
            for (key, field) in KEYS.iter().flat_map(|key| FIELDS.map(|field| (*key, field))) {
                cached.insert((key, field), store.record_reads(read(&store, key, field)).await);
            }
        }
    }
    assert!(kept > 600, "{kept}");
}

/// Looks between two writes of one writer, so that some of them find nothing new.
const LOOKS_PER_WRITE: u64 = 12;

/// Raises the number in a field until told to stop, and says which number is acknowledged.
async fn raise(write: impl AsyncFn(u64), acknowledged: &AtomicU64, looks: &AtomicU64, is_over: &AtomicBool) {
    for number in 1.. {
        write(number).await;
        acknowledged.store(number, Ordering::SeqCst);
        let next = looks.load(Ordering::SeqCst) + LOOKS_PER_WRITE;
        while looks.load(Ordering::SeqCst) < next {
            if is_over.load(Ordering::SeqCst) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_seen_by_the_next_look_while_all_write() {
    let server = RedisServer::start();
    // One program blocks the thread, so the time-out of the other tests is too short.
    let options = StoreOptions { timeout: PATIENCE, ..StoreOptions::default() };
    let open = async || Store::open(&server.url(), &options).await.unwrap();
    let (store, other) = (open().await, open().await);
    let (acknowledged, is_over): ([AtomicU64; 3], _) = (Default::default(), AtomicBool::new(false));
    let looks = AtomicU64::new(0);
    let set = async |store: &Store, field: &str, number: u64| {
        store.commit(Batch::of(|batch| batch.set_field("user:1", field, number.to_string()))).await.unwrap();
    };
    let by_program = async |number: u64| {
        server.send(format!("HSET user:1 mail {number}").as_bytes());
        tokio::task::yield_now().await;
    };
    let look = async {
        let mut cached: HashMap<&str, (u64, ReadSet)> = HashMap::new();
        let (mut uses, deadline) = (0, Instant::now() + 4 * PATIENCE);
        while (uses < 100 || acknowledged.iter().any(|number| number.load(Ordering::SeqCst) < 100))
            && Instant::now() < deadline
        {
            for (field, acknowledged) in FIELDS.into_iter().zip(&acknowledged) {
                let least = acknowledged.load(Ordering::SeqCst);
                store.learn_writes().await.unwrap();
                looks.fetch_add(1, Ordering::SeqCst);
                let seen = match cached.get(field) {
                    Some((value, reads)) if store.is_unchanged(reads) => {
                        uses += 1;
                        *value
                    }
                    _ => {
                        let (text, reads) = store.record_reads(read(&store, "user:1", field)).await;
                        let value = text.map_or(0, |text| text.parse().unwrap());
                        cached.insert(field, (value, reads));
                        value
                    }
                };
                assert!(seen >= least, "{field}: {seen} after {least}");
            }
        }
        is_over.store(true, Ordering::SeqCst);
        uses
    };
    let [name, karma, mail] = &acknowledged;
    let (uses, ..) = tokio::join!(
        look,
        raise(async |number| set(&store, "name", number).await, name, &looks, &is_over),
        raise(async |number| set(&other, "karma", number).await, karma, &looks, &is_over),
        raise(by_program, mail, &looks, &is_over),
    );
    assert!(uses >= 100, "{uses}");
}

#[tokio::test]
async fn who_asks_together_asks_once() {
    let server = RedisServer::start();
    let store = open(&server).await;
    store.learn_writes().await.unwrap();
    let pings = || {
        let answer = server.send(b"INFO commandstats");
        let calls = answer.split("cmdstat_ping:calls=").nth(1).map(|rest| rest.split(',').next());
        calls.flatten().map_or(0, |calls| calls.parse::<u64>().unwrap())
    };
    let before = pings();
    let asked = futures_util::future::join_all((0..100).map(|_| store.learn_writes())).await;
    assert!(asked.iter().all(Result::is_ok));
    // Those that came while the first was under way share the second; the store itself asks once a second.
    assert!((1..=10).contains(&(pings() - before)), "{}", pings() - before);
    // Callers that cannot be answered are told so together, and not one after the other.
    server.pause();
    let began = Instant::now();
    let asked = futures_util::future::join_all((0..10).map(|_| store.learn_writes())).await;
    assert!(asked.iter().all(Result::is_err) && began.elapsed() < PATIENCE);
    server.resume();
}
