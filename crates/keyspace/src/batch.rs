//! Checks and writes that are applied together or not at all.

use crate::KeyspaceError;
use crate::limits::{COUNTER_LIMIT, MAX_SELECTION_SETS, MAX_TIME_TO_LIVE};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;
use strum::IntoStaticStr;

/// A condition on the state of the store before the batch. The methods of [`Batch`] make
/// checks.
#[derive(Debug, Clone, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Check {
    /// The key is absent.
    KeyAbsent(String),
    /// The key is present.
    KeyPresent(String),
    /// The key is a string with this value.
    StringEquals(String, String),
    /// The hash has the field with this value.
    FieldEquals(String, String, String),
    /// The hash does not have the field.
    FieldAbsent(String, String),
    /// The field is a whole number (0 if absent) of at least this.
    FieldAtLeast(String, String, i64),
    /// The set does not have the member.
    MemberAbsent(String, String),
    /// The sorted set does not have the member.
    SortedMemberAbsent(String, String),
    /// The sorted set has the member.
    SortedMemberPresent(String, String),
}

/// A change of one key, or a message. The methods of [`Batch`] make writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
// The journal of the embedded engine identifies a variant and its fields by their positions:
// add new ones at the end, or raise the format of the journal.
pub enum Write {
    /// Sets a string, whatever the key held. It expires after the time to live, or never.
    Set(String, String, Option<Duration>),
    /// Deletes a key, whatever it holds.
    Delete(String),
    /// Gives a key a time to live, if it is present; zero deletes it.
    Expire(String, Duration),
    /// Adds to a string that is a whole number (0 if absent).
    Increment(String, i64),
    /// Sets fields of a hash.
    SetFields(String, Vec<(String, String)>),
    /// Deletes a field of a hash.
    DeleteField(String, String),
    /// Adds to a field that is a whole number (0 if absent).
    IncrementField(String, String, i64),
    /// Adds a member to a set.
    AddMember(String, String),
    /// Removes a member of a set.
    RemoveMember(String, String),
    /// Adds a member to a sorted set, or gives it a new score.
    SortedAdd(String, String, f64),
    /// Adds a member to a sorted set, or gives it a new score, then removes the lowest
    /// members beyond a limit: see [`Bound`].
    SortedAddBounded(String, String, f64, Bound),
    /// Adds a member to a sorted set, or raises its score. Never lowers it.
    SortedRaise(String, String, f64),
    /// Adds a member to a sorted set, or gives it a new score, if the key is present.
    SortedAddIfPresent(String, String, f64),
    /// Adds to the score of a member of a sorted set (0 if absent).
    SortedIncrement(String, String, f64),
    /// Removes a member of a sorted set.
    SortedRemove(String, String),
    /// Removes all but this many members, those with the highest scores.
    SortedTrim(String, u64),
    /// Replaces whatever the key held by a selection of the members of another sorted set.
    /// If the selection is empty, the key is absent afterwards.
    SortedStore(String, Selection),
    /// Sends a message on a channel; the first text is the channel.
    Publish(String, String),
    /// Adds a member to a sorted set, or moves it, to one above the highest score.
    SortedAppend(String, String),
    /// Takes from a field that is a whole number (0 if absent), but no more than it is above 0.
    LowerField(String, String, u64),
}

/// The size limit of a sorted set, and where its floor is stored.
///
/// A set that has lost its lowest members is incomplete. Its *floor* is the highest score
/// that was ever removed from it: above the floor, the set is complete. The floors of many
/// sets are stored in one sorted set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The most members; those with the highest scores stay.
    pub keep: u64,
    /// The sorted set that holds the floors.
    pub floors: String,
    /// The member of `floors` whose score is the floor of this set. It never falls.
    pub member: String,
}

/// A selection of the members of a sorted set, by the sets that they are in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The sorted set that members are taken from, with their scores.
    pub scores: String,
    /// The sets; at least one and at most [`MAX_SELECTION_SETS`].
    pub sets: Vec<String>,
    /// How many of the sets a member must be in.
    pub within: Within,
}

