//! A simulated disk with a store file and its journal. It records its events, and fails
//! when a test wants it to.

use crate::redb::database::{Opener, open_files};
use crate::redb::journal::JournalStorage;
use redb::StorageBackend;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The length of the journal, so small that it is often full.
pub(super) const JOURNAL_LENGTH: usize = 4096 + 12 * 1024;

/// The parts into which a disk may tear a write.
const SECTOR: usize = 512;

/// An event on the disk.
#[derive(Debug, Clone)]
pub(super) enum Event {
    SetLength(usize),
    Write(usize, Vec<u8>),
    Flush,
    WriteJournal(usize, Vec<u8>),
    FlushJournal,
    /// The journal is replaced by these bytes, or removed.
    ReplaceJournal(Option<Vec<u8>>),
}

impl Event {
    fn is_of_journal(&self) -> bool {
        matches!(self, Self::WriteJournal(..) | Self::FlushJournal | Self::ReplaceJournal(_))
    }

    /// Whether all earlier events of this file are durable.
    fn ends_doubt(&self) -> bool {
        matches!(self, Self::Flush | Self::FlushJournal | Self::ReplaceJournal(_))
    }
}

/// The content of a disk.
#[derive(Debug, Clone, Default)]
struct Files {
    store: Vec<u8>,
    journal: Option<Vec<u8>>,
}

impl Files {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::SetLength(length) => self.store.resize(*length, 0),
            Event::Write(offset, data) => write_at(&mut self.store, *offset, data),
            Event::WriteJournal(offset, data) => {
                write_at(self.journal.get_or_insert_default(), *offset, data);
            }
            Event::ReplaceJournal(journal) => self.journal.clone_from(journal),
            Event::Flush | Event::FlushJournal => {}
        }
    }
}

fn write_at(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

/// A simulated disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The initial content.
    before: Files,
    files: Mutex<Files>,
    log: Mutex<Vec<Event>>,
    flushes: AtomicUsize,
    full: AtomicBool,
    journal_fails: AtomicBool,
    dying: AtomicBool,
    /// Locked while flushes hang.
    hanging: Mutex<()>,
}

impl Disk {
    /// A disk with this store file and this journal.
    pub(super) fn of(store: Vec<u8>, journal: Option<Vec<u8>>) -> Self {
        let before = Files { store, journal };
        let files = Mutex::new(before.clone());
        Self(Arc::new(State { before, files, ..State::default() }))
    }

    /// The disk after a power cut that follows this many events. Any part of the data that
    /// was not flushed by then may be lost.
    pub(super) fn cut_after(&self, events: usize, dice: &mut impl FnMut() -> u64) -> Self {
        let log = self.0.log.lock().unwrap();
        let happened = &log[..events];
        let certain = |of_journal| {
            let ends = |event: &Event| event.ends_doubt() && event.is_of_journal() == of_journal;
            happened.iter().rposition(ends).map_or(0, |last| last + 1)
        };
        let (store_is_certain, journal_is_certain) = (certain(false), certain(true));
        let mut files = self.0.before.clone();
        for (index, event) in happened.iter().enumerate() {
            let certain = if event.is_of_journal() { journal_is_certain } else { store_is_certain };
            match event {
                // A change of a file's length is atomic.
                _ if index < certain || matches!(event, Event::SetLength(_)) => files.apply(event),
                Event::Write(offset, data) => {
                    for (offset, part) in torn(*offset, data, dice) {
                        files.apply(&Event::Write(offset, part));
                    }
                }
                Event::WriteJournal(offset, data) => {
                    for (offset, part) in torn(*offset, data, dice) {
                        files.apply(&Event::WriteJournal(offset, part));
                    }
                }
                _ => {}
            }
        }
        Self::of(files.store, files.journal)
    }

    /// The content of the store file.
    pub(super) fn store(&self) -> Vec<u8> {
        self.0.files.lock().unwrap().store.clone()
    }

