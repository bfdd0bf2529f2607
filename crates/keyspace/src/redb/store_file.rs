//! The store file as redb sees it: a file that never fails to be written.
//!
//! After a failed write redb refuses everything, even reads, until the file is opened again; and
//! opening it needs a disk that can be written. So redb is never told of one. From the first write
//! that fails, this layer keeps all writes and flushes in memory, in their order, and answers reads
//! from them. Later it tries them again, in the same order. So at any moment the file has
//! undergone a part, from the first on, of what redb asked for, as it has after a crash; and redb
//! recovers from that.
//!
//! This means that a flush which redb believes in may not have happened. The writer therefore asks
//! for [`StoreFile::trouble`] after each flush that it relies on, and lets no batch pass while there
//! is any: what was acknowledged is in the journal.
//!
//! After a flush that failed, nothing is tried again. The system may have dropped what was written
//! since the last flush, and may still show it to readers, so only a restart can tell what the file
//! has.

use super::file_view::{FileView, Preimages, as_offset};
use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};
use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::io::{Error, ErrorKind, Result};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use tidings_supervision::steps::step;

/// The open store file. Clones share it.
#[derive(Clone)]
pub(super) struct StoreFile(Arc<Shared>);

struct Shared {
    file: Box<dyn StorageBackend>,
    /// Whether the store is open. Before that, a read that fails is the end of the attempt.
    serves: AtomicBool,
    /// Whether the file lacks some of the operations.
    lags: AtomicBool,
    log: Mutex<Log>,
    /// The content that the latest view keeps, while there is one.
    viewed: Mutex<Weak<Preimages>>,
}

#[derive(Default)]
struct Log {
    /// All operations since the last flush that succeeded. While the disk works, the writer flushes before they
    /// take more memory than [`MAX_UNFLUSHED_BYTES`](crate::limits::MAX_UNFLUSHED_BYTES) and one group.
    operations: VecDeque<Operation>,
    /// The bytes of their writes.
    bytes: usize,
    trouble: Option<Trouble>,
}

#[derive(Clone)]
enum Operation {
    Write(u64, Arc<[u8]>),
    SetLength(u64),
    Flush,
}

impl Operation {
    /// The bytes that it holds.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(_, data) => data.len(),
            Self::SetLength(_) | Self::Flush => 0,
        }
    }
}

impl Log {
    fn push(&mut self, operation: Operation) {
        self.bytes += operation.bytes();
        self.operations.push_back(operation);
    }

    /// Forgets the first operations.
    fn forget(&mut self, count: usize) {
        let bytes: usize = self.operations.drain(..count).map(|operation| operation.bytes()).sum();
        self.bytes -= bytes;
    }
}

/// Why a file cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The cause in words, which continue a sentence.
    pub(super) cause: String,
    /// Whether only a restart helps.
    pub(super) lasts: bool,
}

impl Trouble {
    /// The trouble that a failed write means.
    pub(super) fn of_write(error: &Error) -> Self {
        tracing::debug!(%error, "a write has failed");
        Self { cause: cause(error).to_owned(), lasts: false }
    }

    /// The trouble that a failed flush means.
    pub(super) fn of_flush(error: &Error) -> Self {
        tracing::error!(%error, "a flush has failed; restart the server once the disk works");
        Self { cause: "the disk has failed; a restart is needed".to_owned(), lasts: true }
    }
}

/// Why a write fails, in words for the operator.
fn cause(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull => "the disk is full",
        ErrorKind::QuotaExceeded => "the disk quota is used up",
        ErrorKind::FileTooLarge => "the store file may not grow any further",
        ErrorKind::ReadOnlyFilesystem => "the file system is read only",
        ErrorKind::PermissionDenied => "the store file may not be written",
        _ => "the disk fails",
    }
}

/// Whether the system has refused a write because of a state of the disk that can end. Then it has
/// not written all of it.
pub(super) fn is_refused(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::FileTooLarge
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::PermissionDenied
    )
}

