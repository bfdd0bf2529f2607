//! The site under attack, as an operator starts it: with default limits.

use super::connection::{Address, Connection, get};
use super::store::Filled;
use std::net::SocketAddr;
use std::time::Duration;
use tidings_testing::program::{Program, Start};
use tokio::time::sleep;

/// The program.
pub const EXECUTABLE: &str = env!("CARGO_BIN_EXE_tidings");
/// How often memory is looked at.
const BETWEEN: Duration = Duration::from_millis(20);
/// The proxies that the site trusts.
const PROXIES: &str = "127.0.200.0/24";
/// Only what is unusual is logged; every limit keeps its default.
const SETTINGS: &[(&str, &str)] = &[("TIDINGS_LOG", "error"), ("TIDINGS_WEB__TRUSTED_PROXIES", PROXIES)];

/// A running site with its store.
pub struct Target<'a> {
    pub filled: &'a Filled,
    pub program: Program,
}

impl<'a> Target<'a> {
    /// Starts the site.
    pub async fn start(filled: &'a Filled) -> Self {
        let log = filled.log();
        let index = filled.folder.join("search");
        let search =
            [("TIDINGS_SEARCH__ENABLED", "true"), ("TIDINGS_SEARCH__FOLDER", index.to_str().unwrap())];
        let settings = [SETTINGS, &search].concat();
        let start = Start { executable: EXECUTABLE, store: &filled.url, log: &log, settings: &settings };
        let program = Program::start(start).await;
        Self { filled, program }
    }

    pub const fn site(&self) -> SocketAddr {
        self.program.address
    }

    /// Waits until the index of the site is complete.
    pub async fn wait_for_search(&self) {
        let request = get("/search?q=about&kind=comments", None);
        loop {
            let mut connection = Connection::open(self.site(), Address(599)).await.unwrap();
            let reply = connection.ask(&request).await.unwrap();
            if reply.status == 200 && !reply.body_text().contains("being prepared") {
                return;
            }
            sleep(BETWEEN).await;
        }
    }

    /// Looks at the memory until the end; answers the most, in MiB.
    pub async fn watch_memory(&self, lasting: Duration) -> f64 {
        let mut most: f64 = 0.0;
        let end = tokio::time::Instant::now() + lasting;
        while tokio::time::Instant::now() < end {
            most = most.max(self.program.memory().resident);
            sleep(BETWEEN).await;
        }
        most
    }
}
