//! Checks and writes that are applied together or not at all.

use crate::KeyspaceError;
use crate::limits::{COUNTER_LIMIT, MAX_SELECTION_SETS, MAX_TIME_TO_LIVE};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;

/// A condition on the state before the batch.
#[derive(Debug, Clone, PartialEq)]
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
    /// The field, a whole number (absent = 0), is at least this.
    FieldAtLeast(String, String, i64),
    /// The set does not have the member.
    MemberAbsent(String, String),
    /// The sorted set does not have the member.
    SortedMemberAbsent(String, String),
    /// The sorted set has the member.
    SortedMemberPresent(String, String),
}

/// A change of one key.
///
/// The embedded engine's journal stores writes by the position of their variant
/// and of their fields: new ones go to the end, or raise the journal's format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Write {
    /// Sets a string, whatever the key held; it expires after the time to
    /// live, or never.
    Set(String, String, Option<Duration>),
    /// Deletes a key, whatever it holds.
    Delete(String),
    /// Gives a present key a time to live; zero deletes it.
    Expire(String, Duration),
    /// Adds to a string counter (absent = 0).
    Increment(String, i64),
    /// Sets fields of a hash.
    SetFields(String, Vec<(String, String)>),
    /// Deletes a field of a hash.
    DeleteField(String, String),
    /// Adds to a whole number in a hash (absent = 0).
    IncrementField(String, String, i64),
    /// Adds a member to a set.
    AddMember(String, String),
    /// Removes a member of a set.
    RemoveMember(String, String),
    /// Adds a member to a sorted set, or gives it a new score.
    SortedAdd(String, String, f64),
    /// The same, then drops the lowest members beyond a number of them and
    /// notes how high the dropped ones reached.
    SortedAddBounded(String, String, f64, Bound),
    /// Adds a member to a sorted set, or raises its score; never lowers it.
    SortedRaise(String, String, f64),
    /// Adds a member to a sorted set, or gives it a new score, where the key is
    /// present; an absent key stays absent.
    SortedAddIfPresent(String, String, f64),
    /// Adds to the score of a member of a sorted set (absent = 0).
    SortedIncrement(String, String, f64),
    /// Removes a member of a sorted set.
    SortedRemove(String, String),
    /// Keeps only the given number of members with the highest scores.
    SortedTrim(String, u64),
    /// Puts a selection of the members of another sorted set in the place of
    /// whatever the key held; an empty one leaves the key absent.
    SortedStore(String, Selection),
    /// Tells those who listen on a channel; the first text is the channel.
    Publish(String, String),
}

/// How large a sorted set may become, and where it is noted what it has lost.
///
/// A set that drops its lowest members no longer tells what there is below:
/// its *floor*, the highest score that was ever dropped, says how far down it
/// is complete. The floors of many sets are one sorted set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Members to keep: those with the highest scores.
    pub keep: u64,
    /// The sorted set that holds the floors.
    pub floors: String,
    /// The member of `floors` whose score is this set's floor. It only rises.
    pub member: String,
}

/// Which members of a sorted set are taken, by the sets that they are in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The sorted set that members are taken from, with their scores.
    pub scores: String,
    /// The sets that decide; at least one, at most [`MAX_SELECTION_SETS`].
    pub sets: Vec<String>,
    /// How many of the sets a member must be in.
    pub within: Within,
}

/// How many sets a member must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Within {
    /// In every one (ZINTERSTORE).
    All,
    /// In one at least (ZUNIONSTORE).
    Any,
}

impl Check {
    /// The key that is checked.
    #[must_use]
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
    /// The key that is written; of a message, its channel.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Set(key, _, _)
            | Self::Delete(key)
            | Self::Expire(key, _)
            | Self::Increment(key, _)
            | Self::SetFields(key, _)
            | Self::DeleteField(key, _)
            | Self::IncrementField(key, _, _)
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
            | Self::Publish(key, _) => key,
        }
    }

    /// The keys that are changed; none by a message.
    pub(super) fn written_keys(&self) -> impl Iterator<Item = &str> {
        let key = (!matches!(self, Self::Publish(..))).then(|| self.key());
        let floors = match self {
            Self::SortedAddBounded(_, _, _, bound) => Some(bound.floors.as_str()),
            _ => None,
        };
        key.into_iter().chain(floors)
    }
}

