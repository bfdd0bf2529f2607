//! Whole keys: for scans and for snapshots.

use super::seal::opened;
use super::tables::{ReadTable, RowHeader, Tables, ValueType, text};
use crate::query::Order;
use crate::snapshot::PageSender;
use crate::{Entry, KeyspaceError, Value};
use redb::StorageError;
use std::time::Duration;

impl Tables<ReadTable> {
    /// A key with its whole value, given its row as it is stored; `None` if it has expired.
    pub(super) fn entry(&self, key: &str, row: &[u8]) -> Result<Option<Entry>, StorageError> {
        let row = opened(key.as_bytes(), row)?;
        let header = RowHeader::of(row)?;
        if header.expired(self.now) {
            return Ok(None);
        }
        let value = match header.encoding.value_type() {
            ValueType::String => Value::String(text(RowHeader::body(row))?.to_owned()),
            ValueType::Hash => Value::Hash(self.hash(key, row)?),
            ValueType::Set => Value::Set(self.set_members(key)?),
            ValueType::SortedSet => {
                Value::SortedSet(self.sorted_range(key, row, Order::Ascending, 0, u64::MAX)?)
            }
        };
        let remaining = header.expires_at.saturating_sub(self.now);
        let time_to_live = (header.expires_at != 0).then(|| Duration::from_millis(remaining));
        Ok(Some(Entry { key: key.to_owned(), value, time_to_live }))
    }

    /// Sends all keys that have not expired, in byte order, until the receiver is
    /// dropped.
    pub(super) fn send_all(&self, pages: &mut PageSender) -> Result<(), KeyspaceError> {
        for row in self.keys.range::<&[u8]>(..)? {
            let (key, row) = row?;
            let key = text(key.value())?;
            let entry = self.entry(key, row.value()).map_err(|error| {
                KeyspaceError::Unavailable(format!("the key {key:?} cannot be read: {error}"))
            })?;
            if let Some(entry) = entry
                && pages.send_blocking(entry).is_err()
            {
                break;
            }
        }
        Ok(())
    }
}
