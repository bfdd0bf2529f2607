//! Attacks on a site that runs with default limits: each drives a bound to its edge, while a
//! polite reader measures what others notice.
//!
//! Run it with `cargo bench --bench hostile`; `cargo bench --bench hostile -- --help` lists the
//! options. The attackers share the machine with the site, and come from addresses in
//! 127.0.0.0/8, some as a proxy for addresses of IPv6. Needs `redis-server`.
#![allow(clippy::unwrap_used)]
#![allow(
    // The numbers here are far within what any of these types holds.
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap
)]

mod accounts;
mod attack;
mod connection;
mod connections;
mod ipv6;
mod options;
mod posts;
mod reads;
mod store;
mod table;
mod target;
mod witness;

use attack::Attack;
use clap::Parser;
use options::Options;
use store::Filled;
use tidings_testing::figures;

/// The attacks, in the order of the table.
fn attacks() -> Vec<Attack> {
    [reads::attacks(), connections::attacks(), accounts::attacks(), posts::attacks(), ipv6::attacks()]
        .concat()
}

#[tokio::main]
async fn main() {
    let options = Options::parse();
    let heading = figures::heading();
    println!("{heading}");
    let mut sections = Vec::new();
    for engine in options.engines() {
        let filled = Filled::new(engine).await;
        let mut outcomes = Vec::new();
        for attack in attacks().iter().filter(|attack| options.includes(attack.name)) {
            eprintln!("{} on {}", attack.name, engine.name());
            outcomes.push(attack.make(&filled, options.lasting()).await);
        }
        let section = table::section(engine, &outcomes);
        figures::print(std::slice::from_ref(&section));
        sections.push(section);
    }
    if options.write {
        figures::write(&sections, &heading);
    }
}
