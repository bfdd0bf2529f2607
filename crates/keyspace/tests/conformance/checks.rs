//! Every check: when it holds, when it does not, and on absent keys and other types.

use super::Subject;
use tidings_keyspace::{Check, read};

/// One of every check, on this key; those of a hash look at `field`, the others
/// at `member` or `text`.
fn one_of_each(key: &str) -> Vec<Check> {
    let key = || key.to_owned();
    let text = |text: &str| text.to_owned();
    vec![
        Check::KeyAbsent(key()),
        Check::KeyPresent(key()),
        Check::StringEquals(key(), text("text")),
        Check::FieldEquals(key(), text("field"), text("value")),
        Check::FieldAbsent(key(), text("field")),
        Check::FieldAtLeast(key(), text("field"), 1),
        Check::FieldAtLeast(key(), text("field"), 0),
        Check::MemberAbsent(key(), text("member")),
        Check::SortedMemberAbsent(key(), text("member")),
        Check::SortedMemberPresent(key(), text("member")),
    ]
}

async fn outcome(subject: &Subject, check: Check) -> String {
    let refusal = subject.refusal(|batch| {
        batch.check(check);
        batch.increment("witness", 1);
    });
    refusal.await
}

pub(super) async fn every_check_on_an_absent_key(subject: Subject) {
    let holds = [true, false, false, false, true, false, true, true, true, false];
    for (check, holds) in one_of_each("absent").into_iter().zip(holds) {
        let expected = if holds { "passed" } else { "rejected 0" };
        assert_eq!(outcome(&subject, check.clone()).await, expected, "{check:?}");
    }
    assert_eq!(subject.ask(read::string("witness")).await.as_deref(), Some("5"));
}

pub(super) async fn every_check_that_holds(subject: Subject) {
    subject.write_one_of_each().await;
    subject.write(|batch| batch.set_field("hash", "number", "-7")).await;
    let text = |text: &str| text.to_owned();
    for check in [
        Check::KeyAbsent(text("absent")),
        Check::KeyPresent(text("hash")),
        Check::StringEquals(text("string"), text("text")),
        Check::FieldEquals(text("hash"), text("field"), text("value")),
        Check::FieldAbsent(text("hash"), text("other")),
        Check::FieldAtLeast(text("hash"), text("number"), -7),
        Check::FieldAtLeast(text("hash"), text("other"), 0),
        Check::FieldAtLeast(text("hash"), text("number"), i64::MIN),
        Check::MemberAbsent(text("set"), text("other")),
        Check::SortedMemberAbsent(text("sorted"), text("other")),
        Check::SortedMemberPresent(text("sorted"), text("member")),
    ] {
        assert_eq!(outcome(&subject, check.clone()).await, "passed", "{check:?}");
    }
}

pub(super) async fn every_check_that_does_not_hold(subject: Subject) {
    subject.write_one_of_each().await;
    subject.write(|batch| batch.set_field("hash", "number", "-7")).await;
    let text = |text: &str| text.to_owned();
    for check in [
        Check::KeyAbsent(text("set")),
        Check::KeyPresent(text("absent")),
        Check::StringEquals(text("string"), text("other")),
        Check::StringEquals(text("string"), text("")),
        Check::FieldEquals(text("hash"), text("field"), text("other")),
        Check::FieldEquals(text("hash"), text("other"), text("")),
        Check::FieldAbsent(text("hash"), text("field")),
        Check::FieldAtLeast(text("hash"), text("number"), -6),
        Check::FieldAtLeast(text("hash"), text("other"), 1),
        Check::FieldAtLeast(text("hash"), text("number"), i64::MAX),
        Check::MemberAbsent(text("set"), text("member")),
        Check::SortedMemberAbsent(text("sorted"), text("member")),
        Check::SortedMemberPresent(text("sorted"), text("other")),
    ] {
        assert_eq!(outcome(&subject, check.clone()).await, "rejected 0", "{check:?}");
    }
    assert_eq!(subject.ask(read::string("witness")).await, None);
}

pub(super) async fn every_check_refuses_other_types(subject: Subject) {
    subject.write_one_of_each().await;
    let takes = ["any", "any", "string", "hash", "hash", "hash", "hash", "set", "sorted", "sorted"];
    for key in ["string", "hash", "set", "sorted"] {
        for (check, takes) in one_of_each(key).into_iter().zip(takes) {
            if takes != "any" && takes != key {
                assert_eq!(outcome(&subject, check.clone()).await, format!("wrong type {key}"), "{check:?}");
            }
        }
    }
    assert_eq!(subject.ask(read::string("witness")).await, None);
}

pub(super) async fn presence_is_checked_for_every_type(subject: Subject) {
    subject.write_one_of_each().await;
    for key in ["string", "hash", "set", "sorted"] {
        assert_eq!(outcome(&subject, Check::KeyPresent(key.to_owned())).await, "passed");
        assert_eq!(outcome(&subject, Check::KeyAbsent(key.to_owned())).await, "rejected 0");
    }
}

pub(super) async fn the_first_failing_check_is_named(subject: Subject) {
    subject.write_one_of_each().await;
    let refusal = subject.refusal(|batch| {
        batch.key_present("hash");
        batch.field_equals("hash", "field", "other");
        batch.string_equals("set", "wrong type, but later");
    });
    assert_eq!(refusal.await, "rejected 1");
    let refusal = subject.refusal(|batch| {
        batch.string_equals("set", "wrong type, and first");
        batch.key_absent("hash");
    });
    assert_eq!(refusal.await, "wrong type set");
}

pub(super) async fn checks_see_the_state_before_the_batch(subject: Subject) {
    let refusal = subject.refusal(|batch| {
        batch.set("new", "text");
        batch.key_absent("new");
        batch.key_absent("new");
    });
    assert_eq!(refusal.await, "passed");
}

pub(super) async fn a_number_is_checked_by_value(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("ten", "10"), ("limit", "1000000000000000")])).await;
    for (field, least, expected) in [
        ("ten", 9, "passed"),
        ("ten", 10, "passed"),
        ("ten", 11, "rejected 0"),
        ("limit", 1_000_000_000_000_000, "passed"),
        ("limit", 1_000_000_000_000_001, "rejected 0"),
    ] {
        let check = Check::FieldAtLeast("hash".to_owned(), field.to_owned(), least);
        assert_eq!(outcome(&subject, check).await, expected, "{field} {least}");
    }
}

pub(super) async fn a_number_check_refuses_what_is_no_number(subject: Subject) {
    for value in super::writes::NO_COUNTERS {
        subject.write(|batch| batch.set_field("hash", "field", value)).await;
        let check = Check::FieldAtLeast("hash".to_owned(), "field".to_owned(), i64::MIN);
        assert_eq!(outcome(&subject, check).await, "not an integer hash", "{value:?}");
    }
}
