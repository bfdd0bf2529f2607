//! What was read may be kept until it is written.

use super::Subject;
use crate::{Batch, Bound, Footprint, Order, Part, Query, Selection, Within};

impl Subject {
    /// Reads one key in the way that a closure adds to a query.
    async fn footprint(&self, read: impl FnOnce(&mut Query)) -> Footprint {
        let mut query = Query::new();
        read(&mut query);
        let (outcome, footprint) = self.store.footprint(self.store.query(query)).await;
        outcome.unwrap();
        footprint
    }

    /// Until what was written has been told by a server, which tells it again of
    /// who has written it.
    async fn settle(&self) {
        self.ask(|query| query.string("anything")).await;
    }
}

pub(super) async fn a_footprint_ends_with_every_kind_of_write_to_what_was_read(subject: Subject) {
    let bound = || Bound { keep: 9, floors: "floors".to_owned(), member: "sorted".to_owned() };
    let selection =
        || Selection { scores: "sorted".to_owned(), sets: vec!["set".to_owned()], within: Within::All };
    type Fill = Box<dyn Fn(&mut Batch)>;
    let writes: Vec<(&str, Fill)> = vec![
        ("string", Box::new(|batch| batch.set("string", "1"))),
        ("string", Box::new(|batch| batch.increment("string", 1))),
        ("string", Box::new(|batch| batch.delete("string"))),
        ("hash", Box::new(|batch| batch.set_field("hash", "field", "1"))),
        ("hash", Box::new(|batch| batch.increment_field("hash", "field", 1))),
        ("hash", Box::new(|batch| batch.delete_field("hash", "field"))),
        ("set", Box::new(|batch| batch.add_member("set", "member"))),
        ("set", Box::new(|batch| batch.remove_member("set", "other"))),
        ("sorted", Box::new(|batch| batch.sorted_add("sorted", "member", 1.0))),
        ("sorted", Box::new(move |batch| batch.sorted_add_bounded("sorted", "member", 2.0, bound()))),
        ("floors", Box::new(move |batch| batch.sorted_add_bounded("sorted", "member", 3.0, bound()))),
        ("sorted", Box::new(|batch| batch.sorted_raise("sorted", "member", 4.0))),
        ("sorted", Box::new(|batch| batch.sorted_add_if_present("sorted", "member", 5.0))),
        ("sorted", Box::new(|batch| batch.sorted_increment("sorted", "member", 1.0))),
        ("sorted", Box::new(|batch| batch.sorted_trim("sorted", 5))),
        ("selected", Box::new(move |batch| batch.sorted_store("selected", selection()))),
        ("sorted", Box::new(|batch| batch.sorted_remove("sorted", "member"))),
        ("set", Box::new(|batch| batch.expire("set", std::time::Duration::from_secs(60)))),
    ];
    for (number, (key, fill)) in writes.into_iter().enumerate() {
        subject.settle().await;
        let read = subject.footprint(|query| _ = query.expiry(key)).await;
        let unread = subject.footprint(|query| _ = query.expiry("unread")).await;
        assert!(subject.store.stands(&read), "write {number} to {key}");
        subject.write(fill).await;
        assert!(!subject.store.stands(&read), "write {number} to {key}");
        assert!(subject.store.stands(&unread), "write {number} to {key}");
    }
}

