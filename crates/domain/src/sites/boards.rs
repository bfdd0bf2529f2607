//! Leaderboards: the best, worst, most voted and controversial sites of a day,
//! of the last days, and of all time.

use super::tally::figures;
use super::twice::{day_fields, days_twice};
use super::{BAD_SUM, GOOD_SUM, Score, SiteVotes, VoteTotals};
use crate::values::{
    CONTROVERSIAL_MINORITY, Day, Hostname, LEADERBOARD, LEADERBOARD_CANDIDATES, LEADERBOARD_OF_A_DAY, named,
};
use crate::{Result, Visit, keys};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use strum::{EnumIter, EnumString, IntoStaticStr};
use tidings_keyspace::{COUNTER_LIMIT, Fetch, Order, read};

/// The order of a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Board {
    /// The highest sums.
    Best,
    /// The lowest sums.
    Worst,
    /// Votes both ways, the most even first, with a sum that is neither good nor bad.
    Controversial,
    /// The most votes.
    Voted,
}

/// The time span of a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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

named!(Board);

impl Board {
    /// Whether a site with these votes is on it.
    const fn takes(self, totals: VoteTotals) -> bool {
        match self {
            Self::Best => totals.sum > 0,
            Self::Worst => totals.sum < 0,
            Self::Controversial => {
                totals.sum > BAD_SUM && totals.sum < GOOD_SUM && minority(totals) >= CONTROVERSIAL_MINORITY
            }
            Self::Voted => totals.count > 0,
        }
    }

    /// The order of two sites: the lesser is first.
    fn order(self, left: VoteTotals, right: VoteTotals) -> Ordering {
        let highest_sum = right.sum.cmp(&left.sum);
        let most_votes = right.count.cmp(&left.count);
        match self {
            Self::Best => highest_sum.then(left.count.cmp(&right.count)),
            Self::Worst => highest_sum.reverse().then(left.count.cmp(&right.count)),
            Self::Controversial => most_even(left, right).then(most_votes).then(highest_sum),
            Self::Voted => most_votes.then(highest_sum),
        }
    }
}

/// The votes on the side that has fewer of them.
const fn minority(totals: VoteTotals) -> i64 {
    let (good, bad) = (totals.good(), totals.bad());
    if good < bad { good } else { bad }
}

/// The order by evenness, the most even first. The evenness is the votes of the minority
/// divided by one more than those of the majority: 5 of each (5/6) come before 8 and 4 (4/9).
/// The one more makes many votes count for more than few: 40 of each (40/41) come first.
fn most_even(left: VoteTotals, right: VoteTotals) -> Ordering {
    let share = |totals: VoteTotals| {
        let minority = i128::from(minority(totals));
        (minority, i128::from(totals.count) - minority + 1)
    };
    let ((left, of_left), (right, of_right)) = (share(left), share(right));
    (right * of_left).cmp(&(left * of_right))
}

named!(Span);

impl Span {
    /// The days of the span; none for all time.
    fn days(self, today: Day) -> impl Iterator<Item = Day> {
        let days = match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
            Self::All => 0,
        };
        today.last(days)
    }

    /// The sorted sets of sums and counts that the span is made of.
    fn keys(self, today: Day) -> Vec<[String; 2]> {
        match self {
            Self::All => vec![[keys::LINKS_SUM.to_owned(), keys::LINKS_COUNT.to_owned()]],
            _ => self.days(today).map(|day| [keys::day_links_sum(day), keys::day_links_count(day)]).collect(),
        }
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
    pub totals: VoteTotals,
}

/// The first hosts of a leaderboard, for programs. Rounds: 2.
///
/// Sums and counts are exact. The selection of sites may not be: only hosts that are among
/// the first [`LEADERBOARD_OF_A_DAY`] of some day of the span, or among the first
/// [`LEADERBOARD_CANDIDATES`] of a single day or of all time, are compared.
pub async fn leaderboard(visit: &mut Visit, board: Board, span: Span) -> Result<Vec<SiteLine>> {
    let hosts = candidates(visit, board, &span.keys(Day::of(visit.now()))).await?;
    board_of(visit, (board, span), hosts.into_iter().map(|host| vec![host]).collect()).await
}

