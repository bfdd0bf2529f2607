//! Snapshots: every key of a store as of one moment, page by page, while writes go on.

use crate::limits::{MAX_SNAPSHOT_PAGE_BYTES, MAX_SNAPSHOT_PAGE_ENTRIES, MAX_SNAPSHOT_PAGES};
use crate::{Entry, KeyspaceError, Value};
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
        let (pages, snapshot) = Self::received(taken_at_ms, keys);
        (PageSender { pages, page: PageInProgress::default() }, snapshot)
    }

    /// A snapshot whose pages are made elsewhere. The last one is followed by `None`.
    pub(crate) fn received(taken_at_ms: u64, keys: u64) -> (mpsc::Sender<PageResult>, Self) {
        let (sender, pages) = mpsc::channel(MAX_SNAPSHOT_PAGES);
        (sender, Self { taken_at_ms, keys, pages, is_over: false })
    }

    /// The moment, in Unix milliseconds by the clock that expires keys. Times to live of the
    /// entries count from it.
    #[must_use]
    pub const fn taken_at_ms(&self) -> u64 {
        self.taken_at_ms
    }

    /// About how many keys there are, for a progress bar.
    #[must_use]
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
    /// Adds an entry, on a thread that may block.
    pub(crate) fn send_blocking(&mut self, entry: Entry) -> Result<(), SnapshotDropped> {
        match self.page.add(entry) {
            Some(page) => self.pages.blocking_send(Ok(Some(page))).map_err(|_| SnapshotDropped),
            None => Ok(()),
        }
    }

    /// Sends the last page and the end, or why there is none, on a thread that may block.
    pub(crate) fn finish_blocking(self, outcome: Result<(), KeyspaceError>) {
        let Self { pages, page } = self;
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
    #[must_use]
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
