//! A site with `www.` and without: on pages the votes on both names are those of one site.
//!
//! The figures of both names are added up. A voter who has voted on both names counts once, with the newer vote.
//! So what would be counted twice is stored and taken off: the older votes of these voters, and networks of votes
//! on both. It changes in the batch of the vote, as the figures do.

use super::cast_vote::{CastVote, StoredVote, TracedVote};
use super::tally::{ACCOUNTS, COUNT, SAME_NETWORK, SUM, VoteFigures, VoteTotals, beyond_the_first};
use crate::key_walk::{KeyWalk, first_parts};
use crate::keys::{self, families};
use crate::sites::bans::{BAN_FIELDS, finish_bans};
use crate::values::{Day, Hostname, VoterId};
use crate::{Advance, Decision, Result, Site, fields};
use std::collections::{BTreeMap, BTreeSet};
use tidings_keyspace::{Batch, Hash, read};

/// The figures of a host.
pub(super) const FIGURES: [&str; 4] = [SUM, COUNT, SAME_NETWORK, ACCOUNTS];

/// The part of each of them that is counted twice, in the hash of the name without `www.`.
pub(super) const TWICE: [&str; 4] =
    ["twice_sum_of_votes", "twice_count_of_votes", "twice_same_network_votes", "twice_account_votes"];

/// The votes of a voter on both names, the one without `www.` first.
type OnBoth = [Option<TracedVote>; 2];

/// The vote of a voter that counts on pages. Of votes of the same second, it is the one with `www.`.
pub(crate) fn newer(votes: impl IntoIterator<Item = Option<CastVote>>) -> Option<CastVote> {
    let mut votes = votes.into_iter();
    match (votes.next().flatten(), votes.next().flatten()) {
        (Some(bare), Some(www)) if bare.time > www.time => Some(bare),
        (bare, www) => www.or(bare),
    }
}

/// The other vote of a voter on both names.
fn older(votes: OnBoth) -> Option<TracedVote> {
    let [bare, www] = votes;
    let (bare, www) = (bare?, www?);
    Some(if bare.vote.time > www.vote.time { www } else { bare })
}

/// The older votes of voters on both names, or changes of that.
#[derive(Default)]
pub(super) struct Twice {
    pub(super) votes: VoteFigures,
    days: BTreeMap<Day, VoteTotals>,
}

impl Twice {
    /// Adds the older vote of a voter, if there are two, so many times.
    pub(super) fn count(&mut self, votes: OnBoth, times: i64) {
        let Some(traced) = older(votes) else { return };
        let of_day = self.days.entry(Day::of(traced.vote.time)).or_default();
        *of_day = of_day.plus(VoteTotals::of(traced.vote, times));
        self.votes.count(traced, times);
    }

    /// The fields of all figures but those of networks: keys, fields and numbers. `same_network` is that of all
    /// networks.
    pub(super) fn figures(&self, bare: &Hostname, same_network: i64) -> Vec<(String, String, i64)> {
        let VoteFigures { totals: VoteTotals { sum, count }, accounts, .. } = self.votes;
        let of_site = TWICE.into_iter().zip([sum, count, same_network, accounts]);
        let of_site = of_site.map(|(field, number)| (keys::link(bare), field.to_owned(), number));
        let of_days = self.days.iter().flat_map(|(day, totals)| {
            day_fields(*day)
                .into_iter()
                .zip([totals.sum, totals.count])
                .map(|(field, number)| (keys::link_twice(bare), field, number))
        });
        of_site.chain(of_days).collect()
    }
}

/// How many votes of one network are counted twice as votes from the network of another vote: by its votes on each name,
/// and the older ones among them.
pub(super) fn same_network([bare, www, older]: [i64; 3]) -> i64 {
    beyond_the_first(bare) + beyond_the_first(www) - beyond_the_first(bare + www - older)
}

/// The fields with the sum and the number of the older votes of a day.
pub(super) fn day_fields(day: Day) -> [String; 2] {
    [format!("sum:{day}"), format!("count:{day}")]
}

/// The older votes of each of some days, from their fields.
pub(super) fn days_twice(
    numbers: Vec<Option<String>>,
    bare: &Hostname,
) -> impl Iterator<Item = VoteTotals> + use<'_> {
    let key = || keys::link_twice(bare);
    let mut numbers =
        numbers.into_iter().map(move |number| fields::read_string(number.as_deref(), key).unwrap_or(0));
    std::iter::from_fn(move || Some(VoteTotals { sum: numbers.next()?, count: numbers.next()? }))
}

/// Forgets in a batch that a host had votes.
pub(super) fn forget(batch: &mut Batch, host: &Hostname) {
    let Some([bare, _]) = host.forms() else { return };
    batch.delete(keys::link_twice(&bare));
    TWICE.into_iter().for_each(|field| batch.delete_field(keys::link(&bare), field));
}

