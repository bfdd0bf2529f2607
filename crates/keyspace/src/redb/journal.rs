//! The journal beside the store file: acknowledged writes that are not yet flushed to the
//! store file.
//!
//! A batch of fourteen keys changes about forty pages all over the store file. Flushing
//! these takes many times as long as appending one record to a journal and flushing that.
//! So the writer flushes the journal for each group of batches, and the store file only at
//! a *checkpoint*, after which the journal starts over. See [`super::writer`] for the order
//! of these steps and [`super::recovery`] for what happens when a store is opened.
//!
//! The file has a fixed length and is written whole when it is created: flushing a file
//! that does not grow is faster, and the disk cannot run out of space for it later. Numbers
//! are little-endian.
//!
//! | bytes of the file | content |
//! | --- | --- |
//! | 0..16 | [`MAGIC`] |
//! | 16..20 | [`FORMAT`] |
//! | 20..28 | the journal's id, which the store file names too |
//! | 28..32 | CRC-32 of the bytes before |
//! | from 4096 | records, one after the other |
//!
//! | bytes of a record | content |
//! | --- | --- |
//! | 0..4 | CRC-32 of all that follows |
//! | 4..8 | the length of the payload |
//! | 8..16 | the record's number, one more than that of the record before |
//! | from 16 | the payload: batches as `postcard` writes them |
//!
//! The records end before the first one that is incomplete or whose number does not follow.
//! The rest is left over from before the journal started over.

use super::store_file::{Trouble, is_refused};
use crate::batch::Write;
use crate::limits::MAX_RECORD_BYTES;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{ErrorKind, Result};
use std::path::Path;
use tidings_disk::{DiskFile, Folder, RealFolder};
use tidings_supervision::steps::step;

const MAGIC: &[u8; 16] = b"tidings journal\n";

/// The version of the format.
const FORMAT: u32 = 1;

const HEAD_BYTES: usize = 32;

/// Where the records start. The head has a page of the disk to itself, so that an
/// interrupted write of a record cannot damage it.
const RECORDS_START: usize = 4096;

const RECORD_HEAD_BYTES: usize = 16;

/// A batch in a record: its writes, and the time in Unix milliseconds at which the engine
/// applied them, which decides what had expired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LoggedBatch<'a> {
    pub(super) now: u64,
    pub(super) writes: Cow<'a, [Write]>,
}

/// Where a journal is stored: a file, or a simulated disk in tests.
pub(super) trait JournalStorage: Send {
    /// All bytes of the journal, if there is one.
    fn read(&mut self) -> Result<Option<Vec<u8>>>;
    /// Replaces the journal by one of this length that starts with these bytes and is zero
    /// otherwise. Atomic, and durable when it returns.
    fn replace(&mut self, start: &[u8], length: usize) -> Result<()>;
    /// Overwrites a part of the journal.
    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()>;
    /// Flushes everything that was written.
    fn flush(&mut self) -> Result<()>;
    /// Removes the journal, if there is one. Durable when it returns.
    fn remove(&mut self) -> Result<()>;
}

/// A journal that is open for writing.
pub(super) struct Journal {
    storage: Box<dyn JournalStorage>,
    length: usize,
    /// Where the next record starts.
    end: usize,
    /// The number of the last record.
    last: u64,
    /// Whether the store file names the journal, so that records may be appended.
    ready: bool,
    /// Why no record can be appended.
    trouble: Option<Trouble>,
    /// The length of the record that could not be written.
    failed: usize,
}

impl Journal {
    /// A journal whose existing records, if any, are no longer needed. The next record gets
    /// the number after `last`. If it is not `ready`, it must be replaced first.
    pub(super) fn empty(storage: Box<dyn JournalStorage>, length: usize, last: u64, ready: bool) -> Self {
        Self { storage, length, end: RECORDS_START, last, ready, trouble: None, failed: 0 }
    }

    /// Whether records may be appended once there is no trouble.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Says that the store file names the journal.
    pub(super) fn set_ready(&mut self) {
        self.ready = true;
        self.trouble = None;
    }

    /// Why no record can be appended.
    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Creates the file anew, with an id and without records.
    ///
    /// # Errors
    /// If it cannot be created. If that may change, [`Self::trouble`] says why.
    pub(super) fn replace(&mut self, id: u64) -> Result<()> {
        self.storage.replace(&head(id), self.length).inspect_err(|error| {
            // The operator has to see at the start that the folder may not be written.
            if is_refused(error) && error.kind() != ErrorKind::PermissionDenied {
                self.trouble = Some(Trouble::of_write(error));
            }
        })
    }