/// The same of sites, for pages: the names with `www.` and without are one line. Rounds: 2, and 1 more where a site has
/// votes on both.
pub async fn leaderboard_of_sites(visit: &mut Visit, board: Board, span: Span) -> Result<Vec<SiteLine>> {
    let hosts = candidates(visit, board, &span.keys(Day::of(visit.now()))).await?;
    let mut known = HashSet::new();
    let names = hosts.iter().map(Hostname::names);
    let sites = names.filter(|names| names.first().is_some_and(|bare| known.insert(bare.clone())));
    board_of(visit, (board, span), sites.collect()).await
}

/// The leaderboard of some sites, each with its names.
async fn board_of(
    visit: &mut Visit,
    (board, span): (Board, Span),
    sites: Vec<Vec<Hostname>>,
) -> Result<Vec<SiteLine>> {
    let today = Day::of(visit.now());
    let overall = sites.iter().map(|names| SiteVotes::on(names)).collect::<Vec<_>>().or_absent();
    let hosts: Vec<&Hostname> = sites.iter().flatten().collect();
    let parts = span.keys(today).into_iter().map(|keys| figures(keys, &hosts)).collect::<Vec<_>>();
    let (overall, parts) = visit.fetch((overall, parts)).await?;
    let mut of_names = vec![VoteTotals::default(); hosts.len()];
    for part in parts {
        of_names.iter_mut().zip(part).for_each(|(totals, of_part)| *totals = totals.plus(of_part));
    }
    let (mut lines, mut of_names) = (Vec::new(), of_names.into_iter());
    // The lines of sites with votes on both names.
    let mut both = Vec::new();
    for (names, votes) in sites.into_iter().zip(overall) {
        let totals: Vec<VoteTotals> = of_names.by_ref().take(names.len()).collect();
        let Some(host) = names.into_iter().next() else { continue };
        if totals.len() > 1 && totals.iter().all(|totals| totals.count > 0) {
            both.push(lines.len());
        }
        let totals = match span {
            Span::All => votes.totals,
            _ => totals.into_iter().fold(VoteTotals::default(), VoteTotals::plus),
        };
        lines.push(SiteLine { host, score: votes.score(&visit.site().rules.limits), totals });
    }
    if !both.is_empty() && span != Span::All {
        let fields = || span.days(today).flat_map(day_fields);
        let twice = both.iter().filter_map(|line| lines.get(*line));
        let twice = twice.map(|line| read::hash_fields(keys::link_twice(&line.host), fields()).or_absent());
        let twice = visit.fetch(twice.collect::<Vec<_>>()).await?;
        for (line, numbers) in both.into_iter().zip(twice) {
            let Some(SiteLine { host, totals, .. }) = lines.get_mut(line) else { continue };
            *totals = days_twice(numbers, host).fold(*totals, VoteTotals::less);
        }
    }
    lines.retain(|line| board.takes(line.totals));
    lines.sort_by(|left, right| {
        board.order(left.totals, right.totals).then_with(|| left.host.cmp(&right.host))
    });
    lines.truncate(LEADERBOARD);
    Ok(lines)
}

