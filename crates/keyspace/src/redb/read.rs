//! Reads, checks and selections, in a read transaction or in that of the writer.

use super::ReadOutcomes;
use super::packed::PackedSortedSet;
use super::seal::{Row, opened};
use super::tables::{
    Bytes, Encoding, PackedFields, RowHeader, Tables, ValueType, after, joined, order_keys_between, prefix,
    score_of, split_order_key, text,
};
use crate::KeyspaceError;
use crate::batch::{Check, Selection, Within, parse_counter};
use crate::limits::MAX_RESERVED_FIELDS;
use crate::query::{Answer, Expiry, Hash, Order, Read};
use redb::{ReadableTable, StorageError};
use std::time::Duration;

/// Rows that a query keeps at hand: its reads often name a key several times, a few reads apart.
const RECENT_ROWS: usize = 8;

/// A key, and its row if it has one.
type RecentRow<'a> = (&'a str, Option<Row<'a>>);

impl<T: ReadableTable<Bytes, Bytes>> Tables<T> {
    /// The answers to reads of one query.
    pub(super) fn answers(&self, reads: &[Read]) -> ReadOutcomes {
        let mut recent = Vec::with_capacity(RECENT_ROWS);
        reads.iter().map(|read| self.named_answer(read, &mut recent)).collect()
    }

    /// The answer to a read.
    pub(super) fn answer(&self, read: &Read) -> Result<Answer, KeyspaceError> {
        self.named_answer(read, &mut Vec::new())
    }

