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
pub mod failover;
pub mod figures;
pub mod link;
pub mod load;
pub mod program;
pub mod rolling;
pub mod routes;
pub mod topology;
pub mod wrk;

use std::panic::Location;
use std::time::{Duration, Instant};

/// Waits a little before the next look at what is awaited, and leaves the cores to other tests.
pub async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

/// Waits until something is so, a minute at most.
#[track_caller]
pub fn until(is_so: impl AsyncFn() -> bool) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so().await {
            assert!(Instant::now() < deadline, "{place}: it is not so after a minute");
            pause().await;
        }
    }
}
