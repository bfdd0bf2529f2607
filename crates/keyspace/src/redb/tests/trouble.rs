//! Disks that take no writes: reads go on, nothing that is acknowledged depends on what was not
//! flushed, and the store comes back by itself if that is safe.

use super::power::{Backend, JOURNAL, STORE, opener};
use super::rig::Rig;
use super::*;
use crate::redb::store_file::StoreFile;
use proptest::prelude::*;
use redb::StorageBackend;
use std::ffi::OsStr;
use tidings_disk::Folder;
use tidings_disk::simulated::{Dice, Faults, SimulatedDisk};

fn full() -> Faults {
    Faults { full: true, ..Faults::default() }
}

fn read_only(cause: &str) -> StoreHealth {
    StoreHealth::ReadOnly(cause.to_owned())
}

/// A disk as a crash leaves it.
fn crashed(disk: &SimulatedDisk) -> SimulatedDisk {
    SimulatedDisk::of(disk.content().after_cut(&mut Dice::new(3)))
}

fn counter(rig: &Rig) -> Option<String> {
    string(&rig.redb, "counter").unwrap()
}

#[test]
fn a_flush_of_the_store_file_that_fails_leaves_everything_in_the_journal() {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    rig.commit([increment("counter")]).remove(0).unwrap();
    disk.set_faults(Faults { failing_flush: Some(STORE.into()), ..Faults::default() });
    rig.writer.tidy();
    disk.set_faults(Faults::default());
    for _ in 0..3 {
        assert!(is_read_only(rig.commit([increment("counter")]).remove(0)));
        rig.writer.tidy();
        assert_eq!(counter(&rig).as_deref(), Some("1"));
    }
    assert!(
        matches!(rig.redb.health(), StoreHealth::ReadOnly(cause) if cause.contains("a restart is needed"))
    );
    // Closing it does not pretend that the file has everything.
    rig.writer.close();
    assert!(disk.content().bytes(OsStr::new(JOURNAL)).is_some());
    for disk in [crashed(&disk), disk] {
        let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
        assert_eq!(counter(&rig).as_deref(), Some("1"));
        assert_eq!(rig.commit([increment("counter")]).remove(0).unwrap(), [2]);
    }
}

#[test]
fn a_checkpoint_that_finds_no_room_is_made_later() {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    rig.commit([increment("counter"), setting("key", &"v".repeat(3_000))]);
    disk.set_faults(full());
    rig.writer.tidy();
    assert_eq!(rig.redb.health(), read_only("the disk is full"));
    assert!(is_read_only(rig.commit([increment("counter")]).remove(0)));
    assert_eq!(string(&rig.redb, "key").unwrap().unwrap().len(), 3_000);
    // A crash now loses nothing, and the store opens on the full disk.
    let other = crashed(&disk);
    other.set_faults(full());
    let mut opened = Rig::open(opener(&other), &clock()).unwrap();
    assert_eq!(opened.redb.health(), read_only("the disk is full"));
    assert_eq!(counter(&opened).as_deref(), Some("1"));
    assert!(is_read_only(opened.commit([increment("counter")]).remove(0)));
    for (disk, rig) in [(disk, &mut rig), (other, &mut opened)] {
        disk.set_faults(Faults::default());
        rig.writer.tidy();
        assert_eq!(rig.redb.health(), StoreHealth::Works);
        assert_eq!(rig.commit([increment("counter")]).remove(0).unwrap(), [2]);
        assert_eq!(counter(&Rig::open(opener(&crashed(&disk)), &clock()).unwrap()).as_deref(), Some("2"));
    }
}

#[test]
fn a_store_that_was_closed_opens_without_room_for_its_journal() {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    rig.commit([increment("counter")]);
    rig.close();
    disk.set_faults(full());
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    assert_eq!(rig.redb.health(), read_only("the disk is full"));
    assert_eq!(counter(&rig).as_deref(), Some("1"));
    assert!(is_read_only(rig.commit([increment("counter")]).remove(0)));
    rig.writer.tidy();
    disk.set_faults(Faults::default());
    rig.writer.tidy();
    assert_eq!(rig.redb.health(), StoreHealth::Works);
    rig.commit([increment("counter")]).remove(0).unwrap();
    assert_eq!(counter(&Rig::open(opener(&crashed(&disk)), &clock()).unwrap()).as_deref(), Some("2"));
}

