//! The options on the command line.

use clap::Parser;
use std::path::PathBuf;
pub use tidings_testing::program::StoreEngine as Engine;

/// Measure the whole site under load.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --bench site --", bin_name = "cargo bench --bench site --")]
pub struct Options {
    /// Measure one engine only.
    #[arg(long)]
    pub engine: Option<Engine>,
    /// Measure only rows whose name contains this text. Rows of a larger site start with its
    /// factor, such as 10x.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub rows: String,
    /// One short run of each row, to check that the benchmark works.
    #[arg(long)]
    pub quick: bool,
    /// Store the embedded database in this folder, or use the one that is there.
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Also measure a site with this many times the data, and the slowdown.
    #[arg(long, value_name = "NUMBER")]
    pub times: Option<u64>,
    /// At the end, run the mix for this long, and print the server's memory every minute.
    #[arg(long, value_name = "MINUTES")]
    pub soak: Option<u64>,
    /// Measure what the rates of reads cost, and nothing else.
    #[arg(long)]
    pub rates: bool,
    /// Measure backups and restores, and nothing else.
    #[arg(long)]
    pub backups: bool,
    /// Measure what metrics cost, and nothing else.
    #[arg(long)]
    pub metrics: bool,
    /// Measure what another language costs, and nothing else.
    #[arg(long)]
    pub language: bool,
    /// Write the figures into docs/benchmarks.md.
    #[arg(long)]
    pub write: bool,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// The engines to measure.
    pub fn engines(&self) -> impl Iterator<Item = Engine> {
        Engine::chosen(self.engine)
    }
}
