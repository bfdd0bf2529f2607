//! What was read for one visitor and is the same for the next, kept in memory
//! until any of it is written.
//!
//! Only what this process alone writes can be kept so: on a store that other
//! servers share every page is read anew. Nothing here may depend on who visits.

use super::clock::Timestamp;
use super::ids::{NewsId, TweetId, UserId};
use super::news::NewsPage;
use super::suggestions::Suggestion;
use super::threads::Thread;
use super::timelines::{HomeKey, HomePage};
use super::tweet_lines::TweetLine;
use super::voters::Voters;
use crate::keyspace::{Footprint, Store};
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

const MEBIBYTE: u64 = 1024 * 1024;
/// Parts of a shelf with a lock each. What is larger than a part is not kept.
const SHARDS: usize = 4;
/// About how many bytes an entry takes beside its value and its footprint.
const OVERHEAD: usize = 128;

/// All that is kept.
pub struct Kept {
    /// Lists of news, by the key of the list, the start and the number of items.
    pub(super) lists: Shelf<(String, u64, u64), NewsPage>,
    /// Names of users.
    pub(super) usernames: Shelf<UserId, Arc<str>>,
    /// Who voted on news.
    pub(super) voters: Shelf<NewsId, Voters>,
    /// Tweets, each as it was last put in a place.
    pub(super) tweets: Shelf<TweetId, TweetLine>,
    /// Home timelines, by the reader and the window.
    pub(super) homes: Shelf<HomeKey, HomePage>,
    /// Whom to follow, by the viewer and the number.
    pub(super) suggestions: Shelf<(UserId, usize), Vec<Suggestion>>,
    /// Threads.
    pub(super) threads: Shelf<NewsId, Thread>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            lists: Shelf::new(2 * MEBIBYTE, NewsPage::size),
            usernames: Shelf::new(MEBIBYTE, |name| name.len()),
            voters: Shelf::new(2 * MEBIBYTE, Voters::size),
            tweets: Shelf::new(8 * MEBIBYTE, TweetLine::size),
            homes: Shelf::new(4 * MEBIBYTE, HomePage::size),
            suggestions: Shelf::new(4 * MEBIBYTE, |people| people.iter().map(Suggestion::size).sum()),
            threads: Shelf::new(12 * MEBIBYTE, Thread::size),
        }
    }
}

/// What somebody has made of a value to show it, made once and kept beside the
/// value: it lives as long and no longer.
#[derive(Debug, Default)]
pub struct Shown([OnceLock<Vec<String>>; 2]);

impl Shown {
    /// What was made the first time, in one of two manners.
    pub fn get_or_make(&self, manner: bool, make: impl FnOnce() -> Vec<String>) -> &[String] {
        let [plain, other] = &self.0;
        (if manner { other } else { plain }).get_or_init(make)
    }
}

/// How a value is shown is no part of it.
impl PartialEq for Shown {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Values of one kind.
pub(super) struct Shelf<K, V> {
    cache: Cache<K, Arc<Entry<V>>, Bytewise<V>>,
}

struct Entry<V> {
    value: V,
    second: Option<Timestamp>,
    footprint: Arc<Footprint>,
}

struct Bytewise<V>(fn(&V) -> usize);

impl<V> Clone for Bytewise<V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<K, V> Weighter<K, Arc<Entry<V>>> for Bytewise<V> {
    fn weight(&self, _: &K, entry: &Arc<Entry<V>>) -> u64 {
        let bytes = OVERHEAD + (self.0)(&entry.value) + entry.footprint.size();
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl<K: Hash + Eq, V: Clone> Shelf<K, V> {
    /// A shelf for so many bytes of values, whose sizes are told by `size`.
    fn new(capacity: u64, size: fn(&V) -> usize) -> Self {
        Self { cache: cache(capacity, SHARDS, Bytewise(size)) }
    }

    /// What is kept under a key, if it stands.
    pub(super) fn get(&self, store: &Store, now: Timestamp, key: &K) -> Option<V> {
        let entry = self.cache.get(key)?;
        if entry.second.is_some_and(|second| second != now) || !store.stands(&entry.footprint) {
            return None;
        }
        entry.footprint.note_again();
        Some(entry.value.clone())
    }

    /// Keeps a value that was made by reading `footprint`, and, when it
    /// depends on the time, at a second.
    pub(super) fn put(
        &self,
        store: &Store,
        key: K,
        value: V,
        footprint: impl Into<Arc<Footprint>>,
        second: Option<Timestamp>,
    ) {
        if !store.is_shared() {
            let footprint = footprint.into();
            self.cache.insert(key, Arc::new(Entry { value, second, footprint }));
        }
    }
}

/// A cache for so many bytes, as a weighter counts them.
pub fn cache<K: Hash + Eq, V: Clone, W: Weighter<K, V> + Clone>(
    capacity: u64,
    shards: usize,
    weighter: W,
) -> Cache<K, V, W> {
    const ITEMS: usize = 1_000;
    let options = OptionsBuilder::new()
        .estimated_items_capacity(ITEMS)
        .weight_capacity(capacity)
        .shards(shards)
        .build();
    match options {
        Ok(options) => Cache::with_options(options, weighter, Default::default(), Default::default()),
        // The builder wants both capacities, and has them.
        Err(_) => Cache::with_weighter(ITEMS, capacity, weighter),
    }
}
