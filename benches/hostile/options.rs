//! The options on the command line.

use clap::Parser;
use std::time::Duration;
use tidings_testing::program::StoreEngine;

/// How long an attack lasts.
const LASTING: Duration = Duration::from_secs(5);
/// How long it lasts in a quick run.
const QUICK: Duration = Duration::from_millis(1_500);

/// Attack a site with default limits, and see what it costs others.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --bench hostile --", bin_name = "cargo bench --bench hostile --")]
pub struct Options {
    /// Attack one engine only.
    #[arg(long)]
    engine: Option<StoreEngine>,
    /// Make only the attacks whose name contains this text.
    #[arg(long, value_name = "NAME", default_value = "")]
    attack: String,
    /// Short attacks, to check that the benchmark works.
    #[arg(long)]
    pub quick: bool,
    /// Write the figures into docs/benchmarks.md.
    #[arg(long)]
    pub write: bool,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// The engines to attack.
    pub fn engines(&self) -> impl Iterator<Item = StoreEngine> {
        StoreEngine::chosen(self.engine)
    }

    /// Whether an attack is to be made.
    pub fn includes(&self, attack: &str) -> bool {
        attack.contains(&self.attack)
    }

    /// How long an attack lasts.
    pub const fn lasting(&self) -> Duration {
        if self.quick { QUICK } else { LASTING }
    }
}
