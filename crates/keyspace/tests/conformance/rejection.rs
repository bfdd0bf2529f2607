//! A batch is applied whole or not at all.

use super::Subject;
use std::time::Duration;
use tidings_keyspace::{Batch, CommitError, KeyspaceError, read};
use tidings_keyspace::{Bound, Write};

/// Writes of every kind, which would change every key of
/// [`Subject::write_one_of_each`].
fn change_everything(batch: &mut Batch) {
    batch.set("string", "changed");
    batch.set("new string", "text");
    batch.set_expiring("new expiring", "text", Duration::from_secs(60));
    batch.increment("new counter", 1);
    batch.set_field("hash", "field", "changed");
    batch.increment_field("hash", "count", 1);
    batch.add_member("set", "other");
    batch.remove_member("set", "member");
    batch.sorted_add("sorted", "member", 2.0);
    batch.sorted_trim("sorted", 0);
    batch.sorted_increment("new sorted", "member", 1.0);
    batch.sorted_raise("new sorted", "member", 5.0);
    let bound = Bound { keep: 0, floors: "new floors".to_owned(), member: "member".to_owned() };
    batch.sorted_add_bounded("new sorted", "member", 1.0, bound);
    batch.expire("sorted", Duration::from_secs(60));
    batch.delete("hash");
}

pub(super) async fn every_write_refuses_other_types(subject: Subject) {
    subject.write_one_of_each().await;
    let before = subject.dump().await;
    let text = |text: &str| text.to_owned();
    let bound = |floors: &str| Bound { keep: 9, floors: floors.to_owned(), member: "member".to_owned() };
    for key in ["string", "hash", "set", "sorted"] {
        for (takes, write) in [
            ("string", Write::Increment(text(key), 0)),
            ("hash", Write::SetFields(text(key), vec![(text("field"), text("value"))])),
            ("hash", Write::DeleteField(text(key), text("absent"))),
            ("hash", Write::IncrementField(text(key), text("number"), 0)),
            ("hash", Write::LowerField(text(key), text("number"), 0)),
            ("set", Write::AddMember(text(key), text("member"))),
            ("set", Write::RemoveMember(text(key), text("absent"))),
            ("sorted", Write::SortedAdd(text(key), text("member"), 1.0)),
            ("sorted", Write::SortedRemove(text(key), text("absent"))),
            ("sorted", Write::SortedTrim(text(key), 9)),
            ("sorted", Write::SortedRaise(text(key), text("member"), 1.0)),
            ("sorted", Write::SortedAppend(text(key), text("member"))),
            ("sorted", Write::SortedIncrement(text(key), text("member"), 1.0)),
            ("sorted", Write::SortedAddBounded(text(key), text("member"), 1.0, bound("new floors"))),
            ("sorted", Write::SortedAddBounded(text("new sorted"), text("member"), 1.0, bound(key))),
        ] {
            if takes == key {
                continue;
            }
            let shown = format!("{write:?}");
            let refusal = subject.refusal(|batch| {
                batch.set("witness", "text");
                batch.write(write);
            });
            assert_eq!(refusal.await, format!("wrong type {key}"), "{shown}");
        }
    }
    assert_eq!(subject.dump().await, before);
}

pub(super) async fn a_rejected_batch_leaves_no_trace(subject: Subject) {
    subject.write_one_of_each().await;
    let before = subject.dump().await;
    let refusal = subject.refusal(|batch| {
        change_everything(batch);
        batch.key_present("string");
        batch.field_equals("hash", "field", "not this");
    });
    assert_eq!(refusal.await, "rejected 1");
    assert_eq!(subject.dump().await, before);
    // The same writes pass without the check.
    subject.write(change_everything).await;
    assert_ne!(subject.dump().await, before);
}

pub(super) async fn a_wrong_type_leaves_no_trace(subject: Subject) {
    subject.write_one_of_each().await;
    let before = subject.dump().await;
    let refusal = subject.refusal(|batch| {
        change_everything(batch);
        batch.add_member("string", "too late");
    });
    assert_eq!(refusal.await, "wrong type string");
    assert_eq!(subject.dump().await, before);
}

pub(super) async fn a_bad_counter_leaves_no_trace(subject: Subject) {
    subject.write_one_of_each().await;
    subject.write(|batch| batch.set("text", "no number")).await;
    let before = subject.dump().await;
    let refusal = subject.refusal(|batch| {
        change_everything(batch);
        batch.increment("text", 1);
    });
    assert_eq!(refusal.await, "not an integer text");
    assert_eq!(subject.dump().await, before);
}

pub(super) async fn types_are_followed_through_the_batch(subject: Subject) {
    let refusal = subject.refusal(|batch| {
        batch.set_field("new", "field", "value");
        batch.add_member("new", "member");
    });
    assert_eq!(refusal.await, "wrong type new");
    let refusal = subject.refusal(|batch| {
        batch.sorted_add("new", "member", 1.0);
        batch.set("new", "text");
        batch.sorted_trim("new", 1);
    });
    assert_eq!(refusal.await, "wrong type new");
    let refusal = subject.refusal(|batch| {
        batch.increment("new", 1);
        batch.increment_field("new", "field", 1);
    });
    assert_eq!(refusal.await, "wrong type new");
    assert_eq!(subject.dump().await, []);
}

pub(super) async fn an_emptied_key_keeps_its_type_within_the_batch(subject: Subject) {
    subject.write_one_of_each().await;
    let before = subject.dump().await;
    for (key, empty) in [
        ("hash", Write::DeleteField("hash".to_owned(), "field".to_owned())),
        ("sorted", Write::SortedRemove("sorted".to_owned(), "member".to_owned())),
        ("sorted", Write::SortedTrim("sorted".to_owned(), 0)),
    ] {
        let refusal = subject.refusal(|batch| {
            batch.write(empty.clone());
            batch.add_member(key, "member");
        });
        assert_eq!(refusal.await, format!("wrong type {key}"), "{empty:?}");
    }
    assert_eq!(subject.dump().await, before);
    // It can be filled again in the same batch if its type stays.
    subject
        .write(|batch| {
            batch.remove_member("set", "member");
            batch.add_member("set", "other");
            batch.delete_field("hash", "field");
            batch.set_field("hash", "other", "value");
        })
        .await;
    assert_eq!(subject.ask(read::members("set")).await, ["other"]);
    assert_eq!(subject.ask(read::hash("hash")).await.get("field"), None);
}

pub(super) async fn senseless_batches_are_refused(subject: Subject) {
    type Fill = fn(&mut Batch);
    let fills: [Fill; 9] = [
        |batch| batch.sorted_add("key", "member", f64::NAN),
        |batch| batch.sorted_add("key", "member", f64::INFINITY),
        |batch| batch.set_expiring("key", "value", Duration::ZERO),
        |batch| batch.set_expiring("key", "value", Duration::MAX),
        |batch| batch.expire("key", Duration::MAX),
        |batch| batch.increment("key", i64::MAX),
        |batch| batch.set_fields("key", [("", ""); 0]),
        |batch| {
            // Not merged, as they are written by hand.
            batch.write(Write::Increment("key".to_owned(), 1));
            batch.write(Write::Increment("key".to_owned(), 1));
        },
        |batch| {
            batch.set_field("key", "field", "1");
            batch.increment_field("key", "field", 1);
        },
    ];
    for (index, fill) in fills.into_iter().enumerate() {
        let committed = subject.commit(fill).await;
        assert!(matches!(committed, Err(CommitError::Keyspace(KeyspaceError::Invalid(_)))), "{index}");
    }
    assert_eq!(subject.dump().await, []);
}
