//! Replacing whole keys: the rows of many of them are sorted, and each table is written from one end to the
//! other.

use super::{count_of, expiry_time, milliseconds, packed_body, packed_bytes, put_fields};
use crate::redb::seal::sealed;
use crate::redb::tables::{
    Encoding, PACKED_BYTES, RowHeader, Tables, WriteTable, expiry_key, joined, order_key, prefix, score_bytes,
};
use crate::{Entry, Value};
use redb::{CursorError, StorageError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::resume_unwind;
use std::thread;

/// The key and the value of a row.
type Row = (Vec<u8>, Vec<u8>);

impl Tables<WriteTable<'_>> {
    /// Replaces what keys hold. Of several entries of a key, the last counts.
    pub(in crate::redb) fn replace(&mut self, entries: &[Entry]) -> Result<(), StorageError> {
        let last: BTreeMap<&str, &Entry> = entries.iter().map(|entry| (entry.key.as_str(), entry)).collect();
        let mut rows = Tables::<Vec<Row>>::default().at(self.now);
        for (key, entry) in last {
            self.delete(key)?;
            rows.add(entry);
        }
        let Tables { keys, fields, members, scores, order, expiries, .. } = rows;
        let ordered = &mut self.order;
        thread::scope(|scope| {
            // A member of a sorted set has two rows: half of all.
            let ordering = scope.spawn(|| insert_all(ordered, order));
            insert_all(&mut self.scores, scores)?;
            insert_all(&mut self.keys, keys)?;
            insert_all(&mut self.fields, fields)?;
            insert_all(&mut self.members, members)?;
            insert_all(&mut self.expiries, expiries)?;
            ordering.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

/// New rows of the tables.
impl Tables<Vec<Row>> {
    fn add(&mut self, Entry { key, value, time_to_live }: &Entry) {
        if time_to_live.is_some_and(|left| milliseconds(left) == 0) {
            return;
        }
        let prefix = prefix(key);
        let (encoding, count, body) = match value {
            Value::String(text) => (Encoding::String, 1, text.as_bytes().to_vec()),
            Value::Hash(fields) => self.add_fields(&prefix, fields),
            Value::Set(members) => {
                let members: BTreeSet<&str> = members.iter().map(String::as_str).collect();
                let row = |member: &&str| (joined(&prefix, member.as_bytes()), Vec::new());
                self.members.extend(members.iter().map(row));
                (Encoding::Set, members.len(), Vec::new())
            }
            Value::SortedSet(members) => {
                // The two zeros are equal scores, so their bits, which order the set, must be equal.
                let members: BTreeMap<&str, f64> =
                    members.iter().map(|(member, score)| (member.as_str(), score + 0.0)).collect();
                for (member, score) in &members {
                    let member = member.as_bytes();
                    self.scores.push((joined(&prefix, member), score_bytes(*score).to_vec()));
                    self.order.push((order_key(&prefix, *score, member), Vec::new()));
                }
                (Encoding::SortedSet, members.len(), Vec::new())
            }
        };
        if count == 0 {
            return;
        }
        let expires_at = time_to_live.map_or(0, |left| expiry_time(self.now, left));
        if expires_at != 0 {
            self.expiries.push((expiry_key(expires_at, key), Vec::new()));
        }
        let header = RowHeader { encoding, expires_at, count: count_of(count) };
        self.keys.push((key.as_bytes().to_vec(), header.stored_row(key, &body)));
    }

    /// Adds the rows of a hash; returns how it is encoded, the number of its fields, and the body of its row.
    fn add_fields(&mut self, prefix: &[u8], fields: &[(String, String)]) -> (Encoding, usize, Vec<u8>) {
        let size: usize = fields.iter().map(|(field, value)| packed_bytes(field, value)).sum();
        if size <= PACKED_BYTES {
            let mut values = Vec::with_capacity(fields.len());
            put_fields(&mut values, fields);
            return (Encoding::PackedHash, values.len(), packed_body(&values));
        }
        let values: BTreeMap<&str, &str> =
            fields.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        for (field, value) in &values {
            let row_key = joined(prefix, field.as_bytes());
            let value = sealed(&row_key, value.as_bytes());
            self.fields.push((row_key, value));
        }
        (Encoding::WideHash, values.len(), Vec::new())
    }
}

/// Inserts rows whose keys are absent. A cursor takes those that follow each other in the table, and is
/// several times as fast as a search for each.
fn insert_all(table: &mut WriteTable<'_>, mut rows: Vec<Row>) -> Result<(), StorageError> {
    // Mostly sorted already, in long runs.
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut rows = rows.iter().peekable();
    while let Some((first, value)) = rows.next() {
        table.insert(first.as_slice(), value.as_slice())?;
        let mut cursor = table.lower_bound_mut(Bound::Excluded(first.as_slice()))?;
        while let Some((key, value)) = rows.peek() {
            match cursor.insert_before(key.as_slice(), value.as_slice()) {
                Ok(()) => _ = rows.next(),
                // Other rows are between them.
                Err(CursorError::UnorderedKey) => break,
                Err(CursorError::Storage(error)) => return Err(error),
                Err(error) => return Err(StorageError::Io(std::io::Error::other(error.to_string()))),
            }
        }
        cursor.close()?;
    }
    Ok(())
}