/// How many of the sets of a [`Selection`] a member must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Within {
    /// All of them (ZINTERSTORE).
    All,
    /// At least one (ZUNIONSTORE).
    Any,
}

impl Check {
    /// The key that is checked.
    pub fn key(&self) -> &str {
        match self {
            Self::KeyAbsent(key)
            | Self::KeyPresent(key)
            | Self::StringEquals(key, _)
            | Self::FieldEquals(key, _, _)
            | Self::FieldAbsent(key, _)
            | Self::FieldAtLeast(key, _, _)
            | Self::MemberAbsent(key, _)
            | Self::SortedMemberAbsent(key, _)
            | Self::SortedMemberPresent(key, _) => key,
        }
    }
}

impl Write {
    /// The key that is written; for a message, its channel.
    pub fn key(&self) -> &str {
        match self {
            Self::Set(key, _, _)
            | Self::Delete(key)
            | Self::Expire(key, _)
            | Self::Increment(key, _)
            | Self::SetFields(key, _)
            | Self::DeleteField(key, _)
            | Self::IncrementField(key, _, _)
            | Self::LowerField(key, _, _)
            | Self::AddMember(key, _)
            | Self::RemoveMember(key, _)
            | Self::SortedAdd(key, _, _)
            | Self::SortedAddBounded(key, _, _, _)
            | Self::SortedRaise(key, _, _)
            | Self::SortedAddIfPresent(key, _, _)
            | Self::SortedIncrement(key, _, _)
            | Self::SortedRemove(key, _)
            | Self::SortedTrim(key, _)
            | Self::SortedStore(key, _)
            | Self::SortedAppend(key, _)
            | Self::Publish(key, _) => key,
        }
    }

    /// The keys that are changed. A message changes none.
    pub(super) fn written_keys(&self) -> impl Iterator<Item = &str> {
        let key = (!matches!(self, Self::Publish(..))).then(|| self.key());
        let floors = match self {
            Self::SortedAddBounded(_, _, _, bound) => Some(bound.floors.as_str()),
            _ => None,
        };
        key.into_iter().chain(floors)
    }

    /// The fields of a hash that are changed.
    pub(super) fn written_fields(&self) -> WrittenFields<'_> {
        match self {
            Self::SetFields(_, fields) => {
                WrittenFields::These(fields.iter().map(|(field, _)| field.as_str()).collect())
            }
            Self::DeleteField(_, field)
            | Self::IncrementField(_, field, _)
            | Self::LowerField(_, field, _) => WrittenFields::These(vec![field]),
            Self::Set(..) | Self::Delete(_) | Self::Expire(..) | Self::SortedStore(..) => WrittenFields::All,
            // Never to a hash: it has no fields to read.
            _ => WrittenFields::These(Vec::new()),
        }
    }

    /// The counter that is incremented: the key, and the field if it is one.
    fn counter(&self) -> Option<Counter<'_>> {
        match self {
            Self::Increment(key, _) => Some((key, None)),
            Self::IncrementField(key, field, _) | Self::LowerField(key, field, _) => Some((key, Some(field))),
            _ => None,
        }
    }

    /// Adds another increment to this one, if both are of one counter or member. Returns whether
    /// they are.
    fn absorb(&mut self, other: &Self) -> bool {
        let is_same = self.counter() == other.counter();
        match (self, other) {
            (Self::Increment(_, sum), Self::Increment(_, by))
            | (Self::IncrementField(_, _, sum), Self::IncrementField(_, _, by))
                if is_same =>
            {
                *sum = sum.saturating_add(*by);
            }
            (Self::LowerField(_, _, sum), Self::LowerField(_, _, by)) if is_same => {
                *sum = sum.saturating_add(*by);
            }
            (Self::SortedIncrement(key, member, sum), Self::SortedIncrement(other, other_member, by))
                if (&*key, &*member) == (other, other_member) =>
            {
                *sum += by;
            }
            _ => return false,
        }
        true
    }

    /// Whether an increment has the same effect before this write as after it.
    fn may_follow(&self, increment: &Self) -> bool {
        match (self, increment) {
            (Self::IncrementField(..), Self::LowerField(..))
            | (Self::LowerField(..), Self::IncrementField(..) | Self::LowerField(..)) => {
                self.counter() != increment.counter()
            }
            (Self::IncrementField(..) | Self::SortedIncrement(..), _) => true,
            (
                Self::SetFields(_, fields),
                Self::IncrementField(_, counter, _) | Self::LowerField(_, counter, _),
            ) => fields.iter().all(|(field, _)| field != counter),
            (Self::SortedStore(_, selection), _) if selection.scores == increment.key() => false,
            _ => self.written_keys().all(|key| key != increment.key()),
        }
    }
}

