//! A temporary file of entries, some of which are replaced by later ones.

use crate::limits::MAX_SNAPSHOT_PAGE_BYTES;
use crate::snapshot::PageSender;
use crate::{Entry, KeyspaceError, Value};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// Entries on their way into a snapshot.
pub(crate) struct Spool {
    file: BufWriter<File>,
    /// The round in which each key was read last, if it was read more than once.
    latest: HashMap<String, u32>,
}

/// An entry in the file.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The round in which it was read.
    round: u32,
    /// When it expires, in Unix milliseconds; 0 means never.
    expires_at_ms: u64,
    key: String,
    value: Value,
}

impl Spool {
    /// An empty file without a name, which is gone with this process.
    pub(crate) fn create(folder: &Path) -> Result<Self, KeyspaceError> {
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            KeyspaceError::Unavailable(format!(
                "cannot make a temporary file in {}: {error}",
                folder.display()
            ))
        })?;
        let file = BufWriter::with_capacity(MAX_SNAPSHOT_PAGE_BYTES, file);
        Ok(Self { file, latest: HashMap::new() })
    }

    /// Notes that a key is read again in a round. Entries of the key from other rounds do not
    /// count any more; if none is added in this one, the key is absent.
    pub(crate) fn replace(&mut self, key: &str, round: u32) {
        self.latest.insert(key.to_owned(), round);
    }

    /// Adds an entry that was read in a round at this time.
    pub(crate) fn add(&mut self, entry: Entry, round: u32, read_at_ms: u64) -> Result<(), KeyspaceError> {
        let Entry { key, value, time_to_live } = entry;
        let expires_at_ms = time_to_live
            .map_or(0, |left| read_at_ms.saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)));
        let record = postcard::to_allocvec(&Record { round, expires_at_ms, key, value });
        let record = record.map_err(|error| failed(&error))?;
        let length = u64::try_from(record.len()).map_err(|error| failed(&error))?;
        self.file.write_all(&length.to_be_bytes()).map_err(|error| failed(&error))?;
        self.file.write_all(&record).map_err(|error| failed(&error))
    }

    /// Sends the entries that count and have not expired by `now_ms`, until the receiver is
    /// dropped.
    pub(crate) fn send_all(self, pages: &mut PageSender, now_ms: u64) -> Result<(), KeyspaceError> {
        let mut file = self.file.into_inner().map_err(|error| failed(&error))?;
        file.rewind().map_err(|error| failed(&error))?;
        let left = file.metadata().map_err(|error| failed(&error))?.len();
        let mut file = BufReader::with_capacity(MAX_SNAPSHOT_PAGE_BYTES, file).take(left);
        let mut bytes = Vec::new();
        while file.limit() > 0 {
            let mut length = [0; 8];
            file.read_exact(&mut length).map_err(|error| failed(&error))?;
            bytes.resize(usize::try_from(u64::from_be_bytes(length)).map_err(|error| failed(&error))?, 0);
            file.read_exact(&mut bytes).map_err(|error| failed(&error))?;
            let record: Record = postcard::from_bytes(&bytes).map_err(|error| failed(&error))?;
            let Record { round, expires_at_ms, key, value } = record;
            let is_replaced = self.latest.get(&key).is_some_and(|latest| *latest != round);
            let is_expired = expires_at_ms != 0 && expires_at_ms <= now_ms;
            if is_replaced || is_expired {
                continue;
            }
            let left = Duration::from_millis(expires_at_ms.saturating_sub(now_ms));
            let time_to_live = (expires_at_ms != 0).then_some(left);
            if pages.send_blocking(Entry { key, value, time_to_live }).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn failed(error: &dyn std::error::Error) -> KeyspaceError {
    KeyspaceError::Unavailable(format!("the temporary file of the snapshot failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Snapshot;

    const NOW: u64 = 1_600_000_000_000;

    fn entry(key: &str, value: &str, seconds: Option<u64>) -> Entry {
        let time_to_live = seconds.map(Duration::from_secs);
        Entry { key: key.to_owned(), value: Value::String(value.to_owned()), time_to_live }
    }

    /// The entries that come out of a spool a minute after `NOW`.
    fn sent(spool: Spool) -> Vec<Entry> {
        let now = NOW + 60_000;
        let (mut pages, mut snapshot) = Snapshot::new(now, 0);
        let outcome = spool.send_all(&mut pages, now);
        pages.finish_blocking(outcome);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut entries = Vec::new();
            while let Some(page) = snapshot.next_page().await.unwrap() {
                entries.extend(page);
            }
            entries
        })
    }

    #[test]
    fn the_last_round_of_a_key_counts() {
        let mut spool = Spool::create(&std::env::temp_dir()).unwrap();
        for key in ["a", "b", "c"] {
            spool.add(entry(key, "0", None), 0, NOW).unwrap();
        }
        for (round, key) in [(1, "b"), (2, "b"), (2, "c"), (2, "d")] {
            spool.replace(key, round);
        }
        spool.add(entry("b", "1", None), 1, NOW).unwrap();
        spool.add(entry("b", "2", None), 2, NOW).unwrap();
        spool.add(entry("d", "2", None), 2, NOW).unwrap();
        assert_eq!(sent(spool), [entry("a", "0", None), entry("b", "2", None), entry("d", "2", None)]);
    }

    #[test]
    fn times_to_live_count_from_the_end() {
        let mut spool = Spool::create(&std::env::temp_dir()).unwrap();
        spool.add(entry("gone", "", Some(60)), 0, NOW).unwrap();
        spool.add(entry("a", "", Some(61)), 0, NOW).unwrap();
        spool.add(entry("b", "", Some(61)), 0, NOW + 1_000).unwrap();
        assert_eq!(sent(spool), [entry("a", "", Some(1)), entry("b", "", Some(2))]);
    }
}
