//! Topics that a user follows or has muted.
//!
//! Followed topics make a list of their own ([`super::lists::of_followed`]). Stories with a
//! muted topic leave the user's lists (`news::listing`). A topic is one or the other.

use crate::values::{MAX_FOLLOWED_TOPICS, MAX_MUTED_TOPICS, Moment, RatedAction, Topic};
use crate::{Actor, Decision, Refusal, Result, Site, User, keys};
use tidings_keyspace::{Batch, read};

/// How a user stands to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// The user follows it.
    Followed,
    /// The user has muted it.
    Muted,
}

impl Stance {
    fn key(self, user: &User) -> String {
        match self {
            Self::Followed => keys::topics_followed(user.id),
            Self::Muted => keys::topics_muted(user.id),
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Followed => Self::Muted,
            Self::Muted => Self::Followed,
        }
    }

    /// The most topics of a user, and the refusal of one more.
    const fn most(self) -> (u64, Refusal) {
        match self {
            Self::Followed => {
                (MAX_FOLLOWED_TOPICS, Refusal::TooManyFollowedTopics { limit: MAX_FOLLOWED_TOPICS })
            }
            Self::Muted => (MAX_MUTED_TOPICS, Refusal::TooManyMutedTopics { limit: MAX_MUTED_TOPICS }),
        }
    }
}

/// Follows or mutes a topic, and ends the opposite. Twice is as once. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchTopic`], [`Refusal::TooManyFollowedTopics`],
/// [`Refusal::TooManyMutedTopics`], [`Refusal::SessionEnded`],
/// [`Refusal::TooManyRequests`], or the store's.
pub async fn choose(site: &Site, now: Moment, user: Actor<'_>, stance: Stance, topic: &Topic) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let key = stance.key(&user);
    let (most, too_many) = stance.most();
    site.act(&key, || async {
        let reads = (
            read::score(keys::TOPICS, topic.as_str()),
            read::score(&key, topic.as_str()),
            read::sorted_count(&key),
        );
        let (known, chosen, count) = site.store.fetch(reads).await?;
        if known.is_none() {
            return Err(Refusal::NoSuchTopic(topic.to_string()).into());
        }
        if chosen.is_some() {
            return Decision::Done(()).once(user.request.as_ref(), &());
        }
        if count >= most {
            return Err(too_many.clone().into());
        }
        let mut batch = Batch::new();
        batch.sorted_member_absent(&key, topic.as_str());
        batch.sorted_add(&key, topic.as_str(), now.timestamp().as_score());
        batch.sorted_remove(stance.other().key(&user), topic.as_str());
        user.decide(batch, (), &())
    })
    .await
}

/// Ends following or muting a topic, which may have been merged into another since. Does
/// nothing if the user did neither. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchTopic`], [`Refusal::TooManyRequests`], or the store's.
pub async fn leave(site: &Site, now: Moment, user: Actor<'_>, stance: Stance, topic: &Topic) -> Result<()> {
    user.spend(site, now, RatedAction::Follow).await?;
    let key = stance.key(&user);
    let reads = (read::score(keys::TOPICS, topic.as_str()), read::score(&key, topic.as_str()));
    let (known, chosen) = site.store.fetch(reads).await?;
    let is_known = known.is_some();
    if chosen.is_some() {
        user.commit(site, Batch::of(|batch| batch.sorted_remove(key, topic.as_str()))).await?;
    } else if !is_known {
        return Err(Refusal::NoSuchTopic(topic.to_string()).into());
    }
    Ok(())
}
