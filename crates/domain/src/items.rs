//! One sequence of numbers for stories and comments, in the order in which they were posted, as Hacker
//! News has it.
//!
//! `items` has each of them with its number as the score, and `items.count` is the highest number that was
//! drawn. A number is drawn together with the post's own id (see [`draws`](crate::draws)). No number is given twice.

use crate::changes::Findable;
use crate::values::{CommentAddress, ImportSource, ItemNumber, NewsId, NotAnId, read_text, shown};
use crate::{Applied, Decision, Result, Site, fields, keys};
use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use tidings_keyspace::{Batch, Fetch, Order, read};

/// Items that get their numbers in one batch.
const NUMBERED_AT_ONCE: usize = 1_000;
/// Items with one number that are compared.
const SHARED_AT_MOST: u64 = 100;

/// A story or a comment. Written `news:<news id>` or `comment:<news id>:<comment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Item {
    /// A story.
    Story(NewsId),
    /// A comment.
    Comment(CommentAddress),
}

shown!(Item: |item| match *item {
    Item::Story(id) => Findable::Story(id),
    Item::Comment(address) => Findable::Comment(address),
});

read_text!(Item or NotAnId: |member| match member.parse().ok()? {
    Findable::Story(id) => Some(Self::Story(id)),
    Findable::Comment(address) => Some(Self::Comment(address)),
    Findable::Tweet(_) | Findable::Person(_) | Findable::Site(_) => None,
});

/// Adds the number of an item to the batch that posts it.
pub(crate) fn write(batch: &mut Batch, item: Item, number: ItemNumber) {
    batch.sorted_add(keys::ITEMS, item.to_string(), score(number.0));
}

