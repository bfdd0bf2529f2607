//! A view of the store file as of one moment, while the store writes on.
//!
//! Before the store overwrites a part of the file for the first time, the view keeps what was there,
//! in memory. A read transaction of that moment keeps redb from overwriting the pages of the data,
//! so this is little: pages of redb's own tables, which no transaction protects, and pages that
//! were free, which nobody will ask for.

use super::store_file::StoreFile;
use parking_lot::Mutex;
use redb::StorageBackend;
use std::collections::HashMap;
use std::io::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// The unit in which parts of the file are kept: redb's smallest page.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// The most blocks that a view keeps: 64 MiB.
const MAX_KEPT_BLOCKS: usize = 16 * 1024;

/// The earlier content of the file that the view keeps.
pub(super) struct Preimages {
    /// The length of the file at the moment of the view.
    length: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    blocks: HashMap<u64, Box<[u8]>>,
    /// Why the view cannot be read any more.
    lost: Option<String>,
}

impl Preimages {
    pub(super) fn new(length: u64) -> Self {
        Self { length, kept: Mutex::default() }
    }

    /// Keeps a part of the file that is about to be changed.
    pub(super) fn keep(&self, file: &dyn StorageBackend, range: Range<u64>) {
        let mut kept = self.kept.lock();
        for block in range.start / BLOCK_BYTES..range.end.min(self.length).div_ceil(BLOCK_BYTES) {
            if kept.lost.is_some() || kept.blocks.contains_key(&block) {
                continue;
            }
            if kept.blocks.len() >= MAX_KEPT_BLOCKS {
                kept.lose("too much was written meanwhile");
                return;
            }
            let start = block * BLOCK_BYTES;
            let mut bytes = vec![0; as_length(BLOCK_BYTES.min(self.length - start))].into_boxed_slice();
            match file.read(start, &mut bytes) {
                Ok(()) => _ = kept.blocks.insert(block, bytes),
                Err(error) => kept.lose(&format!("a part that was about to be replaced: {error}")),
            }
        }
    }

    /// Makes the view unreadable, because others may write to the file from now on.
    pub(super) fn lose(&self, reason: &str) {
        self.kept.lock().lose(reason);
    }
}

impl Kept {
    fn lose(&mut self, reason: &str) {
        self.blocks = HashMap::new();
        self.lost.get_or_insert_with(|| reason.to_owned());
    }
}

/// A view of the store file. Dropping it ends the keeping.
pub(super) struct FileView {
    file: StoreFile,
    preimages: Arc<Preimages>,
}

impl FileView {
    pub(super) fn new(file: StoreFile, preimages: Arc<Preimages>) -> Self {
        Self { file, preimages }
    }

    /// The length of the file.
    pub(super) fn length(&self) -> u64 {
        self.preimages.length
    }

    /// Why the view cannot be read any more.
    pub(super) fn lost(&self) -> Option<String> {
        self.preimages.kept.lock().lost.clone()
    }

    /// Reads a part of the file.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let file = self.file.raw();
        let whole = file.read(offset, out);
        // Blocks that were replaced before or during the read are kept by now.
        let kept = self.preimages.kept.lock();
        if let Some(reason) = &kept.lost {
            return Err(Error::other(reason.clone()));
        }
        for Piece { block, in_block, in_range } in pieces(offset, out.len()) {
            match kept.blocks.get(&block) {
                Some(bytes) if in_block.end <= bytes.len() => {
                    out[in_range].copy_from_slice(&bytes[in_block]);
                }
                Some(_) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                // The file may have become shorter, so that only this piece can be read.
                None if whole.is_err() => {
                    file.read(offset + as_offset(in_range.start), &mut out[in_range])?;
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// The part of a range of the file that is in one block.
pub(super) struct Piece {
    pub(super) block: u64,
    pub(super) in_block: Range<usize>,
    pub(super) in_range: Range<usize>,
}

/// The pieces of a range of the file.
pub(super) fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let end = offset + as_offset(length);
    (offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)).map(move |block| {
        let start = block * BLOCK_BYTES;
        let (from, to) = (start.max(offset), (start + BLOCK_BYTES).min(end));
        Piece {
            block,
            in_block: as_length(from - start)..as_length(to - start),
            in_range: as_length(from - offset)..as_length(to - offset),
        }
    })
}

/// A length of bytes in memory as an offset in a file.
pub(super) fn as_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A difference of offsets that is at most the length of something in memory.
fn as_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
