//! The votes on a site, day by day.

use super::score::{Score, Shortage, SiteVotes, SiteVotesRead};
use super::tally::{FiguresRead, VoteTotals};
use super::twice::{day_fields, days_twice};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::rules::LimitRules;
use tidings_keyspace::{Answers, Handle, Query};

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

/// The pending reads of a history.
pub(crate) struct HistoryRead {
    host: Hostname,
    votes: SiteVotesRead,
    days: Vec<(Day, FiguresRead)>,
    /// The votes that the days count twice; nothing for a host alone.
    twice: Option<Handle<Vec<Option<String>>>>,
}

impl HistoryRead {
    /// That of a host, for programs.
    fn ask(query: &mut Query, host: &Hostname, today: Day, days: u64) -> Self {
        let votes = SiteVotesRead::ask(query, host);
        let days = days_of(query, std::slice::from_ref(host), today.last(days));
        Self { host: host.clone(), votes, days, twice: None }
    }

    /// That of a site with both of its names, for pages.
    pub(crate) fn of_site(query: &mut Query, host: &Hostname, today: Day, days: u64) -> Self {
        let Some(names) = host.forms() else { return Self::ask(query, host, today, days) };
        let twice = query.hash_fields(keys::link_twice(&names[0]), today.last(days).flat_map(day_fields));
        let votes = SiteVotesRead::of_site(query, host);
        let days = days_of(query, &names, today.last(days));
        Self { host: host.clone(), votes, days, twice: Some(twice) }
    }

    pub(crate) fn take(self, answers: &mut Answers, limits: &LimitRules) -> History {
        let twice = self.twice.map(|read| answers.take(read)).unwrap_or_default();
        let mut twice = days_twice(twice, &self.host);
        let days = self.days.into_iter().map(|(day, figures)| {
            let votes = figures.take(answers).fold(VoteTotals::default(), VoteTotals::plus);
            DayOfVotes { day, totals: votes.less(twice.next().unwrap_or_default()) }
        });
        let days = days.collect();
        let votes = self.votes.take(answers, &self.host);
        History { votes, score: votes.score(limits), shortage: votes.shortage(limits), days }
    }
}

/// The pending reads of the votes on some hosts on each of some days.
fn days_of(
    query: &mut Query,
    hosts: &[Hostname],
    days: impl Iterator<Item = Day>,
) -> Vec<(Day, FiguresRead)> {
    let of_day = |day| {
        let keys = [keys::day_links_sum(day), keys::day_links_count(day)];
        (day, FiguresRead::ask(query, keys, hosts.iter().map(Hostname::as_str)))
    };
    days.map(of_day).collect()
}

/// The votes of the last days on a host, up to today. Rounds: 1, of twice as
/// many reads as days.
pub async fn history(visit: &mut Visit, host: &Hostname, days: u64) -> Result<History, Error> {
    let mut query = Query::new();
    let history = HistoryRead::ask(&mut query, host, Day::of(visit.now()), days);
    let mut answers = visit.run(query).await?;
    Ok(history.take(&mut answers, &visit.site().rules.limits))
}
