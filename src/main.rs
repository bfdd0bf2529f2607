//! The `tidings` program: parse, load the settings, run the command.

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;
use tidings::cli::Cli;

/// Faster than the system's, and gives memory back: see `docs/decisions/0017-allocator.md`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidings: {error:#}");
            tidings::cli::exit_status(&error).into()
        }
    }
}
