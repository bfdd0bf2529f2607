//! Restores a backup into an empty store.
//!
//! The file is read twice: first to see that it is whole, then to write its keys. The store is marked meanwhile
//! ([`unfinished`]). After an interruption, the same file is restored anew: each of its keys replaces what the
//! first attempt has left of it.

use super::format::{Header, Record, Summary};
use super::reader::{BackupError, BackupReader, Part};
use anyhow::{Context, bail};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};
use tidings_domain::migrations;
use tidings_domain::migrations::unfinished::{self, Begun, FilledBy, Filling};
use tidings_domain::values::Timestamp;
use tidings_keyspace::{Batch, Entry, Store, Value};
use tokio::sync::mpsc;

/// The bytes that are read from the file at a time.
const READ_BUFFER_BYTES: usize = 1 << 20;

/// About the bytes of keys that are written at a time.
const GROUP_BYTES: usize = 8 << 20;

/// A large key that expires so soon may expire while it is restored.
const SOON: Duration = Duration::from_secs(86_400);

/// The groups that wait to be written.
const MAX_WAITING_GROUPS: usize = 1;

/// Reads a whole file and checks everything that is in it.
///
/// # Errors
/// See [`BackupError`].
pub fn verify(path: &Path, mut progress: impl FnMut(u64)) -> Result<Summary, BackupError> {
    let mut reader = open(path)?;
    while reader.next_part()?.is_some() {
        progress(reader.position());
    }
    // The last record is followed by the end, which gives the summary.
    reader.summary().ok_or(BackupError::Truncated { at: reader.position(), missing: "the end" })
}

/// Reads only the header of a file.
///
/// # Errors
/// See [`BackupError`].
pub fn header(path: &Path) -> Result<Header, BackupError> {
    Ok(open(path)?.header())
}

/// Refuses a backup that this program cannot serve.
///
/// # Errors
/// When its layout is newer.
pub fn demand_known_layout(header: Header) -> anyhow::Result<()> {
    let (found, known) = (u64::from(header.layout), migrations::LAYOUT_VERSION);
    if found > known {
        bail!(
            "it has layout {found} and this version knows only layout {known}; \
             restore it with the version that made it, or a newer one"
        );
    }
    Ok(())
}

/// The restore of a file, which begins now.
pub fn filling(summary: &Summary, now: Timestamp) -> Filling {
    Filling::begun(FilledBy::Restore, hex::encode(summary.checksum), now)
}

/// Marks an empty store, or one that a restore of the same file has left unfinished.
///
/// # Errors
/// When the store has other keys.
pub async fn begin(store: &Store, filling: &Filling) -> anyhow::Result<()> {
    match unfinished::begin(store, filling).await? {
        Begun::Anew => {}
        Begun::Again(_) => tracing::info!("an earlier restore of this file was interrupted; it starts over"),
        Begun::Other(other) => bail!("{other}"),
        Begun::Filled(keys) => bail!(
            "the store is not empty ({}); choose an empty one",
            tidings_domain::values::words::counted(keys, "key", "keys")
        ),
    }
    Ok(())
}

/// Writes the keys of a verified file to a store, then removes the mark.
///
/// # Errors
/// When the file has changed since it was verified, or the store fails. Then the mark stays.
pub async fn write_keys(
    store: &Store,
    path: &Path,
    summary: Summary,
    now_ms: u64,
    mut progress: impl FnMut(u64),
) -> anyhow::Result<()> {
    let read = write_unverified(store, path, now_ms, |position, _| progress(position)).await?;
    if read.checksum != summary.checksum {
        bail!("the file has changed while it was restored");
    }
    Ok(unfinished::end(store).await?)
}

/// Writes the keys of a file to a store while it is checked. `progress` is told how far the file was read, and what
/// is written: a large key with its first entries.
///
/// # Errors
/// A [`BackupError`] when the file is not a whole backup, and others when the store fails. Then the store has
/// a part of the keys.
pub async fn write_unverified(
    store: &Store,
    path: &Path,
    now_ms: u64,
    mut progress: impl FnMut(u64, &[Entry]),
) -> anyhow::Result<Summary> {
    let began = Instant::now();
    let (sender, mut groups) = mpsc::channel::<Group>(MAX_WAITING_GROUPS);
    let path = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || read_groups(&path, now_ms, &sender));
    let mut written = Ok(());
    while let Some(Group { more, entries, position }) = groups.recv().await {
        progress(position, &entries);
        let writing = async {
            if let Some(more) = more {
                write_more(store, more, began).await?;
            }
            if !entries.is_empty() {
                store.restore_as_of(entries, now_ms).await?;
            }
            anyhow::Ok(())
        };
        written = writing.await.context("cannot write to the store");
        if written.is_err() {
            break;
        }
    }
    // Ends the reader if a write has failed.
    drop(groups);
    written?;
    Ok(reading.await.context("the reader has failed")??)
}

/// Entries that are written together.
struct Group {
    /// More of the key that was written last, if the first of these entries is that.
    more: Option<Entry>,
    entries: Vec<Entry>,
    /// How far the file was read.
    position: u64,
}

/// Adds more entries to a key that is there.
async fn write_more(
    store: &Store,
    Entry { key, value, time_to_live }: Entry,
    began: Instant,
) -> anyhow::Result<()> {
    let mut batch = Batch::new();
    match value {
        // A text is in one part.
        Value::String(_) => return Ok(()),
        Value::Hash(fields) => batch.set_fields(&key, fields),
        Value::Set(members) => members.into_iter().for_each(|member| batch.add_member(&key, member)),
        Value::SortedSet(members) => members.into_iter().for_each(|(member, score)| {
            // The site writes no infinite scores, and batches take none.
            batch.sorted_add(&key, member, score.clamp(f64::MIN, f64::MAX));
        }),
    }
    // The key may just have expired, and be there again.
    if let Some(left) = time_to_live.filter(|left| *left < SOON) {
        batch.expire(&key, left.saturating_sub(began.elapsed()));
    }
    store.commit(batch).await?;
    Ok(())
}

fn read_groups(path: &Path, now_ms: u64, groups: &mpsc::Sender<Group>) -> Result<Summary, BackupError> {
    let mut reader = open(path)?;
    let mut group = Group { more: None, entries: Vec::new(), position: 0 };
    let mut bytes = 0;
    while let Some(Part { record, is_first }) = reader.next_part()? {
        let entry = Record::entry(record, now_ms);
        if bytes >= GROUP_BYTES || !is_first {
            let position = reader.position();
            let full = std::mem::replace(&mut group, Group { more: None, entries: Vec::new(), position });
            bytes = 0;
            if groups.blocking_send(full).is_err() {
                break;
            }
        }
        if let Some(entry) = entry {
            // An empty entry takes memory, too.
            bytes += entry.bytes() + size_of::<Entry>();
            if is_first { group.entries.push(entry) } else { group.more = Some(entry) }
        }
    }
    group.position = reader.position();
    // This fails only if a write has failed, which is told instead.
    let _ = groups.blocking_send(group);
    reader.summary().ok_or(BackupError::Truncated { at: reader.position(), missing: "the end" })
}

fn open(path: &Path) -> Result<BackupReader<BufReader<File>>, BackupError> {
    let file = File::open(path).map_err(|error| BackupError::Unreadable { at: 0, error })?;
    BackupReader::open(BufReader::with_capacity(READ_BUFFER_BYTES, file))
}
