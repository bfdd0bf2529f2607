//! Topics: what articles are about.
//!
//! A topic is a name in the sorted set `topics` and the set of its articles.
//! The first article creates it, and it stays when the last article has left. Administrators
//! describe it in a sentence.

use crate::news::hidden;
use crate::values::{
    MAX_TOPIC_SENTENCE, MAX_TOPIC_SENTENCES, MAX_TOPICS, OFFERED_COMBINATIONS, Timestamp, Topic, TopicChoice,
    TopicSentence, Topics, printable,
};
use crate::{AUDIT, Applied, News, Refusal, Result, Site, User, Visit, keys};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// A topic as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicLine {
    /// The topic.
    pub topic: Topic,
    /// Its articles.
    pub articles: u64,
    /// The sentence that describes it; empty without one.
    pub sentence: String,
}

/// The facts about some topics that their page shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicFacts {
    /// The sentences that describe them, in their order; empty for a topic without one.
    pub sentences: Vec<String>,
    /// The largest other topics.
    pub others: Vec<Topic>,
}

impl TopicFacts {
    /// The facts about some topics, once it is known which stories flags have hidden from the viewer.
    pub(crate) fn of(
        topics: &TopicChoice,
    ) -> impl Fetch<Value = impl FnOnce(&[News]) -> Self + use<>> + use<> {
        let topics = topics.topics().to_vec();
        let sentences =
            read::hash_fields(keys::TOPIC_SENTENCES, topics.iter().map(Topic::as_str)).or_absent();
        let most = OFFERED_COMBINATIONS + u64::try_from(MAX_TOPICS).unwrap_or(0);
        let largest = read::sorted_range(keys::TOPICS, Order::Descending, 0, most);
        (sentences, largest).map(move |(sentences, largest)| {
            move |hidden: &[News]| {
                let sentences = sentences.iter().map(|text| shown(text.as_deref())).collect();
                let others = without_hidden(largest, hidden).into_iter().map(|(topic, _)| topic);
                let others = others.filter(|topic| !topics.contains(topic));
                let most = usize::try_from(OFFERED_COMBINATIONS).unwrap_or(usize::MAX);
                Self { sentences, others: others.take(most).collect() }
            }
        })
    }
}

/// Topics with the numbers of their articles that a viewer sees, the largest first: those of the stored list without
/// what flags have hidden from the viewer. A topic stays when its last article leaves, but it is nothing to read.
fn without_hidden(stored: Vec<(String, f64)>, hidden: &[News]) -> Vec<(Topic, u64)> {
    let seen = |(name, articles): (String, f64)| {
        let topic = Topic::parse("topic", &name).ok()?;
        let hidden = hidden.iter().filter(|news| news.topics.contains(&topic)).count() as u64;
        let articles = whole(articles).saturating_sub(hidden);
        (articles > 0).then_some((topic, articles))
    };
    // Of as many articles, in this order: that of ZREVRANGE.
    let mut topics: Vec<(Topic, u64)> = stored.into_iter().filter_map(seen).collect();
    topics.sort_by_key(|(_, articles)| Reverse(*articles));
    topics
}

/// A stored sentence as it is shown. Another program may have stored anything.
fn shown(stored: Option<&str>) -> String {
    stored.map(|text| printable(text.chars().take(MAX_TOPIC_SENTENCE).collect())).unwrap_or_default()
}

/// Those of some topics that exist. Rounds: 1.
pub(super) async fn existing(visit: &mut Visit, topics: &[Topic]) -> Result<Vec<Topic>> {
    let known = visit.fetch(read::scores(keys::TOPICS, topics.iter().map(Topic::as_str))).await?;
    let known = topics.iter().zip(known).filter(|(_, articles)| articles.is_some());
    Ok(known.map(|(topic, _)| topic.clone()).collect())
}

/// Sets the sentence that describes a topic, or removes it, for an administrator. Rounds: 2.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`], [`Refusal::Silenced`], [`Refusal::NoSuchTopic`],
/// [`Refusal::TooManyTopicSentences`], or the store's.
pub async fn describe(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    topic: &Topic,
    sentence: Option<&TopicSentence>,
) -> Result<()> {
    viewer.require_admin()?;
    viewer.demand_may_post(now)?;
    let reads = (read::score(keys::TOPICS, topic.as_str()), read::hash(keys::TOPIC_SENTENCES));
    let (known, sentences) = site.store.fetch(reads).await?;
    if known.is_none() {
        return Err(Refusal::NoSuchTopic(topic.to_string()).into());
    }
    let mut batch = Batch::new();
    match sentence {
        Some(_) if sentences.get(topic.as_str()).is_none() && sentences.0.len() >= MAX_TOPIC_SENTENCES => {
            let limit = u64::try_from(MAX_TOPIC_SENTENCES).unwrap_or(u64::MAX);
            return Err(Refusal::TooManyTopicSentences { limit }.into());
        }
        Some(sentence) => batch.set_field(keys::TOPIC_SENTENCES, topic.as_str(), sentence.as_str()),
        None => batch.delete_field(keys::TOPIC_SENTENCES, topic.as_str()),
    }
    viewer.commit(site, batch).await?;
    tracing::info!(target: AUDIT, by = viewer.username, %topic, "changed the sentence about a topic");
    Ok(())
}

