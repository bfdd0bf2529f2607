//! The contributions of votes to sums and counts: the one place that knows every total that a vote is
//! part of.

use super::cast_vote::{CastVote, TracedVote};
use super::twice::{Twice, same_network};
use crate::values::{Day, Hostname, Network, VoterId};
use crate::{Result, Site, fields, keys};
use std::collections::{BTreeMap, BTreeSet};
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

    /// A vote, so many times.
    pub(super) const fn of(vote: CastVote, times: i64) -> Self {
        Self { sum: vote.verdict.value() * times, count: times }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }

    pub(super) const fn less(self, other: Self) -> Self {
        Self { sum: self.sum - other.sum, count: self.count - other.count }
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
    hosts: BTreeMap<Hostname, VoteFigures>,
    hosts_of_days: BTreeMap<(Day, Hostname), VoteTotals>,
    voters_of_days: BTreeMap<(Day, VoterId), VoteTotals>,
    /// The counted votes of a voter on the two names of a site, by the name without `www.`: before and after.
    on_both: BTreeMap<(Hostname, VoterId), [[Option<TracedVote>; 2]; 2]>,
}

/// The figures of some votes, or changes of them.
#[derive(Default)]
pub(super) struct VoteFigures {
    pub(super) totals: VoteTotals,
    pub(super) accounts: i64,
    networks: BTreeMap<Network, i64>,
}

impl VoteFigures {
    /// Adds a vote, so many times.
    pub(super) fn count(&mut self, TracedVote { vote, origin }: TracedVote, times: i64) {
        self.totals = self.totals.plus(VoteTotals::of(vote, times));
        if let Some(origin) = origin {
            *self.networks.entry(origin.network).or_default() += times;
            self.accounts += if origin.is_account { times } else { 0 };
        }
    }

