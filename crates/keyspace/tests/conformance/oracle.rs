//! Redis as the oracle: the embedded engine answers random sequences of reads and
//! batches as a real Redis server does.

use super::strategies::{MOMENT, count, key, name, number, score, text, write};
use super::{PATIENCE, START_MS, dump, failure, patient, refusal};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidings_keyspace::{
    Answer, Batch, Check, EngineClock, Entry, Expiry, Order, Read, Store, StoreOptions, Write, read,
};
use tidings_testing_redis::RedisServer;

const CASES: u32 = 400;

#[derive(Debug, Clone)]
enum Step {
    Query(Vec<Read>),
    Commit(Vec<Check>, Vec<Write>),
}

fn read() -> impl Strategy<Value = Read> {
    let order = prop::sample::select(vec![Order::Ascending, Order::Descending]);
    let names = || prop::collection::vec(name(), 0..3);
    prop_oneof![
        key().prop_map(Read::String),
        key().prop_map(Read::Expiry),
        key().prop_map(Read::Hash),
        (key(), names()).prop_map(|(key, names)| Read::HashFields(key, names)),
        key().prop_map(Read::FieldCount),
        key().prop_map(Read::Members),
        key().prop_map(Read::MemberCount),
        (key(), name()).prop_map(|(key, name)| Read::HasMember(key, name)),
        (key(), names()).prop_map(|(key, names)| Read::Scores(key, names)),
        key().prop_map(Read::SortedCount),
        (key(), order.clone(), count(), count()).prop_map(|(key, order, offset, count)| Read::SortedRange {
            key,
            order,
            offset,
            count
        }),
        (key(), order, score(), score(), count()).prop_map(|(key, order, least, most, count)| {
            Read::SortedByScore { key, order, least, most, count }
        }),
    ]
}

fn check() -> impl Strategy<Value = Check> {
    prop_oneof![
        key().prop_map(Check::KeyAbsent),
        key().prop_map(Check::KeyPresent),
        (key(), text()).prop_map(|(key, text)| Check::StringEquals(key, text)),
        (key(), name(), text()).prop_map(|(key, name, text)| Check::FieldEquals(key, name, text)),
        (key(), name()).prop_map(|(key, name)| Check::FieldAbsent(key, name)),
        (key(), name(), number()).prop_map(|(key, name, least)| Check::FieldAtLeast(key, name, least)),
        (key(), name()).prop_map(|(key, name)| Check::MemberAbsent(key, name)),
        (key(), name()).prop_map(|(key, name)| Check::SortedMemberAbsent(key, name)),
        (key(), name()).prop_map(|(key, name)| Check::SortedMemberPresent(key, name)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let checks =
        prop_oneof![3 => prop::collection::vec(check(), 0..1), 1 => prop::collection::vec(check(), 1..3)];
    prop_oneof![
        1 => prop::collection::vec(read(), 1..4).prop_map(Step::Query),
        3 => (checks, prop::collection::vec(write(), 0..4)).prop_map(|(checks, writes)| Step::Commit(checks, writes)),
    ]
}

/// The outcome of a step, in a form that can be compared between engines.
async fn run(store: &Store, step: &Step) -> String {
    match step {
        Step::Query(reads) => {
            match store.fetch(reads.iter().cloned().map(read::any).collect::<Vec<_>>()).await {
                Ok(answers) => format!("{:?}", answers.into_iter().map(comparable).collect::<Vec<_>>()),
                Err(error) => failure(&error),
            }
        }
        Step::Commit(checks, writes) => {
            let mut batch = Batch::new();
            for check in checks {
                batch.check(check.clone());
            }
            for write in writes {
                batch.write(write.clone());
            }
            match store.commit(batch).await {
                Ok(committed) => format!("{:?}", committed.values()),
                refused => refusal(refused),
            }
        }
    }
}

fn comparable(answer: Answer) -> Answer {
    match answer {
        Answer::Hash(mut hash) => {
            hash.0.sort();
            Answer::Hash(hash)
        }
        Answer::Members(mut members) => {
            members.sort();
            Answer::Members(members)
        }
        Answer::Expiry(Expiry::In(left)) => Answer::Expiry(Expiry::In(rounded(left))),
        answer => answer,
    }
}

/// A time to live, rounded to half an hour, because the engines do not run at the same
/// moment.
fn rounded(left: Duration) -> Duration {
    let half_hour = 1800;
    Duration::from_secs((left.as_secs() + half_hour / 2) / half_hour * half_hour)
}

async fn dumped(store: &Store) -> Vec<Entry> {
    let mut entries = dump(store).await;
    for entry in &mut entries {
        entry.time_to_live = entry.time_to_live.map(rounded);
    }
    entries
}

/// Waits until the keys that a step set to expire at once are gone.
async fn let_moments_pass(redis: &Store, clock: &AtomicU64, step: &Step) {
    let Step::Commit(_, writes) = step else { return };
    let brief = |write: &&Write| matches!(write, Write::Set(_, _, Some(ttl)) | Write::Expire(_, ttl) if *ttl == MOMENT);
    for write in writes.iter().filter(brief) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match redis.fetch(read::expiry(write.key())).await.unwrap() {
                Expiry::In(left) if left <= MOMENT => assert!(Instant::now() < deadline, "{write:?}"),
                _ => break,
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }
    clock.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn the_embedded_engine_answers_as_redis_does() {
    let server = RedisServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redis = runtime.block_on(Store::open(&server.url(), &patient())).unwrap();
    let config = ProptestConfig { cases: CASES, max_shrink_iters: 4000, ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..25))| {
        runtime.block_on(async {
            assert!(server.send(b"FLUSHALL").starts_with("+OK"));
            let clock = Arc::new(AtomicU64::new(START_MS));
            let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..patient() };
            let redb = Store::open("redb::memory:", &options).await.unwrap();
            for (number, step) in steps.iter().enumerate() {
                let expected = run(&redis, step).await;
                let found = run(&redb, step).await;
                prop_assert_eq!(found, expected, "step {}", number);
                let_moments_pass(&redis, &clock, step).await;
            }
            prop_assert_eq!(dumped(&redb).await, dumped(&redis).await);
            prop_assert_eq!(redb.count_keys().await.unwrap(), redis.count_keys().await.unwrap());
            Ok(())
        })?;
    });
}
