//! The journal file: what is recovered from it if it is truncated, damaged, missing or that
//! of another store; and when it is created, flushed and removed.

use super::disk::{Disk, JOURNAL_LENGTH};
use super::rig::Rig;
use super::*;
use crate::batch::{Bound, Selection, Within};
use crate::limits::{JOURNAL_BYTES, MAX_UNFLUSHED_BYTES};
use crate::redb::journal::{
    Journal, JournalContents, JournalError, JournalStorage, LoggedBatch, batches, head,
};
use crate::{ReadSet, strategies};
use proptest::prelude::*;
use std::borrow::Cow;

/// The value of the string `counter` in the store on a disk.
fn counter(disk: &Disk) -> Option<String> {
    string(&Rig::open(disk.opener(), &clock()).unwrap().redb, "counter").unwrap()
}

/// A disk after this many commits, each with its own record, and a crash.
fn crashed(commits: usize) -> Disk {
    let disk = Disk::default();
    let mut rig = Rig::open(disk.opener(), &clock()).unwrap();
    // This write is in the store file, and not applied again.
    rig.commit([setting("counter", "0")]);
    rig.writer.checkpoint().unwrap();
    for _ in 0..commits {
        rig.commit([increment("counter")]).remove(0).unwrap();
    }
    disk.cut_after(disk.events(), &mut || 0)
}

/// The start and the end of each record of a journal.
fn places(bytes: &[u8]) -> Vec<(usize, usize)> {
    let address = |bytes: &[u8]| bytes.as_ptr().addr();
    let records = JournalContents::of(bytes).unwrap().records;
    let places = records.iter().map(|(_, payload)| {
        let start = address(payload) - address(bytes);
        (start - 16, start + payload.len())
    });
    places.collect()
}

#[test]
fn a_journal_that_is_cut_off_gives_its_whole_records() {
    let disk = crashed(3);
    let (store, bytes) = (disk.store(), disk.journal().unwrap());
    let (start, end) = places(&bytes)[2];
    for length in start..=end {
        let cut = Disk::of(store.clone(), Some(bytes[..length].to_vec()));
        let expected = if length == end { "3" } else { "2" };
        assert_eq!(counter(&cut).as_deref(), Some(expected), "{length} of {start}..{end}");
        // The journal has its full length again.
        assert_eq!(cut.journal().unwrap().len(), JOURNAL_LENGTH);
    }
}

#[test]
fn a_changed_byte_ends_the_journal_before_its_record() {
    let disk = crashed(3);
    let (store, bytes) = (disk.store(), disk.journal().unwrap());
    for (index, (start, end)) in places(&bytes).into_iter().enumerate() {
        for place in start..end {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            let disk = Disk::of(store.clone(), Some(changed));
            assert_eq!(counter(&disk), Some(index.to_string()), "byte {place}");
        }
    }
}

#[test]
fn a_changed_head_is_refused() {
    let disk = crashed(1);
    let (store, bytes) = (disk.store(), disk.journal().unwrap());
    for place in 0..head(0).len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        let disk = Disk::of(store.clone(), Some(changed));
        let refusal = Rig::open(disk.opener(), &clock()).err().unwrap();
        assert!(refusal.contains("damaged"), "{refusal}");
    }
}

#[test]
fn what_was_behind_a_damaged_record_never_comes_back() {
    let disk = crashed(3);
    let mut bytes = disk.journal().unwrap();
    let (start, _) = places(&bytes)[0];
    bytes[start] ^= 1;
    let disk = Disk::of(disk.store(), Some(bytes));
    let mut rig = Rig::open(disk.opener(), &clock()).unwrap();
    // It has the length of the damaged record, so the record after it is intact.
    rig.commit([increment("counter")]).remove(0).unwrap();
    assert_eq!(places(&disk.journal().unwrap()).len(), 1);
    assert_eq!(counter(&disk.cut_after(disk.events(), &mut || 0)).as_deref(), Some("1"));
}

