//! The layout of the store file: the tables of the embedded engine and their bytes.
//!
//! Every table maps bytes to bytes, so that `memcmp` orders the keys.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `keys` | key | [`RowHeader`], then the string, or what a packed hash or sorted set holds |
//! | `fields` | key, field | value, for hashes that are too large for their row |
//! | `members` | key, member | nothing |
//! | `scores` | key, member | score, big-endian bits |
//! | `order` | key, ordered score, member | nothing |
//! | `expiries` | Unix milliseconds, key | nothing |
//!
//! The rows of a collection start with the length of its key and the key, so that a
//! collection is one contiguous range and no key can be mistaken for another.
//!
//! A hash of up to [`PACKED_BYTES`] is stored inside its row in `keys`: most hashes are
//! small and read whole, and one lookup is several times faster than a range of rows. A
//! larger hash has a row for each field, so that a change does not rewrite all of it.
//!
//! A sorted set that was stored by a selection is inside its row too, however large it is:
//! it is written whole, read at any position, and removed whole.
//!
//! The rows of `keys` and `fields` carry check values ([`super::seal`]), except those of packed sorted
//! sets: they are made anew from other keys, hold no text, and are too large to check at each read.

use super::seal::{Row, sealed};
use redb::{ReadableTable, StorageError, TableDefinition, TableError};

/// The version of the layout. Every change of the tables' bytes raises it.
pub(super) const LAYOUT_VERSION: u64 = 4;

/// The largest packed hash, in bytes. A larger one has a row for each field.
pub(super) const PACKED_BYTES: usize = 2048;

/// Numbers about the store itself.
pub(super) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
/// The key of the version in [`META`].
pub(super) const META_LAYOUT: &str = "layout";
/// The key of the id of the store's journal in [`META`]; 0 means none.
pub(super) const META_JOURNAL: &str = "journal";
/// The key of the number of the last journal record that the tables contain, in [`META`].
pub(super) const META_RECORD: &str = "record";

/// The key of the time of the last write, in Unix milliseconds, in [`META`]. Absent in files of
/// earlier versions.
pub(super) const META_CLOCK: &str = "clock";

/// A key in [`META`] that is there once all rows have check values. A file that an earlier version
/// wrote gets it later.
pub(super) const META_SEALED: &str = "sealed";

/// The type of the keys and values of all tables.
pub(super) type Bytes = &'static [u8];

const KEYS: TableDefinition<Bytes, Bytes> = TableDefinition::new("keys");
const FIELDS: TableDefinition<Bytes, Bytes> = TableDefinition::new("fields");
const MEMBERS: TableDefinition<Bytes, Bytes> = TableDefinition::new("members");
const SCORES: TableDefinition<Bytes, Bytes> = TableDefinition::new("scores");
const ORDER: TableDefinition<Bytes, Bytes> = TableDefinition::new("order");
const EXPIRIES: TableDefinition<Bytes, Bytes> = TableDefinition::new("expiries");

/// The tables, open in a read or a write transaction; or something for each of them.
#[derive(Default)]
pub(super) struct Tables<T> {
    pub(super) keys: T,
    pub(super) fields: T,
    pub(super) members: T,
    pub(super) scores: T,
    pub(super) order: T,
    pub(super) expiries: T,
    /// The time, in Unix milliseconds: what expires by then is absent.
    pub(super) now: u64,
}

/// A table open for reading.
pub(super) type ReadTable = redb::ReadOnlyTable<Bytes, Bytes>;
/// A table open for writing.
pub(super) type WriteTable<'txn> = redb::Table<'txn, Bytes, Bytes>;

impl<T> Tables<T> {
    fn open<E>(open: impl Fn(TableDefinition<'static, Bytes, Bytes>) -> Result<T, E>) -> Result<Self, E> {
        Ok(Self {
            keys: open(KEYS)?,
            fields: open(FIELDS)?,
            members: open(MEMBERS)?,
            scores: open(SCORES)?,
            order: open(ORDER)?,
            expiries: open(EXPIRIES)?,
            now: 0,
        })
    }

    /// The same at this time.
    pub(super) fn at(self, now: u64) -> Self {
        Self { now, ..self }
    }

    /// All of them, always in the same order.
    pub(super) fn into_all(self) -> [T; 6] {
        let Self { keys, fields, members, scores, order, expiries, .. } = self;
        [keys, fields, members, scores, order, expiries]
    }
}

impl Tables<ReadTable> {
    /// Opens the tables in a read transaction.
    pub(super) fn read(transaction: &redb::ReadTransaction) -> Result<Self, TableError> {
        Self::open(|table| transaction.open_table(table))
    }
}

impl<'txn> Tables<WriteTable<'txn>> {
    /// Opens the tables in a write transaction; creates those that are missing.
    pub(super) fn write(transaction: &'txn redb::WriteTransaction) -> Result<Self, TableError> {
        Self::open(|table| transaction.open_table(table))
    }
}

impl<T: ReadableTable<Bytes, Bytes>> Tables<T> {
    /// The row of a key, even if it is expired.
    pub(super) fn any_row(&self, key: &str) -> Result<Option<Row<'_>>, StorageError> {
        self.keys.get(key.as_bytes())?.map(|stored| Row::of(key.as_bytes(), stored)).transpose()
    }

