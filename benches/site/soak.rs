//! The mix for many minutes: whether the server's memory stays what it is.

use super::options::Engine;
use super::requests::write_list;
use super::rows::mix;
use super::run::load;
use super::server::{Memory, Server};
use super::store::Filled;
use std::time::Duration;

/// One minute of the mix.
pub struct Minute {
    pub per_second: f64,
    pub p99: Duration,
    pub memory: Memory,
}

/// Runs the mix for so many minutes.
pub async fn measure(engine: Engine, filled: &Filled, minutes: u64) -> Vec<Minute> {
    let server = Server::start(&filled.url, &filled.folder.join("server.log")).await;
    let list = filled.folder.join("requests.txt");
    write_list(&list, &mix(&filled.plan));
    let mut measured = Vec::new();
    let mut first = 0;
    for minute in 1..=minutes {
        let run = load(server.address, &list, first, Duration::from_secs(60)).await;
        first += run.requests;
        let memory = server.memory();
        eprintln!("{}: minute {minute}: {:.0} MiB", engine.name(), memory.resident);
        measured.push(Minute { per_second: run.per_second, p99: run.p99, memory });
    }
    measured
}
