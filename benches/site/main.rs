//! Load test of the whole site: the program in a process of its own, on each engine, with the
//! data of a busy community and requests by `wrk` over loopback. Each figure is compared with
//! that of a bare axum route that returns the same responses, measured alternately.
//!
//! Run it with `cargo bench --bench site`; `cargo bench --bench site -- --help` lists the
//! options. The server and the load share the machine. Needs `wrk` and `redis-server`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod backup;
mod bare;
mod cost;
mod document;
mod elsewhere;
mod growth;
mod options;
mod report;
mod requests;
mod rounds;
mod rows;
mod run;
mod server;
mod soak;
mod store;
mod votes;

use clap::Parser;
use growth::Growth;
use options::{Engine, Options};
use report::Results;
use store::Filled;
use tidings_testing::{figures, wrk};

#[tokio::main]
async fn main() {
    let options = Options::parse();
    if let Err(error) = wrk::demand() {
        panic!("{error}");
    }
    let heading = figures::heading();
    println!("{heading}");
    let costs = [
        (options.rates, &cost::RATES),
        (options.metrics, &cost::METRICS),
        (options.language, &cost::LANGUAGE),
    ];
    for (_, compared) in costs.iter().filter(|(is_wanted, _)| *is_wanted) {
        cost::measure(&options, compared).await;
    }
    if costs.iter().any(|(is_wanted, _)| *is_wanted) {
        return;
    }
    if options.backups {
        for engine in options.engines() {
            backup::measure(engine, &options).await;
        }
        return;
    }
    let mut sections = Vec::new();
    for engine in options.engines() {
        let measured = document::sections(&measure(engine, &options).await);
        figures::print(&measured);
        sections.extend(measured);
    }
    if options.write {
        figures::write(&sections, &heading);
    }
}

async fn measure(engine: Engine, options: &Options) -> Results {
    let filled = Filled::new(engine, options, 1).await;
    let measured = run::measure(engine, &filled, options).await;
    let times = options.times.unwrap_or(1);
    let growth = match options.times {
        Some(times) => growth::measure(engine, &filled, options, times).await,
        None => Growth::default(),
    };
    let soak = match options.soak {
        Some(minutes) => soak::measure(engine, &filled, minutes).await,
        None => Vec::new(),
    };
    Results { engine, filling: filled.filling, figures: measured, times, growth, soak }
}
