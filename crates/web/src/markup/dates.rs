//! Times as people read them, in the language of the site. Days and clocks are UTC.

pub use tidings_domain::values::day::to_the_minute;

use super::fragments::written;
use jiff::tz::Offset;
use maud::Render;
use tidings_domain::values::{Day, Month, Timestamp};
use tidings_language::{formats, n, t};

/// When something was, in words: "2 hours ago" within a week, and the day after that ("23 Nov 2026").
pub fn ago(now: Timestamp, time: Timestamp) -> impl Render + Copy {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const WEEK: u64 = 7 * DAY;
    written(move |html| match now.seconds_since(time) {
        0..MINUTE => t!("just now").render_to(html),
        seconds @ MINUTE..HOUR => {
            n!(seconds / MINUTE, "{count} minute ago", "{count} minutes ago").render_to(html)
        }
        seconds @ HOUR..DAY => n!(seconds / HOUR, "{count} hour ago", "{count} hours ago").render_to(html),
        seconds @ DAY..WEEK => n!(seconds / DAY, "{count} day ago", "{count} days ago").render_to(html),
        _ => date(time).render_to(html),
    })
}

/// The day of a time: "3 Nov 2026".
pub fn date(time: Timestamp) -> String {
    let date = Offset::UTC.to_datetime(moment(time)).date();
    formats::date(date.year(), date.month().unsigned_abs(), date.day().unsigned_abs())
}

/// A day: "3 Nov 2026".
pub fn day(day: Day) -> String {
    date(day.start())
}

/// A month: "November 2026".
pub fn month(month: Month) -> String {
    let first = Offset::UTC.to_datetime(moment(month.first().start())).date();
    formats::month(first.year(), first.month().unsigned_abs())
}

/// A time as a calendar timestamp; 1970 if it is out of range.
pub fn moment(time: Timestamp) -> jiff::Timestamp {
    let seconds = i64::try_from(time.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
