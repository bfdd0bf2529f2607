//! What can be chosen on the command line.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures the whole site, as visitors meet it.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --bench site --", bin_name = "cargo bench --bench site --")]
pub struct Options {
    /// Measure one engine only.
    #[arg(long)]
    pub engine: Option<Engine>,
    /// Measure only rows whose name contains this; those of a larger site begin
    /// with the number as in 10x.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub rows: String,
    /// One short run of each: to see that it works, not for figures.
    #[arg(long)]
    pub quick: bool,
    /// Keep the embedded store in this folder, or use the one that is there.
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Beside it a site with so many times the data, to see how much slower it is.
    #[arg(long, value_name = "NUMBER")]
    pub times: Option<u64>,
    /// After all else run the mix for so long, and print the server's memory
    /// after each minute.
    #[arg(long, value_name = "MINUTES")]
    pub soak: Option<u64>,
    /// Write the figures into docs/benchmarks.md.
    #[arg(long)]
    pub write: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Where the site keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    Redb,
    Redis,
}

impl Engine {
    pub const ALL: [Self; 2] = [Self::Redb, Self::Redis];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Redb => "redb",
            Self::Redis => "redis",
        }
    }
}

impl Options {
    /// The engines to measure.
    pub fn engines(&self) -> impl Iterator<Item = Engine> {
        let chosen = self.engine;
        Engine::ALL.into_iter().filter(move |engine| chosen.is_none_or(|chosen| chosen == *engine))
    }
}
