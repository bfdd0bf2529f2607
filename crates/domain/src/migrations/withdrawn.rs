//! The record of what was taken away with something that moderators had removed, `withdrawn:<thing>`: there is none since
//! layout 14.

use crate::fields::StoredFields;
use crate::keys;
use crate::values::{RemovedBy, Thing};
use std::str::FromStr;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The key of the record of a thing.
fn key(thing: &Thing) -> String {
    format!("{}{thing}", keys::OLD_WITHDRAWN)
}

/// The thing whose record is at a key, if one is.
pub(super) fn thing_of(key: &str) -> Option<Thing> {
    key.strip_prefix(keys::OLD_WITHDRAWN)?.parse().ok()
}

/// The record of something that is removed.
#[derive(Debug, Clone)]
pub(super) struct Withdrawn {
    key: String,
    /// The line of the log that says who removed it, and why it was withheld before, if it was.
    pub(super) removed: RemovedBy,
    hash: Hash,
}

impl Withdrawn {
    /// The record of a thing, if there is one.
    pub(super) fn of(thing: &Thing) -> impl Fetch<Value = Option<Self>> + use<> {
        let key = key(thing);
        read::hash(&key).map(move |hash| {
            let fields = StoredFields::new(&hash, || key.clone());
            let removed = RemovedBy { line: fields.read("moderation")?, earlier: fields.read("earlier") };
            Some(Self { key, removed, hash })
        })
    }

    /// A field that it remembers besides; `None` if it is absent or cannot be read.
    pub(super) fn rest<T: FromStr>(&self, field: &str) -> Option<T> {
        StoredFields::new(&self.hash, || self.key.clone()).read(field)
    }

    /// Adds to a batch that it is deleted.
    pub(super) fn forget(&self, batch: &mut Batch) {
        batch.field_equals(&self.key, "moderation", self.removed.line.to_string());
        batch.delete(&self.key);
    }
}