    /// Tries whether records can be appended again, after one could not be written. Overwrites
    /// what there is of it.
    pub(super) fn mend(&mut self) -> bool {
        if self.trouble.as_ref().is_none_or(|trouble| trouble.lasts) {
            return self.trouble.is_none();
        }
        if let Err(error) = self.storage.write(self.end, &vec![0; self.failed]) {
            self.trouble = Some(Trouble::of_write(&error));
            return false;
        }
        self.trouble = self.storage.flush().err().map(|error| Trouble::of_flush(&error));
        self.trouble.is_none()
    }

    /// The number of the last record, also if the journal has started over since.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether there are records that the store file may lack.
    pub(super) fn has_records(&self) -> bool {
        self.end > RECORDS_START
    }

    /// Encodes the next record. Returns `None` if it is too long or does not fit into the
    /// rest of the journal.
    pub(super) fn record(&self, batches: &[LoggedBatch<'_>]) -> Option<Vec<u8>> {
        // Encoding fails only for types that `LoggedBatch` does not contain.
        let record = postcard::to_extend(batches, vec![0; RECORD_HEAD_BYTES]).ok()?;
        let room = self.length.saturating_sub(self.end);
        if record.len() > MAX_RECORD_BYTES.min(room) {
            return None;
        }
        Some(sealed(record, self.last + 1))
    }

    /// Appends a record. If it is flushed, it is on disk when this returns, with all before it.
    ///
    /// # Errors
    /// If the disk fails; [`Self::trouble`] says how. If that lasts, it is unknown whether the
    /// journal has the record. Otherwise it is incomplete, and the next one overwrites it.
    pub(super) fn append(&mut self, record: &[u8], flushes: bool) -> Result<()> {
        self.storage.write(self.end, record).inspect_err(|error| {
            let refused = is_refused(error);
            self.failed = record.len();
            self.trouble = Some(if refused { Trouble::of_write(error) } else { Trouble::of_flush(error) });
        })?;
        if flushes {
            self.storage.flush().inspect_err(|error| self.trouble = Some(Trouble::of_flush(error)))?;
        }
        self.end += record.len();
        self.last += 1;
        self.report();
        Ok(())
    }

    /// Discards the records, because the store file has their writes.
    pub(super) fn start_over(&mut self) {
        self.end = RECORDS_START;
        self.report();
    }

    /// Overwrites all records, also old ones. The store file must have their writes.
    ///
    /// # Errors
    /// If the disk fails; [`Self::trouble`] says how.
    pub(super) fn wipe(&mut self) -> Result<()> {
        self.end = RECORDS_START;
        let wiped = self.storage.write(RECORDS_START, &vec![0; self.length.saturating_sub(RECORDS_START)]);
        wiped.and_then(|()| self.storage.flush()).inspect_err(|error| {
            self.trouble = Some(Trouble::of_flush(error));
        })
    }

    /// Tells the metrics how many bytes of records there are. The look-up of the gauge takes no
    /// time beside a flush.
    #[allow(clippy::cast_precision_loss)]
    fn report(&self) {
        metrics::gauge!("tidings_journal_bytes").set((self.end - RECORDS_START) as f64);
    }

    /// Removes the journal. Durable when it returns.
    pub(super) fn remove(mut self) -> Result<()> {
        self.storage.remove()
    }
}

/// Fills in the head of a record.
fn sealed(mut record: Vec<u8>, number: u64) -> Vec<u8> {
    let length = u32::try_from(record.len() - RECORD_HEAD_BYTES).unwrap_or(u32::MAX);
    record[4..8].copy_from_slice(&length.to_le_bytes());
    record[8..16].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32fast::hash(&record[4..]);
    record[..4].copy_from_slice(&checksum.to_le_bytes());
    record
}

/// The first bytes of a journal.
pub(super) fn head(id: u64) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&FORMAT.to_le_bytes());
    head.extend_from_slice(&id.to_le_bytes());
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    head
}

/// Why the bytes of a journal cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JournalError {
    /// The bytes do not start like a journal.
    Damaged,
    /// Another version of this crate wrote the journal, in this format.
    Format(u32),
}

