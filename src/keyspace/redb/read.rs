//! Reads and checks, in a read transaction or in the writer's own.

use super::tables::{
    Bytes, Header, Kind, PackedFields, Tables, Type, after, joined, prefix, score_of, split_order_key, text,
};
use crate::keyspace::KeyspaceError;
use crate::keyspace::batch::{Check, parse_counter};
use crate::keyspace::query::{Answer, Expiry, Hash, Order, Read};
use redb::{ReadableTable, StorageError};
use std::time::Duration;

impl<T: ReadableTable<Bytes, Bytes>> Tables<T> {
    /// Answers one read.
    pub(super) fn answer(&self, read: &Read, now: u64) -> Result<Answer, KeyspaceError> {
        let key = read.key();
        let row = self.live_row(key, now)?;
        let row = row.as_ref().map(|guard| guard.value());
        let header = row.map(Header::of).transpose()?;
        let typed = |wanted: Type| match header {
            Some(header) if header.kind.to_type() != wanted => Err(KeyspaceError::WrongType(key.to_owned())),
            _ => Ok(header),
        };
        let count = |header: Option<Header>| header.map_or(0, |header| header.count);
        Ok(match read {
            Read::Expiry(_) => Answer::Expiry(match header {
                None => Expiry::Absent,
                Some(header) if header.expires_at == 0 => Expiry::Never,
                Some(header) => Expiry::In(Duration::from_millis(header.expires_at.saturating_sub(now))),
            }),
            Read::String(_) => {
                typed(Type::String)?;
                Answer::Text(row.map(|row| text(Header::body(row)).map(str::to_owned)).transpose()?)
            }
            Read::Hash(_) => {
                typed(Type::Hash)?;
                Answer::Hash(Hash(row.map_or(Ok(Vec::new()), |row| self.hash(key, row))?))
            }
            Read::HashFields(_, fields) => {
                typed(Type::Hash)?;
                let values = fields.iter().map(|field| {
                    let value = row.map(|row| self.field(key, row, field)).transpose()?.flatten();
                    value.map(into_text).transpose()
                });
                Answer::Texts(values.collect::<Result<_, StorageError>>()?)
            }
            Read::Members(_) => match typed(Type::Set)? {
                Some(_) => Answer::Members(self.set_members(key)?),
                None => Answer::Members(Vec::new()),
            },
            Read::MemberCount(_) => Answer::Count(count(typed(Type::Set)?)),
            Read::HasMember(_, member) => {
                Answer::Bool(typed(Type::Set)?.is_some() && self.has_member(key, member)?)
            }
            Read::Scores(_, members) => match typed(Type::SortedSet)? {
                Some(_) => {
                    let scores = members.iter().map(|member| self.score(key, member));
                    Answer::Scores(scores.collect::<Result<_, _>>()?)
                }
                None => Answer::Scores(vec![None; members.len()]),
            },
            Read::SortedCount(_) => Answer::Count(count(typed(Type::SortedSet)?)),
            Read::SortedRange { order, offset, count, .. } => match typed(Type::SortedSet)? {
                Some(header) if *offset < header.count => {
                    Answer::Scored(self.sorted_range(key, header.count, *order, *offset, *count)?)
                }
                _ => Answer::Scored(Vec::new()),
            },
        })
    }