/// Gives a topic its sentence, unless it has one. Returns whether it had none. Rounds: 2.
pub(crate) async fn add_sentence(site: &Site, topic: &str, sentence: &str) -> Result<bool> {
    let all = site.store.fetch(read::hash(keys::TOPIC_SENTENCES)).await?;
    if all.get(topic).is_some() || all.0.len() >= MAX_TOPIC_SENTENCES {
        return Ok(false);
    }
    let mut batch = Batch::new();
    batch.field_absent(keys::TOPIC_SENTENCES, topic);
    batch.set_field(keys::TOPIC_SENTENCES, topic, sentence);
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

/// The topics, and the moves that are not finished.
#[derive(Debug, Default)]
pub struct TopicsOverview {
    /// The topics with the most articles that the viewer sees.
    pub topics: Vec<TopicLine>,
    /// Moves that are under way or were interrupted: from, to.
    pub moves: BTreeMap<String, String>,
}

/// The `most` topics with the most articles that the viewer sees, ties as Redis lists them, and all moves. Rounds: at most 3.
pub async fn overview(visit: &mut Visit, most: u64) -> Result<TopicsOverview> {
    let hidden = hidden::from_viewer(visit).await?;
    // Each of their topics may make room for another.
    let topics: HashSet<&Topic> = hidden.iter().flat_map(|news| news.topics.iter()).collect();
    let read_most = most.saturating_add(u64::try_from(topics.len()).unwrap_or(u64::MAX));
    let topics = read::sorted_range(keys::TOPICS, Order::Descending, 0, read_most);
    let hashes = [keys::TOPIC_MOVES, keys::TOPIC_SENTENCES].map(read::hash);
    let (topics, [moves, sentences]) = visit.fetch((topics, hashes.or_absent())).await?;
    let sentences: HashMap<String, String> = sentences.0.into_iter().collect();
    let line = |(topic, articles): (Topic, u64)| {
        let sentence = shown(sentences.get(topic.as_str()).map(String::as_str));
        TopicLine { topic, articles, sentence }
    };
    let mut topics: Vec<TopicLine> = without_hidden(topics, &hidden).into_iter().map(line).collect();
    topics.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(TopicsOverview { topics, moves: moves.0.into_iter().collect() })
}

/// A count that is stored as a score; 0 for a negative one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(score: f64) -> u64 {
    // A cast saturates: negative numbers become 0.
    score as u64
}

/// Some topics, and whether each exists.
pub(crate) struct KnownTopics(Vec<(Topic, bool)>);

impl KnownTopics {
    /// Whether each of an item's topics exists.
    pub(crate) fn among(topics: &Topics) -> impl Fetch<Value = Self> + use<> {
        let topics: Vec<Topic> = topics.iter().cloned().collect();
        read::scores(keys::TOPICS, topics.iter().map(Topic::as_str))
            .map(|known| Self(topics.into_iter().zip(known.iter().map(Option::is_some)).collect()))
    }

    /// Those of the topics that exist.
    pub(crate) fn existing(self) -> Vec<Topic> {
        self.0.into_iter().filter(|(_, is_known)| *is_known).map(|(topic, _)| topic).collect()
    }

    /// Refuses new topics if the user may not create any, and adds checks that the others
    /// still exist when the batch is applied.
    ///
    /// # Errors
    /// [`Refusal::NewTopicNeedsKarma`], [`Refusal::NewTopicNeedsTrust`].
    pub(crate) fn demand(
        self,
        site: &Site,
        (user, is_trusted): (&User, bool),
        batch: &mut Batch,
    ) -> Result<(), Refusal> {
        let needed = site.rules.karma.new_topic_minimum;
        for (topic, is_known) in self.0 {
            if is_known {
                batch.sorted_member_present(keys::TOPICS, topic.as_str());
            } else if user.karma < needed && !user.is_administrator() {
                return Err(Refusal::NewTopicNeedsKarma { topic: topic.to_string(), needed });
            } else if !is_trusted {
                return Err(Refusal::NewTopicNeedsTrust { topic: topic.to_string() });
            }
        }
        Ok(())
    }
}