/// The sites that may be on a leaderboard.
async fn candidates(visit: &mut Visit, board: Board, keys: &[[String; 2]]) -> Result<Vec<Hostname>> {
    const MOST: f64 = super::tally::score(COUNTER_LIMIT);
    let candidates = u64::try_from(LEADERBOARD_CANDIDATES).unwrap_or(u64::MAX);
    let of_each = if keys.len() > 1 { LEADERBOARD_OF_A_DAY } else { candidates };
    let first = |[sum, count]: &[String; 2]| match board {
        Board::Best => read::sorted_by_score(sum, Order::Descending, (1.0, MOST), of_each),
        Board::Worst => read::sorted_by_score(sum, Order::Ascending, (-MOST, -1.0), of_each),
        Board::Controversial | Board::Voted => {
            read::sorted_by_score(count, Order::Descending, (1.0, MOST), of_each)
        }
    };
    let read = visit.fetch(keys.iter().map(first).collect::<Vec<_>>()).await?;
    let mut found: HashMap<String, f64> = HashMap::new();
    read.into_iter().flatten().for_each(|(host, score)| *found.entry(host).or_default() += score.abs());
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
    use strum::IntoEnumIterator;

    const fn totals(sum: i64, count: i64) -> VoteTotals {
        VoteTotals { sum, count }
    }

    /// So many good and so many bad votes.
    const fn votes((good, bad): (i64, i64)) -> VoteTotals {
        totals(good - bad, good + bad)
    }

    #[test]
    fn boards_take_and_order_sites_by_their_figures() {
        for (board, not_taken, first, second) in [
            (Board::Best, totals(0, 9), totals(9, 9), totals(8, 20)),
            (Board::Best, totals(-1, 9), totals(9, 9), totals(9, 11)),
            (Board::Worst, totals(0, 9), totals(-9, 9), totals(-8, 20)),
            (Board::Worst, totals(1, 9), totals(-9, 9), totals(-9, 11)),
            (Board::Voted, totals(0, 0), totals(0, 60), totals(50, 50)),
            (Board::Voted, totals(0, 0), totals(2, 60), totals(0, 60)),
        ] {
            assert!(!board.takes(not_taken), "{board:?}");
            assert!(board.takes(first) && board.takes(second), "{board:?}");
            assert_eq!(board.order(first, second), Ordering::Less, "{board:?}");
        }
    }

    #[test]
    fn only_votes_both_ways_without_a_verdict_are_controversial() {
        for (good, bad, is_controversial) in [
            (8, 0, false),
            (0, 8, false),
            (8, 1, false),
            (1, 1, false),
            (8, 2, true),
            (2, 8, true),
            (2, 2, true),
            (49, 30, true),
            (50, 30, false),
            (30, 39, true),
            (30, 40, false),
        ] {
            assert_eq!(Board::Controversial.takes(votes((good, bad))), is_controversial, "{good} and {bad}");
        }
    }

    #[test]
    fn the_most_even_site_is_the_most_controversial() {
        let in_order = [
            (40, 40),
            (30, 29),
            (8, 8),
            (29, 25),
            (5, 5),
            (7, 8),
            (2, 2),
            (30, 20),
            (8, 4),
            (4, 9),
            (8, 2),
            (20, 2),
        ];
        for pair in in_order.windows(2) {
            let (left, right) = (votes(pair[0]), votes(pair[1]));
            assert_eq!(Board::Controversial.order(left, right), Ordering::Less, "{pair:?}");
            assert_eq!(Board::Controversial.order(right, left), Ordering::Greater, "{pair:?}");
        }
        // Equally even: more votes come first, then the higher sum.
        assert_eq!(Board::Controversial.order(votes((5, 4)), votes((2, 2))), Ordering::Less);
        assert_eq!(Board::Controversial.order(votes((5, 4)), votes((4, 5))), Ordering::Less);
        assert_eq!(Board::Controversial.order(votes((5, 4)), votes((5, 4))), Ordering::Equal);
    }

    #[test]
    fn names_lead_back() {
        for board in Board::iter() {
            assert_eq!(board.name().parse(), Ok(board));
        }
        for span in Span::iter() {
            assert_eq!(span.name().parse(), Ok(span));
        }
        assert!("Best".parse::<Board>().is_err());
        assert!("year".parse::<Span>().is_err());
    }
}