impl StoreFile {
    /// The store file behind redb.
    pub(super) fn new(file: Box<dyn StorageBackend>) -> Self {
        let (serves, lags) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Shared { file, serves, lags, log: Mutex::default(), viewed: Mutex::default() }))
    }

    /// Says that the store is open. From now on a page that cannot be read is a damaged page, and
    /// not the end of all reading.
    pub(super) fn serve(&self) {
        self.0.serves.store(true, Ordering::Release);
    }

    /// A view of the file as it is now. Nothing may be written until this returns. An earlier view
    /// must be gone.
    pub(super) fn view(&self) -> Result<FileView> {
        let preimages = Arc::new(Preimages::new(self.0.file.len()?));
        *self.0.viewed.lock() = Arc::downgrade(&preimages);
        Ok(FileView::new(self.clone(), preimages))
    }

    /// The file itself, without what it lags behind.
    pub(super) fn raw(&self) -> &dyn StorageBackend {
        &*self.0.file
    }

    /// Keeps for a view what is about to be changed.
    fn keep_for_view(&self, start: u64, end: u64) {
        let viewed = self.0.viewed.lock().upgrade();
        if let Some(preimages) = viewed {
            preimages.keep(self.raw(), start..end);
        }
    }

    /// Why the file lacks writes or flushes that redb believes in, if it does.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        if self.0.lags.load(Ordering::Acquire) { self.0.log.lock().trouble.clone() } else { None }
    }

    /// The bytes written since the last flush.
    pub(super) fn unflushed_bytes(&self) -> usize {
        self.0.log.lock().bytes
    }

    /// Keeps redb from changing the file any more, because it is opened anew. Closing it would
    /// flush what it has in memory, in whatever state that is.
    pub(super) fn abandon(&self) {
        let cause = "the store file is opened again".to_owned();
        self.0.log.lock().trouble = Some(Trouble { cause, lasts: true });
        self.0.lags.store(true, Ordering::Release);
    }

    /// Tries again what has failed. Returns whether the file has everything now.
    pub(super) fn catch_up(&self) -> bool {
        loop {
            let (step, ends_with_flush) = {
                let log = self.0.log.lock();
                match &log.trouble {
                    None => return true,
                    Some(trouble) if trouble.lasts => return false,
                    Some(_) => {}
                }
                let flush = log.operations.iter().position(|operation| matches!(operation, Operation::Flush));
                let length = flush.map_or(log.operations.len(), |flush| flush + 1);
                (log.operations.iter().take(length).cloned().collect::<Vec<_>>(), flush.is_some())
            };
            if let Err(trouble) = step.iter().try_for_each(|operation| self.perform(operation)) {
                self.0.log.lock().trouble = Some(trouble);
                return false;
            }
            let mut log = self.0.log.lock();
            if ends_with_flush {
                log.forget(step.len());
            } else if log.operations.len() == step.len() {
                log.trouble = None;
                self.0.lags.store(false, Ordering::Release);
                return true;
            }
        }
    }

    fn perform(&self, operation: &Operation) -> std::result::Result<(), Trouble> {
        let file = &self.0.file;
        step();
        match operation {
            Operation::Write(offset, data) => {
                self.keep_for_view(*offset, offset.saturating_add(as_offset(data.len())));
                file.write(*offset, data).map_err(|error| Trouble::of_write(&error))
            }
            Operation::SetLength(length) => {
                self.keep_for_view(*length, u64::MAX);
                file.set_len(*length).map_err(|error| Trouble::of_write(&error))
            }
            Operation::Flush => file.sync_data().map_err(|error| Trouble::of_flush(&error)),
        }
    }

    /// Performs an operation now, or later if the file lags.
    fn submit(&self, operation: Operation) {
        let pending = {
            let mut log = self.0.log.lock();
            let pending = log.operations.len();
            // A write is noted first, so that it can be tried again after a flush that fails.
            if log.trouble.is_some() || !matches!(operation, Operation::Flush) {
                log.push(operation.clone());
            }
            if log.trouble.is_some() {
                return;
            }
            pending
        };
        match self.perform(&operation) {
            Ok(()) if matches!(operation, Operation::Flush) => {
                self.0.log.lock().forget(pending);
            }
            Ok(()) => {}
            Err(trouble) => {
                let mut log = self.0.log.lock();
                // Another thread's flush may have dropped it in the meantime.
                log.push(operation);
                log.trouble.get_or_insert(trouble);
                self.0.lags.store(true, Ordering::Release);
            }
        }
    }

    /// Reads a part of the file as it will be once it has everything.
    fn read_ahead(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        // The lock keeps operations from leaving the log between the two steps.
        let log = self.0.log.lock();
        out.fill(0);
        let stored = self.0.file.len()?.saturating_sub(offset);
        let stored = usize::try_from(stored).unwrap_or(usize::MAX).min(out.len());
        if stored > 0 {
            self.0.file.read(offset, &mut out[..stored])?;
        }
        let end = offset + u64::try_from(out.len()).unwrap_or(u64::MAX);
        for operation in &log.operations {
            let (start, data): (u64, &[u8]) = match operation {
                Operation::Write(start, data) => (*start, data),
                // Bytes that were cut off read as zeros once the file grows again.
                Operation::SetLength(length) if *length < end => {
                    let kept = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
                    out[kept..].fill(0);
                    continue;
                }
                Operation::SetLength(_) | Operation::Flush => continue,
            };
            let finish = start + u64::try_from(data.len()).unwrap_or(u64::MAX);
            let (from, to) = (start.max(offset), finish.min(end));
            if from < to {
                let place = |at: u64, base: u64| usize::try_from(at - base).unwrap_or(usize::MAX);
                out[place(from, offset)..place(to, offset)]
                    .copy_from_slice(&data[place(from, start)..place(to, start)]);
            }
        }
        Ok(())
    }
}

/// Makes a page that leads nowhere: redb finds that it is damaged, so only what needs it fails.
///
/// It is a branch (2) without keys, whose only child has a number that no page has.
fn fill_with_nothing(page: &mut [u8]) {
    page.fill(u8::MAX);
    for (byte, value) in page.iter_mut().zip([2, 0, 0, 0]) {
        *byte = value;
    }
}

impl Debug for StoreFile {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.file.fmt(formatter)
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> Result<u64> {
        let log = self.0.log.lock();
        let length = |operation: &Operation| match operation {
            Operation::SetLength(length) => Some(*length),
            Operation::Write(..) | Operation::Flush => None,
        };
        match log.operations.iter().rev().find_map(length) {
            Some(length) => Ok(length),
            None => self.0.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let lags = self.0.lags.load(Ordering::Acquire);
        let read = if lags { self.read_ahead(offset, out) } else { self.0.file.read(offset, out) };
        match read {
            Err(error) if self.0.serves.load(Ordering::Acquire) => {
                // An error would make redb refuse all reads from now on.
                tracing::error!(%error, offset, "a page of the store file cannot be read");
                fill_with_nothing(out);
                Ok(())
            }
            read => read,
        }
    }

    fn set_len(&self, length: u64) -> Result<()> {
        self.submit(Operation::SetLength(length));
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        self.submit(Operation::Flush);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.submit(Operation::Write(offset, data.into()));
        Ok(())
    }

    fn close(&self) -> Result<()> {
        if let Some(preimages) = self.0.viewed.lock().upgrade() {
            preimages.lose("the store was closed meanwhile");
        }
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> std::result::Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
