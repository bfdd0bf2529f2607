//! A polite reader, who asks for one page again and again, and notices how long it takes.

use super::connection::{Address, Connection, get};
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::time::MissedTickBehavior;

/// The time between two requests: 40 a second, within the limit of one address.
const BETWEEN: Duration = Duration::from_millis(25);
/// The address of the reader, which no attack uses.
const ADDRESS: Address = Address(60_000);
const PAGE: &str = "/latest/0";

/// The reader's observations.
#[derive(Debug, Clone)]
pub struct Noticed {
    /// How long the answers took, the fastest first.
    times: Vec<Duration>,
    /// Requests that were not answered with the page.
    pub failures: usize,
}

impl Noticed {
    /// The time that so many of a hundred answers took at most.
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let last = self.times.len().checked_sub(1)?;
        Some(self.times[(self.times.len() * percent / 100).min(last)])
    }
}

/// A reader at work, on a thread of its own, so that it does not wait for the attackers of this
/// process.
pub struct Witness(JoinHandle<Noticed>);

impl Witness {
    /// Reads for some time.
    pub fn start(site: SocketAddr, lasting: Duration) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self(thread::spawn(move || runtime.block_on(read(site, lasting))))
    }

    /// Waits for the end, and returns the reader's observations.
    pub async fn report(self) -> Noticed {
        let mut noticed = tokio::task::spawn_blocking(|| self.0.join().unwrap()).await.unwrap();
        noticed.times.sort_unstable();
        noticed
    }
}

async fn read(site: SocketAddr, lasting: Duration) -> Noticed {
    let mut noticed = Noticed { times: Vec::new(), failures: 0 };
    let mut connection = None;
    let mut ticks = tokio::time::interval(BETWEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let end = Instant::now() + lasting;
    while Instant::now() < end {
        ticks.tick().await;
        let began = Instant::now();
        let mut open = match connection.take() {
            Some(open) => open,
            None => match Connection::open(site, ADDRESS).await {
                Ok(open) => open,
                Err(_) => {
                    noticed.failures += 1;
                    continue;
                }
            },
        };
        match open.ask(&get(PAGE, None)).await {
            Ok(reply) if reply.status == 200 => {
                noticed.times.push(began.elapsed());
                connection = Some(open);
            }
            Ok(_) | Err(_) => noticed.failures += 1,
        }
    }
    noticed
}
