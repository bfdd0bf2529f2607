//! Applying a batch inside the writer's transaction: first everything that can refuse it,
//! then its writes.

mod sorted;
mod whole;

use super::of_one_key;
use super::seal::sealed;
use super::tables::{
    Bytes, Encoding, PACKED_BYTES, PackedFields, RowHeader, Tables, ValueType, WriteTable, after, expiry_key,
    joined, pack_field, prefix, split_expiry_key, text,
};
use crate::batch::{Batch, CheckId, CommitError, Write, parse_counter};
use crate::{COUNTER_LIMIT, KeyspaceError};
use redb::{ReadableTable, StorageError};
use sorted::packed_set;
use std::collections::{HashMap, HashSet, hash_map};
use std::time::Duration;

/// Decides whether a batch can be applied, and computes the new values of its counters,
/// without writing.
///
/// # Errors
/// The reason why the batch is refused, or [`KeyspaceError::Unavailable`] if the store
/// itself failed.
pub(super) fn preflight<T: ReadableTable<Bytes, Bytes>>(
    tables: &Tables<T>,
    batch: &Batch,
) -> Result<Vec<i64>, CommitError> {
    for (index, check) in batch.checks().iter().enumerate() {
        if !tables.holds(check)? {
            return Err(CommitError::Rejected(CheckId(index)));
        }
    }
    let mut counters = Vec::new();
    let mut plans: HashMap<&str, PlannedKey> = HashMap::new();
    for write in batch.writes() {
        let key = write.key();
        if let Write::Publish(..) = write {
            continue;
        }
        let plan = plan_of(&mut plans, tables, key)?;
        let stored = |plan: &PlannedKey| -> Result<_, KeyspaceError> {
            Ok(if plan.cleared { None } else { tables.live_row(key)? })
        };
        match write {
            Write::Set(..) => plan.replace(Some(ValueType::String)),
            Write::Delete(_) => plan.replace(None),
            Write::Expire(_, time_to_live) => {
                if milliseconds(*time_to_live) == 0 {
                    plan.replace(None);
                }
            }
            Write::Increment(_, by) => {
                plan.add(key, ValueType::String)?;
                let current = match stored(plan)? {
                    Some(row) => parse_counter(text(RowHeader::body(row.value()))?),
                    None => Some(0),
                };
                counters.push(counter(key, current, *by)?);
            }
            Write::IncrementField(_, field, _) | Write::LowerField(_, field, _) => {
                plan.add(key, ValueType::Hash)?;
                let current = match stored(plan)? {
                    Some(row) if !plan.dropped.contains(field.as_str()) => {
                        tables.field_number(key, row.value(), field)?
                    }
                    _ => 0,
                };
                let by = match write {
                    Write::LowerField(_, _, by) => -current.clamp(0, i64::try_from(*by).unwrap_or(i64::MAX)),
                    Write::IncrementField(_, _, by) => *by,
                    _ => 0,
                };
                counters.push(counter(key, Some(current), by)?);
            }
            Write::SetFields(..) => plan.add(key, ValueType::Hash)?,
            Write::DeleteField(_, field) => {
                plan.remove(key, ValueType::Hash)?;
                plan.dropped.insert(field);
            }
            Write::AddMember(..) => plan.add(key, ValueType::Set)?,
            Write::RemoveMember(..) => plan.remove(key, ValueType::Set)?,
            Write::SortedAdd(..)
            | Write::SortedAppend(..)
            | Write::SortedRaise(..)
            | Write::SortedIncrement(..) => {
                plan.add(key, ValueType::SortedSet)?;
            }
            Write::SortedAddBounded(_, _, _, bound) => {
                plan.add(key, ValueType::SortedSet)?;
                plan_of(&mut plans, tables, &bound.floors)?.add(&bound.floors, ValueType::SortedSet)?;
            }
            Write::SortedAddIfPresent(..) | Write::SortedRemove(..) | Write::SortedTrim(..) => {
                plan.remove(key, ValueType::SortedSet)?;
            }
            Write::SortedStore(_, selection) => {
                plan.replace(Some(ValueType::SortedSet));
                plan_of(&mut plans, tables, &selection.scores)?
                    .remove(&selection.scores, ValueType::SortedSet)?;
                for set in &selection.sets {
                    plan_of(&mut plans, tables, set)?.remove(set, ValueType::Set)?;
                }
            }
            Write::Publish(..) => {}
        }
    }
    Ok(counters)
}

