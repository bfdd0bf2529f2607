//! Backup files and power cuts: whenever it happens, there is no file of the name or a whole one.

use super::super::disk::{NewFile, partial_of};
use super::super::format::Record;
use super::super::writer::BackupWriter;
use super::{HEADER, read, records};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tidings_disk::simulated::{Content, Dice, Faults, SimulatedDisk};
use tidings_keyspace::Value;

const NAME: &str = "a.backup";

/// A key that does not compress, so that the file has many sectors.
fn noise() -> Record {
    let mut seed = 1_u64;
    let mut character = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((seed >> 40) % 90).unwrap())
    };
    let text = (0..20_000).map(|_| character()).collect();
    Record { expires_at_ms: 0, key: "noise".to_owned(), value: Value::String(text) }
}

/// The content of a disk before each of its changes while a backup is written, and at the end.
fn moments(faults: Faults) -> Vec<Content> {
    let disk = SimulatedDisk::default();
    disk.set_faults(faults);
    let seen: Arc<Mutex<Vec<Content>>> = Arc::default();
    let noted = seen.clone();
    disk.watch(Some(Box::new(move |content| noted.lock().unwrap().push(content.clone()))));
    let mut new = NewFile::create_in(Box::new(disk.clone()), Path::new(NAME)).unwrap();
    let mut writer = BackupWriter::create(&mut new, HEADER).unwrap();
    for record in records() {
        writer.add(&record).unwrap();
    }
    writer.add(&noise()).unwrap();
    writer.finish().unwrap();
    new.finish().unwrap();
    disk.watch(None);
    let mut moments = std::mem::take(&mut *seen.lock().unwrap());
    moments.push(disk.content());
    moments
}

#[test]
fn a_power_cut_leaves_no_file_or_a_whole_one() {
    let moments = moments(Faults::default());
    let last = moments.len() - 1;
    assert!(last > 6, "{last}");
    let (mut whole, mut absent) = (0, 0);
    for seed in 0..1_000_u64 {
        let moment = usize::try_from(seed).unwrap() % moments.len();
        let found = moments[moment].after_cut(&mut Dice::new(seed));
        match found.bytes(OsStr::new(NAME)) {
            Some(content) => {
                assert_eq!(read(content).unwrap().1.keys, 6, "cut {seed} at moment {moment}");
                whole += 1;
            }
            None => {
                assert!(moment < last, "cut {seed}: a backup that was reported as done is gone");
                absent += 1;
            }
        }
    }
    assert!(whole > 50 && absent > 50, "{whole} whole, {absent} absent");
}

#[test]
fn the_test_of_power_cuts_notices_a_disk_that_lies() {
    let ignored_flush = Some(partial_of(Path::new(NAME)).into());
    let moments = moments(Faults { ignored_flush, ..Faults::default() });
    let is_noticed = |seed: u64| {
        let found = moments[moments.len() - 1].after_cut(&mut Dice::new(seed));
        found.bytes(OsStr::new(NAME)).is_some_and(|content| read(content).is_err())
    };
    assert!((0..100).any(is_noticed));
}
