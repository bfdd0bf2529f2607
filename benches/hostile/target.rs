//! The site under attack, as an operator starts it: with default limits.

use super::store::{Filled, StoreSize};
use std::net::SocketAddr;
use std::time::Duration;
use tidings_testing::program::{Program, Start};
use tokio::time::sleep;

/// The program.
pub const EXECUTABLE: &str = env!("CARGO_BIN_EXE_tidings");
/// How often memory is looked at.
const BETWEEN: Duration = Duration::from_millis(20);
/// Only what is unusual is logged; every limit keeps its default.
const SETTINGS: &[(&str, &str)] = &[("TIDINGS_LOG", "error")];

/// A running site with its store.
pub struct Target<'a> {
    pub filled: &'a Filled,
    pub program: Program,
    before: StoreSize,
}

impl<'a> Target<'a> {
    /// Starts the site.
    pub async fn start(filled: &'a Filled) -> Self {
        let log = filled.log();
        let start = Start { executable: EXECUTABLE, store: &filled.url, log: &log, settings: SETTINGS };
        let program = Program::start(start).await;
        Self { filled, program, before: filled.size() }
    }

    pub const fn site(&self) -> SocketAddr {
        self.program.address
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

    /// How much the store has grown since the start, in MiB and keys.
    pub fn growth(&self) -> Growth {
        let after = self.filled.size();
        let keys = after.keys.zip(self.before.keys).map(|(after, before)| after as i64 - before as i64);
        Growth { mebibytes: (after.bytes as f64 - self.before.bytes as f64) / f64::from(1 << 20), keys }
    }
}

/// How much a store has grown.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    pub mebibytes: f64,
    pub keys: Option<i64>,
}
