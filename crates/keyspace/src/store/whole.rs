//! Reading, copying and checking a whole store.

use super::{Engine, Store};
use crate::file_check::FileCheckStep;
use crate::{Entry, FileState, KeyPage, KeyspaceError, ScanPage, Snapshot};
use std::path::Path;

impl Store {
    /// The number of keys. On Redis it includes keys that have expired and are not
    /// removed yet. Takes one command on Redis; on the embedded engine, time in proportion
    /// to the number of such keys.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.count_keys(),
            Engine::Redis(engine) => engine.count_keys().await,
        }
    }

    /// Reads about `limit` keys with their whole values, starting at `cursor` (`None`:
    /// at the beginning). Keys that exist during the whole scan are on some page; keys that
    /// are written meanwhile may be missed. A page is in memory whole, however large the
    /// values are. Takes three round trips on Redis.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; [`KeyspaceError::Invalid`] if a key or a value is
    /// not UTF-8, or a key holds a type that is none of the four.
    pub async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.scan(cursor, limit),
            Engine::Redis(engine) => engine.scan(cursor, limit).await,
        }
    }

    /// Every key with its value as of one moment, page by page, while reads and writes go on.
    ///
    /// On the embedded engine it is one read transaction on a thread of its own, which gives
    /// way to others. Until its last page has been taken or it is dropped, no page of the file
    /// that a write frees can be used again, so the file grows by what is written meanwhile.
    ///
    /// On Redis everything is read before this returns, into a temporary file of the system's
    /// folder for such files: see [`Store::snapshot_by_way_of`].
    ///
    /// # Errors
    /// As [`Store::snapshot_by_way_of`].
    pub async fn snapshot(&self) -> Result<Snapshot, KeyspaceError> {
        self.snapshot_by_way_of(&std::env::temp_dir()).await
    }

    /// [`Store::snapshot`], with the folder in which the Redis engine makes its temporary file.
    ///
    /// The file takes as many bytes as all keys and values, and those again that were written
    /// meanwhile. On a busy server the writes of all clients wait for a few milliseconds
    /// at the end, and never longer than half a second.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`] if the store or the file fails, if the database is
    /// emptied meanwhile, or if it does not come to rest. [`KeyspaceError::Invalid`] as for
    /// [`Store::scan`], and if the server does not permit `CLIENT TRACKING`.
    pub async fn snapshot_by_way_of(&self, folder: &Path) -> Result<Snapshot, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.snapshot(),
            Engine::Redis(engine) => engine.snapshot(folder).await,
        }
    }

    /// Checks every checksum in the file of the embedded engine as of now, while reads and writes go
    /// on. `progress` is told how many of how many bytes are read. The file is not changed.
    ///
    /// It reads the file about twice, on a thread that gives way to others, and takes at most about
    /// 80 MiB of memory. Writes wait for one flush at its beginning. Meanwhile the file grows as it
    /// does during a snapshot. Checks run one after the other.
    ///
    /// A store in memory and one on Redis have no file that this could check.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`] if the store is closed or the connection to it is lost.
    pub async fn check_file(&self, mut progress: impl FnMut(u64, u64)) -> Result<FileState, KeyspaceError> {
        let mut check = match &self.engine {
            Engine::Redb(engine) => engine.check_file().await?,
            Engine::Redis(_) => return Ok(FileState::NoFile),
        };
        loop {
            match check.next().await? {
                FileCheckStep::Progress(read, all) => progress(read, all),
                FileCheckStep::Over(state) => return Ok(state),
            }
        }
    }

    /// Reads the names of about `limit` keys, whatever they hold, starting at `cursor` (`None`: at
    /// the beginning). Otherwise as [`Store::scan`], but values that cannot be read do not matter.
    /// Takes one round trip on Redis.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`].
    pub async fn scan_keys(&self, cursor: Option<String>, limit: usize) -> Result<KeyPage, KeyspaceError> {
        match &self.engine {
            Engine::Redb(engine) => engine.scan_keys(cursor, limit),
            Engine::Redis(engine) => engine.scan_keys(cursor, limit).await,
        }
    }

    /// Writes entries, replacing what their keys held. Ends all read sets.
    ///
    /// The embedded engine writes them in one transaction. On Redis it is not atomic: they are written in
    /// groups of up to a thousand commands.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; then some of the entries may be written.
    pub async fn restore(&self, entries: Vec<Entry>) -> Result<(), KeyspaceError> {
        self.replace(entries, None).await
    }

    /// The same for entries whose times to live count from a moment, in Unix milliseconds. So a key expires when
    /// it should, however long the writing takes.
    ///
    /// # Errors
    /// As [`Store::restore`].
    pub async fn restore_as_of(&self, entries: Vec<Entry>, as_of_ms: u64) -> Result<(), KeyspaceError> {
        self.replace(entries, Some(as_of_ms)).await
    }

    pub(crate) async fn replace(
        &self,
        entries: Vec<Entry>,
        as_of_ms: Option<u64>,
    ) -> Result<(), KeyspaceError> {
        let outcome = match &self.engine {
            Engine::Redb(engine) => engine.restore(entries, as_of_ms).await,
            Engine::Redis(engine) => engine.restore(entries, as_of_ms).await,
        };
        self.versions.note_all_written();
        outcome
    }
}
