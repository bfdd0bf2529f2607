//! Every write, on keys of every type.

use super::{STRANGE_TEXTS, Subject, pairs, scored};
use std::time::Duration;
use tidings_keyspace::{Batch, COUNTER_LIMIT, Entry, Expiry, Order, Value, read};

/// Texts that are not counters.
pub(super) const NO_COUNTERS: [&str; 17] = [
    "",
    " ",
    "x",
    "1 ",
    " 1",
    "+1",
    "01",
    "-0",
    "-",
    "1.0",
    "1e3",
    "0x10",
    "1\n",
    "1\0",
    "1000000000000001",
    "-1000000000000001",
    "99999999999999999999999",
];

pub(super) async fn set_replaces_any_type(subject: Subject) {
    subject.write_one_of_each().await;
    for key in ["string", "hash", "set", "sorted"] {
        subject.write(|batch| batch.set(key, "new")).await;
        assert_eq!(subject.ask(read::string(key)).await.as_deref(), Some("new"));
    }
    // No part of an old value is left when its string is deleted.
    for key in ["hash", "set", "sorted"] {
        subject.write(|batch| batch.delete(key)).await;
    }
    subject
        .write(|batch| {
            batch.set_field("hash", "other", "value");
            batch.add_member("set", "other");
            batch.sorted_add("sorted", "other", 2.0);
        })
        .await;
    assert_eq!(subject.ask(read::hash("hash")).await.0, pairs(&[("other", "value")]));
    assert_eq!(subject.ask(read::members("set")).await, ["other"]);
    let range = subject.ask(read::sorted_range("sorted", Order::Ascending, 0, 9)).await;
    assert_eq!(range, scored(&[("other", 2.0)]));
}

pub(super) async fn delete_removes_any_type(subject: Subject) {
    subject.write_one_of_each().await;
    subject
        .write(|batch| {
            for key in ["string", "hash", "set", "sorted", "absent"] {
                batch.delete(key);
            }
        })
        .await;
    assert_eq!(subject.dump().await, []);
}

pub(super) async fn set_fields_adds_and_replaces(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("a", "1"), ("b", "2")])).await;
    subject.write(|batch| batch.set_fields("hash", [("b", "3"), ("c", "4"), ("c", "5")])).await;
    let mut hash = subject.ask(read::hash("hash")).await;
    hash.0.sort();
    assert_eq!(hash.0, pairs(&[("a", "1"), ("b", "3"), ("c", "5")]));
}

pub(super) async fn a_hash_without_fields_is_absent(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("a", "1"), ("b", "2")])).await;
    subject.write(|batch| batch.delete_field("hash", "a")).await;
    assert_eq!(subject.ask(read::hash("hash")).await.0, pairs(&[("b", "2")]));
    subject.write(|batch| batch.delete_field("hash", "b")).await;
    assert_eq!(subject.ask(read::expiry("hash")).await, Expiry::Absent);
    subject.write(|batch| batch.set("hash", "a string now")).await;
}

pub(super) async fn a_set_without_members_is_absent(subject: Subject) {
    subject
        .write(|batch| {
            batch.add_member("set", "a");
            batch.add_member("set", "b");
        })
        .await;
    subject.write(|batch| batch.remove_member("set", "a")).await;
    assert_eq!(subject.ask(read::members("set")).await, ["b"]);
    subject.write(|batch| batch.remove_member("set", "b")).await;
    assert_eq!(subject.ask(read::expiry("set")).await, Expiry::Absent);
    assert_eq!(subject.dump().await, []);
}

pub(super) async fn a_sorted_set_without_members_is_absent(subject: Subject) {
    for empty in ["remove", "trim"] {
        subject.write(|batch| batch.sorted_add("sorted", "a", 1.0)).await;
        subject
            .write(|batch| match empty {
                "remove" => batch.sorted_remove("sorted", "a"),
                _ => batch.sorted_trim("sorted", 0),
            })
            .await;
        assert_eq!(subject.ask(read::expiry("sorted")).await, Expiry::Absent, "{empty}");
    }
}

pub(super) async fn removing_what_is_absent_changes_nothing(subject: Subject) {
    subject
        .write(|batch| {
            batch.delete_field("a", "x");
            batch.remove_member("b", "x");
            batch.sorted_remove("c", "x");
            batch.sorted_trim("d", 1);
            batch.delete("e");
        })
        .await;
    assert_eq!(subject.dump().await, []);
    subject.write_one_of_each().await;
    let before = subject.dump().await;
    subject
        .write(|batch| {
            batch.delete_field("hash", "x");
            batch.remove_member("set", "x");
            batch.sorted_remove("sorted", "x");
            batch.sorted_trim("sorted", 5);
        })
        .await;
    assert_eq!(subject.dump().await, before);
}

