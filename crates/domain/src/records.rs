//! Records, with everything that exists because of them: members of lists, and counts.
//!
//! A record, such as a comment, says this itself ([`Stored::entries`]). Whatever happens to it (posting, editing,
//! holding, approving, removing, restoring, erasing, importing) is [`change`]: it writes the fields that differ, and
//! the entries follow. So nobody else has to know in which lists a comment is.

use crate::keys;
use std::collections::BTreeMap;
use std::ops::Deref;
use tidings_keyspace::{Batch, Check, CheckId, Hash};

/// The fields of a record; `None` for one that is absent.
pub(crate) type Fields = Vec<(String, Option<String>)>;

/// A record of the store: some fields of one hash, and what exists because of them.
pub(crate) trait Stored {
    /// Whether the hash is this record and nothing else.
    const IS_WHOLE_HASH: bool;

    /// The hash that it is in.
    fn key(&self) -> String;

    /// Its fields there, as this program writes them, always in the same order.
    fn fields(&self) -> Fields;

    /// Whether a change of the record rests on a field, even if the field stays as it is. A change never rests on counters.
    fn decides(_field: &str) -> bool {
        true
    }

    /// Says what exists because of this record alone. Each member of a list is the entry of one record.
    fn entries(&self, entries: &mut RecordEntries);
}

/// How a member stands in a list.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Placement {
    /// With this score.
    Fixed(f64),
    /// It comes with this score, which votes move afterwards.
    Moved(f64),
    /// The same in a list that is stored only while readers ask for it. `true`: a list that has become empty is to be made
    /// anew.
    Stored(f64, bool),
    /// In a set, which has no scores.
    Set,
    /// It may be there, and is only ever taken out.
    Possible,
    /// The score of the member counts the records.
    Counted,
}

/// Everything that exists because of some records, besides their own fields.
#[derive(Debug, Default)]
pub(crate) struct RecordEntries {
    /// Members of lists.
    listed: BTreeMap<(String, String), Placement>,
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

    fn add(&mut self, list: impl Into<String>, member: impl ToString, place: Placement) {
        self.listed.insert((list.into(), member.to_string()), place);
    }

    /// The record is a member of a sorted set.
    pub(crate) fn listed(&mut self, list: impl Into<String>, member: impl ToString, score: f64) {
        self.add(list, member, Placement::Fixed(score));
    }

    /// The record comes into a sorted set with a score that votes move afterwards.
    pub(crate) fn ranked(&mut self, list: impl Into<String>, member: impl ToString, score: f64) {
        self.add(list, member, Placement::Moved(score));
    }

    /// The same for a sorted set that is stored only while readers ask for it.
    pub(crate) fn ranked_if_stored(&mut self, list: impl Into<String>, member: impl ToString, score: f64) {
        self.add(list, member, Placement::Stored(score, false));
    }

    /// The same for one whose mark `built:` stays while it is empty, so that it has to be made anew.
    pub(crate) fn ranked_if_built(&mut self, list: impl Into<String>, member: impl ToString, score: f64) {
        self.add(list, member, Placement::Stored(score, true));
    }

    /// The record may be a member of a sorted set, as time passes. [`RecordEntries::ranked`] says which one it comes into.
    pub(crate) fn possible(&mut self, list: impl Into<String>, member: impl ToString) {
        self.add(list, member, Placement::Possible);
    }

    /// The record is a member of a set.
    pub(crate) fn grouped(&mut self, set: impl Into<String>, member: impl ToString) {
        self.add(set, member, Placement::Set);
    }

    /// The score of a member of a sorted set counts the record.
    pub(crate) fn counted_member(&mut self, list: impl Into<String>, member: impl ToString) {
        self.add(list, member, Placement::Counted);
    }

    /// A field of a hash counts the record.
    pub(crate) fn counted(&mut self, key: String, field: &'static str) {
        *self.counted.entry((key, field)).or_default() += 1;
    }

    /// Whether a list has a member because of the records.
    pub(crate) fn has(&self, list: &str, member: &str) -> bool {
        self.listed.contains_key(&(list.to_owned(), member.to_owned()))
    }

