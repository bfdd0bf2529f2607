//! Writes a backup as a stream of bytes.

use super::format::{
    BLOCK_BYTES, BLOCK_MAGIC, END_MAGIC, Header, MAX_TEXT_BYTES, Record, Summary, skipped_frame,
};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

/// The compression: three times smaller, and faster than the store is read.
const LEVEL: i32 = 3;

/// A backup that is being written.
pub struct BackupWriter<W> {
    out: W,
    header: Header,
    /// The bytes of records that are not in a block yet.
    pending: Vec<u8>,
    compressor: Compressor<'static>,
    hasher: Sha256,
    keys: u64,
    bytes: u64,
}

impl<W: Write> BackupWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the bytes cannot be written.
    pub fn create(out: W, header: Header) -> io::Result<Self> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        let (pending, hasher) = (Vec::with_capacity(2 * BLOCK_BYTES), Sha256::new());
        let mut writer = Self { out, header, pending, compressor, hasher, keys: 0, bytes: 0 };
        writer.write(&header.frame())?;
        Ok(writer)
    }

    /// Writes a record. Each key must be written once.
    ///
    /// # Errors
    /// As [`BackupWriter::create`], and for a text that no reader takes.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let longest = record.write(&mut self.pending);
        if longest > MAX_TEXT_BYTES {
            let key = &record.key;
            let why =
                format!("the key {key:?} has a text of {longest} bytes, and a backup takes {MAX_TEXT_BYTES}");
            return Err(io::Error::other(why));
        }
        self.keys += 1;
        if self.pending.len() >= BLOCK_BYTES {
            let pending = std::mem::take(&mut self.pending);
            let blocks = pending.chunks_exact(BLOCK_BYTES);
            self.pending.extend_from_slice(blocks.remainder());
            for block in blocks {
                self.write_block(block)?;
            }
        }
        Ok(())
    }

    /// Writes the end. Returns where everything was written to, and what was written.
    ///
    /// # Errors
    /// As [`BackupWriter::create`].
    pub fn finish(mut self) -> io::Result<(W, Summary)> {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.write_block(&pending)?;
        }
        let checksum: [u8; 32] = self.hasher.clone().finalize().into();
        let mut end = self.keys.to_le_bytes().to_vec();
        end.extend_from_slice(&checksum);
        self.write(&skipped_frame(END_MAGIC, &end))?;
        self.out.flush()?;
        let Self { out, header, keys, bytes, .. } = self;
        Ok((out, Summary { header, keys, bytes, checksum }))
    }

    fn write_block(&mut self, block: &[u8]) -> io::Result<()> {
        let frame = self.compressor.compress(block)?;
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        let mut head = length.to_le_bytes().to_vec();
        head.extend_from_slice(&crc32fast::hash(&frame).to_le_bytes());
        self.write(&skipped_frame(BLOCK_MAGIC, &head))?;
        self.write(&frame)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
