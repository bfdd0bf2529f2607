//! The votes on a site, day by day.

use super::score::{Score, Shortage, SiteVotes, SiteVotesRead};
use super::tally::{FiguresRead, VoteTotals};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::rules::LimitRules;
use tidings_keyspace::{Answers, Query};

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
}

impl HistoryRead {
    pub(crate) fn ask(query: &mut Query, host: &Hostname, today: Day, days: u64) -> Self {
        let votes = SiteVotesRead::ask(query, host);
        let days = today.last(days).map(|day| {
            let keys = [keys::day_links_sum(day), keys::day_links_count(day)];
            (day, FiguresRead::ask(query, keys, std::iter::once(host.as_str())))
        });
        Self { host: host.clone(), votes, days: days.collect() }
    }

    pub(crate) fn take(self, answers: &mut Answers, limits: &LimitRules) -> History {
        let days = self.days.into_iter().map(|(day, figures)| DayOfVotes {
            day,
            totals: figures.take(answers).next().unwrap_or_default(),
        });
        let days = days.collect();
        let votes = self.votes.take(answers, &self.host);
        History { votes, score: votes.score(limits), shortage: votes.shortage(limits), days }
    }
}

/// The votes of the last days on a site, up to today. Rounds: 1, of twice as
/// many reads as days.
pub async fn history(visit: &mut Visit, host: &Hostname, days: u64) -> Result<History, Error> {
    let mut query = Query::new();
    let history = HistoryRead::ask(&mut query, host, Day::of(visit.now()), days);
    let mut answers = visit.run(query).await?;
    Ok(history.take(&mut answers, &visit.site().rules.limits))
}
