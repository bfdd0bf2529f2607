//! Keys that expire.

use super::{SHORT, Subject};
use std::time::Duration;
use tidings_keyspace::{Expiry, Hash, Order, Value, read};

const LONG: Duration = Duration::from_secs(3600);

/// One key of each type that expires after [`SHORT`], and one of each type that does not.
async fn write_expiring(subject: &Subject) {
    subject
        .write(|batch| {
            batch.set_expiring("string", "5", SHORT);
            batch.set_field("hash", "field", "value");
            batch.set_field("wide", "field", "v".repeat(5000));
            batch.add_member("set", "member");
            batch.sorted_add("sorted", "member", 1.0);
            for key in ["hash", "wide", "set", "sorted"] {
                batch.expire(key, SHORT);
            }
            batch.set_expiring("witness", "stays", LONG);
        })
        .await;
}

async fn let_all_expire(subject: &Subject) {
    subject.let_expire("string").await;
    if subject.clock.is_none() {
        for key in ["hash", "wide", "set", "sorted"] {
            subject.let_expire(key).await;
        }
    }
}

fn assert_about(expiry: Expiry, expected: Duration) {
    let Expiry::In(left) = expiry else { panic!("{expiry:?}") };
    // A busy machine may take long between the write and the read.
    assert!(left <= expected && left + Duration::from_secs(30) > expected, "{left:?}");
}

pub(super) async fn time_to_live_is_told(subject: Subject) {
    subject
        .write(|batch| {
            batch.set_expiring("string", "text", LONG);
            batch.add_member("set", "member");
            batch.expire("set", Duration::from_millis(3_600_500));
            batch.set("forever", "text");
        })
        .await;
    assert_about(subject.ask(read::expiry("string")).await, LONG);
    assert_about(subject.ask(read::expiry("set")).await, LONG + Duration::from_millis(500));
    assert_eq!(subject.ask(read::expiry("forever")).await, Expiry::Never);
    assert_eq!(subject.ask(read::expiry("absent")).await, Expiry::Absent);
}

pub(super) async fn an_expired_key_is_absent_to_every_read_and_check(subject: Subject) {
    write_expiring(&subject).await;
    let_all_expire(&subject).await;
    let answers = subject.ask((read::string("string"), read::expiry("string"), read::hash("wide"))).await;
    assert_eq!(answers, (None, Expiry::Absent, Hash::default()));
    // This would be the wrong type if the key had not expired.
    assert_eq!(
        subject.ask([read::hash("string"), read::hash("hash")]).await,
        [Hash::default(), Hash::default()]
    );
    assert_eq!(subject.ask((read::field("wide", "field"), read::field_count("wide"))).await, (None, 0));
    let set = (read::members("set"), read::has_member("set", "member"), read::member_count("set"));
    assert_eq!(subject.ask(set).await, (Vec::new(), false, 0));
    assert_eq!(subject.ask((read::score("sorted", "member"), read::sorted_count("sorted"))).await, (None, 0));
    assert_eq!(subject.ask(read::sorted_range("sorted", Order::Ascending, 0, 9)).await, []);
    let refusal = subject.refusal(|batch| {
        for key in ["string", "hash", "wide", "set", "sorted"] {
            batch.key_absent(key);
        }
        batch.member_absent("string", "of another type, had it not expired");
        batch.field_absent("hash", "field");
        batch.member_absent("set", "member");
        batch.sorted_member_absent("sorted", "member");
        batch.string_equals("string", "5");
    });
    assert_eq!(refusal.await, "rejected 9");
    let keys: Vec<String> = subject.dump().await.into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, ["witness"]);
    assert_eq!(subject.store.count_keys().await.unwrap(), 1);
}

pub(super) async fn a_write_to_an_expired_key_starts_anew(subject: Subject) {
    write_expiring(&subject).await;
    let_all_expire(&subject).await;
    let counters = subject.write(|batch| {
        batch.increment("string", 1);
        batch.increment_field("hash", "number", 1);
        batch.set_field("wide", "other", "value");
        batch.add_member("set", "other");
        batch.sorted_add("sorted", "other", 2.0);
    });
    assert_eq!(counters.await, [1, 1]);
    assert_eq!(subject.ask(read::hash("hash")).await.get("field"), None);
    assert_eq!(subject.ask(read::hash("wide")).await.0.len(), 1);
    assert_eq!(subject.ask(read::members("set")).await, ["other"]);
    assert_eq!(subject.ask(read::sorted_count("sorted")).await, 1);
    assert_eq!(subject.ask(read::scores("sorted", ["member"])).await, [None]);
    for key in ["string", "hash", "wide", "set", "sorted"] {
        assert_eq!(subject.ask(read::expiry(key)).await, Expiry::Never, "{key}");
    }
}

