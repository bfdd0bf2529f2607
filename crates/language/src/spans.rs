//! Spans of time as people read them: "15 hours".

use crate::{Phrase, n, p};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A unit of time, with its seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second = 1,
    Minute = 60,
    Hour = 3_600,
    Day = 86_400,
}

impl Unit {
    const fn seconds(self) -> u64 {
        self as u64
    }

    fn times(self, count: u64) -> Phrase<'static> {
        match self {
            Self::Second => n!(count, "{count} second", "{count} seconds"),
            Self::Minute => n!(count, "{count} minute", "{count} minutes"),
            Self::Hour => n!(count, "{count} hour", "{count} hours"),
            Self::Day => n!(count, "{count} day", "{count} days"),
        }
    }

    /// The largest unit that divides a span.
    fn of(seconds: u64) -> Self {
        [Self::Day, Self::Hour, Self::Minute]
            .into_iter()
            .find(|unit| seconds >= unit.seconds() && seconds.is_multiple_of(unit.seconds()))
            .unwrap_or(Self::Second)
    }
}

/// An exact span of time, in the largest unit that divides it: "90 seconds", "8 hours".
pub fn span(seconds: u64) -> Phrase<'static> {
    let unit = Unit::of(seconds);
    unit.times(seconds / unit.seconds())
}

/// How often something happens once in such a span: "an hour", "every 3 hours".
pub fn every(seconds: u64) -> Phrase<'static> {
    match seconds {
        1 => p!("a second"),
        MINUTE => p!("a minute"),
        HOUR => p!("an hour"),
        DAY => p!("a day"),
        _ => p!("every {span}", span = span(seconds)),
    }
}

/// How old something is, or how long it has been going on: never more than it is, in the largest
/// unit of which there are two: "61 seconds", "119 minutes", "2 hours".
pub fn age(seconds: u64) -> Phrase<'static> {
    let unit = [DAY, HOUR, MINUTE].into_iter().find(|unit| seconds >= 2 * unit).unwrap_or(1);
    span(seconds - seconds % unit)
}

/// How long to wait: never too short, and no more exact than people need it.
pub fn wait(seconds: u64) -> Phrase<'static> {
    let (minutes, hours) = (seconds.div_ceil(MINUTE).max(1), seconds.div_ceil(HOUR));
    if minutes < 120 && !minutes.is_multiple_of(60) {
        Unit::Minute.times(minutes)
    } else if hours < 48 && !hours.is_multiple_of(24) {
        Unit::Hour.times(hours)
    } else {
        Unit::Day.times(seconds.div_ceil(DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_in_the_largest_unit_that_divides_them() {
        for (seconds, text, often) in [
            (28_800, "8 hours", "every 8 hours"),
            (2_592_000, "30 days", "every 30 days"),
            (90, "90 seconds", "every 90 seconds"),
            (86_400, "1 day", "a day"),
            (3_600, "1 hour", "an hour"),
            (60, "1 minute", "a minute"),
            (1, "1 second", "a second"),
            (0, "0 seconds", "every 0 seconds"),
        ] {
            assert_eq!([span(seconds), every(seconds)].map(|words| words.in_english()), [text, often]);
        }
    }

    #[test]
    fn ages_are_rounded_down() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (7, "7 seconds"),
            (60, "1 minute"),
            (61, "61 seconds"),
            (119, "119 seconds"),
            (179, "2 minutes"),
            (3_600, "1 hour"),
            (3_661, "61 minutes"),
            (7_199, "119 minutes"),
            (7_205, "2 hours"),
            (172_799, "47 hours"),
            (259_199, "2 days"),
        ] {
            assert_eq!(age(seconds).in_english(), text);
        }
    }

    #[test]
    fn waits_are_rounded_up_to_what_people_need() {
        for (seconds, text) in [
            (0, "1 minute"),
            (1, "1 minute"),
            (61, "2 minutes"),
            (900, "15 minutes"),
            (3_600, "1 hour"),
            (3_661, "62 minutes"),
            (7_200, "2 hours"),
            (53_991, "15 hours"),
            (54_000, "15 hours"),
            (86_400, "1 day"),
            (90_000, "25 hours"),
            (180_000, "3 days"),
        ] {
            assert_eq!(wait(seconds).in_english(), text);
        }
    }
}
