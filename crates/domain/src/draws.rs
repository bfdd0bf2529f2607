//! Numbers that nobody else has, for stories, comments, tweets and accounts.
//!
//! Other programs may draw on the same store: Lamer News ids of stories from `news.count`, and programs
//! after the book from `article:`. So a sequence may have two counters: the higher one counts, and the other
//! is raised to it.
//!
//! An action first takes the next numbers in the batch that uses them, so that a post is one commit. That
//! batch fails if somebody else has drawn since the counters were read. The next attempt draws its numbers
//! apart, and nobody can take those: they are flushed with the post.

use crate::values::{ItemNumber, NewsId, random_token};
use crate::{Applied, Decision, Error, Result, Site, keys};
use std::iter::zip;
use std::sync::atomic::{AtomicBool, Ordering};
use tidings_keyspace::{Batch, Committed, Fetch, read};

/// Attempts to draw numbers apart while other programs draw from one of two counters.
const DRAWS: usize = 24;

/// A sequence of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sequence {
    /// Ids of stories and articles.
    Stories,
    /// Numbers of stories and comments.
    Items,
    /// Ids of tweets.
    Tweets,
    /// Ids of accounts.
    People,
    /// Ids of the comments of a story.
    Comments(NewsId),
}

/// The field of a thread with the last id of a comment.
pub(crate) const NEXT_ID: &str = "nextid";

impl Sequence {
    fn counters(self) -> Vec<DrawnCounter> {
        let string = |key: &'static str| DrawnCounter { key: key.to_owned(), field: None };
        match self {
            Self::Stories => vec![string(keys::NEWS_COUNT), string(keys::ARTICLE_COUNT)],
            Self::Items => vec![string(keys::ITEMS_COUNT)],
            Self::Tweets => vec![string(keys::TWEET_IDS)],
            Self::People => vec![string(keys::USERS_COUNT)],
            Self::Comments(story) => vec![DrawnCounter { key: keys::thread(story), field: Some(NEXT_ID) }],
        }
    }
}

/// A string, or a field of a hash, with the last number that was drawn.
struct DrawnCounter {
    key: String,
    field: Option<&'static str>,
}

impl DrawnCounter {
    fn stored(&self) -> impl Fetch<Value = Option<String>> + use<> {
        let string = self.field.is_none().then(|| read::string(&self.key));
        let field = self.field.map(|field| read::field(&self.key, field));
        (string, field).map(|(string, field)| string.or(field).flatten())
    }

    /// Makes a batch fail unless the counter is as it was read.
    fn demand(&self, batch: &mut Batch, stored: Option<&str>) {
        match self.field {
            None => batch.string_unchanged(&self.key, stored),
            Some(field) => batch.field_unchanged(&self.key, field, stored),
        };
    }

    fn increment(&self, batch: &mut Batch, by: i64) {
        match self.field {
            None => batch.increment(&self.key, by),
            Some(field) => batch.increment_field(&self.key, field, by),
        };
    }

    fn of(&self, committed: &Committed) -> i64 {
        let value = match self.field {
            None => committed.counter(&self.key),
            Some(field) => committed.field(&self.key, field),
        };
        value.unwrap_or_default()
    }

    fn unusable(&self) -> Error {
        unusable(&self.key)
    }
}

/// The numbers that an action draws: of each sequence so many, one after the other.
pub(crate) struct Draw<const N: usize> {
    wanted: [(Vec<DrawnCounter>, i64); N],
    draws_apart: AtomicBool,
}

impl<const N: usize> Draw<N> {
    pub(crate) fn new(wanted: [(Sequence, u64); N]) -> Self {
        let counters = |(sequence, count): (Sequence, u64)| {
            let counters = if count == 0 { Vec::new() } else { sequence.counters() };
            (counters, i64::try_from(count).unwrap_or(i64::MAX))
        };
        Self { wanted: wanted.map(counters), draws_apart: AtomicBool::new(false) }
    }

    /// The counters as they are stored.
    pub(crate) fn stored(&self) -> impl Fetch<Value = Vec<Option<String>>> + use<N> {
        let counters = self.wanted.iter().flat_map(|(counters, _)| counters);
        counters.map(DrawnCounter::stored).collect::<Vec<_>>()
    }

