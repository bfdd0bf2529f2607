//! The decision about one token bucket (GCRA, the generic cell rate algorithm). It is a function of numbers: where
//! the state of the bucket is kept is not its business.

use crate::values::{Moment, Rate};
use std::time::Duration;

/// The state of a bucket: when it is full again, in Unix nanoseconds. It has as many tokens
/// fewer as would flow into it until then (GCRA's theoretical arrival time). 0 is a bucket
/// that nobody has used.
pub(crate) type FullAt = u64;

/// The servers of a site may differ by so much.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(2);

/// Takes a token. Returns the state afterwards, or how long it takes until there is a token.
///
/// An empty bucket is full after one period. One that is full only later was used before the
/// clock was set back: it counts as full, so that nobody waits for longer than a period.
pub(crate) fn take(rate: Rate, full_at: FullAt, now: Moment) -> Result<FullAt, Duration> {
    take_within(rate, full_at, now, rate.period())
}

/// The same for a bucket that may owe tokens, as [`charge`] leaves it.
pub(crate) fn take_owing(rate: Rate, full_at: FullAt, now: Moment) -> Result<FullAt, Duration> {
    take_within(rate, full_at, now, 2 * rate.period())
}

/// Takes so many tokens, whether or not they are there: what is missing is owed. A bucket owes at
/// most as many as it holds. Returns the state afterwards.
pub(crate) fn charge(rate: Rate, full_at: FullAt, now: Moment, tokens: u32) -> FullAt {
    let Some(refill) = rate.period().checked_div(rate.count()) else {
        return full_at;
    };
    let now = Duration::from_millis(now.0);
    let before = Duration::from_nanos(full_at).clamp(now, now + 2 * rate.period());
    let after = (before + refill.saturating_mul(tokens)).min(now + 2 * rate.period());
    nanoseconds(after, full_at)
}

/// `longest` is the time after which every bucket is full.
fn take_within(rate: Rate, full_at: FullAt, now: Moment, longest: Duration) -> Result<FullAt, Duration> {
    let refill = rate.period().checked_div(rate.count()).filter(|refill| !refill.is_zero());
    let Some(refill) = refill else { return Ok(full_at) };
    let (now, stored) = (Duration::from_millis(now.0), Duration::from_nanos(full_at));
    let is_possible = stored <= now + longest + CLOCK_DIFFERENCE;
    let before = if is_possible { stored.max(now) } else { now };
    // A token is there once all but one of a burst would flow in until the bucket is full.
    let wait = before.saturating_sub(refill * (rate.count() - 1)).saturating_sub(now);
    if wait.is_zero() { Ok(nanoseconds(before + refill, full_at)) } else { Err(wait) }
}

/// A time in Unix nanoseconds; another one beyond what a state can say.
fn nanoseconds(time: Duration, otherwise: FullAt) -> FullAt {
    u64::try_from(time.as_nanos()).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000_000;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_is_taken_at_once_and_refills_evenly() {
        let rate = rate("10/10m");
        let mut full_at = 0;
        for _ in 0..10 {
            full_at = take(rate, full_at, Moment(NOW)).unwrap();
        }
        assert_eq!(take(rate, full_at, Moment(NOW)), Err(Duration::from_secs(60)));
        assert_eq!(take(rate, full_at, Moment(NOW + 59_999)), Err(Duration::from_millis(1)));
        let after = take(rate, full_at, Moment(NOW + 60_000)).unwrap();
        assert_eq!(take(rate, after, Moment(NOW + 60_000)), Err(Duration::from_secs(60)));
        let full = (0..10).try_fold(full_at, |full_at, _| take(rate, full_at, Moment(NOW + 600_000)));
        assert_eq!(take(rate, full.unwrap(), Moment(NOW + 600_000)), Err(Duration::from_secs(60)));
    }

    #[test]
    fn what_is_charged_is_owed_up_to_a_whole_burst() {
        let rate = rate("10/10m");
        let at = |minutes: u64| Moment(NOW + minutes * 60_000);
        // Seven of ten are left.
        let after = charge(rate, 0, at(0), 3);
        let left = (0..)
            .scan(after, |full_at, _| take_owing(rate, *full_at, at(0)).map(|next| *full_at = next).ok());
        assert_eq!(left.count(), 7);
        // Nine are there, and six are owed.
        let owing = charge(rate, take_owing(rate, 0, at(0)).unwrap(), at(0), 15);
        assert_eq!(take_owing(rate, owing, at(0)), Err(Duration::from_secs(7 * 60)));
        assert!(take_owing(rate, owing, at(7)).is_ok());
        let most = charge(rate, 0, at(0), u32::MAX);
        assert_eq!(take_owing(rate, most, at(0)), Err(Duration::from_secs(11 * 60)));
        assert_eq!(charge(rate, most, at(0), 5), most);
        assert_eq!(charge(Rate::OFF, 7, at(0), 5), 7);
    }

    #[test]
    fn a_rate_that_is_off_always_has_a_token() {
        for _ in 0..3 {
            assert_eq!(take(Rate::OFF, 7, Moment(NOW)), Ok(7));
        }
    }

    #[test]
    fn a_bucket_from_before_the_clock_was_set_back_counts_as_full() {
        let rate = rate("1/10m");
        let full_at = take(rate, 0, Moment(NOW)).unwrap();
        assert!(take(rate, full_at, Moment(NOW - 2_000)).is_err());
        assert!(take(rate, full_at, Moment(NOW - 2_001)).is_ok());
    }

    proptest! {
        /// In any time, a bucket gives no more than its burst and what flows in.
        #[test]
        fn no_more_than_the_burst_and_what_flows_in(
            count in 1..50_u32,
            seconds in 1..1_000_u32,
            pauses in prop::collection::vec(0..5_000_u64, 1..200),
        ) {
            let rate = Rate::new(count, seconds);
            let (mut full_at, mut now, mut taken) = (0, NOW, 0_u64);
            for pause in pauses {
                now += pause;
                if let Ok(after) = take(rate, full_at, Moment(now)) {
                    (full_at, taken) = (after, taken + 1);
                }
                let flowed_in = (now - NOW) * u64::from(count) / (u64::from(seconds) * 1_000);
                prop_assert!(taken <= u64::from(count) + flowed_in + 1);
            }
        }

        /// A client that waits as long as the refusal says gets a token, and not earlier.
        #[test]
        fn the_wait_is_exact(count in 1..50_u32, seconds in 1..1_000_u32, taken in 0..50_u32, pause in 0..5_000_u64) {
            let rate = Rate::new(count, seconds);
            let mut full_at = 0;
            for _ in 0..taken {
                full_at = take(rate, full_at, Moment(NOW)).unwrap_or(full_at);
            }
            let now = NOW + pause;
            if let Err(wait) = take(rate, full_at, Moment(now)) {
                let milliseconds = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap();
                prop_assert!(take(rate, full_at, Moment(now + milliseconds)).is_ok());
                prop_assert!(take(rate, full_at, Moment(now + milliseconds - 1)).is_err());
            }
        }
    }
}
