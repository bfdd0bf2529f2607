//! Days and months, UTC, by which the past is listed; and the ages of stories, by which the best up to now are.

use crate::values::text_forms::{named, read_text, shown};
use crate::values::{Day, Timestamp};
use std::fmt::Display;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// No month is longer, in days.
const LONGEST_MONTH: u64 = 31;

/// A month, UTC: written `2023-02`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    first: Day,
}

/// A day or a month: written `2023-02-02` or `2023-02`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    /// A day.
    Day(Day),
    /// A month.
    Month(Month),
}

/// The text is neither a day nor a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a date like 2023-02-02, nor a month like 2023-02")]
pub struct NotAPeriod;

impl Month {
    /// The month of a day.
    pub fn of(day: Day) -> Self {
        let text = day.to_string();
        let first = text.rsplit_once('-').and_then(|(month, _)| format!("{month}-01").parse().ok());
        // The first day of the month of a date is a date.
        Self { first: first.unwrap_or(day) }
    }

    /// Its first day.
    pub const fn first(self) -> Day {
        self.first
    }

    /// The month after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self::of((0..LONGEST_MONTH).fold(self.first, |day, _| day.next()))
    }

    /// The month before this one.
    #[must_use]
    pub fn previous(self) -> Self {
        Self::of(self.first.previous())
    }

    /// Its days, the first one first.
    pub fn days(self) -> impl Iterator<Item = Day> {
        let end = self.next().first;
        std::iter::successors(Some(self.first), |day| Some(day.next())).take_while(move |day| *day < end)
    }
}

shown!(Month: |month| month.first.to_string().rsplit_once('-').map_or("", |(month, _)| month));

impl Period {
    /// Its first second.
    pub const fn start(self) -> Timestamp {
        match self {
            Self::Day(day) => day.start(),
            Self::Month(month) => month.first.start(),
        }
    }

    /// Its last second.
    pub fn end(self) -> Timestamp {
        Timestamp(self.next().start().0.saturating_sub(1))
    }

    /// Whether a time is in it.
    pub fn has(self, time: Timestamp) -> bool {
        (self.start()..=self.end()).contains(&time)
    }

    /// The day or month after this one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Day(day) => Self::Day(day.next()),
            Self::Month(month) => Self::Month(month.next()),
        }
    }

    /// The day or month before this one.
    #[must_use]
    pub fn previous(self) -> Self {
        match self {
            Self::Day(day) => Self::Day(day.previous()),
            Self::Month(month) => Self::Month(month.previous()),
        }
    }

    /// The day and the month of a time.
    pub fn both_of(time: Timestamp) -> [Self; 2] {
        let day = Day::of(time);
        [Self::Day(day), Self::Month(Month::of(day))]
    }
}

shown!(Period: |period| match period {
    Period::Day(day) => day as &dyn Display,
    Period::Month(month) => month,
});

read_text!(Period or NotAPeriod: |text| {
    let day = text.parse().ok().map(Self::Day);
    day.or_else(|| Some(Self::Month(Month { first: format!("{text}-01").parse().ok()? })))
});

/// The most that has passed since a story was posted. A story has the least of the ages that it is within.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Age {
    /// 24 hours.
    Day,
    /// 7 days.
    Week,
    /// 30 days.
    Month,
    /// 365 days.
    Year,
    /// All time.
    All,
}

named!(Age);
shown!(Age: |age| age.name());

impl Age {
    /// Whether something posted at a time is within it.
    pub const fn has(self, posted: Timestamp, now: Timestamp) -> bool {
        match self.seconds() {
            Some(seconds) => now.seconds_since(posted) < seconds,
            None => true,
        }
    }

    /// Its seconds; `None` if it has no end.
    pub const fn seconds(self) -> Option<u64> {
        const DAY: u64 = 86_400;
        match self {
            Self::Day => Some(DAY),
            Self::Week => Some(7 * DAY),
            Self::Month => Some(30 * DAY),
            Self::Year => Some(365 * DAY),
            Self::All => None,
        }
    }

    /// The age of something posted at a time.
    pub fn of(posted: Timestamp, now: Timestamp) -> Self {
        Self::iter().find(|age| age.has(posted, now)).unwrap_or(Self::All)
    }

    /// The ages up to this one, the least first.
    pub fn up_to(self) -> impl Iterator<Item = Self> {
        Self::iter().filter(move |age| *age <= self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(text: &str) -> Period {
        text.parse().unwrap()
    }

    #[test]
    fn periods_are_dates_and_months() {
        for good in ["2026-11-21", "2026-11", "1970-01", "2024-02-29"] {
            assert_eq!(period(good).to_string(), good);
        }
        let invalid = "|2026|2026-13|2026-00|2026-1|2026-02-30|2026-11-21-01|26-11|2026-11-|x";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<Period>(), Err(NotAPeriod), "{bad:?}");
        }
    }

    #[test]
    fn a_period_knows_its_neighbours_and_its_seconds() {
        for (text, before, after, seconds) in [
            ("2024-02-29", "2024-02-28", "2024-03-01", 86_400),
            ("2026-12", "2026-11", "2027-01", 31 * 86_400),
            ("2026-02", "2026-01", "2026-03", 28 * 86_400),
            ("2024-01", "2023-12", "2024-02", 31 * 86_400),
        ] {
            let period = period(text);
            assert_eq!(
                (period.previous().to_string(), period.next().to_string()),
                (before.into(), after.into())
            );
            assert_eq!(period.end().0 - period.start().0 + 1, seconds, "{text}");
            let [day, month] = Period::both_of(period.end());
            assert!(text.starts_with(&month.to_string()) && day.to_string().starts_with(&month.to_string()));
        }
    }

    #[test]
    fn a_month_has_its_days() {
        let Period::Month(month) = period("2024-02") else { panic!() };
        let days: Vec<String> = month.days().map(|day| day.to_string()).collect();
        assert_eq!((days.len(), days[0].as_str(), days[28].as_str()), (29, "2024-02-01", "2024-02-29"));
    }

    #[test]
    fn a_story_has_the_least_age_that_has_it() {
        let now = Timestamp(400 * 86_400);
        for (seconds, age) in [
            (0, Age::Day),
            (86_399, Age::Day),
            (86_400, Age::Week),
            (7 * 86_400, Age::Month),
            (30 * 86_400, Age::Year),
            (365 * 86_400, Age::All),
        ] {
            assert_eq!(Age::of(Timestamp(now.0 - seconds), now), age, "{seconds}");
        }
        // A clock of another server may be ahead.
        assert_eq!(Age::of(Timestamp(now.0 + 9), now), Age::Day);
        assert_eq!(Age::Week.up_to().collect::<Vec<_>>(), [Age::Day, Age::Week]);
    }
}
