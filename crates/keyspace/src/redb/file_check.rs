//! The check of the store file's checksums, by redb's own means, while the store is in use.
//!
//! redb checks a database that nobody else has open, and writes to it. So it gets a second database:
//! the [`FileView`] of a checkpoint, on which all writes stay in memory. Nothing of the file is
//! changed.
//!
//! The memory that this takes is bounded: 64 MiB of what the store overwrites meanwhile, 8 MiB of
//! redb's cache, and the few pages that redb writes: its header and the list of free pages, about a
//! ten-thousandth of the file.

use super::file_view::{BLOCK_BYTES, FileView, Piece, as_offset, pieces};
use crate::KeyspaceError;
use crate::file_check::{FileCheckStep, FileState};
use parking_lot::Mutex;
use redb::{DatabaseError, StorageBackend, StorageError};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tidings_supervision::panics::catch_damage;
use tokio::sync::mpsc::Sender;

/// The memory of redb's cache during a check.
const CACHE_BYTES: usize = 8 << 20;
/// How often redb reads the file: for the checksums, and for the list of free pages.
const PASSES: u64 = 2;
/// The bytes after which the check tells how far it is.
const PROGRESS_BYTES: u64 = 4 << 20;

/// The store file at a checkpoint.
pub(super) struct PinnedFile {
    pub(super) view: FileView,
    /// Keeps the pages of the data from being overwritten.
    pub(super) transaction: redb::ReadTransaction,
}

/// Why the store file is not pinned.
#[derive(Debug)]
pub(super) enum Unpinned {
    /// A store in memory has no file.
    NoFile,
    /// It is not possible now, for this reason.
    NotNow(String),
}

/// Where the steps of a check are sent.
pub(super) type Steps = Sender<std::result::Result<FileCheckStep, KeyspaceError>>;

/// Checks a file on the current thread until nobody wants the steps.
pub(super) fn check(pinned: PinnedFile, steps: &Steps) {
    let PinnedFile { view, transaction } = pinned;
    let state = state_of(view, steps);
    // Frees the pages that only the check has kept.
    drop(transaction);
    // This fails if nobody waits any more.
    let _ = steps.blocking_send(Ok(FileCheckStep::Over(state)));
}

fn state_of(view: FileView, steps: &Steps) -> FileState {
    let overlay = Overlay(Arc::new(Shared {
        length: AtomicU64::new(view.length()),
        view,
        changed: Mutex::default(),
        read: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        steps: steps.clone(),
    }));
    // redb panics at pages that make no sense.
    let outcome = catch_damage(|| {
        let mut database =
            redb::Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(overlay.clone())?;
        let outcome = database.check_integrity();
        // Closing it would bring its list of free pages up to date, for nobody.
        overlay.0.is_over.store(true, Ordering::Release);
        outcome
    });
    if let Some(reason) = overlay.0.view.lost() {
        return FileState::Unchecked(reason);
    }
    match outcome {
        Ok(Ok(true)) => FileState::Sound,
        Ok(Ok(false)) => FileState::Damaged("a checksum or the list of free pages does not match".to_owned()),
        Ok(Err(DatabaseError::Storage(StorageError::Corrupted(what)))) | Err(what) => {
            FileState::Damaged(what)
        }
        Ok(Err(error)) => FileState::Damaged(error.to_string()),
    }
}

/// A view of a file whose changes stay in memory. Clones share it.
#[derive(Clone)]
struct Overlay(Arc<Shared>);

struct Shared {
    view: FileView,
    length: AtomicU64,
    changed: Mutex<HashMap<u64, Box<[u8]>>>,
    /// The bytes that were read.
    read: AtomicU64,
    /// Whether nothing is wanted any more.
    is_over: AtomicBool,
    steps: Steps,
}

impl Overlay {
    /// Reads a part of the view, and zeros after its end.
    fn read_view(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let stored = self.0.view.length().saturating_sub(offset);
        let stored = usize::try_from(stored).unwrap_or(usize::MAX).min(out.len());
        let (stored, rest) = out.split_at_mut(stored);
        rest.fill(0);
        if stored.is_empty() { Ok(()) } else { self.0.view.read(offset, stored) }
    }

    /// Says how far the check is. An error ends the check.
    fn note_read(&self, bytes: u64) -> Result<()> {
        let before = self.0.read.fetch_add(bytes, Ordering::Relaxed);
        let read = before + bytes;
        if before / PROGRESS_BYTES < read / PROGRESS_BYTES {
            let all = self.0.view.length().saturating_mul(PASSES);
            // It is dropped if earlier steps still wait.
            let _ = self.0.steps.try_send(Ok(FileCheckStep::Progress(read.min(all), all)));
        }
        if self.0.steps.is_closed() { Err(Error::other("nobody waits for the check")) } else { Ok(()) }
    }
}

impl Debug for Overlay {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a view of the store file")
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> Result<u64> {
        Ok(self.0.length.load(Ordering::Acquire))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.note_read(as_offset(out.len()))?;
        if offset + as_offset(out.len()) > self.len()? {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.read_view(offset, out)?;
        let changed = self.0.changed.lock();
        if changed.is_empty() {
            return Ok(());
        }
        for Piece { block, in_block, in_range } in pieces(offset, out.len()) {
            if let Some(bytes) = changed.get(&block) {
                out[in_range].copy_from_slice(&bytes[in_block]);
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<()> {
        // Nothing that was cut off is asked for again: redb writes pages before it reads them.
        self.0.length.store(length, Ordering::Release);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        if self.0.is_over.load(Ordering::Acquire) {
            return Err(Error::other("the check is over"));
        }
        let mut changed = self.0.changed.lock();
        for Piece { block, in_block, in_range } in pieces(offset, data.len()) {
            if let Some(bytes) = changed.get_mut(&block) {
                bytes[in_block].copy_from_slice(&data[in_range]);
                continue;
            }
            let mut bytes = vec![0; usize::try_from(BLOCK_BYTES).unwrap_or(0)].into_boxed_slice();
            self.read_view(block * BLOCK_BYTES, &mut bytes)?;
            bytes[in_block].copy_from_slice(&data[in_range]);
            changed.insert(block, bytes);
        }
        Ok(())
    }
}
