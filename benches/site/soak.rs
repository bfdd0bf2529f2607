//! The mix for many minutes: whether the server's memory stays what it is.

use super::options::Engine;
use super::requests::{Request, write_list};
use super::rows::{MIXED, Mix};
use super::run::{check_votes, load};
use super::server::{self, Memory};
use super::store::Filled;
use std::time::Duration;

/// A minute is asked for in so many parts, each with requests of its own.
const PARTS: u64 = 4;

/// One minute of the mix.
pub struct Minute {
    pub per_second: f64,
    /// Of the slowest part.
    pub p99: Duration,
    pub memory: Memory,
}

/// Runs the mix for so many minutes.
pub async fn measure(engine: Engine, filled: &Filled, minutes: u64) -> Vec<Minute> {
    let server = server::start(&filled.url, &filled.folder.join("server.log")).await;
    let list = filled.folder.join("requests.txt");
    let mut mix = Mix::new(&filled.plan);
    let mut measured = Vec::new();
    for minute in 1..=minutes {
        let (mut per_second, mut p99) = (0.0, Duration::ZERO);
        for _ in 0..PARTS {
            let requests: Vec<Request> = mix.by_ref().take(MIXED).collect();
            write_list(&list, &requests);
            let run = load(server.address, &list, 0, Duration::from_secs(60 / PARTS)).await;
            check_votes(server.address, &requests, run.requests).await;
            per_second += run.per_second / PARTS as f64;
            p99 = p99.max(run.p99);
        }
        let memory = server.memory();
        eprintln!("{}: minute {minute}: {:.0} MiB", engine.name(), memory.resident);
        measured.push(Minute { per_second, p99, memory });
    }
    measured
}
