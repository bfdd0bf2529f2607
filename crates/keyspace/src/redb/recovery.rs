//! Opening the journal of a store file: what only the journal has is applied
//! first.
//!
//! The store file names in `meta` the journal that goes with it, and the last
//! record that it has. A journal's own records are numbered without a gap. So
//! at opening it is known which records are missing in the store file, and
//! whether both belong together; where they do not, nothing is opened, because
//! one of the two has acknowledged writes that the other lacks.

use super::apply::preflight;
use super::database::damaged;
use super::journal::{self, Journal, JournalContents, JournalError, JournalStorage};
use super::tables::{META, META_JOURNAL, META_RECORD, Tables, corrupted};
use crate::batch::Batch;
use redb::{Database, ReadableDatabase};

/// The numbers that one opening of the store can use.
///
/// Each opening starts with numbers that were never given to a record. What a
/// failed disk has left in the journal, even if it looks whole, does not follow
/// any record that is written later.
const NUMBERS_OF_ONE_OPENING: u64 = 1 << 32;

/// What a store file knows of its journal.
struct JournalPosition {
    /// The id of the journal that goes with it; 0 is none.
    journal: u64,
    /// The number of the last record that the store file has.
    record: u64,
}

/// Brings a store up to date with its journal, and opens the journal for more;
/// the error tells the operator what to do.
pub(super) fn open_journal(
    database: &Database,
    mut storage: Box<dyn JournalStorage>,
    length: usize,
) -> Result<Journal, String> {
    let position = position(database).map_err(|error| damaged(&error.to_string()))?;
    let bytes = storage.read().map_err(|error| format!("its journal cannot be read: {error}"))?;
    let contents = bytes.as_deref().map(JournalContents::of).transpose().map_err(advice)?;
    let last = (position.record / NUMBERS_OF_ONE_OPENING + 1) * NUMBERS_OF_ONE_OPENING;
    let failed = |error: redb::Error| format!("its journal cannot be applied: {error}");

    // A journal without records may be left by an opening that went no further.
    let foreign =
        |contents: &JournalContents<'_>| contents.id != position.journal && !contents.records.is_empty();
    if contents.as_ref().is_some_and(foreign) {
        return Err(APART.to_owned());
    }
    if contents.is_none() && position.journal != 0 {
        tracing::warn!(
            "the store was not shut down cleanly and its journal is missing: \
             the last writes may be lost"
        );
    }
    let ours = contents.filter(|contents| contents.id == position.journal);
    if let Some(contents) = &ours {
        if contents.records.first().is_some_and(|(number, _)| *number > position.record.saturating_add(1)) {
            return Err(APART.to_owned());
        }
        let missing = contents.records.iter().filter(|(number, _)| *number > position.record);
        apply(database, missing.map(|(_, payload)| *payload), last).map_err(failed)?;
    }
    let reusable = ours.is_some() && bytes.is_some_and(|bytes| bytes.len() == length);
    if !reusable {
        let id = getrandom::u64().map_err(|error| format!("no random numbers: {error}"))?.max(1);
        storage
            .replace(&journal::head(id), length)
            .map_err(|error| format!("its journal cannot be made: {error}"))?;
        note(database, id, last).map_err(failed)?;
    }
    Ok(Journal::empty(storage, length, last))
}

/// Removes a journal whose records the store file has, and notes that the store
/// file is complete without one.
pub(super) fn close_journal(database: &Database, journal: Journal) -> Result<(), redb::Error> {
    let last = journal.last();
    // In this order: a store file that is complete by itself never lies beside
    // records.
    journal.remove()?;
    note(database, 0, last)
}

const APART: &str = "its journal (the file of the same name with -journal after it) belongs to another store \
     file or to another moment of it; put the store file back that was beside it, or, to do without \
     what only the journal has, move the journal away";

fn advice(unreadable: JournalError) -> String {
    match unreadable {
        JournalError::Damaged => {
            "its journal (the file of the same name with -journal after it) is damaged; \
             put a backup in the place of both, or, to do without what only the journal has, \
             move the journal away"
                .to_owned()
        }
        JournalError::Format(format) => format!(
            "its journal has the format {format}, which this tidings does not know; \
             run the tidings that wrote it, and stop it in order"
        ),
    }
}

fn position(database: &Database) -> Result<JournalPosition, redb::Error> {
    let meta = database.begin_read()?.open_table(META)?;
    let number = |key| Ok::<_, redb::Error>(meta.get(key)?.map_or(0, |number| number.value()));
    Ok(JournalPosition { journal: number(META_JOURNAL)?, record: number(META_RECORD)? })
}

/// Notes which journal goes with the store file, and where its numbers start.
fn note(database: &Database, id: u64, last: u64) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_JOURNAL, id)?;
        meta.insert(META_RECORD, last)?;
    }
    Ok(transaction.commit()?)
}

/// Applies records that are missing in the store file, all or none.
///
/// A record finds the store as it was when its batches were applied for the
/// first time, so it does the same again: the store file has all that came
/// before, expiry is judged by the time of then, and no key was swept away
/// meanwhile, because a sweep is a checkpoint.
fn apply<'a>(
    database: &Database,
    records: impl Iterator<Item = &'a [u8]>,
    last: u64,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    let mut applied: u64 = 0;
    {
        let mut tables = Tables::write(&transaction)?;
        for payload in records {
            let batches = journal::batches(payload).map_err(|error| corrupted(&error.to_string()))?;
            for logged in batches {
                let mut batch = Batch::new();
                for write in logged.writes.into_owned() {
                    batch.write(write);
                }
                let committed = preflight(&tables, &batch, logged.now)
                    .map_err(|error| corrupted(&format!("a record does not fit the store: {error}")))?;
                tables.apply(&batch, &committed.counters, logged.now)?;
            }
            applied += 1;
        }
        transaction.open_table(META)?.insert(META_RECORD, last)?;
    }
    transaction.commit()?;
    if applied > 0 {
        tracing::info!(records = applied, "writes recovered from the journal");
    }
    Ok(())
}
