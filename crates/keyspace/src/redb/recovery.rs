//! Opening the journal of a store file: records that the file lacks are applied to it.
//!
//! The store file contains, in `meta`, the id of its journal and the number of the last
//! record that was applied to it. The records of a journal are numbered without gaps. So
//! it is known which records the file lacks, and whether the two belong together. If they
//! do not, the store is not opened, because each may have acknowledged writes that the
//! other lacks.

use super::apply::preflight;
use super::database::{begin_write, damaged};
use super::journal::{self, Journal, JournalContents, JournalError, JournalStorage};
use super::store_file::StoreFile;
use super::tables::{META, META_CLOCK, META_JOURNAL, META_RECORD, Tables, corrupted};
use crate::batch::Batch;
use redb::{Database, ReadableDatabase};

/// The number of record numbers that are reserved each time a store is opened.
///
/// The first record after opening gets a number that no record ever had. So a record that a
/// failed disk has left in the journal, even a complete one, never follows a new record.
const NUMBERS_OF_ONE_OPENING: u64 = 1 << 32;

/// The journal of a store file and the position in it, as the store file has them.
struct JournalPosition {
    /// The id of the journal; 0 means none.
    journal: u64,
    /// The number of the last record that was applied to the store file.
    record: u64,
}

/// Applies the records that a store file lacks, and opens the journal. If it is not ready, it
/// needs [`prepare_journal`] before it takes records. The error tells the operator what to do.
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

    // A journal without records may be left over from an earlier attempt to open the store.
    let foreign =
        |contents: &JournalContents<'_>| contents.id != position.journal && !contents.records.is_empty();
    if contents.as_ref().is_some_and(foreign) {
        return Err(MISMATCH.to_owned());
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
            return Err(MISMATCH.to_owned());
        }
        let missing = contents.records.iter().filter(|(number, _)| *number > position.record);
        apply(database, missing.map(|(_, payload)| *payload), last).map_err(failed)?;
        if !contents.records.is_empty() {
            tracing::info!(
                "the store was not closed cleanly; its last writes are recovered from the journal"
            );
        }
    }
    let reusable = ours.is_some() && bytes.is_some_and(|bytes| bytes.len() == length);
    Ok(Journal::empty(storage, length, last, reusable))
}

/// Creates a journal that is not ready. If the disk has no room for it, [`Journal::trouble`] or that
/// of the file says so, and it can be tried again. The store file must have all earlier writes.
pub(super) fn prepare_journal(
    database: &Database,
    file: &StoreFile,
    journal: &mut Journal,
) -> Result<(), String> {
    let id = getrandom::u64().map_err(|error| format!("the system has no random numbers: {error}"))?.max(1);
    if let Err(error) = journal.replace(id) {
        let temporary = journal.trouble().is_some();
        return if temporary { Ok(()) } else { Err(format!("its journal cannot be created: {error}")) };
    }
    note(database, id, journal.last()).map_err(|error| format!("its journal cannot be named: {error}"))?;
    // If the note was not flushed, the file is in trouble, and takes it before it takes any record.
    if file.trouble().is_none_or(|trouble| !trouble.lasts) {
        journal.set_ready();
    }
    Ok(())
}

/// Removes a journal whose records were all applied, and notes that the store file is
/// complete without it.
pub(super) fn close_journal(database: &Database, journal: Journal) -> Result<(), redb::Error> {
    let last = journal.last();
    // The order matters: a store file that names no journal must never be beside records.
    journal.remove()?;
    note(database, 0, last)
}

const MISMATCH: &str = "its journal (the file of the same name followed by -journal) belongs to another store file \
     or to another copy of it; put back the store file that belongs to the journal, or move the journal away, \
     which loses the writes that only the journal has";

fn advice(unreadable: JournalError) -> String {
    match unreadable {
        JournalError::Damaged => "its journal (the file of the same name followed by -journal) is damaged; \
             restore both files from a backup, or move the journal away, \
             which loses the writes that only the journal has"
            .to_owned(),
        JournalError::Format(format) => format!(
            "its journal has the format {format}, which this version does not know; \
             run the version that wrote it, and shut it down cleanly"
        ),
    }
}

fn position(database: &Database) -> Result<JournalPosition, redb::Error> {
    let meta = database.begin_read()?.open_table(META)?;
    let number = |key| Ok::<_, redb::Error>(meta.get(key)?.map_or(0, |number| number.value()));
    Ok(JournalPosition { journal: number(META_JOURNAL)?, record: number(META_RECORD)? })
}

/// Stores the id of the journal in the store file, and the number before its first record.
fn note(database: &Database, id: u64, last: u64) -> Result<(), redb::Error> {
    let transaction = begin_write(database)?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_JOURNAL, id)?;
        meta.insert(META_RECORD, last)?;
    }
    Ok(transaction.commit()?)
}

/// Applies records to a store file, all or none.
///
/// The effect is the same as the first time, because the store is in the same state: the
/// file has all earlier writes, expiry is decided by the time in the record, and no expired
/// key was removed in between, because such a removal is a checkpoint.
fn apply<'a>(
    database: &Database,
    records: impl Iterator<Item = &'a [u8]>,
    last: u64,
) -> Result<(), redb::Error> {
    let transaction = begin_write(database)?;
    let (mut applied, mut applied_batches, mut time): (u64, u64, u64) = (0, 0, 0);
    {
        let mut tables = Tables::write(&transaction)?;
        for payload in records {
            let batches = journal::batches(payload).map_err(|error| corrupted(&error.to_string()))?;
            for logged in batches {
                let mut batch = Batch::new();
                for write in logged.writes.into_owned() {
                    batch.write(write);
                }
                time = time.max(logged.now);
                tables.now = logged.now;
                let counters = preflight(&tables, &batch)
                    .map_err(|error| corrupted(&format!("a record does not fit the store: {error}")))?;
                tables.apply(&batch, &counters)?;
                applied_batches += 1;
            }
            applied += 1;
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_RECORD, last)?;
        if applied > 0 {
            meta.insert(META_CLOCK, time)?;
        }
    }
    transaction.commit()?;
    tracing::debug!(records = applied, batches = applied_batches, "the journal is applied");
    Ok(())
}
