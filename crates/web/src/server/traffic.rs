//! The counts and times of this server's answers: for `/metrics`, for `tidings status`, and for the
//! page of administrators.
//!
//! Every answer is noted once, whether it comes from a handler, from the cache, or refuses
//! the request. Noting one takes two additions to counters and a place in a histogram, and
//! no lock. Totals only grow; whoever wants to know what happened within a time subtracts two
//! of them.

mod routes;
mod times;

pub use times::{TIME_BINS, Times, bin_bound, percentile};

use crate::limits::TRAFFIC_WINDOW;
use crate::route::Route;
use axum::http::{Method, StatusCode};
use parking_lot::Mutex;
use routes::ByRoute;
use std::array;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidings_domain::activity::Answered as AnsweredFigures;
use times::{SLOTS, slot_of};

/// One answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The route that the request matched.
    pub route: Route,
    /// The method of the request.
    pub method: Method,
    /// The status of the answer.
    pub status: StatusCode,
    /// From the head of the request to the answer, before it is sent.
    pub took: Duration,
}

/// The counts and times of this server's answers since it started.
pub struct Traffic {
    started: Instant,
    counters: Counters,
    routes: ByRoute,
    /// Totals of the last minute, the oldest first; never empty.
    samples: Mutex<VecDeque<(Instant, Totals)>>,
    /// The totals when [`Traffic::take_minute`] was last called.
    taken: Mutex<Totals>,
}

/// The counts since the start.
struct Counters {
    times: [AtomicU64; SLOTS],
    errors: AtomicU64,
    refused: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        let times = array::from_fn(|_| AtomicU64::new(0));
        Self { times, errors: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }
}

/// Sums over all shards.
#[derive(Clone)]
struct Totals {
    times: [u64; SLOTS],
    errors: u64,
    refused: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { times: [0; SLOTS], errors: 0, refused: 0 }
    }
}

impl Totals {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            times: array::from_fn(|slot| self.times[slot].saturating_sub(earlier.times[slot])),
            errors: self.errors.saturating_sub(earlier.errors),
            refused: self.refused.saturating_sub(earlier.refused),
        }
    }

    fn requests(&self) -> u64 {
        self.times.iter().sum()
    }
}

impl Default for Traffic {
    fn default() -> Self {
        let started = Instant::now();
        Self {
            started,
            counters: Counters::default(),
            routes: ByRoute::default(),
            samples: Mutex::new(VecDeque::from([(started, Totals::default())])),
            taken: Mutex::default(),
        }
    }
}

impl Traffic {
    /// Notes an answer.
    pub fn note(&self, answered: &Answered) {
        let counters = &self.counters;
        counters.times[slot_of(answered.took)].fetch_add(1, Ordering::Relaxed);
        if answered.status.is_server_error() {
            counters.errors.fetch_add(1, Ordering::Relaxed);
        } else if answered.status == StatusCode::TOO_MANY_REQUESTS {
            counters.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.routes.note(answered);
    }

    /// How long this server has been running.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The requests in a second, on average over the last minute.
    pub fn requests_per_second(&self) -> f64 {
        let (elapsed, totals) = self.lately();
        // Exact below 2^53 requests in a minute.
        #[allow(clippy::cast_precision_loss)]
        let requests = totals.requests() as f64;
        if elapsed.is_zero() { 0.0 } else { requests / elapsed.as_secs_f64() }
    }

    /// The time within which 99 of 100 requests of the last minute were answered, at most an
    /// eighth too long; zero without requests.
    pub fn p99(&self) -> Duration {
        times::slot_percentile(&self.lately().1.times, 0.99)
    }

    /// The counts and times of the answers since the last call, or since the start. For the one task
    /// that keeps the figures of the administration page. See [`bin_bound`] and [`percentile`] for the times.
    pub fn take_minute(&self) -> AnsweredFigures {
        let totals = self.totals();
        let before = std::mem::replace(&mut *self.taken.lock(), totals.clone());
        let new = totals.since(&before);
        AnsweredFigures {
            requests: new.requests(),
            errors: new.errors,
            refused: new.refused,
            times: times::bins_of(&new.times),
        }
    }

    /// Remembers the totals of now, for the averages of the last minute.
    pub fn sample(&self, now: Instant) {
        let mut samples = self.samples.lock();
        samples.push_back((now, self.totals()));
        let is_old = |(then, _): &(Instant, Totals)| now.saturating_duration_since(*then) >= TRAFFIC_WINDOW;
        // The first one that is old enough is where the window begins.
        while samples.get(1).is_some_and(is_old) {
            samples.pop_front();
        }
    }

    fn lately(&self) -> (Duration, Totals) {
        let samples = self.samples.lock();
        match samples.front() {
            Some((then, before)) => (then.elapsed(), self.totals().since(before)),
            None => (self.started.elapsed(), self.totals()),
        }
    }

    fn totals(&self) -> Totals {
        let Counters { times, errors, refused } = &self.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals { times: times.each_ref().map(count), errors: count(errors), refused: count(refused) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: StatusCode, took: Duration) -> Answered {
        Answered { route: Route::default(), method: Method::GET, status, took }
    }

    #[test]
    fn a_minute_holds_what_was_answered_since_the_last_one() {
        let traffic = Traffic::default();
        for (status, milliseconds) in [
            (StatusCode::OK, 0),
            (StatusCode::NOT_FOUND, 3),
            (StatusCode::SERVICE_UNAVAILABLE, 2_000),
            (StatusCode::TOO_MANY_REQUESTS, 0),
        ] {
            traffic.note(&answered(status, Duration::from_millis(milliseconds)));
        }
        let minute = traffic.take_minute();
        assert_eq!((minute.requests, minute.errors, minute.refused), (4, 1, 1));
        assert_eq!(minute.times.iter().sum::<u64>(), 4);
        assert!(percentile(&minute.times, 0.99) >= Duration::from_secs(2));
        let next = traffic.take_minute();
        assert_eq!((next.requests, next.errors, next.refused), (0, 0, 0));
    }

    #[test]
    fn every_thread_is_counted() {
        const THREADS: u64 = 16;
        let traffic = Traffic::default();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        traffic.note(&answered(StatusCode::OK, Duration::from_millis(1)));
                    }
                });
            }
        });
        assert_eq!(traffic.take_minute().requests, 1_000 * THREADS);
    }

    #[test]
    fn averages_are_those_of_the_last_minute() {
        let traffic = Traffic::default();
        let start = traffic.started;
        for _ in 0..600 {
            traffic.note(&answered(StatusCode::OK, Duration::from_secs(3)));
        }
        for seconds in (5..=120).step_by(5) {
            traffic.sample(start + Duration::from_secs(seconds));
        }
        let samples = traffic.samples.lock();
        assert_eq!(samples.front().map(|(then, _)| *then), Some(start + Duration::from_secs(60)));
        assert_eq!(samples.len(), 13);
        drop(samples);
        // Answers before the last minute no longer count.
        assert_eq!(traffic.p99(), Duration::ZERO);
        traffic.note(&answered(StatusCode::OK, Duration::from_millis(40)));
        let p99 = traffic.p99();
        assert!(p99 >= Duration::from_millis(40) && p99 <= Duration::from_millis(45), "{p99:?}");
    }
}
