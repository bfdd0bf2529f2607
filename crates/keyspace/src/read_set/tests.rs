//! Tests of the events that end read sets, without an engine.

use super::*;
use crate::batch::Write;
use crate::fetch::{self, Fetch};
use crate::limits::{MAX_KNOWN_FIELDS, MAX_KNOWN_KEYS};
use crate::query::Answer;

fn batch(keys: impl IntoIterator<Item = String>) -> Batch {
    let mut batch = Batch::new();
    keys.into_iter().for_each(|key| batch.write(Write::Increment(key, 1)));
    batch
}

fn read(versions: &Versions, key: &str) -> ReadSet {
    let mut query = Query::new();
    let _ = query.ask(fetch::read::string(key).tracked());
    let mut reads = Reads::default();
    versions.note_query(&query).into_iter().for_each(|noted| reads.append(noted));
    reads.into()
}

fn write(versions: &Versions, key: &str) {
    versions.note_written(&batch([key.to_owned()]));
}

/// A key that shares its place with another.
fn neighbour(versions: &Versions, key: &str) -> String {
    let place = |key: &str| versions.hasher.hash_one(VersionedItem::Key(key)) % VERSION_PLACES;
    let (wanted, mut keys) = (place(key), (0..).map(|number| format!("other:{number}")));
    keys.find(|key| place(key) == wanted).unwrap_or_default()
}

#[test]
fn a_write_to_a_key_with_the_same_place_changes_nothing() {
    let versions = Versions::default();
    let reads = read(&versions, "key");
    write(&versions, &neighbour(&versions, "key"));
    assert!(reads.is_unchanged(&versions));
    write(&versions, "key");
    assert!(!reads.is_unchanged(&versions));
}

#[test]
fn what_is_not_known_any_more_counts_as_written() {
    let versions = Versions::default();
    let neighbour = neighbour(&versions, "key");
    let others = |from: usize, count: usize| batch((from..from + count).map(|n| format!("filler:{n}")));
    // Used now and then, it lives on, however much is written.
    let (used, unused) = (read(&versions, "key"), read(&versions, "key"));
    for round in 0..4 {
        write(&versions, &neighbour);
        assert!(used.is_unchanged(&versions), "{round}");
        versions.note_written(&others(round * MAX_LATEST_WRITES, MAX_LATEST_WRITES - 1));
    }
    assert!(used.is_unchanged(&versions));
    // The record of the writes since it was read has been dropped.
    assert!(!unused.is_unchanged(&versions));
    // A written key is never taken for unchanged, whether the write is known or dropped.
    for count in [0, MAX_LATEST_WRITES - 2, 2 * MAX_LATEST_WRITES + 2] {
        let reads = read(&versions, "key");
        write(&versions, "key");
        versions.note_written(&others(0, count));
        assert!(!reads.is_unchanged(&versions), "{count}");
    }
}

#[test]
fn a_batch_that_is_larger_than_what_is_kept_ends_what_it_writes() {
    let versions = Versions::default();
    let keys = || (0..2 * MAX_LATEST_WRITES + 10).map(|number| format!("key:{number}"));
    let reads: Vec<ReadSet> =
        [0, MAX_LATEST_WRITES, 2 * MAX_LATEST_WRITES].map(|n| read(&versions, &format!("key:{n}"))).into();
    versions.note_written(&batch(keys()));
    assert!(reads.iter().all(|reads| !reads.is_unchanged(&versions)));
    let fresh = read(&versions, "key:0");
    assert!(fresh.is_unchanged(&versions));
    versions.note_all_written();
    assert!(!fresh.is_unchanged(&versions));
    assert!(read(&versions, "key:0").is_unchanged(&versions));
}

/// A query of the name of a user that is under way: its read set, and what notes its answer.
struct NameRead(Query, ReadSet);

impl NameRead {
    fn begin(versions: &Versions, field: &str) -> Self {
        let mut query = Query::new();
        let _ = query.ask(fetch::read::hash_fields("user:1", [field]).tracked());
        let mut reads = Reads::default();
        versions.note_query(&query).into_iter().for_each(|noted| reads.append(noted));
        Self(query, reads.into())
    }

    fn end(self, versions: &Versions, value: &str) -> ReadSet {
        versions.note_values(&self.0, &[Ok(Answer::Texts(vec![Some(value.to_owned())]))]);
        self.1
    }

    fn whole(versions: &Versions, field: &str, value: &str) -> ReadSet {
        Self::begin(versions, field).end(versions, value)
    }
}

/// Ends all doubts, as if this value had been read again in each field.
fn settle(versions: &Versions, found: &str) {
    for (doubt, fields) in versions.doubts(usize::MAX) {
        let values: Vec<_> = fields.iter().map(|_| Some(found.to_owned())).collect();
        versions.settle(&doubt, &fields, Some(&values));
    }
    assert!(!versions.has_doubts());
}