pub(super) async fn counters_count(subject: Subject) {
    assert_eq!(subject.write(|batch| batch.increment("counter", 5)).await, [5]);
    assert_eq!(subject.write(|batch| batch.increment("counter", -7)).await, [-2]);
    assert_eq!(subject.write(|batch| batch.increment("counter", 0)).await, [-2]);
    assert_eq!(subject.ask(read::string("counter")).await.as_deref(), Some("-2"));
}

pub(super) async fn field_counters_count(subject: Subject) {
    subject.write(|batch| batch.set_field("hash", "other", "stays")).await;
    assert_eq!(subject.write(|batch| batch.increment_field("hash", "n", 3)).await, [3]);
    assert_eq!(subject.write(|batch| batch.increment_field("hash", "n", -3)).await, [0]);
    let mut hash = subject.ask(read::hash("hash")).await;
    hash.0.sort();
    assert_eq!(hash.0, pairs(&[("n", "0"), ("other", "stays")]));
}

pub(super) async fn a_field_is_lowered_to_0_and_no_further(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("n", "5"), ("debt", "-2"), ("text", "x")])).await;
    assert_eq!(subject.write(|batch| batch.lower_field("hash", "n", 3)).await, [2]);
    let lowered = subject.write(|batch| {
        batch.lower_field("hash", "n", 1);
        batch.lower_field("hash", "debt", 1);
        batch.lower_field("hash", "absent", 1);
        batch.lower_field("hash", "n", 4);
    });
    assert_eq!(lowered.await, [0, -2, 0]);
    assert!(subject.commit(|batch| batch.lower_field("hash", "text", 1)).await.is_err());
    // How much it loses would depend on what is added before.
    let both = |batch: &mut Batch| {
        batch.increment_field("hash", "n", 1);
        batch.lower_field("hash", "n", 1);
    };
    assert!(subject.commit(both).await.is_err());
}

pub(super) async fn counters_come_in_the_order_of_the_writes(subject: Subject) {
    let counters = subject.write(|batch| {
        batch.increment_field("hash", "b", 2);
        batch.set("between", "text");
        batch.increment("counter", 1);
        batch.increment_field("hash", "a", 3);
    });
    assert_eq!(counters.await, [2, 1, 3]);
}

pub(super) async fn increments_of_one_counter_or_member_are_one(subject: Subject) {
    let committed = subject
        .commit(|batch| {
            batch.increment("counter", 1);
            batch.increment_field("hash", "a", 5);
            batch.increment_field("hash", "b", 7);
            batch.set_field("hash", "text", "between");
            batch.increment("counter", 2);
            batch.increment_field("hash", "a", -2);
            batch.sorted_increment("sorted", "m", 1.5);
            batch.sorted_increment("sorted", "m", 1.0);
            // Not these: the second increment counts from nothing.
            batch.sorted_increment("trimmed", "m", 4.0);
            batch.sorted_trim("trimmed", 0);
            batch.sorted_increment("trimmed", "m", 1.0);
        })
        .await
        .unwrap();
    assert_eq!(committed.counter("counter"), Some(3));
    assert_eq!([committed.field("hash", "a"), committed.field("hash", "b")], [Some(3), Some(7)]);
    assert_eq!([committed.counter("hash"), committed.field("hash", "text")], [None, None]);
    assert_eq!(subject.ask(read::string("counter")).await.as_deref(), Some("3"));
    assert_eq!(subject.ask(read::scores("sorted", ["m"])).await, [Some(2.5)]);
    assert_eq!(subject.ask(read::scores("trimmed", ["m"])).await, [Some(1.0)]);
    // A sum beyond the limit, and a counter that is set in between, are refused before anything is done.
    for between in [false, true] {
        let refusal = subject.refusal(|batch| {
            batch.increment_field("hash", "a", COUNTER_LIMIT);
            if between {
                batch.set_field("hash", "a", "0");
            }
            batch.increment_field("hash", "a", COUNTER_LIMIT);
        });
        assert!(refusal.await.starts_with("invalid"), "{between}");
    }
}

