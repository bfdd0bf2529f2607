//! When another server that has failed is asked again.

/// How long after the first failure an attempt is, in seconds, each with the wait that is right until then.
const WAITS: [(u64, u64); 3] = [(60, 60), (6 * 60, 5 * 60), (36 * 60, 30 * 60)];
/// The later waits, in seconds.
pub const LAST_WAIT_SECONDS: u64 = 60 * 60;
/// How long attempts go on, in seconds.
pub const PATIENCE_SECONDS: u64 = 24 * 60 * 60;

/// The seconds until the next attempt, so many seconds after the first one; `None` to give up.
pub fn wait_after(seconds: u64) -> Option<u64> {
    if seconds >= PATIENCE_SECONDS {
        return None;
    }
    let wait = WAITS.iter().find(|(until, _)| seconds < *until).map_or(LAST_WAIT_SECONDS, |(_, wait)| *wait);
    // The last attempt is when the patience ends.
    Some(wait.min(PATIENCE_SECONDS - seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_after_1_5_and_30_minutes_and_end_after_a_day() {
        let (mut at, mut waits) = (0, Vec::new());
        while let Some(wait) = wait_after(at) {
            waits.push(wait / 60);
            at += wait;
        }
        assert_eq!(waits[..5], [1, 5, 30, 60, 60]);
        assert_eq!(at, PATIENCE_SECONDS);
    }
}
