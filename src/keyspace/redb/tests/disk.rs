//! A disk in memory that keeps a log of what happens to it, and fails when told.

use crate::keyspace::redb::database::{Opener, advice, prepared};
use redb::StorageBackend;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What happened to the disk.
#[derive(Debug, Clone)]
pub(super) enum Event {
    SetLength(usize),
    Write(usize, Vec<u8>),
    Flush,
}

/// A disk; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<State>);

#[derive(Debug, Default)]
struct State {
    bytes: Mutex<Vec<u8>>,
    log: Mutex<Vec<Event>>,
    flushes: AtomicUsize,
    full: AtomicBool,
    dying: AtomicBool,
}

impl Disk {
    /// A disk with these bytes.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        *disk.0.bytes.lock().unwrap() = bytes;
        disk
    }

    /// Opens the store on this disk, as often as needed.
    pub(super) fn opener(&self) -> Opener {
        let disk = self.clone();
        Box::new(move || {
            let database = redb::Builder::new().set_cache_size(1 << 20).create_with_backend(disk.clone());
            prepared(database.map_err(|error| advice(&error))?)
        })
    }

    /// From now on nothing can be written, or again.
    pub(super) fn set_full(&self, full: bool) {
        self.0.full.store(full, Ordering::SeqCst);
    }

    /// From now on whoever writes panics.
    pub(super) fn die(&self) {
        self.0.dying.store(true, Ordering::SeqCst);
    }

    /// How often the disk has been flushed.
    pub(super) fn flushes(&self) -> usize {
        self.0.flushes.load(Ordering::SeqCst)
    }

    /// All that has happened.
    pub(super) fn log(&self) -> Vec<Event> {
        self.0.log.lock().unwrap().clone()
    }

    fn change(&self, event: Event) -> Result<(), Error> {
        assert!(!self.0.dying.load(Ordering::SeqCst), "the disk dies, as the test wants it");
        if self.0.full.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::StorageFull, "the disk is full, as the test wants it"));
        }
        apply(&mut self.0.bytes.lock().unwrap(), &event);
        self.0.log.lock().unwrap().push(event);
        Ok(())
    }
}

/// What a disk holds after these events.
pub(super) fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in events {
        apply(&mut bytes, event);
    }
    bytes
}

fn apply(bytes: &mut Vec<u8>, event: &Event) {
    match event {
        Event::SetLength(length) => bytes.resize(*length, 0),
        Event::Write(offset, data) => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
        Event::Flush => {}
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(u64::try_from(self.0.bytes.lock().unwrap().len()).unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let bytes = self.0.bytes.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        let stored = bytes.get(offset..offset + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(stored);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), Error> {
        self.change(Event::SetLength(usize::try_from(length).unwrap()))
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.change(Event::Flush)?;
        self.0.flushes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.change(Event::Write(usize::try_from(offset).unwrap(), data.to_vec()))
    }
}
