//! The score of a site, which follows from its votes.

use super::tally::VoteTotals;
use super::twice::{FIGURES, TWICE};
use crate::values::{HashPrefix, Hostname, LimitRules, SITE_SCORE_ACCOUNTS, named};
use crate::{Result, Visit, fields, keys};
use std::slice::from_ref;
use strum::IntoStaticStr;
use tidings_keyspace::{Fetch, read};

/// How good a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, IntoStaticStr)]
#[strum(serialize_all = "PascalCase")]
pub enum Score {
    /// The sum of its votes is 20 or more.
    Good,
    /// The sum of its votes is -10 or less.
    Bad,
    /// Between, with more than 50 votes.
    Controversial,
    /// None of these, or votes of too few networks.
    #[default]
    NoScore,
}

named!(Score);

/// The least sum of a good site.
pub const GOOD_SUM: i64 = 20;
/// The greatest sum of a bad site.
pub const BAD_SUM: i64 = -10;
/// A controversial site has more votes than this.
pub const CONTROVERSIAL_COUNT: i64 = 50;

/// The votes on a site, with what a score demands of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteVotes {
    /// The sum and the number.
    pub totals: VoteTotals,
    /// The networks that they came from.
    pub networks: u64,
    /// The votes of accounts.
    pub accounts: u64,
}

/// The networks that are missing for a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The networks whose votes the site has.
    pub networks: u64,
    /// The networks that a score needs.
    pub needed: u64,
}

impl SiteVotes {
    /// Why these votes give no score yet, whatever they say: `None` if they are of enough
    /// networks or accounts.
    pub const fn shortage(self, limits: &LimitRules) -> Option<Shortage> {
        let needed = limits.site_score_networks;
        if needed == 0 || self.networks >= needed || self.accounts >= SITE_SCORE_ACCOUNTS {
            return None;
        }
        Some(Shortage { networks: self.networks, needed })
    }

    /// The score that follows from the votes.
    pub const fn score(self, limits: &LimitRules) -> Score {
        let VoteTotals { sum, count } = self.totals;
        if self.shortage(limits).is_some() {
            Score::NoScore
        } else if sum >= GOOD_SUM {
            Score::Good
        } else if sum <= BAD_SUM {
            Score::Bad
        } else if count > CONTROVERSIAL_COUNT {
            Score::Controversial
        } else {
            Score::NoScore
        }
    }

    /// The votes on a site, for pages: on both of its names, where it has two.
    pub(crate) fn of_site(host: &Hostname) -> impl Fetch<Value = Self> + use<> {
        Self::on(&host.names())
    }

    /// The votes on a host, for programs; or on both names of a site, the one without `www.` first.
    pub(crate) fn on(names: &[Hostname]) -> impl Fetch<Value = Self> + use<> {
        let twice = names.iter().skip(1).flat_map(|_| TWICE);
        let first =
            names.first().map(|name| read::hash_fields(keys::link(name), FIGURES.into_iter().chain(twice)));
        let others = names.iter().skip(1).map(|name| read::hash_fields(keys::link(name), FIGURES));
        let (reads, host) = ((first, others.collect::<Vec<_>>()), names.first().cloned());
        reads.map(move |(first, others)| {
            host.map(|host| Self::of_names(&host, first.into_iter().chain(others))).unwrap_or_default()
        })
    }

    /// The votes on each name; those of the first may be followed by what is counted twice.
    fn of_names(host: &Hostname, names: impl Iterator<Item = Vec<Option<String>>>) -> Self {
        let mut figures = [0_i64; FIGURES.len()];
        for values in names {
            let signs = std::iter::repeat_n(1, FIGURES.len()).chain(std::iter::repeat_n(-1, TWICE.len()));
            let places = (0..FIGURES.len()).cycle().zip(FIGURES.into_iter().chain(TWICE));
            for ((value, sign), (place, field)) in values.into_iter().zip(signs).zip(places) {
                let number: i64 = fields::read(value.as_deref(), || keys::link(host), field).unwrap_or(0);
                figures[place] = figures[place].saturating_add(sign * number);
            }
        }
        let [sum, count, same_network, accounts] = figures;
        Self {
            totals: VoteTotals { sum, count },
            networks: u64::try_from(count.saturating_sub(same_network)).unwrap_or(0),
            accounts: u64::try_from(accounts).unwrap_or(0),
        }
    }
}

/// The scores of some hosts, in the order asked. Rounds: 1.
pub async fn scores(visit: &mut Visit, hosts: &[Hostname]) -> Result<Vec<Score>> {
    let votes = visit
        .fetch(hosts.iter().map(|host| SiteVotes::on(from_ref(host))).collect::<Vec<_>>().or_absent())
        .await?;
    let limits = &visit.site().rules.limits;
    Ok(votes.into_iter().map(|votes| votes.score(limits)).collect())
}

/// The hosts that have a score and whose hash starts with a prefix, with their scores, by
/// name. Rounds: 2.
pub async fn scores_by_prefix(visit: &mut Visit, prefix: &HashPrefix) -> Result<Vec<(Hostname, Score)>> {
    let members = visit.fetch(read::members(keys::prefix(prefix))).await?;
    let mut hosts: Vec<Hostname> = members
        .iter()
        .filter_map(|member| Hostname::parse(member).ok())
        .filter(|host| prefix.begins(host))
        .collect();
    hosts.sort();
    let scores = scores(visit, &hosts).await?;
    Ok(hosts.into_iter().zip(scores).filter(|(_, score)| *score != Score::NoScore).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(site_score_networks: u64) -> LimitRules {
        LimitRules { site_score_networks, ..LimitRules::default() }
    }

    #[test]
    fn a_score_follows_from_sum_and_count() {
        for (sum, count, score) in [
            (0, 0, Score::NoScore),
            (19, 19, Score::NoScore),
            (20, 20, Score::Good),
            (20, 1_000, Score::Good),
            (-9, 9, Score::NoScore),
            (-10, 10, Score::Bad),
            (-10, 1_000, Score::Bad),
            (0, 50, Score::NoScore),
            (0, 51, Score::Controversial),
            (19, 51, Score::Controversial),
            (-9, 51, Score::Controversial),
        ] {
            let votes = SiteVotes { totals: VoteTotals { sum, count }, networks: 3, accounts: 0 };
            assert_eq!(votes.score(&limits(3)), score, "{sum} of {count}");
        }
    }

    #[test]
    fn a_score_needs_three_networks_or_five_accounts() {
        for (networks, accounts, needed, has_score) in [
            (2, 4, 3, false),
            (3, 0, 3, true),
            (2, 5, 3, true),
            (1, 5, 3, true),
            (3, 4, 4, false),
            (4, 4, 4, true),
            (0, 0, 0, true),
        ] {
            let votes = SiteVotes { totals: VoteTotals { sum: 20, count: 20 }, networks, accounts };
            let (score, shortage) = (votes.score(&limits(needed)), votes.shortage(&limits(needed)));
            let what = format!("{networks} networks, {accounts} accounts, {needed} needed");
            assert_eq!(score, if has_score { Score::Good } else { Score::NoScore }, "{what}");
            assert_eq!(shortage, (!has_score).then_some(Shortage { networks, needed }), "{what}");
        }
    }
}
