//! Renaming and merging topics: their articles move, some at a time.
//!
//! A topic may have very many articles, so a move takes many batches. The hash
//! `topic.moves` has the move from the first batch to the last: repeating an interrupted
//! move finishes it.

use crate::accounts::users::User;
use crate::action::Decision;
use crate::articles::article::lists_of;
use crate::audit::AUDIT;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::News;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::NewsId;
use crate::values::limits::TOPIC_MOVE_CHUNK;
use crate::values::moderation::Thing;
use crate::values::topic::Topic;
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, Fetch, Order, read};

/// How a topic moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The topic gets a name that no topic has.
    Rename,
    /// The topic's articles go to another topic.
    Merge,
}

/// Moves all articles of one topic to another, and removes the first. Returns how many
/// articles moved. Repeating an interrupted move finishes it. Rounds: about 7, and 2 for
/// each hundred articles, and for each hundred stories that wait for a moderator.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], [`Refusal::Silenced`], [`Refusal::SameTopic`],
/// [`Refusal::NoSuchTopic`], [`Refusal::TopicExists`],
/// [`Refusal::TopicMoving`], or the store's.
pub async fn move_topic(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    kind: Move,
    from: &Topic,
    to: &Topic,
) -> Result<u64, Error> {
    viewer.require_admin()?;
    viewer.demand_may_post(now)?;
    if from == to {
        return Err(Refusal::SameTopic.into());
    }
    begin(site, kind, from, to).await?;
    tracing::info!(target: AUDIT, by = viewer.username, %from, %to, "moves a topic");
    let mut moved = 0;
    loop {
        let (members, withheld, moving) = site
            .store
            .fetch((
                read::members(keys::group(from)),
                read::members(keys::withheld_group(from)),
                read::hash_fields(keys::TOPIC_MOVES, [from.as_str()]),
            ))
            .await?;
        if moving != [Some(to.to_string())] {
            // It is finished, by us or by another request for the same move.
            return Ok(moved);
        }
        for names in withheld.chunks(TOPIC_MOVE_CHUNK) {
            move_withheld(site, from, to, names).await?;
        }
        if members.is_empty() {
            move_held(site, from, to).await?;
            finish(site, from, to).await?;
        }
        for names in members.chunks(TOPIC_MOVE_CHUNK) {
            moved += move_articles(site, from, to, names).await?;
        }
    }
}

/// Notes that the move is under way, unless that is noted already.
async fn begin(site: &Site, kind: Move, from: &Topic, to: &Topic) -> Result<(), Error> {
    site.act(keys::TOPIC_MOVES, || async {
        let (known, moves) = site
            .store
            .fetch((read::scores(keys::TOPICS, [from.as_str(), to.as_str()]), read::hash(keys::TOPIC_MOVES)))
            .await?;
        let is_known = |position| known.get(position).copied().flatten().is_some();
        if moves.get(from.as_str()) == Some(to.as_str()) {
            return Ok(Decision::Done(()));
        }
        let names = [from.as_str(), to.as_str()];
        let in_the_way = moves
            .0
            .into_iter()
            .find(|(from, to)| names.contains(&from.as_str()) || names.contains(&to.as_str()));
        if let Some((from, to)) = in_the_way {
            return Err(Refusal::TopicMoving { from, to }.into());
        }
        if !is_known(0) {
            return Err(Refusal::NoSuchTopic(from.to_string()).into());
        }
        let mut batch = Batch::new();
        batch.sorted_member_present(keys::TOPICS, from.as_str());
        for topic in [from, to] {
            batch.field_absent(keys::TOPIC_MOVES, topic.as_str());
        }
        match (kind, is_known(1)) {
            (Move::Rename, true) => return Err(Refusal::TopicExists(to.to_string()).into()),
            (Move::Merge, false) => return Err(Refusal::NoSuchTopic(to.to_string()).into()),
            (Move::Rename, false) => {
                batch.sorted_member_absent(keys::TOPICS, to.as_str());
                batch.sorted_add(keys::TOPICS, to.as_str(), 0.0);
            }
            (Move::Merge, true) => {
                batch.sorted_member_present(keys::TOPICS, to.as_str());
            }
        }
        batch.set_field(keys::TOPIC_MOVES, from.as_str(), to.as_str());
        Ok(Decision::commit(batch, ()))
    })
    .await
}

/// Moves some articles in one batch. Returns how many there were.
async fn move_articles(site: &Site, from: &Topic, to: &Topic, names: &[String]) -> Result<u64, Error> {
    site.act(keys::TOPIC_MOVES, || async {
        let read = |name: &String| {
            let news =
                keys::news_of_article(name).map(|id| News::by_id(id).map(move |news| Some((id, news?))));
            (news, [from, to].map(|topic| read::has_member(keys::group(topic), name)))
        };
        let reads = names.iter().map(read).collect::<Vec<_>>();
        let moving = read::field(keys::TOPIC_MOVES, from.as_str());
        let (articles, moving) = site.store.fetch((reads, moving)).await?;
        if moving != Some(to.to_string()) {
            // Another request has finished it.
            return Ok(Decision::Done(0));
        }
        let mut batch = Batch::new();
        batch.field_equals(keys::TOPIC_MOVES, from.as_str(), to.as_str());
        let (mut left, mut arrived, mut moved) = (0.0, 0.0, 0);
        for (name, (news, [inside, there])) in names.iter().zip(articles) {
            let news = news.flatten();
            if !inside {
                continue;
            }
            left += 1.0;
            batch.remove_member(keys::group(from), name);
            if let Some((id, news)) = news.filter(|(_, news)| news.topics.contains(from)) {
                replace(&mut batch, id, &news, from, to);
                if !there {
                    arrived += 1.0;
                    batch.member_absent(keys::group(to), name);
                    batch.add_member(keys::group(to), name);
                }
                moved += 1;
            }
        }
        if left == 0.0 {
            return Ok(Decision::Done(0));
        }
        batch.sorted_increment(keys::TOPICS, from.as_str(), -left);
        batch.sorted_increment(keys::TOPICS, to.as_str(), arrived);
        drop_lists(&mut batch, from);
        drop_lists(&mut batch, to);
        Ok(Decision::commit(batch, moved))
    })
    .await
}

