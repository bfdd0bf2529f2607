//! Leaderboards: the best, worst, most voted and controversial sites of a day,
//! of the last days, and of all time.

use super::tally::FiguresRead;
use super::{BAD_SUM, GOOD_SUM, Score, Totals};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::keys;
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use crate::values::limits::{LEADERBOARD, LEADERBOARD_CANDIDATES, LEADERBOARD_OF_A_DAY};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::str::FromStr;
use tidings_keyspace::{COUNTER_LIMIT, Order, Query};

/// The order of a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// The highest sums.
    Best,
    /// The lowest sums.
    Worst,
    /// The most votes, with a sum that is neither good nor bad.
    Controversial,
    /// The most votes.
    Voted,
}

/// The time span of a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Today, UTC.
    Day,
    /// The last 7 days, today included.
    Week,
    /// The last 30 days, today included.
    Month,
    /// All time.
    All,
}

/// The text is not the name of a leaderboard or a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotABoard;

impl Board {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Best, Self::Worst, Self::Controversial, Self::Voted];

    /// The name in addresses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Worst => "worst",
            Self::Controversial => "controversial",
            Self::Voted => "voted",
        }
    }

    /// Whether a site with these votes is on it.
    const fn takes(self, totals: Totals) -> bool {
        match self {
            Self::Best => totals.sum > 0,
            Self::Worst => totals.sum < 0,
            Self::Controversial => totals.count > 0 && totals.sum > BAD_SUM && totals.sum < GOOD_SUM,
            Self::Voted => totals.count > 0,
        }
    }

    /// The sort key of a site: the lowest is first.
    const fn place(self, totals: Totals) -> (i64, Reverse<i64>) {
        match self {
            Self::Best => (-totals.sum, Reverse(totals.count)),
            Self::Worst => (totals.sum, Reverse(totals.count)),
            Self::Controversial | Self::Voted => (-totals.count, Reverse(totals.sum)),
        }
    }
}

impl Span {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::All];

    /// The name in addresses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::All => "all",
        }
    }

    /// The sorted sets of sums and counts that the span is made of.
    fn keys(self, today: Day) -> Vec<[String; 2]> {
        let days = match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
            Self::All => return vec![[keys::LINKS_SUM.to_owned(), keys::LINKS_COUNT.to_owned()]],
        };
        today.last(days).map(|day| [keys::day_links_sum(day), keys::day_links_count(day)]).collect()
    }
}

impl FromStr for Board {
    type Err = NotABoard;

    fn from_str(text: &str) -> Result<Self, NotABoard> {
        Self::ALL.into_iter().find(|board| board.name() == text).ok_or(NotABoard)
    }
}

impl FromStr for Span {
    type Err = NotABoard;

    fn from_str(text: &str) -> Result<Self, NotABoard> {
        Self::ALL.into_iter().find(|span| span.name() == text).ok_or(NotABoard)
    }
}

/// A site on a leaderboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteLine {
    /// The site.
    pub host: Hostname,
    /// Its score, from its votes of all time.
    pub score: Score,
    /// Its votes within the span.
    pub totals: Totals,
}

/// The first sites of a leaderboard. Rounds: 2.
///
/// Sums and counts are exact. The selection of sites may not be: only sites that are among
/// the first [`LEADERBOARD_OF_A_DAY`] of some day of the span, or among the first
/// [`LEADERBOARD_CANDIDATES`] of a single day or of all time, are compared.
///
/// # Errors
/// When the store fails.
pub async fn leaderboard(visit: &mut Visit, board: Board, span: Span) -> Result<Vec<SiteLine>, Error> {
    let keys = span.keys(Day::of(visit.now()));
    let candidates = candidates(visit, board, &keys).await?;
    let mut query = Query::new();
    let mut ask = |keys| FiguresRead::ask(&mut query, keys, candidates.iter().map(Hostname::as_str));
    let overall = ask([keys::LINKS_SUM.to_owned(), keys::LINKS_COUNT.to_owned()]);
    let parts: Vec<FiguresRead> = keys.into_iter().map(ask).collect();
    let mut answers = visit.run(query).await?;
    let overall: Vec<Totals> = overall.take(&mut answers).collect();
    let mut lines: Vec<SiteLine> = candidates
        .into_iter()
        .zip(overall)
        .map(|(host, overall)| SiteLine { host, score: Score::of(overall), totals: Totals::default() })
        .collect();
    for part in parts {
        for (line, totals) in lines.iter_mut().zip(part.take(&mut answers)) {
            line.totals = line.totals.plus(totals);
        }
    }
    lines.retain(|line| board.takes(line.totals));
    lines.sort_by(|left, right| {
        board.place(left.totals).cmp(&board.place(right.totals)).then_with(|| left.host.cmp(&right.host))
    });
    lines.truncate(LEADERBOARD);
    Ok(lines)
}

/// The sites that may be on a leaderboard.
async fn candidates(visit: &mut Visit, board: Board, keys: &[[String; 2]]) -> Result<Vec<Hostname>, Error> {
    const MOST: f64 = super::tally::score(COUNTER_LIMIT);
    let candidates = u64::try_from(LEADERBOARD_CANDIDATES).unwrap_or(u64::MAX);
    let of_each = if keys.len() > 1 { LEADERBOARD_OF_A_DAY } else { candidates };
    let mut query = Query::new();
    let reads: Vec<_> = keys
        .iter()
        .map(|[sum, count]| match board {
            Board::Best => query.sorted_by_score(sum, Order::Descending, (1.0, MOST), of_each),
            Board::Worst => query.sorted_by_score(sum, Order::Ascending, (-MOST, -1.0), of_each),
            Board::Controversial | Board::Voted => {
                query.sorted_by_score(count, Order::Descending, (1.0, MOST), of_each)
            }
        })
        .collect();
    let mut answers = visit.run(query).await?;
    let mut found: HashMap<String, f64> = HashMap::new();
    for (host, score) in reads.into_iter().flat_map(|read| answers.take(read)) {
        *found.entry(host).or_default() += score.abs();
    }
    let mut found: Vec<(String, f64)> = found.into_iter().collect();
    found.sort_by(|(left_host, left), (right_host, right)| {
        right.total_cmp(left).then_with(|| left_host.cmp(right_host))
    });
    found.truncate(LEADERBOARD_CANDIDATES);
    Ok(found.into_iter().filter_map(|(host, _)| Hostname::parse(&host).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_take_and_order_sites_by_their_figures() {
        let totals = |sum, count| Totals { sum, count };
        for (board, takes, first, second) in [
            (Board::Best, totals(0, 9), totals(9, 9), totals(8, 20)),
            (Board::Worst, totals(0, 9), totals(-9, 9), totals(-8, 20)),
            (Board::Controversial, totals(20, 20), totals(19, 60), totals(-9, 50)),
            (Board::Voted, totals(0, 0), totals(0, 60), totals(50, 50)),
        ] {
            assert!(!board.takes(takes), "{board:?}");
            assert!(board.takes(first) && board.takes(second), "{board:?}");
            assert!(board.place(first) < board.place(second), "{board:?}");
        }
        assert!(!Board::Controversial.takes(totals(-10, 90)));
    }

    #[test]
    fn names_lead_back() {
        for board in Board::ALL {
            assert_eq!(board.name().parse(), Ok(board));
        }
        for span in Span::ALL {
            assert_eq!(span.name().parse(), Ok(span));
        }
        assert_eq!("Best".parse::<Board>(), Err(NotABoard));
        assert_eq!("year".parse::<Span>(), Err(NotABoard));
    }
}
