//! What was read for one visitor and is the same for the next, kept in memory
//! until any of it is written.
//!
//! On a store that other servers share, a visit uses what is kept after its first
//! round: with the answers come the keys that others have written. What is kept
//! depends on nothing but its key, and never on who visits.

use super::clock::Timestamp;
use super::error::Error;
use super::ids::{NewsId, TweetId, UserId};
use super::news::NewsPage;
use super::news_lines::NewsLine;
use super::suggestions::Suggestion;
use super::threads::{self, ThreadLine};
use super::timelines::{KeptPage, PageKey};
use super::tweet_lines::TweetLine;
use super::users::{Profile, User};
use super::visit::Visit;
use super::voters::Voters;
use crate::keyspace::Footprint;
use memchr::memmem;
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

const MEBIBYTE: u64 = 1024 * 1024;
/// Parts of a shelf with a lock each. What is larger than a part is not kept.
const SHARDS: usize = 4;
/// About how many bytes an entry takes beside its value and its footprint.
const OVERHEAD: usize = 128;
/// Bytes of a session token.
const TOKEN: usize = 40;

/// All that is kept.
pub struct Kept {
    /// Lists of news, by the key of the list, the start and the number of items.
    pub(super) lists: Shelf<(String, u64, u64), NewsPage>,
    /// Whose sessions there are, by the token.
    pub(super) sessions: Shelf<String, UserId>,
    /// Users who visit.
    pub(super) viewers: Shelf<UserId, Arc<User>>,
    /// Names of users.
    pub(super) usernames: Shelf<UserId, Arc<str>>,
    /// Items as they are listed.
    pub(super) news: Shelf<NewsId, NewsLine>,
    /// Who voted on news.
    pub(super) voters: Shelf<NewsId, Voters>,
    /// Tweets, each as it was last put in a place.
    pub(super) tweets: Shelf<TweetId, TweetLine>,
    /// Pages of timelines.
    pub(super) timelines: Shelf<PageKey, KeptPage>,
    /// Profiles as nobody in particular sees them, by the key of the name.
    pub(super) profiles: Shelf<String, Profile>,
    /// Whom to follow, by the viewer and the number.
    pub(super) suggestions: Shelf<(UserId, usize), Vec<Suggestion>>,
    /// Comments on news, as they are listed in their threads.
    pub(super) threads: Shelf<NewsId, Arc<[ThreadLine]>>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            lists: Shelf::new(2 * MEBIBYTE, NewsPage::size),
            sessions: Shelf::new(MEBIBYTE, |_| TOKEN),
            viewers: Shelf::new(2 * MEBIBYTE, |user| user.size()),
            usernames: Shelf::new(MEBIBYTE, |name| name.len()),
            news: Shelf::new(4 * MEBIBYTE, NewsLine::size),
            voters: Shelf::new(2 * MEBIBYTE, Voters::size),
            tweets: Shelf::new(8 * MEBIBYTE, TweetLine::size),
            timelines: Shelf::new(6 * MEBIBYTE, KeptPage::size),
            profiles: Shelf::new(MEBIBYTE, Profile::size),
            suggestions: Shelf::new(4 * MEBIBYTE, |people| people.iter().map(Suggestion::size).sum()),
            threads: Shelf::new(24 * MEBIBYTE, |lines| threads::size(lines)),
        }
    }
}

/// What somebody has made of a value to show it, kept beside the value: it lives
/// as long and no longer. Many a value is shown only once: what is made then is
/// not kept.
#[derive(Debug, Default)]
pub struct Shown {
    was_shown: AtomicBool,
    cuts: [OnceLock<Cut>; 2],
}

impl Shown {
    /// What was made for good, in one of two manners; `None` when the value is
    /// shown for the first time.
    pub fn get_or_make(&self, manner: bool, make: impl FnOnce() -> Cut) -> Option<&Cut> {
        if !self.was_shown.load(Ordering::Relaxed) {
            self.was_shown.store(true, Ordering::Relaxed);
            return None;
        }
        let [plain, other] = &self.cuts;
        Some((if manner { other } else { plain }).get_or_init(make))
    }
}

/// How a value is shown is no part of it.
impl PartialEq for Shown {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A text in pieces.
#[derive(Debug)]
pub struct Cut {
    text: Box<str>,
    /// Where each piece but the last ends.
    ends: Box<[usize]>,
}

impl Cut {
    /// A text cut where it has a mark; the marks fall out.
    #[must_use]
    pub fn at(text: &str, mark: &str) -> Self {
        let (mut pieces, mut ends, mut start) = (String::with_capacity(text.len()), Vec::new(), 0);
        for at in memmem::find_iter(text.as_bytes(), mark) {
            pieces.push_str(text.get(start..at).unwrap_or_default());
            ends.push(pieces.len());
            start = at + mark.len();
        }
        pieces.push_str(text.get(start..).unwrap_or_default());
        Self { text: pieces.into(), ends: ends.into() }
    }

    /// How many marks there were.
    #[must_use]
    pub fn marks(&self) -> usize {
        self.ends.len()
    }

    /// The piece before each mark, in their order, and what follows the last.
    pub fn pieces(&self) -> (impl Iterator<Item = &str>, &str) {
        let mut start = 0;
        let last = self.ends.last().copied().unwrap_or(0);
        let before = self.ends.iter().map(move |end| {
            let piece = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            piece
        });
        (before, self.text.get(last..).unwrap_or_default())
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
    pub(super) fn get(&self, visit: &Visit, key: &K) -> Option<V> {
        let entry = self.standing(visit, key).filter(|_| visit.is_current())?;
        entry.footprint.note_again();
        Some(entry.value.clone())
    }

    /// The same, where it is worth a round to learn what others have written.
    pub(super) async fn look_up(&self, visit: &mut Visit, key: &K) -> Result<Option<V>, Error> {
        if !visit.is_current() && self.standing(visit, key).is_some() {
            visit.identify().await?;
        }
        Ok(self.get(visit, key))
    }

    fn standing(&self, visit: &Visit, key: &K) -> Option<Arc<Entry<V>>> {
        let entry = self.cache.get(key)?;
        let in_time = entry.second.is_none_or(|second| second == visit.now());
        (in_time && visit.site().store.stands(&entry.footprint)).then_some(entry)
    }

    /// Keeps a value that was made by reading `footprint`, and, when it
    /// depends on the time, at a second.
    pub(super) fn put(
        &self,
        visit: &Visit,
        key: K,
        value: V,
        footprint: impl Into<Arc<Footprint>>,
        second: Option<Timestamp>,
    ) {
        if visit.site().store.tells_of_writes() {
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