/// A key, and a field if the key is a hash.
type Counter<'a> = (&'a str, Option<&'a str>);

/// The fields of a hash that a [`Write`] changes.
pub(super) enum WrittenFields<'a> {
    /// Any of them.
    All,
    /// These alone.
    These(Vec<&'a str>),
}

/// A check of a batch: its position among the checks, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckId(pub usize);

/// The result of a batch that was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The counters that were incremented: key, field and new value.
    counters: Vec<(String, Option<String>, i64)>,
}

impl Committed {
    /// The new values of the counters of a batch, which are in the order of its writes.
    pub(crate) fn of(counters: Vec<(String, Option<String>)>, values: Vec<i64>) -> Self {
        let counters = counters.into_iter().zip(values).map(|((key, field), value)| (key, field, value));
        Self { counters: counters.collect() }
    }

    /// The new value of a string that [`Batch::increment`] has changed.
    pub fn counter(&self, key: &str) -> Option<i64> {
        self.find(key, None)
    }

    /// The new value of a field that [`Batch::increment_field`] has changed.
    pub fn field(&self, key: &str, field: &str) -> Option<i64> {
        self.find(key, Some(field))
    }

    /// The new values of all counters, in the order of the batch.
    pub fn values(&self) -> Vec<i64> {
        self.counters.iter().map(|(.., value)| *value).collect()
    }

    fn find(&self, key: &str, field: Option<&str>) -> Option<i64> {
        let is_it =
            |counter: &&(String, Option<String>, i64)| counter.0 == key && counter.1.as_deref() == field;
        self.counters.iter().rev().find(is_it).map(|(.., value)| *value)
    }
}

/// Why a batch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// This check is the first that does not hold. Nothing has been written.
    #[error("check {} of the batch does not hold", .0.0)]
    Rejected(CheckId),
    /// The store failed or refused the batch: see [`Store::commit`](crate::Store::commit).
    #[error(transparent)]
    Keyspace(#[from] KeyspaceError),
}

/// Checks and writes that are applied together or not at all: see
/// [`Store::commit`](crate::Store::commit).
///
/// All checks look at the state before the batch. Both engines evaluate in the same order:
/// first the checks in their order (a check on a key of another type fails with
/// [`KeyspaceError::WrongType`]), then the types and counters that the writes need, then
/// the writes in their order. A later write sees what an earlier one has written. Increments of
/// one counter or member become one. A hash, set or sorted set that loses its last entry is absent.
///
/// The name of the corresponding Redis command is in parentheses.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    checks: Vec<Check>,
    writes: Vec<Write>,
    flushes_later: bool,
}

impl Batch {
    /// A batch without checks and writes.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch with the checks and writes that a function adds.
    pub fn of<T>(fill: impl FnOnce(&mut Self) -> T) -> Self {
        let mut batch = Self::new();
        fill(&mut batch);
        batch
    }

    /// Lets the embedded engine apply the batch without a flush of its own: it is on disk no later than the next
    /// batch that is. If the power is cut before, it has not happened. So it is for what only a batch makes use of
    /// that comes after it, such as a number that is drawn.
    #[must_use]
    pub fn flushed_later(mut self) -> Self {
        self.flushes_later = true;
        self
    }

    pub(crate) const fn flushes_later(&self) -> bool {
        self.flushes_later
    }

