//! An attack, and what it did to the site and to others.

use super::connection::{Address, Connection, Reply};
use super::store::Filled;
use super::target::Target;
use super::witness::{Noticed, Witness};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The most memory that a site may take, in MiB.
const MEMORY_MEBIBYTES: f64 = 300.0;
/// The time that 99 of 100 answers to others take at most.
const OTHERS_P99: Duration = Duration::from_millis(20);
/// The most that a store may grow while strangers attack: the writes that the limits allow, the
/// cached single topics, and the space that a file reserves.
const GROWTH_MEBIBYTES: f64 = 8.0;
const GROWTH_KEYS: f64 = 500.0;
/// The bounds of every attack; they are checked first.
pub const COMMON_CHECKS: usize = 5;

/// The beginning of a refusal by the API.
const REFUSAL: &[u8] = b"{\"status\":\"err\"";

/// How long an attacker waits who was not let in.
const BEFORE_ANOTHER: Duration = Duration::from_millis(5);

/// The function that runs an attack until its time is over.
pub type Run = for<'a> fn(&'a Target<'a>, Duration) -> BoxFuture<'a, Tally>;

/// An attack.
#[derive(Clone, Copy)]
pub struct Attack {
    pub name: &'static str,
    /// The attacker's requests, in words.
    pub sends: &'static str,
    pub run: Run,
}

/// A bound, and what was seen of it.
pub struct Check {
    pub bound: String,
    pub seen: String,
    pub is_kept: bool,
}

impl Check {
    /// A number that has a highest value.
    pub fn at_most(what: &str, seen: f64, most: f64, unit: &str) -> Self {
        Self {
            bound: format!("{what}: at most {most}{unit}"),
            seen: format!("{seen:.1}{unit}").replace(".0", ""),
            is_kept: seen <= most,
        }
    }

    /// A time that has a highest value; `None` is an answer that never came.
    pub fn within(what: &str, seen: Option<Duration>, most: Duration) -> Self {
        Self {
            bound: format!("{what}: below {} ms", most.as_millis()),
            seen: seen
                .map_or_else(|| "never".to_owned(), |seen| format!("{:.1} ms", seen.as_secs_f64() * 1e3)),
            is_kept: seen.is_some_and(|seen| seen < most),
        }
    }
}

/// The answers that an attacker got.
#[derive(Default)]
pub struct Tally {
    /// Requests that were answered with what they asked for.
    pub answered: u64,
    /// Requests that were refused with 429.
    pub limited: u64,
    /// Requests that were refused with another status.
    pub refused: u64,
    /// Connections that ended before an answer came.
    pub broken: u64,
    /// The bytes of the largest answer, as it was sent.
    pub largest: usize,
    /// Bounds of this attack alone.
    pub checks: Vec<Check>,
}

impl Tally {
    pub fn count(&mut self, reply: &std::io::Result<Reply>) {
        let Ok(reply) = reply else {
            self.broken += 1;
            return;
        };
        self.largest = self.largest.max(reply.body.len());
        match reply.status {
            429 => self.limited += 1,
            // The API refuses with the status 200.
            200..=399 if !reply.body.starts_with(REFUSAL) => self.answered += 1,
            _ => self.refused += 1,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.limited += other.limited;
        self.refused += other.refused;
        self.broken += other.broken;
        self.largest = self.largest.max(other.largest);
        self.checks.extend(other.checks);
    }

    pub fn with(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Bounds the requests that were answered, whatever they are called.
    pub fn with_answered(self, what: &str, most: f64) -> Self {
        let answered = self.answered as f64;
        self.with(Check::at_most(what, answered, most, ""))
    }

    /// Bounds the largest answer.
    pub fn with_largest(self, most_mebibytes: f64) -> Self {
        let largest = self.largest as f64 / f64::from(1 << 20);
        self.with(Check::at_most("largest answer", largest, most_mebibytes, " MiB"))
    }

    pub const fn sent(&self) -> u64 {
        self.answered + self.limited + self.refused + self.broken
    }
}

/// The outcome of an attack.
pub struct Outcome {
    pub attack: Attack,
    pub tally: Tally,
    pub memory_before: f64,
    pub memory_most: f64,
    /// How much the store has grown, in MiB and keys.
    pub growth: f64,
    pub new_keys: i64,
    pub noticed: Noticed,
    /// All bounds of the attack.
    pub checks: Vec<Check>,
}

impl Attack {
    /// Makes the attack on a site that has just started.
    pub async fn make(&self, filled: &Filled, lasting: Duration) -> Outcome {
        let size_before = filled.size().await;
        let mut target = Target::start(filled).await;
        let memory_before = target.program.memory().resident;
        let witness = Witness::start(target.site(), lasting);
        let (mut tally, memory_most) =
            tokio::join!((self.run)(&target, lasting), target.watch_memory(lasting));
        let noticed = witness.report().await;
        assert!(!target.program.has_ended(), "the site has ended; see {}", filled.log().display());
        drop(target);
        let size = filled.size().await;
        let (growth, new_keys) = (size.mebibytes_since(size_before), size.keys_since(size_before));
        let mut checks = vec![
            Check::at_most("memory", memory_most, MEMORY_MEBIBYTES, " MiB"),
            Check::within("p99 of others", noticed.percentile(99), OTHERS_P99),
            Check::at_most("others not answered", noticed.failures as f64, 0.0, ""),
            Check::at_most("growth of the store", growth, GROWTH_MEBIBYTES, " MiB"),
            Check::at_most("new keys", new_keys as f64, GROWTH_KEYS, ""),
        ];
        checks.append(&mut tally.checks);
        Outcome { attack: *self, tally, memory_before, memory_most, growth, new_keys, noticed, checks }
    }
}

/// Clients that send one request after another as fast as they can, until the time is over.
/// Each has its own connection, and opens another if that one is closed. `requests` makes the request of a client's
/// number, and of how many it has sent before.
pub async fn flood(
    target: &Target<'_>,
    from: Vec<Address>,
    lasting: Duration,
    requests: impl Fn(u64, u64) -> String + Send + Sync + 'static,
) -> Tally {
    let end = Instant::now() + lasting;
    let (site, requests) = (target.site(), Arc::new(requests));
    let mut clients = JoinSet::new();
    for (number, address) in (0..).zip(from) {
        let requests = requests.clone();
        clients.spawn(async move {
            let mut tally = Tally::default();
            let mut connection = None;
            for sent in 0.. {
                if Instant::now() >= end {
                    break;
                }
                let mut open = match connection.take() {
                    Some(open) => open,
                    None => match Connection::open(site, address).await {
                        Ok(open) => open,
                        Err(_) => {
                            tally.broken += 1;
                            sleep(BEFORE_ANOTHER).await;
                            continue;
                        }
                    },
                };
                let reply = open.ask(&requests(number, sent)).await;
                tally.count(&reply);
                if reply.is_err() {
                    sleep(BEFORE_ANOTHER).await;
                }
                connection = reply.is_ok().then_some(open);
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(done) = clients.join_next().await {
        tally.add(done.unwrap());
    }
    tally
}

/// Addresses of attackers, each as often as it is said.
pub fn addresses(first: u32, count: u32, times: usize) -> Vec<Address> {
    (first..first + count).flat_map(|number| std::iter::repeat_n(Address(number), times)).collect()
}
