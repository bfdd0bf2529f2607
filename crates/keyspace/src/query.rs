//! Reads that travel together in one round: what [`Fetch`](crate::Fetch) asks an engine for, and the answers.

use crate::KeyspaceError;
use crate::read_set::Reads;
use crate::unreadable::report_unreadable;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

/// The order in which the members of a sorted set are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Lowest score first; members with equal scores by their bytes.
    Ascending,
    /// The exact reverse of [`Order::Ascending`].
    Descending,
}

/// Whether and when a key expires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expiry {
    /// The key is absent.
    #[default]
    Absent,
    /// The key does not expire.
    Never,
    /// The key expires after this time, in whole milliseconds.
    In(Duration),
}

/// The fields of a hash with their values, in no particular order. Empty when
/// the key is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hash(pub Vec<(String, String)>);

impl Hash {
    /// The value of a field. Looks at the fields one after the other.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// Whether the hash has no fields, which means that its key is absent.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A read. The functions of [`read`](crate::read) make reads with typed answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// The string at a key.
    String(String),
    /// Whether and when a key expires.
    Expiry(String),
    /// A whole hash.
    Hash(String),
    /// The values of these fields of a hash, in this order.
    HashFields(String, Vec<String>),
    /// The number of fields of a hash.
    FieldCount(String),
    /// The members of a set, in no particular order.
    Members(String),
    /// The number of members of a set.
    MemberCount(String),
    /// Whether a set has a member.
    HasMember(String, String),
    /// The scores of these members of a sorted set, in this order.
    Scores(String, Vec<String>),
    /// The number of members of a sorted set.
    SortedCount(String),
    /// The members and scores at positions `offset .. offset + count`.
    SortedRange {
        /// The sorted set.
        key: String,
        /// The order, and so the end at which positions start.
        order: Order,
        /// The number of members to skip.
        offset: u64,
        /// The most members to return.
        count: u64,
    },
    /// The members and scores with `least <= score <= most`.
    SortedByScore {
        /// The sorted set.
        key: String,
        /// The order, and so the end from which members are taken.
        order: Order,
        /// The lowest score.
        least: f64,
        /// The highest score.
        most: f64,
        /// The most members to return.
        count: u64,
    },
}

impl Read {
    /// The key that is read.
    pub fn key(&self) -> &str {
        match self {
            Self::String(key)
            | Self::Expiry(key)
            | Self::Hash(key)
            | Self::HashFields(key, _)
            | Self::FieldCount(key)
            | Self::Members(key)
            | Self::MemberCount(key)
            | Self::HasMember(key, _)
            | Self::Scores(key, _)
            | Self::SortedCount(key)
            | Self::SortedRange { key, .. }
            | Self::SortedByScore { key, .. } => key,
        }
    }

    /// The answer if the key is absent.
    pub(crate) fn absent(&self) -> Answer {
        match self {
            Self::String(_) => Answer::Text(None),
            Self::Expiry(_) => Answer::Expiry(Expiry::Absent),
            Self::Hash(_) => Answer::Hash(Hash::default()),
            Self::HashFields(_, fields) => Answer::Texts(vec![None; fields.len()]),
            Self::Members(_) => Answer::Members(Vec::new()),
            Self::FieldCount(_) | Self::MemberCount(_) | Self::SortedCount(_) => Answer::Count(0),
            Self::HasMember(..) => Answer::Bool(false),
            Self::Scores(_, members) => Answer::Scores(vec![None; members.len()]),
            Self::SortedRange { .. } | Self::SortedByScore { .. } => Answer::Scored(Vec::new()),
        }
    }
}

/// An engine's outcomes for the reads of a query, in order: for each the answer, or why the value of
/// this one key cannot be read. The round itself has succeeded.
pub(crate) type ReadOutcomes = Vec<Result<Answer, KeyspaceError>>;

/// The answer to a [`Read`]. The read determines the variant.
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
    /// To `FieldCount`, `MemberCount` and `SortedCount`.
    Count(u64),
    /// To `HasMember`.
    Bool(bool),
    /// To `Scores`.
    Scores(Vec<Option<f64>>),
    /// To `SortedRange` and `SortedByScore`.
    Scored(Vec<(String, f64)>),
}

impl Default for Answer {
    fn default() -> Self {
        Self::Text(None)
    }
}

/// Reads that travel together in one round: see [`Store::query`](crate::Store::query).
///
/// An absent key reads as empty: no string, no fields, no members, a count of 0. A read of
/// a key of another type fails the whole query with
/// [`WrongType`](crate::KeyspaceError::WrongType), so that nothing is decided from what could
/// not be read. Lists, which can do without one of their items, [tolerate](crate::Fetch::or_absent)
/// that.
#[derive(Debug, Default)]
pub struct Query {
    reads: Vec<Read>,
    /// The positions of the reads that are tracked.
    tracked: Vec<usize>,
    /// The positions of the reads that are excluded from recordings.
    apart: Vec<usize>,
    /// The positions of the reads whose failures are tolerated.
    tolerant: Vec<usize>,
    may_be_large: bool,
}

