//! The journal beside the store file: what is acknowledged, and in the store
//! file not yet for good.
//!
//! A batch of fourteen keys changes some forty pages all over the store file.
//! To flush these takes many times as long as to flush one record of the same
//! batches, in a file that is written from one end to the other. So the writer
//! flushes the record, and the store file once in a while (a *checkpoint*),
//! after which the journal starts over. See [`super::writer`] for the order of
//! things and [`super::recovery`] for what happens at opening.
//!
//! The file has a fixed length, all of it written when it is made: to flush
//! what is written over takes less than to flush a file that grows, and no
//! space is missing later. Numbers are little-endian.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..16 | [`MAGIC`] |
//! | 16..20 | [`FORMAT`] |
//! | 20..28 | the journal's id, which is in the store file too |
//! | 28..32 | CRC-32 of the bytes before |
//! | from 4096 | records, one after the other |
//!
//! | bytes of a record | what |
//! | --- | --- |
//! | 0..4 | CRC-32 of all that follows |
//! | 4..8 | the length of the payload |
//! | 8..16 | the record's number, one more than that of the record before |
//! | from 16 | the payload: batches as `postcard` writes them |
//!
//! The first record that is not whole, or whose number does not follow, is not
//! one: there the records end, and what the journal held earlier begins.

use crate::batch::Write;
use crate::limits::MAX_RECORD_BYTES;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"tidings journal\n";

/// The format that this code reads and writes.
const FORMAT: u32 = 1;

const HEAD_BYTES: usize = 32;

/// Where the records start: the head has a page of the disk to itself, so that
/// no write that is cut off can harm it.
const RECORDS_START: usize = 4096;

const RECORD_HEAD_BYTES: usize = 16;

/// One batch in a record: its writes, and the Unix milliseconds by which the
/// engine judged what is expired when it applied them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LoggedBatch<'a> {
    pub(super) now: u64,
    pub(super) writes: Cow<'a, [Write]>,
}

/// Where a journal is kept.
pub(super) trait JournalStorage: Send {
    /// All bytes of the journal, if there is one.
    fn read(&mut self) -> Result<Option<Vec<u8>>>;
    /// Puts a journal of this length that starts with these bytes, and is zero
    /// otherwise, in the place of whatever is there; at once and for good.
    fn replace(&mut self, start: &[u8], length: usize) -> Result<()>;
    /// Writes over a part of the journal.
    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<()>;
    /// Makes all that was written last.
    fn flush(&mut self) -> Result<()>;
    /// Removes the journal, if there is one, for good.
    fn remove(&mut self) -> Result<()>;
}

/// A journal that is open for writing.
pub(super) struct Journal {
    storage: Box<dyn JournalStorage>,
    length: usize,
    /// Where the next record is to start.
    end: usize,
    /// The number of the last record.
    last: u64,
}

impl Journal {
    /// A journal whose records, if it has any, are not needed any more. The
    /// next record has the number after `last`.
    pub(super) fn empty(storage: Box<dyn JournalStorage>, length: usize, last: u64) -> Self {
        Self { storage, length, end: RECORDS_START, last }
    }

    /// The number of the last record that was appended, at any time.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether there are records which are needed.
    pub(super) fn has_records(&self) -> bool {
        self.end > RECORDS_START
    }

    /// The next record, unless it is too long or there is no room left for it.
    pub(super) fn record(&self, batches: &[LoggedBatch<'_>]) -> Option<Vec<u8>> {
        // Encoding fails for types that `LoggedBatch` does not have.
        let record = postcard::to_extend(batches, vec![0; RECORD_HEAD_BYTES]).ok()?;
        let room = self.length.saturating_sub(self.end);
        if record.len() > MAX_RECORD_BYTES.min(room) {
            return None;
        }
        Some(sealed(record, self.last + 1))
    }

    /// Appends a record; when this returns it is on disk.
    ///
    /// # Errors
    /// When the disk fails. Then nobody knows what the journal holds, and it
    /// must be opened anew.
    pub(super) fn append(&mut self, record: &[u8]) -> Result<()> {
        self.storage.write(self.end, record)?;
        self.storage.flush()?;
        self.end += record.len();
        self.last += 1;
        Ok(())
    }

    /// Forgets the records: the store file has what they say.
    pub(super) fn start_over(&mut self) {
        self.end = RECORDS_START;
    }

    /// Removes the journal for good.
    pub(super) fn remove(mut self) -> Result<()> {
        self.storage.remove()
    }
}

/// Completes the head of a record.
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
    /// They do not start as a journal does.
    Damaged,
    /// Another version of this program wrote them.
    Format(u32),
}

/// What a journal holds.
#[derive(Debug)]
pub(super) struct JournalContents<'a> {
    /// The journal's id.
    pub(super) id: u64,
    /// The records, in order, each with its number.
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

/// The number and the payload of the record at the start, if it is whole, and
/// what comes after it.
fn split_record(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(RECORD_HEAD_BYTES)?;
    let length = usize::try_from(number_32(&head[4..])).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    let whole = bytes.get(4..RECORD_HEAD_BYTES + length)?;
    (number_32(head) == crc32fast::hash(whole)).then(|| (number_64(&head[8..]), payload, rest))
}

/// The number that starts here; missing bytes are zero.
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
    /// The journal of the store at a path: its name with `-journal` after it.
    pub(super) fn beside(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push("-journal");
        Self { path: path.into(), file: None }
    }

    fn file(&mut self) -> Result<&mut File> {
        self.file.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// A folder tells of a new, renamed or removed file only when it is flushed.
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
        // Whole before it has its name, so that no half one is ever found.
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
