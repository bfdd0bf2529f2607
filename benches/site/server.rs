//! The program under load.

use std::path::Path;
use tidings_testing::program::Start;
pub use tidings_testing::program::{Memory, Program as Server};
use tidings_testing::server::without_rates;

/// Settings that do not limit the load.
const SETTINGS: &[(&str, &str)] = &[
    ("TIDINGS_SERVER__CONNECTIONS_PER_ADDRESS", "0"),
    ("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0"),
    ("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0"),
    ("TIDINGS_LIMITS__SIGNUPS_PER_NETWORK", "0"),
    ("TIDINGS_LIMITS__SIGNUP_BURST", "0"),
    ("TIDINGS_TRUST__DAYS", "0"),
    ("TIDINGS_TRUST__KARMA", "0"),
    ("TIDINGS_LIMITS__NEW_VOTERS_PER_DAY", "0"),
    ("TIDINGS_LIMITS__SITE_VOTES_PER_NETWORK", "0"),
    ("TIDINGS_LIMITS__SITE_SCORE_NETWORKS", "0"),
    ("TIDINGS_LOG", "warn"),
    ("TIDINGS_SEARCH__ENABLED", "false"),
];

/// The settings, as the program reads them from its environment.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    let settings = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    settings.chain(without_rates())
}

/// Starts the program on a store and waits for its first response. It logs to a file.
pub async fn start(store: &str, log: &Path) -> Server {
    start_with(store, log, &[]).await
}

/// The same, with further settings as environment variables.
pub async fn start_with(store: &str, log: &Path, further: &[(&str, &str)]) -> Server {
    let settings: Vec<(String, String)> = settings().collect();
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    // Of two values of a variable the later one counts.
    let settings: Vec<_> = settings.chain(further.iter().copied()).collect();
    let executable = env!("CARGO_BIN_EXE_tidings");
    Server::start(Start { executable, store, log, settings: &settings }).await
}