    /// The first number of each sequence; 0 where none is wanted. The first attempt of an action takes them in
    /// its batch and needs no round. Later ones draw them [apart](Self::apart).
    ///
    /// # Errors
    /// When a counter holds no number, or the store's.
    pub(crate) async fn take(
        &self,
        site: &Site,
        stored: &[Option<String>],
        batch: &mut Batch,
    ) -> Result<[u64; N]> {
        if self.draws_apart.swap(true, Ordering::Relaxed) {
            return self.apart(site).await;
        }
        let mut stored = stored.iter().map(Option::as_deref);
        let mut firsts = [0; N];
        for (first, (counters, count)) in zip(&mut firsts, &self.wanted) {
            let values = zip(counters, stored.by_ref()).map(|(counter, text)| {
                let value: i64 = text.unwrap_or("0").parse().map_err(|_| counter.unusable())?;
                counter.demand(batch, text);
                Ok(value)
            });
            let values: Vec<i64> = values.collect::<Result<_>>()?;
            let last = values.iter().max().copied().unwrap_or_default().saturating_add(*count);
            zip(counters, values).for_each(|(counter, value)| counter.increment(batch, last - value));
            *first = first_of(counters, (last, *count))?;
        }
        Ok(firsts)
    }

    /// The first number of each sequence, drawn at once. They are flushed with the batch that uses them. Rounds: 1,
    /// and another where two counters have come apart.
    ///
    /// # Errors
    /// [`Error::Busy`] if other programs draw all the time, or the store's.
    pub(crate) async fn apart(&self, site: &Site) -> Result<[u64; N]> {
        // The caller may hold a turn of its own.
        site.act_without_turns(DRAWS, || async move {
            let mut batch = Batch::new();
            for (counters, count) in &self.wanted {
                counters.iter().for_each(|counter| counter.increment(&mut batch, *count));
            }
            let committed = site.store.commit(batch.flushed_later()).await?;
            let mut batch = Batch::new();
            let mut firsts = [0; N];
            for (first, (counters, count)) in zip(&mut firsts, &self.wanted) {
                let values: Vec<i64> = counters.iter().map(|counter| counter.of(&committed)).collect();
                let last = values.iter().max().copied().unwrap_or_default();
                for (counter, value) in zip(counters, values).filter(|(_, value)| *value < last) {
                    counter.demand(&mut batch, Some(&value.to_string()));
                    counter.increment(&mut batch, last - value);
                }
                *first = first_of(counters, (last, *count))?;
            }
            Ok(if batch.writes().is_empty() {
                Decision::Done(firsts)
            } else {
                Decision::commit(batch, firsts)
            })
        })
        .await
    }
}

/// The first of some numbers, by the last.
fn first_of(counters: &[DrawnCounter], (last, count): (i64, i64)) -> Result<u64> {
    let Some(counter) = counters.first() else { return Ok(0) };
    let first = ItemNumber::try_from(last.saturating_sub(count).saturating_add(1));
    first.map(|first| first.0).map_err(|_| counter.unusable())
}

/// The next number of a counter that no other program draws from. Rounds: 1.
pub(crate) async fn next_id<T: TryFrom<i64>>(site: &Site, counter: &str) -> Result<T> {
    let id = site.store.next_id(counter).await?;
    T::try_from(id).map_err(|_| Error::Internal(format!("{counter} holds {id}")))
}

/// The secret under a key, which the first server of the store draws. Rounds: 1, and a commit for the first.
pub(crate) async fn drawn_once(site: &Site, key: &str) -> Result<String> {
    site.act_without_turns(2, || async {
        if let Some(stored) = site.store.fetch(read::string(key)).await? {
            return Ok(Decision::Done(stored));
        }
        let drawn = random_token()?;
        let mut batch = Batch::new();
        batch.key_absent(key);
        batch.set(key, &drawn);
        Ok(Decision::commit(batch, drawn))
    })
    .await
}

fn unusable(counter: &str) -> Error {
    Error::Internal(format!("{counter} holds no usable number"))
}