    /// The checks, in order.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The writes, in order.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Adds a check.
    pub fn check(&mut self, check: Check) -> CheckId {
        self.checks.push(check);
        CheckId(self.checks.len() - 1)
    }

    /// Checks that a key is absent.
    pub fn key_absent(&mut self, key: impl Into<String>) -> CheckId {
        self.check(Check::KeyAbsent(key.into()))
    }

    /// Checks that a key is present.
    pub fn key_present(&mut self, key: impl Into<String>) -> CheckId {
        self.check(Check::KeyPresent(key.into()))
    }

    /// Checks that a key is a string with this value.
    pub fn string_equals(&mut self, key: impl Into<String>, value: impl Into<String>) -> CheckId {
        self.check(Check::StringEquals(key.into(), value.into()))
    }

    /// Checks that a key is still as it was read: a string with this value, or absent if `None`.
    pub fn string_unchanged(&mut self, key: impl Into<String>, read: Option<impl Into<String>>) -> CheckId {
        match read {
            Some(value) => self.string_equals(key, value),
            None => self.key_absent(key),
        }
    }

    /// Checks that a hash has a field with this value.
    pub fn field_equals(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        value: impl Into<String>,
    ) -> CheckId {
        self.check(Check::FieldEquals(key.into(), field.into(), value.into()))
    }

    /// Checks that a hash does not have a field.
    pub fn field_absent(&mut self, key: impl Into<String>, field: impl Into<String>) -> CheckId {
        self.check(Check::FieldAbsent(key.into(), field.into()))
    }

    /// Checks that a field is still as it was read: has this value, or is absent if `None`.
    pub fn field_unchanged(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        read: Option<impl Into<String>>,
    ) -> CheckId {
        match read {
            Some(value) => self.field_equals(key, field, value),
            None => self.field_absent(key, field),
        }
    }

    /// Checks that a field is a whole number (0 if absent) of at least `least`. A field with
    /// another value fails the batch with [`KeyspaceError::NotAnInteger`].
    pub fn field_at_least(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        least: i64,
    ) -> CheckId {
        self.check(Check::FieldAtLeast(key.into(), field.into(), least))
    }

