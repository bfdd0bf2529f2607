//! The votes that a user has cast a short while ago and may still take back.
//!
//! The hash `user:<id>:recent_votes` records what each of them did, so that taking it back
//! undoes exactly that: the karma that it cost then, not what it would cost now. A record is
//! written in the batch of its vote and removed in the batch that takes the vote back. The
//! hash expires when the latest vote can no longer be taken back.
//!
//! A vote reads its own record and the number of records, not all of them: people who vote a lot
//! would make each vote slower. The records that are too old are removed once in 64 votes.

use crate::values::{CommentAddress, MAX_RECENT_VOTES, NewsId, NotAnId, Timestamp, UserId, read_text, shown};
use crate::{Result, Site, fields, keys};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The approximate bytes of one record in [`RecentVotes`].
const RECORD_BYTES: usize = 100;

/// How many records are added until those that are too old are removed.
const PRUNE_EVERY: u64 = 64;

/// The subject of a vote. Written as the field of its record: `<news id>`, or
/// `<news id>-<comment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VotedOn {
    /// A news item.
    News(NewsId),
    /// A comment.
    Comment(CommentAddress),
}

shown!(VotedOn: |voted| match voted {
    VotedOn::News(id) => id as &dyn Display,
    VotedOn::Comment(address) => address,
});

read_text!(VotedOn or NotAnId: |text| match text.contains('-') {
    true => text.parse().ok().map(Self::Comment),
    false => text.parse().ok().map(Self::News),
});

/// The recent votes of a user, as pages need them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentVotes {
    user: UserId,
    /// Fields and records as stored, in the order of the fields. A page needs few of them.
    records: Arc<[(String, String)]>,
}

impl RecentVotes {
    /// No votes.
    pub(crate) fn none(user: UserId) -> Self {
        Self::from_hash(user, Hash::default())
    }

    /// Reads the hash of a user.
    pub(crate) fn from_hash(user: UserId, hash: Hash) -> Self {
        let mut records = hash.0;
        records.sort_unstable();
        Self { user, records: records.into() }
    }

    /// Whether the user may take a vote back now, where votes can be taken back for
    /// `window_seconds`.
    pub fn may_take_back(&self, on: VotedOn, now: Timestamp, window_seconds: u64) -> bool {
        if self.records.is_empty() {
            return false;
        }
        let field = on.to_string();
        let place = self.records.binary_search_by(|(other, _)| other.as_str().cmp(&field));
        place.is_ok_and(|place| {
            let vote = read_json::<VoteTime>(self.user, &field, &self.records[place].1);
            vote.is_some_and(|vote| is_recent(Timestamp(vote.time), now, window_seconds))
        })
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.records.len() * RECORD_BYTES
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

/// The record of a vote, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct VoteEffect {
    /// When it was cast, in Unix seconds.
    pub(crate) time: u64,
    /// The karma that the voter paid.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) cost: i64,
    /// The karma that the author got.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transfer: i64,
    /// The effect on the article of the item.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) article: ArticleEffect,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl VoteEffect {
    /// The record of a vote that did nothing but count.
    pub(crate) const fn free(now: Timestamp) -> Self {
        Self { time: now.0, cost: 0, transfer: 0, article: ArticleEffect::None }
    }
}

/// The effect of a vote on the article of a news item.
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

fn read_json<'a, T: Deserialize<'a>>(user: UserId, field: &str, json: &'a str) -> Option<T> {
    let read = |json| serde_json::from_str(json).ok();
    fields::parsed(Some(json), || keys::user_recent_votes(user), field, read)
}

/// The recent vote of a user on one thing, if there is one.
pub(crate) struct RecentVote {
    user: UserId,
    on: VotedOn,
    /// Its record as stored.
    json: Option<String>,
    /// How many records the user has.
    count: u64,
    now: Timestamp,
    window_seconds: u64,
}

impl RecentVote {
    /// That of a user on one thing, for an action.
    pub(crate) fn by(
        user: UserId,
        on: VotedOn,
        now: Timestamp,
        window_seconds: u64,
    ) -> impl Fetch<Value = Self> {
        let key = keys::user_recent_votes(user);
        let reads = (read::field(&key, on.to_string()), read::field_count(key));
        reads.map(move |(json, count)| Self { user, on, json, count, now, window_seconds })
    }

    /// The record of the vote if it can be taken back.
    pub(crate) fn record(&self) -> Option<VoteEffect> {
        let record: VoteEffect = read_json(self.user, &self.on.to_string(), self.json.as_deref()?)?;
        is_recent(Timestamp(record.time), self.now, self.window_seconds).then_some(record)
    }

    /// Adds the record of a vote to its batch, where votes can be taken back. Rounds: none, and 1
    /// where old records are removed.
    pub(crate) async fn add(&self, site: &Site, batch: &mut Batch, record: &VoteEffect) -> Result<()> {
        if self.window_seconds == 0 {
            return Ok(());
        }
        // Numbers and plain names always become JSON.
        let Ok(json) = serde_json::to_string(record) else { return Ok(()) };
        let key = keys::user_recent_votes(self.user);
        if self.count >= MAX_RECENT_VOTES || self.count % PRUNE_EVERY == PRUNE_EVERY - 1 {
            let all = site.store.fetch(read::hash(&key)).await?;
            for field in superfluous(&all, self.now, self.window_seconds) {
                batch.delete_field(&key, field);
            }
        }
        batch.set_field(&key, self.on.to_string(), json);
        // It lives to the end of the last second in which the vote can be taken back.
        batch.expire(key, Duration::from_secs(self.window_seconds.saturating_add(1)));
        Ok(())
    }