impl Query {
    /// A query without reads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the query has no reads.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// The reads, in order.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Adds a read. Returns the place of its answer.
    pub(crate) fn push(&mut self, read: Read) -> usize {
        self.reads.push(read);
        self.reads.len() - 1
    }

    /// Tracks all reads from a position on. Returns their places among the tracked reads.
    pub(crate) fn track_from(&mut self, first: usize) -> Range<usize> {
        let place = self.tracked.len();
        self.tracked.extend(first..self.reads.len());
        place..self.tracked.len()
    }

    /// Makes all reads from a position on [tolerant](crate::Fetch::or_absent).
    pub(crate) fn tolerate_from(&mut self, first: usize) {
        self.tolerant.extend(first..self.reads.len());
    }

    /// Excludes all reads from a position on from the recording in progress.
    pub(crate) fn keep_apart_from(&mut self, first: usize) {
        self.apart.extend(first..self.reads.len());
    }

    /// The answers, from the outcomes of the reads.
    ///
    /// # Errors
    /// That of the first read that failed and is not tolerant.
    pub(crate) fn answers_of(&self, outcomes: ReadOutcomes) -> Result<Answers, KeyspaceError> {
        let mut answers = Vec::with_capacity(outcomes.len());
        let mut failures = Vec::new();
        for ((index, read), outcome) in self.reads.iter().enumerate().zip(outcomes) {
            answers.push(match outcome {
                Ok(answer) => answer,
                Err(error) if error.unreadable_key().is_some() && self.tolerant.contains(&index) => {
                    report_unreadable(&error);
                    failures.push((index, error));
                    read.absent()
                }
                Err(error) => return Err(error),
            });
        }
        Ok(Answers { failures, ..Answers::new(answers) })
    }

    /// Says that the answers may be so large (more than about a megabyte) that reading them
    /// would hold up the other tasks of the caller's thread. The embedded engine then reads
    /// on another thread, which costs some microseconds.
    pub(crate) const fn expect_large(&mut self) {
        self.may_be_large = true;
    }

    /// Whether the answers may be large.
    pub(crate) const fn may_be_large(&self) -> bool {
        self.may_be_large
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
}

/// The answers to a query.
#[derive(Debug, Default)]
pub struct Answers {
    answers: Vec<Answer>,
    /// Why tolerant reads failed, by their positions.
    failures: Vec<(usize, KeyspaceError)>,
    /// The items that were read for each of the tracked reads.
    noted: Vec<Reads>,
}

impl Answers {
    /// Answers in the order of the reads, each of the variant that belongs to its read.
    /// The engines make them; a caller needs this only to imitate an engine.
    pub const fn new(answers: Vec<Answer>) -> Self {
        Self { answers, failures: Vec::new(), noted: Vec::new() }
    }

    /// Whether one of some [tolerant](crate::Fetch::or_absent) reads failed.
    pub(crate) fn has_failed(&self, reads: &Range<usize>) -> bool {
        self.failures.iter().any(|(index, _)| reads.contains(index))
    }

    /// The answers to some reads, or why they failed.
    pub(crate) fn outcomes(&mut self, reads: Range<usize>) -> Vec<Result<Answer, KeyspaceError>> {
        let failures = self.failures.extract_if(.., |(index, _)| reads.contains(index));
        let mut failures: HashMap<usize, KeyspaceError> = failures.collect();
        let answers = self.answers.get_mut(reads.clone()).unwrap_or_default();
        let outcome = |(index, answer)| match failures.remove(&index) {
            Some(error) => Err(error),
            None => Ok(std::mem::take(answer)),
        };
        reads.zip(answers).map(outcome).collect()
    }

    /// The same answers, with what was read for each of the tracked reads.
    pub(crate) fn with_noted(self, noted: Vec<Reads>) -> Self {
        Self { noted, ..self }
    }

    /// Takes the answer at a place.
    pub(crate) fn take<T: FromAnswer>(&mut self, place: usize) -> T {
        // The read fixes the variant, and the query's length the place.
        self.answers.get_mut(place).and_then(T::from_answer).unwrap_or_default()
    }

    /// The read sets of tracked reads, by their places.
    pub(crate) fn noted(&mut self, places: Range<usize>) -> Reads {
        let mut reads = Reads::default();
        for noted in self.noted.get_mut(places).into_iter().flatten() {
            reads.append(std::mem::take(noted));
        }
        reads
    }
}

/// The type of an answer. The crate implements it for the types that the functions of [`read`](crate::read) promise.
pub trait FromAnswer: Default {
    /// Moves the value out of an answer, if the answer has this type.
    fn from_answer(answer: &mut Answer) -> Option<Self>;
}

impl FromAnswer for Answer {
    fn from_answer(answer: &mut Answer) -> Option<Self> {
        Some(std::mem::take(answer))
    }
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