pub(super) async fn only_whole_numbers_in_range_are_counters(subject: Subject) {
    for value in NO_COUNTERS {
        subject
            .write(|batch| {
                batch.set("string", value);
                batch.set_field("hash", "field", value);
            })
            .await;
        let before = subject.dump().await;
        let refusal = subject.refusal(|batch| batch.increment("string", 1)).await;
        assert_eq!(refusal, "not an integer string", "{value:?}");
        let refusal = subject.refusal(|batch| batch.increment_field("hash", "field", 1)).await;
        assert_eq!(refusal, "not an integer hash", "{value:?}");
        assert_eq!(subject.dump().await, before);
    }
}

pub(super) async fn a_counter_stays_within_its_limit(subject: Subject) {
    for sign in [1, -1] {
        let limit = COUNTER_LIMIT * sign;
        subject.write(|batch| batch.delete("counter")).await;
        assert_eq!(subject.write(|batch| batch.increment("counter", limit)).await, [limit]);
        for by in [sign, limit] {
            let refusal = subject.refusal(|batch| batch.increment("counter", by)).await;
            assert_eq!(refusal, "not an integer counter", "{by}");
        }
        let text = limit.to_string();
        assert_eq!(subject.ask(read::string("counter")).await, Some(text));
        assert_eq!(subject.write(|batch| batch.increment("counter", -sign)).await, [limit - sign]);
        assert_eq!(subject.write(|batch| batch.increment("counter", -limit)).await, [-sign]);
    }
}

pub(super) async fn writes_apply_in_order(subject: Subject) {
    subject
        .write(|batch| {
            batch.set("a", "first");
            batch.set("a", "second");
            batch.sorted_add("z", "m", 1.0);
            batch.sorted_add("z", "m", 2.0);
            batch.add_member("s", "x");
            batch.remove_member("s", "x");
            batch.remove_member("t", "x");
            batch.add_member("t", "x");
        })
        .await;
    assert_eq!(subject.ask(read::string("a")).await.as_deref(), Some("second"));
    assert_eq!(subject.ask(read::scores("z", ["m"])).await, [Some(2.0)]);
    assert!(!subject.ask(read::has_member("s", "x")).await);
    assert!(subject.ask(read::has_member("t", "x")).await);
}

pub(super) async fn a_field_can_be_deleted_and_counted_anew(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("n", "no number"), ("m", "40")])).await;
    let counters = subject.write(|batch| {
        batch.delete_field("hash", "n");
        batch.increment_field("hash", "n", 2);
        batch.increment_field("hash", "m", 2);
    });
    assert_eq!(counters.await, [2, 42]);
}

pub(super) async fn a_key_can_be_deleted_and_written_as_another_type(subject: Subject) {
    subject.write_one_of_each().await;
    let counters = subject.write(|batch| {
        batch.delete("string");
        batch.set_field("string", "field", "value");
        batch.delete("hash");
        batch.increment("hash", 4);
        batch.expire("set", Duration::ZERO);
        batch.sorted_add("set", "member", 2.0);
        batch.set("sorted", "x");
        batch.delete("sorted");
        batch.increment_field("sorted", "field", 6);
    });
    assert_eq!(counters.await, [4, 6]);
    assert_eq!(subject.ask(read::hash("string")).await.0, pairs(&[("field", "value")]));
    assert_eq!(subject.ask(read::string("hash")).await.as_deref(), Some("4"));
    assert_eq!(subject.ask(read::scores("set", ["member"])).await, [Some(2.0)]);
    assert_eq!(subject.ask(read::hash("sorted")).await.0, pairs(&[("field", "6")]));
}