    /// The votes from each network that has any.
    pub(super) fn networks(&self) -> impl Iterator<Item = (Network, i64)> + use<'_> {
        self.networks.iter().filter(|(_, by)| **by != 0).map(|(network, by)| (*network, *by))
    }

    pub(super) fn of_network(&self, network: Network) -> i64 {
        self.networks.get(&network).copied().unwrap_or(0)
    }
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

    /// Says that the voter has this vote, which counts, on the other name of a site.
    pub(super) fn keep(&mut self, host: &Hostname, voter: VoterId, vote: TracedVote) {
        self.note(host, voter, |before_and_after| *before_and_after = [Some(vote); 2]);
    }

    fn note(&mut self, host: &Hostname, voter: VoterId, change: impl FnOnce(&mut [Option<TracedVote>; 2])) {
        let Some([bare, _]) = host.forms() else { return };
        let name = usize::from(*host != bare);
        let [before, after] = self.on_both.entry((bare, voter)).or_default();
        let mut of_name = [before[name], after[name]];
        change(&mut of_name);
        [before[name], after[name]] = of_name;
    }

    fn change(&mut self, host: &Hostname, voter: VoterId, traced: TracedVote, times: i64) {
        self.note(host, voter, |[before, after]| *if times < 0 { before } else { after } = Some(traced));
        let day = Day::of(traced.vote.time);
        self.hosts.entry(host.clone()).or_default().count(traced, times);
        for totals in [
            self.hosts_of_days.entry((day, host.clone())).or_default(),
            self.voters_of_days.entry((day, voter)).or_default(),
        ] {
            *totals = totals.plus(VoteTotals::of(traced.vote, times));
        }
    }

    /// The stored counts of networks that [`Tally::write`] needs and that are not in `known`.
    /// Rounds: 1, none if all are known.
    pub(super) async fn read_networks(&self, site: &Site, mut known: NetworkVotes) -> Result<NetworkVotes> {
        let of_hosts = self
            .hosts
            .iter()
            .flat_map(|(host, change)| change.networks().map(move |(network, _)| (host, network)));
        let twice = self.twice();
        let older = twice
            .iter()
            .flat_map(|(bare, twice)| twice.votes.networks().map(move |(network, _)| (*bare, network)));
        let changed: BTreeSet<_> = of_hosts.chain(older).collect();
        let is_missing =
            |(host, network): &(&Hostname, Network)| !known.has(&keys::link_networks(host), *network);
        let missing = changed.into_iter().filter(is_missing);
        let missing = missing.map(|(host, network)| NetworkVotes::of(host, network)).collect::<Vec<_>>();
        site.store.fetch(missing).await?.into_iter().for_each(|votes| known.learn(votes));
        Ok(known)
    }

    /// By how much the votes that pages would count twice change, by the name without `www.`: more of them after
    /// than before is more.
    fn twice(&self) -> BTreeMap<&Hostname, Twice> {
        let mut changes: BTreeMap<&Hostname, Twice> = BTreeMap::new();
        for ((bare, _), [before, after]) in &self.on_both {
            let change = changes.entry(bare).or_default();
            change.count(*before, -1);
            change.count(*after, 1);
        }
        changes
    }

    fn write_twice(&self, batch: &mut Batch, known: &NetworkVotes) {
        for (bare, twice) in self.twice() {
            let Some(names) = bare.forms() else { continue };
            let changes = names.each_ref().map(|host| self.hosts.get(host));
            let changed = changes.into_iter().flatten().chain([&twice.votes]).flat_map(VoteFigures::networks);
            let mut same = 0;
            for network in changed.map(|(network, _)| network).collect::<BTreeSet<_>>() {
                let [bare_by, www_by] = changes.map(|change| change.map_or(0, |it| it.of_network(network)));
                let by = [bare_by, www_by, twice.votes.of_network(network)];
                let before = places(&names).map(|key| known.check(batch, &key, network));
                let mut after = before;
                after.iter_mut().zip(by).for_each(|(votes, by)| *votes = (*votes + by).max(0));
                same += same_network(after) - same_network(before);
                if by[2] != 0 {
                    known.write(batch, &keys::link_twice(bare), network, by[2]);
                }
            }
            for (key, field, by) in twice.figures(bare, same) {
                if by != 0 {
                    batch.increment_field(key, field, by);
                }
            }
        }
    }

    /// Adds the changes to a batch.
    pub(super) fn write(&self, batch: &mut Batch, networks: &NetworkVotes) {
        self.write_twice(batch, networks);
        for (host, change) in &self.hosts {
            let mut same_network = 0;
            for (network, by) in change.networks() {
                same_network += networks.write(batch, &keys::link_networks(host), network, by);
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

/// The keys with the numbers of votes from networks: on both names of a site, and the older ones of voters on both.
fn places([bare, www]: &[Hostname; 2]) -> [String; 3] {
    [keys::link_networks(bare), keys::link_networks(www), keys::link_twice(bare)]
}

/// The votes from a network beyond the first.
pub(super) const fn beyond_the_first(votes: i64) -> i64 {
    if votes > 1 { votes - 1 } else { 0 }
}

/// The stored numbers of votes from some networks, by key.
#[derive(Default)]
pub(super) struct NetworkVotes(BTreeMap<(String, Network), Option<String>>);

impl NetworkVotes {
    /// Changes the number of votes of a network, and returns by how much the number of votes
    /// from the network of another vote changes. Votes of one network on one host conflict;
    /// those of different networks do not.
    fn write(&self, batch: &mut Batch, key: &str, network: Network, by: i64) -> i64 {
        let before = self.check(batch, key, network);
        let after = (before + by).max(0);
        if after > 0 {
            batch.set_field(key, network.to_string(), after.to_string());
        } else {
            batch.delete_field(key, network.to_string());
        }
        beyond_the_first(after) - beyond_the_first(before)
    }

    /// The number, and a check that it is still so.
    fn check(&self, batch: &mut Batch, key: &str, network: Network) -> i64 {
        let field = network.to_string();
        let stored = self.0.get(&(key.to_owned(), network)).and_then(Option::as_deref);
        batch.field_unchanged(key, &field, stored);
        fields::read(stored, || key.to_owned(), &field).unwrap_or(0)
    }

    /// The numbers of votes from a network on a host, and on both names of its site.
    pub(super) fn of(host: &Hostname, network: Network) -> impl Fetch<Value = Self> + use<> {
        let keys = match host.forms() {
            Some(names) => places(&names).to_vec(),
            None => vec![keys::link_networks(host)],
        };
        let reads: Vec<_> = keys.iter().map(|key| read::field(key, network.to_string())).collect();
        reads.map(move |votes| {
            Self(keys.into_iter().zip(votes).map(|(key, votes)| ((key, network), votes)).collect())
        })
    }

    fn has(&self, key: &str, network: Network) -> bool {
        self.0.contains_key(&(key.to_owned(), network))
    }

    /// Adds other numbers.
    pub(super) fn learn(&mut self, other: Self) {
        self.0.extend(other.0);
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
pub(super) fn figures(keys: [String; 2], hosts: &[&Hostname]) -> impl Fetch<Value = Vec<VoteTotals>> + use<> {
    let lists = keys.map(|key| read::scores(key, hosts.iter().map(|member| member.as_str())));
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