    /// The row of a key, unless the key is absent or expired.
    pub(super) fn live_row(&self, key: &str) -> Result<Option<Row<'_>>, StorageError> {
        let Some(row) = self.any_row(key)? else { return Ok(None) };
        let expired = RowHeader::of(row.value())?.expired(self.now);
        Ok((!expired).then_some(row))
    }
}

/// The type of a key's value, and how it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Encoding {
    String = b's',
    /// A hash inside its row.
    PackedHash = b'h',
    /// A hash with a row for each field.
    WideHash = b'H',
    Set = b'S',
    SortedSet = b'Z',
    /// A sorted set inside its row; see [`super::packed`].
    PackedSortedSet = b'z',
}

/// The type of a key's value, as callers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    String,
    Hash,
    Set,
    SortedSet,
}

impl Encoding {
    const ALL: [Self; 6] =
        [Self::String, Self::PackedHash, Self::WideHash, Self::Set, Self::SortedSet, Self::PackedSortedSet];

    /// The type, as callers see it.
    pub(super) fn value_type(self) -> ValueType {
        match self {
            Self::String => ValueType::String,
            Self::PackedHash | Self::WideHash => ValueType::Hash,
            Self::Set => ValueType::Set,
            Self::SortedSet | Self::PackedSortedSet => ValueType::SortedSet,
        }
    }
}

/// The start of every row in `keys`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowHeader {
    pub(super) encoding: Encoding,
    /// When the key expires, in Unix milliseconds; 0 means never.
    pub(super) expires_at: u64,
    /// The number of fields or members; 1 for a string.
    pub(super) count: u64,
}

const HEADER_BYTES: usize = 17;

impl RowHeader {
    /// Reads the header of a row.
    pub(super) fn of(row: &[u8]) -> Result<Self, StorageError> {
        let (header, _) =
            row.split_at_checked(HEADER_BYTES).ok_or_else(|| corrupted("a key's row is short"))?;
        let encoding = Encoding::ALL.into_iter().find(|encoding| *encoding as u8 == header[0]);
        let encoding = encoding
            .ok_or_else(|| corrupted(&format!("a key's row has the unknown encoding {}", header[0])))?;
        Ok(Self { encoding, expires_at: number(&header[1..9])?, count: number(&header[9..])? })
    }

    /// The bytes after the header of a row.
    pub(super) fn body(row: &[u8]) -> &[u8] {
        row.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// A row of this header and a body.
    pub(super) fn row(&self, body: &[u8]) -> Vec<u8> {
        let mut row = Vec::with_capacity(HEADER_BYTES + body.len());
        row.push(self.encoding as u8);
        row.extend_from_slice(&self.expires_at.to_be_bytes());
        row.extend_from_slice(&self.count.to_be_bytes());
        row.extend_from_slice(body);
        row
    }

    /// The row of a key, as `keys` has it: with a check value.
    pub(super) fn stored_row(&self, key: &str, body: &[u8]) -> Vec<u8> {
        let row = self.row(body);
        if Self::has_check_value(&row) { sealed(key.as_bytes(), &row) } else { row }
    }

    /// Whether a row has a check value once it is written.
    pub(super) fn has_check_value(row: &[u8]) -> bool {
        row.first() != Some(&(Encoding::PackedSortedSet as u8))
    }

    /// Whether the key is absent at this time.
    pub(super) fn expired(&self, now: u64) -> bool {
        self.expires_at != 0 && self.expires_at <= now
    }
}

/// The start of all rows of a collection.
pub(super) fn prefix(key: &str) -> Vec<u8> {
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut prefix = Vec::with_capacity(4 + key.len() + 40);
    prefix.extend_from_slice(&length.to_be_bytes());
    prefix.extend_from_slice(key.as_bytes());
    prefix
}

/// The key of one row of a collection.
pub(super) fn joined(prefix: &[u8], rest: &[u8]) -> Vec<u8> {
    [prefix, rest].concat()
}

/// The first key after all rows of a collection.
pub(super) fn after(prefix: &[u8]) -> Vec<u8> {
    // No carry: the last byte is that of a UTF-8 text, which is never 255, or
    // that of the length of the empty key, which is 0.
    let mut after = prefix.to_vec();
    if let Some(last) = after.last_mut() {
        *last = last.saturating_add(1);
    }
    after
}

/// The key of a row in `expiries`.
pub(super) fn expiry_key(expires_at: u64, key: &str) -> Vec<u8> {
    joined(&expires_at.to_be_bytes(), key.as_bytes())
}

/// The time and the key of a row in `expiries`.
pub(super) fn split_expiry_key(row: &[u8]) -> Result<(u64, &str), StorageError> {
    let (time, key) = row.split_at_checked(8).ok_or_else(|| corrupted("an expiry's row is short"))?;
    Ok((number(time)?, text(key)?))
}

/// The key of a row in `order`.
pub(super) fn order_key(prefix: &[u8], score: f64, member: &[u8]) -> Vec<u8> {
    [prefix, &ordered_bits(score).to_be_bytes(), member].concat()
}

/// The range of keys in `order` whose scores are between two, both included: the first key,
/// and the key after the last.
pub(super) fn order_keys_between(prefix: &[u8], least: f64, most: f64) -> (Vec<u8>, Vec<u8>) {
    // Adding 0.0 turns -0.0 into 0.0: both zeros are one score. No carry: only a negative NaN has all bits set.
    let (first, last) = (ordered_bits(least + 0.0), ordered_bits(most + 0.0));
    (joined(prefix, &first.to_be_bytes()), joined(prefix, &last.saturating_add(1).to_be_bytes()))
}

/// The score and the member of a row in `order`, after its prefix.
pub(super) fn split_order_key<'a>(prefix: &[u8], row: &'a [u8]) -> Result<(f64, &'a str), StorageError> {
    let rest = row.get(prefix.len()..).unwrap_or_default();
    let (bits, member) = rest.split_at_checked(8).ok_or_else(|| corrupted("a sorted set's row is short"))?;
    Ok((score_of_ordered_bits(number(bits)?), text(member)?))
}