pub(super) async fn a_small_hash_that_grows_keeps_everything(subject: Subject) {
    // From one field to hundreds and back to none, over the size at which the
    // embedded engine stores hashes in another way.
    let value = |number: usize| format!("{number}{}", "v".repeat(100));
    for number in 0..100 {
        subject.write(|batch| batch.set_field("hash", number.to_string(), value(number))).await;
    }
    subject.write(|batch| batch.set_field("hash", "7", "replaced")).await;
    assert_eq!(subject.write(|batch| batch.increment_field("hash", "n", 1)).await, [1]);
    assert_eq!(subject.write(|batch| batch.increment_field("hash", "n", 1)).await, [2]);
    let hash = subject.ask(read::hash("hash")).await;
    assert_eq!(hash.0.len(), 101);
    assert_eq!(hash.get("7"), Some("replaced"));
    assert_eq!(hash.get("99"), Some(value(99).as_str()));
    let some = subject.ask(read::hash_fields("hash", ["99", "absent", "0"])).await;
    assert_eq!(some, [Some(value(99)), None, Some(value(0))]);
    for number in 0..100 {
        subject.write(|batch| batch.delete_field("hash", number.to_string())).await;
    }
    assert_eq!(subject.ask(read::hash("hash")).await.0, pairs(&[("n", "2")]));
    subject.write(|batch| batch.delete_field("hash", "n")).await;
    assert_eq!(subject.dump().await, []);
    // A single field may be too large.
    subject.write(|batch| batch.set_field("hash", "large", "x".repeat(100_000))).await;
    assert_eq!(subject.ask(read::hash("hash")).await.get("large").map(str::len), Some(100_000));
}

pub(super) async fn a_hash_keeps_everything_at_every_size(subject: Subject) {
    // The embedded engine stores hashes of up to 2,048 bytes in one row. The first field
    // takes 13 bytes and its value, the second 10 in all.
    for length in 2_020..2_040_usize {
        let value = "v".repeat(length);
        subject.write(|batch| batch.set_field("hash", "first", &*value)).await;
        let hash = subject.ask(read::hash("hash")).await;
        assert_eq!(hash.0, pairs(&[("first", &value)]), "{length}");
        subject.write(|batch| batch.set_field("hash", "n", "1")).await;
        assert_eq!(subject.write(|batch| batch.increment_field("hash", "n", 1)).await, [2], "{length}");
        let fields = subject.ask(read::hash_fields("hash", ["first", "n", "absent"])).await;
        assert_eq!(fields, [Some(value), Some("2".to_owned()), None], "{length}");
        subject.write(|batch| batch.delete_field("hash", "first")).await;
        assert_eq!(subject.ask(read::hash("hash")).await.0, pairs(&[("n", "2")]), "{length}");
        subject.write(|batch| batch.delete("hash")).await;
        assert_eq!(subject.dump().await, [], "{length}");
    }
}

pub(super) async fn strange_texts_are_stored_as_they_are(subject: Subject) {
    for text in STRANGE_TEXTS {
        subject
            .write(|batch| {
                batch.set(format!("string{text}"), text);
                batch.set_field(format!("hash{text}"), text, text);
                batch.add_member(format!("set{text}"), text);
                batch.sorted_add(format!("sorted{text}"), text, 1.0);
                // The text itself as a key.
                batch.add_member(text, text);
            })
            .await;
    }
    for text in STRANGE_TEXTS {
        assert_eq!(subject.ask(read::string(format!("string{text}"))).await.as_deref(), Some(text));
        let hash = subject.ask(read::hash(format!("hash{text}"))).await;
        assert_eq!(hash.0, pairs(&[(text, text)]));
        assert_eq!(subject.ask(read::members(format!("set{text}"))).await, [text]);
        let range = subject.ask(read::sorted_range(format!("sorted{text}"), Order::Ascending, 0, 9)).await;
        assert_eq!(range, scored(&[(text, 1.0)]));
        assert_eq!(subject.ask(read::members(text)).await, [text]);
        let refusal = subject.refusal(|batch| {
            batch.string_equals(format!("string{text}"), text);
            batch.field_equals(format!("hash{text}"), text, text);
            batch.sorted_member_present(format!("sorted{text}"), text);
            batch.member_absent(text, text);
        });
        assert_eq!(refusal.await, "rejected 3");
    }
    let stored = subject.dump().await;
    assert_eq!(stored.len(), 5 * STRANGE_TEXTS.len());
    assert!(stored.contains(&Entry {
        key: "a\0b".to_owned(),
        value: Value::Set(vec!["a\0b".to_owned()]),
        time_to_live: None
    }));
}

pub(super) async fn a_batch_without_operations_passes(subject: Subject) {
    assert_eq!(subject.write(|_| ()).await, Vec::<i64>::new());
}

pub(super) async fn next_id_gives_each_number_once(subject: Subject) {
    for expected in 1..=3 {
        assert_eq!(subject.store.next_id("ids").await.unwrap(), expected);
    }
}

pub(super) async fn rounds_are_counted(subject: Subject) {
    subject.ask(read::string("a")).await;
    subject.write(|batch| batch.set("a", "b")).await;
    assert_eq!(subject.store.clone().rounds(), 2);
}
