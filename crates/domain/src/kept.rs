//! What was read for one visitor and is the same for the next, kept in memory
//! until any of it is written.
//!
//! On a store that other servers share, a visit uses what is kept after its first
//! round: with the answers come the keys that others have written. What is kept
//! depends on nothing but its key, and never on who visits.

use crate::accounts::users::{Profile, User};
use crate::accounts::visit::Visit;
use crate::comments::threads::{self, ThreadLine};
use crate::error::Error;
use crate::news::lines::NewsLine;
use crate::news::lists::NewsPage;
use crate::news::voters::Voters;
use crate::timelines::lines::TweetLine;
use crate::timelines::reading::{KeptPage, PageKey};
use crate::timelines::suggestions::Suggestion;
use crate::values::clock::Timestamp;
use crate::values::ids::{NewsId, TweetId, UserId};
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};
use std::hash::Hash;
use std::sync::Arc;
use tidings_keyspace::Footprint;

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
    pub(crate) lists: Shelf<(String, u64, u64), NewsPage>,
    /// Whose sessions there are, by the token.
    pub(crate) sessions: Shelf<String, UserId>,
    /// Users who visit.
    pub(crate) viewers: Shelf<UserId, Arc<User>>,
    /// Names of users.
    pub(crate) usernames: Shelf<UserId, Arc<str>>,
    /// Items as they are listed.
    pub(crate) news: Shelf<NewsId, NewsLine>,
    /// Who voted on news.
    pub(crate) voters: Shelf<NewsId, Voters>,
    /// Tweets, each as it was last put in a place.
    pub(crate) tweets: Shelf<TweetId, TweetLine>,
    /// Pages of timelines.
    pub(crate) timelines: Shelf<PageKey, KeptPage>,
    /// Profiles as nobody in particular sees them, by the key of the name.
    pub(crate) profiles: Shelf<String, Profile>,
    /// Whom to follow, by the viewer and the number.
    pub(crate) suggestions: Shelf<(UserId, usize), Vec<Suggestion>>,
    /// Comments on news, as they are listed in their threads.
    pub(crate) threads: Shelf<NewsId, Arc<[ThreadLine]>>,
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
            tweets: Shelf::new(36 * MEBIBYTE, TweetLine::size),
            timelines: Shelf::new(3 * MEBIBYTE, KeptPage::size),
            profiles: Shelf::new(MEBIBYTE, Profile::size),
            suggestions: Shelf::new(2 * MEBIBYTE, |people| people.iter().map(Suggestion::size).sum()),
            threads: Shelf::new(20 * MEBIBYTE, |lines| threads::size(lines)),
        }
    }
}

/// Values of one kind.
pub(crate) struct Shelf<K, V> {
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
    pub(crate) fn get(&self, visit: &Visit, key: &K) -> Option<V> {
        let entry = self.standing(visit, key).filter(|_| visit.is_current())?;
        entry.footprint.note_again();
        Some(entry.value.clone())
    }

    /// The same, where it is worth a round to learn what others have written.
    pub(crate) async fn look_up(&self, visit: &mut Visit, key: &K) -> Result<Option<V>, Error> {
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
    pub(crate) fn put(
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::keys;
    use crate::passwords::PasswordWorker;
    use crate::site::Site;
    use crate::timelines::reading;
    use crate::values::cursor::Window;
    use crate::values::rules::Rules;
    use tidings_keyspace::{Batch, Store};

    #[tokio::test]
    async fn a_page_reads_those_of_its_tweets_that_are_not_kept_any_more() {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        batch.set_field(keys::user(UserId(1)), "username", "alice");
        for id in 1..=3 {
            let tweet = keys::tweet(TweetId(id));
            batch.set_field(&tweet, "text", format!("tweet {id}"));
            batch.set_field(&tweet, "user_id", "1");
            batch.sorted_add(keys::GLOBAL_TIMELINE, id.to_string(), 1_000.0);
        }
        store.commit(batch).await.unwrap();
        let site = Arc::new(Site::new(store.clone(), Rules::default(), PasswordWorker::default()));
        let page = || async {
            let mut visit = Visit::new(site.clone(), Timestamp(2_000), None);
            let before = store.rounds();
            let page = reading::everyone(&mut visit, &Window::newest(2)).await.unwrap();
            let texts: Vec<String> = page.lines.iter().map(|line| line.tweet.text.clone()).collect();
            (texts, page.next.map(|next| next.id), store.rounds() - before)
        };
        let expected = |rounds| (vec!["tweet 3".to_owned(), "tweet 2".to_owned()], Some(2), rounds);
        assert_eq!(page().await, expected(3));
        assert_eq!(page().await, expected(0));
        site.kept.tweets.cache.clear();
        assert_eq!(page().await, expected(2), "the list is kept");
        assert_eq!(page().await, expected(0));
    }
}