    /// The members of lists whose scores follow from the record.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.listed.iter().filter_map(|((list, member), place)| match place {
            Placement::Fixed(score) => Some((&**list, &**member, *score)),
            _ => None,
        })
    }

    /// How much a field of a hash counts because of the records.
    pub(crate) fn count(&self, key: &str, field: &'static str) -> i64 {
        self.counted.get(&(key.to_owned(), field)).copied().unwrap_or(0)
    }

    /// Adds to a batch that these entries take the place of others. Those that stay are written, too: what another
    /// program has left out is there afterwards. Only scores that votes move stay as they are. No counter falls below 0.
    fn replace(&self, before: &Self, batch: &mut Batch) {
        for ((list, member), place) in
            before.listed.iter().filter(|(entry, _)| !self.listed.contains_key(*entry))
        {
            match place {
                Placement::Fixed(_) | Placement::Moved(_) | Placement::Stored(..) | Placement::Possible => {
                    batch.sorted_remove(list, member)
                }
                Placement::Set => batch.remove_member(list, member),
                Placement::Counted => batch.sorted_increment(list, member, -1.0),
            }
        }
        for (entry @ (list, member), place) in &self.listed {
            let is_new = !before.listed.contains_key(entry);
            match *place {
                Placement::Fixed(score) => batch.sorted_add(list, member, score),
                Placement::Set => batch.add_member(list, member),
                Placement::Moved(score) if is_new => batch.sorted_add(list, member, score),
                Placement::Stored(score, is_made_anew) if is_new => {
                    batch.sorted_add_if_present(list, member, score);
                    if is_made_anew {
                        batch.delete(keys::built(list));
                    }
                }
                Placement::Counted if is_new => batch.sorted_increment(list, member, 1.0),
                Placement::Moved(_) | Placement::Stored(..) | Placement::Possible | Placement::Counted => {}
            }
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

impl<R: Clone> AsRead<R> {
    /// The record after a change.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut R)) -> R {
        let mut after = self.record.clone();
        change(&mut after);
        after
    }
}

impl<R> Deref for AsRead<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.record
    }
}

impl<R: Stored> AsRead<R> {
    /// A record that was read from a hash.
    pub(crate) fn of_hash(record: R, hash: &Hash) -> Self {
        let stored = |(field, _): (String, _)| (hash.get(&field).map(str::to_owned), field);
        let text = record.fields().into_iter().map(stored).map(|(text, field)| (field, text)).collect();
        Self { record, text }
    }

    /// Makes a batch fail if the record has changed since it was read.
    pub(crate) fn unchanged(&self, batch: &mut Batch) {
        self.rewrite(batch, &self.record);
    }

    /// Adds to a batch other values of the fields of the record. Nothing else may follow from these: votes, for
    /// example. Returns the check that it has not changed since it was read.
    pub(crate) fn rewrite(&self, batch: &mut Batch, after: &R) -> Option<CheckId> {
        let key = self.record.key();
        let mut check = None;
        let values = self.record.fields().into_iter().zip(after.fields());
        for ((field, text), ((_, before), (_, value))) in self.text.iter().zip(values) {
            let is_other = before != value;
            if !is_other && !R::decides(field) {
                continue;
            }
            // Both checks of two changes would hold, and the second change would undo the first.
            debug_assert!(!is_checked(batch, &key, field), "{field} of {key} is changed twice");
            let unchanged = batch.field_unchanged(&key, field, text.as_deref());
            check = check.or(Some(unchanged));
            match value {
                _ if !is_other => {}
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
        if R::IS_WHOLE_HASH {
            let absent = batch.key_absent(&key);
            check = check.or(Some(absent));
        }
        let fields: Vec<_> =
            record.fields().into_iter().filter_map(|(field, value)| Some((field, value?))).collect();
        for (field, _) in fields.iter().filter(|_| !R::IS_WHOLE_HASH) {
            let absent = batch.field_absent(&key, field);
            check = check.or(Some(absent));
        }
        batch.set_fields(key, fields);
        record.entries(&mut entries);
    }
    entries.replace(&RecordEntries::default(), batch);
    check
}

/// Adds to a batch that a record that is a whole hash is deleted, with what exists because of it.
pub(crate) fn delete<R: Stored>(batch: &mut Batch, before: &AsRead<R>) {
    before.unchanged(batch);
    batch.delete(before.record.key());
    RecordEntries::default().replace(&RecordEntries::of([&before.record]), batch);
}