    /// The content of the journal, if there is one.
    pub(super) fn journal(&self) -> Option<Vec<u8>> {
        self.0.files.lock().unwrap().journal.clone()
    }

    /// Opens the store on this disk, as often as needed.
    pub(super) fn opener(&self) -> Opener {
        let disk = self.clone();
        Box::new(move || open_files(Box::new(disk.clone()), Box::new(disk.clone()), 1 << 20, JOURNAL_LENGTH))
    }

    /// Makes all writes fail, or work again.
    pub(super) fn set_full(&self, full: bool) {
        self.0.full.store(full, Ordering::SeqCst);
    }

    /// Lets all flushes hang until this is dropped.
    pub(super) fn hang(&self) -> std::sync::MutexGuard<'_, ()> {
        self.0.hanging.lock().unwrap()
    }

    /// Makes all flushes of the journal fail, or work again.
    pub(super) fn set_journal_fails(&self, fails: bool) {
        self.0.journal_fails.store(fails, Ordering::SeqCst);
    }

    /// Makes the next change panic once it has happened.
    pub(super) fn die(&self) {
        self.0.dying.store(true, Ordering::SeqCst);
    }

    /// The number of flushes so far.
    pub(super) fn flushes(&self) -> usize {
        self.0.flushes.load(Ordering::SeqCst)
    }

    /// The number of events so far.
    pub(super) fn events(&self) -> usize {
        self.0.log.lock().unwrap().len()
    }

    fn change(&self, event: Event) -> Result<(), Error> {
        if self.0.full.load(Ordering::SeqCst) && !matches!(event, Event::Flush | Event::FlushJournal) {
            return Err(Error::new(ErrorKind::StorageFull, "the disk is full, as the test wants it"));
        }
        if matches!(event, Event::FlushJournal) && self.0.journal_fails.load(Ordering::SeqCst) {
            return Err(Error::other("the journal cannot be flushed, as the test wants it"));
        }
        if event.ends_doubt() {
            self.0.flushes.fetch_add(1, Ordering::SeqCst);
            drop(self.0.hanging.lock());
        }
        self.0.files.lock().unwrap().apply(&event);
        self.0.log.lock().unwrap().push(event);
        assert!(!self.0.dying.swap(false, Ordering::SeqCst), "the disk dies, as the test wants it");
        Ok(())
    }
}

/// The parts of a write that reached the disk: all, none, or some sectors, the
/// last of them perhaps in part.
fn torn(offset: usize, data: &[u8], dice: &mut impl FnMut() -> u64) -> Vec<(usize, Vec<u8>)> {
    match dice() % 4 {
        0 => Vec::new(),
        1 => vec![(offset, data.to_vec())],
        2 => {
            let length = usize::try_from(dice()).unwrap() % (data.len() + 1);
            vec![(offset, data[..length].to_vec())]
        }
        _ => {
            let sectors = data.chunks(SECTOR).enumerate();
            let kept = sectors.filter(|_| dice().is_multiple_of(2));
            kept.map(|(index, sector)| (offset + index * SECTOR, sector.to_vec())).collect()
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(u64::try_from(self.0.files.lock().unwrap().store.len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let files = self.0.files.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        let stored = files.store.get(offset..offset + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(stored);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), Error> {
        self.change(Event::SetLength(usize::try_from(length).unwrap()))
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.change(Event::Flush)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.change(Event::Write(usize::try_from(offset).unwrap(), data.to_vec()))
    }
}

impl JournalStorage for Disk {
    fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.journal())
    }

    fn replace(&mut self, start: &[u8], length: usize) -> Result<(), Error> {
        let mut bytes = start.to_vec();
        bytes.resize(length, 0);
        self.change(Event::ReplaceJournal(Some(bytes)))
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.change(Event::WriteJournal(offset, bytes.to_vec()))
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.change(Event::FlushJournal)
    }

    fn remove(&mut self) -> Result<(), Error> {
        self.change(Event::ReplaceJournal(None))
    }
}