#[test]
fn what_is_too_long_for_the_journal_and_finds_no_room_is_not_read() {
    let disk = SimulatedDisk::default();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    rig.commit([setting("key", "before")]).remove(0).unwrap();
    disk.set_faults(full());
    // Nobody can tell whether it has happened, until the store is open again.
    assert!(is_unavailable(rig.commit([setting("key", &"v".repeat(100_000))]).remove(0)));
    assert_eq!(string(&rig.redb, "key").unwrap().as_deref(), Some("before"));
    assert_eq!(rig.redb.health(), read_only("the disk is full"));
    disk.set_faults(Faults::default());
    rig.writer.tidy();
    rig.commit([setting("key", &"w".repeat(100_000))]).remove(0).unwrap();
    assert_eq!(string(&rig.redb, "key").unwrap().unwrap().len(), 100_000);
}

#[tokio::test]
async fn a_store_that_is_missing_is_created_on_request_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.redb");
    let url = format!("redb:{}", path.display());
    let existing = StoreOptions { create: false, ..options() };
    let refused = Store::open(&url, &existing).await.err().unwrap();
    assert!(matches!(&refused, OpenError::Missing(missing) if *missing == path.display().to_string()));
    assert!(!path.exists());
    drop(Store::open(&url, &options()).await.unwrap());
    Store::open(&url, &existing).await.unwrap();
}

/// An empty file of a simulated disk. Its writes behind the end lengthen it.
fn file_on(disk: &SimulatedDisk) -> Backend {
    Backend(disk.create(OsStr::new(STORE)).unwrap())
}

#[derive(Debug, Clone)]
enum Operation {
    Write(u64, u8, u64),
    SetLength(u64),
    Flush,
    Full(bool),
    CatchUp,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..40_u64, any::<u8>(), 1..12_u64).prop_map(|(at, byte, length)| Operation::Write(at, byte, length)),
        1 => (30..60_u64).prop_map(Operation::SetLength),
        2 => Just(Operation::Flush),
        2 => any::<bool>().prop_map(Operation::Full),
        1 => Just(Operation::CatchUp),
    ]
}

proptest! {
    #[test]
    fn a_file_that_lags_reads_as_if_it_did_not(operations in prop::collection::vec(operation(), 1..40)) {
        let disk = SimulatedDisk::default();
        let file = StoreFile::new(Box::new(file_on(&disk)));
        let plain = file_on(&SimulatedDisk::default());
        file.set_len(60).unwrap();
        plain.set_len(60).unwrap();
        for operation in operations {
            match operation {
                Operation::Write(at, byte, length) => {
                    let data = vec![byte; usize::try_from(length).unwrap()];
                    if at + length <= plain.len().unwrap() {
                        file.write(at, &data).unwrap();
                        plain.write(at, &data).unwrap();
                    }
                }
                Operation::SetLength(length) => {
                    file.set_len(length).unwrap();
                    plain.set_len(length).unwrap();
                }
                Operation::Flush => file.sync_data().unwrap(),
                Operation::Full(full) => disk.set_faults(Faults { full, ..Faults::default() }),
                Operation::CatchUp => {
                    let caught_up = file.catch_up();
                    prop_assert_eq!(caught_up, file.trouble().is_none());
                }
            }
            let length = plain.len().unwrap();
            prop_assert_eq!(file.len().unwrap(), length);
            for (offset, size) in [(0, length), (7, 9), (length - 5, 5)] {
                let mut found = vec![0; usize::try_from(size).unwrap()];
                let mut expected = found.clone();
                file.read(offset, &mut found).unwrap();
                plain.read(offset, &mut expected).unwrap();
                prop_assert_eq!(found, expected);
            }
        }
        disk.set_faults(Faults::default());
        prop_assert!(file.catch_up());
        let mut expected = vec![0; usize::try_from(plain.len().unwrap()).unwrap()];
        plain.read(0, &mut expected).unwrap();
        let content = disk.content();
        prop_assert_eq!(content.bytes(OsStr::new(STORE)), Some(expected.as_slice()));
    }
}
