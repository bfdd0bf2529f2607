//! The names of keys as they are written, for work that follows writes a little later.

use crate::limits::MAX_WRITTEN_KEYS;
use parking_lot::{Mutex, RwLock};
use std::collections::HashSet;
use std::sync::{Arc, Weak};

/// The keys that were written since the last look: see [`Store::watch_keys`](crate::Store::watch_keys).
pub struct WrittenKeys {
    is_wanted: fn(&str) -> bool,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    keys: HashSet<String>,
    has_gap: bool,
}

impl WrittenKeys {
    /// The keys that were written since the last call, each once, and whether there may be others.
    pub fn take(&self) -> (HashSet<String>, bool) {
        let found = std::mem::take(&mut *self.found.lock());
        (found.keys, found.has_gap)
    }

    fn note(&self, key: &str) {
        if !(self.is_wanted)(key) {
            return;
        }
        let mut found = self.found.lock();
        if found.keys.len() < MAX_WRITTEN_KEYS {
            found.keys.insert(key.to_owned());
        } else {
            found.has_gap = true;
        }
    }

    fn note_gap(&self) {
        self.found.lock().has_gap = true;
    }
}

/// Those who want to know.
#[derive(Default)]
pub(crate) struct Watchers(RwLock<Vec<Weak<WrittenKeys>>>);

impl Watchers {
    pub(crate) fn add(&self, is_wanted: fn(&str) -> bool) -> Arc<WrittenKeys> {
        let watcher = Arc::new(WrittenKeys { is_wanted, found: Mutex::default() });
        let mut watchers = self.0.write();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(Arc::downgrade(&watcher));
        watcher
    }

    fn each(&self, tell: impl Fn(&WrittenKeys)) {
        let watchers = self.0.read();
        watchers.iter().filter_map(Weak::upgrade).for_each(|watcher| tell(&watcher));
    }

    pub(crate) fn note(&self, key: &str) {
        self.each(|watcher| watcher.note(key));
    }

    /// Notes that anything may have been written.
    pub(crate) fn note_gap(&self) {
        self.each(WrittenKeys::note_gap);
    }
}