const fn score(number: u64) -> f64 {
    number as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
const fn number_of(score: f64) -> ItemNumber {
    ItemNumber(score as u64)
}

/// Adds to the batch that posts an item its number on the site that it comes from. The batch fails if an item
/// with that number was imported before.
pub(crate) fn write_imported(batch: &mut Batch, source: &ImportSource, there: u64, here: ItemNumber) {
    let (key, member) = (keys::imported(source), there.to_string());
    batch.sorted_member_absent(&key, &member);
    batch.sorted_add(key, member, score(here.0));
}

/// The numbers here of items that were imported, by their numbers there.
pub(crate) fn imported(
    source: &ImportSource,
    there: Vec<u64>,
) -> impl Fetch<Value = HashMap<u64, ItemNumber>> {
    numbers_in(keys::imported(source), there)
}

/// The item with a number, if there is one.
pub(crate) fn with_number(number: ItemNumber) -> impl Fetch<Value = Option<Item>> {
    let score = score(number.0);
    read::sorted_by_score(keys::ITEMS, Order::Ascending, (score, score), 1)
        .map(|found| fields::members(found, keys::ITEMS, |(member, _)| member.parse().ok()).pop())
}

/// The numbers of some items; without those that have none.
pub(crate) fn numbers_of(items: Vec<Item>) -> impl Fetch<Value = HashMap<Item, ItemNumber>> {
    numbers_in(keys::ITEMS.to_owned(), items)
}

/// The numbers that a list has of some things.
fn numbers_in<T: Display + Eq + Hash + Send>(
    list: String,
    things: Vec<T>,
) -> impl Fetch<Value = HashMap<T, ItemNumber>> {
    // Without any, nothing is read.
    let asked = (!things.is_empty()).then(|| read::scores(list, things.iter().map(T::to_string)));
    Fetch::map(asked, move |scores| {
        let numbered = things.into_iter().zip(scores.into_iter().flatten());
        numbered.filter_map(|(thing, score)| Some((thing, number_of(score?)))).collect()
    })
}

/// At most `count` items below a number, the newest first, each with its number.
pub(crate) fn below(number: Option<ItemNumber>, count: u64) -> impl Fetch<Value = Vec<(Item, ItemNumber)>> {
    let highest = number.map_or(f64::INFINITY, |number| score(number.0) - 1.0);
    read::sorted_by_score(keys::ITEMS, Order::Descending, (f64::NEG_INFINITY, highest), count).map(numbered)
}

/// At most `count` items with numbers from the first to the last, in their order.
pub(crate) fn between((first, last): (u64, u64), count: u64) -> impl Fetch<Value = Vec<(Item, ItemNumber)>> {
    read::sorted_by_score(keys::ITEMS, Order::Ascending, (score(first), score(last)), count).map(numbered)
}

fn numbered(found: Vec<(String, f64)>) -> Vec<(Item, ItemNumber)> {
    fields::members(found, keys::ITEMS, |(member, score)| Some((member.parse().ok()?, number_of(score))))
}

/// The counter, as it is stored, and the highest number that is drawn or given.
fn last() -> impl Fetch<Value = (Option<String>, u64, u64)> {
    let highest = read::sorted_range(keys::ITEMS, Order::Descending, 0, 1);
    (read::string(keys::ITEMS_COUNT), highest).map(|(stored, highest)| {
        let drawn = fields::read_string(stored.as_deref(), || keys::ITEMS_COUNT.to_owned()).unwrap_or(0);
        let given = highest.first().map_or(0, |(_, score)| number_of(*score).0);
        (stored, drawn, drawn.max(given))
    })
}

/// Adds to a batch that the counter is at a number, if it is still as it was read.
fn raise(batch: &mut Batch, (stored, drawn): (Option<String>, u64), to: u64) {
    batch.string_unchanged(keys::ITEMS_COUNT, stored);
    let by = to.saturating_sub(drawn);
    batch.increment(keys::ITEMS_COUNT, i64::try_from(by).unwrap_or(i64::MAX));
}

/// Raises the counter to the highest number that an item has, if it is below, so that no number is given twice.
/// Returns whether it did. Rounds: 2.
pub(crate) async fn raise_count(site: &Site) -> Result<bool> {
    let (stored, drawn, last) = site.store.fetch(last()).await?;
    if last <= drawn {
        return Ok(false);
    }
    let mut batch = Batch::new();
    raise(&mut batch, (stored, drawn), last);
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

/// Gives the items that lack one the next numbers, in this order, after the highest that was drawn or that an item
/// has. Rounds: 1 and a commit for each thousand.
///
/// # Errors
/// When the store fails, or others draw numbers all the time.
pub(crate) async fn number_missing(site: &Site, items: &[Item]) -> Result<()> {
    for items in items.chunks(NUMBERED_AT_ONCE) {
        let members: Vec<String> = items.iter().map(Item::to_string).collect();
        site.act(keys::ITEMS_COUNT, || async {
            let reads = (read::scores(keys::ITEMS, members.clone()), last());
            let (scores, (stored, drawn, last)) = site.store.fetch(reads).await?;
            let missing = members.iter().zip(scores).filter(|(_, score)| score.is_none());
            Ok(give_next(missing.map(|(member, _)| member.clone()), (stored, drawn), last))
        })
        .await?;
    }
    Ok(())
}

/// Gives some items the numbers after the last.
fn give_next(
    members: impl IntoIterator<Item = String>,
    counter: (Option<String>, u64),
    last: u64,
) -> Decision<()> {
    let mut batch = Batch::new();
    let mut number = last;
    for member in members {
        number += 1;
        batch.sorted_add(keys::ITEMS, member, score(number));
    }
    if number == last {
        return Decision::Done(());
    }
    raise(&mut batch, counter, number);
    Decision::commit(batch, ())
}

/// Gives an item the next number, unless it alone has its own, or it is the first by its time of those that share
/// it. Rounds: 3 and a commit.
///
/// # Errors
/// When the store fails, or others draw numbers all the time.
pub(crate) async fn number_shared(site: &Site, item: Item) -> Result<()> {
    let member = item.to_string();
    site.act(keys::ITEMS_COUNT, || async {
        let own = site.store.fetch(read::score(keys::ITEMS, &member)).await?;
        let Some(own) = own else { return Ok(Decision::Done(())) };
        let shared = read::sorted_by_score(keys::ITEMS, Order::Ascending, (own, own), SHARED_AT_MOST);
        let (shared, (stored, drawn, last)) = site.store.fetch((shared, last())).await?;
        let times: Vec<_> = shared.iter().map(|(member, _)| time_of(member.parse().ok())).collect();
        let times = site.store.fetch(times).await?;
        let first = shared.iter().zip(times).min_by_key(|((member, _), time)| (*time, member.clone()));
        let keeps = first.is_none_or(|((first, _), _)| *first == member);
        Ok(give_next((!keeps).then(|| member.clone()), (stored, drawn), last))
    })
    .await
}

/// When an item was posted; the end of time for one that is not there.
fn time_of(item: Option<Item>) -> impl Fetch<Value = u64> {
    let stored = item.map(|item| match item {
        Item::Story(id) => read::field(keys::news(id), "ctime"),
        Item::Comment(address) => read::field(keys::thread(address.news), address.comment.to_string()),
    });
    let is_comment = matches!(item, Some(Item::Comment(_)));
    Fetch::map(stored, move |stored| {
        let time = stored.flatten().and_then(|stored| {
            if !is_comment {
                return stored.parse().ok();
            }
            serde_json::from_str::<serde_json::Value>(&stored).ok()?.get("ctime")?.as_u64()
        });
        time.unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_counter_is_raised_to_the_highest_number() {
        for (stored, raised) in [(None, true), (Some("3"), true), (Some("9"), false), (Some("12"), false)] {
            let site = Site::in_memory().await;
            let mut batch = Batch::new();
            batch.sorted_add(keys::ITEMS, "news:1", 9.0);
            if let Some(stored) = stored {
                batch.set(keys::ITEMS_COUNT, stored);
            }
            site.store.commit(batch).await.unwrap();
            assert_eq!(raise_count(&site).await.unwrap(), raised, "{stored:?}");
            let count = site.store.fetch(fields::counter(keys::ITEMS_COUNT)).await.unwrap();
            assert_eq!(count, if stored == Some("12") { 12 } else { 9 }, "{stored:?}");
        }
    }

    #[test]
    fn an_item_is_its_member() {
        for member in ["news:7", "comment:7:12"] {
            assert_eq!(member.parse::<Item>().unwrap().to_string(), member);
        }
        for bad in ["", "7", "news:0", "comment:7", "comment:7-12", "tweet:1", "news:7:1"] {
            assert_eq!(bad.parse::<Item>(), Err(NotAnId), "{bad}");
        }
    }
}