    fn named_answer<'a>(
        &'a self,
        read: &'a Read,
        recent: &mut Vec<RecentRow<'a>>,
    ) -> Result<Answer, KeyspaceError> {
        self.unnamed_answer(read, recent).map_err(|error| match error {
            KeyspaceError::Damaged(what) => {
                tracing::debug!(key = read.key(), what, "a value is damaged");
                KeyspaceError::Damaged(read.key().to_owned())
            }
            error => error,
        })
    }

    /// The row of a key, from those that were looked up last or from the table.
    fn recent_row<'a, 'r>(
        &'a self,
        key: &'a str,
        recent: &'r mut Vec<RecentRow<'a>>,
    ) -> Result<Option<&'r Row<'a>>, StorageError> {
        match recent.iter().position(|(known, _)| *known == key) {
            Some(place) => recent.get_mut(..=place).into_iter().for_each(|used| used.rotate_right(1)),
            None => {
                let row = self.live_row(key)?;
                recent.truncate(RECENT_ROWS - 1);
                recent.insert(0, (key, row));
            }
        }
        Ok(recent.first().and_then(|(_, row)| row.as_ref()))
    }

    /// The answer to a read. If the value is damaged, the error says how, and not which it is.
    fn unnamed_answer<'a>(
        &'a self,
        read: &'a Read,
        recent: &mut Vec<RecentRow<'a>>,
    ) -> Result<Answer, KeyspaceError> {
        let key = read.key();
        let Some(row) = self.recent_row(key, recent)?.map(Row::value) else { return Ok(read.absent()) };
        let header = RowHeader::of(row)?;
        let wanted = match read {
            Read::Expiry(_) => None,
            Read::String(_) => Some(ValueType::String),
            Read::Hash(_) | Read::HashFields(..) | Read::FieldCount(_) => Some(ValueType::Hash),
            Read::Members(_) | Read::MemberCount(_) | Read::HasMember(..) => Some(ValueType::Set),
            Read::Scores(..)
            | Read::SortedCount(_)
            | Read::SortedRange { .. }
            | Read::SortedByScore { .. } => Some(ValueType::SortedSet),
        };
        demand_type(key, header, wanted)?;
        Ok(match read {
            Read::Expiry(_) if header.expires_at == 0 => Answer::Expiry(Expiry::Never),
            Read::Expiry(_) => {
                Answer::Expiry(Expiry::In(Duration::from_millis(header.expires_at.saturating_sub(self.now))))
            }
            Read::String(_) => Answer::Text(Some(text(RowHeader::body(row))?.to_owned())),
            Read::Hash(_) => Answer::Hash(Hash(self.hash(key, row)?)),
            Read::HashFields(_, fields) => {
                let values =
                    fields.iter().map(|field| self.field(key, row, field)?.map(into_text).transpose());
                Answer::Texts(values.collect::<Result<_, StorageError>>()?)
            }
            Read::FieldCount(_) | Read::MemberCount(_) | Read::SortedCount(_) => Answer::Count(header.count),
            Read::Members(_) => Answer::Members(self.set_members(key)?),
            Read::HasMember(_, member) => Answer::Bool(self.has_member(key, member)?),
            Read::Scores(_, members) => {
                let scores = members.iter().map(|member| self.score(key, row, member));
                Answer::Scores(scores.collect::<Result<_, _>>()?)
            }
            Read::SortedRange { order, offset, count, .. } => {
                Answer::Scored(self.sorted_range(key, row, *order, *offset, *count)?)
            }
            Read::SortedByScore { order, least, most, count, .. } => {
                Answer::Scored(self.sorted_by_score(key, row, *order, (*least, *most), *count)?)
            }
        })
    }

    /// Whether a check holds.
    pub(super) fn holds(&self, check: &Check) -> Result<bool, KeyspaceError> {
        let key = check.key();
        let row = self.live_row(key)?;
        let row = row.as_ref().map(Row::value);
        let wanted = match check {
            Check::KeyAbsent(_) | Check::KeyPresent(_) => None,
            Check::StringEquals(..) => Some(ValueType::String),
            Check::FieldEquals(..) | Check::FieldAbsent(..) | Check::FieldAtLeast(..) => {
                Some(ValueType::Hash)
            }
            Check::MemberAbsent(..) => Some(ValueType::Set),
            Check::SortedMemberAbsent(..) | Check::SortedMemberPresent(..) => Some(ValueType::SortedSet),
        };
        if let Some(row) = row {
            demand_type(key, RowHeader::of(row)?, wanted)?;
        }
        let field = |field: &str| row.map_or(Ok(None), |row| self.field(key, row, field));
        let score = |member: &str| row.map_or(Ok(None), |row| self.score(key, row, member));
        Ok(match check {
            Check::KeyAbsent(_) => row.is_none(),
            Check::KeyPresent(_) => row.is_some(),
            Check::StringEquals(_, value) => row.is_some_and(|row| RowHeader::body(row) == value.as_bytes()),
            Check::FieldEquals(_, name, value) => field(name)?.is_some_and(|bytes| bytes == value.as_bytes()),
            Check::FieldAbsent(_, name) => field(name)?.is_none(),
            Check::FieldAtLeast(_, name, least) => {
                row.map_or(Ok(0), |row| self.field_number(key, row, name))? >= *least
            }
            Check::MemberAbsent(_, member) => row.is_none() || !self.has_member(key, member)?,
            Check::SortedMemberAbsent(_, member) => score(member)?.is_none(),
            Check::SortedMemberPresent(_, member) => score(member)?.is_some(),
        })
    }

    /// A field as a whole number; 0 if it is absent.
    pub(super) fn field_number(&self, key: &str, row: &[u8], field: &str) -> Result<i64, KeyspaceError> {
        match self.field(key, row, field)? {
            None => Ok(0),
            Some(bytes) => {
                parse_counter(text(&bytes)?).ok_or_else(|| KeyspaceError::NotAnInteger(key.to_owned()))
            }
        }
    }

    /// One field of a hash, given the hash's row.
    fn field(&self, key: &str, row: &[u8], field: &str) -> Result<Option<Vec<u8>>, StorageError> {
        if RowHeader::of(row)?.encoding == Encoding::WideHash {
            let row_key = joined(&prefix(key), field.as_bytes());
            let Some(stored) = self.fields.get(row_key.as_slice())? else { return Ok(None) };
            return Ok(Some(opened(&row_key, stored.value())?.to_vec()));
        }
        for pair in PackedFields::of(RowHeader::body(row)) {
            let (name, value) = pair?;
            if name == field.as_bytes() {
                return Ok(Some(value.to_vec()));
            }
        }
        Ok(None)
    }

    /// A whole hash, given its row.
    pub(super) fn hash(&self, key: &str, row: &[u8]) -> Result<Vec<(String, String)>, StorageError> {
        let header = RowHeader::of(row)?;
        let mut fields = Vec::with_capacity(capacity(header.count).min(MAX_RESERVED_FIELDS));
        if header.encoding == Encoding::WideHash {
            let prefix = prefix(key);
            for entry in self.fields.range(prefix.as_slice()..after(&prefix).as_slice())? {
                let (row_key, value) = entry?;
                let value = opened(row_key.value(), value.value())?;
                fields.push((member(&prefix, row_key.value())?, text(value)?.to_owned()));
            }
        } else {
            for pair in PackedFields::of(RowHeader::body(row)) {
                let (field, value) = pair?;
                fields.push((text(field)?.to_owned(), text(value)?.to_owned()));
            }
        }
        Ok(fields)
    }

    /// The members of a set.
    pub(super) fn set_members(&self, key: &str) -> Result<Vec<String>, StorageError> {
        let prefix = prefix(key);
        let rows = self.members.range(prefix.as_slice()..after(&prefix).as_slice())?;
        rows.map(|entry| member(&prefix, entry?.0.value())).collect()
    }

    /// Whether a set has a member.
    pub(super) fn has_member(&self, key: &str, member: &str) -> Result<bool, StorageError> {
        Ok(self.members.get(joined(&prefix(key), member.as_bytes()).as_slice())?.is_some())
    }

    /// The score of a member of a sorted set, given the set's row.
    pub(super) fn score(&self, key: &str, row: &[u8], member: &str) -> Result<Option<f64>, StorageError> {
        if let Some(packed) = PackedSortedSet::of(row)? {
            return packed.score(member);
        }
        let row = self.scores.get(joined(&prefix(key), member.as_bytes()).as_slice())?;
        row.map(|guard| score_of(guard.value())).transpose()
    }

    /// Some members of a sorted set with their scores, given the set's row. Starts at the
    /// nearer end of the set.
    pub(super) fn sorted_range(
        &self,
        key: &str,
        row: &[u8],
        order: Order,
        offset: u64,
        count: u64,
    ) -> Result<Vec<(String, f64)>, StorageError> {
        if let Some(packed) = PackedSortedSet::of(row)? {
            return packed.range(order, offset, count);
        }
        let total = RowHeader::of(row)?.count;
        let prefix = prefix(key);
        let rows = self.order.range(prefix.as_slice()..after(&prefix).as_slice())?;
        let entry = |row: OrderRow<'_>| scored_member(&prefix, row);
        let count = count.min(total.saturating_sub(offset));
        let beyond = total.saturating_sub(offset).saturating_sub(count);
        let from_far_end = beyond < offset;
        let (skipped, count) = (capacity(offset.min(beyond)), capacity(count));
        let mut found: Vec<(String, f64)> = if from_far_end == (order == Order::Ascending) {
            rows.rev().skip(skipped).take(count).map(entry).collect::<Result<_, StorageError>>()?
        } else {
            rows.skip(skipped).take(count).map(entry).collect::<Result<_, StorageError>>()?
        };
        if from_far_end {
            found.reverse();
        }
        Ok(found)
    }

    /// Some members of a sorted set whose scores are within two bounds, both
    /// included, with their scores.
    fn sorted_by_score(
        &self,
        key: &str,
        row: &[u8],
        order: Order,
        (least, most): (f64, f64),
        count: u64,
    ) -> Result<Vec<(String, f64)>, StorageError> {
        // Also false if a bound is not a number.
        let in_order = least <= most;
        if !in_order {
            return Ok(Vec::new());
        }
        if let Some(packed) = PackedSortedSet::of(row)? {
            return packed.by_score(order, least, most, count);
        }
        let prefix = prefix(key);
        let (first, end) = order_keys_between(&prefix, least, most);
        let rows = self.order.range(first.as_slice()..end.as_slice())?;
        let entry = |row: OrderRow<'_>| scored_member(&prefix, row);
        match order {
            Order::Ascending => rows.take(capacity(count)).map(entry).collect(),
            Order::Descending => rows.rev().take(capacity(count)).map(entry).collect(),
        }
    }
}

