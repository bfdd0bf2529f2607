//! The score of a site, which follows from its votes.

use super::tally::Totals;
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::fields;
use crate::keys;
use crate::values::hostname::{HashPrefix, Hostname};
use tidings_keyspace::{Answers, Handle, Query, Tracked, TrackedHandle};

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

    /// The name of the score, as pages and the API write it.
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

/// The fields of a host with its sum and count.
const TOTALS: [&str; 2] = ["sum_of_votes", "count_of_votes"];

/// A pending read of a host's sum and count.
pub(crate) struct TotalsRead(Handle<Vec<Option<String>>>);

impl TotalsRead {
    pub(crate) fn ask(query: &mut Query, host: &Hostname) -> Self {
        Self(query.hash_fields(keys::link(host), TOTALS))
    }

    /// The sum and count; `host` is the one that was asked for.
    pub(crate) fn take(self, answers: &mut Answers, host: &Hostname) -> Totals {
        totals(answers.take(self.0), host)
    }

    /// The same, for a value that will be cached.
    pub(crate) fn track(self, query: &mut Query) -> TrackedTotalsRead {
        TrackedTotalsRead(query.track(self.0))
    }
}

/// The same, and tracks what was read.
pub(crate) struct TrackedTotalsRead(TrackedHandle<Vec<Option<String>>>);

impl TrackedTotalsRead {
    pub(crate) fn take(self, answers: &mut Answers, host: Hostname) -> Tracked<Totals> {
        answers.take_tracked(self.0).map(|fields| totals(fields, &host))
    }
}

fn totals(found: Vec<Option<String>>, host: &Hostname) -> Totals {
    let [sum, count] = fields::each(found);
    let number = |value: Option<String>, field| -> i64 {
        fields::read(value.as_deref(), || keys::link(host), field).unwrap_or(0)
    };
    Totals { sum: number(sum, TOTALS[0]), count: number(count, TOTALS[1]) }
}

/// The scores of some hosts, in the order asked. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn scores(visit: &mut Visit, hosts: &[Hostname]) -> Result<Vec<Score>, Error> {
    let mut query = Query::new();
    let reads: Vec<_> = hosts.iter().map(|host| TotalsRead::ask(&mut query, host)).collect();
    let mut answers = visit.run(query).await?;
    let scores = reads.into_iter().zip(hosts).map(|(read, host)| Score::of(read.take(&mut answers, host)));
    Ok(scores.collect())
}

/// The hosts that have a score and whose hash starts with a prefix, with their scores, by
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
}
