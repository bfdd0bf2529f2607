//! Days and moments as they are stored: UTC, days as dates, moments as
//! RFC 3339 with whole seconds.

use crate::values::Timestamp;
use crate::values::text_forms::{read_text, shown};
use jiff::tz::Offset;
use tidings_language::{Argument, Phrase, p};

const SECONDS_A_DAY: u64 = 86_400;

/// A day, UTC: written `2023-02-02`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u64);

/// The text is not a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a date like 2023-02-02")]
pub struct NotADay;

impl Day {
    /// The day of a moment.
    pub const fn of(time: Timestamp) -> Self {
        Self(time.0 / SECONDS_A_DAY)
    }

    /// The day after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The day before this one; the first of 1970 is its own.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Its first second.
    pub const fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(SECONDS_A_DAY))
    }

    /// The day as people read it: `29 Nov 2026`.
    pub fn in_words(self) -> String {
        moment(self.start()).strftime("%-d %b %Y").to_string()
    }

    /// The last `count` days up to this one, the earliest first.
    pub fn last(self, count: u64) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0.saturating_sub(count.saturating_sub(1))..=self.0).map(Self)
    }
}

const SECONDS_AN_HOUR: u64 = 3_600;

/// An hour, UTC: written `2023-02-02T09`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(u64);

impl Hour {
    /// The hour of a moment.
    pub const fn of(time: Timestamp) -> Self {
        Self(time.0 / SECONDS_AN_HOUR)
    }

    /// The hours since 1970.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Its first second.
    pub const fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(SECONDS_AN_HOUR))
    }

    /// The day that it is in.
    pub const fn day(self) -> Day {
        Day::of(self.start())
    }

    /// The last `count` hours up to this one, the earliest first.
    pub fn last(self, count: u64) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0.saturating_sub(count.saturating_sub(1))..=self.0).map(Self)
    }

    /// When it begins, as a clock shows it: `09:00`.
    pub fn on_the_clock(self) -> String {
        moment(self.start()).strftime("%H:00").to_string()
    }
}

shown!(Hour: |hour| moment(hour.start()).strftime("%Y-%m-%dT%H"));

shown!(Day: |day| moment(day.start()).strftime("%Y-%m-%d"));

read_text!(Day or NotADay: |text| {
    // Only the form that we write is accepted.
    let midnight = parse_moment(&format!("{text}T00:00:00Z")).ok()?;
    Some(Self::of(midnight)).filter(|day| day.to_string() == text)
});

fn moment(time: Timestamp) -> jiff::Timestamp {
    i64::try_from(time.0)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// A moment as it is stored and answered: `2023-02-02T09:36:03Z`.
pub fn written(time: Timestamp) -> String {
    moment(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment as people read it: `2 Feb 2023, 09:36 UTC`.
pub fn to_the_minute(time: Timestamp) -> Phrase<'static> {
    let at = Offset::UTC.to_datetime(moment(time));
    let (month, day) = (at.month().unsigned_abs(), at.day().unsigned_abs());
    p!(
        "{date}, {time} UTC",
        date = Argument::Date(at.year(), month, day),
        time = at.strftime("%H:%M").to_string()
    )
}

/// The text is not a time, or one before 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time like 2023-02-02T09:36:03Z")]
pub struct NotAMoment;

/// Reads an RFC 3339 time, with any offset. Fractions of a second are rounded
/// up: what happened at whole seconds is before or after as it was.
///
/// # Errors
/// [`NotAMoment`] when it is something else.
pub fn parse_moment(text: &str) -> Result<Timestamp, NotAMoment> {
    let moment: jiff::Timestamp = text.parse().map_err(|_| NotAMoment)?;
    let seconds = moment.as_second() + i64::from(moment.subsec_nanosecond() > 0);
    u64::try_from(seconds).map(Timestamp).map_err(|_| NotAMoment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        let time = Timestamp(1_675_330_563);
        assert_eq!(written(time), "2023-02-02T09:36:03Z");
        assert_eq!(Day::of(time).to_string(), "2023-02-02");
        for text in ["2023-02-02T09:36:03Z", "2023-02-02T10:36:03+01:00", "2023-02-02T09:36:02.25Z"] {
            assert_eq!(parse_moment(text), Ok(time), "{text}");
        }
        for bad in ["", "2023-02-02", "2023-02-02T09:36:03", "2023-02-30T09:36:03Z", "1969-12-31T00:00:00Z"] {
            assert_eq!(parse_moment(bad), Err(NotAMoment), "{bad:?}");
        }
    }

    #[test]
    fn hours_have_a_day_and_a_time() {
        let hour = Hour::of(Timestamp(1_675_330_563));
        assert_eq!((&*hour.to_string(), &*hour.on_the_clock()), ("2023-02-02T09", "09:00"));
        assert_eq!(hour.day().to_string(), "2023-02-02");
        let last: Vec<String> = hour.last(11).map(|hour| hour.to_string()).collect();
        assert_eq!((last.len(), &*last[0], &*last[10]), (11, "2023-02-01T23", "2023-02-02T09"));
    }

    #[test]
    fn days_are_dates() {
        let day: Day = "2024-03-01".parse().unwrap();
        let last: Vec<String> = day.last(3).map(|day| day.to_string()).collect();
        assert_eq!(last, ["2024-02-28", "2024-02-29", "2024-03-01"]);
        for bad in ["", "2024-3-1", "2024-02-30", "20240301", "2024-03-01T00:00:00Z", "yesterday"] {
            assert_eq!(bad.parse::<Day>(), Err(NotADay), "{bad:?}");
        }
    }
}
