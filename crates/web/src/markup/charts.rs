//! Charts of bars as SVG, drawn on the server. Good votes on a site point up and bad votes down, so
//! that the chart can be read without colours.
//!
//! The drawing stretches with the window and contains no text. The labels of the axes are next
//! to it, and so is the text: in its accessible name, below it, and in a table.

use super::parts::{self, Column};
use maud::{Markup, html};
use tidings_domain::sites::{DayOfVotes, VoteTotals};
use tidings_language::numbers::number as grouped;
use tidings_language::{n, p, t};

/// Units of the drawing for one bar with its gap, and for the bar alone.
const STEP: usize = 10;
const BAR_WIDTH: usize = 8;
/// Units of the drawing from top to bottom.
pub const HEIGHT: f64 = 100.0;
/// The fewest days in a chart: one day alone would be one wide bar.
const FEWEST_DAYS: usize = 7;

/// A bar of a chart.
pub struct Bar {
    /// When it is.
    pub time: String,
    /// Its content in words, after the time.
    pub words: String,
    /// The class, the upper end and the height of each of its parts.
    pub parts: Vec<(&'static str, f64, f64)>,
}

/// A chart: its title, the classes of the parts of bars with their words, and what is below.
pub fn figure(title: &str, keys: &[(&str, &str)], content: &Markup) -> Markup {
    html! {
        figure.chart {
            figcaption {
                strong { (title) }
                @for (class, words) in keys {
                    " " span.key { span class={ "swatch " (class) } aria-hidden="true" {} (words) }
                }
            }
            (content)
        }
    }
}

/// The bars between their axes. `labels` are those of the numbers, from top to bottom, and `ground` is where 0 is, if
/// there is a line at it.
pub fn plot(labels: &[String], bars: &[Bar], ground: Option<f64>, summary: &str) -> Markup {
    let width = bars.len() * STEP;
    html! {
        div.plot {
            div.votes-axis aria-hidden="true" { @for label in labels { span { (label) } } }
            svg role="img" aria-label=(summary) preserveAspectRatio="none"
                viewBox=(format!("0 0 {width} {HEIGHT}")) {
                @for (at, bar) in bars.iter().enumerate().filter(|(_, bar)| !bar.parts.is_empty()) {
                    g {
                        title { (t!("{name}: {value}", name = &bar.time, value = &bar.words)) }
                        rect.reach x=(at * STEP) y="0" width=(STEP) height=(HEIGHT) {}
                        @for (class, y, height) in &bar.parts {
                            rect class=(class) x=(at * STEP + 1) y=(decimal(*y)) width=(BAR_WIDTH)
                                height=(decimal(*height)) {}
                        }
                    }
                }
                @if let Some(ground) = ground {
                    line.ground x1="0" x2=(width) y1=(decimal(ground)) y2=(decimal(ground)) {}
                }
            }
            div.days-axis aria-hidden="true" {
                @for bar in [bars.first(), bars.get(bars.len() / 2), bars.last()].into_iter().flatten() {
                    span { (bar.time) }
                }
            }
        }
    }
}

/// "3 good votes and 1 bad vote".
pub fn votes_text(totals: VoteTotals) -> String {
    let good = n!(totals.good().unsigned_abs(), "{count} good vote", "{count} good votes");
    let bad = n!(totals.bad().unsigned_abs(), "{count} bad vote", "{count} bad votes");
    t!("{good} and {bad}", good, bad).to_string()
}

/// The votes of each day as bars, or a sentence if there are none. The chart begins on the
/// first day with a vote.
pub fn votes_per_day(days: &[DayOfVotes]) -> Markup {
    let asked = days.len();
    let first = days.iter().position(|day| day.totals.count > 0).unwrap_or(0);
    let days = days.get(first.min(asked.saturating_sub(FEWEST_DAYS))..).unwrap_or_default();
    let voted: Vec<&DayOfVotes> = days.iter().filter(|day| day.totals.count > 0).collect();
    let all = days.iter().fold(VoteTotals::default(), |all, day| VoteTotals {
        sum: all.sum + day.totals.sum,
        count: all.count + day.totals.count,
    });
    let most = |votes: fn(VoteTotals) -> i64| days.iter().map(|day| votes(day.totals)).max().unwrap_or(0);
    let (good, bad) = (most(VoteTotals::good), most(VoteTotals::bad));
    let days_of_votes = match voted.len() {
        1 => p!("all on one day"),
        days => n!(
            days,
            "on {count} day, at most {good} good and {bad} bad on one",
            "on {count} days, at most {good} good and {bad} bad on one",
            good,
            bad,
        ),
    };
    let summary = n!(
        asked,
        "{good} good, {bad} bad in the last {count} day, {days_of_votes}",
        "{good} good, {bad} bad in the last {count} days, {days_of_votes}",
        good = all.good(),
        bad = all.bad(),
        days_of_votes,
    )
    .to_string();
    let content = html! {
        @if voted.is_empty() {
            p.empty { (n!(asked, "No votes in the last {count} day.", "No votes in the last {count} days.")) }
        } @else {
            @let scale = Scale::new(good, bad);
            @let bars = days.iter().map(|day| scale.bar(day)).collect::<Vec<_>>();
            (plot(&scale.labels(), &bars, Some(scale.ground()), &summary))
            p.hint { (t!("{summary}.", summary = &summary)) }
            (table(&voted))
        }
    };
    figure(t!("Votes per day"), &[("good", t!("good (up)")), ("bad", t!("bad (down)"))], &content)
}

/// The axis of votes: as many of them up and down as are drawn. Both directions have the same
/// scale; one without votes is left out.
#[derive(Debug, Clone, Copy)]
struct Scale {
    up: i64,
    down: i64,
}

impl Scale {
    fn new(good: i64, bad: i64) -> Self {
        let most = round_up(good.max(bad));
        Self { up: if good > 0 { most } else { 0 }, down: if bad > 0 { most } else { 0 } }
    }

