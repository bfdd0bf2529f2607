//! Snapshots: all keys as of one moment, while writes go on.

use super::{SHORT, STRANGE_TEXTS, Subject};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tidings_keyspace::{Batch, Entry, Snapshot, Store, Value};

/// Everything in a snapshot, by key. A key that comes twice is a failure.
async fn taken(mut snapshot: Snapshot) -> BTreeMap<String, Entry> {
    let mut entries = BTreeMap::new();
    while let Some(page) = snapshot.next_page().await.unwrap() {
        assert!(!page.is_empty() && page.len() <= 1000);
        for mut entry in page {
            match &mut entry.value {
                Value::Hash(fields) => fields.sort(),
                Value::Set(members) => members.sort(),
                Value::String(_) | Value::SortedSet(_) => {}
            }
            let before = entries.insert(entry.key.clone(), entry);
            assert!(before.is_none(), "{before:?} comes twice");
        }
    }
    assert!(snapshot.next_page().await.unwrap().is_none());
    entries
}

pub(super) async fn a_snapshot_has_every_key_once(subject: Subject) {
    subject.write_one_of_each().await;
    let long = Duration::from_secs(3600);
    for text in STRANGE_TEXTS {
        subject
            .write(|batch| {
                batch.set_expiring(format!("expiring{text}"), text, long);
                batch.set_fields(format!("hash{text}"), [(text, text), ("x", "y")]);
                batch.sorted_add(format!("sorted{text}"), text, -0.1);
            })
            .await;
    }
    subject
        .write(|batch| {
            for number in 0..3000 {
                batch.set(format!("key{number}"), number.to_string());
            }
        })
        .await;
    let snapshot = subject.store.snapshot().await.unwrap();
    assert!(snapshot.keys() >= 3000);
    assert!(snapshot.taken_at_ms() > 0);
    let found: Vec<Entry> = taken(snapshot).await.into_values().collect();
    let expected = subject.dump().await;
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((&found.key, &found.value), (&expected.key, &expected.value));
        assert_eq!(found.time_to_live.is_some(), expected.time_to_live.is_some(), "{found:?}");
        assert!(found.time_to_live.is_none_or(|left| left.abs_diff(long) < Duration::from_secs(30)));
    }
}

pub(super) async fn an_empty_store_has_an_empty_snapshot(subject: Subject) {
    assert!(taken(subject.store.snapshot().await.unwrap()).await.is_empty());
}

/// The accounts between which a constant sum is moved, some of them large.
const ACCOUNTS: u64 = 2000;

/// Moves amounts between accounts, makes keys and deletes them, until it is told to stop.
async fn move_amounts(store: Store, stop: Arc<AtomicBool>, moved: Arc<AtomicU64>, mut seed: u64) {
    while !stop.load(Ordering::SeqCst) {
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (from, to, by) = (draw(ACCOUNTS), draw(ACCOUNTS), i64::try_from(draw(1000)).unwrap());
        let mut batch = Batch::new();
        batch.increment(format!("account:{from}"), -by);
        batch.increment_field(format!("purse:{to}"), "amount", by);
        // A token is under one of two names, as another type under each.
        let token = draw(50);
        if draw(2) == 0 {
            batch.delete(format!("heads:{token}"));
            batch.set(format!("tails:{token}"), "here");
        } else {
            batch.delete(format!("tails:{token}"));
            batch.delete(format!("heads:{token}"));
            batch.add_member(format!("heads:{token}"), "here");
        }
        store.commit(batch).await.unwrap();
        moved.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) async fn a_snapshot_is_of_one_moment(subject: Subject) {
    for chunk in 0..20 {
        subject
            .write(|batch| {
                for account in chunk * 100..(chunk + 1) * 100 {
                    batch.set(format!("account:{account}"), "1000");
                    // Widens the gap between the first read and the last.
                    batch.set_field(format!("purse:{account}"), "padding", "x".repeat(2000));
                    batch.set(format!("tails:{}", account % 50), "here");
                }
            })
            .await;
    }
    let (stop, moved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writers: Vec<_> = (0..4)
        .map(|seed| tokio::spawn(move_amounts(subject.store.clone(), stop.clone(), moved.clone(), seed)))
        .collect();
    let mut meanwhile = 0;
    for _ in 0..5 {
        let before = moved.load(Ordering::SeqCst);
        let snapshot = subject.store.snapshot().await.unwrap();
        // The pages are taken while writes go on.
        let entries = taken(snapshot).await;
        meanwhile += moved.load(Ordering::SeqCst) - before;
        let amount = |entry: &Entry| -> i64 {
            match &entry.value {
                Value::String(text) => text.parse().unwrap_or(0),
                Value::Hash(fields) => fields
                    .iter()
                    .find(|(field, _)| field == "amount")
                    .map_or(0, |(_, amount)| amount.parse().unwrap()),
                _ => 0,
            }
        };
        let sum: i64 = entries.values().map(amount).sum();
        assert_eq!(sum, i64::try_from(ACCOUNTS).unwrap() * 1000);
        for token in 0..50 {
            let sides = ["heads", "tails"].map(|side| entries.contains_key(&format!("{side}:{token}")));
            assert!(sides[0] != sides[1], "token {token}: {sides:?}");
        }
    }
    stop.store(true, Ordering::SeqCst);
    assert!(meanwhile > 0, "nothing was written during the snapshots");
    for writer in writers {
        writer.await.unwrap();
    }
}

pub(super) async fn a_snapshot_leaves_out_what_has_expired(subject: Subject) {
    subject
        .write(|batch| {
            batch.set_expiring("gone", "text", SHORT);
            batch.set_expiring("there", "text", Duration::from_secs(3600));
        })
        .await;
    subject.let_expire("gone").await;
    let entries = taken(subject.store.snapshot().await.unwrap()).await;
    assert_eq!(entries.keys().collect::<Vec<_>>(), ["there"]);
}

pub(super) async fn large_keys_have_pages_of_their_own(subject: Subject) {
    let entry = |key: &str| Entry {
        key: key.to_owned(),
        value: Value::String(key.repeat(3_000_000)),
        time_to_live: None,
    };
    let entries: Vec<Entry> = ["a", "b", "c", "d"].map(entry).to_vec();
    subject.store.restore(entries.clone()).await.unwrap();
    let mut snapshot = subject.store.snapshot().await.unwrap();
    let mut pages = 0;
    while let Some(page) = snapshot.next_page().await.unwrap() {
        assert_eq!(page.len(), 1);
        assert!(entries.contains(&page[0]));
        pages += 1;
    }
    assert_eq!(pages, 4);
}