#[test]
fn a_journal_and_a_store_that_do_not_belong_together_are_refused() {
    let (one, other) = (crashed(2), crashed(2));
    let closed = Disk::of(one.store(), one.journal());
    Rig::open(closed.opener(), &clock()).unwrap().writer.close();
    let later = Disk::of(one.store(), one.journal());
    let mut rig = Rig::open(later.opener(), &clock()).unwrap();
    rig.commit([increment("counter")]).remove(0).unwrap();
    rig.writer.checkpoint().unwrap();
    rig.commit([increment("counter")]).remove(0).unwrap();
    let later = later.cut_after(later.events(), &mut || 0);
    for (store, journal, what) in [
        (&one, &other, "another store's"),
        (&closed, &one, "one from before the store was closed"),
        (&one, &later, "one with a gap before it"),
    ] {
        let disk = Disk::of(store.store(), journal.journal());
        let refusal = Rig::open(disk.opener(), &clock()).err().unwrap_or_default();
        assert!(refusal.contains("move the journal away"), "{what}: {refusal:?}");
        // The attempt to open them has changed nothing.
        assert_eq!(disk.journal(), journal.journal(), "{what}");
    }
}

#[test]
fn a_journal_without_records_is_nobodys() {
    let new = Disk::default();
    drop(Rig::open(new.opener(), &clock()).unwrap());
    for store in [crashed(0), new.cut_after(new.events(), &mut || 0)] {
        let mut bytes = head(7);
        bytes.resize(JOURNAL_LENGTH, 0);
        let disk = Disk::of(store.store(), Some(bytes));
        let mut rig = Rig::open(disk.opener(), &clock()).unwrap();
        rig.commit([increment("counter")]).remove(0).unwrap();
        assert_eq!(counter(&disk.cut_after(disk.events(), &mut || 0)).as_deref(), Some("1"));
    }
}

#[test]
fn a_store_file_without_its_journal_opens() {
    assert_eq!(counter(&Disk::of(crashed(3).store(), None)).as_deref(), Some("0"));
}

#[test]
fn a_store_that_was_closed_has_no_journal() {
    let disk = crashed(3);
    let rig = Rig::open(disk.opener(), &clock()).unwrap();
    assert!(disk.journal().is_some());
    rig.writer.close();
    assert_eq!(disk.journal(), None);
    assert_eq!(counter(&Disk::of(disk.store(), None)).as_deref(), Some("3"));
}

#[test]
fn a_commit_flushes_the_journal_once_and_a_checkpoint_only_what_is_needed() {
    let disk = Disk::default();
    let mut rig = Rig::open(disk.opener(), &clock()).unwrap();
    let before = disk.flushes();
    for _ in 0..10 {
        rig.commit([increment("counter"), increment("other")]);
    }
    assert_eq!(disk.flushes() - before, 10);
    rig.writer.tidy();
    let (flushes, events) = (disk.flushes(), disk.events());
    // A checkpoint flushes the pages before it flushes what names them.
    assert_eq!(flushes - before, 12);
    rig.writer.tidy();
    assert_eq!(disk.events(), events, "an idle store leaves the disk alone");
}

#[test]
fn a_group_that_is_too_long_for_the_journal_goes_to_the_store_file() {
    let disk = Disk::default();
    let mut rig = Rig::open(disk.opener(), &clock()).unwrap();
    rig.commit([increment("counter")]);
    rig.commit([increment("counter"), setting("long", &"v".repeat(JOURNAL_LENGTH))]);
    rig.commit([increment("counter")]);
    assert_eq!(places(&disk.journal().unwrap()).len(), 1);
    assert_eq!(counter(&disk.cut_after(disk.events(), &mut || 0)).as_deref(), Some("3"));
}

#[test]
fn what_waits_for_a_flush_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let opener = database::opener(path.to_str().unwrap(), 1 << 20, Some(None));
    let mut rig = Rig::open(opener, &clock()).unwrap();
    let value = "v".repeat(1000);
    let settings = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut batch = Batch::new();
        numbers.for_each(|number| batch.set(number.to_string(), &value));
        [batch]
    };
    for first in (0..8_000).step_by(200) {
        rig.commit(settings(&mut (first..first + 200)));
    }
    rig.writer.tidy();
    let mut waiting = Vec::new();
    for first in 0..800 {
        // Far from each other: each changes a page of its own.
        rig.commit(settings(&mut (first..8_000).step_by(800)));
        waiting.push(rig.writer.unflushed_bytes());
    }
    let most = *waiting.iter().max().unwrap();
    assert!((MAX_UNFLUSHED_BYTES..MAX_UNFLUSHED_BYTES + (1 << 20)).contains(&most), "{most}");
    assert!(*waiting.last().unwrap() < MAX_UNFLUSHED_BYTES);
}

