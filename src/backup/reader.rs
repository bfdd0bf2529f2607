//! Reads a backup as a stream of bytes, and trusts none of them.

use super::format::{
    BLOCK_BYTES, BLOCK_HEAD_BYTES, BLOCK_MAGIC, END_BYTES, END_MAGIC, FORMAT_VERSION, HEADER_BYTES,
    HEADER_MAGIC, Header, Kind, MAX_COMPRESSED_BYTES, MAX_TEXT_BYTES, PART_BYTES, Record, SIGNATURE, Summary,
};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use tidings_domain::values::words::grouped;
use tidings_keyspace::Value;
use zstd::bulk::Decompressor;

/// The lengths that a header may have, in this format or in a later one.
const HEADER_LENGTHS: std::ops::RangeInclusive<usize> = HEADER_BYTES..=4096;

/// Why a backup is refused. The message says where in the file.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It does not begin as backups do.
    #[error("it is not a backup of tidings: at byte 0, it does not begin as one")]
    Foreign,
    /// A newer program has written it.
    #[error(
        "it has format {0} and this version knows only format {FORMAT_VERSION}; use a newer version of tidings"
    )]
    Format(u32),
    /// It ends too early.
    #[error("it is cut off at byte {}: {missing} is missing", grouped(*.at))]
    Truncated {
        /// The length of the file.
        at: u64,
        /// The part that should follow.
        missing: &'static str,
    },
    /// It is not what was written.
    #[error("it is damaged at byte {}: {what}", grouped(*.at))]
    Damaged {
        /// Where the frame begins that is damaged.
        at: u64,
        /// A description of the damage.
        what: String,
    },
    /// The system could not read it.
    #[error("it cannot be read at byte {}: {error}", grouped(*.at))]
    Unreadable {
        /// How far it was read.
        at: u64,
        /// The error of the system.
        error: io::Error,
    },
}

/// A key, or a part of a large one: the entries of a collection are read half a mebibyte at a time, so the memory
/// does not depend on what is in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The key, when it expires, and these of its entries.
    pub record: Record,
    /// Whether it is the first part of the key.
    pub is_first: bool,
}

/// A key of which not all entries are read.
struct Unread {
    kind: Kind,
    expires_at_ms: u64,
    key: String,
    entries: usize,
}

/// A backup that is being read.
pub struct BackupReader<R> {
    input: R,
    header: Header,
    /// How many bytes were read.
    position: u64,
    hasher: Sha256,
    decompressor: Decompressor<'static>,
    /// The records of the current block, and how much of them was taken.
    block: Vec<u8>,
    taken: usize,
    /// Where the current block begins in the file.
    block_at: u64,
    keys: u64,
    /// The bytes of the texts that were read.
    text_bytes: usize,
    /// The rest of the key that was read last.
    unread: Option<Unread>,
    summary: Option<Summary>,
}

