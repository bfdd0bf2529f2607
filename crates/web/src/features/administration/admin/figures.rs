//! Charts of what happens on the site, as SVG drawn on the server: bars by the hour and by the
//! day. Every number is also in a table.

use crate::markup::charts::{self, Bar, HEIGHT};
use crate::markup::parts;
use crate::server::traffic::percentile;
use maud::{Markup, html};
use tidings_domain::activity::Figures;
use tidings_domain::counts::CountedAction;
use tidings_language::lists::enumerated;
use tidings_language::numbers::{decimal, number};
use tidings_language::{Message, Phrase, m, t};

/// The figures of an hour or a day.
pub struct Row<'a> {
    /// When it was.
    pub time: String,
    /// The counts of the hour or the day.
    pub figures: &'a Figures,
}

/// One number of each row.
#[derive(Clone, Copy)]
struct Column {
    name: &'static Message,
    of: fn(&Figures) -> u64,
    shown: fn(u64) -> String,
}

const fn count(name: &'static Message, of: fn(&Figures) -> u64) -> Column {
    Column { name, of, shown: number }
}

const REQUESTS: Column = count(m!("requests"), |figures| figures.answered.requests);
/// In microseconds.
const P99: Column = Column {
    name: m!("slowest 1%"),
    of: |figures| u64::try_from(percentile(&figures.answered.times, 0.99).as_micros()).unwrap_or(u64::MAX),
    shown: milliseconds,
};
const STORIES: Column = count(m!("stories"), |figures| figures.of(CountedAction::Story));
const COMMENTS: Column = count(m!("comments"), |figures| figures.of(CountedAction::Comment));
const TWEETS: Column = count(m!("posts"), |figures| figures.of(CountedAction::Tweet));
const VOTES: Column = count(m!("votes"), |figures| {
    [CountedAction::Vote, CountedAction::CommentVote, CountedAction::SiteVote]
        .map(|vote| figures.of(vote))
        .iter()
        .sum()
});
const SIGN_UPS: Column = count(m!("sign-ups"), |figures| figures.of(CountedAction::Signup));
const PEOPLE: Column = count(m!("people"), |figures| figures.people);
const ERRORS: Column = count(m!("errors (5xx)"), |figures| figures.answered.errors);
const REFUSED: Column = count(m!("refused (429)"), |figures| figures.answered.refused);

/// The columns of the table.
const COLUMNS: [Column; 10] =
    [REQUESTS, P99, STORIES, COMMENTS, TWEETS, VOTES, SIGN_UPS, PEOPLE, ERRORS, REFUSED];

/// A chart: its title, and what its bars are made of, from the ground up.
struct Chart(&'static Message, &'static [Column]);

const CHARTS: [Chart; 7] = [
    Chart(m!("Requests"), &[REQUESTS]),
    Chart(m!("Slowest 1% of pages"), &[P99]),
    Chart(m!("Stories, comments and posts"), &[STORIES, COMMENTS, TWEETS]),
    Chart(m!("Votes"), &[VOTES]),
    Chart(m!("Active people"), &[PEOPLE]),
    Chart(m!("Sign-ups"), &[SIGN_UPS]),
    Chart(m!("Errors and refusals"), &[ERRORS, REFUSED]),
];
/// The classes of the parts of a bar.
const CLASSES: [&str; 3] = ["one", "two", "three"];

/// A time in microseconds for people, in milliseconds or seconds.
#[allow(clippy::cast_precision_loss)]
fn milliseconds(micros: u64) -> String {
    match micros {
        0 => "0".to_owned(),
        1..10_000 => t!("{time} ms", time = decimal(micros as f64 / 1_000.0, 1)).to_string(),
        10_000..1_000_000 => t!("{time} ms", time = micros.div_ceil(1_000)).to_string(),
        _ => t!("{time} s", time = decimal(micros as f64 / 1_000_000.0, 1)).to_string(),
    }
}

/// The period of a row.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    Hour,
    Day,
}