/// The planned state of a key, made from what is stored when a batch first names the key.
fn plan_of<'plans, 'batch, T: ReadableTable<Bytes, Bytes>>(
    plans: &'plans mut HashMap<&'batch str, PlannedKey<'batch>>,
    tables: &Tables<T>,
    key: &'batch str,
) -> Result<&'plans mut PlannedKey<'batch>, StorageError> {
    Ok(match plans.entry(key) {
        hash_map::Entry::Occupied(plan) => plan.into_mut(),
        hash_map::Entry::Vacant(plan) => {
            let row = tables.live_row(key)?;
            let header = row.map(|row| RowHeader::of(row.value())).transpose()?;
            plan.insert(PlannedKey {
                holds: header.map(|header| header.encoding.value_type()),
                ..PlannedKey::default()
            })
        }
    })
}

/// The content of a key after the earlier writes of the batch.
///
/// Removing an entry never makes a key absent here, even if it is the last one. The script
/// of the Redis engine does the same, so both engines refuse a batch that empties a key and
/// then reuses it with another type.
#[derive(Default)]
struct PlannedKey<'a> {
    holds: Option<ValueType>,
    /// Whether an earlier write has replaced or deleted the stored value.
    cleared: bool,
    /// The fields that an earlier write has deleted.
    dropped: HashSet<&'a str>,
}

impl PlannedKey<'_> {
    fn replace(&mut self, holds: Option<ValueType>) {
        self.holds = holds;
        self.cleared = true;
    }

    fn remove(&self, key: &str, wanted: ValueType) -> Result<(), KeyspaceError> {
        match self.holds {
            Some(held) if held != wanted => Err(KeyspaceError::WrongType(key.to_owned())),
            _ => Ok(()),
        }
    }

    fn add(&mut self, key: &str, wanted: ValueType) -> Result<(), KeyspaceError> {
        self.remove(key, wanted)?;
        self.holds = Some(wanted);
        Ok(())
    }
}

