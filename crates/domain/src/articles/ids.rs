//! Ids of stories and articles: one sequence, counted by `news.count` and by `article:`.
//!
//! Two other programs may draw ids on the same store: Lamer News from `news.count`, and
//! programs after the book from `article:`. So ids are drawn from both: the higher number is
//! ours, because the same increment has given it to us in one sequence, and the counter that
//! is behind is raised over it before anybody draws it there.

use crate::action::Decision;
use crate::error::Error;
use crate::items;
use crate::keys;
use crate::site::{Applied, Site};
use crate::values::ids::{ItemNumber, NewsId, TweetId};
use tidings_keyspace::{Batch, read};

/// Attempts to draw ids while other programs draw them too.
const DRAWS: usize = 24;

/// Ids that nobody else has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrawnIds {
    /// The first of the stories' ids; the others follow.
    pub(crate) first: NewsId,
    /// The id of the tweet that announces the story.
    pub(crate) tweet: Option<TweetId>,
    /// The first of their item numbers; the others follow.
    pub(crate) item: ItemNumber,
}

/// Draws ids for `count` stories, as many item numbers and `comments` more, and an id for a tweet. They are flushed
/// with what is posted. Rounds: 1, and another where the counters have come apart.
///
/// # Errors
/// [`Error::Busy`] if other programs draw all the time, or the store's.
pub(crate) async fn draw(
    site: &Site,
    count: u64,
    (comments, with_tweet): (u64, bool),
) -> Result<DrawnIds, Error> {
    let by = i64::try_from(count).map_err(|_| Error::Internal(format!("{count} ids at once")))?;
    // The caller may hold a turn of its own.
    site.act_without_turns(DRAWS, || async move {
        let mut batch = Batch::new();
        batch.increment(keys::NEWS_COUNT, by);
        batch.increment(keys::ARTICLE_COUNT, by);
        items::draw(&mut batch, count + comments);
        if with_tweet {
            batch.increment(keys::TWEET_IDS, 1);
        }
        let committed = site.store.commit(batch.flushed_later()).await?;
        let [news, articles] = [keys::NEWS_COUNT, keys::ARTICLE_COUNT]
            .map(|counter| committed.counter(counter).unwrap_or_default());
        let item = items::first_drawn(&committed, count + comments)?;
        let tweet = match committed.counter(keys::TWEET_IDS) {
            Some(id) => Some(TweetId::try_from(id).map_err(|_| unusable(keys::TWEET_IDS))?),
            None => None,
        };
        let ids = |last: i64| -> Result<DrawnIds, Error> {
            let first = NewsId::try_from(last - by + 1).map_err(|_| unusable(keys::NEWS_COUNT))?;
            Ok(DrawnIds { first, tweet, item })
        };
        if news == articles {
            return Ok(Decision::Done(ids(news)?));
        }
        let (behind, key, last) = if news < articles {
            (news, keys::NEWS_COUNT, articles)
        } else {
            (articles, keys::ARTICLE_COUNT, news)
        };
        let mut batch = Batch::new();
        batch.string_equals(key, behind.to_string());
        batch.increment(key, last.saturating_sub(behind));
        Ok(Decision::commit(batch, ids(last)?))
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
pub async fn raise_article_count(site: &Site) -> Result<bool, Error> {
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
    match articles {
        Some(articles) => batch.string_equals(keys::ARTICLE_COUNT, articles),
        None => batch.key_absent(keys::ARTICLE_COUNT),
    };
    batch.increment(keys::ARTICLE_COUNT, behind);
    // A request that was faster has drawn an id, and so has raised the counter too.
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passwords::PasswordWorker;
    use crate::values::rules::Rules;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use tidings_keyspace::Store;

    async fn site() -> Site {
        Site::new(Store::in_memory().await.unwrap(), Rules::default(), PasswordWorker::default())
    }

    async fn set(site: &Site, counter: &str, value: i64) {
        let mut batch = Batch::new();
        batch.set(counter, value.to_string());
        site.store.commit(batch).await.unwrap();
    }

    async fn counters(site: &Site) -> [Option<String>; 2] {
        site.store.fetch([keys::NEWS_COUNT, keys::ARTICLE_COUNT].map(read::string)).await.unwrap()
    }

    #[tokio::test]
    async fn both_counters_are_where_the_last_id_is() {
        for (news, articles, count, first) in
            [(0, 0, 1, 1), (7, 7, 1, 8), (7, 0, 1, 8), (7, 100, 1, 101), (7, 7, 5, 8), (7, 3, 5, 8)]
        {
            let site = site().await;
            set(&site, keys::NEWS_COUNT, news).await;
            set(&site, keys::ARTICLE_COUNT, articles).await;
            let rounds = site.store.rounds();
            let drawn = draw(&site, count, (1, true)).await.unwrap();
            assert_eq!(
                drawn,
                DrawnIds { first: NewsId(first), tweet: Some(TweetId(1)), item: ItemNumber(1) }
            );
            assert_eq!(site.store.rounds() - rounds, if news == articles { 1 } else { 2 });
            let last = Some((first + count - 1).to_string());
            assert_eq!(counters(&site).await, [last.clone(), last]);
        }
    }

    #[tokio::test]
    async fn the_articles_counter_is_raised_and_never_lowered() {
        for (news, articles, raised) in [(5, None, 5), (5, Some(2), 5), (5, Some(5), 5), (5, Some(9), 9)] {
            let site = site().await;
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
        /// Our draws, those of the book's programs, and those of Lamer News.
        #[test]
        fn nobody_draws_an_id_twice(steps in prop::collection::vec(0..3_u8, 1..60)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let site = site().await;
                let [mut ours, mut of_book, mut of_lamer] = [const { BTreeSet::new() }; 3];
                for step in steps {
                    match step {
                        0 => assert!(ours.insert(draw(&site, 1, (0, false)).await.unwrap().first.0)),
                        1 => {
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
