//! Failovers of the store: the primary is killed (`kill -9`) a hundred times while 64 members write, and then hangs
//! a hundred times until another has taken over (`SIGSTOP`, `SIGCONT`).
//!
//! `cargo bench --bench failover [-- FAILOVERS [WRITERS]]`; needs `redis-server` 7 or newer.

use tidings_testing::failover::{Fault, run, start_site};

const FAILOVERS: usize = 100;
const WRITERS: usize = 64;

#[tokio::main]
async fn main() {
    // Cargo adds `--bench`.
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let (failovers, writers) = (numbers.next().unwrap_or(FAILOVERS), numbers.next().unwrap_or(WRITERS));
    for fault in [Fault::Dies, Fault::Hangs] {
        measure(fault, failovers, writers).await;
    }
}

async fn measure(fault: Fault, failovers: usize, writers: usize) {
    let (server, mut redis) = start_site().await;
    let mut outcome = run(&server, &mut redis, fault, writers, failovers).await;
    outcome.gaps.sort_unstable();
    let median = outcome.gaps.get(outcome.gaps.len() / 2).copied().unwrap_or_default();
    let worst = outcome.gaps.last().copied().unwrap_or_default();
    println!(
        "{failovers} failovers, {writers} writers, the primary {}",
        match fault {
            Fault::Dies => "dies",
            Fault::Hangs => "hangs and wakes",
        }
    );
    println!("acknowledged          {}", outcome.acknowledged);
    println!("not sure              {}", outcome.unsure);
    println!("refused               {}", outcome.refused);
    println!("lost                  {}", outcome.lost.len());
    println!("half done             {}", outcome.half_done.len());
    println!("done though refused   {}", outcome.done_though_refused.len());
    println!("no writes for         {median:.1?} (median), {worst:.1?} (worst)");
    let all_is_well = outcome.lost.is_empty() && outcome.half_done.is_empty();
    assert!(all_is_well, "{:?} {:?}", outcome.lost, outcome.half_done);
}
