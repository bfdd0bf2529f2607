//! The votes that a user has cast a short while ago and may still take back.
//!
//! The hash `user:<id>:recent_votes` records what each of them did, so that taking it back
//! undoes exactly that: the karma that it cost then, not what it would cost now. A record is
//! written in the batch of its vote and removed in the batch that takes the vote back. The
//! hash expires when the latest vote can no longer be taken back.

use crate::fields;
use crate::keys;
use crate::values::clock::Timestamp;
use crate::values::ids::{CommentAddress, NewsId, NotAnId, UserId};
use crate::values::limits::MAX_RECENT_VOTES;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tidings_keyspace::{Answers, Batch, Handle, Hash, Query};

/// The approximate bytes of one entry of [`RecentVotes`].
const ENTRY_BYTES: usize = 48;

/// What a vote is on. Written as the field of its record: `<news id>`, or
/// `<news id>-<comment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VotedOn {
    /// A news item.
    News(NewsId),
    /// A comment.
    Comment(CommentAddress),
}

impl fmt::Display for VotedOn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::News(id) => id.fmt(formatter),
            Self::Comment(address) => address.fmt(formatter),
        }
    }
}

impl FromStr for VotedOn {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        if text.contains('-') { text.parse().map(Self::Comment) } else { text.parse().map(Self::News) }
    }
}

/// When a user cast their recent votes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentVotes(Arc<HashMap<VotedOn, Timestamp>>);

impl RecentVotes {
    /// Reads the hash of a user.
    pub(crate) fn from_hash(user: UserId, hash: &Hash) -> Self {
        let entry = |(field, json): &(String, String)| {
            let VoteTime { time } = read_json(user, field, json)?;
            Some((field.parse().ok()?, Timestamp(time)))
        };
        Self(Arc::new(hash.0.iter().filter_map(entry).collect()))
    }

    /// Whether the user may take a vote back now, where votes can be taken back for
    /// `window_seconds`.
    #[must_use]
    pub fn may_take_back(&self, on: VotedOn, now: Timestamp, window_seconds: u64) -> bool {
        self.0.get(&on).is_some_and(|time| is_recent(*time, now, window_seconds))
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.len() * ENTRY_BYTES
    }
}

/// Whether a vote of this time can still be taken back.
const fn is_recent(time: Timestamp, now: Timestamp, window_seconds: u64) -> bool {
    window_seconds > 0 && now.seconds_since(time) <= window_seconds
}

/// The part of a record that pages need.
#[derive(Deserialize)]
struct VoteTime {
    time: u64,
}

/// What a vote did, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct VoteRecord {
    /// When it was cast, in Unix seconds.
    pub(crate) time: u64,
    /// The karma that the voter paid.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) cost: i64,
    /// The karma that the author got.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) transfer: i64,
    /// What it did to the article of the item.
    #[serde(default, skip_serializing_if = "ArticleEffect::is_none")]
    pub(crate) article: ArticleEffect,
    /// When the voter had saved the item, if that was before the vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) saved: Option<f64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(karma: &i64) -> bool {
    *karma == 0
}

impl VoteRecord {
    /// The record of a vote that did nothing but count.
    pub(crate) const fn free(now: Timestamp) -> Self {
        Self { time: now.0, cost: 0, transfer: 0, article: ArticleEffect::None, saved: None }
    }
}

/// What a vote did to the article of a news item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ArticleEffect {
    /// Nothing: there was no article, it was older than a week, or it was a vote down.
    #[default]
    None,
    /// It counted.
    Counted,
    /// Nothing: the voter had already voted on the article, with another program.
    CountedBefore,
}

impl ArticleEffect {
    #[allow(clippy::trivially_copy_pass_by_ref)]
    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

fn read_json<'a, T: Deserialize<'a>>(user: UserId, field: &str, json: &'a str) -> Option<T> {
    let read = serde_json::from_str(json).ok();
    if read.is_none() {
        fields::report(&keys::user_recent_votes(user), Some(field));
    }
    read
}

/// A pending read of the recent votes of a user, for an action.
pub(crate) struct RecentVotesRead {
    user: UserId,
    hash: Handle<Hash>,
}

impl RecentVotesRead {
    pub(crate) fn ask(query: &mut Query, user: UserId) -> Self {
        Self { user, hash: query.hash(keys::user_recent_votes(user)) }
    }

    pub(crate) fn take(self, answers: &mut Answers, now: Timestamp, window_seconds: u64) -> StoredVotes {
        StoredVotes { user: self.user, hash: answers.take(self.hash), now, window_seconds }
    }
}

/// The recent votes of a user as stored.
pub(crate) struct StoredVotes {
    user: UserId,
    hash: Hash,
    now: Timestamp,
    window_seconds: u64,
}

/// A recent vote with its record as stored.
pub(crate) struct StoredVote<'a> {
    pub(crate) record: VoteRecord,
    json: &'a str,
}