/// Refuses a key that holds another type than is wanted, if one is.
fn demand_type(key: &str, header: RowHeader, wanted: Option<ValueType>) -> Result<(), KeyspaceError> {
    match wanted {
        Some(wanted) if header.encoding.value_type() != wanted => {
            Err(KeyspaceError::WrongType(key.to_owned()))
        }
        _ => Ok(()),
    }
}

/// If at least one in this many members of a set is wanted, reading the whole set in order
/// is faster than looking members up one by one.
const SCAN_FROM_ONE_IN: usize = 8;

impl<T: ReadableTable<Bytes, Bytes>> Tables<T> {
    /// The members of a selection with their scores, lowest first.
    pub(super) fn select(&self, selection: &Selection) -> Result<Vec<(String, f64)>, StorageError> {
        let Some(row) = self.live_row(&selection.scores)? else { return Ok(Vec::new()) };
        let candidates = self.candidates(selection)?;
        let mut selected = Vec::with_capacity(candidates.len());
        let header = RowHeader::of(row.value())?;
        if header.encoding == Encoding::SortedSet && is_large_share(candidates.len(), header.count) {
            // Both the candidates and the rows are in the byte order of the members.
            let prefix = prefix(&selection.scores);
            let mut candidates = candidates.into_iter().peekable();
            for entry in self.scores.range(prefix.as_slice()..after(&prefix).as_slice())? {
                let (row_key, score) = entry?;
                let name = row_key.value().get(prefix.len()..).unwrap_or_default();
                while candidates.next_if(|candidate| candidate.as_bytes() < name).is_some() {}
                if let Some(candidate) = candidates.next_if(|candidate| candidate.as_bytes() == name) {
                    selected.push((candidate, score_of(score.value())?));
                }
            }
        } else {
            for candidate in candidates {
                if let Some(score) = self.score(&selection.scores, row.value(), &candidate)? {
                    selected.push((candidate, score));
                }
            }
        }
        selected.sort_unstable_by(|(left, left_score), (right, right_score)| {
            left_score.total_cmp(right_score).then_with(|| left.cmp(right))
        });
        Ok(selected)
    }

