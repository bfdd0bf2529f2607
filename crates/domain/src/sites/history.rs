//! The votes on a site, day by day.

use super::score::{Score, Shortage, SiteVotes};
use super::tally::{VoteTotals, figures};
use super::twice::{day_fields, days_twice};
use crate::values::{Day, Hostname};
use crate::{Result, Site, Visit, keys};
use std::sync::Arc;
use tidings_keyspace::{Fetch, read};

/// The votes of one day on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayOfVotes {
    /// The day.
    pub day: Day,
    /// The votes of that day.
    pub totals: VoteTotals,
}

/// A site's votes, and those of each of the last days, the earliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// All votes.
    pub votes: SiteVotes,
    /// The score that follows from them.
    pub score: Score,
    /// Why there is no score yet, if the votes are of too few networks.
    pub shortage: Option<Shortage>,
    /// Each of the last days, also those without a vote.
    pub days: Vec<DayOfVotes>,
}

impl History {
    /// The votes of the last days on a host, for programs; or on both names of a site, the one without `www.` first. A part
    /// of a round of twice as many reads as days.
    pub(crate) fn on(
        site: &Arc<Site>,
        names: &[Hostname],
        today: Day,
        days: u64,
    ) -> impl Fetch<Value = Self> + use<> {
        let site = site.clone();
        let of_days = days_of(names, &today.last(days).collect::<Vec<_>>());
        let both = names.first().filter(|_| names.len() > 1).cloned();
        let fields = today.last(days).flat_map(day_fields);
        let twice = both.as_ref().map(|bare| read::hash_fields(keys::link_twice(bare), fields));
        (SiteVotes::on(names), of_days, twice).map(move |(votes, mut days, twice)| {
            for (bare, twice) in both.iter().zip(twice) {
                for (day, twice) in days.iter_mut().zip(days_twice(twice, bare)) {
                    day.totals = day.totals.less(twice);
                }
            }
            let limits = &site.rules.limits;
            Self { votes, score: votes.score(limits), shortage: votes.shortage(limits), days }
        })
    }
}

/// The votes on some hosts together on each of some days.
fn days_of(hosts: &[Hostname], days: &[Day]) -> Vec<impl Fetch<Value = DayOfVotes> + use<>> {
    let hosts: Vec<&Hostname> = hosts.iter().collect();
    let day = |day: &Day| {
        let day = *day;
        let totals = figures([keys::day_links_sum(day), keys::day_links_count(day)], &hosts);
        totals.map(move |totals| DayOfVotes {
            day,
            totals: totals.into_iter().fold(VoteTotals::default(), VoteTotals::plus),
        })
    };
    days.iter().map(day).collect()
}

/// The votes of the last days on a host, up to today. Rounds: 1, of twice as
/// many reads as days.
pub async fn history(visit: &mut Visit, host: &Hostname, days: u64) -> Result<History> {
    let history = History::on(&visit.site_too(), std::slice::from_ref(host), Day::of(visit.now()), days);
    visit.fetch(history).await
}