#[test]
fn a_key_that_was_swept_away_does_not_come_back_when_the_clock_is_set_back() {
    let (disk, clock) = (Disk::default(), clock());
    let mut rig = Rig::open(disk.opener(), &clock).unwrap();
    rig.commit([Batch::of(|batch| batch.set_expiring("counter", "100", Duration::from_millis(10)))]);
    clock.fetch_add(10, Ordering::SeqCst);
    rig.writer.sweep().unwrap();
    clock.fetch_sub(10, Ordering::SeqCst);
    assert_eq!(rig.commit([increment("counter")]).remove(0).unwrap(), [1]);
    let disk = disk.cut_after(disk.events(), &mut || 0);
    assert_eq!(counter(&disk).as_deref(), Some("1"));
}

#[tokio::test]
async fn after_a_flush_that_failed_the_store_is_read_only_until_it_is_opened_again() {
    let disk = Disk::default();
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    redb.commit(increment("counter")).await.unwrap();
    disk.set_journal_fails(true);
    // Nobody knows whether the disk has the record.
    assert!(is_unavailable(redb.commit(increment("counter")).await));
    disk.set_journal_fails(false);
    for _ in 0..3 {
        assert!(is_read_only(redb.commit(increment("counter")).await));
        assert_eq!(string(&redb, "counter").unwrap().as_deref(), Some("1"));
    }
    let StoreHealth::ReadOnly(cause) = redb.health() else { panic!("{:?}", redb.health()) };
    assert!(cause.contains("a restart is needed"), "{cause}");
    redb.close().await;
    let redb = Redb::open_with(disk.opener(), &options(), Arc::default()).unwrap();
    assert_eq!(redb.commit(increment("counter")).await.unwrap(), [3]);
    assert_eq!(redb.health(), StoreHealth::Works);
}

#[test]
fn cached_values_end_with_a_failure_that_left_its_writes() {
    let (disk, versions) = (Disk::default(), Arc::<Versions>::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // Each time before the store is opened, a reader caches the value of the counter.
    let cached: Arc<Mutex<Vec<ReadSet>>> = Arc::default();
    let opener: Opener = {
        let (versions, cached, open) = (versions.clone(), cached.clone(), disk.opener());
        Box::new(move || {
            let mut query = Query::new();
            query.ask(read::string("counter"));
            let reading = ReadSet::record(async { versions.note_query(&query) });
            cached.lock().push(runtime.block_on(reading).1);
            open()
        })
    };
    let mut rig = Rig::open_with(opener, &clock(), versions.clone()).unwrap();
    assert!(cached.lock()[0].is_unchanged(&versions));
    // The writer panics when the record is in the journal, and the store is opened again.
    disk.die();
    assert!(is_unavailable(rig.commit([increment("counter")]).remove(0)));
    assert_eq!(string(&rig.redb, "counter").unwrap().as_deref(), Some("1"));
    let unchanged: Vec<_> = cached.lock().iter().map(|reads| reads.is_unchanged(&versions)).collect();
    assert_eq!(unchanged, [false, false]);
}

#[tokio::test]
async fn the_journal_lies_beside_the_file_while_the_store_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.redb");
    let url = format!("redb:{}", path.display());
    let files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let store = Store::open(&url, &options()).await.unwrap();
    store.commit(increment("counter")).await.unwrap();
    assert_eq!(files(), ["a.redb", "a.redb-journal"]);
    let journal = std::fs::metadata(folder.path().join("a.redb-journal")).unwrap();
    assert_eq!(journal.len(), u64::try_from(JOURNAL_BYTES).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(journal.permissions().mode() & 0o077, 0);
    }
    store.close().await;
    assert_eq!(files(), ["a.redb"]);
    std::fs::write(folder.path().join("a.redb-journal"), "text").unwrap();
    assert!(refusal(&url).await.contains("its journal"));
}

/// A storage that keeps only the last write.
struct Last(Arc<Mutex<Vec<u8>>>);