    /// The length of one vote.
    fn unit(self) -> f64 {
        HEIGHT / number((self.up + self.down).max(1))
    }

    /// Where 0 is.
    fn ground(self) -> f64 {
        number(self.up) * self.unit()
    }

    fn bar(self, day: &DayOfVotes) -> Bar {
        let (up, down) = (number(day.totals.good()) * self.unit(), number(day.totals.bad()) * self.unit());
        let parts = [("good", self.ground() - up, up), ("bad", self.ground(), down)];
        let parts = parts.into_iter().filter(|(_, _, height)| *height > 0.0).collect();
        Bar { time: day.day.to_string(), words: votes_text(day.totals), parts }
    }

    /// The labels of the axis from top to bottom: the ends, and 0 where it is between them.
    fn labels(self) -> Vec<String> {
        let ends = [self.up, 0, -self.down];
        let mut labels: Vec<String> = ends.into_iter().map(grouped).collect();
        labels.dedup();
        labels
    }
}

/// The next number that is 1, 2 or 5 times a power of ten.
pub fn round_up(most: i64) -> i64 {
    let mut power = 1_i64;
    loop {
        let round = [power, power.saturating_mul(2), power.saturating_mul(5)];
        if let Some(round) = round.into_iter().find(|round| *round >= most) {
            return round;
        }
        power = power.saturating_mul(10);
    }
}

fn table(voted: &[&DayOfVotes]) -> Markup {
    let votes = [t!("votes" => "good"), t!("votes" => "bad")].map(Column::Numbers);
    let columns: Vec<_> = [Column::Words(t!("day"))].into_iter().chain(votes).collect();
    let rows = html! {
        @for day in voted {
            tr {
                th scope="row" { (day.day) }
                td.number { (parts::number(day.totals.good())) }
                td.number { (parts::number(day.totals.bad())) }
            }
        }
    };
    html! { details { summary { (t!("Show as a table")) } (parts::table(t!("Votes per day"), &columns, &rows)) } }
}

/// The votes on a site as one bar, good ones first, as long as its share of
/// `most`. The numbers are next to it.
pub fn votes_bar(totals: VoteTotals, most: i64) -> Markup {
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
    use tidings_domain::values::Day;

    fn days(figures: &[(i64, i64)]) -> Vec<DayOfVotes> {
        let last: Day = "2026-11-21".parse().unwrap();
        let days = last.last(figures.len() as u64).zip(figures);
        days.map(|(day, (sum, count))| DayOfVotes { day, totals: VoteTotals { sum: *sum, count: *count } })
            .collect()
    }

    #[test]
    fn good_votes_are_above_the_line_and_bad_ones_below() {
        let chart = votes_per_day(&days(&[(0, 0), (3, 3), (-1, 1)])).into_string();
        // The scale reaches from 5 good votes to 5 bad ones.
        for part in [
            r#"<rect class="good" x="11" y="20.00" width="8" height="30.00">"#,
            r#"<rect class="bad" x="21" y="50.00" width="8" height="10.00">"#,
            r#"aria-label="3 good, 1 bad in the last 3 days, on 2 days, at most 3 good and 1 bad on one""#,
            "<title>2026-11-20: 3 good votes and 0 bad votes</title>",
            "<th scope=\"row\">2026-11-21</th>",
            "<span>5</span><span>0</span><span>-5</span>",
            "<span>2026-11-19</span><span>2026-11-20</span><span>2026-11-21</span>",
        ] {
            assert!(chart.contains(part), "{part} in {chart}");
        }
        assert!(!chart.contains(" style="), "{chart}");
    }

    #[test]
    fn the_chart_begins_with_the_first_vote_but_has_a_week() {
        let mut figures = [(0, 0); 30];
        figures[10] = (1, 1);
        let chart = votes_per_day(&days(&figures)).into_string();
        assert!(
            chart.contains(r#"viewBox="0 0 200 100""#) && chart.contains("<span>2026-11-02</span>"),
            "{chart}"
        );
        assert!(chart.contains("1 good, 0 bad in the last 30 days, all on one day"), "{chart}");
        assert!(chart.contains("<span>1</span><span>0</span></div>"), "{chart}");
        let mut figures = [(0, 0); 30];
        figures[29] = (-1, 1);
        let chart = votes_per_day(&days(&figures)).into_string();
        assert!(
            chart.contains(r#"viewBox="0 0 70 100""#) && chart.contains("<span>2026-11-15</span>"),
            "{chart}"
        );
        assert!(chart.contains("<span>0</span><span>-1</span></div>"), "{chart}");
    }

    #[test]
    fn the_ends_of_the_scale_are_round_numbers() {
        for (most, round) in
            [(0, 1), (1, 1), (2, 2), (3, 5), (7, 10), (11, 20), (101, 200), (i64::MAX, i64::MAX)]
        {
            assert_eq!(round_up(most), round);
        }
    }

    #[test]
    fn without_votes_a_sentence_replaces_the_chart() {
        let chart = votes_per_day(&days(&[(0, 0), (0, 0)])).into_string();
        assert!(chart.contains("No votes in the last 2 days.") && !chart.contains("<svg"), "{chart}");
    }

    #[test]
    fn a_bar_shows_both_kinds_of_votes() {
        let bar = votes_bar(VoteTotals { sum: 0, count: 4 }, 8).into_string();
        assert!(bar.contains(r#"<rect class="good" x="0" y="0" width="25.00""#), "{bar}");
        assert!(bar.contains(r#"<rect class="bad" x="25.00" y="0" width="25.00""#), "{bar}");
    }
}