/// The stored votes on the two names of a site, with their figures.
pub(super) struct StoredNames<'a> {
    /// The votes, the origins and the networks of each name.
    pub(super) names: [[Option<&'a Hash>; 3]; 2],
    /// The hash of the name without `www.`.
    pub(super) link: Option<&'a Hash>,
    /// The rest of what is counted twice.
    pub(super) twice: Option<&'a Hash>,
}

/// A figure that is not what the votes say.
pub(super) struct WrongFigure {
    pub(super) key: String,
    pub(super) field: String,
    pub(super) found: i64,
    pub(super) expected: i64,
}

impl StoredNames<'_> {
    /// The voters on both names, with their votes.
    pub(super) fn on_both(&self, bare: &Hostname) -> Vec<(VoterId, [TracedVote; 2])> {
        let voters = self.names[1][0].into_iter().flat_map(|votes| &votes.0);
        let both = voters.filter_map(|(voter, _)| {
            let vote = |[votes, origins, _]: [Option<&Hash>; 3]| {
                let text = |hash: Option<&Hash>| hash.and_then(|hash| hash.get(voter)).map(str::to_owned);
                StoredVote { vote: text(votes), origin: text(origins) }.read(bare)
            };
            let [bare, www] = self.names.map(vote);
            Some((voter.parse().ok()?, [bare?, www?]))
        });
        both.collect()
    }

    /// The figures that are not what the votes of these voters say.
    pub(super) fn differences(&self, bare: &Hostname, counted: &[[TracedVote; 2]]) -> Vec<WrongFigure> {
        let mut twice = Twice::default();
        counted.iter().for_each(|votes| twice.count(votes.map(Some), 1));
        let number = |hash: Option<&Hash>, field: &str| -> i64 {
            fields::read(hash.and_then(|hash| hash.get(field)), || keys::link_twice(bare), field).unwrap_or(0)
        };
        let [[.., of_bare], [.., of_www]] = self.names;
        let known = of_bare.into_iter().chain(of_www).flat_map(|networks| &networks.0);
        let known: BTreeSet<&str> = known.map(|(network, _)| network.as_str()).collect();
        let same = known.into_iter().filter_map(|text| {
            let older = twice.votes.of_network(text.parse().ok()?);
            Some(same_network([number(of_bare, text), number(of_www, text), older]))
        });
        let (link, rest) = (keys::link(bare), keys::link_twice(bare));
        let mut figures: BTreeMap<(String, String), i64> = BTreeMap::new();
        let stored = self.twice.into_iter().flat_map(|stored| &stored.0);
        figures.extend(stored.map(|(field, _)| ((rest.clone(), field.clone()), 0)));
        let expected = twice.figures(bare, same.sum());
        figures.extend(expected.into_iter().map(|(key, field, number)| ((key, field), number)));
        figures.extend(twice.votes.networks().map(|(network, by)| ((rest.clone(), network.to_string()), by)));
        let differences = figures.into_iter().map(|((key, field), expected)| {
            let found = number(if key == link { self.link } else { self.twice }, &field);
            WrongFigure { key, field, found, expected }
        });
        differences.filter(|difference| difference.found != difference.expected).collect()
    }
}

/// Stores what is counted twice on all sites. Rounds: 1 for each 1,000 keys, and 3 for each site with votes on both names.
pub(crate) async fn count_all(site: &Site, advance: Advance<'_>) -> Result<()> {
    // So that the votes of each voter count, or do not.
    finish_bans(site).await?;
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        for host in first_parts(&keys, &families::LINK_VOTES) {
            if let Ok(host) = Hostname::parse(host)
                && let Some([bare, www]) = host.forms()
                && host == www
            {
                count_of(site, &bare, &www).await?;
            }
        }
    }
    Ok(())
}

/// The same for one site.
async fn count_of(site: &Site, bare: &Hostname, www: &Hostname) -> Result<()> {
    let hashes = |host: &Hostname| {
        [keys::link_votes(host), keys::link_origins(host), keys::link_networks(host), keys::link(host)]
            .map(read::hash)
    };
    site.act(&keys::link_twice(bare), || async {
        let reads = (hashes(bare), hashes(www), read::hash(keys::link_twice(bare)));
        let ([votes, origins, networks, link], www_hashes, twice) = site.store.fetch(reads).await?;
        let [www_votes, www_origins, www_networks, www_link] = &www_hashes;
        let stored = StoredNames {
            names: [
                [Some(&votes), Some(&origins), Some(&networks)],
                [Some(www_votes), Some(www_origins), Some(www_networks)],
            ],
            link: Some(&link),
            twice: Some(&twice),
        };
        let on_both = stored.on_both(bare);
        let bans = on_both.iter().map(|(voter, _)| read::fields(keys::voter(*voter), BAN_FIELDS));
        let bans = site.store.fetch(bans.collect::<Vec<_>>()).await?;
        let counted =
            on_both.into_iter().zip(bans).filter(|(_, [banned, ..])| banned.as_deref() != Some("1"));
        let counted: Vec<[TracedVote; 2]> = counted.map(|((_, votes), _)| votes).collect();
        let mut batch = Batch::new();
        let differences = stored.differences(bare, &counted);
        if differences.is_empty() {
            return Ok(Decision::Done(()));
        }
        // Another server may serve votes already.
        for (host, link) in [(bare, &link), (www, www_link)] {
            for field in FIGURES.into_iter().chain(TWICE) {
                batch.field_unchanged(keys::link(host), field, link.get(field));
            }
        }
        for WrongFigure { key, field, found, expected } in differences {
            batch.increment_field(key, field, expected - found);
        }
        Ok(Decision::commit(batch, ()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_votes_on_both_names_are_counted_once() {
        for (votes, twice) in [
            ([0, 0, 0], 0),
            ([2, 0, 0], 0),
            // Two people of one network: one vote more is from the network of another.
            ([1, 1, 0], -1),
            ([2, 3, 0], -1),
            // The same person on both.
            ([1, 1, 1], 0),
            ([3, 1, 1], 0),
            ([2, 2, 2], 1),
        ] {
            assert_eq!(same_network(votes), twice, "{votes:?}");
        }
    }
}
