//! Pages of keys with what they hold, which are read a little ahead of the walk that takes them.

use crate::Site;
use crate::keys::families::{self, Family, Holds};
use crate::store_rules::subject::{CheckedSite, Subject};
use crate::values::Moment;
use std::collections::HashSet;
use std::sync::Arc;
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
const MEMBERS_AT_ONCE: u16 = 1_000;

/// A key with what it holds, or a part of its members, or why that cannot be read.
pub(super) struct ReadKey {
    pub(super) subject: Subject,
    pub(super) value: Result<Answer, KeyspaceError>,
    /// `None` for a further part.
    pub(super) expiry: Option<Result<Answer, KeyspaceError>>,
}

/// Keys of a page, with what they hold.
#[derive(Default)]
pub(super) struct ReadPage {
    /// How many keys there are.
    pub(super) keys: u64,
    /// How many of them are of no family that is checked.
    pub(super) passed_over: u64,
    /// The keys that are checked.
    pub(super) values: Vec<ReadKey>,
    /// Keys that are none of ours.
    pub(super) strangers: Vec<String>,
    /// The keys between which nothing can be read.
    pub(super) damaged: Option<(String, String)>,
}

/// The names of the families that are looked at; `None` for all.
pub(super) type Families = Option<HashSet<&'static str>>;
type Pages = mpsc::Sender<Result<ReadPage, KeyspaceError>>;

/// Reads all keys with what they hold, a little ahead of what is taken.
pub(super) fn read_all(
    site: &Site,
    families: Families,
    now: Moment,
) -> (mpsc::Receiver<Result<ReadPage, KeyspaceError>>, JoinHandle<()>) {
    let (sender, pages) = mpsc::channel(PAGES_AHEAD);
    let store = site.store.clone();
    let of = Arc::new(CheckedSite { now, address: site.address.clone() });
    let reading = tokio::spawn(async move {
        if let Err(error) = send_all(&store, &families, &of, &sender).await {
            // This fails if the walk has ended.
            let _ = sender.send(Err(error)).await;
        }
    });
    (pages, reading)
}

async fn send_all(
    store: &Store,
    families: &Families,
    of: &Arc<CheckedSite>,
    pages: &Pages,
) -> Result<(), KeyspaceError> {
    let mut cursor = None;
    loop {
        let names = store.scan_keys(cursor, KEYS_AT_ONCE).await?;
        let (damaged, strangers) = (names.damaged, names.not_text);
        let mut page = ReadPage { damaged, strangers, ..ReadPage::default() };
        let mut keys = names.keys.as_slice();
        loop {
            let (together, later) = keys.split_at(read_together(keys));
            page.read(store, families, of, together).await?;
            let large: Vec<Subject> = page.values.iter().filter_map(ReadKey::large).cloned().collect();
            let page = std::mem::take(&mut page);
            if pages.send(Ok(page)).await.is_err() || !send_parts(store, large, pages).await? {
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

impl ReadKey {
    /// The key, if it may have more members.
    fn large(&self) -> Option<&Subject> {
        let is_large = |members: &Vec<_>| members.len() == usize::from(MEMBERS_AT_ONCE);
        matches!(&self.value, Ok(Answer::Scored(members)) if is_large(members)).then_some(&self.subject)
    }
}

/// Sends the further parts of large sorted sets, each as a page. Returns whether they are still wanted.
async fn send_parts(store: &Store, large: Vec<Subject>, pages: &Pages) -> Result<bool, KeyspaceError> {
    for subject in large {
        for offset in (u64::from(MEMBERS_AT_ONCE)..).step_by(usize::from(MEMBERS_AT_ONCE)) {
            let mut part = store.fetch(read::outcomes([value_read(&subject, offset)]).large()).await?;
            let Some(value) = part.pop() else { break };
            let part = ReadKey { subject: subject.clone(), value, expiry: None };
            let is_last = part.large().is_none();
            if pages.send(Ok(ReadPage { values: vec![part], ..ReadPage::default() })).await.is_err() {
                return Ok(false);
            }
            if is_last {
                break;
            }
        }
    }
    Ok(true)
}

impl ReadPage {
    /// Reads the values of some keys.
    async fn read(
        &mut self,
        store: &Store,
        families: &Families,
        of: &Arc<CheckedSite>,
        keys: &[String],
    ) -> Result<(), KeyspaceError> {
        let mut known = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(subject) = Subject::of_key(key, of) else {
                self.strangers.push(key.clone());
                continue;
            };
            if families.as_ref().is_some_and(|families| !families.contains(subject.family.name)) {
                self.passed_over += 1;
                continue;
            }
            known.push(subject);
        }
        let reads =
            known.iter().flat_map(|subject| [value_read(subject, 0), Read::Expiry(subject.key.clone())]);
        let mut outcomes = store.fetch(read::outcomes(reads).large()).await?.into_iter();
        for subject in known {
            let (Some(value), expiry @ Some(_)) = (outcomes.next(), outcomes.next()) else { break };
            self.values.push(ReadKey { subject, value, expiry });
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
            Read::SortedRange { key, order: Order::Ascending, offset, count: u64::from(MEMBERS_AT_ONCE) }
        }
    }
}
