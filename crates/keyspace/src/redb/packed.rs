//! A packed sorted set: stored inside its row, written whole, read at any position.
//!
//! The body contains the end of each entry (four bytes, big-endian, relative to the first
//! entry), then the entries, lowest first. An entry is the bits of the score (eight bytes,
//! big-endian) and the member.

use super::tables::{Encoding, RowHeader, corrupted, score_bytes, score_of, text};
use crate::query::Order;
use redb::StorageError;

const END_BYTES: usize = 4;
const SCORE_BYTES: usize = 8;

/// A packed sorted set, borrowed from its row.
pub(super) struct PackedSortedSet<'a> {
    ends: &'a [[u8; END_BYTES]],
    entries: &'a [u8],
}

impl<'a> PackedSortedSet<'a> {
    /// Reads a row of `keys`. Returns `None` if the value is stored in another way.
    pub(super) fn of(row: &'a [u8]) -> Result<Option<Self>, StorageError> {
        let header = RowHeader::of(row)?;
        if header.encoding != Encoding::PackedSortedSet {
            return Ok(None);
        }
        Self::new(header.count, RowHeader::body(row)).map(Some)
    }

    /// Reads the body of a row with `count` members.
    pub(super) fn new(count: u64, body: &'a [u8]) -> Result<Self, StorageError> {
        let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(END_BYTES));
        let (ends, entries) = size.and_then(|size| body.split_at_checked(size)).ok_or_else(cut_off)?;
        let (ends, _) = ends.as_chunks();
        Ok(Self { ends, entries })
    }

    /// The entry at a position; the lowest is at 0.
    fn entry(&self, position: usize) -> Result<(&'a str, f64), StorageError> {
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, end_of);
        let end = end_of(self.ends.get(position).ok_or_else(cut_off)?);
        let entry = self.entries.get(start..end).ok_or_else(cut_off)?;
        let (score, member) = entry.split_at_checked(SCORE_BYTES).ok_or_else(cut_off)?;
        Ok((text(member)?, score_of(score)?))
    }

    /// All members with their scores, lowest first.
    pub(super) fn members(&self) -> Result<Vec<(&'a str, f64)>, StorageError> {
        (0..self.ends.len()).map(|position| self.entry(position)).collect()
    }

    /// The members at some positions.
    pub(super) fn range(
        &self,
        order: Order,
        offset: u64,
        count: u64,
    ) -> Result<Vec<(String, f64)>, StorageError> {
        let total = self.ends.len();
        let first = usize::try_from(offset).unwrap_or(usize::MAX).min(total);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(total - first);
        let positions = first..first + count;
        match order {
            Order::Ascending => self.at(positions),
            Order::Descending => self.at(positions.map(|position| total - 1 - position)),
        }
    }

    fn at(&self, positions: impl Iterator<Item = usize>) -> Result<Vec<(String, f64)>, StorageError> {
        let owned = |(member, score): (&str, f64)| (member.to_owned(), score);
        positions.map(|position| self.entry(position).map(owned)).collect()
    }

    /// At most `count` members whose scores are within two bounds, both included.
    pub(super) fn by_score(
        &self,
        order: Order,
        least: f64,
        most: f64,
        count: u64,
    ) -> Result<Vec<(String, f64)>, StorageError> {
        let (first, end) =
            (self.first_where(|score| score >= least)?, self.first_where(|score| score > most)?);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match order {
            Order::Ascending => self.at((first..end).take(count)),
            Order::Descending => self.at((first..end).rev().take(count)),
        }
    }

    /// The first position whose score is high enough; the number of members if there is
    /// none.
    fn first_where(&self, is_high_enough: impl Fn(f64) -> bool) -> Result<usize, StorageError> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_high_enough(self.entry(middle)?.1) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// The score of a member. Takes time in proportion to the number of members: a packed
    /// set is meant to be read by position.
    pub(super) fn score(&self, member: &str) -> Result<Option<f64>, StorageError> {
        for position in 0..self.ends.len() {
            let (name, score) = self.entry(position)?;
            if name == member {
                return Ok(Some(score));
            }
        }
        Ok(None)
    }
}

/// The body of a row with these members, which must be in order.
pub(super) fn pack<S: AsRef<str>>(members: &[(S, f64)]) -> Vec<u8> {
    let size: usize = members.iter().map(|(member, _)| END_BYTES + SCORE_BYTES + member.as_ref().len()).sum();
    let mut body = Vec::with_capacity(size);
    let mut end: u32 = 0;
    for (member, _) in members {
        // Reading a set of more than four gibibytes would fail; no set is that large.
        let length = u32::try_from(SCORE_BYTES + member.as_ref().len()).unwrap_or(u32::MAX);
        end = end.saturating_add(length);
        body.extend_from_slice(&end.to_be_bytes());
    }
    for (member, score) in members {
        body.extend_from_slice(&score_bytes(*score));
        body.extend_from_slice(member.as_ref().as_bytes());
    }
    body
}

/// Adds a member to a set, or gives it a new score, and keeps the set in order.
pub(super) fn add<'a>(members: &mut Vec<(&'a str, f64)>, member: &'a str, score: f64) {
    members.retain(|(name, _)| *name != member);
    let place = members
        .partition_point(|(name, other)| other.total_cmp(&score).then_with(|| (*name).cmp(member)).is_lt());
    members.insert(place, (member, score));
}

fn end_of(bytes: &[u8; END_BYTES]) -> usize {
    usize::try_from(u32::from_be_bytes(*bytes)).unwrap_or(usize::MAX)
}

fn cut_off() -> StorageError {
    corrupted("a packed sorted set is cut off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_off_set_is_an_error_and_not_a_panic() {
        let body = pack(&[("a", 1.0), ("é", 2.5)]);
        let whole = PackedSortedSet::new(2, &body).unwrap();
        assert_eq!(whole.members().unwrap(), [("a", 1.0), ("é", 2.5)]);
        for end in 0..body.len() {
            let cut = PackedSortedSet::new(2, &body[..end]).and_then(|set| set.members());
            assert!(cut.is_err(), "{end}: {cut:?}");
        }
        assert!(PackedSortedSet::new(u64::MAX, &body).is_err());
    }
}