/// The bytes of a row in `scores`.
pub(super) fn score_bytes(score: f64) -> [u8; 8] {
    score.to_bits().to_be_bytes()
}

/// The score of a row in `scores`.
pub(super) fn score_of(row: &[u8]) -> Result<f64, StorageError> {
    number(row).map(f64::from_bits)
}

const SIGN: u64 = 1 << 63;

/// Bits that, compared as unsigned numbers, order as the scores do.
fn ordered_bits(score: f64) -> u64 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn score_of_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
}

/// The fields and values of a packed hash, in no particular order.
pub(super) struct PackedFields<'a>(&'a [u8]);

impl<'a> PackedFields<'a> {
    /// Reads the body of a packed hash.
    pub(super) fn of(body: &'a [u8]) -> Self {
        Self(body)
    }

    fn split(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for PackedFields<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let pair = self.split().zip(self.split());
        if pair.is_none() {
            self.0 = &[];
        }
        Some(pair.ok_or_else(|| corrupted("a packed hash is cut off")))
    }
}

/// Adds a field to the body of a packed hash.
pub(super) fn pack_field(body: &mut Vec<u8>, field: &[u8], value: &[u8]) {
    for bytes in [field, value] {
        // A longer text does not fit into a packed hash.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(bytes);
    }
}

/// Reads bytes that were written as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, StorageError> {
    std::str::from_utf8(bytes).map_err(|_| corrupted("a text is not UTF-8"))
}

fn number(bytes: &[u8]) -> Result<u64, StorageError> {
    bytes.try_into().map(u64::from_be_bytes).map_err(|_| corrupted("a number is not eight bytes"))
}

/// The error for a store file whose bytes make no sense.
pub(super) fn corrupted(what: &str) -> StorageError {
    StorageError::Corrupted(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_order_as_scores_do_and_come_back() {
        let scores = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -1.0,
            -f64::MIN_POSITIVE,
            0.0,
            f64::MIN_POSITIVE,
            0.1,
            1.0,
            1e15,
            f64::MAX,
            f64::INFINITY,
        ];
        for pair in scores.windows(2) {
            assert!(ordered_bits(pair[0]) < ordered_bits(pair[1]), "{pair:?}");
        }
        for score in scores {
            assert_eq!(score_of_ordered_bits(ordered_bits(score)).to_bits(), score.to_bits());
        }
    }

    #[test]
    fn a_collection_ends_before_its_neighbours_start() {
        for (key, other) in [("", "\0"), ("a", "b"), ("a", "a\0"), ("\u{10ffff}", "z"), ("ab", "a")] {
            let prefix = prefix(key);
            let inside = joined(&prefix, "\u{10ffff}".as_bytes());
            assert!(inside < after(&prefix), "{key:?}");
            let neighbour = joined(&super::prefix(other), b"x");
            assert!(neighbour < prefix || neighbour >= after(&prefix), "{key:?} {other:?}");
        }
    }

    #[test]
    fn a_cut_off_packed_hash_is_an_error_and_not_a_panic() {
        let mut body = Vec::new();
        pack_field(&mut body, b"field", b"value");
        for end in 1..body.len() {
            assert!(PackedFields::of(&body[..end]).next().unwrap().is_err(), "{end}");
        }
        assert_eq!(PackedFields::of(&body).next().unwrap().unwrap(), (&b"field"[..], &b"value"[..]));
    }
}
