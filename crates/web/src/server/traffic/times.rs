//! Histograms of the times that answers took: a fine one in memory, and a small one that can
//! be stored.

use std::time::Duration;

/// The power of two of the shortest time that is told apart, in microseconds: 16 µs.
const LEAST_POWER: u32 = 4;
/// The power of two of the longest time, in microseconds: 67 s.
const MOST_POWER: u32 = 26;
/// Slots for each power of two.
const SLOTS_PER_POWER: usize = 8;
/// The slots of the fine histogram.
pub(super) const SLOTS: usize = (MOST_POWER - LEAST_POWER) as usize * SLOTS_PER_POWER;

/// The power of two of the first bound of the small histogram, in microseconds: 1.024 ms.
const FIRST_POWER: u32 = 10;
/// The power of two of its last bound: 33.6 s.
const LAST_POWER: u32 = 25;
/// The bins of a small histogram of times.
pub const TIME_BINS: usize = 2 + 2 * (LAST_POWER - FIRST_POWER) as usize;

/// How many answers took how long: each bin has those below its [`bin_bound`], and not below
/// that of the bin before.
pub type Times = [u64; TIME_BINS];

/// The slot of a time.
pub(super) fn slot_of(took: Duration) -> usize {
    let most = (1_u64 << MOST_POWER) - 1;
    let micros = u64::try_from(took.as_micros()).unwrap_or(most).clamp(1 << LEAST_POWER, most);
    let power = micros.ilog2();
    // Three bits after the first.
    let part = usize::try_from((micros >> (power - 3)) & 7).unwrap_or(0);
    (power - LEAST_POWER) as usize * SLOTS_PER_POWER + part
}

/// The end of a slot in microseconds.
fn slot_bound(slot: usize) -> u64 {
    let (power, part) = (slot / SLOTS_PER_POWER, slot % SLOTS_PER_POWER);
    (9 + part as u64) << (power + LEAST_POWER as usize - 3)
}

/// The end of a bin in a small histogram. The last one has no end; this is where it begins.
pub fn bin_bound(bin: usize) -> Duration {
    let bin = bin.min(TIME_BINS - 2) as u64;
    // Two bins for each power of two: up to one and a half, and the rest.
    Duration::from_micros((2 + bin % 2) << (u64::from(FIRST_POWER) - 1 + bin / 2))
}

/// The small histogram of what is in a fine one.
pub(super) fn bins_of(slots: &[u64; SLOTS]) -> Times {
    let mut times = [0; TIME_BINS];
    let mut bin = 0;
    for (slot, count) in slots.iter().enumerate() {
        while bin < TIME_BINS - 1 && Duration::from_micros(slot_bound(slot)) > bin_bound(bin) {
            bin += 1;
        }
        times[bin] += count;
    }
    times
}

/// The time within which a share of the answers in a small histogram were given, rounded up
/// to the end of a bin; zero without answers.
pub fn percentile(times: &Times, share: f64) -> Duration {
    position_of(times, share).map_or(Duration::ZERO, bin_bound)
}

/// The same in a fine histogram.
pub(super) fn slot_percentile(slots: &[u64; SLOTS], share: f64) -> Duration {
    position_of(slots, share).map_or(Duration::ZERO, |slot| Duration::from_micros(slot_bound(slot)))
}

/// Where so large a share of the counts is reached; `None` without any.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn position_of(counts: &[u64], share: f64) -> Option<usize> {
    let total: u64 = counts.iter().sum();
    // At least one, and all of them at most.
    let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_slot_that_ends_after_it() {
        for micros in (16..5_000).chain((1..600).map(|step| step * 100_003)) {
            let slot = slot_of(Duration::from_micros(micros));
            assert!(micros < slot_bound(slot), "{micros}");
            assert!(slot == 0 || micros >= slot_bound(slot - 1), "{micros}");
            // An eighth at most.
            assert!(slot_bound(slot) - micros <= micros / 8 + 1, "{micros}");
        }
        assert_eq!(slot_of(Duration::ZERO), 0);
        assert_eq!(slot_of(Duration::MAX), SLOTS - 1);
    }

    #[test]
    fn bins_are_made_of_whole_slots() {
        for slot in 0..SLOTS {
            let mut slots = [0; SLOTS];
            slots[slot] = 5;
            let times = bins_of(&slots);
            let bin = times.iter().position(|count| *count == 5).unwrap_or(usize::MAX);
            let end = Duration::from_micros(slot_bound(slot));
            assert!(end <= bin_bound(bin) || bin == TIME_BINS - 1, "{slot}");
            assert!(bin == 0 || end > bin_bound(bin - 1), "{slot}");
        }
        let bounds: Vec<u128> = (0..5).map(|bin| bin_bound(bin).as_micros()).collect();
        assert_eq!(bounds, [1_024, 1_536, 2_048, 3_072, 4_096]);
    }

    #[test]
    fn a_percentile_is_the_end_of_its_bin() {
        let mut times = [0; TIME_BINS];
        assert_eq!(percentile(&times, 0.99), Duration::ZERO);
        times[0] = 99;
        times[4] = 1;
        assert_eq!(percentile(&times, 0.99), bin_bound(0));
        times[4] = 2;
        assert_eq!(percentile(&times, 0.99), bin_bound(4));
        assert_eq!(percentile(&times, 0.0), bin_bound(0));
        assert_eq!(percentile(&times, 1.0), bin_bound(4));
    }
}