/// The content of a journal.
#[derive(Debug)]
pub(super) struct JournalContents<'a> {
    /// The journal's id.
    pub(super) id: u64,
    /// The number and the payload of each record, in order.
    pub(super) records: Vec<(u64, &'a [u8])>,
}

impl<'a> JournalContents<'a> {
    /// Reads the bytes of a journal.
    pub(super) fn of(bytes: &'a [u8]) -> std::result::Result<Self, JournalError> {
        let head = bytes.get(..HEAD_BYTES).ok_or(JournalError::Damaged)?;
        let (content, checksum) = head.split_at(HEAD_BYTES - 4);
        if !content.starts_with(MAGIC) || number_32(checksum) != crc32fast::hash(content) {
            return Err(JournalError::Damaged);
        }
        match number_32(&content[16..]) {
            FORMAT => {}
            other => return Err(JournalError::Format(other)),
        }
        let id = number_64(&content[20..]);
        let mut records: Vec<(u64, &[u8])> = Vec::new();
        let mut rest = bytes.get(RECORDS_START..).unwrap_or_default();
        while let Some((number, payload, after)) = split_record(rest) {
            if records.last().is_some_and(|(last, _)| last.checked_add(1) != Some(number)) {
                break;
            }
            records.push((number, payload));
            rest = after;
        }
        Ok(Self { id, records })
    }
}

/// The batches of a record.
pub(super) fn batches(payload: &[u8]) -> std::result::Result<Vec<LoggedBatch<'static>>, postcard::Error> {
    postcard::from_bytes(payload)
}

/// The number and the payload of the first record, and the bytes after it. `None` if the
/// record is incomplete.
fn split_record(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(RECORD_HEAD_BYTES)?;
    let length = usize::try_from(number_32(&head[4..])).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    let whole = bytes.get(4..RECORD_HEAD_BYTES + length)?;
    (number_32(head) == crc32fast::hash(whole)).then(|| (number_64(&head[8..]), payload, rest))
}

/// The number in the first four bytes; 0 if there are fewer.
fn number_32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn number_64(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A journal in a file.
pub(super) struct JournalFile {
    folder: Box<dyn Folder>,
    name: OsString,
    file: Option<Box<dyn DiskFile>>,
}

impl JournalFile {
    /// The journal of the store at a path: the same name followed by `-journal`.
    pub(super) fn beside(store: &Path) -> Self {
        let mut name = store.file_name().unwrap_or_default().to_owned();
        name.push("-journal");
        Self::new(Box::new(RealFolder::of(store)), name)
    }

    /// The journal of this name in a folder.
    pub(super) fn new(folder: Box<dyn Folder>, name: OsString) -> Self {
        Self { folder, name, file: None }
    }

    fn file(&self) -> Result<&dyn DiskFile> {
        self.file.as_deref().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Creates a file of this name and content, and makes the content durable.
    fn create(&self, name: &OsString, bytes: &[u8]) -> Result<Box<dyn DiskFile>> {
        let file = self.folder.create(name)?;
        file.write_at(0, bytes)?;
        file.sync()?;
        Ok(file)
    }
}

impl JournalStorage for JournalFile {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let file = match self.folder.open(&self.name) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = vec![0; usize::try_from(file.length()?).unwrap_or(usize::MAX)];
        file.read_at(0, &mut bytes)?;
        self.file = Some(file);
        Ok(Some(bytes))
    }

    fn replace(&mut self, start: &[u8], length: usize) -> Result<()> {
        let mut bytes = start.to_vec();
        bytes.resize(length, 0);
        // It is complete before it gets its name, so a partial journal is never found.
        let mut new = self.name.clone();
        new.push(".new");
        step();
        match self.create(&new, &bytes) {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                // The unfinished file would only fill the disk.
                let _ = self.folder.remove(&new);
                return Err(error);
            }
        }
        step();
        self.folder.rename(&new, &self.name)?;
        self.folder.sync()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        step();
        self.file()?.write_at(u64::try_from(offset).unwrap_or(u64::MAX), bytes)
    }

    fn flush(&mut self) -> Result<()> {
        step();
        self.file()?.sync()
    }

    fn remove(&mut self) -> Result<()> {
        self.file = None;
        step();
        match self.folder.remove(&self.name) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => self.folder.sync(),
        }
    }
}
