//! The `tidings` program: parse, load the settings, run the command.

use clap::Parser;
use mimalloc::MiMalloc;
use std::process::ExitCode;
use tidings::cli::Cli;

/// Faster than the system's, and gives memory back: pages are many small texts.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    #[cfg(unix)]
    give_memory_back_soon();
    run()
}

#[tokio::main]
async fn run() -> ExitCode {
    let cli = Cli::parse();
    tidings::cli::log_to_stderr();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidings: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Lets the allocator hold freed memory for 10 ms and not for a second: a busy site with
/// long threads takes 30 MiB less. It reads that from the environment before `main`, so
/// the program starts itself once more, in the same process.
#[cfg(unix)]
fn give_memory_back_soon() {
    use std::os::unix::process::CommandExt;
    const DELAY: &str = "MIMALLOC_PURGE_DELAY";
    let mut arguments = std::env::args_os();
    if let (None, Ok(program), Some(name)) =
        (std::env::var_os(DELAY), std::env::current_exe(), arguments.next())
    {
        // Returns only when it cannot be done. Then more memory is held, and that is all.
        let _ = std::process::Command::new(program).arg0(name).args(arguments).env(DELAY, "10").exec();
    }
}
