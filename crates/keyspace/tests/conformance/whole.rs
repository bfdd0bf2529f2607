//! Copying a store: scan, restore, count.

use super::{STRANGE_TEXTS, Subject, dump, pairs, scored};
use std::collections::HashSet;
use std::time::Duration;
use tidings_keyspace::{EngineClock, Entry, Store, Value};

const LONG: Duration = Duration::from_secs(3600);

pub(super) async fn scan_and_restore_copy_everything(subject: Subject) {
    subject.write_one_of_each().await;
    for text in STRANGE_TEXTS {
        subject
            .write(|batch| {
                batch.set_expiring(format!("expiring{text}"), text, LONG);
                batch.set_fields(format!("hash{text}"), [(text, text), ("x", "y")]);
                batch.sorted_add(format!("sorted{text}"), text, -0.1);
                batch.expire(format!("sorted{text}"), LONG);
            })
            .await;
    }
    let entries = subject.dump().await;
    assert!(entries.len() >= 4 + 3 * STRANGE_TEXTS.len() - 2);
    let other = Store::in_memory().await.unwrap();
    other.restore(entries.clone()).await.unwrap();
    assert_same(&dump(&other).await, &entries);
    // And in the other direction.
    subject
        .write(|batch| {
            for entry in &entries {
                batch.delete(entry.key.as_str());
            }
        })
        .await;
    assert_eq!(subject.store.count_keys().await.unwrap(), 0);
    subject.store.restore(entries.clone()).await.unwrap();
    assert_same(&subject.dump().await, &entries);
}

/// The same keys and values, and about the same times to live.
fn assert_same(found: &[Entry], expected: &[Entry]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.key, &found.value), (&expected.key, &expected.value));
        match (found.time_to_live, expected.time_to_live) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.abs_diff(expected) < Duration::from_secs(30)),
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn restore_replaces_keys_whole(subject: Subject) {
    subject.write_one_of_each().await;
    subject.write(|batch| batch.expire("set", LONG)).await;
    let entry = |key: &str, value| Entry { key: key.to_owned(), value, time_to_live: None };
    let entries = vec![
        entry("hash", Value::Hash(pairs(&[("other", "value")]))),
        entry("set", Value::Set(vec!["other".to_owned()])),
        entry("sorted", Value::String("text".to_owned())),
        // Only a Redis database can contain an infinite score. It is copied.
        entry("string", Value::SortedSet(scored(&[("low", f64::NEG_INFINITY), ("high", f64::INFINITY)]))),
    ];
    subject.store.restore(entries.clone()).await.unwrap();
    assert_eq!(subject.dump().await, entries);
    // A key that expires while it is copied is removed.
    let gone = Entry { time_to_live: Some(Duration::ZERO), ..entry("set", Value::Set(vec!["x".to_owned()])) };
    subject.store.restore(vec![gone]).await.unwrap();
    assert_eq!(subject.dump().await.len(), 3);
}

pub(super) async fn scan_walks_over_many_keys(subject: Subject) {
    subject
        .write(|batch| {
            for number in 0..500 {
                batch.set(format!("key{number}"), number.to_string());
            }
        })
        .await;
    let mut found = HashSet::new();
    let mut cursor = None;
    let mut pages = 0;
    loop {
        let page = subject.store.scan(cursor, 50).await.unwrap();
        assert!(page.entries.len() < 200, "a page is about as long as asked");
        for entry in page.entries {
            assert_eq!(entry.value, Value::String(entry.key["key".len()..].to_owned()));
            found.insert(entry.key);
        }
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 500);
    assert!(pages > 3);
}

pub(super) async fn large_collections_are_copied(subject: Subject) {
    let texts: Vec<String> = (0..5000).map(|number| format!("{number:05}")).collect();
    let entry = |key: &str, value| Entry { key: key.to_owned(), value, time_to_live: Some(LONG) };
    let entries = vec![
        entry("hash", Value::Hash(texts.iter().map(|text| (text.clone(), "v".repeat(100))).collect())),
        entry("set", Value::Set(texts.clone())),
        entry("sorted", Value::SortedSet(texts.iter().map(|text| (text.clone(), 1.0)).collect())),
        entry("string", Value::String("x".repeat(3_000_000))),
    ];
    subject.store.restore(entries.clone()).await.unwrap();
    assert_same(&subject.dump().await, &entries);
}

pub(super) async fn collections_are_copied_whatever_their_length(subject: Subject) {
    // Both engines restore at most 1,000 fields in one write, and Redis as many members.
    for length in [999, 1_000, 1_001, 2_000, 2_001] {
        let texts: Vec<String> = (0..length).map(|number| format!("{number:05}")).collect();
        let entry = |key: &str, value| Entry { key: key.to_owned(), value, time_to_live: None };
        let entries = vec![
            entry("hash", Value::Hash(texts.iter().map(|text| (text.clone(), text.clone())).collect())),
            entry("set", Value::Set(texts.clone())),
            entry("sorted", Value::SortedSet(texts.iter().map(|text| (text.clone(), 1.0)).collect())),
        ];
        subject.store.restore(entries.clone()).await.unwrap();
        assert_same(&subject.dump().await, &entries);
    }
}

pub(super) async fn times_to_live_count_from_the_given_moment(subject: Subject) {
    let now_ms = subject.clock.clone().map_or(EngineClock::System, EngineClock::Manual).now_ms();
    let entry = |key: &str, left| Entry {
        key: key.to_owned(),
        value: Value::String("x".to_owned()),
        time_to_live: Some(left),
    };
    let (later, gone) = (entry("later", LONG), entry("gone", LONG / 4));
    subject.store.restore_as_of(vec![later, gone], now_ms - millis(LONG / 2)).await.unwrap();
    let found = subject.dump().await;
    let left: Vec<_> = found.iter().map(|entry| (entry.key.as_str(), entry.time_to_live.unwrap())).collect();
    assert!(matches!(left[..], [("later", left)] if left <= LONG / 2 && left > LONG / 3), "{left:?}");
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}

pub(super) async fn keys_are_counted(subject: Subject) {
    assert_eq!(subject.store.count_keys().await.unwrap(), 0);
    subject.write_one_of_each().await;
    assert_eq!(subject.store.count_keys().await.unwrap(), 4);
    subject.write(|batch| batch.delete("set")).await;
    assert_eq!(subject.store.count_keys().await.unwrap(), 3);
}