/// Charts and a table of some rows, the earliest first.
pub fn charts(rows: &[Row<'_>], unit: Unit) -> Markup {
    html! {
        div.charts { @for chart in &CHARTS { (chart.draw(rows, unit)) } }
        details.figures {
            summary {
                (match unit {
                    Unit::Hour => t!("Show the numbers by the hour"),
                    Unit::Day => t!("Show the numbers by the day"),
                })
            }
            (table(rows, unit))
        }
    }
}

fn table(rows: &[Row<'_>], unit: Unit) -> Markup {
    let (label, time) = match unit {
        Unit::Hour => (t!("Numbers by the hour"), t!("hour (UTC)")),
        Unit::Day => (t!("Numbers by the day"), t!("day (UTC)")),
    };
    let numbers = COLUMNS.iter().map(|column| parts::Column::Numbers(column.name.text()));
    let columns: Vec<_> = [parts::Column::Words(time)].into_iter().chain(numbers).collect();
    let rows = html! {
        @for row in rows.iter().rev() {
            tr {
                th scope="row" { (row.time) }
                @for column in COLUMNS { td.number { ((column.shown)((column.of)(row.figures))) } }
            }
        }
    };
    parts::wide_table(label, &columns, &rows)
}

impl Chart {
    fn draw(&self, rows: &[Row<'_>], unit: Unit) -> Markup {
        let Self(title, columns) = self;
        let height = |row: &Row<'_>| -> u64 { columns.iter().map(|column| (column.of)(row.figures)).sum() };
        let shown = columns.first().map_or(number as fn(u64) -> String, |column| column.shown);
        let highest = rows.iter().max_by_key(|row| height(row));
        let most = highest.map_or(0, height);
        let keys: Vec<_> =
            columns.iter().zip(CLASSES).map(|(column, class)| (class, column.name.text())).collect();
        let content = html! {
            @if most == 0 {
                p.empty { (t!("None.")) }
            } @else {
                @let top = round_up(most);
                @let bars = rows.iter().map(|row| self.bar(row, top)).collect::<Vec<_>>();
                (charts::plot(&[shown(top), "0".to_owned()], &bars, None, &self.summary(rows, unit).to_string()))
            }
        };
        charts::figure(title.text(), if keys.len() > 1 { &keys } else { &[] }, &content)
    }

    fn bar(&self, row: &Row<'_>, top: u64) -> Bar {
        let Self(_, columns) = self;
        let numbers: Vec<_> = columns.iter().map(|column| (column.of)(row.figures)).collect();
        let words = in_words(columns, &numbers);
        Bar { time: row.time.clone(), words, parts: stacked(&numbers, top) }
    }

    /// The content of the chart, in words.
    fn summary(&self, rows: &[Row<'_>], unit: Unit) -> Phrase<'static> {
        let Self(title, columns) = self;
        let parts = columns.iter().map(|column| {
            let highest = rows.iter().max_by_key(|row| (column.of)(row.figures));
            let most = highest.map_or(0, |row| (column.of)(row.figures));
            let (most, time) =
                ((most > 0).then(|| (column.shown)(most)), highest.map_or("", |row| &row.time));
            match most {
                None => t!("no {what}", what = column.name.text()).to_string(),
                Some(most) => {
                    t!("{what} at most {most}, at {time}", what = column.name.text(), most, time).to_string()
                }
            }
        });
        let figures = parts.reduce(|first, second| t!("{first}; {second}", first, second).to_string());
        let (title, figures) = (title.text(), figures.unwrap_or_default());
        match unit {
            Unit::Hour => t!("{title} by the hour: {figures}", title, figures),
            Unit::Day => t!("{title} by the day: {figures}", title, figures),
        }
    }
}

/// "3 stories, 0 comments".
fn in_words(columns: &[Column], numbers: &[u64]) -> String {
    let parts = columns.iter().zip(numbers).map(|(column, number)| {
        let (what, number) = (column.name, (column.shown)(*number));
        if what.english == P99.name.english {
            t!("{what} {number}", what = what.text(), number).to_string()
        } else {
            t!("{number} {what}", number, what = what.text()).to_string()
        }
    });
    enumerated(parts).to_string()
}

/// The parts of a bar: class, upper end and height of each that is not empty.
#[allow(clippy::cast_precision_loss)]
fn stacked(numbers: &[u64], top: u64) -> Vec<(&'static str, f64, f64)> {
    let mut ground = HEIGHT;
    let mut parts = Vec::new();
    for (number, class) in numbers.iter().zip(CLASSES) {
        let height = *number as f64 / top.max(1) as f64 * HEIGHT;
        ground -= height;
        if *number > 0 {
            parts.push((class, ground.max(0.0), height));
        }
    }
    parts
}

/// The next number that is 1, 2 or 5 times a power of ten.
fn round_up(most: u64) -> u64 {
    charts::round_up(i64::try_from(most).unwrap_or(i64::MAX)).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::assert_has;
    use tidings_domain::activity::Answered;

    fn figures(requests: u64, slow: u64) -> Figures {
        let mut answered = Answered { requests, errors: 1, refused: 3, ..Answered::default() };
        (answered.times[0], answered.times[10]) = (requests - slow, slow);
        let mut figures = Figures::default();
        (figures.answered, figures.people) = (answered, 7);
        figures
    }

    #[test]
    fn bars_are_drawn_to_scale_and_every_number_is_in_the_table() {
        let all = [figures(10, 0), Figures::default(), figures(1_000, 11)];
        let times = ["08:00", "09:00", "10:00"];
        let rows: Vec<Row<'_>> =
            all.iter().zip(times).map(|(figures, time)| Row { time: time.to_owned(), figures }).collect();
        let html = charts(&rows, Unit::Hour).into_string();
        assert_has(
            &html,
            &[
                r#"aria-label="Requests by the hour: requests at most 1,000, at 10:00""#,
                r#"<rect class="one" x="21" y="0.00" width="8" height="100.00">"#,
                r#"<rect class="one" x="1" y="99.00" width="8" height="1.00">"#,
                "<title>08:00: 1 errors (5xx), 3 refused (429)</title>",
                "<td class=\"number\">1,000</td>",
                // 11 of 1,000 took long: more than one in a hundred.
                "<td class=\"number\">33 ms</td>",
                "<td class=\"number\">1.0 ms</td>",
                "<p class=\"empty\">None.</p>",
                "<th scope=\"row\">09:00</th>",
                // Errors below, refusals above them.
                r#"<rect class="one" x="1" y="80.00" width="8" height="20.00"></rect><rect class="two" x="1" y="20.00" width="8" height="60.00">"#,
            ],
        );
        assert!(!html.contains(" style="), "{html}");
        // Nothing is drawn for the hour in which nothing happened.
        assert!(!html.contains(r#"x="11""#), "{html}");
    }

    #[test]
    fn posts_of_all_kinds_are_in_one_bar() {
        let parts = stacked(&[3, 0, 2], 10);
        assert_eq!(parts, [("one", 70.0, 30.0), ("three", 50.0, 20.0)]);
    }

    #[test]
    fn times_are_in_the_unit_that_fits() {
        for (micros, text) in [
            (0, "0"),
            (1_024, "1.0 ms"),
            (1_536, "1.5 ms"),
            (12_288, "13 ms"),
            (786_432, "787 ms"),
            (1_572_864, "1.6 s"),
        ] {
            assert_eq!(milliseconds(micros), text);
        }
    }
}
