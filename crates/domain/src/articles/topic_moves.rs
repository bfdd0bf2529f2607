//! Renaming and merging topics: their articles move, some at a time.
//!
//! A topic may have very many articles, so a move takes many batches. The hash
//! `topic.moves` has the move from the first batch to the last: repeating an interrupted
//! move finishes it.

use crate::articles::article::lists_of;
use crate::articles::stories::StoredStory;
use crate::values::{TOPIC_MOVE_CHUNK, Thing, Timestamp, Topic};
use crate::{AUDIT, Decision, News, Refusal, Result, Site, User, keys};
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
) -> Result<u64> {
    viewer.require_admin()?;
    viewer.demand_may_post(now)?;
    Refusal::SameTopic.when(from == to)?;
    begin(site, kind, from, to).await?;
    tracing::info!(target: AUDIT, by = viewer.username, %from, %to, "moves a topic");
    let mut moved = 0;
    loop {
        let reads = (
            read::members(keys::group(from)),
            read::members(keys::withheld_group(from)),
            read::hash_fields(keys::TOPIC_MOVES, [from.as_str()]),
        );
        let (members, withheld, moving) = site.store.fetch(reads).await?;
        if moving != [Some(to.to_string())] {
            // It is finished, by us or by another request for the same move.
            return Ok(moved);
        }
        let is_done = members.is_empty() && withheld.is_empty();
        let held = if is_done { held_stories(site).await? } else { Vec::new() };
        for names in [withheld, members, held].concat().chunks(TOPIC_MOVE_CHUNK) {
            moved += move_articles((site, now), from, to, names).await?;
        }
        if is_done {
            finish(site, from, to).await?;
        }
    }
}

/// Notes that the move is under way, unless that is noted already.
async fn begin(site: &Site, kind: Move, from: &Topic, to: &Topic) -> Result<()> {
    site.act(keys::TOPIC_MOVES, || async {
        let reads = (read::scores(keys::TOPICS, [from.as_str(), to.as_str()]), read::hash(keys::TOPIC_MOVES));
        let (known, moves) = site.store.fetch(reads).await?;
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

/// Gives the new topic to the stories of some articles, in one batch, and takes out of the old one what is no article of it.
/// Returns how many articles of shown stories moved.
async fn move_articles(
    (site, now): (&Site, Timestamp),
    from: &Topic,
    to: &Topic,
    names: &[String],
) -> Result<u64> {
    site.act(keys::TOPIC_MOVES, || async {
        let read = |name: &String| {
            let story = keys::news_of_article(name).map(StoredStory::by_id);
            let groups = [keys::group(from), keys::withheld_group(from)];
            (story, groups.map(|group| read::has_member(group, name)))
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
        let mut moved = 0;
        for (name, (story, [is_shown, is_withheld])) in names.iter().zip(articles) {
            let story = story.flatten().filter(|story| story.topics.contains(from));
            let is_listed = story.as_ref().and_then(StoredStory::has_listed_article);
            if let Some(story) = story {
                let mut news = News::clone(&story);
                news.topics = news.topics.with_replaced(from, to);
                story.change(&mut batch, site, now, news);
                moved += u64::from(is_shown);
            }
            if is_shown && is_listed != Some(true) {
                batch.remove_member(keys::group(from), name);
                batch.sorted_increment(keys::TOPICS, from.as_str(), -1.0);
            }
            if is_withheld && is_listed != Some(false) {
                batch.remove_member(keys::withheld_group(from), name);
            }
        }
        if batch.writes().is_empty() {
            return Ok(Decision::Done(0));
        }
        drop_lists(&mut batch, from);
        drop_lists(&mut batch, to);
        Ok(Decision::commit(batch, moved))
    })
    .await
}

/// The names of the articles that stories will have which wait for approval. Rounds: 1.
async fn held_stories(site: &Site) -> Result<Vec<String>> {
    let rows = read::sorted_range(keys::REVIEW_QUEUE, Order::Ascending, 0, u64::MAX).large();
    let article = |(row, _): (String, f64)| match row.parse() {
        Ok(Thing::Story(id)) => Some(keys::article(id)),
        _ => None,
    };
    Ok(site.store.fetch(rows).await?.into_iter().filter_map(article).collect())
}

/// Removes the emptied topic, whose sentence goes to a topic without one, unless something was
/// submitted to it meanwhile.
async fn finish(site: &Site, from: &Topic, to: &Topic) -> Result<()> {
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
    site.apply(batch).await.map(drop)
}

/// Removes the stored lists of a topic; the next reader builds them again.
fn drop_lists(batch: &mut Batch, topic: &Topic) {
    for list in lists_of(topic) {
        batch.delete(keys::built(&list));
        batch.delete(list);
    }
}
