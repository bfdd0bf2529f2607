//! The values that fields of hashes had when they were last read.
//!
//! A Redis server reports which keys are written, and not which of their fields. So a reported
//! hash is *in doubt* until the fields that were read of it have been read again: those with
//! another value were written, and the others were not. See `read_set.rs`.
//!
//! All that is used here is bounded: keys that are dropped count as written.

use crate::limits::{MAX_KNOWN_FIELDS, MAX_KNOWN_KEYS};
use std::collections::HashMap;

/// The hash of a value.
pub(super) type ValueHash = u64;

/// The fields that were read, by the keys of their hashes.
#[derive(Default)]
pub(super) struct KnownFields {
    current: HashMap<Box<str>, Vec<KnownField>>,
    /// The keys before those of `current`; dropped when `current` is full.
    previous: HashMap<Box<str>, Vec<KnownField>>,
}

struct KnownField {
    name: Box<str>,
    /// `None` while it is being read for the first time, and if it cannot be read.
    value: Option<ValueHash>,
}

impl KnownFields {
    /// Notes that fields are about to be read. Returns the keys that are dropped for them.
    pub(super) fn expect(&mut self, key: &str, fields: &[String]) -> Vec<Box<str>> {
        let mut dropped = Vec::new();
        if !self.current.contains_key(key) {
            if self.current.len() >= MAX_KNOWN_KEYS {
                let previous = std::mem::replace(&mut self.previous, std::mem::take(&mut self.current));
                dropped.extend(previous.into_keys());
            }
            let known = self.previous.remove(key).unwrap_or_default();
            self.current.insert(key.into(), known);
        }
        let Some(known) = self.current.get_mut(key) else { return dropped };
        for name in fields {
            if !known.iter().any(|field| *field.name == **name) {
                known.push(KnownField { name: name.as_str().into(), value: None });
            }
        }
        if known.len() > MAX_KNOWN_FIELDS {
            self.current.remove(key);
            dropped.push(key.into());
        }
        dropped
    }

    /// Notes the value of a field that was read. Returns whether another value was known: then
    /// the field was written in between.
    pub(super) fn note_value(&mut self, key: &str, name: &str, value: Option<ValueHash>) -> bool {
        let known = self.current.get_mut(key).or_else(|| self.previous.get_mut(key));
        let field = known.and_then(|known| known.iter_mut().find(|field| *field.name == *name));
        let Some(field) = field else { return false };
        let before = std::mem::replace(&mut field.value, value);
        before.is_some() && before != value
    }

    /// The fields that were read of a hash, and are not known to be written since.
    pub(super) fn of(&self, key: &str) -> impl Iterator<Item = &str> {
        let known = self.current.get(key).or_else(|| self.previous.get(key));
        known.into_iter().flatten().map(|field| &*field.name)
    }

    /// Whether any field of a hash is known.
    pub(super) fn has(&self, key: &str) -> bool {
        self.of(key).next().is_some()
    }

    /// The value that a field had, if the field is known, and if its value is.
    pub(super) fn value(&self, key: &str, name: &str) -> Option<Option<ValueHash>> {
        let known = self.current.get(key).or_else(|| self.previous.get(key))?;
        known.iter().find(|field| *field.name == *name).map(|field| field.value)
    }

    /// Forgets a field that was written.
    pub(super) fn forget_field(&mut self, key: &str, name: &str) {
        for known in [&mut self.current, &mut self.previous] {
            if let Some(fields) = known.get_mut(key) {
                fields.retain(|field| *field.name != *name);
                if fields.is_empty() {
                    known.remove(key);
                }
            }
        }
    }

    /// Forgets all fields of a hash that was written.
    pub(super) fn forget(&mut self, key: &str) {
        self.current.remove(key);
        self.previous.remove(key);
    }
}