    /// Removes the record in the batch that takes the vote back. The batch is rejected if the vote
    /// has been taken back meanwhile.
    pub(crate) fn remove(&self, batch: &mut Batch) {
        let (key, field) = (keys::user_recent_votes(self.user), self.on.to_string());
        if let Some(json) = &self.json {
            batch.field_equals(&key, &field, json);
        }
        batch.delete_field(key, field);
    }
}

/// The records to remove before another one is added: those that are too old, and, if there are
/// too many, the oldest ones, so that there is room for some time.
fn superfluous(all: &Hash, now: Timestamp, window_seconds: u64) -> impl Iterator<Item = &str> {
    let time = |json: &str| serde_json::from_str::<VoteTime>(json).map_or(0, |vote| vote.time);
    let mut votes: Vec<(u64, &str)> =
        all.0.iter().map(|(field, json)| (time(json), field.as_str())).collect();
    votes.sort_unstable();
    let count = votes.len() as u64;
    let surplus = if count >= MAX_RECENT_VOTES { count - (MAX_RECENT_VOTES - PRUNE_EVERY) } else { 0 };
    let superfluous = votes.into_iter().zip(0_u64..).filter(move |((time, _), place)| {
        *place < surplus || !is_recent(Timestamp(*time), now, window_seconds)
    });
    superfluous.map(|((_, field), _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::CommentId;
    use tidings_keyspace::Store;

    const ALICE: UserId = UserId(1);
    const WINDOW: u64 = 600;

    fn hash(fields: &[(&str, &str)]) -> Hash {
        Hash(fields.iter().map(|(field, json)| ((*field).to_owned(), (*json).to_owned())).collect())
    }

    fn vote(json: &str, now: u64) -> RecentVote {
        RecentVote {
            user: ALICE,
            on: VotedOn::News(NewsId(5)),
            json: Some(json.to_owned()),
            count: 1,
            now: Timestamp(now),
            window_seconds: WINDOW,
        }
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
        let free = VoteEffect::free(Timestamp(1_000));
        let all = VoteEffect { cost: 1, transfer: 2, article: ArticleEffect::Counted, ..free };
        let texts =
            [(free, r#"{"time":1000}"#), (all, r#"{"time":1000,"cost":1,"transfer":2,"article":"counted"}"#)];
        for (record, json) in texts {
            assert_eq!(serde_json::to_string(&record).ok().as_deref(), Some(json));
            assert_eq!(vote(json, 1_000).record(), Some(record));
        }
    }

    #[test]
    fn a_vote_can_be_taken_back_to_the_last_second_of_the_window() {
        let on = VotedOn::News(NewsId(5));
        let json = r#"{"time":1000}"#;
        for (now, expected) in [(1_000, true), (1_600, true), (1_601, false), (999, true)] {
            assert_eq!(vote(json, now).record().is_some(), expected, "{now}");
            let votes = RecentVotes::from_hash(ALICE, hash(&[("7", "x"), ("5", json), ("1", json)]));
            assert_eq!(votes.may_take_back(on, Timestamp(now), WINDOW), expected, "{now}");
            assert!(!votes.may_take_back(on, Timestamp(now), 0));
            assert!(!votes.may_take_back(VotedOn::News(NewsId(6)), Timestamp(now), WINDOW));
            assert!(!votes.may_take_back(VotedOn::News(NewsId(7)), Timestamp(now), WINDOW));
        }
    }

    #[test]
    fn old_unreadable_and_too_many_records_are_removed() {
        let votes = hash(&[("1", r#"{"time":399}"#), ("2", "x"), ("3", r#"{"time":400}"#)]);
        let fields: Vec<_> = superfluous(&votes, Timestamp(1_000), WINDOW).collect();
        assert_eq!(fields, ["2", "1"]);
        let many = (1..=MAX_RECENT_VOTES).map(|id| (id.to_string(), format!(r#"{{"time":{}}}"#, 2_000 - id)));
        let mut many = Hash(many.collect());
        let fields: Vec<_> = superfluous(&many, Timestamp(1_400), WINDOW).collect();
        assert_eq!(fields.len() as u64, PRUNE_EVERY);
        assert_eq!(fields[0], MAX_RECENT_VOTES.to_string(), "the oldest first");
        many.0.pop();
        assert_eq!(superfluous(&many, Timestamp(1_400), WINDOW).count(), 0);
    }

    #[tokio::test]
    async fn records_never_exceed_the_maximum_and_few_votes_read_all_of_them() {
        let store = Store::in_memory().await.unwrap();
        let site = Site::on(store.clone());
        let votes = MAX_RECENT_VOTES + 2 * PRUNE_EVERY;
        let (mut most, before) = (0, store.rounds());
        for id in 1..=votes {
            let recent = RecentVote::by(ALICE, VotedOn::News(NewsId(id)), Timestamp(1_000), WINDOW);
            let recent = store.fetch(recent).await.unwrap();
            most = most.max(recent.count);
            let mut batch = Batch::new();
            recent.add(&site, &mut batch, &VoteEffect::free(Timestamp(1_000))).await.unwrap();
            store.commit(batch).await.unwrap();
        }
        assert_eq!(most, MAX_RECENT_VOTES);
        // A read and a commit for each vote.
        let all_were_read = store.rounds() - before - 2 * votes;
        assert!(all_were_read <= votes / PRUNE_EVERY + 3, "{all_were_read}");
    }
}