/// Gives the new topic to some stories that are withheld, in one batch. They count as articles of
/// no topic.
async fn move_withheld(site: &Site, from: &Topic, to: &Topic, names: &[String]) -> Result<(), Error> {
    site.act(keys::TOPIC_MOVES, || async {
        let read = |name: &String| {
            let (id, name) = (keys::news_of_article(name)?, name.clone());
            let inside = read::has_member(keys::withheld_group(from), &name);
            Some((read::hash(keys::news(id)), inside).map(move |(hash, inside)| (name, id, hash, inside)))
        };
        let stories = site.store.fetch(names.iter().filter_map(read).collect::<Vec<_>>()).await?;
        let mut batch = Batch::new();
        batch.field_equals(keys::TOPIC_MOVES, from.as_str(), to.as_str());
        for (name, id, hash, _) in stories.into_iter().filter(|(.., inside)| *inside) {
            batch.remove_member(keys::withheld_group(from), &name);
            if let Some(news) = News::from_hash(&hash).filter(|news| news.topics.contains(from)) {
                replace(&mut batch, id, &news, from, to);
                batch.add_member(keys::withheld_group(to), name);
            }
        }
        if batch.writes().is_empty() {
            return Ok(Decision::Done(()));
        }
        Ok(Decision::commit(batch, ()))
    })
    .await
}

/// Gives the new topic to the stories that wait for approval: they have no article yet. Rounds: 1, and 2 for each
/// hundred.
async fn move_held(site: &Site, from: &Topic, to: &Topic) -> Result<(), Error> {
    let rows = read::sorted_range(keys::REVIEW_QUEUE, Order::Ascending, 0, u64::MAX).large();
    let rows = site.store.fetch(rows).await?;
    let story = |(row, _): &(String, f64)| match row.parse() {
        Ok(Thing::Story(id)) => Some(id),
        _ => None,
    };
    let waiting: Vec<NewsId> = rows.iter().filter_map(story).collect();
    for ids in waiting.chunks(TOPIC_MOVE_CHUNK) {
        site.act(keys::TOPIC_MOVES, || async {
            let stories = site.store.fetch(ids.iter().map(|id| News::by_id(*id)).collect::<Vec<_>>()).await?;
            let is_held =
                |news: &News| matches!(news.withheld, Some(Withheld::Held(_))) && news.topics.contains(from);
            let mut batch = Batch::new();
            batch.field_equals(keys::TOPIC_MOVES, from.as_str(), to.as_str());
            for news in stories.into_iter().flatten().filter(is_held) {
                news.check_state(&mut batch);
                replace(&mut batch, news.id, &news, from, to);
            }
            if batch.writes().is_empty() {
                return Ok(Decision::Done(()));
            }
            Ok(Decision::commit(batch, ()))
        })
        .await?;
    }
    Ok(())
}

/// Replaces the topic in the item's own list of topics, unless the list has changed.
fn replace(batch: &mut Batch, id: NewsId, news: &News, from: &Topic, to: &Topic) {
    let key = keys::news(id);
    if let Some(stored) = &news.stored_topics {
        batch.field_equals(&key, "topics", stored);
    }
    batch.set_field(key, "topics", news.topics.with_replaced(from, to).stored());
}

/// Removes the emptied topic, whose sentence goes to a topic without one, unless something was
/// submitted to it meanwhile.
async fn finish(site: &Site, from: &Topic, to: &Topic) -> Result<(), Error> {
    let sentences = read::fields(keys::TOPIC_SENTENCES, [from.as_str(), to.as_str()]);
    let sentences = site.store.fetch(sentences).await?;
    let mut batch = Batch::new();
    batch.field_equals(keys::TOPIC_MOVES, from.as_str(), to.as_str());
    batch.key_absent(keys::group(from));
    batch.key_absent(keys::withheld_group(from));
    if let [Some(sentence), None] = sentences {
        batch.set_field(keys::TOPIC_SENTENCES, to.as_str(), sentence);
    }
    batch.delete_field(keys::TOPIC_SENTENCES, from.as_str());
    batch.sorted_remove(keys::TOPICS, from.as_str());
    batch.delete_field(keys::TOPIC_MOVES, from.as_str());
    drop_lists(&mut batch, from);
    drop_lists(&mut batch, to);
    site.apply(batch).await?;
    Ok(())
}

/// Removes the stored lists of a topic; the next reader builds them again.
fn drop_lists(batch: &mut Batch, topic: &Topic) {
    for list in lists_of(topic) {
        batch.delete(keys::built(&list));
        batch.delete(list);
    }
}
