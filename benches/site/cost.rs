//! The cost of an option of the server: two servers of one store take turns, one with the option
//! and one without it.

use super::options::{Engine, Options};
use super::requests::write_list;
use super::rows::rows;
use super::run::Timed;
use super::server;
use super::store::Filled;
use std::time::Duration;
use tidings_testing::wrk::median;

/// Runs of each server.
const RUNS: usize = 15;
const RUN: Duration = Duration::from_secs(2);

/// A setting whose cost is measured.
pub struct Compared {
    name: &'static str,
    setting: (&'static str, &'static str),
    /// The row that is measured.
    row: &'static str,
    /// The most that the setting may cost, in percent.
    most: u8,
}

/// Reads are counted, and none is refused: that is more than a server can answer.
pub const RATES: Compared = Compared {
    name: "rates of reads",
    setting: ("TIDINGS_RATES__READ_PER_ADDRESS", "1000000/1s"),
    row: "/ anonymous",
    most: 2,
};
/// Metrics are collected.
pub const METRICS: Compared = Compared {
    name: "metrics",
    setting: ("TIDINGS_METRICS__LISTEN", "127.0.0.1:0"),
    row: "/ anonymous",
    most: 2,
};
/// The site speaks another language, on pages that are made anew for each request.
pub const LANGUAGE: Compared =
    Compared { name: "Italian", setting: ("TIDINGS_SITE__LANGUAGE", "it"), row: "/ logged in", most: 3 };

/// Measures pages of a row, and prints what the setting costs: the processor time of the program, which depends little on
/// what else runs.
pub async fn measure(options: &Options, compared: &Compared) {
    let Compared { name, setting, row, most } = compared;
    // Two processes can serve one store on Redis only. The page is the same on both engines.
    let filled = Filled::new(Engine::Redis, options, 1).await;
    let log = filled.folder.join("server.log");
    let with = server::start_with(&filled.url, &log, &[*setting]).await;
    let without = server::start(&filled.url, &log).await;
    let list = filled.folder.join("requests.txt");
    let measured = rows(&filled.plan).into_iter().find(|measured| measured.name == *row).unwrap();
    write_list(&list, &measured.requests);
    let runs = if options.quick { 1 } else { RUNS };
    let mut pairs = Vec::new();
    for run in 0..=runs {
        let pair = (Timed::of(&with, &list, RUN).await, Timed::of(&without, &list, RUN).await);
        // The first run warms up.
        if run > 0 {
            pairs.push(pair);
        }
    }
    let [with, without] = [|pair: &(Timed, Timed)| pair.0.time, |pair: &(Timed, Timed)| pair.1.time];
    println!("\n| {row} | processor time of a page, median |");
    println!("| --- | --- |");
    println!("| with {name} | {:.1} us |", median(pairs.iter().map(with)));
    println!("| without | {:.1} us |", median(pairs.iter().map(without)));
    let cost = median(pairs.iter().map(|pair| (with(pair) / without(pair) - 1.0) * 100.0));
    println!("| cost, median of {runs} pairs | {cost:.1} % (at most {most}) |");
}
