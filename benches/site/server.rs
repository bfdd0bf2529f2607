//! The program under load.

use std::path::Path;
use tidings_testing::program::Start;
pub use tidings_testing::program::{Memory, Program as Server};

/// Settings that do not limit the load.
const SETTINGS: &[(&str, &str)] = &[
    ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0"),
    ("TIDINGS_LIMITS__NEW_VOTERS_PER_DAY", "0"),
    ("TIDINGS_LOG", "warn"),
];

/// The settings, as the program reads them from its environment.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}

/// Starts the program on a store and waits for its first response. It logs to a file.
pub async fn start(store: &str, log: &Path) -> Server {
    let executable = env!("CARGO_BIN_EXE_tidings");
    Server::start(Start { executable, store, log, settings: SETTINGS }).await
}