fn counter(key: &str, current: Option<i64>, by: i64) -> Result<i64, KeyspaceError> {
    current
        .and_then(|current| current.checked_add(by))
        .filter(|sum| (-COUNTER_LIMIT..=COUNTER_LIMIT).contains(sum))
        .ok_or_else(|| KeyspaceError::NotAnInteger(key.to_owned()))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn expiry_time(now: u64, time_to_live: Duration) -> u64 {
    now.saturating_add(milliseconds(time_to_live))
}

/// A row of `keys`, read to be changed.
struct KeyRow {
    header: RowHeader,
    body: Vec<u8>,
}

impl Tables<WriteTable<'_>> {
    /// Applies the writes of a batch that passed [`preflight`], which computed `counters`.
    pub(super) fn apply(&mut self, batch: &Batch, counters: &[i64]) -> Result<(), StorageError> {
        let mut counters = counters.iter();
        let mut next_counter = || counters.next().copied().unwrap_or_default().to_string();
        for write in batch.writes() {
            match write {
                Write::Set(key, value, time_to_live) => {
                    let expires_at =
                        time_to_live.map_or(0, |time_to_live| expiry_time(self.now, time_to_live));
                    self.set(key, value, expires_at)?;
                }
                Write::Delete(key) => self.delete(key)?,
                Write::Expire(key, time_to_live) if milliseconds(*time_to_live) == 0 => self.delete(key)?,
                Write::Expire(key, time_to_live) => self.expire(key, expiry_time(self.now, *time_to_live))?,
                Write::Increment(key, _) => {
                    let expires_at = self.row(key)?.map_or(0, |row| row.header.expires_at);
                    self.set(key, &next_counter(), expires_at)?;
                }
                Write::SetFields(key, fields) => self.set_fields(key, fields)?,
                Write::IncrementField(key, field, _) | Write::LowerField(key, field, _) => {
                    self.set_fields(key, &[(field.clone(), next_counter())])?;
                }
                Write::DeleteField(key, field) => self.delete_field(key, field)?,
                Write::AddMember(key, member) => self.add_member(key, member)?,
                Write::RemoveMember(key, member) => self.remove_member(key, member)?,
                Write::SortedAdd(key, member, score) => self.sorted_add(key, member, *score)?,
                Write::SortedAddBounded(key, member, score, bound) => {
                    self.sorted_add_bounded(key, member, *score, bound)?;
                }
                Write::SortedAppend(key, member) => self.sorted_append(key, member)?,
                Write::SortedRaise(key, member, score) => self.sorted_raise(key, member, *score)?,
                Write::SortedAddIfPresent(key, member, score) => {
                    if self.row(key)?.is_some() {
                        self.sorted_add(key, member, *score)?;
                    }
                }
                Write::SortedStore(key, selection) => {
                    self.delete(key)?;
                    let selected = self.select(selection)?;
                    self.store_or_clear(key, &packed_set(0, &selected))?;
                }
                Write::SortedIncrement(key, member, by) => self.sorted_increment(key, member, *by)?,
                Write::SortedRemove(key, member) => self.sorted_remove(key, member)?,
                Write::SortedTrim(key, keep) => {
                    self.sorted_trim(key, *keep)?;
                }
                // The writer sends messages when the transaction is on disk.
                Write::Publish(..) => {}
            }
        }
        Ok(())
    }

    /// Removes expired keys until about `limit` rows are gone. Returns whether there may be
    /// more.
    pub(super) fn sweep(&mut self, limit: u64) -> Result<bool, StorageError> {
        let mut removed = 0;
        while removed < limit {
            let Some((expires_at, key)) = self.first_expired()? else { return Ok(false) };
            // A row that cannot be read stays, or no key after it would ever be removed.
            let stored = of_one_key(&key, || Ok(self.stored_row(&key)?)).unwrap_or_else(|error| {
                tracing::error!(%error, "an expired key cannot be removed");
                None
            });
            if let Some(row) = stored.filter(|row| row.header.expires_at == expires_at) {
                self.clear(&key, &row.header)?;
                removed = removed.saturating_add(row.header.count);
            }
            // Remove this row even if the key was not: otherwise every later sweep would
            // find it again.
            self.expiries.remove(expiry_key(expires_at, &key).as_slice())?;
            removed = removed.saturating_add(1);
        }
        Ok(true)
    }

    /// The row of a key. If the key has expired, it is removed.
    fn row(&mut self, key: &str) -> Result<Option<KeyRow>, StorageError> {
        let Some(row) = self.stored_row(key)? else { return Ok(None) };
        if row.header.expired(self.now) {
            self.clear(key, &row.header)?;
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// The row of a key, even if it is expired.
    fn stored_row(&self, key: &str) -> Result<Option<KeyRow>, StorageError> {
        let Some(row) = self.any_row(key)? else { return Ok(None) };
        let header = RowHeader::of(row.value())?;
        Ok(Some(KeyRow { header, body: RowHeader::body(row.value()).to_vec() }))
    }

    fn row_or_new(&mut self, key: &str, encoding: Encoding) -> Result<KeyRow, StorageError> {
        let new = || KeyRow { header: RowHeader { encoding, expires_at: 0, count: 0 }, body: Vec::new() };
        Ok(self.row(key)?.unwrap_or_else(new))
    }

    fn store(&mut self, key: &str, row: &KeyRow) -> Result<(), StorageError> {
        self.keys.insert(key.as_bytes(), row.header.stored_row(key, &row.body).as_slice())?;
        Ok(())
    }

    /// Stores the row of a collection, or removes the key if the collection is empty.
    fn store_or_clear(&mut self, key: &str, row: &KeyRow) -> Result<(), StorageError> {
        if row.header.count == 0 { self.clear(key, &row.header) } else { self.store(key, row) }
    }

    fn set(&mut self, key: &str, value: &str, expires_at: u64) -> Result<(), StorageError> {
        self.delete(key)?;
        let header = RowHeader { encoding: Encoding::String, expires_at, count: 1 };
        self.note_expiry(key, expires_at)?;
        self.store(key, &KeyRow { header, body: value.as_bytes().to_vec() })
    }

    fn delete(&mut self, key: &str) -> Result<(), StorageError> {
        match self.stored_row(key)? {
            Some(row) => self.clear(key, &row.header),
            None => Ok(()),
        }
    }

    /// Removes all rows of a key.
    fn clear(&mut self, key: &str, header: &RowHeader) -> Result<(), StorageError> {
        self.keys.remove(key.as_bytes())?;
        if header.expires_at != 0 {
            self.expiries.remove(expiry_key(header.expires_at, key).as_slice())?;
        }
        match header.encoding {
            Encoding::String | Encoding::PackedHash | Encoding::PackedSortedSet => Ok(()),
            Encoding::WideHash => clear_range(&mut self.fields, key),
            Encoding::Set => clear_range(&mut self.members, key),
            Encoding::SortedSet => {
                clear_range(&mut self.scores, key)?;
                clear_range(&mut self.order, key)
            }
        }
    }

    fn expire(&mut self, key: &str, expires_at: u64) -> Result<(), StorageError> {
        let Some(mut row) = self.row(key)? else { return Ok(()) };
        if row.header.expires_at != 0 {
            self.expiries.remove(expiry_key(row.header.expires_at, key).as_slice())?;
        }
        row.header.expires_at = expires_at;
        self.note_expiry(key, expires_at)?;
        self.store(key, &row)
    }

    fn note_expiry(&mut self, key: &str, expires_at: u64) -> Result<(), StorageError> {
        if expires_at != 0 {
            self.expiries.insert(expiry_key(expires_at, key).as_slice(), &[][..])?;
        }
        Ok(())
    }

    fn set_fields(&mut self, key: &str, fields: &[(String, String)]) -> Result<(), StorageError> {
        let mut row = self.row_or_new(key, Encoding::PackedHash)?;
        if row.header.encoding == Encoding::PackedHash {
            let mut values = packed_fields(&row.body)?;
            put_fields(&mut values, fields);
            let size: usize = values.iter().map(|(field, value)| packed_bytes(field, value)).sum();
            if size <= PACKED_BYTES {
                return self.store(key, &packed_row(row.header, &values));
            }
            let prefix = prefix(key);
            for (field, value) in &values {
                let row_key = joined(&prefix, field);
                self.fields.insert(row_key.as_slice(), sealed(&row_key, value).as_slice())?;
            }
            let count = count_of(values.len());
            let header = RowHeader { encoding: Encoding::WideHash, count, ..row.header };
            return self.store(key, &KeyRow { header, body: Vec::new() });
        }
        let prefix = prefix(key);
        let mut added = 0;
        for (field, value) in fields {
            let row_key = joined(&prefix, field.as_bytes());
            let value = sealed(&row_key, value.as_bytes());
            if self.fields.insert(row_key.as_slice(), value.as_slice())?.is_none() {
                added += 1;
            }
        }
        if added > 0 {
            row.header.count += added;
            self.store(key, &row)?;
        }
        Ok(())
    }

    fn delete_field(&mut self, key: &str, field: &str) -> Result<(), StorageError> {
        let Some(mut row) = self.row(key)? else { return Ok(()) };
        if row.header.encoding == Encoding::PackedHash {
            let mut values = packed_fields(&row.body)?;
            values.retain(|(name, _)| *name != field.as_bytes());
            row = packed_row(row.header, &values);
        } else {
            let gone = self.fields.remove(joined(&prefix(key), field.as_bytes()).as_slice())?.is_some();
            row.header.count = row.header.count.saturating_sub(u64::from(gone));
        }
        self.store_or_clear(key, &row)
    }

    fn add_member(&mut self, key: &str, member: &str) -> Result<(), StorageError> {
        let mut row = self.row_or_new(key, Encoding::Set)?;
        let row_key = joined(&prefix(key), member.as_bytes());
        if self.members.insert(row_key.as_slice(), &[][..])?.is_some() {
            return Ok(());
        }
        row.header.count += 1;
        self.store(key, &row)
    }

    fn remove_member(&mut self, key: &str, member: &str) -> Result<(), StorageError> {
        let Some(mut row) = self.row(key)? else { return Ok(()) };
        if self.members.remove(joined(&prefix(key), member.as_bytes()).as_slice())?.is_none() {
            return Ok(());
        }
        row.header.count = row.header.count.saturating_sub(1);
        self.store_or_clear(key, &row)
    }
}

impl<T: ReadableTable<Bytes, Bytes>> Tables<T> {
    /// The time and the key of the earliest expiry that has passed.
    pub(super) fn first_expired(&self) -> Result<Option<(u64, String)>, StorageError> {
        let Some((row, _)) = self.expiries.first()? else { return Ok(None) };
        let (expires_at, key) = split_expiry_key(row.value())?;
        Ok((expires_at <= self.now).then(|| (expires_at, key.to_owned())))
    }
}

fn clear_range(table: &mut WriteTable<'_>, key: &str) -> Result<(), StorageError> {
    let prefix = prefix(key);
    table.retain_in(prefix.as_slice()..after(&prefix).as_slice(), |_, _| false)
}

/// A field and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

fn packed_fields(body: &[u8]) -> Result<Vec<Pair<'_>>, StorageError> {
    PackedFields::of(body).collect()
}

/// The bytes of a field and its value in a packed hash.
fn packed_bytes(field: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> usize {
    8 + field.as_ref().len() + value.as_ref().len()
}

/// Sets fields, or adds them at the end.
fn put_fields<'a>(values: &mut Vec<Pair<'a>>, fields: &'a [(String, String)]) {
    for (field, value) in fields {
        let (field, value) = (field.as_bytes(), value.as_bytes());
        match values.iter_mut().find(|(name, _)| *name == field) {
            Some(pair) => pair.1 = value,
            None => values.push((field, value)),
        }
    }
}

fn packed_row(header: RowHeader, values: &[Pair<'_>]) -> KeyRow {
    let header = RowHeader { encoding: Encoding::PackedHash, count: count_of(values.len()), ..header };
    KeyRow { header, body: packed_body(values) }
}

fn packed_body(values: &[Pair<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    values.iter().for_each(|(field, value)| pack_field(&mut body, field, value));
    body
}

fn count_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