#[test]
fn a_reported_hash_is_in_doubt_until_its_fields_are_read_again() {
    let versions = Versions::with_reports();
    let name = NameRead::whole(&versions, "name", "ann");
    for (found, is_unchanged) in [("ann", true), ("eve", false)] {
        versions.note_reported_key("user:1");
        assert!(!name.is_unchanged(&versions), "{found}");
        // Fields that are read from now on are not in doubt.
        let later = NameRead::whole(&versions, &format!("field:{found}"), found);
        write(&versions, "other");
        assert!(later.is_unchanged(&versions), "{found}");
        settle(&versions, found);
        assert_eq!(name.is_unchanged(&versions), is_unchanged, "{found}");
    }
    // The value that was found is known from now on.
    let name = NameRead::whole(&versions, "name", "eve");
    versions.note_reported_key("user:1");
    settle(&versions, "eve");
    assert!(name.is_unchanged(&versions));
    // A key of which no field was read is in nobody's doubt.
    versions.note_reported_key("user:2");
    assert!(!versions.has_doubts());
}

#[test]
fn a_value_from_before_a_report_is_never_taken_for_a_current_one() {
    let versions = Versions::with_reports();
    // The first reader of a field has not noted its value when the doubt ends.
    let slow = NameRead::begin(&versions, "name");
    versions.note_reported_key("user:1");
    settle(&versions, "eve");
    assert!(!slow.end(&versions, "ann").is_unchanged(&versions));
    // "ann" is written and "eve" again before a slow reader of "ann" has noted it.
    let first = NameRead::whole(&versions, "name", "eve");
    let slow = NameRead::begin(&versions, "name");
    versions.note_reported_key("user:1");
    settle(&versions, "eve");
    let current = NameRead::whole(&versions, "name", "eve");
    let slow = slow.end(&versions, "ann");
    assert!(!slow.is_unchanged(&versions) && !first.is_unchanged(&versions));
    // One too many, because it cannot be told from a reader of another value.
    assert!(!current.is_unchanged(&versions));
    // The next reader finds that again, and from then on it holds.
    assert!(!NameRead::whole(&versions, "name", "eve").is_unchanged(&versions));
    // Reported again while it is read again: it stays in doubt.
    let name = NameRead::whole(&versions, "name", "eve");
    versions.note_reported_key("user:1");
    let doubts = versions.doubts(usize::MAX);
    versions.note_reported_key("user:1");
    for (doubt, fields) in doubts {
        versions.settle(&doubt, &fields, Some(&[Some("eve".to_owned())]));
    }
    assert!(versions.has_doubts() && !name.is_unchanged(&versions));
    settle(&versions, "eve");
    assert!(name.is_unchanged(&versions));
    // It cannot be read again.
    versions.note_reported_key("user:1");
    for (doubt, fields) in versions.doubts(usize::MAX) {
        versions.settle(&doubt, &fields, None);
    }
    assert!(!versions.has_doubts() && !name.is_unchanged(&versions));
}

#[test]
fn a_report_of_an_own_write_ends_nothing_that_the_write_did_not() {
    let versions = Versions::with_reports();
    let (name, points) =
        (NameRead::whole(&versions, "name", "ann"), NameRead::whole(&versions, "points", "1"));
    let mut batch = Batch::new();
    batch.set_field("user:1", "points", "2");
    versions.note_written(&batch);
    assert!(name.is_unchanged(&versions) && !points.is_unchanged(&versions));
    let points = NameRead::whole(&versions, "points", "2");
    versions.note_reported_key("user:1");
    for (doubt, fields) in versions.doubts(usize::MAX) {
        assert_eq!(fields, ["name", "points"]);
        let values = ["ann", "2"].map(|value| Some(value.to_owned()));
        versions.settle(&doubt, &fields, Some(&values));
    }
    assert!(name.is_unchanged(&versions) && points.is_unchanged(&versions));
    let mut batch = Batch::new();
    batch.delete("user:1");
    versions.note_written(&batch);
    assert!(!name.is_unchanged(&versions) && !points.is_unchanged(&versions));
}

#[test]
fn fields_that_are_not_remembered_any_more_count_as_written() {
    let versions = Versions::with_reports();
    let name = NameRead::whole(&versions, "name", "ann");
    for number in 0..=MAX_KNOWN_FIELDS {
        NameRead::whole(&versions, &format!("field:{number}"), "");
    }
    assert!(!name.is_unchanged(&versions));
    let name = NameRead::whole(&versions, "name", "ann");
    let expect = |number: usize| {
        let mut query = Query::new();
        let _ = query.ask(fetch::read::hash_fields(format!("filler:{number}"), ["name"]).tracked());
        versions.note_query(&query);
    };
    (0..MAX_KNOWN_KEYS).for_each(expect);
    assert!(name.is_unchanged(&versions));
    (MAX_KNOWN_KEYS..2 * MAX_KNOWN_KEYS).for_each(expect);
    assert!(!name.is_unchanged(&versions));
}
