//! What the rates of reads cost: two servers of one store take turns, one that counts reads
//! and refuses none, and one whose rates are off.

use super::options::{Engine, Options};
use super::requests::{Request, write_list};
use super::run::load;
use super::server;
use super::store::Filled;
use std::time::Duration;
use tidings_testing::wrk::Measured;

/// Runs of each server.
const RUNS: usize = 15;
const RUN: Duration = Duration::from_secs(2);
/// More than a server can answer: nothing is refused.
const NO_REFUSALS: (&str, &str) = ("TIDINGS_RATES__READ_PER_ADDRESS", "1000000/1s");

/// Measures the front page for visitors, and prints what counting costs.
pub async fn measure(options: &Options) {
    // Two processes can serve one store on Redis only. The page is the same on both engines.
    let filled = Filled::new(Engine::Redis, options, 1).await;
    let log = filled.folder.join("server.log");
    let counting = server::start_with(&filled.url, &log, &[NO_REFUSALS]).await;
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
    let costs: Vec<f64> = with.iter().zip(&without).map(|(with, without)| cost(with, without)).collect();
    println!("\n| `/`, anonymous | requests a second, median |");
    println!("| --- | --- |");
    println!("| reads are counted | {:.0} |", median(with.iter().map(|run| run.per_second).collect()));
    println!("| rates are off | {:.0} |", median(without.iter().map(|run| run.per_second).collect()));
    println!("| cost, median of {} pairs | {:.1} % (at most 2) |", costs.len(), median(costs));
}

/// The time that counting adds to a request, in percent.
fn cost(with: &Measured, without: &Measured) -> f64 {
    (without.per_second / with.per_second - 1.0) * 100.0
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