/// Which check of a batch: its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckId(pub usize);

/// What a commit gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The new values of the batch's `increment` and `increment_field`
    /// writes, in their order.
    pub counters: Vec<i64>,
}

/// Why a batch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// This check does not hold. Nothing has been written.
    #[error("check {} of the batch does not hold", .0.0)]
    Rejected(CheckId),
    /// The store failed or refused.
    #[error(transparent)]
    Keyspace(#[from] KeyspaceError),
}

/// Checks, then writes.
///
/// All checks look at the state before the batch. The order of evaluation is
/// fixed: checks in their order (a check on a key of another type is
/// [`KeyspaceError::WrongType`]), then the types and counters of all writes,
/// then the writes in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    checks: Vec<Check>,
    writes: Vec<Write>,
}

impl Batch {
    /// A batch without checks and writes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The checks, in order.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The writes, in order.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Adds a check.
    pub fn check(&mut self, check: Check) -> CheckId {
        self.checks.push(check);
        CheckId(self.checks.len() - 1)
    }

    /// Demands that a key is absent.
    pub fn key_absent(&mut self, key: impl Into<String>) -> CheckId {
        self.check(Check::KeyAbsent(key.into()))
    }

    /// Demands that a key is present.
    pub fn key_present(&mut self, key: impl Into<String>) -> CheckId {
        self.check(Check::KeyPresent(key.into()))
    }

    /// Demands that a key is a string with this value.
    pub fn string_equals(&mut self, key: impl Into<String>, value: impl Into<String>) -> CheckId {
        self.check(Check::StringEquals(key.into(), value.into()))
    }

    /// Demands that a hash has a field with this value.
    pub fn field_equals(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        value: impl Into<String>,
    ) -> CheckId {
        self.check(Check::FieldEquals(key.into(), field.into(), value.into()))
    }

    /// Demands that a hash does not have a field.
    pub fn field_absent(&mut self, key: impl Into<String>, field: impl Into<String>) -> CheckId {
        self.check(Check::FieldAbsent(key.into(), field.into()))
    }

    /// Demands that a field is still as it was read: with this value, or absent.
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

    /// Demands that a field, a whole number (absent = 0), is at least `least`.
    pub fn field_at_least(
        &mut self,
        key: impl Into<String>,
        field: impl Into<String>,
        least: i64,
    ) -> CheckId {
        self.check(Check::FieldAtLeast(key.into(), field.into(), least))
    }

