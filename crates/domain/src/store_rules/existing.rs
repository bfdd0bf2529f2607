//! Keys that a walk has found. A key that many things refer to, such as that of a user with many votes, is
//! looked up once.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Keys that are remembered, at 8 bytes and some room for each.
const MAX_EXISTING: usize = 500_000;

/// Keys that exist, by their hashes. A key of another one's hash is looked up once too seldom: that is one in
/// 10^13 keys.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    hasher: RandomState,
    keys: Mutex<HashSet<u64>>,
}

impl Existing {
    /// Whether a key was found.
    pub(crate) fn has(&self, key: &str) -> bool {
        let hash = self.hasher.hash_one(key);
        self.keys.lock().contains(&hash)
    }

    /// Remembers keys that were found, as long as there is room.
    pub(crate) fn note<'a>(&self, keys: impl Iterator<Item = &'a str>) {
        let mut known = self.keys.lock();
        for key in keys {
            if known.len() < MAX_EXISTING {
                known.insert(self.hasher.hash_one(key));
            }
        }
    }
}
