//! Going over the names of all keys of a store.

use crate::keys::families::Family;
use crate::{Advance, Error};
use tidings_keyspace::Store;

/// Names that are read at a time.
const KEYS_AT_ONCE: usize = 1_000;

/// Goes over the names of all keys, a thousand at a time, and tells how far it is. Rounds: 1, and 1 for each 1,000 keys.
pub(crate) struct KeyWalk<'a> {
    store: &'a Store,
    advance: Advance<'a>,
    total: u64,
    seen: u64,
    cursor: Option<String>,
    is_over: bool,
}

impl<'a> KeyWalk<'a> {
    /// Begins at the first key.
    pub(crate) async fn begin(store: &'a Store, advance: Advance<'a>) -> Result<Self, Error> {
        let total = store.count_keys().await?;
        Ok(Self { store, advance, total, seen: 0, cursor: None, is_over: false })
    }

    /// The next names; `None` after the last. By then, the caller has done its work with those before.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<String>>, Error> {
        if self.seen > 0 {
            (self.advance)(self.seen.min(self.total), self.total);
        }
        if self.is_over {
            return Ok(None);
        }
        let page = self.store.scan_keys(self.cursor.take(), KEYS_AT_ONCE).await?;
        self.seen += u64::try_from(page.keys.len()).unwrap_or(0);
        self.cursor = page.next;
        self.is_over = self.cursor.is_none();
        Ok(Some(page.keys))
    }
}

/// The first parts of the names of one family among keys.
pub(crate) fn first_parts<'a>(keys: &'a [String], of: &'static Family) -> impl Iterator<Item = &'a str> {
    let known = keys.iter().filter_map(|key| Family::of(key));
    known.filter(move |(family, _)| **family == *of).filter_map(|(_, parts)| parts.first().copied())
}
