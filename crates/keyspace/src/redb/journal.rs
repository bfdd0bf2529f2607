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

use crate::batch::Write;
use crate::limits::MAX_RECORD_BYTES;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

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
}

impl Journal {
    /// A journal whose existing records, if any, are no longer needed. The next record gets
    /// the number after `last`.
    pub(super) fn empty(storage: Box<dyn JournalStorage>, length: usize, last: u64) -> Self {
        Self { storage, length, end: RECORDS_START, last }
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

    /// Appends a record. It is on disk when this returns.
    ///
    /// # Errors
    /// If the disk fails. Then it is unknown what the journal holds, and it must be
    /// reopened.
    pub(super) fn append(&mut self, record: &[u8]) -> Result<()> {
        self.storage.write(self.end, record)?;
        self.storage.flush()?;
        self.end += record.len();
        self.last += 1;
        Ok(())
    }

    /// Discards the records, because the store file has their writes.
    pub(super) fn start_over(&mut self) {
        self.end = RECORDS_START;
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
    path: PathBuf,
    file: Option<File>,
}

impl JournalFile {
    /// The journal of the store at a path: the same name followed by `-journal`.
    pub(super) fn beside(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push("-journal");
        Self { path: path.into(), file: None }
    }

    fn file(&mut self) -> Result<&mut File> {
        self.file.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Makes the creation, renaming or removal of a file in the folder durable.
    fn flush_folder(&self) -> Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl JournalStorage for JournalFile {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        let mut file = match OpenOptions::new().read(true).write(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        self.file = Some(file);
        Ok(Some(bytes))
    }

    fn replace(&mut self, start: &[u8], length: usize) -> Result<()> {
        let mut bytes = start.to_vec();
        bytes.resize(length, 0);
        // It is complete before it gets its name, so a partial journal is never found.
        let new = self.path.with_added_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        self.flush_folder()?;
        self.file = Some(file);
        Ok(())
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let offset = u64::try_from(offset).unwrap_or(u64::MAX);
        let file = self.file()?;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file()?.sync_data()
    }

    fn remove(&mut self) -> Result<()> {
        self.file = None;
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => self.flush_folder(),
        }
    }
}
