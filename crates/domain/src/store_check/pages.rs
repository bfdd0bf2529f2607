//! Pages of keys with what they hold, which are read a little ahead of the walk that takes them.

use super::Part;
use crate::keys::families::{self, Family, Holds};
use crate::store_rules::subject::Subject;
use crate::values::clock::Moment;
use tidings_keyspace::{Answer, Fetch, KeyspaceError, Order, Read, Store, read};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Keys whose values are read together.
const KEYS_AT_ONCE: usize = 250;
/// Groups of keys that are read ahead.
const PAGES_AHEAD: usize = 4;
/// A value that may be large counts as many: a thread has up to 2,000 comments.
const LARGE_VALUE: usize = 25;
/// Members of a large sorted set that are read together.
pub(super) const MEMBERS_AT_ONCE: u64 = 1_000;
/// A value that could be read, or why not.
pub(super) type ReadValue = Result<Answer, KeyspaceError>;

/// Keys of a page, with what they hold.
#[derive(Default)]
pub(super) struct ReadPage {
    /// How many keys there are.
    pub(super) keys: u64,
    /// How many of them are of no family that is checked.
    pub(super) passed_over: u64,
    /// Each value and its expiry.
    pub(super) values: Vec<(Subject, ReadValue, ReadValue)>,
    /// Keys that are none of ours.
    pub(super) strangers: Vec<String>,
    /// The keys between which nothing can be read.
    pub(super) damaged: Option<(String, String)>,
}

/// Reads all keys with what they hold, a little ahead of what is taken.
pub(super) fn read_all(
    store: Store,
    part: Part,
    now: Moment,
) -> (mpsc::Receiver<Result<ReadPage, KeyspaceError>>, JoinHandle<()>) {
    let (sender, pages) = mpsc::channel(PAGES_AHEAD);
    let reading = tokio::spawn(async move {
        if let Err(error) = send_all(&store, part, now, &sender).await {
            // This fails if the walk has ended.
            let _ = sender.send(Err(error)).await;
        }
    });
    (pages, reading)
}

async fn send_all(
    store: &Store,
    part: Part,
    now: Moment,
    pages: &mpsc::Sender<Result<ReadPage, KeyspaceError>>,
) -> Result<(), KeyspaceError> {
    let mut cursor = None;
    loop {
        let names = store.scan_keys(cursor, KEYS_AT_ONCE).await?;
        let (mut damaged, mut strangers) = (names.damaged, names.not_text);
        let mut keys = names.keys.as_slice();
        loop {
            let (together, later) = keys.split_at(read_together(keys));
            let (damaged, strangers) = (damaged.take(), std::mem::take(&mut strangers));
            let mut page = ReadPage { damaged, strangers, ..ReadPage::default() };
            page.read(store, part, now, together).await?;
            if pages.send(Ok(page)).await.is_err() {
                return Ok(());
            }
            keys = later;
            if keys.is_empty() {
                break;
            }
        }
        cursor = names.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

impl ReadPage {
    /// Reads the values of some keys.
    async fn read(
        &mut self,
        store: &Store,
        part: Part,
        now: Moment,
        keys: &[String],
    ) -> Result<(), KeyspaceError> {
        let mut known = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(subject) = Subject::of_key(key, now) else {
                self.strangers.push(key.clone());
                continue;
            };
            if !part.has(subject.family) {
                self.passed_over += 1;
                continue;
            }
            known.push(subject);
        }
        let reads =
            known.iter().flat_map(|subject| [value_read(subject, 0), Read::Expiry(subject.key.clone())]);
        let mut outcomes = store.fetch(read::outcomes(reads).large()).await?.into_iter();
        for subject in known {
            let (Some(value), Some(expiry)) = (outcomes.next(), outcomes.next()) else { break };
            self.values.push((subject, value, expiry));
        }
        self.keys = u64::try_from(keys.len()).unwrap_or(0);
        Ok(())
    }
}

/// How many of these keys are read together.
fn read_together(keys: &[String]) -> usize {
    let weights = keys.iter().scan(0, |sum, key| {
        *sum += Family::of(key).map_or(1, |(family, _)| weight(family));
        Some(*sum)
    });
    weights.take_while(|sum| *sum <= KEYS_AT_ONCE).count().max(1).min(keys.len())
}

/// How many small values a value of a family counts as.
pub(super) fn weight(family: &Family) -> usize {
    if LARGE.contains(&family) { LARGE_VALUE } else { 1 }
}

/// The families whose values are read whole and may be large. Sorted sets are read in parts.
const LARGE: [&Family; 6] = [
    &families::GROUP,
    &families::IMPORTED_LINKS,
    &families::LINK_ORIGINS,
    &families::LINK_VOTES,
    &families::NEWS_DISCOUNTED,
    &families::THREAD_COMMENT,
];

/// The read of a value; of a sorted set, the members from `offset` on.
pub(super) fn value_read(subject: &Subject, offset: u64) -> Read {
    let key = subject.key.clone();
    match subject.family.holds {
        Holds::String => Read::String(key),
        Holds::Hash => Read::Hash(key),
        Holds::Set => Read::Members(key),
        Holds::SortedSet => {
            Read::SortedRange { key, order: Order::Ascending, offset, count: MEMBERS_AT_ONCE }
        }
    }
}
