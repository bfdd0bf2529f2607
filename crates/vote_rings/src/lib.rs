//! Groups of accounts that vote for each other far more than would be likely by chance.
//!
//! It compares votes with what chance would make of them (`null_model`, `ties`, `groups`). `docs/vote-rings.md`
//! describes the method, and the simulation that measures it (`simulation`).

mod ballots;
mod chance;
mod groups;
mod null_model;
#[cfg(test)]
mod simulation;
mod ties;

pub use ballots::{Ballots, Layer};
pub use groups::SMALLEST;

use ballots::Account;
use std::collections::BTreeSet;
use ties::Ties;

/// A group of accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The accounts, in ascending order.
    pub accounts: Vec<u64>,
    /// Their votes for each other.
    pub shared_votes: u64,
    /// How many chance would have made.
    pub expected_votes: f64,
    /// The part of the group's votes that goes to the group.
    pub share: f64,
    /// The median time from posting to the votes for each other, in seconds, where it is known.
    pub median_seconds: Option<u64>,
}

/// The groups in some votes. Takes about 60 MiB for a million votes.
pub fn search(ballots: &Ballots) -> Vec<Found> {
    let groups = groups::find(&Ties::of(ballots));
    let found = groups.into_iter().map(|(group, tie)| {
        let id = |account: &Account| ballots.accounts.get(*account as usize).copied();
        let mut accounts: Vec<u64> = group.iter().filter_map(id).collect();
        accounts.sort_unstable();
        Found {
            accounts,
            shared_votes: tie.all_votes(),
            expected_votes: (tie.expected * 100.0).round() / 100.0,
            share: tie.share(groups::plain_share),
            median_seconds: median_seconds(ballots, &group),
        }
    });
    found.collect()
}

/// The median time from posting to the votes of a group for each other.
fn median_seconds(ballots: &Ballots, group: &[Account]) -> Option<u64> {
    let members: BTreeSet<Account> = group.iter().copied().collect();
    let within = ballots
        .votes
        .iter()
        .filter(|vote| members.contains(&vote.voter) && members.contains(&ballots.item(**vote).author));
    let mut delays: Vec<u32> = within.filter_map(|vote| vote.delay).collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).map(|delay| u64::from(*delay))
}
