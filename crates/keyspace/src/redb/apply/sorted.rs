//! Applying writes to sorted sets.

use super::{KeyRow, count_of};
use crate::batch::Bound;
use crate::redb::packed::{self, PackedSortedSet};
use crate::redb::tables::{
    Encoding, RowHeader, Tables, WriteTable, after, joined, order_key, prefix, score_bytes, score_of,
    split_order_key,
};
use redb::{ReadableTable, StorageError};

impl Tables<WriteTable<'_>> {
    /// Adds a member, or changes its score.
    pub(super) fn sorted_add(&mut self, key: &str, member: &str, score: f64) -> Result<(), StorageError> {
        let mut row = self.row_or_new(key, Encoding::SortedSet)?;
        // The two zeros are equal scores, so their bits, which order the set, must be equal.
        let score = score + 0.0;
        if row.header.encoding == Encoding::PackedSortedSet {
            return self.change_packed(key, &row, |packed| packed::add(packed, member, score));
        }
        let (prefix, member) = (prefix(key), member.as_bytes());
        let before = self.scores.insert(joined(&prefix, member).as_slice(), score_bytes(score).as_slice())?;
        let before = before.map(|guard| score_of(guard.value())).transpose()?;
        if before == Some(score) {
            return Ok(());
        }
        self.order.insert(order_key(&prefix, score, member).as_slice(), &[][..])?;
        if let Some(before) = before {
            self.order.remove(order_key(&prefix, before, member).as_slice())?;
            return Ok(());
        }
        row.header.count += 1;
        self.store(key, &row)
    }

    pub(super) fn sorted_add_bounded(
        &mut self,
        key: &str,
        member: &str,
        score: f64,
        bound: &Bound,
    ) -> Result<(), StorageError> {
        self.sorted_add(key, member, score)?;
        let Some(dropped) = self.sorted_trim(key, bound.keep)? else { return Ok(()) };
        self.sorted_raise(&bound.floors, &bound.member, dropped)
    }

    pub(super) fn sorted_append(&mut self, key: &str, member: &str) -> Result<(), StorageError> {
        let highest = self.highest_score(key)?;
        self.sorted_add(key, member, highest.unwrap_or(0.0) + 1.0)
    }

    fn highest_score(&mut self, key: &str) -> Result<Option<f64>, StorageError> {
        let Some(row) = self.row(key)? else { return Ok(None) };
        if row.header.encoding == Encoding::PackedSortedSet {
            let members = PackedSortedSet::new(row.header.count, &row.body)?.members()?;
            return Ok(members.last().map(|(_, score)| *score));
        }
        let prefix = prefix(key);
        let end = after(&prefix);
        let mut rows = self.order.range(prefix.as_slice()..end.as_slice())?;
        let Some((row_key, _)) = rows.next_back().transpose()? else { return Ok(None) };
        Ok(Some(split_order_key(&prefix, row_key.value())?.0))
    }

    pub(super) fn sorted_raise(&mut self, key: &str, member: &str, score: f64) -> Result<(), StorageError> {
        match self.live_score(key, member)? {
            Some(before) if before >= score => Ok(()),
            _ => self.sorted_add(key, member, score),
        }
    }

    pub(super) fn sorted_increment(&mut self, key: &str, member: &str, by: f64) -> Result<(), StorageError> {
        let before = self.live_score(key, member)?;
        self.sorted_add(key, member, before.unwrap_or(0.0) + by)
    }

    /// The score of a member, unless the set has expired.
    fn live_score(&mut self, key: &str, member: &str) -> Result<Option<f64>, StorageError> {
        match self.row(key)? {
            Some(row) => self.score(key, &row.header.row(&row.body), member),
            None => Ok(None),
        }
    }

    pub(super) fn sorted_remove(&mut self, key: &str, member: &str) -> Result<(), StorageError> {
        let Some(mut row) = self.row(key)? else { return Ok(()) };
        if row.header.encoding == Encoding::PackedSortedSet {
            return self.change_packed(key, &row, |members| members.retain(|(name, _)| *name != member));
        }
        let prefix = prefix(key);
        let Some(score) = self.score(key, &row.header.row(&[]), member)? else { return Ok(()) };
        self.scores.remove(joined(&prefix, member.as_bytes()).as_slice())?;
        self.order.remove(order_key(&prefix, score, member.as_bytes()).as_slice())?;
        row.header.count = row.header.count.saturating_sub(1);
        self.store_or_clear(key, &row)
    }

    /// Removes all but the `keep` highest members. Returns the highest score that was
    /// removed.
    pub(super) fn sorted_trim(&mut self, key: &str, keep: u64) -> Result<Option<f64>, StorageError> {
        let Some(mut row) = self.row(key)?.filter(|row| row.header.count > keep) else { return Ok(None) };
        if row.header.encoding == Encoding::PackedSortedSet {
            let mut dropped = None;
            let beyond = usize::try_from(row.header.count - keep).unwrap_or(usize::MAX);
            self.change_packed(key, &row, |members| {
                let beyond = beyond.min(members.len());
                dropped = members.drain(..beyond).next_back().map(|(_, score)| score);
            })?;
            return Ok(dropped);
        }
        let mut dropped = None;
        let prefix = prefix(key);
        let end = after(&prefix);
        while row.header.count > keep {
            let lowest = {
                let mut rows = self.order.range(prefix.as_slice()..end.as_slice())?;
                rows.next().transpose()?.map(|(row_key, _)| row_key.value().to_vec())
            };
            let Some(row_key) = lowest else { break };
            let (score, member) = split_order_key(&prefix, &row_key)?;
            dropped = Some(score);
            self.scores.remove(joined(&prefix, member.as_bytes()).as_slice())?;
            self.order.remove(row_key.as_slice())?;
            row.header.count = row.header.count.saturating_sub(1);
        }
        self.store_or_clear(key, &row)?;
        Ok(dropped)
    }

    /// Changes the members of a packed sorted set, which are lowest first, and rewrites it.
    fn change_packed<'row>(
        &mut self,
        key: &str,
        row: &'row KeyRow,
        change: impl FnOnce(&mut Vec<(&'row str, f64)>),
    ) -> Result<(), StorageError> {
        let mut members = PackedSortedSet::new(row.header.count, &row.body)?.members()?;
        change(&mut members);
        let changed = packed_set(row.header.expires_at, &members);
        self.store_or_clear(key, &changed)
    }
}

/// The row of a packed sorted set.
pub(super) fn packed_set<S: AsRef<str>>(expires_at: u64, members: &[(S, f64)]) -> KeyRow {
    let header =
        RowHeader { encoding: Encoding::PackedSortedSet, expires_at, count: count_of(members.len()) };
    KeyRow { header, body: packed::pack(members) }
}
