//! Snapshots: every key of a store as of one moment, page by page, while writes go on.

use crate::limits::{MAX_SNAPSHOT_PAGE_BYTES, MAX_SNAPSHOT_PAGE_ENTRIES, MAX_SNAPSHOT_PAGES};
use crate::{Entry, KeyspaceError, Value};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A page of a snapshot, or `None` after the last one.
pub(crate) type PageResult = Result<Option<Vec<Entry>>, KeyspaceError>;

/// Every key of a store as of one moment: see [`Store::snapshot`](crate::Store::snapshot).
pub struct Snapshot {
    taken_at_ms: u64,
    keys: u64,
    /// A page, or `None` after the last one. A channel that ends without `None` means that
    /// the reader has died.
    pages: mpsc::Receiver<PageResult>,
    is_over: bool,
}

impl Snapshot {
    /// A snapshot whose pages are sent by a reader, which has its own thread.
    pub(crate) fn new(taken_at_ms: u64, keys: u64) -> (PageSender, Self) {
        let (sender, pages) = mpsc::channel(MAX_SNAPSHOT_PAGES);
        let pages_sender = PageSender { pages: sender, page: PageInProgress::default(), pace: None };
        (pages_sender, Self { taken_at_ms, keys, pages, is_over: false })
    }

    /// The moment, in Unix milliseconds by the clock that expires keys. Times to live of the
    /// entries count from it.
    pub const fn taken_at_ms(&self) -> u64 {
        self.taken_at_ms
    }

    /// About how many keys there are, for a progress bar.
    pub const fn keys(&self) -> u64 {
        self.keys
    }

    /// The next keys, each with its whole value; `None` after the last. Each key comes once,
    /// in no particular order. A page has at most 1,000 keys and about a megabyte, or a
    /// single larger key.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`] if the store fails or is closed, or a key is damaged;
    /// [`KeyspaceError::Invalid`] as for [`Store::scan`](crate::Store::scan). Then the
    /// snapshot is incomplete and has no further page.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Entry>>, KeyspaceError> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.pages.recv().await.unwrap_or_else(|| {
            Err(KeyspaceError::Unavailable("the snapshot has ended before its last key".to_owned()))
        });
        self.is_over = !matches!(page, Ok(Some(_)));
        page
    }
}

/// Where the reader of a snapshot sends its entries. Dropping the snapshot ends the reader.
pub(crate) struct PageSender {
    pages: mpsc::Sender<PageResult>,
    page: PageInProgress,
    pace: Option<Pace>,
}

/// Lets the reader of a snapshot rest after each page while somebody writes, so that it takes
/// little from writers: reading competes with them for the page cache and the processor.
struct Pace {
    is_written: Box<dyn Fn() -> bool + Send>,
    /// When the work on the current page began.
    began: Instant,
}

/// How many times as long as its work the reader of a snapshot rests.
const RESTS: u32 = 4;

impl Pace {
    /// Rests after a page, if need be. The thread is the reader's own, so it may sleep.
    #[allow(clippy::disallowed_methods)]
    fn rest(&mut self) {
        if (self.is_written)() {
            std::thread::sleep(rest_after(self.began.elapsed()));
        }
        self.began = Instant::now();
    }
}

/// How long the reader rests after this work. A page that took very long has waited itself.
fn rest_after(work: Duration) -> Duration {
    work.min(Duration::from_millis(250)) * RESTS
}

#[derive(Default)]
struct PageInProgress {
    entries: Vec<Entry>,
    bytes: usize,
}

impl PageInProgress {
    /// Adds an entry. Returns the page if it is full.
    fn add(&mut self, entry: Entry) -> Option<Vec<Entry>> {
        self.bytes += entry.bytes();
        self.entries.push(entry);
        let full = self.bytes >= MAX_SNAPSHOT_PAGE_BYTES || self.entries.len() >= MAX_SNAPSHOT_PAGE_ENTRIES;
        full.then(|| std::mem::take(self).entries)
    }
}

