//! Buckets in the memory of this server.

use super::bucket::{self, FullAt};
use super::{Bucket, RequestSource, Spent};
use crate::values::{MAX_RATED_SOURCES, Moment, RatedAction};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::sync::Cache;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The buckets of a bounded number of sources. Beyond it, the source that has not been seen
/// for the longest time is forgotten, so its bucket is full when it comes again. Somebody
/// with so many addresses has as many bursts anyway; nobody else is refused because of them.
pub(super) struct LocalBuckets {
    states: Cache<(RatedAction, RequestSource), Arc<Mutex<FullAt>>>,
    clock: SteadyClock,
}

/// Milliseconds by which the times of two requests may differ, whichever comes first.
const REQUEST_DIFFERENCE_MS: u64 = 1_000;

/// The time as buckets count it: it goes on evenly when the system's clock is set back, so that
/// nobody waits for longer.
struct SteadyClock {
    started: Instant,
    /// The time of the last request, and milliseconds from the start until then.
    last: AtomicU64,
    last_after: AtomicU64,
    /// By how much the system's clock was set back altogether, in milliseconds.
    set_back: AtomicU64,
}

impl SteadyClock {
    fn new() -> Self {
        let zero = AtomicU64::default;
        Self { started: Instant::now(), last: zero(), last_after: zero(), set_back: zero() }
    }

    fn at(&self, now: Moment) -> Moment {
        let after = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = self.last.swap(now.0, Ordering::Relaxed);
        let last_after = self.last_after.swap(after, Ordering::Relaxed);
        let back = last.saturating_sub(now.0);
        if back > REQUEST_DIFFERENCE_MS {
            self.set_back.fetch_add(back + after.saturating_sub(last_after), Ordering::Relaxed);
        }
        Moment(now.0.saturating_add(self.set_back.load(Ordering::Relaxed)))
    }
}

impl LocalBuckets {
    /// Takes a token from each of the buckets, or from none.
    pub(super) fn take(&self, now: Moment, buckets: &[Bucket]) -> Result<(), Spent> {
        let now = self.clock.at(now);
        let states: Vec<Arc<Mutex<FullAt>>> = buckets.iter().map(|bucket| self.state_of(bucket)).collect();
        // Callers name the buckets in the same order, so that there is no deadlock.
        let mut states: Vec<MutexGuard<'_, FullAt>> = states.iter().map(|state| state.lock()).collect();
        let mut after = Vec::with_capacity(states.len());
        for (bucket, state) in buckets.iter().zip(&states) {
            let taken = bucket::take_owing(bucket.rate, **state, now);
            after.push(taken.map_err(|wait| Spent { bucket: *bucket, wait })?);
        }
        states.iter_mut().zip(after).for_each(|(state, after)| **state = after);
        Ok(())
    }

    /// The same for one bucket.
    pub(super) fn take_one(&self, now: Moment, bucket: &Bucket) -> Result<(), Spent> {
        let now = self.clock.at(now);
        let state = self.state_of(bucket);
        let mut full_at = state.lock();
        *full_at =
            bucket::take_owing(bucket.rate, *full_at, now).map_err(|wait| Spent { bucket: *bucket, wait })?;
        Ok(())
    }

    /// Whether there is a token in each of the buckets.
    pub(super) fn look(&self, now: Moment, buckets: &[Bucket]) -> Result<(), Spent> {
        let now = self.clock.at(now);
        for bucket in buckets {
            let state = self.state_of(bucket);
            let full_at = *state.lock();
            bucket::take_owing(bucket.rate, full_at, now).map_err(|wait| Spent { bucket: *bucket, wait })?;
        }
        Ok(())
    }

    /// Takes so many tokens from a bucket, whether or not they are there.
    pub(super) fn charge(&self, now: Moment, bucket: &Bucket, tokens: u32) {
        let now = self.clock.at(now);
        let state = self.state_of(bucket);
        let mut full_at = state.lock();
        *full_at = bucket::charge(bucket.rate, *full_at, now, tokens);
    }

    fn state_of(&self, bucket: &Bucket) -> Arc<Mutex<FullAt>> {
        let key = (bucket.action, bucket.source);
        let Ok(state) = self.states.get_or_insert_with(&key, || Ok::<_, Infallible>(Arc::default()));
        state
    }
}

impl Default for LocalBuckets {
    fn default() -> Self {
        Self { states: Cache::new(MAX_RATED_SOURCES), clock: SteadyClock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{CountedNetwork, Rate};
    use std::net::Ipv4Addr;

    const NOW: Moment = Moment(1_800_000_000_000);

    fn bucket(action: RatedAction, address: u32, count: u32) -> Bucket {
        let source = RequestSource::Network(CountedNetwork::Subscriber(Ipv4Addr::from_bits(address).into()));
        Bucket { action, source, rate: Rate::new(count, 600) }
    }

    #[test]
    fn a_refusal_takes_a_token_from_no_bucket() {
        let buckets = LocalBuckets::default();
        let (wide, narrow) = (bucket(RatedAction::Comment, 1, 3), bucket(RatedAction::Comment, 2, 1));
        assert!(buckets.take(NOW, &[wide, narrow]).is_ok());
        for _ in 0..10 {
            let spent = buckets.take(NOW, &[wide, narrow]).map_err(|spent| spent.bucket.source);
            assert_eq!(spent, Err(narrow.source));
        }
        assert!(buckets.take(NOW, &[wide]).is_ok());
        assert!(buckets.take(NOW, &[wide]).is_ok());
        assert!(buckets.take(NOW, &[wide]).is_err());
    }

    #[test]
    fn actions_and_sources_have_buckets_of_their_own() {
        let buckets = LocalBuckets::default();
        for (action, address) in
            [(RatedAction::Comment, 1), (RatedAction::Comment, 2), (RatedAction::Vote, 1)]
        {
            assert!(buckets.take(NOW, &[bucket(action, address, 1)]).is_ok());
            assert!(buckets.take(NOW, &[bucket(action, address, 1)]).is_err());
        }
    }

    #[test]
    fn nobody_waits_longer_when_the_clock_is_set_back() {
        for back in [1_000, 60_000, 86_400_000] {
            let buckets = LocalBuckets::default();
            let one = [bucket(RatedAction::Comment, 1, 1)];
            assert!(buckets.take(NOW, &one).is_ok());
            let after = |milliseconds: u64| buckets.take(Moment(NOW.0 - back + milliseconds), &one).is_ok();
            assert!(!after(0), "{back}");
            assert!(!after(599_000), "{back}");
            assert!(after(601_000), "{back}");
        }
    }

    #[test]
    fn the_number_of_sources_is_bounded() {
        let buckets = LocalBuckets::default();
        for address in 0..3 * u32::try_from(MAX_RATED_SOURCES).unwrap_or(0) {
            assert!(buckets.take_one(NOW, &bucket(RatedAction::Read, address, 1)).is_ok());
        }
        assert!(buckets.states.len() <= MAX_RATED_SOURCES, "{}", buckets.states.len());
    }

    #[test]
    fn concurrent_requests_take_no_more_than_there_is() {
        let buckets = LocalBuckets::default();
        let both = [bucket(RatedAction::Vote, 1, 1_000), bucket(RatedAction::Vote, 2, 100)];
        let take = || (0..100).filter(|_| buckets.take(NOW, &both).is_ok()).count();
        let taken: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
        });
        assert_eq!(taken, 100);
    }
}
