//! Check values beside stored values, so that a byte that has changed on the disk is never served.
//!
//! redb compares the checksums of its pages only in a check of the whole file, and a page that is
//! written again gets a new checksum, whatever is in it. So each row of `keys` and `fields` carries a
//! check value of its own, over its key and its value. It travels with the value from page to page:
//! what was damaged once is refused for ever, and everything beside it is served.
//!
//! | bytes of a sealed row | content |
//! | --- | --- |
//! | 0..2 | 255, 255: no row of an earlier layout has that, and no UTF-8 text |
//! | 2..6 | CRC-32 of the length of the key (64 bits), the key and the rest, little-endian |
//! | from 6 | the row as an earlier layout has it |
//!
//! Rows of an earlier layout are read as they are. They are sealed when they are written, and
//! [`super::sealing`] seals the others.

use super::tables::{Bytes, corrupted};
use redb::{AccessGuard, StorageError};

const MARK: u8 = u8::MAX;
const MARK_BYTES: usize = 2;
const SEAL_BYTES: usize = MARK_BYTES + 4;

/// A row with its check value.
pub(super) fn sealed(key: &[u8], row: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(SEAL_BYTES + row.len());
    sealed.extend_from_slice(&[MARK; MARK_BYTES]);
    sealed.extend_from_slice(&check_value(key, row));
    sealed.extend_from_slice(row);
    sealed
}

/// Whether a row has a check value. One damaged byte does not hide it.
pub(super) fn is_sealed(stored: &[u8]) -> bool {
    stored.iter().take(MARK_BYTES).any(|byte| *byte == MARK)
}

/// The row without its check value, which must be right.
pub(super) fn opened<'a>(key: &[u8], stored: &'a [u8]) -> Result<&'a [u8], StorageError> {
    if !is_sealed(stored) {
        return Ok(stored);
    }
    let broken = || corrupted("a value does not match its check value");
    let (seal, row) = stored.split_at_checked(SEAL_BYTES).ok_or_else(broken)?;
    let (mark, value) = seal.split_at(MARK_BYTES);
    if mark == [MARK; MARK_BYTES] && value == check_value(key, row) { Ok(row) } else { Err(broken()) }
}

fn check_value(key: &[u8], row: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    // The same on every machine that the file is brought to.
    hasher.update(&u64::try_from(key.len()).unwrap_or(u64::MAX).to_le_bytes());
    hasher.update(key);
    hasher.update(row);
    hasher.finalize().to_le_bytes()
}

/// A stored row whose check value is right.
pub(super) struct Row<'a> {
    stored: AccessGuard<'a, Bytes>,
    start: usize,
}

impl<'a> Row<'a> {
    /// Opens what is stored under a key.
    pub(super) fn of(key: &[u8], stored: AccessGuard<'a, Bytes>) -> Result<Self, StorageError> {
        let start = stored.value().len() - opened(key, stored.value())?.len();
        Ok(Self { stored, start })
    }

    /// The row without its check value.
    pub(super) fn value(&self) -> &[u8] {
        self.stored.value().get(self.start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_changed_byte_of_a_sealed_row_is_taken_for_what_was_written() {
        for row in [&b""[..], b"v", "a longer text, with an é".as_bytes(), &[0; 40]] {
            let whole = sealed(b"key", row);
            assert_eq!(opened(b"key", &whole).unwrap(), row);
            assert!(opened(b"kex", &whole).is_err() && opened(b"keyv", &whole).is_err());
            for place in 0..whole.len() {
                for change in 1..=u8::MAX {
                    let mut changed = whole.clone();
                    changed[place] ^= change;
                    assert!(opened(b"key", &changed).is_err(), "{place}: {changed:?}");
                }
            }
            for end in 1..whole.len() {
                assert!(opened(b"key", &whole[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn rows_of_an_earlier_layout_are_read_as_they_are() {
        for row in [&b""[..], b"s", "é".as_bytes(), b"s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01text"] {
            assert_eq!(opened(b"key", row).unwrap(), row);
        }
    }
}
