//! The reputation of web sites: votes on hostnames, +1 or -1, one for each
//! voter and host, and the scores that follow from them.
//!
//! Every sum and count (of a host, of a day, of all time) is the sum over the
//! stored votes of voters that are not banned, and changes in the same batch
//! as the vote. A day's figures belong to the day of the vote as it is now.

mod bans;
mod boards;
mod calendar;
mod hostname;
mod investigations;
mod settings;
mod starting_lists;
mod tally;
mod voter;
mod voting;

pub use bans::{ban, finish_bans, unban};
pub use boards::{Board, SiteLine, Span, leaderboard};
pub use calendar::{Day, NotADay, NotAMoment, parse_moment, written};
pub use hostname::{HashPrefix, Hostname, HostnameError, NotAHashPrefix};
pub use investigations::{
    AuditLine, DailyVoter, VoterDetails, VoterVote, audit_lines, top_voters, voter_details, voter_votes,
};
pub use settings::{SettingsChange, VotingSettings, change_settings, voting_settings};
pub use starting_lists::{Listed, StartingVoters};
use tally::FiguresRead;
pub use tally::Totals;
pub use voter::{NotAVoterId, VoterId};
pub use voting::{Ballot, vote, vote_as};

use super::clock::Timestamp;
use super::error::Error;
use super::keys;
use super::news::{self, NewsPage};
use super::visit::Visit;
use crate::keyspace::{Answers, Handle, Query};
use std::fmt;
use std::str::FromStr;

/// A vote on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// +1.
    Good,
    /// -1.
    Bad,
}

impl Verdict {
    /// What it adds to the sum.
    #[must_use]
    pub const fn value(self) -> i64 {
        match self {
            Self::Good => 1,
            Self::Bad => -1,
        }
    }
}

/// A vote as it is stored: `+1 2023-02-02T09:36:03Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CastVote {
    /// Which way.
    pub verdict: Verdict,
    /// When it was cast or changed last.
    pub time: Timestamp,
}

impl fmt::Display for CastVote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:+} {}", self.verdict.value(), written(self.time))
    }
}

/// A stored text is no vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAVote;

impl FromStr for CastVote {
    type Err = NotAVote;

    fn from_str(text: &str) -> Result<Self, NotAVote> {
        let (verdict, time) = text.split_once(' ').ok_or(NotAVote)?;
        let verdict = match verdict {
            "+1" => Verdict::Good,
            "-1" => Verdict::Bad,
            _ => return Err(NotAVote),
        };
        Ok(Self { verdict, time: parse_moment(time).map_err(|_| NotAVote)? })
    }
}

/// How good a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Score {
    /// The sum of its votes is 20 or more.
    Good,
    /// The sum of its votes is -10 or less.
    Bad,
    /// Between, with more than 50 votes.
    Controversial,
    /// None of these.
    #[default]
    NoScore,
}

/// The least sum of a good site.
pub const GOOD_SUM: i64 = 20;
/// The greatest sum of a bad site.
pub const BAD_SUM: i64 = -10;
/// A controversial site has more votes than this.
pub const CONTROVERSIAL_COUNT: i64 = 50;

impl Score {
    /// The score that follows from a site's votes.
    #[must_use]
    pub const fn of(totals: Totals) -> Self {
        if totals.sum >= GOOD_SUM {
            Self::Good
        } else if totals.sum <= BAD_SUM {
            Self::Bad
        } else if totals.count > CONTROVERSIAL_COUNT {
            Self::Controversial
        } else {
            Self::NoScore
        }
    }

    /// The name of the score, as all faces write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "Good",
            Self::Bad => "Bad",
            Self::Controversial => "Controversial",
            Self::NoScore => "NoScore",
        }
    }
}

/// The fields of a host that tell its sum and count.
pub(super) const TOTALS: [&str; 2] = ["sum_of_votes", "count_of_votes"];

/// A host's sum and count on their way.
pub(super) struct TotalsRead(Handle<Vec<Option<String>>>);

impl TotalsRead {
    pub(super) fn ask(query: &mut Query, host: &Hostname) -> Self {
        Self(query.hash_fields(keys::link(host), TOTALS))
    }

    pub(super) fn take(self, answers: &mut Answers) -> Totals {
        let fields = answers.take(self.0);
        let number = |at: usize| -> i64 {
            fields.get(at).and_then(|field| field.as_deref()?.parse().ok()).unwrap_or(0)
        };
        Totals { sum: number(0), count: number(1) }
    }
}

/// The scores of some hosts, in the order asked. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn scores(visit: &mut Visit, hosts: &[Hostname]) -> Result<Vec<Score>, Error> {
    let mut query = Query::new();
    let reads: Vec<_> = hosts.iter().map(|host| TotalsRead::ask(&mut query, host)).collect();
    let mut answers = visit.run(query).await?;
    Ok(reads.into_iter().map(|read| Score::of(read.take(&mut answers))).collect())
}

