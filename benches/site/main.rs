//! The whole site under load: the program in a process of its own, on each
//! engine, with the data of a busy community; `wrk` asks over loopback. Beside
//! each figure stands that of a bare axum route that gives the same answers,
//! measured in turn with it.
//!
//! `cargo bench --bench site` runs it, `cargo bench --bench site -- --help` tells
//! what can be chosen. The machine is shared by the server and the load. Needs
//! `wrk` and `redis-server`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bare;
#[path = "../dataset/mod.rs"]
mod dataset;
#[path = "../load/mod.rs"]
mod load;
mod options;
#[path = "../../src/keyspace/redis_server.rs"]
mod redis_server;
mod report;
mod requests;
mod rounds;
mod rows;
mod run;
mod server;
mod store;
mod votes;
mod wrk;

use clap::Parser;
use options::Options;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    if let Err(error) = wrk::demand() {
        panic!("{error}");
    }
    for engine in options.engines() {
        let measured = run::measure(engine, &options).await;
        report::print(&measured);
    }
}
