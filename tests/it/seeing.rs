//! The information for the operator: health, metrics, and the log.

mod exposition;
mod health;
mod log;
mod metrics;

use std::net::SocketAddr;

use crate::client::Client;
use crate::program::Program;

/// The program with its log.
struct Watched(Program);

impl Watched {
    /// Starts it on a store.
    fn start(store: &str, settings: &[(&str, &str)]) -> Self {
        let settings = [&[("TIDINGS_LIMITS__ACCOUNT_CREATION_SECONDS", "0")], settings].concat();
        Self(Program::start_with(store, &settings))
    }

    fn client(&self) -> Client {
        Client::new(
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap(),
            self.0.address,
        )
    }

    /// The lines of the log so far.
    fn lines(&self) -> Vec<String> {
        self.0.log().lines().map(str::to_owned).collect()
    }

    /// The lines that have a text.
    fn lines_with(&self, text: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains(text)).collect()
    }

    /// Waits for the first line that has a text.
    async fn line(&self, text: &str) -> String {
        let first = async || self.lines_with(text).into_iter().next().ok_or_else(|| (text, self.lines()));
        tidings_testing::until_ok(first).await
    }

    /// The address of `/metrics`, from the log.
    async fn metrics_address(&self) -> SocketAddr {
        let line = self.line("metrics are at /metrics").await;
        let (_, address) = line.rsplit_once("address=").unwrap();
        address.trim().parse().unwrap()
    }
}
