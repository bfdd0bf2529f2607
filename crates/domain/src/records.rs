//! Records, with everything that exists because of them: members of lists, and counts.
//!
//! A record, such as a comment, says this itself ([`Stored::entries`]). Whatever happens to it (posting, editing,
//! holding, approving, removing, restoring, erasing, importing) is [`change`]: it writes the fields that differ, and
//! the entries follow. So nobody else has to know in which lists a comment is.

use std::collections::BTreeMap;
use std::ops::Deref;
use tidings_keyspace::{Batch, Check, CheckId};

/// The fields of a record; `None` for one that is absent.
pub(crate) type Fields = Vec<(String, Option<String>)>;

/// A record of the store: some fields of one hash, and what exists because of them.
pub(crate) trait Stored {
    /// The hash that it is in.
    fn key(&self) -> String;

    /// Its fields there, as this program writes them.
    fn fields(&self) -> Fields;

    /// Says what exists because of this record alone. Each member of a list is the entry of one record.
    fn entries(&self, entries: &mut RecordEntries);
}

/// Everything that exists because of some records, besides their own fields.
#[derive(Debug, Default)]
pub(crate) struct RecordEntries {
    /// Members of sorted sets, with their scores.
    listed: BTreeMap<(String, String), f64>,
    /// Fields of hashes that count records.
    counted: BTreeMap<(String, &'static str), i64>,
}

impl RecordEntries {
    /// The entries of some records.
    pub(crate) fn of<'a, R: Stored + 'a>(records: impl IntoIterator<Item = &'a R>) -> Self {
        let mut entries = Self::default();
        records.into_iter().for_each(|record| record.entries(&mut entries));
        entries
    }

    /// The record is a member of a sorted set.
    pub(crate) fn listed(&mut self, list: String, member: impl ToString, score: f64) {
        self.listed.insert((list, member.to_string()), score);
    }

    /// A field of a hash counts the record.
    pub(crate) fn counted(&mut self, key: String, field: &'static str) {
        *self.counted.entry((key, field)).or_default() += 1;
    }

    /// The members of lists.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.listed.iter().map(|((list, member), score)| (&**list, &**member, *score))
    }

    /// How much a field of a hash counts because of the records.
    pub(crate) fn count(&self, key: &str, field: &'static str) -> i64 {
        self.counted.get(&(key.to_owned(), field)).copied().unwrap_or(0)
    }

    /// Adds to a batch that these entries take the place of others. Those that stay are written, too: what another
    /// program has left out is there afterwards. No counter falls below 0.
    fn replace(&self, before: &Self, batch: &mut Batch) {
        for (list, member) in before.listed.keys().filter(|entry| !self.listed.contains_key(*entry)) {
            batch.sorted_remove(list, member);
        }
        for (list, member, score) in self.members() {
            batch.sorted_add(list, member, score);
        }
        let counters =
            before.counted.keys().chain(self.counted.keys().filter(|key| !before.counted.contains_key(*key)));
        for counter @ (key, field) in counters {
            let count = |entries: &Self| entries.counted.get(counter).copied().unwrap_or(0);
            match count(self) - count(before) {
                0 => {}
                more @ 1.. => batch.increment_field(key, *field, more),
                less => batch.lower_field(key, *field, less.unsigned_abs()),
            }
        }
    }
}

/// A record as it was read. Its text may be that of another program, which this one would write in another way.
#[derive(Debug, Clone)]
pub(crate) struct AsRead<R> {
    record: R,
    text: Fields,
}

impl<R> AsRead<R> {
    /// A record that was read from these fields.
    pub(crate) const fn new(record: R, text: Fields) -> Self {
        Self { record, text }
    }

    /// The record alone.
    pub(crate) fn into_record(self) -> R {
        self.record
    }
}

impl<R> Deref for AsRead<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.record
    }
}

impl<R: Stored> AsRead<R> {
    /// Adds to a batch other values of the fields of the record. Nothing else may follow from these: votes, for
    /// example. Returns the check that it has not changed since it was read.
    pub(crate) fn rewrite(&self, batch: &mut Batch, after: &R) -> Option<CheckId> {
        let key = self.record.key();
        let mut check = None;
        for ((field, text), (_, value)) in self.text.iter().zip(after.fields()) {
            // Both checks of two changes would hold, and the second change would undo the first.
            debug_assert!(!is_checked(batch, &key, field), "{field} of {key} is changed twice");
            let unchanged = batch.field_unchanged(&key, field, text.as_deref());
            check = check.or(Some(unchanged));
            match value {
                _ if value == *text => {}
                Some(value) => batch.set_field(&key, field, value),
                None => batch.delete_field(&key, field),
            }
        }
        check
    }
}

/// Whether a batch checks a field already.
fn is_checked(batch: &Batch, key: &str, field: &str) -> bool {
    let is_it = |check: &Check| match check {
        Check::FieldEquals(checked, name, _) | Check::FieldAbsent(checked, name) => {
            (&**checked, &**name) == (key, field)
        }
        _ => false,
    };
    batch.checks().iter().any(is_it)
}

/// Adds to a batch that a record becomes another: its fields, and what exists because of it. A record is changed at most
/// once in a batch. Returns the check that it has not changed since it was read.
pub(crate) fn change<R: Stored>(batch: &mut Batch, before: &AsRead<R>, after: &R) -> Option<CheckId> {
    let check = before.rewrite(batch, after);
    RecordEntries::of([after]).replace(&RecordEntries::of([&before.record]), batch);
    check
}

/// Adds new records to a batch, which fails if one of them is there already. Returns the check of the first.
pub(crate) fn add<'a, R: Stored + 'a>(
    batch: &mut Batch,
    records: impl IntoIterator<Item = &'a R>,
) -> Option<CheckId> {
    let (mut entries, mut check) = (RecordEntries::default(), None);
    for record in records {
        let key = record.key();
        for (field, value) in record.fields() {
            let absent = batch.field_absent(&key, &field);
            check = check.or(Some(absent));
            if let Some(value) = value {
                batch.set_field(&key, field, value);
            }
        }
        record.entries(&mut entries);
    }
    entries.replace(&RecordEntries::default(), batch);
    check
}