    /// Checks that a set does not have a member.
    pub fn member_absent(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::MemberAbsent(key.into(), member.into()))
    }

    /// Checks that a sorted set does not have a member.
    pub fn sorted_member_absent(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::SortedMemberAbsent(key.into(), member.into()))
    }

    /// Checks that a sorted set has a member.
    pub fn sorted_member_present(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::SortedMemberPresent(key.into(), member.into()))
    }

    /// Adds a write, as it is: increments of one counter are not merged.
    pub fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Adds an increment, to an earlier one of the same counter or member if there is one. Takes time in
    /// proportion to the writes before it, so a batch is not to have many thousands of increments.
    fn add_increment(&mut self, increment: Write) {
        for write in self.writes.iter_mut().rev() {
            if write.absorb(&increment) {
                return;
            }
            if !write.may_follow(&increment) {
                break;
            }
        }
        self.writes.push(increment);
    }

    /// The counters that are incremented, in the order of the writes.
    pub(crate) fn counters(&self) -> Vec<(String, Option<String>)> {
        let counters = self.writes.iter().filter_map(Write::counter);
        counters.map(|(key, field)| (key.to_owned(), field.map(str::to_owned))).collect()
    }

    /// Sets a string that does not expire, whatever the key held (SET).
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.write(Write::Set(key.into(), value.into(), None));
    }

    /// Sets a string that expires after a time of at least a millisecond and at most
    /// [`MAX_TIME_TO_LIVE`], whatever the key held (SET PX).
    pub fn set_expiring(&mut self, key: impl Into<String>, value: impl Into<String>, time_to_live: Duration) {
        self.write(Write::Set(key.into(), value.into(), Some(time_to_live)));
    }

    /// Deletes a key of any type (DEL).
    pub fn delete(&mut self, key: impl Into<String>) {
        self.write(Write::Delete(key.into()));
    }

    /// Gives a key of any type a time to live of at most [`MAX_TIME_TO_LIVE`], if it is
    /// present; zero deletes it (PEXPIRE).
    pub fn expire(&mut self, key: impl Into<String>, time_to_live: Duration) {
        self.write(Write::Expire(key.into(), time_to_live));
    }

    /// Adds to a string that is a whole number, 0 if absent (INCRBY). [`Committed::counter`] has
    /// the new value, which must be within [`COUNTER_LIMIT`].
    pub fn increment(&mut self, key: impl Into<String>, by: i64) {
        self.add_increment(Write::Increment(key.into(), by));
    }

    /// Sets a field of a hash (HSET).
    pub fn set_field(&mut self, key: impl Into<String>, field: impl Into<String>, value: impl Into<String>) {
        self.write(Write::SetFields(key.into(), vec![(field.into(), value.into())]));
    }

    /// Sets several fields of a hash (HSET).
    pub fn set_fields<F: Into<String>, V: Into<String>>(
        &mut self,
        key: impl Into<String>,
        fields: impl IntoIterator<Item = (F, V)>,
    ) {
        let fields = fields.into_iter().map(|(field, value)| (field.into(), value.into())).collect();
        self.write(Write::SetFields(key.into(), fields));
    }

    /// Deletes a field of a hash (HDEL).
    pub fn delete_field(&mut self, key: impl Into<String>, field: impl Into<String>) {
        self.write(Write::DeleteField(key.into(), field.into()));
    }

    /// Adds to a field of a hash that is a whole number, 0 if absent (HINCRBY).
    /// [`Committed::field`] has the new value, which must be within [`COUNTER_LIMIT`].
    pub fn increment_field(&mut self, key: impl Into<String>, field: impl Into<String>, by: i64) {
        self.add_increment(Write::IncrementField(key.into(), field.into(), by));
    }

    /// Takes from a field of a hash that is a whole number, 0 if absent, but no more than it is above 0
    /// (HINCRBY). [`Committed::field`] has the new value.
    pub fn lower_field(&mut self, key: impl Into<String>, field: impl Into<String>, by: u64) {
        self.add_increment(Write::LowerField(key.into(), field.into(), by));
    }

    /// Adds a member to a set (SADD).
    pub fn add_member(&mut self, key: impl Into<String>, member: impl Into<String>) {
        self.write(Write::AddMember(key.into(), member.into()));
    }

    /// Removes a member of a set (SREM).
    pub fn remove_member(&mut self, key: impl Into<String>, member: impl Into<String>) {
        self.write(Write::RemoveMember(key.into(), member.into()));
    }

    /// Adds a member to a sorted set, or gives it a new score (ZADD).
    pub fn sorted_add(&mut self, key: impl Into<String>, member: impl Into<String>, score: f64) {
        self.write(Write::SortedAdd(key.into(), member.into(), score));
    }

    /// Adds a member to a sorted set of limited size; see [`Bound`].
    pub fn sorted_add_bounded(
        &mut self,
        key: impl Into<String>,
        member: impl Into<String>,
        score: f64,
        bound: Bound,
    ) {
        self.write(Write::SortedAddBounded(key.into(), member.into(), score, bound));
    }

    /// Adds a member to a sorted set, or raises its score; a higher score stays (ZADD GT).
    pub fn sorted_raise(&mut self, key: impl Into<String>, member: impl Into<String>, score: f64) {
        self.write(Write::SortedRaise(key.into(), member.into(), score));
    }

    /// Adds a member to a sorted set, or gives it a new score, if the key is present.
    pub fn sorted_add_if_present(&mut self, key: impl Into<String>, member: impl Into<String>, score: f64) {
        self.write(Write::SortedAddIfPresent(key.into(), member.into(), score));
    }

    /// Adds to the score of a member of a sorted set (ZINCRBY).
    pub fn sorted_increment(&mut self, key: impl Into<String>, member: impl Into<String>, by: f64) {
        self.add_increment(Write::SortedIncrement(key.into(), member.into(), by));
    }

    /// Removes a member of a sorted set (ZREM).
    pub fn sorted_remove(&mut self, key: impl Into<String>, member: impl Into<String>) {
        self.write(Write::SortedRemove(key.into(), member.into()));
    }

    /// Removes all but the `keep` members with the highest scores (ZREMRANGEBYRANK).
    pub fn sorted_trim(&mut self, key: impl Into<String>, keep: u64) {
        self.write(Write::SortedTrim(key.into(), keep));
    }

    /// Replaces whatever the key held by a selection of the members of a sorted set, which
    /// does not expire (ZINTERSTORE, ZUNIONSTORE). It takes time in proportion to the
    /// number of members to select from: about 0.1 seconds for 100,000.
    pub fn sorted_store(&mut self, key: impl Into<String>, selection: Selection) {
        self.write(Write::SortedStore(key.into(), selection));
    }

    /// Adds a member to a sorted set, or moves it, to one above the highest score; to 1 in an empty
    /// set. So scores follow the order in which batches are applied, whatever clocks say.
    pub fn sorted_append(&mut self, key: impl Into<String>, member: impl Into<String>) {
        self.write(Write::SortedAppend(key.into(), member.into()));
    }

    /// Sends a message to all current subscribers of a channel, in every process that has
    /// the store open (PUBLISH). It is sent when the batch is applied, and may be lost.
    pub fn publish(&mut self, channel: impl Into<String>, message: impl Into<String>) {
        self.write(Write::Publish(channel.into(), message.into()));
    }

    /// Checks that an engine can apply the batch whole or not at all, whatever the store
    /// holds. [`Store::commit`](crate::Store::commit) does this first.
    ///
    /// # Errors
    /// [`KeyspaceError::Invalid`] for
    /// - a score that is not finite;
    /// - a time to live above [`MAX_TIME_TO_LIVE`], or of less than a millisecond for a string;
    /// - an increment beyond [`COUNTER_LIMIT`];
    /// - a write of no fields to a hash;
    /// - a selection by no sets, by more than [`MAX_SELECTION_SETS`], or into one of its own keys;
    /// - an increment of a counter that the batch has already written: it could fail after the
    ///   first write was applied.
    pub fn validate(&self) -> Result<(), KeyspaceError> {
        let mut written: HashSet<Counter<'_>> = HashSet::new();
        for write in &self.writes {
            let sound = match write {
                Write::Set(_, _, Some(time_to_live)) => {
                    time_to_live.as_millis() > 0 && *time_to_live <= MAX_TIME_TO_LIVE
                }
                Write::Expire(_, time_to_live) => *time_to_live <= MAX_TIME_TO_LIVE,
                Write::SetFields(_, fields) => !fields.is_empty(),
                Write::SortedAdd(_, _, score)
                | Write::SortedAddBounded(_, _, score, _)
                | Write::SortedRaise(_, _, score)
                | Write::SortedAddIfPresent(_, _, score)
                | Write::SortedIncrement(_, _, score) => score.is_finite(),
                Write::SortedStore(key, selection) => {
                    (1..=MAX_SELECTION_SETS).contains(&selection.sets.len())
                        && selection.scores != *key
                        && !selection.sets.contains(key)
                }
                Write::Increment(_, by) | Write::IncrementField(_, _, by) => in_range(*by),
                Write::LowerField(_, _, by) => i64::try_from(*by).is_ok_and(in_range),
                _ => true,
            };
            if !sound || write.counter().is_some_and(|counter| written.contains(&counter)) {
                return Err(KeyspaceError::Invalid(format!("{write:?}")));
            }
            match write {
                Write::Set(key, _, _) => _ = written.insert((key, None)),
                Write::SetFields(key, fields) => {
                    written.extend(fields.iter().map(|(field, _)| (key.as_str(), Some(field.as_str()))))
                }
                write => written.extend(write.counter()),
            }
        }
        Ok(())
    }
}

fn in_range(number: i64) -> bool {
    (-COUNTER_LIMIT..=COUNTER_LIMIT).contains(&number)
}

/// Parses a counter as Redis does: canonical decimal digits, within [`COUNTER_LIMIT`].
pub fn parse_counter(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (in_range(number) && number.to_string() == text).then_some(number)
}
