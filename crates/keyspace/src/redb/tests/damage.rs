//! Damaged rows and pages: what is in them cannot be read, and everything else works.

use super::power::{STORE, opener};
use super::rig::Rig;
use super::*;
use redb::{ReadableDatabase, ReadableTable};
use std::ffi::OsStr;
use std::ops::Range;
use tidings_disk::Folder;
use tidings_disk::simulated::{Dice, Faults, SimulatedDisk};

/// So many that the page of an early key is not in the cache once all have been read.
const KEYS: usize = 2000;

pub(super) fn key(number: usize) -> String {
    format!("key{number:04}")
}

/// A closed store with keys on many pages, and where the page of a key is in its file.
pub(super) fn closed() -> (SimulatedDisk, Range<u64>) {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let mut batch = Batch::new();
    for number in 0..KEYS {
        batch.set(key(number), format!("value {number} {}", "v".repeat(500)));
    }
    rig.commit([batch]).remove(0).unwrap();
    rig.close();
    let content = disk.content();
    let bytes = content.bytes(OsStr::new(STORE)).unwrap();
    let needle = format!("value 200 {}", "v".repeat(500));
    let found: Vec<_> = bytes
        .chunks(4096)
        .enumerate()
        .filter(|(_, page)| page.windows(needle.len()).any(|window| window == needle.as_bytes()))
        .map(|(page, _)| u64::try_from(page).unwrap() * 4096)
        .collect();
    let start = *found.last().unwrap();
    (SimulatedDisk::of(content.after_cut(&mut Dice::new(1))), start..start + 4096)
}

/// Changes one letter in the value of key 200, whose page this is.
pub(super) fn change_a_letter(disk: &SimulatedDisk, page: &Range<u64>) {
    let file = disk.content().bytes(OsStr::new(STORE)).unwrap().to_vec();
    let start = usize::try_from(page.start).unwrap();
    let text = file[start..].windows(9).position(|window| window == b"value 200").unwrap();
    let place = page.start + u64::try_from(text).unwrap() + 20;
    disk.open(OsStr::new(STORE)).unwrap().write_at(place, b"w").unwrap();
}

/// Whether a read fails because of the key that is damaged.
fn is_damaged<T>(outcome: &Result<T, KeyspaceError>) -> bool {
    matches!(outcome, Err(KeyspaceError::Damaged(damaged)) if *damaged == key(200))
}

/// Whether a batch is refused because of the key that is damaged.
fn names_damage(outcome: &Result<Vec<i64>, CommitError>) -> bool {
    matches!(outcome, Err(CommitError::Keyspace(KeyspaceError::Damaged(damaged))) if *damaged == key(200))
}

/// Reads a key that is damaged together with one that is not, and writes both.
fn assert_only_the_page_is_lost(rig: &mut Rig, what: &str) {
    for _ in 0..3 {
        let answers = rig.redb.read_all(&[5, 200, 1990].map(|number| Read::String(key(number)))).unwrap();
        assert!(answers[0].is_ok() && answers[2].is_ok(), "{what}: {answers:?}");
        assert!(is_damaged(&answers[1]), "{what}: {:?}", answers[1]);
    }
    let group = [setting(&key(5), "new"), setting(&key(200), "new"), setting("other", "new")];
    let outcomes = rig.commit(group);
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{what}: {outcomes:?}");
    assert!(names_damage(&outcomes[1]), "{what}: {:?}", outcomes[1]);
    rig.writer.tidy();
    assert_eq!(rig.redb.health(), StoreHealth::Works, "{what}");
    assert_eq!(string(&rig.redb, &key(5)).unwrap().as_deref(), Some("new"), "{what}");
    assert_eq!(string(&rig.redb, "other").unwrap().as_deref(), Some("new"), "{what}");
}

#[test]
fn a_page_that_makes_no_sense_costs_only_its_keys() {
    let (disk, page) = closed();
    let mut dice = Dice::new(7);
    for kind in 0..8 {
        let disk = SimulatedDisk::of(disk.content());
        let bytes: Vec<u8> = match kind {
            0 => vec![0; 4096],
            1 => vec![u8::MAX; 4096],
            2 => b"text that was never a page".iter().copied().cycle().take(4096).collect(),
            _ => std::iter::repeat_with(|| u8::try_from(dice.below(256)).unwrap()).take(4096).collect(),
        };
        disk.open(OsStr::new(STORE)).unwrap().write_at(page.start, &bytes).unwrap();
        let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
        assert_only_the_page_is_lost(&mut rig, &format!("kind {kind}"));
    }
}

/// Reads the keys around one whose value has changed, which alone is refused.
fn assert_only_the_value_is_lost(rig: &mut Rig) {
    let damaged = string(&rig.redb, &key(200));
    assert!(is_damaged(&damaged), "{damaged:?}");
    for near in [198, 199, 201, 202] {
        assert!(string(&rig.redb, &key(near)).unwrap().is_some(), "{near}");
    }
    assert!(names_damage(&rig.commit([setting(&key(200), "new")]).remove(0)));
    assert!(names_damage(&rig.commit([increment(&key(200))]).remove(0)));
    assert_eq!(rig.redb.health(), StoreHealth::Works);
}