    /// Demands that a set does not have a member.
    pub fn member_absent(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::MemberAbsent(key.into(), member.into()))
    }

    /// Demands that a sorted set does not have a member.
    pub fn sorted_member_absent(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::SortedMemberAbsent(key.into(), member.into()))
    }

    /// Demands that a sorted set has a member.
    pub fn sorted_member_present(&mut self, key: impl Into<String>, member: impl Into<String>) -> CheckId {
        self.check(Check::SortedMemberPresent(key.into(), member.into()))
    }

    /// Adds a write that is already made.
    pub fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Sets a string for good (SET).
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.write(Write::Set(key.into(), value.into(), None));
    }

    /// Sets a string that expires (SET PX).
    pub fn set_expiring(&mut self, key: impl Into<String>, value: impl Into<String>, time_to_live: Duration) {
        self.write(Write::Set(key.into(), value.into(), Some(time_to_live)));
    }

    /// Deletes a key (DEL).
    pub fn delete(&mut self, key: impl Into<String>) {
        self.write(Write::Delete(key.into()));
    }

    /// Gives a key a time to live (PEXPIRE).
    pub fn expire(&mut self, key: impl Into<String>, time_to_live: Duration) {
        self.write(Write::Expire(key.into(), time_to_live));
    }

    /// Adds to a string counter (INCRBY).
    pub fn increment(&mut self, key: impl Into<String>, by: i64) {
        self.write(Write::Increment(key.into(), by));
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

    /// Adds to a whole number in a hash (HINCRBY).
    pub fn increment_field(&mut self, key: impl Into<String>, field: impl Into<String>, by: i64) {
        self.write(Write::IncrementField(key.into(), field.into(), by));
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

    /// Adds a member to a sorted set, or raises its score; a higher one stays
    /// (ZADD GT).
    pub fn sorted_raise(&mut self, key: impl Into<String>, member: impl Into<String>, score: f64) {
        self.write(Write::SortedRaise(key.into(), member.into(), score));
    }

    /// Adds a member to a sorted set that is there, or gives it a new score;
    /// where the key is absent nothing happens.
    pub fn sorted_add_if_present(&mut self, key: impl Into<String>, member: impl Into<String>, score: f64) {
        self.write(Write::SortedAddIfPresent(key.into(), member.into(), score));
    }

    /// Adds to the score of a member of a sorted set (ZINCRBY).
    pub fn sorted_increment(&mut self, key: impl Into<String>, member: impl Into<String>, by: f64) {
        self.write(Write::SortedIncrement(key.into(), member.into(), by));
    }

    /// Removes a member of a sorted set (ZREM).
    pub fn sorted_remove(&mut self, key: impl Into<String>, member: impl Into<String>) {
        self.write(Write::SortedRemove(key.into(), member.into()));
    }

    /// Keeps the `keep` members with the highest scores (ZREMRANGEBYRANK).
    pub fn sorted_trim(&mut self, key: impl Into<String>, keep: u64) {
        self.write(Write::SortedTrim(key.into(), keep));
    }

    /// Stores a selection of the members of a sorted set under a key of its own,
    /// for good (ZINTERSTORE, ZUNIONSTORE). It takes time in proportion to what
    /// is selected from: 0.1 seconds for 100,000 members, about.
    pub fn sorted_store(&mut self, key: impl Into<String>, selection: Selection) {
        self.write(Write::SortedStore(key.into(), selection));
    }

    /// Sends a message to all who listen on a channel at that moment, on every
    /// server of the store (PUBLISH). It is sent when the batch is applied, and
    /// may be lost on its way.
    pub fn publish(&mut self, channel: impl Into<String>, message: impl Into<String>) {
        self.write(Write::Publish(channel.into(), message.into()));
    }

    /// Refuses what no engine could apply all or nothing.
    ///
    /// # Errors
    /// [`KeyspaceError::Invalid`]: a score that is not finite, a time to live
    /// of zero on a set string or of more than a century, an increment beyond [`COUNTER_LIMIT`], a hash write
    /// without fields, a selection by no sets or too many, or into one of its
    /// own keys, or a counter written twice in one batch (its second
    /// write could fail after the first was applied).
    pub fn validate(&self) -> Result<(), KeyspaceError> {
        let mut written: HashSet<(&str, Option<&str>)> = HashSet::new();
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
                Write::Increment(key, by) => in_range(*by) && !written.contains(&(key.as_str(), None)),
                Write::IncrementField(key, field, by) => {
                    in_range(*by) && !written.contains(&(key.as_str(), Some(field.as_str())))
                }
                _ => true,
            };
            if !sound {
                return Err(KeyspaceError::Invalid(format!("{write:?}")));
            }
            match write {
                Write::Set(key, _, _) | Write::Increment(key, _) => {
                    written.insert((key, None));
                }
                Write::SetFields(key, fields) => {
                    written.extend(fields.iter().map(|(field, _)| (key.as_str(), Some(field.as_str()))))
                }
                Write::IncrementField(key, field, _) => {
                    written.insert((key, Some(field)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn in_range(number: i64) -> bool {
    (-COUNTER_LIMIT..=COUNTER_LIMIT).contains(&number)
}

/// Reads a counter as Redis does: canonical decimal digits, within
/// [`COUNTER_LIMIT`].
#[must_use]
pub fn parse_counter(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (in_range(number) && number.to_string() == text).then_some(number)
}
