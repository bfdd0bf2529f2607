//! The `tidings` program: parse, load the settings, run the command.

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;
use tidings::cli::{Cli, end};

/// Faster than the system's, and gives memory back: see `docs/decisions/0017-allocator.md`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Rights on new files that the program gives to nobody but its own user: they hold what members entrusted to it.
const OTHERS: u32 = 0o077;

fn main() -> ExitCode {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(OTHERS));
    let status = end::run(Cli::parse());
    // Each of them is below 256.
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}