#[test]
fn a_changed_byte_of_a_text_is_refused_also_after_its_page_was_written_again() {
    let (disk, page) = closed();
    change_a_letter(&disk, &page);
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_only_the_value_is_lost(&mut rig);
    rig.commit([setting(&key(199), "new"), setting(&key(201), "new")]).remove(0).unwrap();
    rig.writer.tidy();
    assert_only_the_value_is_lost(&mut rig);
    rig.close();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_only_the_value_is_lost(&mut rig);
    assert_eq!(string(&rig.redb, &key(201)).unwrap().as_deref(), Some("new"));
    assert!(rig.redb.scan(None, usize::MAX).is_err(), "a whole read has it");
}

/// A file as an earlier version wrote it.
fn take_the_seals(disk: &SimulatedDisk) {
    let opened = opener(disk)().unwrap();
    let transaction = opened.database.begin_write().unwrap();
    for name in ["keys", "fields"] {
        let mut table = transaction.open_table(redb::TableDefinition::<&[u8], &[u8]>::new(name)).unwrap();
        let read = |row: (redb::AccessGuard<'_, &[u8]>, redb::AccessGuard<'_, &[u8]>)| {
            (row.0.value().to_vec(), seal::opened(row.0.value(), row.1.value()).unwrap().to_vec())
        };
        let rows: Vec<_> = table.iter().unwrap().map(|row| read(row.unwrap())).collect();
        for (key, row) in rows {
            table.insert(key.as_slice(), row.as_slice()).unwrap();
        }
    }
    {
        let mut meta = transaction.open_table(tables::META).unwrap();
        meta.insert(tables::META_LAYOUT, 3).unwrap();
        meta.remove(tables::META_SEALED).unwrap();
    }
    transaction.commit().unwrap();
}

/// The rows of a closed store that have no check value, and whether the store says that all have.
fn unsealed(disk: &SimulatedDisk) -> (usize, bool) {
    let opened = opener(disk)().unwrap();
    let transaction = opened.database.begin_read().unwrap();
    let tables = Tables::read(&transaction).unwrap();
    let count = |table: &tables::ReadTable| {
        table.iter().unwrap().filter(|row| !seal::is_sealed(row.as_ref().unwrap().1.value())).count()
    };
    let is_done = transaction.open_table(tables::META).unwrap().get(tables::META_SEALED).unwrap().is_some();
    (count(&tables.keys) + count(&tables.fields), is_done)
}

#[test]
fn the_values_of_an_earlier_version_get_check_values_without_a_change() {
    let (disk, _) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let mut batch = Batch::new();
    for number in 0..20 {
        batch.set_field("wide", number.to_string(), format!("{number} {}", "é".repeat(300)));
        batch.set_field("packed", number.to_string(), number.to_string());
        batch.add_member("set", number.to_string());
        batch.sorted_add("scores", number.to_string(), 1.0);
    }
    let selection =
        crate::Selection { scores: "scores".into(), sets: vec!["set".into()], within: crate::Within::Any };
    batch.sorted_store("selected", selection);
    rig.commit([batch]).remove(0).unwrap();
    let state = rig.state();
    rig.close();
    assert_eq!(unsealed(&disk), (1, true), "only the packed sorted set has none");
    take_the_seals(&disk);
    let (all, is_done) = unsealed(&disk);
    assert!(all > KEYS + 20 && !is_done, "{all}");

    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_eq!(rig.state(), state);
    rig.writer.tidy();
    assert_eq!(rig.state(), state);
    // A step is on the disk, and what is left goes on after a power cut.
    let disk = SimulatedDisk::of(disk.content().after_cut(&mut Dice::new(3)));
    let (some, is_done) = unsealed(&disk);
    assert!(1 < some && some < all && !is_done, "{some} of {all}");
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_eq!(rig.state(), state);
    for _ in 0..10 {
        rig.writer.tidy();
    }
    assert_eq!(rig.state(), state);
    let flushes = disk.flushes();
    rig.writer.tidy();
    assert_eq!(disk.flushes(), flushes, "it goes on and on");
    rig.close();
    assert_eq!(unsealed(&disk), (1, true));
}

#[test]
fn a_changed_field_of_a_large_hash_is_refused_also_after_another_was_written() {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let mut batch = Batch::new();
    batch.set_field("wide", "text", format!("marked {}", "t".repeat(2500)));
    batch.set_field("wide", "title", "Title");
    rig.commit([batch]).remove(0).unwrap();
    rig.close();
    let file = disk.content().bytes(OsStr::new(STORE)).unwrap().to_vec();
    let places = file.windows(7).enumerate().filter(|(_, window)| *window == b"marked ");
    for (place, _) in places {
        disk.open(OsStr::new(STORE)).unwrap().write_at(u64::try_from(place).unwrap() + 9, b"u").unwrap();
    }
    let wide = |rig: &Rig| rig.redb.read_all(&[Read::Hash("wide".to_owned())]).unwrap().remove(0);
    for title in ["New", "Newer"] {
        let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
        assert!(matches!(wide(&rig), Err(KeyspaceError::Damaged(_))), "{:?}", wide(&rig));
        rig.commit([Batch::of(|batch| batch.set_field("wide", "title", title))]).remove(0).unwrap();
        rig.writer.tidy();
        assert!(matches!(wide(&rig), Err(KeyspaceError::Damaged(_))), "{:?}", wide(&rig));
        let outcome =
            rig.commit([Batch::of(|batch| batch.field_equals("wide", "text", "anything"))]).remove(0);
        assert!(matches!(outcome, Err(CommitError::Keyspace(KeyspaceError::Damaged(_)))), "{outcome:?}");
        rig.writer.close();
    }
}

