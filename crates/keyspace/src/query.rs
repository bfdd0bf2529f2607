//! Reads that travel together in one round.
//!
//! A command returns a typed [`Handle`]; after the round, the handle takes its
//! answer out of the [`Answers`]:
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidings_keyspace::{Query, Store, StoreOptions};
//!
//! let store = Store::open("redb::memory:", &StoreOptions::default()).await?;
//! let mut query = Query::new();
//! let item = query.hash("item:1");
//! let votes = query.scores("votes:1", ["7"]);
//! let mut answers = store.query(query).await?;
//! let (item, votes) = (answers.take(item), answers.take(votes));
//! assert!(item.is_empty());
//! assert_eq!(votes, [None]);
//! # Ok(())
//! # }
//! ```

use crate::read_set::{Reads, Tracked};
use std::marker::PhantomData;
use std::time::Duration;

/// The order of a sorted set's range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Lowest score first; equal scores by member bytes.
    Ascending,
    /// The exact reverse of [`Order::Ascending`].
    Descending,
}

/// Whether and when a key goes away by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expiry {
    /// There is no such key.
    #[default]
    Absent,
    /// The key stays.
    Never,
    /// The key has this long to live, in whole milliseconds.
    In(Duration),
}

/// The fields of a hash with their values, in no particular order. Empty when
/// the key is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hash(pub Vec<(String, String)>);

impl Hash {
    /// The value of a field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// Whether the key is absent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One read command. The engines match on it.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// The string at a key.
    String(String),
    /// How long a key lives.
    Expiry(String),
    /// A whole hash.
    Hash(String),
    /// Some fields of a hash, in the order asked.
    HashFields(String, Vec<String>),
    /// The members of a set, in no particular order.
    Members(String),
    /// The number of members of a set.
    MemberCount(String),
    /// Whether a set has a member.
    HasMember(String, String),
    /// The scores of some members of a sorted set, in the order asked.
    Scores(String, Vec<String>),
    /// The number of members of a sorted set.
    SortedCount(String),
    /// The members and scores at positions `offset .. offset + count`.
    SortedRange {
        /// The sorted set.
        key: String,
        /// From which end.
        order: Order,
        /// Members to pass over.
        offset: u64,
        /// Members to return at most.
        count: u64,
    },
    /// The members and scores with `least <= score <= most`.
    SortedByScore {
        /// The sorted set.
        key: String,
        /// From which end.
        order: Order,
        /// The lowest score.
        least: f64,
        /// The highest score.
        most: f64,
        /// Members to return at most.
        count: u64,
    },
}

impl Read {
    /// The key that is read.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::String(key)
            | Self::Expiry(key)
            | Self::Hash(key)
            | Self::HashFields(key, _)
            | Self::Members(key)
            | Self::MemberCount(key)
            | Self::HasMember(key, _)
            | Self::Scores(key, _)
            | Self::SortedCount(key)
            | Self::SortedRange { key, .. }
            | Self::SortedByScore { key, .. } => key,
        }
    }
}

/// The answer to one [`Read`]: the variant follows from the command.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To `String`.
    Text(Option<String>),
    /// To `Expiry`.
    Expiry(Expiry),
    /// To `Hash`.
    Hash(Hash),
    /// To `HashFields`.
    Texts(Vec<Option<String>>),
    /// To `Members`.
    Members(Vec<String>),
    /// To `MemberCount` and `SortedCount`.
    Count(u64),
    /// To `HasMember`.
    Bool(bool),
    /// To `Scores`.
    Scores(Vec<Option<f64>>),
    /// To `SortedRange`.
    Scored(Vec<(String, f64)>),
}

/// The promise of an answer of type `T`.
#[derive(Debug)]
pub struct Handle<T> {
    index: usize,
    answer: PhantomData<fn() -> T>,
}

/// The promise of an answer that tells what was read for it: see [`Query::track`].
#[derive(Debug)]
pub struct TrackedHandle<T> {
    handle: Handle<T>,
    /// Its place among the tracked reads of the query.
    place: usize,
}

/// Read commands on their way.
#[derive(Debug, Default)]
pub struct Query {
    reads: Vec<Read>,
    /// The positions of the reads that are tracked.
    tracked: Vec<usize>,
    /// The positions of the reads that are not part of a recording.
    apart: Vec<usize>,
}

impl Query {
    /// A query without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// The commands, in order.
    #[must_use]
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    fn push<T>(&mut self, read: Read) -> Handle<T> {
        self.reads.push(read);
        Handle { index: self.reads.len() - 1, answer: PhantomData }
    }

    /// Tracks a read: its answer tells what was read, so that a value made of it can be
    /// cached. Costs some 50 ns.
    pub fn track<T>(&mut self, handle: Handle<T>) -> TrackedHandle<T> {
        self.tracked.push(handle.index);
        TrackedHandle { handle, place: self.tracked.len() - 1 }
    }

    /// Leaves a read out of the recording in progress: it belongs to other work that
    /// shares the round.
    pub fn keep_apart<T>(&mut self, handle: &Handle<T>) {
        self.apart.push(handle.index);
    }

    /// The tracked reads, in the order in which they were tracked.
    pub(crate) fn tracked_reads(&self) -> impl Iterator<Item = &Read> {
        self.tracked.iter().filter_map(|index| self.reads.get(*index))
    }

    /// The reads that are part of a recording.
    pub(crate) fn recorded_reads(&self) -> impl Iterator<Item = &Read> {
        let reads = self.reads.iter().enumerate();
        reads.filter(|(index, _)| !self.apart.contains(index)).map(|(_, read)| read)
    }

