//! Time, given by the caller: whole Unix seconds, and milliseconds for events that happen
//! several times a second.

use crate::values::text_forms::{read_text, shown};
use std::str::FromStr;
use std::time::Duration;
use tidings_keyspace::EngineClock;

/// The end of the times with a fraction that can be read, in seconds: far beyond any date.
const MOST_DECIMAL_SECONDS: f64 = 1e15;

/// Seconds by which the clocks of servers of one site may differ.
const CLOCK_DIFFERENCE_SECONDS: u64 = 2;

/// A point in time, in whole seconds since 1970 (UTC).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time now by a clock.
    pub fn now(clock: &EngineClock) -> Self {
        Self(clock.now_ms() / 1000)
    }

    /// Seconds since an earlier time; 0 when that is in the future.
    pub const fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many hours later.
    pub const fn after_hours(self, hours: u64) -> Self {
        Self(self.0.saturating_add(hours.saturating_mul(3_600)))
    }

    /// Whether it is less than so many seconds after an earlier time. A time in the future is from
    /// before the clock was set back, and counts as long ago: so no limit lasts longer than its
    /// length. The clocks of several servers may differ by `CLOCK_DIFFERENCE_SECONDS`.
    pub const fn is_within(self, seconds: u64, earlier: Self) -> bool {
        let ahead = earlier.0.saturating_sub(self.0);
        self.seconds_since(earlier) < seconds && ahead <= CLOCK_DIFFERENCE_SECONDS
    }

    /// Whether the time has come to which something was put off, by at most so many seconds. A time that is
    /// further ahead is from before the clock was set back, and has come: so nothing waits for longer than it
    /// was put off.
    pub const fn has_come(self, due: Self, longest: u64) -> bool {
        due.0 <= self.0 || due.0 - self.0 > longest
    }

    /// The scores of times that [have come](Self::has_come). Scores may have fractions.
    pub const fn scores_that_have_come(self, longest: u64) -> [(f64, f64); 2] {
        let ahead = Self(self.0.saturating_add(longest).saturating_add(1)).as_score();
        [(f64::NEG_INFINITY, self.as_score() + 0.999), (ahead, f64::INFINITY)]
    }

    /// The time as the score of a sorted set; exact for any real date.
    pub const fn as_score(self) -> f64 {
        self.0 as f64
    }

    /// The second that a score of a sorted set is in.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub const fn from_score(score: f64) -> Self {
        // The cast saturates, and what is not a number becomes 0.
        Self(score as u64)
    }
}

/// A point in time, in milliseconds since 1970 (UTC). It is stored as seconds with up to
/// three decimal places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// The time now by a clock.
    pub fn now(clock: &EngineClock) -> Self {
        Self(clock.now_ms())
    }

    /// The point in time that a score stands for.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_score(score: f64) -> Self {
        // The cast saturates, and what is not a number becomes 0.
        Self((score * 1_000.0).round() as u64)
    }

    /// The beginning of a second.
    pub const fn from_timestamp(timestamp: Timestamp) -> Self {
        Self(timestamp.0.saturating_mul(1_000))
    }

    /// The point in time so much later.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)))
    }

    /// [`Timestamp::has_come`], to the millisecond.
    pub fn has_come(self, due: Self, longest: Duration) -> bool {
        due <= self || due > self.after(longest)
    }

    /// The second that it is in.
    pub const fn timestamp(self) -> Timestamp {
        Timestamp(self.0 / 1000)
    }

    /// The time in seconds, as the score of a sorted set.
    pub const fn as_score(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// A time in seconds as any program stores it: possibly with a fraction, which is dropped.
/// Python's `time.time()` has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalSeconds(pub Timestamp);

/// The text is not a number of seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time in seconds")]
pub struct NotSeconds;

read_text!(DecimalSeconds or NotSeconds: |text| {
    if let Ok(seconds) = text.parse() {
        return Some(Self(seconds));
    }
    let seconds: f64 = text.parse().ok()?;
    // Also false for infinity and for what is not a number.
    if !(0.0..MOST_DECIMAL_SECONDS).contains(&seconds) {
        return None;
    }
    Some(Self(Timestamp::from_score(seconds)))
});

shown!(Moment: |moment| moment.as_score());

shown!(Timestamp: |time| time.0);

impl FromStr for Timestamp {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_seconds() {
        for (milliseconds, text) in
            [(1_401_267_618_123, "1401267618.123"), (1_401_267_618_000, "1401267618"), (50, "0.05")]
        {
            let moment = Moment(milliseconds);
            assert_eq!(moment.to_string(), text);
            assert_eq!(text.parse(), Ok(moment.as_score()));
        }
        assert_eq!(Moment(1_999).timestamp(), Timestamp(1));
    }

    #[test]
    fn what_was_put_off_before_the_clock_was_set_back_has_come() {
        let now = Timestamp(1_800_000_000);
        let ranges = now.scores_that_have_come(60);
        for (due, has_come) in
            [(now.0 - 1, true), (now.0, true), (now.0 + 1, false), (now.0 + 60, false), (now.0 + 61, true)]
        {
            assert_eq!(now.has_come(Timestamp(due), 60), has_come, "{due}");
            let score = Timestamp(due).as_score();
            assert_eq!(
                ranges.iter().any(|(least, most)| (*least..=*most).contains(&score)),
                has_come,
                "{due}"
            );
            let [now, due] = [now, Timestamp(due)].map(Moment::from_timestamp);
            assert_eq!(now.has_come(due, Duration::from_secs(60)), has_come, "{due:?}");
        }
    }

    #[test]
    fn a_time_in_the_future_is_long_ago() {
        let now = Timestamp(1_800_000_000);
        for (earlier, is_within) in
            [(now.0, true), (now.0 - 9, true), (now.0 - 10, false), (now.0 + 2, true), (now.0 + 3, false)]
        {
            assert_eq!(now.is_within(10, Timestamp(earlier)), is_within, "{earlier}");
        }
        assert!(!now.is_within(0, now));
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        for (text, seconds) in [
            ("1795317575", 1_795_317_575),
            ("1795317575.25", 1_795_317_575),
            ("1.795317575e9", 1_795_317_575),
            ("0.99", 0),
        ] {
            assert_eq!(text.parse(), Ok(DecimalSeconds(Timestamp(seconds))), "{text}");
        }
        for text in ["", "x", "-1", "-0.5", "inf", "NaN", "1e15", "1e300", "1.2.3"] {
            assert_eq!(text.parse::<DecimalSeconds>(), Err(NotSeconds), "{text}");
        }
    }
}
