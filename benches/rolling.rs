//! A rolling restart: three servers behind haproxy are restarted in turn while people read and
//! write, until so many requests have been answered.
//!
//! `cargo bench --bench rolling [-- REQUESTS [READERS [WRITERS]]]`; needs `redis-server` and `haproxy`.

use std::process::ExitCode;
use std::time::Instant;
use tidings_testing::rolling::{People, run};
use tidings_testing::topology::{SERVERS, Topology};

const REQUESTS: usize = 100_000;
const PEOPLE: People = People { readers: 24, writers: 8 };

#[tokio::main]
async fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let requests = numbers.next().unwrap_or(REQUESTS);
    let readers = numbers.next().unwrap_or(PEOPLE.readers);
    let writers = numbers.next().unwrap_or(PEOPLE.writers);
    let mut topology = Topology::start(env!("CARGO_BIN_EXE_tidings"), &[]);
    let (mut restarts, began) = (0, Instant::now());
    let outcome = run(&mut topology, People { readers, writers }, |topology, traffic| {
        // At least each server once.
        while traffic.answered() < requests || restarts < SERVERS {
            topology.restart(restarts % SERVERS);
            restarts += 1;
        }
    })
    .await;
    println!("{restarts} restarts in {:.0?}, {readers} readers, {writers} writers", began.elapsed());
    println!("answered        {}", outcome.answered);
    println!("  of them writes {}", outcome.writes);
    println!("failed          {}", outcome.failed.len());
    println!("lost            {}", outcome.lost.len());
    println!("p50             {:.1?}", outcome.p50);
    println!("p99             {:.1?}", outcome.p99);
    println!("slowest answer  {:.1?}", outcome.slowest);
    println!("longest pause   {:.1?} without any answer", outcome.longest_pause);
    for failure in outcome.failed.iter().take(20) {
        println!("{failure:?}");
    }
    for write in outcome.lost.iter().take(20) {
        println!("lost: {write:?}");
    }
    if outcome.failed.is_empty() && outcome.lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
