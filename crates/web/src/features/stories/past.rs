//! The past: the best stories of a day or a month, and the way to them.

use super::lists::{ListAddress, NewsListPage, list_page};
use crate::error::{RequestError, Result};
use crate::limits::PAGE_ROWS;
use crate::markup::parts::empty_but;
use crate::markup::{Frame, Page, dates};
use crate::request::{PathOf, Start};
use maud::{Markup, html};
use serde::Deserialize;
use std::collections::BTreeMap;
use tidings_domain::news::past;
use tidings_domain::values::{Day, Month, Period, Timestamp};
use tidings_language::t;

/// Days that the page of the past links to.
const RECENT_DAYS: u64 = 7;
/// Years that the page of the past links to, the latest ones.
const LISTED_YEARS: usize = 40;

fn words(period: Period) -> String {
    match period {
        Period::Day(day) => dates::day(day),
        Period::Month(month) => dates::month(month),
    }
}

fn address(period: Period) -> String {
    format!("/past/{period}")
}

/// Where there are stories: from the day of the first one to the day of the visit.
#[derive(Clone, Copy)]
struct Reach {
    first: Day,
    today: Day,
}

impl Reach {
    fn new(first: Option<Day>, now: Timestamp) -> Self {
        let today = Day::of(now);
        Self { first: first.unwrap_or(today).min(today), today }
    }

    /// Whether a period may have stories.
    fn has(self, period: Period) -> bool {
        period.start() <= self.today.start() && period.end() >= self.first.start()
    }

    /// The months, the latest first, by year.
    fn months(self) -> BTreeMap<String, Vec<Month>> {
        let mut years: BTreeMap<String, Vec<Month>> = BTreeMap::new();
        let (mut month, first) = (Month::of(self.today), Month::of(self.first));
        loop {
            let year = month.to_string().chars().take_while(|c| *c != '-').collect();
            let is_new = !years.contains_key(&year);
            if is_new && years.len() == LISTED_YEARS {
                return years;
            }
            years.entry(year).or_default().push(month);
            if month <= first {
                return years;
            }
            month = month.previous();
        }
    }
}

/// The links around a day or a month.
fn around(period: Period, reach: Reach) -> Markup {
    let neighbour = |neighbour: Period, rel: &str, mark: &str| {
        html! {
            @if reach.has(neighbour) && neighbour != period {
                li { a href=(address(neighbour)) rel=(rel) { (mark) " " (words(neighbour)) } }
            }
        }
    };
    html! {
        nav.tabs.around aria-label=(t!("Days and months")) {
            ul {
                (neighbour(period.previous(), "prev", "←"))
                @match period {
                    Period::Day(day) => {
                        @let month = Month::of(day);
                        li { a href=(address(Period::Month(month))) { (dates::month(month)) } }
                    }
                    Period::Month(_) => { li { a href="/past" { (t!("All months")) } } }
                }
                (neighbour(period.next(), "next", "→"))
            }
        }
        @if let Period::Month(month) = period {
            nav aria-label=(t!("Days of the month")) {
                ul.days {
                    @for day in month.days() {
                        @let day_of_month = day.to_string();
                        @let number = day_of_month.rsplit('-').next().unwrap_or_default().trim_start_matches('0');
                        li {
                            @if reach.has(Period::Day(day)) {
                                a href=(address(Period::Day(day))) aria-label=(dates::day(day)) { (number) }
                            } @else {
                                span { (number) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// GET /past: links to days and months.
pub async fn index(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let first = past::first_day(&mut visit).await?;
    let reach = Reach::new(first, visit.now());
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let yesterday = reach.today.previous();
    let content = html! {
        p { (t!("The best stories of each day and month, by their votes. Days are UTC.")) }
        @if first.is_none() {
            (empty_but(t!("No stories yet."), ("/submit", t!("Submit the first one"))))
        }
        h2 { (t!("Days")) }
        ul.plain-list {
            @for day in reach.today.last(RECENT_DAYS).rev().filter(|day| reach.has(Period::Day(*day))) {
                li {
                    a href=(address(Period::Day(day))) {
                        @let day_in_words = dates::day(day);
                        @if day == reach.today { (t!("{day} (today)", day = day_in_words)) }
                        @else if day == yesterday { (t!("{day} (yesterday)", day = day_in_words)) }
                        @else { (day_in_words) }
                    }
                }
            }
        }
        h2 { (t!("Months")) }
        @for (year, months) in reach.months().into_iter().rev() {
            h3.year { (year) }
            ul.months {
                @for month in months {
                    li { a href=(address(Period::Month(month))) { (dates::month(month)) } }
                }
            }
        }
    };
    Ok(frame.headed(t!("Past stories"), &content))
}

/// The address of a day or month.
#[derive(Deserialize)]
pub struct PeriodPath {
    day: String,
    #[serde(default)]
    start: Start,
}

/// GET /past/:day and /past/:day/:start: the best of a day or month.
pub async fn period(
    PathOf(PeriodPath { day, start: Start(start) }): PathOf<PeriodPath>,
    mut page: Page,
) -> Result<Markup> {
    let period: Period = day.parse().map_err(|_| RequestError::NotFound)?;
    RequestError::NotFound.when(period.start() > page.visit.now())?;
    let stories = past::of_period(&mut page.visit, period, start, PAGE_ROWS).await?;
    let reach = Reach::new(past::first_day(&mut page.visit).await?, page.visit.now());
    let heading = t!("Best of {period}", period = words(period)).to_string();
    let base = address(period);
    let more = format!("{base}/");
    let address = ListAddress { first: &base, more: &more, size: PAGE_ROWS };
    let list = NewsListPage {
        before: around(period, reach),
        empty: (t!("No stories were submitted then."), ("/past", t!("Choose another day"))),
        ..NewsListPage::new(&heading, &stories, start, address)
    };
    list_page(&mut page, list).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    #[test]
    fn dates_are_words() {
        assert_eq!(words(Period::Day(day("2026-11-21"))), "21 Nov 2026");
        assert_eq!(dates::month(Month::of(day("2026-11-21"))), "November 2026");
    }

    #[test]
    fn links_lead_to_where_stories_can_be() {
        let reach = Reach { first: day("2026-10-30"), today: day("2026-11-21") };
        for (text, links, none) in [
            ("2026-11-21", &["/past/2026-11-20", "/past/2026-11"][..], &["/past/2026-11-22"][..]),
            ("2026-10-30", &["/past/2026-10-31", "/past/2026-10"], &["/past/2026-10-29"]),
            (
                "2026-11",
                &["/past/2026-10", "/past/2026-11-01", "/past"],
                &["/past/2026-12", "/past/2026-11-22"],
            ),
        ] {
            let html = around(text.parse().unwrap(), reach).into_string();
            let has = |link: &&str| html.contains(&format!(r#"href="{link}""#));
            assert!(links.iter().all(has) && !none.iter().any(has), "{text}: {html}");
        }
        let years = reach.months();
        assert_eq!(years["2026"].iter().map(Month::to_string).collect::<Vec<_>>(), ["2026-11", "2026-10"]);
        let wide = Reach { first: day("1970-01-01"), today: day("2026-11-21") };
        assert_eq!(wide.months().len(), LISTED_YEARS);
    }
}
