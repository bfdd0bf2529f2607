//! Votes that a moderator has taken out of a story and its thread, so that they do not count:
//! what is needed to put exactly these back.
//!
//! The hash `news.discounted:<id>` has one field for each user whose votes are out. While a vote
//! is there, its user has voted and cannot vote again.

use super::item::Direction;
use crate::values::{CommentId, NewsId, Restriction, RestrictionKind, Timestamp, UserId};
use crate::{Refusal, User, fields, keys};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Fetch, read};

/// The votes of one user on a story and its comments that do not count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DiscountedVotes {
    /// The vote on the story.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) story: Option<StoryVote>,
    /// The votes on comments, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) comments: BTreeMap<u64, CommentVote>,
}

/// A vote on a story.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoryVote {
    pub(crate) vote: Direction,
    /// When it was cast, as it is stored.
    pub(crate) time: f64,
    /// Whether it counted for the article.
    #[serde(default)]
    pub(crate) article: bool,
}

/// A vote on a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommentVote {
    pub(crate) vote: Direction,
    /// The place of the user among those who voted so.
    pub(crate) place: usize,
}

impl DiscountedVotes {
    pub(crate) fn is_empty(&self) -> bool {
        self.story.is_none() && self.comments.is_empty()
    }

    /// Reads what is stored; nothing if it cannot be read.
    pub(crate) fn read(news: NewsId, user: UserId, json: Option<&str>) -> Self {
        let Some(json) = json else { return Self::default() };
        serde_json::from_str(json).unwrap_or_else(|_| {
            fields::report(&keys::news_discounted(news), Some(&user.to_string()));
            Self::default()
        })
    }

    /// Replaces what was read of a user.
    pub(crate) fn write(&self, batch: &mut Batch, (news, user): (NewsId, UserId), read: Option<&str>) {
        let (key, field) = (keys::news_discounted(news), user.to_string());
        batch.field_unchanged(&key, &field, read);
        match serde_json::to_string(self) {
            Ok(json) if !self.is_empty() => batch.set_field(key, field, json),
            _ => batch.delete_field(key, field),
        }
    }
}

/// Whether the votes of a user count, and those of them on one story and its comments that are out.
pub(crate) struct VoterStanding {
    voter: UserId,
    discount: Option<String>,
    votes: DiscountedVotes,
}

impl VoterStanding {
    /// That of a user on a story and its comments, or [`Refusal::VotesDiscounted`].
    pub(crate) fn of(
        news: NewsId,
        voter: UserId,
        now: Timestamp,
    ) -> impl Fetch<Value = Result<Self, Refusal>> {
        let field = RestrictionKind::Discount.field();
        let record = read::field(keys::news_discounted(news), voter.to_string());
        (read::field(keys::user(voter), field), record).map(move |(discount, record)| {
            let restriction: Option<Restriction> =
                fields::read(discount.as_deref(), || keys::user(voter), field);
            if let Some(restriction) = restriction.filter(|restriction| restriction.is_in_force(now)) {
                return Err(Refusal::VotesDiscounted(restriction));
            }
            Ok(Self { voter, discount, votes: DiscountedVotes::read(news, voter, record.as_deref()) })
        })
    }

    /// Refuses a second vote on the story while the first one is out.
    pub(crate) fn refuse_second_vote(&self) -> Result<(), Refusal> {
        if self.votes.story.is_some() { Err(Refusal::VotedAlready(None)) } else { Ok(()) }
    }

    /// The same for a comment.
    pub(crate) fn refuse_second_vote_on(&self, comment: CommentId) -> Result<(), Refusal> {
        if self.votes.comments.contains_key(&comment.0) { Err(Refusal::VotedAlready(None)) } else { Ok(()) }
    }

    /// Makes a batch fail if a moderator has decided about the user's votes meanwhile. Votes that
    /// go in or out meanwhile change what each vote checks anyway.
    pub(crate) fn check(&self, batch: &mut Batch) {
        let field = RestrictionKind::Discount.field();
        batch.field_unchanged(keys::user(self.voter), field, self.discount.as_ref());
    }
}

impl User {
    /// Refuses a user whose votes do not count.
    ///
    /// # Errors
    /// [`Refusal::VotesDiscounted`].
    pub(crate) fn demand_votes_count(&self, now: Timestamp) -> Result<(), Refusal> {
        let discount = self.restrictions.in_force(RestrictionKind::Discount, now);
        discount.map_or(Ok(()), |discount| Err(Refusal::VotesDiscounted(discount.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back() {
        let on_comment = CommentVote { vote: Direction::Down, place: 2 };
        let story = StoryVote { vote: Direction::Up, time: 1_800_000_000.0, article: true };
        let votes = DiscountedVotes { story: Some(story), comments: BTreeMap::from([(3, on_comment)]) };
        let json = serde_json::to_string(&votes).unwrap();
        assert_eq!(
            json,
            r#"{"story":{"vote":"up","time":1800000000.0,"article":true},"comments":{"3":{"vote":"down","place":2}}}"#
        );
        assert_eq!(DiscountedVotes::read(NewsId(1), UserId(2), Some(&json)), votes);
        assert!(DiscountedVotes::read(NewsId(1), UserId(2), Some("x")).is_empty());
    }
}
