//! The contributions of votes to sums and counts: the one place that knows every total that a vote is
//! part of.

use super::cast_vote::TracedVote;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::site::Site;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::network::Network;
use crate::values::voter_id::VoterId;
use std::collections::BTreeMap;
use tidings_keyspace::{Batch, Fetch, read};

/// The sum and the number of some votes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoteTotals {
    /// The votes added up, each +1 or -1.
    pub sum: i64,
    /// How many votes.
    pub count: i64,
}

impl VoteTotals {
    /// Votes of +1.
    pub const fn good(self) -> i64 {
        (self.count + self.sum) / 2
    }

    /// Votes of -1.
    pub const fn bad(self) -> i64 {
        (self.count - self.sum) / 2
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }
}

/// The fields of a host with its figures.
pub(super) const SUM: &str = "sum_of_votes";
pub(super) const COUNT: &str = "count_of_votes";
/// Votes that came from the network of another vote. The number of networks is the number
/// of votes without these: so votes that were stored without a network count as a network
/// each, and hosts that were stored without this field are right as they are.
pub(super) const SAME_NETWORK: &str = "same_network_votes";
pub(super) const ACCOUNTS: &str = "account_votes";

/// Changes of sums and counts, collected so that each figure is written once.
#[derive(Default)]
pub(super) struct Tally {
    hosts: BTreeMap<Hostname, HostChange>,
    hosts_of_days: BTreeMap<(Day, Hostname), VoteTotals>,
    voters_of_days: BTreeMap<(Day, VoterId), VoteTotals>,
}

/// The changes of the figures of one host.
#[derive(Default)]
struct HostChange {
    totals: VoteTotals,
    accounts: i64,
    networks: BTreeMap<Network, i64>,
}

impl Tally {
    /// Counts a vote.
    pub(super) fn add(&mut self, host: &Hostname, voter: VoterId, vote: TracedVote) {
        self.change(host, voter, vote, 1);
    }

    /// Undoes a vote that was counted.
    pub(super) fn undo(&mut self, host: &Hostname, voter: VoterId, vote: TracedVote) {
        self.change(host, voter, vote, -1);
    }

    fn change(&mut self, host: &Hostname, voter: VoterId, traced: TracedVote, times: i64) {
        let day = Day::of(traced.vote.time);
        let by = VoteTotals { sum: traced.vote.verdict.value() * times, count: times };
        let of_host = self.hosts.entry(host.clone()).or_default();
        if let Some(origin) = traced.origin {
            *of_host.networks.entry(origin.network).or_default() += times;
            of_host.accounts += if origin.is_account { times } else { 0 };
        }
        for totals in [
            &mut of_host.totals,
            self.hosts_of_days.entry((day, host.clone())).or_default(),
            self.voters_of_days.entry((day, voter)).or_default(),
        ] {
            *totals = totals.plus(by);
        }
    }

    /// The stored counts of networks that [`Tally::write`] needs and that are not in `known`.
    /// Rounds: 1, none if all are known.
    pub(super) async fn read_networks(
        &self,
        site: &Site,
        mut known: NetworkVotes,
    ) -> Result<NetworkVotes, Error> {
        let changed = self.hosts.iter().flat_map(|(host, change)| {
            let networks = change.networks.iter().filter(|(_, by)| **by != 0);
            networks.map(move |(network, _)| (host.clone(), *network))
        });
        let missing = changed.filter(|place| !known.0.contains_key(place));
        let missing = missing.map(|(host, network)| NetworkVotes::of(host, network)).collect::<Vec<_>>();
        known.0.extend(site.store.fetch(missing).await?);
        Ok(known)
    }

    /// Adds the changes to a batch.
    pub(super) fn write(&self, batch: &mut Batch, networks: &NetworkVotes) {
        for (host, change) in &self.hosts {
            let mut same_network = 0;
            for (network, by) in change.networks.iter().filter(|(_, by)| **by != 0) {
                same_network += networks.write(batch, host, *network, *by);
            }
            for (field, by) in [
                (SUM, change.totals.sum),
                (COUNT, change.totals.count),
                (SAME_NETWORK, same_network),
                (ACCOUNTS, change.accounts),
            ] {
                if by != 0 {
                    batch.increment_field(keys::link(host), field, by);
                }
            }
            increment(batch, [keys::LINKS_SUM, keys::LINKS_COUNT], host.as_str(), change.totals);
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

/// The stored numbers of votes on some hosts from some networks.
#[derive(Default)]
pub(super) struct NetworkVotes(pub(super) BTreeMap<(Hostname, Network), Option<String>>);

impl NetworkVotes {
    /// Changes the number of votes of a network, and returns by how much the number of votes
    /// from the network of another vote changes. Votes of one network on one host conflict;
    /// those of different networks do not.
    fn write(&self, batch: &mut Batch, host: &Hostname, network: Network, by: i64) -> i64 {
        let key = keys::link_networks(host);
        let field = network.to_string();
        let stored = self.0.get(&(host.clone(), network)).cloned().flatten();
        batch.field_unchanged(&key, &field, stored.as_deref());
        let before: i64 = fields::read(stored.as_deref(), || key.clone(), &field).unwrap_or(0);
        let after = (before + by).max(0);
        if after > 0 {
            batch.set_field(&key, field, after.to_string());
        } else {
            batch.delete_field(&key, field);
        }
        let beyond_the_first = |votes: i64| (votes - 1).max(0);
        beyond_the_first(after) - beyond_the_first(before)
    }

    /// The number of votes on a host from a network, as an entry.
    pub(super) fn of(
        host: Hostname,
        network: Network,
    ) -> impl Fetch<Value = ((Hostname, Network), Option<String>)> {
        let votes = read::field(keys::link_networks(&host), network.to_string());
        votes.map(move |votes| ((host, network), votes))
    }
}

/// Adds to the scores of a member in the sorted sets of sums and of counts.
fn increment(batch: &mut Batch, keys: [impl Into<String>; 2], member: &str, by: VoteTotals) {
    for (key, by) in keys.into_iter().zip([by.sum, by.count]) {
        if by != 0 {
            batch.sorted_increment(key, member, score(by));
        }
    }
}

/// The sums and counts of some members, in their order, from the sorted set of sums and that of counts.
pub(super) fn figures(
    keys: [String; 2],
    members: &[&Hostname],
) -> impl Fetch<Value = Vec<VoteTotals>> + use<> {
    let lists = keys.map(|key| read::scores(key, members.iter().map(|member| member.as_str())));
    Fetch::map(lists, |[sums, counts]| {
        let figures = sums.into_iter().zip(counts);
        figures.map(|(sum, count)| VoteTotals { sum: whole(sum), count: whole(count) }).collect()
    })
}

/// A whole number as a score; exact for every counter.
pub(super) const fn score(number: i64) -> f64 {
    number as f64
}

/// A score that counts something; absent is 0.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn whole(score: Option<f64>) -> i64 {
    // Counters are far within what both types hold exactly.
    score.map_or(0, |score| score as i64)
}
