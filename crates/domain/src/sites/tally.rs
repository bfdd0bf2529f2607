//! What votes add to sums and counts: the one place that knows every total that a vote is
//! part of.

use super::CastVote;
use crate::keys;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::voter_id::VoterId;
use std::collections::BTreeMap;
use tidings_keyspace::{Answers, Batch, Handle, Query};

/// The sum and the number of some votes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// The votes added up, each +1 or -1.
    pub sum: i64,
    /// How many votes.
    pub count: i64,
}

impl Totals {
    /// Votes of +1.
    #[must_use]
    pub const fn good(self) -> i64 {
        (self.count + self.sum) / 2
    }

    /// Votes of -1.
    #[must_use]
    pub const fn bad(self) -> i64 {
        (self.count - self.sum) / 2
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }
}

/// Changes of sums and counts, collected so that each figure is written once.
#[derive(Default)]
pub(super) struct Tally {
    hosts: BTreeMap<Hostname, Totals>,
    hosts_of_days: BTreeMap<(Day, Hostname), Totals>,
    voters_of_days: BTreeMap<(Day, VoterId), Totals>,
}

impl Tally {
    /// Counts a vote.
    pub(super) fn add(&mut self, host: &Hostname, voter: VoterId, vote: CastVote) {
        self.change(host, voter, vote, Totals { sum: vote.verdict.value(), count: 1 });
    }

    /// Undoes a vote that was counted.
    pub(super) fn undo(&mut self, host: &Hostname, voter: VoterId, vote: CastVote) {
        self.change(host, voter, vote, Totals { sum: -vote.verdict.value(), count: -1 });
    }

    fn change(&mut self, host: &Hostname, voter: VoterId, vote: CastVote, by: Totals) {
        let day = Day::of(vote.time);
        for totals in [
            self.hosts.entry(host.clone()).or_default(),
            self.hosts_of_days.entry((day, host.clone())).or_default(),
            self.voters_of_days.entry((day, voter)).or_default(),
        ] {
            *totals = totals.plus(by);
        }
    }

    /// Adds the changes to a batch. The first counters of the batch are the
    /// sums and counts that changed, host by host.
    pub(super) fn write(&self, batch: &mut Batch) {
        for (host, by) in &self.hosts {
            for (field, by) in [("sum_of_votes", by.sum), ("count_of_votes", by.count)] {
                if by != 0 {
                    batch.increment_field(keys::link(host), field, by);
                }
            }
            increment(batch, [keys::LINKS_SUM, keys::LINKS_COUNT], host.as_str(), *by);
        }
        for ((day, host), by) in &self.hosts_of_days {
            increment(batch, [keys::day_links_sum(*day), keys::day_links_count(*day)], host.as_str(), *by);
        }
        for ((day, voter), by) in &self.voters_of_days {
            let keys = [keys::day_voters_sum(*day), keys::day_voters_count(*day)];
            increment(batch, keys, &voter.to_string(), *by);
        }
    }
}

/// Adds to the scores of a member in the sorted sets of sums and of counts.
fn increment(batch: &mut Batch, keys: [impl Into<String>; 2], member: &str, by: Totals) {
    for (key, by) in keys.into_iter().zip([by.sum, by.count]) {
        if by != 0 {
            batch.sorted_increment(key, member, score(by));
        }
    }
}

/// Pending reads of the sums and counts of some members, from two sorted sets.
pub(super) struct FiguresRead([Handle<Vec<Option<f64>>>; 2]);

impl FiguresRead {
    /// Asks the sorted set of sums and that of counts.
    pub(super) fn ask<'a>(
        query: &mut Query,
        keys: [impl Into<String>; 2],
        members: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        Self(keys.map(|key| query.scores(key, members.clone())))
    }

    /// The figures, in the order of the members.
    pub(super) fn take(self, answers: &mut Answers) -> impl Iterator<Item = Totals> + use<> {
        let [sums, counts] = self.0.map(|read| answers.take(read));
        sums.into_iter().zip(counts).map(|(sum, count)| Totals { sum: whole(sum), count: whole(count) })
    }
}

/// A whole number as a score; exact for every counter.
#[allow(clippy::cast_precision_loss)]
pub(super) const fn score(number: i64) -> f64 {
    number as f64
}

/// A score that counts something; absent is 0.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn whole(score: Option<f64>) -> i64 {
    // Counters are far within what both types hold exactly.
    score.map_or(0, |score| score as i64)
}