impl StoredVotes {
    /// The record of a vote that can be taken back.
    pub(crate) fn find(&self, on: VotedOn) -> Option<StoredVote<'_>> {
        let field = on.to_string();
        let json = self.hash.get(&field)?;
        let record: VoteRecord = read_json(self.user, &field, json)?;
        is_recent(Timestamp(record.time), self.now, self.window_seconds)
            .then_some(StoredVote { record, json })
    }

    /// Adds the record of a vote to its batch. Removes those that are too old, and the
    /// oldest if there are more than [`MAX_RECENT_VOTES`].
    pub(crate) fn add(&self, batch: &mut Batch, on: VotedOn, record: &VoteRecord) {
        // Numbers and plain names always become JSON.
        let Ok(json) = serde_json::to_string(record) else {
            return;
        };
        let key = keys::user_recent_votes(self.user);
        for field in self.superfluous() {
            batch.delete_field(&key, field);
        }
        batch.set_field(&key, on.to_string(), json);
        // It lives to the end of the last second in which the vote can be taken back.
        batch.expire(key, Duration::from_secs(self.window_seconds.saturating_add(1)));
    }

    /// The fields to remove before another one is added.
    fn superfluous(&self) -> impl Iterator<Item = &str> {
        let time = |json: &str| serde_json::from_str::<VoteTime>(json).map_or(0, |vote| vote.time);
        let mut votes: Vec<(u64, &str)> =
            self.hash.0.iter().map(|(field, json)| (time(json), field.as_str())).collect();
        votes.sort_unstable();
        let surplus = (votes.len() + 1).saturating_sub(MAX_RECENT_VOTES);
        let superfluous = votes.into_iter().enumerate().filter(move |(index, (time, _))| {
            *index < surplus || !is_recent(Timestamp(*time), self.now, self.window_seconds)
        });
        superfluous.map(|(_, (_, field))| field)
    }

    /// Removes the record of a vote in the batch that takes it back. The batch is rejected if
    /// the vote has been taken back meanwhile.
    pub(crate) fn remove(&self, batch: &mut Batch, on: VotedOn, vote: &StoredVote<'_>) {
        let (key, field) = (keys::user_recent_votes(self.user), on.to_string());
        batch.field_equals(&key, &field, vote.json);
        batch.delete_field(key, field);
    }
}

/// Adds to the batch of an explicit save that the story stays saved when the vote on it is
/// taken back. `json` is the record of the vote as it was read.
pub(crate) fn note_saved(batch: &mut Batch, user: UserId, id: NewsId, json: &str, now: Timestamp) {
    let field = VotedOn::News(id).to_string();
    let record = read_json::<VoteRecord>(user, &field, json);
    let record = record.map(|record| VoteRecord { saved: Some(now.as_score()), ..record });
    if let Some(Ok(changed)) = record.as_ref().map(serde_json::to_string) {
        let key = keys::user_recent_votes(user);
        batch.field_equals(&key, &field, json);
        batch.set_field(key, field, changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::ids::CommentId;

    const ALICE: UserId = UserId(1);
    const WINDOW: u64 = 600;

    fn stored(fields: &[(&str, &str)], now: u64) -> StoredVotes {
        let fields = fields.iter().map(|(field, json)| ((*field).to_owned(), (*json).to_owned()));
        StoredVotes { user: ALICE, hash: Hash(fields.collect()), now: Timestamp(now), window_seconds: WINDOW }
    }

    #[test]
    fn what_is_voted_on_is_written_as_its_number() {
        let comment = CommentAddress { news: NewsId(5), comment: CommentId(3) };
        for (on, text) in [(VotedOn::News(NewsId(5)), "5"), (VotedOn::Comment(comment), "5-3")] {
            assert_eq!((on.to_string().as_str(), text.parse()), (text, Ok(on)));
        }
        for bad in ["", "-", "5-", "x", "-5"] {
            assert_eq!(bad.parse::<VotedOn>(), Err(NotAnId), "{bad:?}");
        }
    }

    #[test]
    fn a_record_has_only_what_the_vote_did() {
        let free = VoteRecord::free(Timestamp(1_000));
        let all =
            VoteRecord { cost: 1, transfer: 2, article: ArticleEffect::Counted, saved: Some(900.5), ..free };
        let texts = [
            (free, r#"{"time":1000}"#),
            (all, r#"{"time":1000,"cost":1,"transfer":2,"article":"counted","saved":900.5}"#),
        ];
        for (record, json) in texts {
            assert_eq!(serde_json::to_string(&record).ok().as_deref(), Some(json));
            let found = stored(&[("5", json)], 1_000);
            let found = found.find(VotedOn::News(NewsId(5))).map(|vote| vote.record);
            assert_eq!(found, Some(record));
        }
    }

    #[test]
    fn a_vote_can_be_taken_back_to_the_last_second_of_the_window() {
        let on = VotedOn::News(NewsId(5));
        for (now, expected) in [(1_000, true), (1_600, true), (1_601, false), (999, true)] {
            let votes = stored(&[("5", r#"{"time":1000}"#)], now);
            assert_eq!(votes.find(on).is_some(), expected, "{now}");
            let votes = RecentVotes::from_hash(ALICE, &votes.hash);
            assert_eq!(votes.may_take_back(on, Timestamp(now), WINDOW), expected, "{now}");
            assert!(!votes.may_take_back(on, Timestamp(now), 0));
        }
    }

    #[test]
    fn old_unreadable_and_too_many_records_are_removed() {
        let votes = stored(&[("1", r#"{"time":399}"#), ("2", "x"), ("3", r#"{"time":400}"#)], 1_000);
        assert_eq!(votes.superfluous().collect::<Vec<_>>(), ["2", "1"]);
        let json = |time: u64| format!(r#"{{"time":{time}}}"#);
        let many: Vec<_> =
            (1..=MAX_RECENT_VOTES as u64).map(|id| (id.to_string(), json(2_000 - id))).collect();
        let many: Vec<_> = many.iter().map(|(field, json)| (field.as_str(), json.as_str())).collect();
        let votes = stored(&many, 1_400);
        assert_eq!(votes.superfluous().collect::<Vec<_>>(), [MAX_RECENT_VOTES.to_string()]);
    }
}
