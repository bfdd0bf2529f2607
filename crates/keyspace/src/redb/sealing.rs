//! Giving check values to the rows of a store file that an earlier version wrote; see
//! [`super::seal`]. The writer does some of them once a second, so no start waits for it.
//!
//! Nothing is known about what these rows were, so what is damaged already stays so.

use super::seal::{is_sealed, sealed};
use super::tables::{META, META_SEALED, RowHeader, Tables, WriteTable};
use redb::{ReadTransaction, WriteTransaction};
use std::ops::Bound;

/// How many rows are looked at in one step.
const MAX_SEEN_ROWS: usize = 20_000;
/// How many bytes of rows are sealed in one step. This bounds how long batches wait for it.
const MAX_SEALED_BYTES: usize = 1 << 20;

/// The tables whose rows have check values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SealedTable {
    Keys,
    Fields,
}

/// How far the sealing of a store file is.
pub(super) struct Sealing {
    table: SealedTable,
    after: Bound<Vec<u8>>,
}

/// A row and its key.
type Pair = (Vec<u8>, Vec<u8>);

/// The rows of one step.
pub(super) struct Step {
    table: SealedTable,
    rows: Vec<Pair>,
    /// Where the next step begins; `None` if this is the last.
    next: Option<Sealing>,
}

impl Sealing {
    /// The sealing of a store file, unless every row of it is sealed.
    pub(super) fn of(transaction: &ReadTransaction) -> Result<Option<Self>, redb::Error> {
        let is_done = transaction.open_table(META)?.get(META_SEALED)?.is_some();
        Ok((!is_done).then_some(Self { table: SealedTable::Keys, after: Bound::Unbounded }))
    }

    /// Finds the rows of the next step.
    pub(super) fn step(&self, transaction: &ReadTransaction) -> Result<Step, redb::Error> {
        let tables = Tables::read(transaction)?;
        let stored = match self.table {
            SealedTable::Keys => &tables.keys,
            SealedTable::Fields => &tables.fields,
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let after = self.after.as_ref().map(Vec::as_slice);
        for (seen, row) in stored.range::<&[u8]>((after, Bound::Unbounded))?.enumerate() {
            let (key, row) = row?;
            let (key, row) = (key.value(), row.value());
            if !is_sealed(row) && (self.table == SealedTable::Fields || RowHeader::has_check_value(row)) {
                bytes += key.len() + row.len();
                rows.push((key.to_vec(), row.to_vec()));
            }
            if seen + 1 >= MAX_SEEN_ROWS || bytes >= MAX_SEALED_BYTES {
                let next = Self { table: self.table, after: Bound::Excluded(key.to_vec()) };
                return Ok(Step { table: self.table, rows, next: Some(next) });
            }
        }
        let next = match self.table {
            SealedTable::Keys => Some(Self { table: SealedTable::Fields, after: Bound::Unbounded }),
            SealedTable::Fields => None,
        };
        Ok(Step { table: self.table, rows, next })
    }
}

impl Step {
    /// Whether there is anything to write.
    pub(super) fn writes(&self) -> bool {
        !self.rows.is_empty() || self.next.is_none()
    }

    /// Seals the rows. Nothing may have been written since they were found.
    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut tables = Tables::write(transaction)?;
        let table: &mut WriteTable<'_> = match self.table {
            SealedTable::Keys => &mut tables.keys,
            SealedTable::Fields => &mut tables.fields,
        };
        for (key, row) in &self.rows {
            table.insert(key.as_slice(), sealed(key, row).as_slice())?;
        }
        if self.next.is_none() {
            transaction.open_table(META)?.insert(META_SEALED, 1)?;
        }
        Ok(())
    }

    /// The work that is left once this is written.
    pub(super) fn next(self) -> Option<Sealing> {
        self.next
    }
}
