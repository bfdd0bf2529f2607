//! The format of backup files: frames of zstd, between frames that zstd skips.
//!
//! | frame | bytes |
//! | --- | --- |
//! | header, skipped by zstd | [`HEADER_MAGIC`], length, [`SIGNATURE`], format, layout, time, CRC-32 of what follows the length |
//! | for each block: a frame skipped by zstd | [`BLOCK_MAGIC`], length, length of the next frame, CRC-32 of the next frame |
//! | and a frame of zstd | up to [`BLOCK_BYTES`] of the records |
//! | end, skipped by zstd | [`END_MAGIC`], length, number of keys, SHA-256 of all before this frame |
//!
//! The blocks together are one stream of records, which may cross from one block to the next.
//! `docs/backup-format.md` describes the records and has a program that prints them.
//! All numbers have the lowest byte first.

use tidings_keyspace::{Entry, Value};

/// The first bytes of the header: a frame that zstd skips.
pub const HEADER_MAGIC: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];
/// The first bytes of the frame before a block.
pub const BLOCK_MAGIC: [u8; 4] = [0x51, 0x2a, 0x4d, 0x18];
/// The first bytes of the last frame.
pub const END_MAGIC: [u8; 4] = [0x52, 0x2a, 0x4d, 0x18];
/// The beginning of the header, after its magic and its length.
pub const SIGNATURE: [u8; 14] = *b"tidings backup";

/// The version of the format that this program writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The bytes of a header after its magic and its length.
pub const HEADER_BYTES: usize = SIGNATURE.len() + 4 + 4 + 8 + 4;
/// The bytes of a frame before a block after its magic and its length.
pub const BLOCK_HEAD_BYTES: usize = 8;
/// The bytes of the last frame after its magic and its length.
pub const END_BYTES: usize = 8 + 32;

/// The bytes of records in one block, at most.
pub const BLOCK_BYTES: usize = 1 << 20;
/// The bytes of a compressed block, at most: what zstd makes of random bytes, and some more.
pub const MAX_COMPRESSED_BYTES: usize = BLOCK_BYTES + (64 << 10);
/// The bytes of one text, at most. The longest that the site writes is its logo.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// About the bytes of the entries of a large key that are read together, and written in one batch.
pub const PART_BYTES: usize = 512 << 10;

/// The layout and the moment in the header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The layout of the keys: see `docs/data-layout.md`.
    pub layout: u32,
    /// The moment of the snapshot, in Unix milliseconds.
    pub taken_at_ms: u64,
}

/// The summary of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Its header.
    pub header: Header,
    /// The number of keys.
    pub keys: u64,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// The checksum at its end, which identifies it.
    pub checksum: [u8; 32],
}

/// A key in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// When it expires, in Unix milliseconds; 0 means never.
    pub expires_at_ms: u64,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl Record {
    /// The record of an entry of a snapshot that was taken at this time.
    pub fn of(entry: Entry, taken_at_ms: u64) -> Self {
        let Entry { key, value, time_to_live } = entry;
        let milliseconds = |left: std::time::Duration| u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let expires_at_ms =
            time_to_live.map_or(0, |left| taken_at_ms.saturating_add(milliseconds(left)).max(1));
        Self { expires_at_ms, key, value }
    }

    /// The entry to restore now; `None` if it has expired.
    pub fn entry(self, now_ms: u64) -> Option<Entry> {
        let Self { expires_at_ms, key, value } = self;
        let time_to_live = match expires_at_ms {
            0 => None,
            time if time <= now_ms => return None,
            time => Some(std::time::Duration::from_millis(time - now_ms)),
        };
        Some(Entry { key, value, time_to_live })
    }

    /// Adds the record to bytes. Returns the bytes of its longest text.
    pub fn write(&self, bytes: &mut Vec<u8>) -> usize {
        let (kind, count) = match &self.value {
            Value::String(_) => (Kind::String, None),
            Value::Hash(fields) => (Kind::Hash, Some(fields.len())),
            Value::Set(members) => (Kind::Set, Some(members.len())),
            Value::SortedSet(members) => (Kind::SortedSet, Some(members.len())),
        };
        bytes.push(kind as u8);
        bytes.extend_from_slice(&self.expires_at_ms.to_le_bytes());
        let mut longest = self.key.len();
        write_text(bytes, &self.key);
        count.into_iter().for_each(|count| write_number(bytes, count));
        let mut add = |text: &String, score: Option<&f64>| {
            longest = longest.max(text.len());
            write_text(bytes, text);
            score.into_iter().for_each(|score| bytes.extend_from_slice(&score.to_le_bytes()));
        };
        match &self.value {
            Value::String(text) => add(text, None),
            Value::Hash(fields) => {
                fields.iter().flat_map(|(field, value)| [field, value]).for_each(|text| add(text, None));
            }
            Value::Set(members) => members.iter().for_each(|member| add(member, None)),
            Value::SortedSet(members) => members.iter().for_each(|(member, score)| add(member, Some(score))),
        }
        longest
    }
}

/// The first byte of a record: the type of the key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A string.
    String = b's',
    /// A hash.
    Hash = b'h',
    /// A set.
    Set = b'm',
    /// A sorted set.
    SortedSet = b'z',
}

impl Kind {
    /// The type that a byte stands for.
    pub fn of(byte: u8) -> Option<Self> {
        let all = [Self::String, Self::Hash, Self::Set, Self::SortedSet];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// No text and no collection of a store has more than 2^32 bytes or entries.
fn write_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    write_number(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// A frame that zstd skips.
pub(super) fn skipped_frame(magic: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut frame = magic.to_vec();
    write_number(&mut frame, content.len());
    frame.extend_from_slice(content);
    frame
}

impl Header {
    /// The frame of the header.
    pub(super) fn frame(self) -> Vec<u8> {
        let mut content = SIGNATURE.to_vec();
        content.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        content.extend_from_slice(&self.layout.to_le_bytes());
        content.extend_from_slice(&self.taken_at_ms.to_le_bytes());
        content.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
        skipped_frame(HEADER_MAGIC, &content)
    }
}
