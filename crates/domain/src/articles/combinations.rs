//! Lists of several topics: the articles in any of them, or in all of them.
//!
//! There are very many combinations, and anybody may ask for any of them. So they are not
//! stored: they are computed from the lists of the single topics, and cached for a second.
//! Both kinds are bounded:
//!
//! - *Any*: the first [`MAX_UNITED_ARTICLES`] of each topic's list are merged. An article
//!   among the first so many of the whole is also among the first so many of a topic that it
//!   is in, so the first [`MAX_UNITED_ARTICLES`] of the merged list are exact, and the list
//!   ends there.
//! - *All*: the first articles of the smallest topic are the candidates, and each is looked
//!   up in the other topics, which takes at most [`MAX_TOPIC_LOOKUPS`]. A topic whose list
//!   was read to its end takes none.

use super::lists::ArticleOrder;
use super::topic_lists::{self, TopicList};
use crate::accounts::CacheResult;
use crate::cache::{MEBIBYTE, Shared};
use crate::values::{FOLLOWED_ARTICLES, MAX_TOPIC_LOOKUPS, MAX_UNITED_ARTICLES, NewsId, Topic, TopicChoice};
use crate::{Result, Visit, keys};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Fetch, Tracked, Within, read};

crate::cache_kind! {
    /// Lists of several topics, by order and topics.
    struct CombinedLists: (ArticleOrder, String) => Vec<NewsId>, "topic_lists", MEBIBYTE,
        |(_, topics), ids| topics.len() + size_of_val(ids.as_slice());
}

/// The list of several topics, at most [`MAX_UNITED_ARTICLES`] articles for any of them and
/// [`MAX_TOPIC_LOOKUPS`] for all of them. Nothing is written but the lists of single topics
/// that have expired. Rounds: those of [`topic_lists::read`], and 1 for all of several
/// topics if two of them are large; none if it is cached.
///
/// # Errors
/// [`Refusal::NoSuchTopic`](crate::error::Refusal::NoSuchTopic), or the store's.
pub(super) async fn list(
    visit: &mut Visit,
    topics: &TopicChoice,
    order: ArticleOrder,
) -> Result<Shared<Vec<NewsId>>> {
    let (site, now) = (visit.site_too(), visit.now());
    let key = (order, topics.to_string());
    match visit.look_up(site.caches.of::<CombinedLists>(), &key).await? {
        CacheResult::Hit(list) => Ok(list),
        CacheResult::Miss(flight) => {
            let (list, reads) = site.store.record_reads(make(visit, topics, order)).await;
            // That a list expires is not a write, so the value is used in this second only.
            Ok(flight.finish(visit.view(), Tracked::recorded(list?, &reads), Some(now)))
        }
    }
}

/// The list of any of some topics that exist, however many they are: the first
/// [`FOLLOWED_ARTICLES`] of all of them together are read, and at most [`MAX_UNITED_ARTICLES`]
/// of each. It is not cached. Rounds: those of [`topic_lists::read`].
pub(super) async fn of_any(visit: &mut Visit, topics: &[Topic], order: ArticleOrder) -> Result<Vec<NewsId>> {
    let share = FOLLOWED_ARTICLES / u64::try_from(topics.len()).unwrap_or(u64::MAX).max(1);
    let read = share.min(MAX_UNITED_ARTICLES);
    let lists = topic_lists::read(visit, topics, order, (0, read)).await?;
    let mut merged = united(&lists);
    if lists.iter().any(|list| list.total > read) {
        // Only so many are exact.
        merged.truncate(usize::try_from(read).unwrap_or(usize::MAX));
    }
    Ok(ids(merged.into_iter()))
}

async fn make(visit: &mut Visit, choice: &TopicChoice, order: ArticleOrder) -> Result<Vec<NewsId>> {
    let topics = choice.topics();
    Ok(match choice.within() {
        Within::Any => {
            let lists = topic_lists::read(visit, topics, order, (0, MAX_UNITED_ARTICLES)).await?;
            ids(united(&lists).into_iter())
        }
        Within::All => {
            let lists = topic_lists::read(visit, topics, order, (0, candidates(topics.len()))).await?;
            common(visit, topics, &lists).await?
        }
    })
}

/// How many articles of the smallest of some topics are looked up in the others.
fn candidates(topics: usize) -> u64 {
    MAX_TOPIC_LOOKUPS / u64::try_from(topics).unwrap_or(u64::MAX).saturating_sub(1).max(1)
}

fn ids<'a>(names: impl Iterator<Item = &'a str>) -> Vec<NewsId> {
    names.filter_map(keys::news_of_article).collect()
}