/// The hosts that have a score and whose hash begins so, with their scores, by
/// name. Rounds: 2.
///
/// # Errors
/// When the store fails.
pub async fn scores_by_prefix(
    visit: &mut Visit,
    prefix: &HashPrefix,
) -> Result<Vec<(Hostname, Score)>, Error> {
    let mut query = Query::new();
    let members = query.members(keys::prefix(prefix));
    let members = visit.run(query).await?.take(members);
    let mut hosts: Vec<Hostname> = members
        .iter()
        .filter_map(|member| Hostname::parse(member).ok())
        .filter(|host| prefix.begins(host))
        .collect();
    hosts.sort();
    let scores = scores(visit, &hosts).await?;
    Ok(hosts.into_iter().zip(scores).filter(|(_, score)| *score != Score::NoScore).collect())
}

/// A voter's own votes on some hosts, in the order asked. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn own_votes(
    visit: &mut Visit,
    voter: VoterId,
    hosts: &[Hostname],
) -> Result<Vec<Option<CastVote>>, Error> {
    let mut query = Query::new();
    let voter = voter.to_string();
    let reads: Vec<_> =
        hosts.iter().map(|host| query.hash_fields(keys::link_votes(host), [voter.as_str()])).collect();
    let mut answers = visit.run(query).await?;
    Ok(reads.into_iter().map(|read| parse_vote(answers.take(read).into_iter().next().flatten())).collect())
}

/// A stored vote; one that cannot be read counts as none.
fn parse_vote(stored: Option<String>) -> Option<CastVote> {
    stored.and_then(|text| text.parse().ok())
}

/// The votes of one day on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayOfVotes {
    /// The day.
    pub day: Day,
    /// What was voted.
    pub totals: Totals,
}

/// A site's votes, and those of each of the last days, the earliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// All votes.
    pub totals: Totals,
    /// Each of the last days, also those without a vote.
    pub days: Vec<DayOfVotes>,
}

/// A history on its way.
struct HistoryRead {
    totals: TotalsRead,
    days: Vec<(Day, FiguresRead)>,
}

impl HistoryRead {
    fn ask(query: &mut Query, host: &Hostname, today: Day, days: u64) -> Self {
        let totals = TotalsRead::ask(query, host);
        let days = today.last(days).map(|day| {
            let keys = [keys::day_links_sum(day), keys::day_links_count(day)];
            (day, FiguresRead::ask(query, keys, std::iter::once(host.as_str())))
        });
        Self { totals, days: days.collect() }
    }

    fn take(self, answers: &mut Answers) -> History {
        let days = self.days.into_iter().map(|(day, figures)| DayOfVotes {
            day,
            totals: figures.take(answers).next().unwrap_or_default(),
        });
        let days = days.collect();
        History { totals: self.totals.take(answers), days }
    }
}

/// The votes of the last days on a site, up to today. Rounds: 1, of twice as
/// many reads as days.
///
/// # Errors
/// When the store fails.
pub async fn history(visit: &mut Visit, host: &Hostname, days: u64) -> Result<History, Error> {
    let mut query = Query::new();
    let history = HistoryRead::ask(&mut query, host, Day::of(visit.now()), days);
    Ok(history.take(&mut visit.run(query).await?))
}

/// All that the page of a site shows.
#[derive(Debug)]
pub struct SitePage {
    /// Its votes.
    pub history: History,
    /// The viewer's own vote.
    pub my_vote: Option<CastVote>,
    /// The latest news from it.
    pub news: NewsPage,
}

/// The page of a site. Rounds: 3, and one more for the vote of a viewer who
/// has voted on any site.
///
/// # Errors
/// When the store fails.
pub async fn page(visit: &mut Visit, host: &Hostname, days: u64, news: u64) -> Result<SitePage, Error> {
    let mut query = Query::new();
    let history = HistoryRead::ask(&mut query, host, Day::of(visit.now()), days);
    let (history, news) = news::of_host(visit, host, news, query, |answers| history.take(answers)).await?;
    let voter = visit.viewer().await?.and_then(|viewer| viewer.voter);
    let my_vote = match voter {
        Some(voter) => {
            own_votes(visit, voter, std::slice::from_ref(host)).await?.into_iter().next().flatten()
        }
        None => None,
    };
    Ok(SitePage { history, my_vote, news })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Score::of(Totals { sum, count }), score, "{sum} of {count}");
        }
    }

    #[test]
    fn votes_are_stored_with_sign_and_time() {
        let vote = CastVote { verdict: Verdict::Good, time: Timestamp(1_675_330_563) };
        assert_eq!(vote.to_string(), "+1 2023-02-02T09:36:03Z");
        assert_eq!("-1 2023-02-02T09:36:03Z".parse(), Ok(CastVote { verdict: Verdict::Bad, ..vote }));
        for bad in ["", "+1", "0 2023-02-02T09:36:03Z", "1 2023-02-02T09:36:03Z", "+1 yesterday"] {
            assert_eq!(bad.parse::<CastVote>(), Err(NotAVote), "{bad:?}");
        }
    }
}
