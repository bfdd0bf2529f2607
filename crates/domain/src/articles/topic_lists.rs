//! The stored lists of topics, one for each topic and order.
//!
//! The list of a topic is derived from its group and one of the two lists of all articles.
//! It expires after [`TOPIC_LIST_SECONDS`]; the next reader builds it again. Nothing else is
//! built when somebody reads, so readers store no more than two lists for each topic.

use super::lists::ArticleOrder;
use crate::values::{TOPIC_LIST_SECONDS, Topic};
use crate::{Refusal, Result, Site, Visit, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Order, Selection, Within, read};
use tokio::sync::Mutex;

/// A part of the list of a topic.
pub(super) struct TopicList {
    /// The names and scores of the articles, in order.
    pub(super) entries: Vec<(String, f64)>,
    /// The articles in the whole list.
    pub(super) total: u64,
}

/// Some places of a list: the first, and how many.
pub(super) type ListPart = (u64, u64);

/// Reads a part of the list of each topic. Rounds: 1; if some lists have expired, a commit
/// for each and 1 more, and if other readers are building lists, still 1 more.
///
/// # Errors
/// [`Refusal::NoSuchTopic`], or the store's.
pub(super) async fn read(
    visit: &mut Visit,
    topics: &[Topic],
    order: ArticleOrder,
    part: ListPart,
) -> Result<Vec<TopicList>> {
    let lists = read_stored(visit, topics, order, part).await?;
    let missing: Vec<&Topic> =
        topics.iter().zip(&lists).filter(|(_, list)| list.is_none()).map(|(topic, _)| topic).collect();
    if missing.is_empty() {
        return Ok(lists.into_iter().flatten().collect());
    }
    build_all(visit.site(), missing, order).await?;
    let lists = read_stored(visit, topics, order, part).await?;
    // A list that has expired again, or was removed meanwhile, counts as empty until the next
    // reader comes.
    let empty = || TopicList { entries: Vec::new(), total: 0 };
    Ok(lists.into_iter().map(|list| list.unwrap_or_else(empty)).collect())
}

/// Reads a part of the list of each topic; `None` for a list that must be built.
async fn read_stored(
    visit: &mut Visit,
    topics: &[Topic],
    order: ArticleOrder,
    (start, count): ListPart,
) -> Result<Vec<Option<TopicList>>> {
    let known = read::scores(keys::TOPICS, topics.iter().map(Topic::as_str));
    let list = |topic: &Topic| {
        let key = order.of(topic);
        let reads = (read::sorted_range(&key, Order::Descending, start, count), length(&key));
        reads.map(|(entries, total)| Some(TopicList { entries, total: total? }))
    };
    let (known, lists) = visit.fetch((known, topics.iter().map(list).collect::<Vec<_>>())).await?;
    if let Some((unknown, _)) = topics.iter().zip(known).find(|(_, articles)| articles.is_none()) {
        return Err(Refusal::NoSuchTopic(unknown.to_string()).into());
    }
    Ok(lists)
}

/// The number of articles of a list; `None` if it must be built.
fn length(list: &str) -> impl Fetch<Value = Option<u64>> + use<> {
    let reads = (read::sorted_count(list), read::string(keys::built(list)));
    // A program written for the book builds lists without our mark.
    reads.map(|(total, mark)| (total > 0 || mark.is_some()).then_some(total))
}

/// Held while a list of topics is built, one at a time, so that other writes come in between.
#[derive(Default)]
struct Building(Mutex<()>);

crate::process_state::process_state!(Building);

/// Builds the lists of some topics, one at a time, so that other actions come in between.
/// Rounds: one for each list, and 1 if this had to wait for other readers.
async fn build_all(site: &Site, mut missing: Vec<&Topic>, order: ArticleOrder) -> Result<()> {
    let _turn = match site.of::<Building>().0.try_lock() {
        Ok(turn) => turn,
        Err(_) => {
            let turn = site.of::<Building>().0.lock().await;
            let lengths: Vec<_> = missing.iter().map(|topic| length(&order.of(topic))).collect();
            let mut lengths = site.store.fetch(lengths).await?.into_iter();
            missing.retain(|_| !matches!(lengths.next(), Some(Some(_))));
            turn
        }
    };
    for topic in missing {
        build(site, topic, order).await?;
    }
    Ok(())
}

/// Builds the list of a topic, unless another server has just done so. Rounds: 1.
async fn build(site: &Site, topic: &Topic, order: ArticleOrder) -> Result<()> {
    let key = order.of(topic);
    let built = keys::built(&key);
    let life = Duration::from_secs(TOPIC_LIST_SECONDS);
    let mut batch = Batch::new();
    batch.key_absent(&key);
    batch.key_absent(&built);
    let selection =
        Selection { scores: order.all().to_owned(), sets: vec![keys::group(topic)], within: Within::All };
    batch.sorted_store(&key, selection);
    batch.expire(key, life);
    batch.set_expiring(built, "1", life);
    site.apply(batch).await.map(drop)
}