    /// The members of all or any of the sets of a selection, in byte order, each once.
    fn candidates(&self, selection: &Selection) -> Result<Vec<String>, StorageError> {
        let mut sets = Vec::with_capacity(selection.sets.len());
        for key in &selection.sets {
            if let Some(row) = self.live_row(key)? {
                sets.push((RowHeader::of(row.value())?.count, key));
            }
        }
        sets.sort_unstable();
        sets.dedup();
        let mut candidates = Vec::new();
        match selection.within {
            Within::Any => {
                for (_, key) in sets {
                    candidates.append(&mut self.set_members(key)?);
                }
                candidates.sort_unstable();
                candidates.dedup();
            }
            Within::All => {
                let absent = selection.sets.iter().any(|key| sets.iter().all(|(_, present)| *present != key));
                let mut sets = sets.into_iter();
                let Some((_, smallest)) = sets.next().filter(|_| !absent) else { return Ok(candidates) };
                candidates = self.set_members(smallest)?;
                for (count, key) in sets {
                    candidates = self.within(candidates, count, key)?;
                }
            }
        }
        Ok(candidates)
    }

    /// Those of some texts that are members of a set, which has `count` members.
    fn within(&self, texts: Vec<String>, count: u64, key: &str) -> Result<Vec<String>, StorageError> {
        let members = if is_large_share(texts.len(), count) { Some(self.set_members(key)?) } else { None };
        let mut inside = Vec::with_capacity(texts.len());
        for text in texts {
            let is_inside = match &members {
                Some(members) => members.binary_search(&text).is_ok(),
                None => self.has_member(key, &text)?,
            };
            if is_inside {
                inside.push(text);
            }
        }
        Ok(inside)
    }
}

fn is_large_share(part: usize, whole: u64) -> bool {
    part.saturating_mul(SCAN_FROM_ONE_IN) >= capacity(whole)
}

/// A row of `order`, as an iterator over a range returns it.
type OrderRow<'a> = Result<(redb::AccessGuard<'a, Bytes>, redb::AccessGuard<'a, Bytes>), StorageError>;

fn scored_member(prefix: &[u8], row: OrderRow<'_>) -> Result<(String, f64), StorageError> {
    let (row, _) = row?;
    let (score, member) = split_order_key(prefix, row.value())?;
    Ok((member.to_owned(), score))
}

/// The member after the prefix in the key of a collection's row.
fn member(prefix: &[u8], row: &[u8]) -> Result<String, StorageError> {
    text(row.get(prefix.len()..).unwrap_or_default()).map(str::to_owned)
}

fn into_text(bytes: Vec<u8>) -> Result<String, StorageError> {
    String::from_utf8(bytes).map_err(|_| super::tables::corrupted("a text is not UTF-8"))
}

fn capacity(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