    /// Whether a check holds.
    pub(super) fn holds(&self, check: &Check, now: u64) -> Result<bool, KeyspaceError> {
        let key = check.key();
        let row = self.live_row(key, now)?;
        let Some(row) = row.as_ref().map(|guard| guard.value()) else {
            return Ok(match check {
                Check::KeyAbsent(_)
                | Check::FieldAbsent(..)
                | Check::MemberAbsent(..)
                | Check::SortedMemberAbsent(..) => true,
                Check::FieldAtLeast(_, _, least) => *least <= 0,
                Check::KeyPresent(_)
                | Check::StringEquals(..)
                | Check::FieldEquals(..)
                | Check::SortedMemberPresent(..) => false,
            });
        };
        let wanted = match check {
            Check::KeyAbsent(_) => return Ok(false),
            Check::KeyPresent(_) => return Ok(true),
            Check::StringEquals(..) => Type::String,
            Check::FieldEquals(..) | Check::FieldAbsent(..) | Check::FieldAtLeast(..) => Type::Hash,
            Check::MemberAbsent(..) => Type::Set,
            Check::SortedMemberAbsent(..) | Check::SortedMemberPresent(..) => Type::SortedSet,
        };
        if Header::of(row)?.kind.to_type() != wanted {
            return Err(KeyspaceError::WrongType(key.to_owned()));
        }
        Ok(match check {
            Check::KeyAbsent(_) => false,
            Check::KeyPresent(_) => true,
            Check::StringEquals(_, value) => Header::body(row) == value.as_bytes(),
            Check::FieldEquals(_, field, value) => {
                self.field(key, row, field)?.is_some_and(|bytes| bytes == value.as_bytes())
            }
            Check::FieldAbsent(_, field) => self.field(key, row, field)?.is_none(),
            Check::FieldAtLeast(_, field, least) => self.field_number(key, row, field)? >= *least,
            Check::MemberAbsent(_, member) => !self.has_member(key, member)?,
            Check::SortedMemberAbsent(_, member) => self.score(key, member)?.is_none(),
            Check::SortedMemberPresent(_, member) => self.score(key, member)?.is_some(),
        })
    }

    /// A field as a whole number; an absent one is 0.
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
        if Header::of(row)?.kind == Kind::WideHash {
            let value = self.fields.get(joined(&prefix(key), field.as_bytes()).as_slice())?;
            return Ok(value.map(|guard| guard.value().to_vec()));
        }
        for pair in PackedFields::of(Header::body(row)) {
            let (name, value) = pair?;
            if name == field.as_bytes() {
                return Ok(Some(value.to_vec()));
            }
        }
        Ok(None)
    }

    /// A whole hash, given its row.
    pub(super) fn hash(&self, key: &str, row: &[u8]) -> Result<Vec<(String, String)>, StorageError> {
        let header = Header::of(row)?;
        // Bounded, so that a broken count cannot ask for all memory.
        let mut fields = Vec::with_capacity(capacity(header.count).min(1024));
        if header.kind == Kind::WideHash {
            let prefix = prefix(key);
            for entry in self.fields.range(prefix.as_slice()..after(&prefix).as_slice())? {
                let (row_key, value) = entry?;
                fields.push((member(&prefix, row_key.value())?, text(value.value())?.to_owned()));
            }
        } else {
            for pair in PackedFields::of(Header::body(row)) {
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

    /// The score of a member of a sorted set.
    pub(super) fn score(&self, key: &str, member: &str) -> Result<Option<f64>, StorageError> {
        let row = self.scores.get(joined(&prefix(key), member.as_bytes()).as_slice())?;
        row.map(|guard| score_of(guard.value())).transpose()
    }

    /// Some members of a sorted set of `total` with their scores. Walks there
    /// from the nearer end.
    pub(super) fn sorted_range(
        &self,
        key: &str,
        total: u64,
        order: Order,
        offset: u64,
        count: u64,
    ) -> Result<Vec<(String, f64)>, StorageError> {
        let prefix = prefix(key);
        let rows = self.order.range(prefix.as_slice()..after(&prefix).as_slice())?;
        let entry = |entry: Result<(redb::AccessGuard<'_, Bytes>, _), StorageError>| {
            let (score, member) = split_order_key(&prefix, entry?.0.value())
                .map(|(score, member)| (score, member.to_owned()))?;
            Ok((member, score))
        };
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
}

/// What follows the prefix of a collection's row.
fn member(prefix: &[u8], row: &[u8]) -> Result<String, StorageError> {
    text(row.get(prefix.len()..).unwrap_or_default()).map(str::to_owned)
}

fn into_text(bytes: Vec<u8>) -> Result<String, StorageError> {
    String::from_utf8(bytes).map_err(|_| super::tables::corrupted("a text is not UTF-8"))
}

fn capacity(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
