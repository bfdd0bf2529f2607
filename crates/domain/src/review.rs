//! The review queue, `review:queue`: items for review, the worst first.
//!
//! Actions of any wing add rows to it and take them out, in their own batches. The content of a row
//! is read from the thing itself, so a row is nothing but a place in the order: how much its
//! reasons weigh, then how long it has waited. Both are in the score.

use crate::values::{Thing, Timestamp};
use crate::{Result, Site, hooks, keys};
use std::sync::atomic::{AtomicU64, Ordering};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// How many rows wait, as far as this server knows; for the pages of moderators. Their rounds
/// read it along, so it costs none of its own.
pub(crate) struct WaitingRows(AtomicU64);

crate::process_state::process_state!(WaitingRows);

impl Default for WaitingRows {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

/// Stands for a number that has not been read.
const UNKNOWN: u64 = u64::MAX;

impl WaitingRows {
    /// The number that was read last; `None` if it may have changed since.
    pub(crate) fn last(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|rows| *rows != UNKNOWN)
    }

    /// Remembers how many rows wait.
    pub(crate) fn note(&self, rows: u64) {
        self.0.store(rows, Ordering::Relaxed);
    }

    /// An action has written to the queue.
    pub(crate) fn forget(&self) {
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// How many rows wait, for [`WaitingRows::note`].
pub(crate) fn count_waiting() -> impl Fetch<Value = u64> {
    read::sorted_count(keys::REVIEW_QUEUE).or_absent().apart()
}

/// The state of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueStatus {
    /// How many rows.
    pub rows: u64,
    /// Since when the oldest of them waits, of at most `COUNTED_ROWS`.
    pub oldest: Option<Timestamp>,
}

/// How many rows wait, and since when those of the first `COUNTED_ROWS` do.
pub(crate) struct Waiting {
    /// How many rows.
    pub(crate) rows: u64,
    /// The times.
    pub(crate) since: Vec<Timestamp>,
}

/// Reads the state of the queue. Rounds: 1.
pub async fn status(site: &Site) -> Result<QueueStatus> {
    let Waiting { rows, since } = waiting(site).await?;
    Ok(QueueStatus { rows, oldest: since.into_iter().min() })
}

/// Reads since when what waits does. Rounds: 1.
pub(crate) async fn waiting(site: &Site) -> Result<Waiting> {
    let rows = read::sorted_count(keys::REVIEW_QUEUE).or_absent();
    let places = read::sorted_range(keys::REVIEW_QUEUE, Order::Descending, 0, COUNTED_ROWS).or_absent();
    let (rows, places) = site.store.fetch((rows, places)).await?;
    let since = places.iter().filter_map(|(_, score)| Some(QueuePlace::from_score(*score)?.since));
    Ok(Waiting { rows, since: since.collect() })
}

/// Rows among which the oldest is looked for.
const COUNTED_ROWS: u64 = 10_000;

/// Seconds that a score has room for: until the year 2514.
const SECONDS: u64 = 1 << 34;
/// The highest weight that a score holds exactly.
const MAX_WEIGHT: u64 = 1 << 18;

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// How much the reasons to look weigh, in hundredths of a flag.
    pub weight: u64,
    /// When the row last changed.
    pub since: Timestamp,
}

impl QueuePlace {
    /// The weight of what waits for an answer and is not flagged: that of one flag.
    pub const ORDINARY: u64 = 100;

    /// The score in the queue: higher for more weight, then for an earlier time.
    pub fn as_score(self) -> f64 {
        let age = SECONDS - 1 - self.since.0.min(SECONDS - 1);
        (self.weight.clamp(1, MAX_WEIGHT) * SECONDS + age) as f64
    }

    /// The place with a score; `None` if no place has it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn from_score(score: f64) -> Option<Self> {
        let range = SECONDS as f64..((MAX_WEIGHT + 1) * SECONDS) as f64;
        if !range.contains(&score) {
            return None;
        }
        let whole = score as u64;
        Some(Self { weight: whole / SECONDS, since: Timestamp(SECONDS - 1 - whole % SECONDS) })
    }
}

/// Adds a row for something that waits for an answer: a held post, an application or an appeal.
/// A row of the same thing moves to the new place.
pub fn enqueue(batch: &mut Batch, thing: &Thing, now: Timestamp) {
    place(batch, thing, QueuePlace { weight: QueuePlace::ORDINARY, since: now });
    hooks::write(batch, &hooks::Event::Queue(thing.clone()));
}

/// Adds a row in a place, or moves it there.
pub fn place(batch: &mut Batch, thing: &Thing, place: QueuePlace) {
    batch.sorted_add(keys::REVIEW_QUEUE, thing.key(), place.as_score());
}

/// Takes the row of a thing out of the queue, if it has one: it was decided, or is gone.
pub fn settle(batch: &mut Batch, thing: &Thing) {
    batch.sorted_remove(keys::REVIEW_QUEUE, thing.key());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_score_and_back() {
        for weight in [1, 20, 100, 523, MAX_WEIGHT] {
            for since in [0, 1, 1_700_000_000, SECONDS - 1] {
                let place = QueuePlace { weight, since: Timestamp(since) };
                assert_eq!(QueuePlace::from_score(place.as_score()), Some(place));
            }
        }
        for score in [0.0, -1.0, 1_700_000_000.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(QueuePlace::from_score(score), None, "{score}");
        }
    }

    #[test]
    fn the_worst_comes_first_then_the_oldest() {
        let score = |weight, since| QueuePlace { weight, since: Timestamp(since) }.as_score();
        assert!(score(200, 1_700_000_000) > score(199, 1));
        assert!(score(100, 1_700_000_000) > score(100, 1_700_000_001));
    }
}