impl<R: Read> BackupReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn open(input: R) -> Result<Self, BackupError> {
        let decompressor = Decompressor::new().map_err(|error| BackupError::Unreadable { at: 0, error })?;
        let mut reader = Self {
            input,
            header: Header { layout: 0, taken_at_ms: 0 },
            position: 0,
            hasher: Sha256::new(),
            decompressor,
            block: Vec::new(),
            taken: 0,
            block_at: 0,
            keys: 0,
            text_bytes: 0,
            unread: None,
            summary: None,
        };
        reader.header = reader.read_header()?;
        Ok(reader)
    }

    /// The header of the file.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// How many bytes were read, for a progress bar.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The next key or part of one; `None` after the last, when the count and the checksum are right.
    ///
    /// # Errors
    /// See [`BackupError`]. Nothing can be read after an error.
    pub fn next_part(&mut self) -> Result<Option<Part>, BackupError> {
        if let Some(unread) = self.unread.take() {
            return self.entries(unread, false).map(Some);
        }
        if !self.fill()? {
            return Ok(None);
        }
        let [byte] = self.bytes()?;
        let kind = Kind::of(byte).ok_or_else(|| self.damaged(format!("there is no type {byte}")))?;
        let expires_at_ms = u64::from_le_bytes(self.bytes()?);
        let key = self.text()?;
        if kind == Kind::String {
            let record = Record { expires_at_ms, key, value: Value::String(self.text()?) };
            self.keys += 1;
            return Ok(Some(Part { record, is_first: true }));
        }
        let entries = self.number()?;
        if entries == 0 {
            return Err(self.damaged("a collection is empty".to_owned()));
        }
        self.entries(Unread { kind, expires_at_ms, key, entries }, true).map(Some)
    }

    /// The summary of the whole file, once its end has been read.
    pub const fn summary(&self) -> Option<Summary> {
        self.summary
    }

    /// The next entries of a key.
    fn entries(&mut self, unread: Unread, is_first: bool) -> Result<Part, BackupError> {
        let Unread { kind, expires_at_ms, key, mut entries } = unread;
        let value = match kind {
            Kind::Hash => Value::Hash(self.some(&mut entries, |file| Ok((file.text()?, file.text()?)))?),
            Kind::SortedSet => {
                Value::SortedSet(self.some(&mut entries, |file| Ok((file.text()?, file.score()?)))?)
            }
            Kind::Set | Kind::String => Value::Set(self.some(&mut entries, Self::text)?),
        };
        if entries > 0 {
            self.unread = Some(Unread { kind, expires_at_ms, key: key.clone(), entries });
        } else {
            self.keys += 1;
        }
        Ok(Part { record: Record { expires_at_ms, key, value }, is_first })
    }

    /// Some entries of so many that are left.
    fn some<T>(
        &mut self,
        left: &mut usize,
        entry: impl Fn(&mut Self) -> Result<T, BackupError>,
    ) -> Result<Vec<T>, BackupError> {
        let (mut some, before) = (Vec::new(), self.text_bytes);
        // An empty text takes memory, too, and the list of them grows by doubling.
        while *left > 0 && self.text_bytes - before + 4 * size_of::<T>() * some.len() < PART_BYTES {
            some.push(entry(self)?);
            *left -= 1;
        }
        Ok(some)
    }

    fn number(&mut self) -> Result<usize, BackupError> {
        let number = u32::from_le_bytes(self.bytes()?);
        usize::try_from(number).map_err(|_| self.damaged(format!("the length {number} is too great")))
    }

    fn score(&mut self) -> Result<f64, BackupError> {
        let score = f64::from_le_bytes(self.bytes()?);
        if score.is_nan() { Err(self.damaged("a score is no number".to_owned())) } else { Ok(score) }
    }

    /// A text. Memory is reserved as the bytes come.
    fn text(&mut self) -> Result<String, BackupError> {
        let length = self.number()?;
        if length > MAX_TEXT_BYTES {
            return Err(self.damaged(format!("a text of {length} bytes is too long")));
        }
        let mut text = Vec::with_capacity(length.min(BLOCK_BYTES));
        while text.len() < length {
            if !self.fill()? {
                return Err(self.damaged("the last record is not whole".to_owned()));
            }
            let rest = self.block.get(self.taken..).unwrap_or_default();
            let part = rest.get(..length - text.len()).unwrap_or(rest);
            text.extend_from_slice(part);
            self.taken += part.len();
        }
        self.text_bytes += length;
        String::from_utf8(text).map_err(|_| self.damaged("a text is not UTF-8".to_owned()))
    }

    /// The next bytes of the records.
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], BackupError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            if !self.fill()? {
                return Err(self.damaged("the last record is not whole".to_owned()));
            }
            *byte = self.block.get(self.taken).copied().unwrap_or_default();
            self.taken += 1;
        }
        Ok(bytes)
    }

    /// Reads the next block if the current one is used up. Returns false at the end.
    fn fill(&mut self) -> Result<bool, BackupError> {
        while self.taken == self.block.len() {
            if self.summary.is_some() || !self.read_block()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a block, or the end. Returns false at the end.
    fn read_block(&mut self) -> Result<bool, BackupError> {
        let at = self.position;
        let before = self.hasher.clone();
        let damaged = |what: &str| BackupError::Damaged { at, what: what.to_owned() };
        let magic: [u8; 4] = self.read("the next block")?;
        let length = u32::from_le_bytes(self.read("the next block")?);
        let is_length = |bytes: usize| usize::try_from(length) == Ok(bytes);
        if magic == END_MAGIC && is_length(END_BYTES) {
            self.read_end(at, before)?;
            return Ok(false);
        }
        if magic != BLOCK_MAGIC || !is_length(BLOCK_HEAD_BYTES) {
            return Err(damaged("no block begins here"));
        }
        let length = u32::from_le_bytes(self.read("the next block")?);
        let checksum = u32::from_le_bytes(self.read("the next block")?);
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_COMPRESSED_BYTES);
        let mut frame = vec![0; length.ok_or_else(|| damaged("the length of a block is wrong"))?];
        self.read_exact(&mut frame, "the rest of a block")?;
        if crc32fast::hash(&frame) != checksum {
            return Err(damaged("the checksum of a block is wrong"));
        }
        let block = self.decompressor.decompress(&frame, BLOCK_BYTES);
        self.block = block.map_err(|error| damaged(&format!("a block cannot be decompressed: {error}")))?;
        self.taken = 0;
        self.block_at = at;
        Ok(true)
    }

    /// Reads the end, which begins `at` this byte, after bytes with this checksum.
    fn read_end(&mut self, at: u64, before: Sha256) -> Result<(), BackupError> {
        let keys = u64::from_le_bytes(self.read("the end")?);
        let checksum: [u8; 32] = self.read("the end")?;
        let damaged = |what: String| BackupError::Damaged { at, what };
        if checksum != <[u8; 32]>::from(before.finalize()) {
            return Err(damaged("the checksum of the whole file is wrong".to_owned()));
        }
        if keys != self.keys {
            let (said, found) = (grouped(keys), grouped(self.keys));
            return Err(damaged(format!("the file says that it has {said} keys, but there are {found}")));
        }
        let bytes = self.position;
        match self.input.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => {
                return Err(BackupError::Damaged { at: bytes, what: "something follows the end".to_owned() });
            }
            Err(error) => return Err(BackupError::Unreadable { at: bytes, error }),
        }
        self.summary = Some(Summary { header: self.header, keys, bytes, checksum });
        Ok(())
    }

    fn read_header(&mut self) -> Result<Header, BackupError> {
        let foreign = |error| match error {
            BackupError::Truncated { .. } => BackupError::Foreign,
            error => error,
        };
        let magic: [u8; 4] = self.read("the header").map_err(foreign)?;
        let length = u32::from_le_bytes(self.read("the header").map_err(foreign)?);
        let signature: [u8; SIGNATURE.len()] = self.read("the header").map_err(foreign)?;
        if magic != HEADER_MAGIC || signature != SIGNATURE {
            return Err(BackupError::Foreign);
        }
        let damaged = |what: &str| BackupError::Damaged { at: 0, what: what.to_owned() };
        let length = usize::try_from(length).ok().filter(|length| HEADER_LENGTHS.contains(length));
        let length = length.ok_or_else(|| damaged("the length of the header is wrong"))?;
        let mut content = vec![0; length - SIGNATURE.len()];
        self.read_exact(&mut content, "the rest of the header")?;
        let Some((content, checksum)) = content.split_last_chunk::<4>() else {
            return Err(damaged("the header is too short"));
        };
        if crc32fast::hash(&[&signature[..], content].concat()) != u32::from_le_bytes(*checksum) {
            return Err(damaged("the checksum of the header is wrong"));
        }
        // Every format has its version here.
        let format = number_at(content, 0).map_or(0, u32::from_le_bytes);
        if format != FORMAT_VERSION {
            return Err(BackupError::Format(format));
        }
        let (Some(layout), Some(taken_at_ms)) = (number_at(content, 4), number_at(content, 8)) else {
            return Err(damaged("the header is too short"));
        };
        Ok(Header { layout: u32::from_le_bytes(layout), taken_at_ms: u64::from_le_bytes(taken_at_ms) })
    }

    fn read<const N: usize>(&mut self, missing: &'static str) -> Result<[u8; N], BackupError> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes, missing)?;
        Ok(bytes)
    }

    fn read_exact(&mut self, bytes: &mut [u8], missing: &'static str) -> Result<(), BackupError> {
        let mut length = 0;
        while length < bytes.len() {
            match self.input.read(&mut bytes[length..]) {
                Ok(0) => return Err(BackupError::Truncated { at: self.position, missing }),
                Ok(more) => {
                    length += more;
                    self.position += more as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BackupError::Unreadable { at: self.position, error }),
            }
        }
        self.hasher.update(bytes);
        Ok(())
    }

    fn damaged(&self, what: String) -> BackupError {
        BackupError::Damaged { at: self.block_at, what }
    }
}

/// The bytes of a number that starts at an offset.
fn number_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk::<N>().copied()
}