/// The articles of some lists in one list, each once with its highest score, at most
/// [`MAX_UNITED_ARTICLES`].
///
/// The lists may have been built at different times, so an article may have several scores.
fn united(lists: &[TopicList]) -> Vec<&str> {
    let mut scores: HashMap<&str, f64> = HashMap::new();
    for (name, score) in lists.iter().flat_map(|list| &list.entries) {
        let highest = scores.entry(name).or_insert(*score);
        *highest = highest.max(*score);
    }
    let mut merged: Vec<(&str, f64)> = scores.into_iter().collect();
    merged.sort_unstable_by(|(left, left_score), (right, right_score)| {
        right_score.total_cmp(left_score).then_with(|| right.cmp(left))
    });
    merged.truncate(usize::try_from(MAX_UNITED_ARTICLES).unwrap_or(usize::MAX));
    merged.into_iter().map(|(name, _)| name).collect()
}

/// The candidates of the smallest topic that are in all others, in their order. Rounds: 1,
/// or none if the lists of the others were read to their ends.
async fn common(visit: &mut Visit, topics: &[Topic], lists: &[TopicList]) -> Result<Vec<NewsId>> {
    let Some((smallest, candidates)) = lists.iter().enumerate().min_by_key(|(_, list)| list.total) else {
        return Ok(Vec::new());
    };
    let mut left: Vec<&str> = candidates.entries.iter().map(|(name, _)| name.as_str()).collect();
    let mut large = Vec::new();
    let others = topics.iter().zip(lists).enumerate().filter(|(position, _)| *position != smallest);
    for (_, (topic, list)) in others {
        let is_whole = u64::try_from(list.entries.len()).is_ok_and(|read| read >= list.total);
        if is_whole {
            let inside: HashSet<&str> = list.entries.iter().map(|(name, _)| name.as_str()).collect();
            left.retain(|name| inside.contains(name));
        } else {
            large.push(keys::group(topic));
        }
    }
    if left.is_empty() || large.is_empty() {
        return Ok(ids(left.into_iter()));
    }
    let inside = |name: &&str| large.iter().map(|group| read::has_member(group, *name)).collect::<Vec<_>>();
    // They all read the same keys, and once is enough for the cache.
    let others = left.iter().skip(1).map(inside).collect::<Vec<_>>().apart();
    let (first, others) = visit.fetch((left.first().map(inside), others)).await?;
    let mut inside = first.into_iter().chain(others);
    left.retain(|_| inside.next().is_some_and(|inside| inside.into_iter().all(|is_inside| is_inside)));
    Ok(ids(left.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topic_list(entries: &[(u64, u32)]) -> TopicList {
        let mut entries: Vec<(String, f64)> =
            entries.iter().map(|(id, score)| (keys::article(NewsId(*id)), f64::from(*score))).collect();
        entries.sort_by(|(left, left_score), (right, right_score)| {
            right_score.total_cmp(left_score).then_with(|| right.cmp(left))
        });
        entries.dedup_by(|(left, _), (right, _)| left == right);
        TopicList { total: entries.len() as u64, entries }
    }

    #[test]
    fn an_article_of_several_topics_is_listed_once_at_its_highest_score() {
        let lists = [topic_list(&[(1, 10), (2, 30)]), topic_list(&[(1, 40), (3, 20)]), topic_list(&[])];
        assert_eq!(united(&lists), ["article:1", "article:2", "article:3"]);
    }

    #[test]
    fn a_combination_takes_a_bounded_number_of_look_ups() {
        assert_eq!([2, 3, 4, 5].map(candidates), [2_000, 1_000, 666, 500]);
        for topics in 2..=5 {
            assert!(candidates(topics) * (topics as u64 - 1) <= MAX_TOPIC_LOOKUPS);
        }
    }

    proptest! {
        /// However far the lists were read, the beginning of the merged list is exact.
        #[test]
        fn the_first_articles_of_each_list_give_the_first_of_all(
            lists in prop::collection::vec(prop::collection::btree_map(1..60_u64, 0..20_u32, 0..40), 1..5),
            read in 1..20_usize,
        ) {
            let whole: Vec<TopicList> = lists
                .iter()
                .map(|list| topic_list(&list.iter().map(|(id, score)| (*id, *score)).collect::<Vec<_>>()))
                .collect();
            let mut cut: Vec<TopicList> = Vec::new();
            for list in &whole {
                let entries = list.entries.iter().take(read).cloned().collect();
                cut.push(TopicList { entries, total: list.total });
            }
            let (exact, merged) = (united(&whole), united(&cut));
            let sure = read.min(exact.len());
            prop_assert_eq!(&exact[..sure], &merged[..sure]);
        }
    }
}