#[test]
fn removing_all_around_a_damaged_page_takes_nothing_else_down() {
    let (disk, page) = closed();
    disk.open(OsStr::new(STORE)).unwrap().write_at(page.start, &[u8::MAX; 4096]).unwrap();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    for number in (100..200).chain((201..300).rev()) {
        let mut batch = Batch::new();
        batch.delete(key(number));
        // Pages that are nearly empty are merged with those beside them.
        let outcome = rig.commit([batch]).remove(0);
        rig.writer.tidy();
        assert_eq!(rig.redb.health(), StoreHealth::Works, "{number}: {outcome:?}");
        assert!(string(&rig.redb, &key(5)).unwrap().is_some(), "{number}: {outcome:?}");
        rig.commit([setting("other", "new")]).remove(0).unwrap();
    }
    drop(rig.redb);
    let rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_eq!(string(&rig.redb, "other").unwrap().as_deref(), Some("new"));
}

#[test]
fn a_page_that_cannot_be_read_costs_only_its_keys() {
    let (disk, page) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    disk.set_faults(Faults { unreadable: Some((STORE.into(), page)), ..Faults::default() });
    assert_only_the_page_is_lost(&mut rig, "an unreadable page");
}

/// Changes rows of the table of keys behind the engine's back.
fn damage_rows(disk: &SimulatedDisk, rows: &[(&str, &[u8])]) {
    let opened = opener(disk)().unwrap();
    let table = redb::TableDefinition::<&[u8], &[u8]>::new("keys");
    let transaction = opened.database.begin_write().unwrap();
    for (key, row) in rows {
        transaction.open_table(table).unwrap().insert(key.as_bytes(), *row).unwrap();
    }
    transaction.commit().unwrap();
    assert!(opened.database.begin_read().is_ok());
}

#[test]
fn a_row_that_makes_no_sense_costs_only_its_key() {
    let (disk, _) = closed();
    for row in [&b""[..], b"s", b"?0000000000000001", &[b's'; 16], b"s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\xff"]
    {
        damage_rows(&disk, &[(&key(200), row)]);
        let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
        let answers = rig.redb.read_all(&[200, 201].map(|number| Read::String(key(number)))).unwrap();
        assert!(is_damaged(&answers[0]) && answers[1].is_ok(), "{answers:?}");
        let outcomes = rig.commit([increment("counter"), increment(&key(200)), increment("counter")]);
        assert!(outcomes[0].is_ok() && names_damage(&outcomes[1]) && outcomes[2].is_ok(), "{outcomes:?}");
        drop(rig);
    }
}

#[test]
fn a_damaged_row_does_not_keep_other_expired_keys() {
    let (disk, clock) = (SimulatedDisk::default(), clock());
    let mut rig = Rig::open(opener(&disk), &clock).unwrap();
    let mut batch = Batch::new();
    for key in ["a", "b", "c"] {
        batch.set_expiring(key, "text", Duration::from_millis(5));
    }
    rig.commit([batch]).remove(0).unwrap();
    rig.close();
    damage_rows(&disk, &[("a", b"?")]);
    clock.fetch_add(10, Ordering::SeqCst);
    let mut rig = Rig::open(opener(&disk), &clock).unwrap();
    assert!(!rig.writer.tidy());
    // Only the row that cannot be read is left.
    assert_eq!(rows(&rig.redb), 1);
    let flushes = disk.flushes();
    rig.writer.tidy();
    assert_eq!(disk.flushes(), flushes, "it is tried again and again");
}

#[test]
fn the_names_of_keys_go_on_after_damage_which_is_named() {
    let (disk, page) = closed();
    let rig = Rig::open(opener(&disk), &clock()).unwrap();
    disk.set_faults(Faults { unreadable: Some((STORE.into(), page)), ..Faults::default() });
    let (mut keys, mut damages, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = rig.redb.scan_keys(cursor, 100).unwrap();
        keys.extend(page.keys);
        damages.extend(page.damaged);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let [(before, after)] = &damages[..] else { panic!("{damages:?}") };
    assert!(*before < key(200) && key(200) < *after, "{damages:?}");
    let readable = |key: &String| key <= before || key >= after;
    assert_eq!(keys, (0..KEYS).map(key).filter(readable).collect::<Vec<_>>());
    assert!(keys.len() > KEYS - 20, "{damages:?}");
}
