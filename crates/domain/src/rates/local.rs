//! Buckets in the memory of this server.

use super::bucket::{self, FullAt};
use super::{Bucket, Source, Spent};
use crate::values::clock::Moment;
use crate::values::limits::MAX_RATED_SOURCES;
use crate::values::rates::RatedAction;
use quick_cache::sync::Cache;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The buckets of a bounded number of sources. Beyond it, the source that has not been seen
/// for the longest time is forgotten, so its bucket is full when it comes again. Somebody
/// with so many addresses has as many bursts anyway; nobody else is refused because of them.
pub(super) struct LocalBuckets(Cache<(RatedAction, Source), Arc<Mutex<FullAt>>>);

impl LocalBuckets {
    /// Takes a token from each of the buckets, or from none.
    pub(super) fn take(&self, now: Moment, buckets: &[Bucket]) -> Result<(), Spent> {
        let states: Vec<Arc<Mutex<FullAt>>> = buckets.iter().map(|bucket| self.state_of(bucket)).collect();
        // Callers name the buckets in the same order, so that there is no deadlock.
        let mut states: Vec<MutexGuard<'_, FullAt>> =
            states.iter().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let mut after = Vec::with_capacity(states.len());
        for (bucket, state) in buckets.iter().zip(&states) {
            let taken = bucket::take(bucket.rate, **state, now);
            after.push(taken.map_err(|wait| Spent { bucket: *bucket, wait })?);
        }
        for (state, after) in states.iter_mut().zip(after) {
            **state = after;
        }
        Ok(())
    }

    /// The same for one bucket.
    pub(super) fn take_one(&self, now: Moment, bucket: &Bucket) -> Result<(), Spent> {
        let state = self.state_of(bucket);
        let mut full_at = state.lock().unwrap_or_else(PoisonError::into_inner);
        *full_at =
            bucket::take(bucket.rate, *full_at, now).map_err(|wait| Spent { bucket: *bucket, wait })?;
        Ok(())
    }

    fn state_of(&self, bucket: &Bucket) -> Arc<Mutex<FullAt>> {
        let key = (bucket.action, bucket.source);
        let Ok(state) = self.0.get_or_insert_with(&key, || Ok::<_, Infallible>(Arc::default()));
        state
    }
}

impl Default for LocalBuckets {
    fn default() -> Self {
        Self(Cache::new(MAX_RATED_SOURCES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::rates::Rate;
    use std::net::{IpAddr, Ipv4Addr};

    const NOW: Moment = Moment(1_800_000_000_000);

    fn bucket(action: RatedAction, address: u32, count: u32) -> Bucket {
        let source = Source::Address(IpAddr::V4(Ipv4Addr::from_bits(address)));
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
    fn the_number_of_sources_is_bounded() {
        let buckets = LocalBuckets::default();
        for address in 0..3 * u32::try_from(MAX_RATED_SOURCES).unwrap_or(0) {
            assert!(buckets.take_one(NOW, &bucket(RatedAction::Read, address, 1)).is_ok());
        }
        assert!(buckets.0.len() <= MAX_RATED_SOURCES, "{}", buckets.0.len());
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
