//! Read sets: a cached value is current until a key that was read for it is written.

use super::Subject;
use tidings_keyspace::{Batch, Bound, Fetch, Order, ReadSet, Reads, Selection, Tracked, Within, read};

impl Subject {
    /// The read set of what is fetched.
    async fn record<F: Fetch>(&self, what: F) -> ReadSet {
        let (outcome, reads) = self.store.record_reads(self.store.fetch(what)).await;
        assert!(outcome.is_ok());
        reads
    }

    /// A string with what was read for it.
    async fn tracked(&self, key: &str) -> Tracked<Option<String>> {
        self.store.fetch(read::string(key).tracked()).await.unwrap()
    }
}

pub(super) async fn a_read_set_ends_with_every_kind_of_write_to_what_was_read(subject: Subject) {
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
        ("sorted", Box::new(|batch| batch.sorted_append("sorted", "member"))),
        ("sorted", Box::new(|batch| batch.sorted_add_if_present("sorted", "member", 5.0))),
        ("sorted", Box::new(|batch| batch.sorted_increment("sorted", "member", 1.0))),
        ("sorted", Box::new(|batch| batch.sorted_trim("sorted", 5))),
        ("selected", Box::new(move |batch| batch.sorted_store("selected", selection()))),
        ("sorted", Box::new(|batch| batch.sorted_remove("sorted", "member"))),
        ("set", Box::new(|batch| batch.expire("set", std::time::Duration::from_secs(60)))),
    ];
    for (number, (key, fill)) in writes.into_iter().enumerate() {
        subject.settle().await;
        let read = subject.record(read::expiry(key)).await;
        let unread = subject.record(read::expiry("unread")).await;
        assert!(subject.store.is_unchanged(&read), "write {number} to {key}");
        subject.write(fill).await;
        assert!(!subject.store.is_unchanged(&read), "write {number} to {key}");
        assert!(subject.store.is_unchanged(&unread), "write {number} to {key}");
    }
}

pub(super) async fn a_read_set_of_fields_ends_when_one_of_them_is_written_or_all(subject: Subject) {
    subject.write(|batch| batch.set_fields("hash", [("one", "1"), ("two", "2"), ("three", "3")])).await;
    let fields = ["one", "two"];
    let look = async || {
        let read = subject.record(read::hash_fields("hash", fields)).await;
        let whole = subject.record(read::hash("hash")).await;
        let tracked = subject.store.fetch(read::hash_fields("hash", fields).tracked()).await;
        (read, whole, tracked.unwrap().into_parts().1)
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
        let (read, whole, tracked) = look().await;
        subject.write(fill).await;
        assert!(!subject.store.is_unchanged(&whole), "write {number}");
        for reads in [read, tracked] {
            assert!(!ends || !subject.store.is_unchanged(&reads), "write {number}");
            // A Redis server reports the key and not the field.
            assert!(
                ends || subject.store.is_shared() || subject.store.is_unchanged(&reads),
                "write {number}"
            );
        }
    }
}

pub(super) async fn a_write_to_one_hash_does_not_end_what_was_read_of_another(subject: Subject) {
    let read = subject.record(read::hash_fields("hash:1", ["name"])).await;
    let whole = subject.record(read::hash("hash:1")).await;
    subject.write(|batch| batch.set_field("hash:2", "name", "1")).await;
    subject.write(|batch| batch.delete("hash:2")).await;
    subject.settle().await;
    assert!(subject.store.is_unchanged(&read) && subject.store.is_unchanged(&whole));
    subject.write(|batch| batch.set_field("hash:1", "name", "1")).await;
    assert!(!subject.store.is_unchanged(&read) && !subject.store.is_unchanged(&whole));
}

