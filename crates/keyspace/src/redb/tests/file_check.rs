//! The check of the store file's checksums: damage that no reader notices is found, and what
//! happens to the file during a check is not mistaken for damage.

use super::damage::{change_a_letter, closed, key};
use super::power::{STORE, opener};
use super::rig::Rig;
use super::*;
use crate::file_check::{FileCheckStep, FileState};
use crate::redb::file_check::{PinnedFile, Unpinned, check};
use std::ffi::OsStr;
use tidings_disk::simulated::{Dice, SimulatedDisk};

/// The result of a check of a pinned file.
fn state_of(pinned: PinnedFile) -> FileState {
    let (sender, mut steps) = tokio::sync::mpsc::channel(4);
    let checker = std::thread::spawn(move || check(pinned, &sender));
    let state = loop {
        match steps.blocking_recv().unwrap().unwrap() {
            FileCheckStep::Progress(read, all) => assert!(read <= all, "{read} of {all}"),
            FileCheckStep::Over(state) => break state,
        }
    };
    checker.join().unwrap();
    state
}

fn check_now(rig: &mut Rig) -> FileState {
    state_of(rig.writer.pin_file().unwrap())
}

fn bytes(disk: &SimulatedDisk) -> Vec<u8> {
    disk.content().bytes(OsStr::new(STORE)).unwrap().to_vec()
}

/// Writes to many keys, among them new ones and longer values.
fn write_much(rig: &mut Rig, round: usize) {
    let mut batch = Batch::new();
    for number in (round % 7..2000).step_by(7) {
        batch.set(key(number), format!("round {round} {}", "w".repeat(300 + round * 10)));
        batch.set(format!("round{round}:{number}"), "new");
    }
    batch.delete(key(round * 3 + 1));
    rig.commit([batch]).remove(0).unwrap();
    rig.writer.tidy();
}

#[test]
fn a_check_of_a_sound_file_finds_nothing_and_changes_nothing() {
    let (disk, _) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let pinned = rig.writer.pin_file().unwrap();
    let before = bytes(&disk);
    assert_eq!(state_of(pinned), FileState::Sound);
    assert!(bytes(&disk) == before, "the check has changed the file");
}

#[test]
fn a_changed_letter_is_found_and_the_check_changes_nothing() {
    let (disk, page) = closed();
    change_a_letter(&disk, &page);
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let before = bytes(&disk);
    let state = check_now(&mut rig);
    assert!(matches!(state, FileState::Damaged(_)), "{state:?}");
    assert!(bytes(&disk) == before, "the check has changed the file");
    assert_eq!(rig.redb.health(), StoreHealth::Works);
}

#[test]
fn what_is_written_during_a_check_is_no_damage() {
    let (disk, _) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    for round in 0..12 {
        // Writes that are only in the journal and in memory are no damage either.
        rig.commit([setting("before", &round.to_string())]).remove(0).unwrap();
        let pinned = rig.writer.pin_file().unwrap();
        let before = bytes(&disk);
        write_much(&mut rig, round * 2);
        write_much(&mut rig, round * 2 + 1);
        let after = bytes(&disk);
        assert!(after[..before.len().min(after.len())] != before[..], "nothing was overwritten");
        assert_eq!(state_of(pinned), FileState::Sound, "round {round}");
    }
    assert_eq!(check_now(&mut rig), FileState::Sound);
}

#[test]
fn a_file_is_sound_after_a_power_cut() {
    let (disk, _) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    for round in 0..3 {
        write_much(&mut rig, round);
        rig.commit([setting("unflushed", "value")]).remove(0).unwrap();
        let cut = SimulatedDisk::of(disk.content().after_cut(&mut Dice::new(5)));
        let mut again = Rig::open(opener(&cut), &clock()).unwrap();
        assert_eq!(check_now(&mut again), FileState::Sound, "round {round}");
    }
}

#[test]
fn a_check_ends_without_a_finding_if_the_store_is_closed_meanwhile() {
    let (disk, _) = closed();
    let mut rig = Rig::open(opener(&disk), &clock()).unwrap();
    let pinned = rig.writer.pin_file().unwrap();
    rig.close();
    assert_eq!(state_of(pinned), FileState::Unchecked("the store was closed meanwhile".to_owned()));
}

#[test]
fn a_store_in_memory_has_no_file() {
    let mut rig = Rig::in_memory(&clock());
    assert!(matches!(rig.writer.pin_file(), Err(Unpinned::NoFile)));
}
