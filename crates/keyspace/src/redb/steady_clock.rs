//! The time by which keys expire. It never goes back: when the system's clock is set back, it
//! goes on evenly, ahead of the system's clock. So no key stays longer than it should.
//!
//! The store file keeps the last time, so that this also holds when the clock is set back
//! between two starts. When the system's clock is set forward, keys expire earlier: that cannot be
//! told from a time in which the server did not run.

use crate::EngineClock;
use parking_lot::Mutex;
use std::time::Instant;

/// Milliseconds by which the system's clock and the time that has passed may differ. More is a
/// clock that was set.
const TOLERANCE_MS: u64 = 1_000;

/// A clock that never goes back.
pub(super) struct SteadyClock {
    clock: EngineClock,
    state: Mutex<State>,
}

/// The last time that was told.
struct State {
    /// By the system's clock.
    wall: u64,
    /// By a clock that nobody sets.
    instant: Instant,
    /// By this clock, which is never behind the system's.
    steady: u64,
}

impl SteadyClock {
    /// A clock that begins at `least` if the system's clock is behind that.
    pub(super) fn new(clock: EngineClock, least: u64) -> Self {
        let wall = clock.now_ms();
        let state = State { wall, instant: Instant::now(), steady: wall.max(least) };
        Self { clock, state: Mutex::new(state) }
    }

    /// By how many seconds the system's clock is behind this one; 0 within the tolerance.
    pub(super) fn seconds_ahead(&self) -> u64 {
        let ahead = self.now_ms().saturating_sub(self.clock.now_ms());
        if ahead > TOLERANCE_MS { ahead / 1_000 } else { 0 }
    }

    /// The time now, in Unix milliseconds.
    pub(super) fn now_ms(&self) -> u64 {
        let mut state = self.state.lock();
        let (wall, instant) = (self.clock.now_ms(), Instant::now());
        let passed = match self.clock {
            EngineClock::System => milliseconds(instant, state.instant),
            // Time that a test adds counts as passed.
            EngineClock::Manual(_) => wall.saturating_sub(state.wall),
        };
        state.go_on(wall, passed);
        state.instant = instant;
        state.steady
    }
}

fn milliseconds(now: Instant, before: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(before).as_millis()).unwrap_or(u64::MAX)
}

impl State {
    /// Goes on to a time of the system's clock, after so many milliseconds.
    fn go_on(&mut self, wall: u64, passed: u64) {
        let ahead = self.steady.saturating_sub(self.wall);
        let expected = self.wall.saturating_add(passed);
        let ahead = if wall.abs_diff(expected) <= TOLERANCE_MS {
            ahead
        } else if wall < expected {
            // Set back.
            ahead.saturating_add(expected - wall)
        } else {
            // Set forward again, or the machine was asleep.
            ahead.saturating_sub(wall - expected)
        };
        // A correction within the tolerance may take the clock back a little.
        self.steady = self.steady.max(wall.saturating_add(ahead));
        self.wall = wall;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const NOW: u64 = 1_800_000_000_000;
    const DAY: u64 = 86_400_000;

    fn state() -> State {
        State { wall: NOW, instant: Instant::now(), steady: NOW }
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let mut state = state();
        state.go_on(NOW - DAY, 2_000);
        assert_eq!(state.steady, NOW + 2_000);
        state.go_on(NOW - DAY + 5_000, 5_000);
        assert_eq!(state.steady, NOW + 7_000);
        // And forward again.
        state.go_on(NOW + 8_000, 1_000);
        assert_eq!(state.steady, NOW + 8_000);
    }

    #[test]
    fn small_corrections_do_not_add_up() {
        let mut state = state();
        let mut wall = NOW;
        for _ in 0..1_000 {
            // The system's clock runs too slowly by a tenth.
            wall += 90;
            let before = state.steady;
            state.go_on(wall, 100);
            assert!(state.steady >= before);
        }
        assert_eq!(state.steady, wall);
        state.go_on(wall - 500, 0);
        assert_eq!(state.steady, wall);
    }

    #[test]
    fn a_clock_that_is_set_forward_is_followed() {
        let mut state = state();
        state.go_on(NOW + DAY, 1);
        assert_eq!(state.steady, NOW + DAY);
    }

    #[test]
    fn it_begins_no_earlier_than_the_last_write() {
        let manual = Arc::new(AtomicU64::new(NOW));
        let clock = SteadyClock::new(EngineClock::Manual(manual.clone()), NOW + DAY);
        assert_eq!(clock.now_ms(), NOW + DAY);
        manual.fetch_add(10, Ordering::SeqCst);
        assert_eq!(clock.now_ms(), NOW + DAY + 10);
        manual.fetch_sub(DAY, Ordering::SeqCst);
        assert_eq!(clock.now_ms(), NOW + DAY + 10);
        manual.fetch_add(5, Ordering::SeqCst);
        assert_eq!(clock.now_ms(), NOW + DAY + 15);
        let before = EngineClock::System.now_ms();
        assert!(SteadyClock::new(EngineClock::System, 0).now_ms() >= before);
    }
}