impl JournalStorage for Last {
    fn read(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
    fn replace(&mut self, _: &[u8], _: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn write(&mut self, _: usize, bytes: &[u8]) -> std::io::Result<()> {
        *self.0.lock() = bytes.to_vec();
        Ok(())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
    fn remove(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_longest_record_is_of_256_kibibytes_and_as_long_as_there_is_room() {
    let record_of = |length: usize, room: usize| {
        let writes = vec![Write::Set("k".to_owned(), "v".repeat(length), None)];
        let group = [LoggedBatch { now: 1, writes: Cow::Owned(writes) }];
        let journal = Journal::empty(Box::new(Last(Arc::default())), 4_096 + room, 1, true);
        journal.record(&group).map(|record| record.len())
    };
    let beside = record_of(200_000, 1 << 20).unwrap() - 200_000;
    let longest = (256 << 10) - beside;
    assert_eq!(record_of(longest, 1 << 20), Some(256 << 10));
    assert_eq!(record_of(longest + 1, 1 << 20), None);
    assert_eq!(record_of(200_000, 200_000 + beside), Some(200_000 + beside));
    assert_eq!(record_of(200_000, 200_000 + beside - 1), None);
}

proptest! {
    #[test]
    fn batches_come_back_from_a_record_as_they_were(
        groups in prop::collection::vec((any::<u64>(), prop::collection::vec(strategies::write(), 0..5)), 1..5)
    ) {
        let logged = |(now, writes): (u64, Vec<Write>)| LoggedBatch { now, writes: Cow::Owned(writes) };
        let groups: Vec<_> = groups.into_iter().map(logged).collect();
        let mut bytes = head(5);
        bytes.resize(4096, 0);
        let written = Arc::default();
        let mut journal = Journal::empty(Box::new(Last(Arc::clone(&written))), 1 << 20, 41, true);
        journal.append(&journal.record(&groups).unwrap(), true).unwrap();
        bytes.extend_from_slice(&written.lock());
        let contents = JournalContents::of(&bytes).unwrap();
        prop_assert_eq!(contents.id, 5);
        prop_assert_eq!(contents.records.len(), 1);
        prop_assert_eq!(contents.records[0].0, 42);
        prop_assert_eq!(batches(contents.records[0].1).unwrap(), groups);
    }
}

/// The bytes of every kind of write. This version must be able to read the journal of an
/// older one.
#[test]
fn the_format_stays() {
    let text = str::to_owned;
    let bound = Bound { keep: 1, floors: text("f"), member: text("m") };
    let selection = |within| Selection { scores: text("c"), sets: vec![text("s")], within };
    let writes = vec![
        Write::Set(text("k"), text("v"), None),
        Write::Set(text("k"), text("v"), Some(Duration::from_millis(1500))),
        Write::Delete(text("k")),
        Write::Expire(text("k"), Duration::from_secs(1)),
        Write::Increment(text("k"), -2),
        Write::SetFields(text("k"), vec![(text("f"), text("v"))]),
        Write::DeleteField(text("k"), text("f")),
        Write::IncrementField(text("k"), text("f"), 3),
        Write::AddMember(text("k"), text("m")),
        Write::RemoveMember(text("k"), text("m")),
        Write::SortedAdd(text("k"), text("m"), f64::INFINITY),
        Write::SortedAddBounded(text("k"), text("m"), -0.0, bound),
        Write::SortedRaise(text("k"), text("m"), 1.0),
        Write::SortedAddIfPresent(text("k"), text("m"), 1.0),
        Write::SortedIncrement(text("k"), text("m"), 0.1),
        Write::SortedRemove(text("k"), text("m")),
        Write::SortedTrim(text("k"), 300),
        Write::SortedStore(text("k"), selection(Within::All)),
        Write::SortedStore(text("k"), selection(Within::Any)),
        Write::Publish(text("c"), text("m")),
        Write::SortedAppend(text("k"), text("m")),
        Write::LowerField(text("k"), text("f"), 3),
    ];
    let logged = [LoggedBatch { now: 1_600_000_000_000, writes: Cow::Owned(writes) }];
    let expected = concat!(
        "018080babbc82e1600016b01760000016b0176010180cab5ee0101016b02016b010003016b030401",
        "6b010166017605016b016606016b01660607016b016d08016b016d09016b016d000000000000f07f",
        "0a016b016d0000000000000080010166016d0b016b016d000000000000f03f0c016b016d00000000",
        "0000f03f0d016b016d9a9999999999b93f0e016b016d0f016bac0210016b01630101730010016b01",
        "6301017301110163016d12016b016d13016b016603",
    );
    assert_eq!(hex::encode(postcard::to_allocvec(&logged[..]).unwrap()), expected);
    let mut other = head(1);
    other[16] = 2;
    let checksum = crc32fast::hash(&other[..28]);
    other[28..].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(JournalContents::of(&other).err(), Some(JournalError::Format(2)));
}