pub(super) async fn tracked_values_bring_their_reads_along(subject: Subject) {
    let joined = async || {
        let mut reads = Reads::default();
        let left = subject.tracked("left").await.collect_into(&mut reads);
        let right = subject.tracked("right").await.map(|right| right.unwrap_or_default());
        let right = right.collect_into(&mut reads);
        Tracked::new((left, right), reads).into_parts().1
    };
    for key in ["left", "right", "other"] {
        let reads = joined().await;
        assert!(subject.store.is_unchanged(&reads));
        subject.write(|batch| batch.set(key, "1")).await;
        assert_eq!(subject.store.is_unchanged(&reads), key == "other", "{key}");
        subject.settle().await;
    }
    // If a key was read twice, the earlier read counts, whichever was collected first.
    for early_first in [true, false] {
        let early = subject.tracked("left").await;
        subject.write(|batch| batch.set("left", "1")).await;
        subject.settle().await;
        let late = subject.tracked("left").await;
        let both = if early_first { [early, late] } else { [late, early] };
        let mut reads = Reads::default();
        let _ = both.map(|value| value.collect_into(&mut reads));
        assert!(!subject.store.is_unchanged(&reads.into()), "{early_first}");
    }
}

pub(super) async fn a_read_that_is_kept_apart_is_not_recorded(subject: Subject) {
    let reads = subject.record((read::string("apart").apart(), read::string("recorded"))).await;
    subject.write(|batch| batch.set("apart", "1")).await;
    subject.settle().await;
    assert!(subject.store.is_unchanged(&reads));
    subject.write(|batch| batch.set("recorded", "1")).await;
    assert!(!subject.store.is_unchanged(&reads));
}

pub(super) async fn a_recording_is_of_all_reads_of_the_work_and_of_what_it_uses(subject: Subject) {
    let read = async |key: &str| {
        subject.ask(read::sorted_range(key, Order::Ascending, 0, 1)).await;
    };
    let work = async || {
        read("outer").await;
        let (_, inner) = subject.store.record_reads(read("inner")).await;
        inner
    };
    let (inner, outer) = subject.store.record_reads(work()).await;
    let (_, user) = subject.store.record_reads(async { inner.note_use() }).await;
    subject.write(|batch| batch.sorted_add("outer", "member", 1.0)).await;
    assert!(!subject.store.is_unchanged(&outer));
    assert!(subject.store.is_unchanged(&inner) && subject.store.is_unchanged(&user));
    let (_, outer) = subject.store.record_reads(work()).await;
    subject.write(|batch| batch.sorted_add("inner", "member", 1.0)).await;
    assert!(!subject.store.is_unchanged(&outer));
    assert!(!subject.store.is_unchanged(&inner) && !subject.store.is_unchanged(&user));
}

pub(super) async fn a_cached_value_is_never_older_than_an_acknowledged_write(subject: Subject) {
    // Once an increment is acknowledged, no cached value may be lower.
    let cached: std::sync::Mutex<Option<(Option<String>, ReadSet)>> = std::sync::Mutex::default();
    let look = async || {
        let fresh = cached
            .lock()
            .unwrap()
            .as_ref()
            .and_then(|(value, reads)| subject.store.is_unchanged(reads).then(|| value.clone()));
        if let Some(value) = fresh {
            return value;
        }
        let read = subject.ask(read::string("counter"));
        let (value, reads) = subject.store.record_reads(read).await;
        *cached.lock().unwrap() = Some((value.clone(), reads));
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

pub(super) async fn the_names_of_written_keys_are_told_to_those_who_want_them(subject: Subject) {
    if !subject.store.tracks_writes() {
        return;
    }
    let watched = subject.store.watch_keys(|key| key.starts_with("wanted"));
    subject.write(|batch| batch.set("wanted:1", "1")).await;
    subject.write(|batch| batch.set_field("wanted:2", "field", "1")).await;
    subject.write(|batch| batch.sorted_add("wanted:2:not", "member", 1.0)).await;
    subject.write(|batch| batch.set("other", "1")).await;
    subject.write(|batch| batch.delete("wanted:1")).await;
    subject.settle().await;
    let (keys, has_gap) = watched.take();
    let mut keys: Vec<String> = keys.into_iter().collect();
    keys.sort();
    assert_eq!(
        (keys, has_gap),
        (["wanted:1", "wanted:2", "wanted:2:not"].map(str::to_owned).to_vec(), false)
    );
    subject.settle().await;
    assert!(watched.take().0.is_empty());
}