/// Raises `article:` to `news.count`: a store of an older version, or one that Lamer News
/// writes to, has no such counter, or one that is behind. Returns whether it was behind.
/// Rounds: at most 2.
///
/// # Errors
/// When the store fails, or a counter holds no number.
pub async fn raise_article_count(site: &Site) -> Result<bool> {
    let counters = [keys::NEWS_COUNT, keys::ARTICLE_COUNT].map(read::string);
    let [news, articles] = site.store.fetch(counters).await?;
    let number = |text: &Option<String>, key| match text {
        None => Ok(0),
        Some(text) => text.parse::<i64>().map_err(|_| unusable(key)),
    };
    let behind = number(&news, keys::NEWS_COUNT)? - number(&articles, keys::ARTICLE_COUNT)?;
    if behind <= 0 {
        return Ok(false);
    }
    let mut batch = Batch::new();
    batch.string_unchanged(keys::ARTICLE_COUNT, articles);
    batch.increment(keys::ARTICLE_COUNT, behind);
    // A request that was faster has drawn an id, and so has raised the counter too.
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    async fn set(site: &Site, counter: &str, value: i64) {
        site.store.commit(Batch::of(|batch| batch.set(counter, value.to_string()))).await.unwrap();
    }

    async fn counters(site: &Site) -> [Option<String>; 2] {
        site.store.fetch([keys::NEWS_COUNT, keys::ARTICLE_COUNT].map(read::string)).await.unwrap()
    }

    /// Takes numbers in a batch with nothing else.
    async fn take<const N: usize>(site: &Site, draw: &Draw<N>) -> Option<[u64; N]> {
        let stored = site.store.fetch(draw.stored()).await.unwrap();
        let mut batch = Batch::new();
        let taken = draw.take(site, &stored, &mut batch).await.unwrap();
        site.store.commit(batch).await.ok().map(|_| taken)
    }

    #[tokio::test]
    async fn both_counters_are_where_the_last_id_is() {
        for (news, articles, count, first) in
            [(0, 0, 1, 1), (7, 7, 1, 8), (7, 0, 1, 8), (7, 100, 1, 101), (7, 7, 5, 8), (7, 3, 5, 8)]
        {
            for apart in [false, true] {
                let site = Site::in_memory().await;
                set(&site, keys::NEWS_COUNT, news).await;
                set(&site, keys::ARTICLE_COUNT, articles).await;
                let draw =
                    Draw::new([(Sequence::Stories, count), (Sequence::Items, 2), (Sequence::Tweets, 0)]);
                let rounds = site.store.rounds();
                let drawn =
                    if apart { Some(draw.apart(&site).await.unwrap()) } else { take(&site, &draw).await };
                assert_eq!(drawn, Some([first, 1, 0]));
                assert_eq!(site.store.rounds() - rounds, if apart && news == articles { 1 } else { 2 });
                let last = Some((first + count - 1).to_string());
                assert_eq!(counters(&site).await, [last.clone(), last]);
            }
        }
    }

    #[tokio::test]
    async fn a_draw_that_another_one_has_overtaken_is_made_apart() {
        let site = Site::in_memory().await;
        let (one, other) = (Draw::new([(Sequence::Items, 1)]), Draw::new([(Sequence::Items, 1)]));
        let stored = site.store.fetch(one.stored()).await.unwrap();
        assert_eq!(take(&site, &other).await, Some([1]));
        let mut batch = Batch::new();
        assert_eq!(one.take(&site, &stored, &mut batch).await.unwrap(), [1]);
        assert!(site.store.commit(batch).await.is_err());
        assert_eq!(take(&site, &one).await, Some([2]));
        assert_eq!(take(&site, &Draw::new([(Sequence::Items, 1)])).await, Some([3]));
    }

    #[tokio::test]
    async fn a_counter_that_holds_no_number_is_named() {
        let site = Site::in_memory().await;
        let mut batch = Batch::new();
        batch.set_field(keys::thread(NewsId(7)), NEXT_ID, "many");
        site.store.commit(batch).await.unwrap();
        let draw = Draw::new([(Sequence::Comments(NewsId(7)), 1)]);
        let stored = site.store.fetch(draw.stored()).await.unwrap();
        let refused = draw.take(&site, &stored, &mut Batch::new()).await;
        let Err(Error::Internal(text)) = refused else { panic!("{refused:?}") };
        assert_eq!(text, "thread:comment:7 holds no usable number");
    }

    #[tokio::test]
    async fn the_articles_counter_is_raised_and_never_lowered() {
        for (news, articles, raised) in [(5, None, 5), (5, Some(2), 5), (5, Some(5), 5), (5, Some(9), 9)] {
            let site = Site::in_memory().await;
            set(&site, keys::NEWS_COUNT, news).await;
            if let Some(articles) = articles {
                set(&site, keys::ARTICLE_COUNT, articles).await;
            }
            let was_behind = articles.is_none_or(|articles| articles < news);
            assert_eq!(raise_article_count(&site).await.unwrap(), was_behind);
            assert_eq!(counters(&site).await, [Some("5".to_owned()), Some(raised.to_string())]);
        }
    }

    proptest! {
        /// Our draws of both kinds, those of the book's programs, and those of Lamer News.
        #[test]
        fn nobody_draws_an_id_twice(steps in prop::collection::vec(0..4_u8, 1..60)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let site = Site::in_memory().await;
                let [mut ours, mut of_book, mut of_lamer] = [const { BTreeSet::new() }; 3];
                for step in steps {
                    let draw = Draw::new([(Sequence::Stories, 1)]);
                    match step {
                        0 => assert!(ours.insert(draw.apart(&site).await.unwrap()[0])),
                        1 => assert!(ours.insert(take(&site, &draw).await.unwrap()[0])),
                        2 => {
                            let id = site.store.next_id(keys::ARTICLE_COUNT).await.unwrap();
                            assert!(of_book.insert(u64::try_from(id).unwrap()));
                        }
                        _ => {
                            let id = site.store.next_id(keys::NEWS_COUNT).await.unwrap();
                            assert!(of_lamer.insert(u64::try_from(id).unwrap()));
                        }
                    }
                }
                assert!(ours.is_disjoint(&of_book) && ours.is_disjoint(&of_lamer));
            });
        }
    }
}
