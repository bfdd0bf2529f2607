//! Code that the tests and benches share: servers to talk to, clients and browsers that
//! talk, and the site that is measured. Only dev-dependencies lead here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

pub use tidings_testing_redis as redis_server;

pub mod skips;

pub mod certificates;
pub mod oidc_provider;
pub mod page_server;
pub mod server;
pub mod smtp_server;

pub mod api_document;
pub mod client;
pub mod html;

pub mod axe;
pub mod browser;
pub mod chromedriver;
pub mod looks;

pub mod dataset;
pub mod engines;
pub mod failover;
pub mod figures;
pub mod link;
pub mod load;
pub mod program;
pub mod rolling;
pub mod routes;
pub mod topology;
pub mod wrk;

use std::fmt::Debug;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Waits a little before the next look at what is awaited, and leaves the cores to other tests.
pub async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

/// Waits until something is so, `PATIENCE` at most.
#[track_caller]
pub fn until(is_so: impl AsyncFn() -> bool) -> impl Future<Output = ()> {
    until_ok(async move || if is_so().await { Ok(()) } else { Err("it is not so") })
}

/// How long tests wait for what must happen. On a busy machine, a minute was too short.
const PATIENCE: Duration = Duration::from_secs(90);

/// Waits until a look is successful, `PATIENCE` at most. The error of a look says what there is instead.
#[track_caller]
pub fn until_ok<T, E: Debug>(mut look: impl AsyncFnMut() -> Result<T, E>) -> impl Future<Output = T> {
    let place = Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(other) => assert!(Instant::now() < deadline, "{place}: after {PATIENCE:?}, {other:?}"),
            }
            pause().await;
        }
    }
}
