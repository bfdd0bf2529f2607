//! Redis as the oracle: whatever is asked, in whatever order, the embedded
//! engine answers what a real Redis server answers.

use super::{PATIENCE, RedisServer, START_MS, dump, failure, patient, refusal};
use crate::batch::{Bound, Check, Selection, Within, Write};
use crate::query::{Answer, Answers, Read};
use crate::{Batch, COUNTER_LIMIT, EngineClock, Entry, Expiry, Order, Query, Store, StoreOptions};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A time to live that is over before the next step. The others outlast the test.
const MOMENT: Duration = Duration::from_millis(1);

const CASES: u32 = 400;

#[derive(Debug, Clone)]
enum Step {
    Query(Vec<Read>),
    Commit(Vec<Check>, Vec<Write>),
}

/// Few keys, so that all types meet on each of them.
fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", ""]).prop_map(str::to_owned)
}

/// Fields and members.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "y", "", "x\0", "é", "xx"]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let short = prop::sample::select(vec!["", "0", "1", "-5", "007", "x", "1.5", "999999999999999"]);
    // Some values are large enough to change how the embedded engine keeps a hash.
    prop_oneof![9 => short.prop_map(str::to_owned), 1 => Just("v".repeat(1500))]
}

fn number() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![-COUNTER_LIMIT, -3, -1, 0, 1, 2, COUNTER_LIMIT - 1, COUNTER_LIMIT])
}

fn score() -> impl Strategy<Value = f64> {
    let some = vec![-1e300, -2.5, -1.0, -0.0, 0.0, 0.1, 1.0, 1.0 / 3.0, 1e16, f64::MAX];
    prop_oneof![4 => prop::sample::select(some), 1 => prop::num::f64::NORMAL]
}

fn count() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 2, 3, 100, u64::MAX])
}

fn time_to_live() -> impl Strategy<Value = Duration> {
    prop::sample::select(vec![MOMENT, Duration::from_secs(3600), Duration::from_secs(7200)])
}

fn read() -> impl Strategy<Value = Read> {
    let order = prop::sample::select(vec![Order::Ascending, Order::Descending]);
    let names = || prop::collection::vec(name(), 0..3);
    prop_oneof![
        key().prop_map(Read::String),
        key().prop_map(Read::Expiry),
        key().prop_map(Read::Hash),
        (key(), names()).prop_map(|(key, names)| Read::HashFields(key, names)),
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

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let fields = prop::collection::vec((name(), text()), 1..4);
    prop_oneof![
        2 => (key(), text(), prop::option::of(time_to_live())).prop_map(|(key, text, ttl)| Write::Set(key, text, ttl)),
        2 => key().prop_map(Write::Delete),
        2 => (key(), prop_oneof![time_to_live(), Just(Duration::ZERO)]).prop_map(|(key, ttl)| Write::Expire(key, ttl)),
        2 => (key(), number()).prop_map(|(key, by)| Write::Increment(key, by)),
        3 => (key(), fields).prop_map(|(key, fields)| Write::SetFields(key, fields)),
        2 => (key(), name()).prop_map(|(key, name)| Write::DeleteField(key, name)),
        2 => (key(), name(), number()).prop_map(|(key, name, by)| Write::IncrementField(key, name, by)),
        2 => (key(), name()).prop_map(|(key, name)| Write::AddMember(key, name)),
        2 => (key(), name()).prop_map(|(key, name)| Write::RemoveMember(key, name)),
        4 => (key(), name(), score()).prop_map(|(key, name, score)| Write::SortedAdd(key, name, score)),
        3 => (key(), name(), score(), bound())
            .prop_map(|(key, name, score, bound)| Write::SortedAddBounded(key, name, score, bound)),
        2 => (key(), name(), score()).prop_map(|(key, name, score)| Write::SortedRaise(key, name, score)),
        2 => (key(), name(), score()).prop_map(|(key, name, by)| Write::SortedIncrement(key, name, by)),
        2 => (key(), name(), score())
            .prop_map(|(key, name, score)| Write::SortedAddIfPresent(key, name, score)),
        4 => (key(), selection()).prop_map(|(key, selection)| Write::SortedStore(key, selection)),
        1 => (key(), text()).prop_map(|(channel, message)| Write::Publish(channel, message)),
        2 => (key(), name()).prop_map(|(key, name)| Write::SortedRemove(key, name)),
        1 => (key(), count()).prop_map(|(key, keep)| Write::SortedTrim(key, keep)),
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    (count(), key(), name()).prop_map(|(keep, floors, member)| Bound { keep, floors, member })
}

fn selection() -> impl Strategy<Value = Selection> {
    let within = prop::sample::select(vec![Within::All, Within::Any]);
    (key(), prop::collection::vec(key(), 1..4), within).prop_map(|(scores, sets, within)| Selection {
        scores,
        sets,
        within,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let checks =
        prop_oneof![3 => prop::collection::vec(check(), 0..1), 1 => prop::collection::vec(check(), 1..3)];
    prop_oneof![
        1 => prop::collection::vec(read(), 1..4).prop_map(Step::Query),
        3 => (checks, prop::collection::vec(write(), 0..4)).prop_map(|(checks, writes)| Step::Commit(checks, writes)),
    ]
}

/// What a step gave, in a form in which two engines can be compared.
async fn run(store: &Store, step: &Step) -> String {
    match step {
        Step::Query(reads) => {
            let mut query = Query::new();
            for read in reads {
                query.read(read.clone());
            }
            match store.query(query).await.map(Answers::into_vec) {
                Ok(answers) => format!("{:?}", answers.into_iter().map(comparable).collect::<Vec<_>>()),
                Err(error) => failure(&error),
            }
        }
        Step::Commit(checks, writes) => {
            let mut batch = Batch::new();
            for check in checks {
                batch.demand(check.clone());
            }
            for write in writes {
                batch.write(write.clone());
            }
            match store.commit(batch).await {
                Ok(committed) => format!("{:?}", committed.counters),
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

/// A time to live up to the time that the test itself takes.
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

/// Waits until the keys that a step gave only a moment to live are gone.
async fn let_moments_pass(redis: &Store, clock: &AtomicU64, step: &Step) {
    let Step::Commit(_, writes) = step else { return };
    let brief = |write: &&Write| matches!(write, Write::Set(_, _, Some(ttl)) | Write::Expire(_, ttl) if *ttl == MOMENT);
    for write in writes.iter().filter(brief) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut query = Query::new();
            let expiry = query.expiry(write.key());
            match redis.query(query).await.unwrap().take(expiry) {
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