pub(super) async fn an_expired_key_can_become_another_type(subject: Subject) {
    write_expiring(&subject).await;
    let_all_expire(&subject).await;
    subject
        .write(|batch| {
            batch.remove_member("hash", "of another type");
            batch.add_member("hash", "member");
            batch.set_field("set", "field", "value");
            batch.set("sorted", "text");
            batch.sorted_add("string", "member", 1.0);
        })
        .await;
    assert_eq!(subject.ask(read::members("hash")).await, ["member"]);
    assert_eq!(subject.ask(read::string("sorted")).await.as_deref(), Some("text"));
    assert_eq!(subject.ask(read::sorted_count("string")).await, 1);
}

pub(super) async fn expire_of_an_absent_key_does_nothing(subject: Subject) {
    subject
        .write(|batch| {
            batch.expire("absent", LONG);
            batch.expire("absent", Duration::ZERO);
        })
        .await;
    assert_eq!(subject.dump().await, []);
}

pub(super) async fn expire_zero_deletes(subject: Subject) {
    subject.write_one_of_each().await;
    subject
        .write(|batch| {
            for key in ["string", "hash", "set"] {
                batch.expire(key, Duration::ZERO);
            }
            // Less than a millisecond, which is the unit of the engines.
            batch.expire("sorted", Duration::from_micros(900));
        })
        .await;
    assert_eq!(subject.dump().await, []);
}

pub(super) async fn a_plain_set_stays_for_good(subject: Subject) {
    subject.write(|batch| batch.set_expiring("key", "old", SHORT)).await;
    subject.write(|batch| batch.set("key", "new")).await;
    assert_eq!(subject.ask(read::expiry("key")).await, Expiry::Never);
    // When a key that was written later has expired, the time has passed.
    subject.write(|batch| batch.set_expiring("neighbour", "x", SHORT)).await;
    subject.let_expire("neighbour").await;
    assert_eq!(subject.ask(read::string("key")).await.as_deref(), Some("new"));
}

pub(super) async fn other_writes_keep_the_time_to_live(subject: Subject) {
    subject
        .write(|batch| {
            batch.set_expiring("string", "5", LONG);
            batch.set_field("hash", "field", "value");
            batch.add_member("set", "member");
            batch.sorted_add("sorted", "member", 1.0);
            for key in ["hash", "set", "sorted"] {
                batch.expire(key, LONG);
            }
        })
        .await;
    subject
        .write(|batch| {
            batch.increment("string", 1);
            batch.set_field("hash", "wide", "v".repeat(5000));
            batch.increment_field("hash", "number", 1);
            batch.add_member("set", "other");
            batch.remove_member("set", "member");
            batch.sorted_add("sorted", "other", 2.0);
            batch.sorted_trim("sorted", 1);
        })
        .await;
    for key in ["string", "hash", "set", "sorted"] {
        assert_about(subject.ask(read::expiry(key)).await, LONG);
    }
}

pub(super) async fn expire_replaces_the_time_to_live(subject: Subject) {
    subject.write(|batch| batch.set_expiring("longer", "text", SHORT)).await;
    subject.write(|batch| batch.expire("longer", LONG)).await;
    subject.write(|batch| batch.set_expiring("shorter", "text", LONG)).await;
    subject.write(|batch| batch.expire("shorter", SHORT)).await;
    subject.let_expire("shorter").await;
    assert_eq!(subject.ask(read::string("longer")).await.as_deref(), Some("text"));
    let dump = subject.dump().await;
    assert_eq!(dump.len(), 1);
    assert_eq!(dump[0].value, Value::String("text".to_owned()));
    assert!(dump[0].time_to_live.is_some());
}

pub(super) async fn an_emptied_key_loses_its_time_to_live(subject: Subject) {
    subject
        .write(|batch| {
            batch.add_member("set", "member");
            batch.expire("set", LONG);
        })
        .await;
    subject.write(|batch| batch.remove_member("set", "member")).await;
    subject.write(|batch| batch.add_member("set", "member")).await;
    assert_eq!(subject.ask(read::expiry("set")).await, Expiry::Never);
    // And within one batch.
    subject
        .write(|batch| {
            batch.expire("set", LONG);
            batch.remove_member("set", "member");
            batch.add_member("set", "member");
        })
        .await;
    assert_eq!(subject.ask(read::expiry("set")).await, Expiry::Never);
}
