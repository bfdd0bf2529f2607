//! Topics: what articles are about.
//!
//! A topic is a name in the sorted set `topics` and the set of its articles.
//! The first article creates it, and it stays when the last article has left.

use crate::accounts::users::User;
use crate::accounts::visit::Visit;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::site::Site;
use crate::values::limits::MAX_LISTED_TOPICS;
use crate::values::topic::{Topic, Topics};
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Handle, Order, Query};

/// A topic as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicLine {
    /// The topic.
    pub topic: Topic,
    /// Its articles.
    pub articles: u64,
}

/// The `most` topics with the most articles; ties by name. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn largest(visit: &mut Visit, most: u64) -> Result<Vec<TopicLine>, Error> {
    Ok(overview(visit, most).await?.topics)
}

/// The topics, and the moves that are not finished.
#[derive(Debug, Default)]
pub struct TopicsOverview {
    /// The topics with the most articles; ties by name.
    pub topics: Vec<TopicLine>,
    /// Moves that are under way or were interrupted: from, to.
    pub moves: BTreeMap<String, String>,
}

/// All topics and their moves. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn all(visit: &mut Visit) -> Result<TopicsOverview, Error> {
    overview(visit, MAX_LISTED_TOPICS).await
}

async fn overview(visit: &mut Visit, most: u64) -> Result<TopicsOverview, Error> {
    let mut query = Query::new();
    let topics = query.sorted_range(keys::TOPICS, Order::Descending, 0, most);
    let moves = query.hash(keys::TOPIC_MOVES);
    let mut answers = visit.run(query).await?;
    let mut topics: Vec<TopicLine> = answers
        .take(topics)
        .into_iter()
        .filter_map(|(name, articles)| {
            Some(TopicLine { topic: Topic::parse("topic", &name).ok()?, articles: whole(articles) })
        })
        .collect();
    topics
        .sort_by(|left, right| right.articles.cmp(&left.articles).then_with(|| left.topic.cmp(&right.topic)));
    Ok(TopicsOverview { topics, moves: answers.take(moves).0.into_iter().collect() })
}

/// A count that is stored as a score; 0 for a negative one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(score: f64) -> u64 {
    // A cast saturates: negative numbers become 0.
    score as u64
}

/// A pending read: which of an item's topics exist.
pub(crate) struct TopicsRead(Handle<Vec<Option<f64>>>);

impl TopicsRead {
    pub(crate) fn ask(query: &mut Query, topics: &Topics) -> Self {
        Self(query.scores(keys::TOPICS, topics.iter().map(Topic::as_str)))
    }

    /// Refuses new topics if the user may not create any, and adds checks that the others
    /// still exist when the batch is applied.
    ///
    /// # Errors
    /// [`Refusal::NewTopicNeedsKarma`].
    pub(crate) fn demand(
        self,
        answers: &mut tidings_keyspace::Answers,
        topics: &Topics,
        site: &Site,
        user: &User,
        batch: &mut Batch,
    ) -> Result<(), Refusal> {
        let needed = site.rules.karma.new_topic_minimum;
        for (topic, articles) in topics.iter().zip(answers.take(self.0)) {
            if articles.is_some() {
                batch.sorted_member_present(keys::TOPICS, topic.as_str());
            } else if user.karma < needed && !user.flags.admin {
                return Err(Refusal::NewTopicNeedsKarma { topic: topic.to_string(), needed });
            }
        }
        Ok(())
    }
}