/// The snapshot was dropped: nobody wants its pages.
#[derive(Debug)]
pub(crate) struct SnapshotDropped;

impl PageSender {
    /// The same sender, whose reader rests after each page while somebody writes.
    pub(crate) fn resting_while(mut self, is_written: impl Fn() -> bool + Send + 'static) -> Self {
        self.pace = Some(Pace { is_written: Box::new(is_written), began: Instant::now() });
        self
    }

    /// Adds an entry, on a thread that may block.
    pub(crate) fn send_blocking(&mut self, entry: Entry) -> Result<(), SnapshotDropped> {
        let Some(page) = self.page.add(entry) else { return Ok(()) };
        self.pages.blocking_send(Ok(Some(page))).map_err(|_| SnapshotDropped)?;
        if let Some(pace) = &mut self.pace {
            pace.rest();
        }
        Ok(())
    }

    /// Sends the last page and the end, or why there is none, on a thread that may block.
    pub(crate) fn finish_blocking(self, outcome: Result<(), KeyspaceError>) {
        let Self { pages, page, pace: _ } = self;
        let last = match outcome {
            Err(error) => Err(error),
            Ok(()) if page.entries.is_empty() => Ok(None),
            Ok(()) => {
                // This fails if the snapshot was dropped, and so does the next one.
                let _ = pages.blocking_send(Ok(Some(page.entries)));
                Ok(None)
            }
        };
        let _ = pages.blocking_send(last);
    }
}

impl Entry {
    /// About how much memory the entry takes, in bytes.
    pub fn bytes(&self) -> usize {
        const EACH: usize = 24;
        let text = |text: &String| EACH + text.len();
        let value = match &self.value {
            Value::String(value) => text(value),
            Value::Hash(fields) => fields.iter().map(|(field, value)| text(field) + text(value)).sum(),
            Value::Set(members) => members.iter().map(text).sum(),
            Value::SortedSet(members) => members.iter().map(|(member, _)| text(member) + 8).sum(),
        };
        text(&self.key) + value
    }
}

/// Runs blocking work on a thread that gives way to others.
pub(crate) fn on_own_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), KeyspaceError> {
    let run = move || {
        give_way();
        work();
    };
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map(drop).map_err(|error| KeyspaceError::Unavailable(format!("cannot start a thread: {error}")))
}

/// Lets the current thread give way to all others, so that reading a whole store takes
/// nothing from those who are waiting for an answer.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, BACKGROUND_NICENESS) {
        tracing::debug!(%error, "the reader of a snapshot keeps its priority");
    }
}

/// The niceness of a thread that reads a snapshot: about a tenth of the time of a busy
/// processor, and all of an idle one. With a higher one, it could hold a lock of the page
/// cache for long without running.
#[cfg(target_os = "linux")]
const BACKGROUND_NICENESS: i32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_reader_rests_longer_than_it_has_worked_but_not_for_ever() {
        assert_eq!(rest_after(Duration::from_millis(3)), Duration::from_millis(12));
        assert_eq!(rest_after(Duration::from_secs(60)), Duration::from_secs(1));
    }

    #[test]
    fn whether_somebody_writes_is_asked_after_each_page() {
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        let (pages, snapshot) = Snapshot::new(0, 2);
        let mut pages = pages.resting_while(move || count.fetch_add(1, Ordering::Relaxed) > 0);
        for number in 0..MAX_SNAPSHOT_PAGES as u64 {
            let value = Value::String("x".repeat(MAX_SNAPSHOT_PAGE_BYTES));
            let sent = pages.send_blocking(Entry { key: number.to_string(), value, time_to_live: None });
            assert!(sent.is_ok());
            assert_eq!(asked.load(Ordering::Relaxed), number + 1);
        }
        drop(snapshot);
    }
}
