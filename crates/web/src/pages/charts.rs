//! Charts of votes as SVG, drawn on the server. Good votes point up and bad votes down, so
//! that the chart can be read without colours.
//!
//! The drawing stretches with the window and contains no text. The text is next to it, in its
//! accessible name, and in a table.

use super::parts::{self, counted};
use maud::{Markup, html};
use tidings_domain::sites::{DayOfVotes, Totals};
use tidings_domain::values::words::grouped_signed;

/// Units of the drawing for one day, and the part of them that the bar takes.
const DAY_WIDTH: usize = 10;
const BAR_WIDTH: usize = 8;
/// Units of the drawing from top to bottom.
const HEIGHT: f64 = 100.0;

/// "3 good votes and 1 bad vote".
#[must_use]
pub fn votes_text(totals: Totals) -> String {
    format!(
        "{} and {}",
        counted(totals.good().unsigned_abs(), "good vote", "good votes"),
        counted(totals.bad().unsigned_abs(), "bad vote", "bad votes")
    )
}

/// The votes of each day as bars, or a sentence if there are none.
#[must_use]
pub fn votes_per_day(days: &[DayOfVotes]) -> Markup {
    let voted: Vec<&DayOfVotes> = days.iter().filter(|day| day.totals.count > 0).collect();
    let all = days.iter().fold(Totals::default(), |all, day| Totals {
        sum: all.sum + day.totals.sum,
        count: all.count + day.totals.count,
    });
    let most = |votes: fn(Totals) -> i64| days.iter().map(|day| votes(day.totals)).max().unwrap_or(0);
    let (good, bad) = (most(Totals::good), most(Totals::bad));
    let summary = format!(
        "{} on {} of the last {} days; at most {} good and {} bad on one day",
        votes_text(all),
        voted.len(),
        days.len(),
        grouped_signed(good),
        grouped_signed(bad)
    );
    html! {
        figure.chart {
            figcaption {
                strong { "Votes per day" } " "
                span.key { span.swatch.good aria-hidden="true" {} "good (up)" } " "
                span.key { span.swatch.bad aria-hidden="true" {} "bad (down)" }
            }
            @if voted.is_empty() {
                p.empty { "No votes in the last " (days.len()) " days." }
            } @else {
                (bars(days, (good, bad), &summary))
                div.axis aria-hidden="true" {
                    @for day in days.first().into_iter().chain(days.last()) { span { (day.day) } }
                }
                p.hint { (summary) "." }
                (table(&voted))
            }
        }
    }
}

/// The bars themselves, as high as the most good and bad votes of a day need.
fn bars(days: &[DayOfVotes], (good, bad): (i64, i64), summary: &str) -> Markup {
    let unit = HEIGHT / number((good + bad).max(1));
    let ground = number(good) * unit;
    html! {
        svg role="img" aria-label=(summary) preserveAspectRatio="none"
            viewBox=(format!("0 0 {} {HEIGHT}", days.len() * DAY_WIDTH)) {
            @for (at, day) in days.iter().enumerate().filter(|(_, day)| day.totals.count > 0) {
                @let (up, down) = (number(day.totals.good()) * unit, number(day.totals.bad()) * unit);
                @let x = at * DAY_WIDTH + 1;
                g {
                    title { (day.day) ": " (votes_text(day.totals)) }
                    rect.reach x=(at * DAY_WIDTH) y="0" width=(DAY_WIDTH) height=(HEIGHT) {}
                    rect.good x=(x) y=(decimal(ground - up)) width=(BAR_WIDTH) height=(decimal(up)) {}
                    rect.bad x=(x) y=(decimal(ground)) width=(BAR_WIDTH) height=(decimal(down)) {}
                }
            }
            line.ground x1="0" x2=(days.len() * DAY_WIDTH) y1=(decimal(ground)) y2=(decimal(ground)) {}
        }
    }
}

fn table(voted: &[&DayOfVotes]) -> Markup {
    html! {
        details {
            summary { "Show as a table" }
            table {
                thead {
                    tr { th scope="col" { "day" } th.number scope="col" { "good" } th.number scope="col" { "bad" } }
                }
                tbody {
                    @for day in voted {
                        tr {
                            th scope="row" { (day.day) }
                            td.number { (parts::number(day.totals.good())) }
                            td.number { (parts::number(day.totals.bad())) }
                        }
                    }
                }
            }
        }
    }
}

/// The votes on a site as one bar, good ones first, as long as its share of
/// `most`. The numbers are next to it.
#[must_use]
pub fn votes_bar(totals: Totals, most: i64) -> Markup {
    let unit = HEIGHT / number(most.max(1));
    let (good, bad) = (number(totals.good()) * unit, number(totals.bad()) * unit);
    html! {
        svg.bar aria-hidden="true" preserveAspectRatio="none" viewBox=(format!("0 0 {HEIGHT} 10")) {
            rect.good x="0" y="0" width=(decimal(good)) height="10" {}
            rect.bad x=(decimal(good)) y="0" width=(decimal(bad)) height="10" {}
        }
    }
}

/// A number of votes as a length.
#[allow(clippy::cast_precision_loss)]
const fn number(votes: i64) -> f64 {
    votes as f64
}

/// A length as text.
fn decimal(length: f64) -> String {
    format!("{length:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::values::day::Day;

    fn days(figures: &[(i64, i64)]) -> Vec<DayOfVotes> {
        let last: Day = "2026-11-21".parse().unwrap();
        let days = last.last(figures.len() as u64).zip(figures);
        days.map(|(day, (sum, count))| DayOfVotes { day, totals: Totals { sum: *sum, count: *count } })
            .collect()
    }

    #[test]
    fn good_votes_are_above_the_line_and_bad_ones_below() {
        let chart = votes_per_day(&days(&[(0, 0), (3, 3), (-1, 1)])).into_string();
        // Three good votes and one bad one share the height.
        for part in [
            r#"<rect class="good" x="11" y="0.00" width="8" height="75.00">"#,
            r#"<rect class="bad" x="21" y="75.00" width="8" height="25.00">"#,
            r#"aria-label="3 good votes and 1 bad vote on 2 of the last 3 days; at most 3 good and 1 bad on one day""#,
            "<title>2026-11-20: 3 good votes and 0 bad votes</title>",
            "<th scope=\"row\">2026-11-21</th>",
            "<span>2026-11-19</span><span>2026-11-21</span>",
        ] {
            assert!(chart.contains(part), "{part} in {chart}");
        }
        assert!(!chart.contains(" style="), "{chart}");
    }

    #[test]
    fn without_votes_a_sentence_replaces_the_chart() {
        let chart = votes_per_day(&days(&[(0, 0), (0, 0)])).into_string();
        assert!(chart.contains("No votes in the last 2 days.") && !chart.contains("<svg"), "{chart}");
    }

    #[test]
    fn a_bar_shows_both_kinds_of_votes() {
        let bar = votes_bar(Totals { sum: 0, count: 4 }, 8).into_string();
        assert!(bar.contains(r#"<rect class="good" x="0" y="0" width="25.00""#), "{bar}");
        assert!(bar.contains(r#"<rect class="bad" x="25.00" y="0" width="25.00""#), "{bar}");
    }
}