    /// Adds a read whose type is known only at run time. Take its answer with
    /// [`Answers::into_vec`].
    pub fn read(&mut self, read: Read) {
        self.reads.push(read);
    }

    /// The string at a key (GET).
    pub fn string(&mut self, key: impl Into<String>) -> Handle<Option<String>> {
        self.push(Read::String(key.into()))
    }

    /// How long a key lives (PTTL).
    pub fn expiry(&mut self, key: impl Into<String>) -> Handle<Expiry> {
        self.push(Read::Expiry(key.into()))
    }

    /// A whole hash (HGETALL).
    pub fn hash(&mut self, key: impl Into<String>) -> Handle<Hash> {
        self.push(Read::Hash(key.into()))
    }

    /// Some fields of a hash, in the order asked (HMGET).
    pub fn hash_fields<F: Into<String>>(
        &mut self,
        key: impl Into<String>,
        fields: impl IntoIterator<Item = F>,
    ) -> Handle<Vec<Option<String>>> {
        self.push(Read::HashFields(key.into(), fields.into_iter().map(Into::into).collect()))
    }

    /// The members of a set (SMEMBERS).
    pub fn members(&mut self, key: impl Into<String>) -> Handle<Vec<String>> {
        self.push(Read::Members(key.into()))
    }

    /// The number of members of a set (SCARD).
    pub fn member_count(&mut self, key: impl Into<String>) -> Handle<u64> {
        self.push(Read::MemberCount(key.into()))
    }

    /// Whether a set has a member (SISMEMBER).
    pub fn has_member(&mut self, key: impl Into<String>, member: impl Into<String>) -> Handle<bool> {
        self.push(Read::HasMember(key.into(), member.into()))
    }

    /// The scores of some members of a sorted set, in the order asked (ZMSCORE).
    pub fn scores<M: Into<String>>(
        &mut self,
        key: impl Into<String>,
        members: impl IntoIterator<Item = M>,
    ) -> Handle<Vec<Option<f64>>> {
        self.push(Read::Scores(key.into(), members.into_iter().map(Into::into).collect()))
    }

    /// The number of members of a sorted set (ZCARD).
    pub fn sorted_count(&mut self, key: impl Into<String>) -> Handle<u64> {
        self.push(Read::SortedCount(key.into()))
    }

    /// At most `count` members with scores of a sorted set, after the first
    /// `offset` (ZRANGE, ZREVRANGE).
    pub fn sorted_range(
        &mut self,
        key: impl Into<String>,
        order: Order,
        offset: u64,
        count: u64,
    ) -> Handle<Vec<(String, f64)>> {
        self.push(Read::SortedRange { key: key.into(), order, offset, count })
    }

    /// At most `count` members with scores of a sorted set, of those whose
    /// score is at least `scores.0` and at most `scores.1` (ZRANGE BYSCORE).
    pub fn sorted_by_score(
        &mut self,
        key: impl Into<String>,
        order: Order,
        scores: (f64, f64),
        count: u64,
    ) -> Handle<Vec<(String, f64)>> {
        let (least, most) = scores;
        self.push(Read::SortedByScore { key: key.into(), order, least, most, count })
    }
}

/// The answers of one round.
#[derive(Debug, Default)]
pub struct Answers {
    answers: Vec<Answer>,
    /// What was noted for each of the tracked reads.
    noted: Vec<Reads>,
}

impl Answers {
    /// What an engine found, one answer for each read, of the variant that
    /// belongs to the read.
    #[must_use]
    pub fn new(answers: Vec<Answer>) -> Self {
        Self { answers, noted: Vec::new() }
    }

    /// The same, with what was noted for the tracked reads of the query.
    pub(crate) fn with_noted(self, noted: Vec<Reads>) -> Self {
        Self { noted, ..self }
    }

    /// Takes an answer out. A second take of the same handle cannot be
    /// written: the handle is used up.
    pub fn take<T: FromAnswer>(&mut self, handle: Handle<T>) -> T {
        self.answers
            .get_mut(handle.index)
            .and_then(T::from_answer)
            // The handle's type fixes the variant, and the query's length the index.
            .unwrap_or_default()
    }

    /// Takes an answer out, with what was read for it.
    pub fn take_tracked<T: FromAnswer>(&mut self, handle: TrackedHandle<T>) -> Tracked<T> {
        let TrackedHandle { handle, place } = handle;
        // The handle comes from the query, which noted all its tracked reads.
        let reads = self.noted.get_mut(place).map(std::mem::take).unwrap_or_default();
        Tracked::new(self.take(handle), reads)
    }

    /// All answers in order, for those who compare engines.
    #[must_use]
    pub fn into_vec(self) -> Vec<Answer> {
        self.answers
    }
}

/// A type that an answer can be taken as.
pub trait FromAnswer: Default {
    /// Moves the value out of the answer, if it is of this type.
    fn from_answer(answer: &mut Answer) -> Option<Self>;
}

macro_rules! from_answer {
    ($type:ty, $variant:ident) => {
        impl FromAnswer for $type {
            fn from_answer(answer: &mut Answer) -> Option<Self> {
                match answer {
                    Answer::$variant(value) => Some(std::mem::take(value)),
                    _ => None,
                }
            }
        }
    };
}

from_answer!(Option<String>, Text);
from_answer!(Expiry, Expiry);
from_answer!(Hash, Hash);
from_answer!(Vec<Option<String>>, Texts);
from_answer!(Vec<String>, Members);
from_answer!(u64, Count);
from_answer!(bool, Bool);
from_answer!(Vec<Option<f64>>, Scores);
from_answer!(Vec<(String, f64)>, Scored);
