//! The votes on a site, day by day.

use super::score::{Score, Shortage, SiteVotes};
use super::tally::{VoteTotals, figures};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use std::sync::Arc;
use tidings_keyspace::Fetch;

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
    /// The votes of the last days on a site, as a part of a round of twice as many reads as days.
    pub(crate) fn of(
        site: &Arc<Site>,
        host: &Hostname,
        today: Day,
        days: u64,
    ) -> impl Fetch<Value = Self> + use<> {
        let day = |day| {
            let keys = [keys::day_links_sum(day), keys::day_links_count(day)];
            let totals = figures(keys, &[host]);
            totals
                .map(move |totals| DayOfVotes { day, totals: totals.into_iter().next().unwrap_or_default() })
        };
        let site = site.clone();
        (SiteVotes::of(host), today.last(days).map(day).collect::<Vec<_>>()).map(move |(votes, days)| {
            let limits = &site.rules.limits;
            Self { votes, score: votes.score(limits), shortage: votes.shortage(limits), days }
        })
    }
}

/// The votes of the last days on a site, up to today. Rounds: 1, of twice as
/// many reads as days.
pub async fn history(visit: &mut Visit, host: &Hostname, days: u64) -> Result<History, Error> {
    let history = History::of(&visit.site_too(), host, Day::of(visit.now()), days);
    visit.fetch(history).await
}
