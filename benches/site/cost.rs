//! The cost of an option of the server: two servers of one store take turns, one with the option
//! and one without it.

use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::run::load;
use super::server;
use super::store::Filled;
use std::time::Duration;
use tidings_testing::wrk::{Measured, median};

/// Runs of each server.
const RUNS: usize = 15;
const RUN: Duration = Duration::from_secs(2);

/// A setting whose cost is measured.
pub struct Compared {
    name: &'static str,
    setting: (&'static str, &'static str),
}

/// Reads are counted, and none is refused: that is more than a server can answer.
pub const RATES: Compared =
    Compared { name: "rates of reads", setting: ("TIDINGS_RATES__READ_PER_ADDRESS", "1000000/1s") };
/// Metrics are collected.
pub const METRICS: Compared =
    Compared { name: "metrics", setting: ("TIDINGS_METRICS__LISTEN", "127.0.0.1:0") };

/// Measures the front page for visitors, and prints what the setting costs.
pub async fn measure(options: &Options, compared: &Compared) {
    let Compared { name, setting } = compared;
    // Two processes can serve one store on Redis only. The page is the same on both engines.
    let filled = Filled::new(Engine::Redis, options, 1).await;
    let log = filled.folder.join("server.log");
    let counting = server::start_with(&filled.url, &log, &[*setting]).await;
    let free = server::start(&filled.url, &log).await;
    let list = filled.folder.join("requests.txt");
    write_list(&list, &[Request::get("/")]);
    let runs = if options.quick { 1 } else { RUNS };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let (first, second) =
            (load(counting.address, &list, 0, RUN).await, load(free.address, &list, 0, RUN).await);
        // The first run warms up.
        if run > 0 {
            with.push(first);
            without.push(second);
        }
    }
    let costs = with.iter().zip(&without).map(|(with, without)| cost(with, without));
    let per_second = |runs: &[Measured]| median(runs.iter().map(|run| run.per_second));
    println!("\n| `/`, anonymous | requests a second, median |");
    println!("| --- | --- |");
    println!("| with {name} | {:.0} |", per_second(&with));
    println!("| without | {:.0} |", per_second(&without));
    println!("| cost, median of {runs} pairs | {:.1} % (at most 2) |", median(costs));
}

/// The time that the setting adds to a request, in percent.
fn cost(with: &Measured, without: &Measured) -> f64 {
    (without.per_second / with.per_second - 1.0) * 100.0
}