pub(super) async fn a_footprint_of_fields_ends_when_one_of_them_is_written_or_all(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("one", "1"), ("two", "2"), ("three", "3")])).await;
    let fields = ["one", "two"];
    let look = async || {
        let read = subject.footprint(|query| _ = query.hash_fields("hash", fields)).await;
        let whole = subject.footprint(|query| _ = query.hash("hash")).await;
        let parts = [Part::Fields("hash", &fields), Part::FieldOfAll { key: "hash", field: "one" }];
        (read, whole, parts.map(|part| subject.store.footprint_of([part])))
    };
    type Fill = Box<dyn Fn(&mut Batch)>;
    let writes: Vec<(bool, Fill)> = vec![
        (false, Box::new(|batch| batch.set_field("hash", "three", "4"))),
        (false, Box::new(|batch| batch.increment_field("hash", "other", 1))),
        (false, Box::new(|batch| batch.delete_field("hash", "three"))),
        (true, Box::new(|batch| batch.set_fields("hash", [("other", "1"), ("two", "3")]))),
        (true, Box::new(|batch| batch.increment_field("hash", "one", 1))),
        (true, Box::new(|batch| batch.delete_field("hash", "two"))),
        (true, Box::new(|batch| batch.expire("hash", std::time::Duration::from_secs(60)))),
        (true, Box::new(|batch| batch.delete("hash"))),
        (true, Box::new(|batch| batch.set("hash", "no hash any more"))),
    ];
    for (number, (ends, fill)) in writes.into_iter().enumerate() {
        subject.settle().await;
        let (read, whole, [noted, of_all]) = look().await;
        subject.write(fill).await;
        assert!(!subject.store.stands(&whole), "write {number}");
        for (footprint, ends) in [(read, ends), (noted, ends), (of_all, ends && number != 3 && number != 5)] {
            assert!(!ends || !subject.store.stands(&footprint), "write {number}");
            // A server that others write to tells which key, and not which field.
            assert!(ends || subject.store.is_shared() || subject.store.stands(&footprint), "write {number}");
        }
    }
    let of_all = || subject.store.footprint_of([Part::FieldOfAll { key: "of:all:1", field: "field" }]);
    for (key, field, ends) in [
        ("of:all:2", "field", true),
        ("of:all:1", "field", true),
        ("of:all:2", "other", false),
        ("of:others:1", "field", false),
        ("of:all", "field", false),
    ] {
        subject.settle().await;
        let read = of_all();
        subject.write(|batch| batch.set_field(key, field, "1")).await;
        assert!(!ends || !subject.store.stands(&read), "{key} {field}");
        assert!(ends || subject.store.is_shared() || subject.store.stands(&read), "{key} {field}");
    }
    let read = of_all();
    subject.write(|batch| batch.delete("of:all:2")).await;
    assert!(!subject.store.stands(&read));
}

pub(super) async fn footprints_can_be_joined(subject: Subject) {
    let of = |key| subject.store.footprint_of([Part::Key(key)]);
    let joined = of("left").and(of("right"));
    assert!(subject.store.stands(&joined));
    subject.write(|batch| batch.set("right", "1")).await;
    subject.settle().await;
    assert!(!subject.store.stands(&joined));
    // What was noted first counts, whichever side it is on.
    let early = of("left");
    subject.write(|batch| batch.set("left", "1")).await;
    subject.settle().await;
    assert!(!subject.store.stands(&of("left").and(early)));
    assert!(subject.store.stands(&of("left").and(of("left"))));
}

pub(super) async fn a_footprint_is_of_all_reads_of_the_work_and_of_what_it_uses(subject: Subject) {
    let read = async |key: &str| {
        let mut query = Query::new();
        let _ = query.sorted_range(key, Order::Ascending, 0, 1);
        subject.store.query(query).await.unwrap();
    };
    let work = async || {
        read("outer").await;
        let (_, inner) = subject.store.footprint(read("inner")).await;
        inner
    };
    let (inner, outer) = subject.store.footprint(work()).await;
    let (_, user) = subject.store.footprint(async { inner.note_again() }).await;
    subject.write(|batch| batch.sorted_add("outer", "member", 1.0)).await;
    assert!(!subject.store.stands(&outer));
    assert!(subject.store.stands(&inner) && subject.store.stands(&user));
    let (_, outer) = subject.store.footprint(work()).await;
    subject.write(|batch| batch.sorted_add("inner", "member", 1.0)).await;
    assert!(!subject.store.stands(&outer));
    assert!(!subject.store.stands(&inner) && !subject.store.stands(&user));
}

pub(super) async fn what_is_kept_is_never_older_than_an_acknowledged_write(subject: Subject) {
    // Writers raise counters; after each acknowledgement nothing that is kept
    // may tell of a lower count.
    let kept: std::sync::Mutex<Option<(Option<String>, Footprint)>> = std::sync::Mutex::default();
    let look = async || {
        let fresh = kept
            .lock()
            .unwrap()
            .as_ref()
            .and_then(|(value, footprint)| subject.store.stands(footprint).then(|| value.clone()));
        if let Some(value) = fresh {
            return value;
        }
        let read = subject.ask(|query| query.string("counter"));
        let (value, footprint) = subject.store.footprint(read).await;
        *kept.lock().unwrap() = Some((value.clone(), footprint));
        value
    };
    let write = async || {
        for _ in 0..100 {
            let written = subject.write(|batch| batch.increment("counter", 1)).await[0];
            let seen: i64 = look().await.unwrap().parse().unwrap();
            assert!(seen >= written, "{seen} after {written}");
        }
    };
    let watch = async || {
        for _ in 0..400 {
            look().await;
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(write(), write(), write(), watch(), watch());
    assert_eq!(look().await.unwrap(), "300");
}
