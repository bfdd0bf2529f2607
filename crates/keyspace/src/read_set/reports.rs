//! The reports of a Redis server: the keys that anyone has written, without the fields.
//!
//! A reported hash is *in doubt*: what was read of its fields counts as written until these fields
//! have been read again. Those that have the value that they had were not written, or it makes no
//! difference. For this, the values that were read are remembered, each as a hash of 64 bits.
//!
//! While a read set with a field has not ended, the remembered value is the one that it was made of,
//! or the reading has not noted its value yet. Each event that would make that false ends the read
//! sets of the field: a reading that finds another value, a doubt that ends before a value is noted,
//! a key that is no longer remembered.

use super::known_fields::{KnownFields, ValueHash};
use super::{ItemHash, VersionedItem, Versions, tracked_fields};
use crate::KeyspaceError;
use crate::batch::{Batch, WrittenFields};
use crate::query::{Answer, Query, Read};
use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

/// A reported key of which fields were read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(crate) key: Box<str>,
    /// The number of the report. Fields that were read later are not in doubt.
    pub(super) number: u64,
}

impl Versions {
    /// Notes that fields of hashes are about to be read.
    pub(super) fn expect_fields<'a>(&self, reads: impl Iterator<Item = &'a Read>) {
        let mut reads = reads.filter_map(tracked_fields).peekable();
        if reads.peek().is_none() {
            return;
        }
        let mut writes = self.writes.write();
        let dropped: Vec<_> = reads.flat_map(|(key, fields)| writes.known.expect(key, fields)).collect();
        let items: Vec<ItemHash> = dropped.iter().map(|key| self.all_fields(key)).collect();
        if !items.is_empty() {
            self.note_in(&mut writes, &items);
        }
    }

    /// Notes the values that a query has read.
    pub(crate) fn note_values(&self, query: &Query, outcomes: &[Result<Answer, KeyspaceError>]) {
        let has_fields = || query.reads().iter().any(|read| tracked_fields(read).is_some());
        if !self.has_reports || !has_fields() {
            return;
        }
        let mut writes = self.writes.write();
        let mut changed = Vec::new();
        for (read, outcome) in query.reads().iter().zip(outcomes) {
            let Some((key, fields)) = tracked_fields(read) else { continue };
            for (position, field) in fields.iter().enumerate() {
                let value = match outcome {
                    Ok(Answer::Texts(texts)) => {
                        texts.get(position).map(|text| self.value_hash(text.as_deref()))
                    }
                    _ => None,
                };
                if writes.known.note_value(key, field, value) {
                    changed.push(self.hasher.hash_one(VersionedItem::Field(key, field)));
                }
            }
        }
        if !changed.is_empty() {
            self.note_in(&mut writes, &changed);
        }
    }

    fn value_hash(&self, text: Option<&str>) -> ValueHash {
        self.hasher.hash_one(text)
    }

    fn all_fields(&self, key: &str) -> ItemHash {
        self.hasher.hash_one(VersionedItem::AllFields(key))
    }

    /// Notes a report that a key was written. It ends the read sets that have the key, and puts
    /// those in doubt that have fields of it.
    pub(crate) fn note_reported_key(&self, key: &str) {
        self.watchers.note(key);
        let mut writes = self.writes.write();
        // If no field is known, all read sets that had one have ended.
        if writes.known.has(key) {
            let (item, number) = (self.all_fields(key), self.latest.load(Ordering::Relaxed) + 1);
            writes.doubts.insert(item, Doubt { key: key.into(), number });
            if let Some(place) = self.place(item) {
                place.store(number, Ordering::Release);
            }
            self.has_doubts.store(true, Ordering::Release);
        }
        self.note_in(&mut writes, &[self.hasher.hash_one(VersionedItem::Key(key))]);
    }

    /// Whether anything is in doubt.
    pub(crate) fn has_doubts(&self) -> bool {
        self.has_doubts.load(Ordering::Acquire)
    }

    /// Some of the keys that are in doubt, with the fields to read again.
    pub(crate) fn doubts(&self, count: usize) -> Vec<(Doubt, Vec<String>)> {
        let writes = self.writes.read();
        let with_fields =
            |doubt: &Doubt| (doubt.clone(), writes.known.of(&doubt.key).map(str::to_owned).collect());
        writes.doubts.values().take(count).map(with_fields).collect()
    }

    /// Ends a doubt with what was read again; `None` if that failed. Read sets that have a field
    /// with another value than before end. If the key was reported again after the doubt was
    /// taken, it stays in doubt.
    pub(crate) fn settle(&self, doubt: &Doubt, fields: &[String], values: Option<&[Option<String>]>) {
        let mut writes = self.writes.write();
        let mut changed = Vec::new();
        match values.filter(|values| values.len() == fields.len()) {
            Some(values) => {
                for (field, value) in fields.iter().zip(values) {
                    let value = Some(self.value_hash(value.as_deref()));
                    // One that was forgotten is noted already. One whose value is not known is
                    // being read, perhaps from before the write.
                    let known = writes.known.value(&doubt.key, field);
                    if known.is_some_and(|known| known != value) {
                        writes.known.note_value(&doubt.key, field, value);
                        changed.push(self.hasher.hash_one(VersionedItem::Field(&doubt.key, field)));
                    }
                }
            }
            None => {
                writes.known.forget(&doubt.key);
                changed.push(self.all_fields(&doubt.key));
            }
        }
        if !changed.is_empty() {
            self.note_in(&mut writes, &changed);
        }
        let item = self.all_fields(&doubt.key);
        if writes.doubts.get(&item) == Some(doubt) {
            writes.doubts.remove(&item);
            self.has_doubts.store(!writes.doubts.is_empty(), Ordering::Release);
        }
    }
}

/// Forgets the fields that a batch writes.
pub(super) fn forget_written(known: &mut KnownFields, batch: &Batch) {
    for write in batch.writes() {
        match write.written_fields() {
            WrittenFields::All => known.forget(write.key()),
            WrittenFields::These(fields) => {
                fields.iter().for_each(|field| known.forget_field(write.key(), field));
            }
        }
    }
}
