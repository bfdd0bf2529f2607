//! Opening the store file, and reopening it after a disk error.

use super::journal::{Journal, JournalFile, JournalStorage};
use super::recovery::{close_journal, open_journal, prepare_journal};
use super::store_file::{StoreFile, Trouble};
use super::tables::{LAYOUT_VERSION, META, META_LAYOUT, META_SEALED, Tables};
use crate::limits::JOURNAL_BYTES;
use crate::{Batch, KeyspaceError};
use parking_lot::RwLock;
use redb::backends::FileBackend;
use redb::{Database, DatabaseError, ReadableDatabase, StorageBackend, StorageError, TableError};
use std::path::{Path, PathBuf};
use tidings_disk::{Folder, RealFolder};
use tidings_supervision::steps::step;

/// The path that stands for a store in memory.
const MEMORY: &str = ":memory:";

/// A database and what belongs to it. A store in memory has neither file nor journal.
pub(super) struct OpenedStore {
    pub(super) database: Database,
    pub(super) files: Option<Files>,
}

/// The files of a store: what its writer needs besides the database.
pub(super) struct Files {
    pub(super) store: StoreFile,
    pub(super) journal: Journal,
    /// Where the store file is; `None` on a simulated disk.
    pub(super) path: Option<PathBuf>,
}

impl Files {
    /// Why nothing may be written at the moment.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.store.trouble().or_else(|| self.journal.trouble().cloned())
    }
}

/// Opens the database and its files. The error tells the operator what to do.
pub(super) type Opener = Box<dyn Fn() -> Result<OpenedStore, String> + Send + Sync>;

/// The open database. After some failures only reopening tells what it has, so the database can be
/// replaced while it is in use.
pub(super) struct ReopenableDatabase {
    database: RwLock<Option<Database>>,
    opener: Opener,
}

impl ReopenableDatabase {
    /// Opens the database for the first time. The files are for the writer.
    pub(super) fn open(opener: Opener) -> Result<(Self, Option<Files>), String> {
        let OpenedStore { database, files } = opener()?;
        Ok((Self { database: RwLock::new(Some(database)), opener }, files))
    }

    /// Begins a read transaction.
    pub(super) fn begin_read(&self) -> Result<redb::ReadTransaction, redb::Error> {
        match &*self.database.read() {
            Some(database) => Ok(database.begin_read()?),
            None => Err(redb::Error::DatabaseClosed),
        }
    }

    /// Begins a write transaction. Only the writer calls this.
    pub(super) fn begin_write(&self) -> Result<redb::WriteTransaction, redb::Error> {
        match &*self.database.read() {
            Some(database) => begin_write(database),
            None => Err(redb::Error::DatabaseClosed),
        }
    }

    /// Whether the database can be written to, as far as is known.
    pub(super) fn works(&self) -> bool {
        self.begin_write().is_ok_and(|transaction| transaction.abort().is_ok())
    }

    /// Makes a journal ready that could not be created when the store was opened.
    pub(super) fn prepare_journal(&self, files: &mut Files) -> Result<(), String> {
        match &*self.database.read() {
            Some(database) => prepare_journal(database, &files.store, &mut files.journal),
            None => Err(redb::Error::DatabaseClosed.to_string()),
        }
    }

    /// Reopens the database and its files. Returns `None` if that fails. Data that the old database
    /// has in memory is not written, because it may be wrong.
    pub(super) fn reopen(&self, old: Option<Files>) -> Option<Option<Files>> {
        let mut database = self.database.write();
        if let Some(old) = old {
            old.store.abandon();
        }
        // Dropping the old database releases the lock on the file.
        *database = None;
        match (self.opener)() {
            Ok(opened) => {
                tracing::info!("the store file is open again");
                *database = Some(opened.database);
                Some(opened.files)
            }
            Err(reason) => {
                tracing::error!(reason, "cannot reopen the store file");
                None
            }
        }
    }

    /// Closes the database, and removes the journal if one is given, because it is no
    /// longer needed. Later transactions fail.
    pub(super) fn close(&self, journal: Option<Journal>) {
        let mut database = self.database.write();
        if let (Some(database), Some(journal)) = (&*database, journal)
            && let Err(error) = close_journal(database, journal)
        {
            tracing::warn!(%error, "cannot remove the journal");
        }
        *database = None;
    }
}

/// Begins a write transaction. A commit that is flushed also saves which pages are free, so that
/// opening the file after a crash does not read all of it.
pub(super) fn begin_write(database: &Database) -> Result<redb::WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// A key that a new store has from its first moment, and its text.
pub(super) type First = Option<(String, String)>;

/// How to open the store at a path. `create` says what a new one has, if the file may be created.
pub(super) fn opener(path: &str, cache_bytes: usize, create: Option<First>) -> Opener {
    let path = path.to_owned();
    if path == MEMORY {
        let opened = std::sync::atomic::AtomicBool::new(false);
        return Box::new(move || {
            // Opening it again would replace the data by an empty store.
            if opened.swap(true, std::sync::atomic::Ordering::SeqCst) {
                return Err("a store in memory cannot be opened again".to_owned());
            }
            let backend = redb::backends::InMemoryBackend::new();
            let database = redb::Builder::new().set_cache_size(cache_bytes).create_with_backend(backend);
            let database = database.map_err(|error| error.to_string())?;
            lay_out(&database, true, create.as_ref().and_then(Option::as_ref))
                .map_err(|error| error.to_string())?;
            Ok(OpenedStore { database, files: None })
        });
    }
    Box::new(move || {
        let path = Path::new(&path);
        if let Some(first) = &create
            && is_missing(path)
        {
            make(path, first.as_ref())?;
        }
        let file = open_file(path, false)?;
        let backend = FileBackend::new(file).map_err(|error| advice(&error))?;
        let journal = Box::new(JournalFile::beside(path));
        let mut opened = open_files(Box::new(backend), journal, cache_bytes, JOURNAL_BYTES)?;
        if let Some(files) = &mut opened.files {
            files.path = Some(path.to_owned());
            // A power cut may have left it.
            super::compaction::remove_rest(path);
        }
        Ok(opened)
    })
}

/// Opens a database in a file, with its journal.
pub(super) fn open_files(
    file: Box<dyn StorageBackend>,
    journal: Box<dyn JournalStorage>,
    cache_bytes: usize,
    journal_bytes: usize,
) -> Result<OpenedStore, String> {
    let store = StoreFile::new(file);
    let database = redb::Builder::new()
        .set_cache_size(cache_bytes)
        .set_repair_callback(|repair| {
            if repair.progress() <= 0.0 {
                note_repair();
            }
        })
        .create_with_backend(store.clone())
        .map_err(|error| advice(&error))?;
    let database = prepared(database)?;
    let mut journal = open_journal(&database, journal, journal_bytes)?;
    if !journal.is_ready() && store.trouble().is_none() {
        prepare_journal(&database, &store, &mut journal)?;
    }
    store.serve();
    Ok(OpenedStore { database, files: Some(Files { store, journal, path: None }) })
}

/// Says that a file is read whole, because the version that wrote it last did not save which pages
/// are free.
fn note_repair() {
    tracing::warn!("the store was not closed cleanly by an older version; its whole file is being read");
    #[cfg(test)]
    super::tests::REPAIRS.with(|repairs| repairs.set(repairs.get() + 1));
}

/// Whether there is no store at a path: no file, or an empty one, as a process leaves behind that was killed
/// when it had just made it.
pub(super) fn is_missing(path: &Path) -> bool {
    path != Path::new(MEMORY)
        && !path.as_os_str().is_empty()
        && path.metadata().map_or_else(|_| !path.exists(), |file| file.is_file() && file.len() == 0)
}

/// Makes a new store file. It is made beside the path and gets its name when it is whole and on disk, so nobody
/// ever finds half of it.
fn make(path: &Path, first: Option<&(String, String)>) -> Result<(), String> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push("-new");
    let file = open_file(&path.with_file_name(&name), true)?;
    // Locks it: one process makes the store, and others find it made.
    let backend = FileBackend::new(file).map_err(|error| advice(&error))?;
    if !is_missing(path) {
        return Ok(());
    }
    // A process that was killed may have left something.
    backend.set_len(0).map_err(|error| error.to_string())?;
    let store = StoreFile::new(Box::new(backend));
    let database = redb::Builder::new().create_with_backend(store.clone()).map_err(|error| advice(&error))?;
    lay_out(&database, true, first).map_err(|error| error.to_string())?;
    if let Some(trouble) = store.trouble() {
        return Err(trouble.cause);
    }
    step();
    let folder = RealFolder::of(path);
    let named = folder.rename(&name, path.file_name().unwrap_or_default()).and_then(|()| folder.sync());
    named.map_err(|error| error.to_string())
}

/// Opens the store file, or creates it if `create` is set. Only its owner may read it, because
/// it may hold secrets.
pub(super) fn open_file(path: &Path, create: bool) -> Result<std::fs::File, String> {
    if path.as_os_str().is_empty() {
        return Err("the path is missing; write redb:store.redb, for example".to_owned());
    }
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if !create => "there is no such file; check the path".to_owned(),
        std::io::ErrorKind::NotFound => "its folder does not exist; create it first".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            format!("{error}; let the user that runs this program read and write the file and its folder")
        }
        std::io::ErrorKind::IsADirectory => "it is a folder; name a file in it".to_owned(),
        _ => error.to_string(),
    })
}

/// Why a file cannot be opened that another process has open.
pub(super) const LOCKED: &str = "another process has it open; stop that process, or name another store";

/// Why the file could not be opened, and what the operator can do.
pub(super) fn advice(error: &DatabaseError) -> String {
    match error {
        DatabaseError::DatabaseAlreadyOpen => LOCKED.to_owned(),
        DatabaseError::UpgradeRequired(version) => format!(
            "it has the old file format {version}; copy it to a new store with the version that wrote it"
        ),
        DatabaseError::Storage(StorageError::Corrupted(what)) => damaged(what),
        DatabaseError::Storage(StorageError::Io(error))
            if matches!(
                error.kind(),
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
            ) =>
        {
            damaged(&error.to_string())
        }
        other => other.to_string(),
    }
}

/// The message about a damaged file, with the ways in which the operator can replace it.
pub(super) fn damaged(what: &str) -> String {
    format!(
        "it is damaged or is not a store ({what}); \
         put a backup in its place, or move it away to start with an empty store"
    )
}

/// Checks the layout of a database, and creates it in an empty one.
pub(super) fn prepared(database: Database) -> Result<Database, String> {
    match layout(&database).map_err(|error| damaged(&error.to_string()))? {
        Layout::Version(LAYOUT_VERSION) => {}
        // Every layout so far extends the one before it.
        Layout::Version(version) if version < LAYOUT_VERSION => {
            lay_out(&database, false, None).map_err(|error| error.to_string())?;
        }
        Layout::Version(version) => {
            return Err(format!(
                "it has layout {version} and this version knows only layout {LAYOUT_VERSION}; \
                 run the version that wrote it, or a newer one"
            ));
        }
        Layout::Foreign => return Err(damaged("a redb file of another program")),
        Layout::Empty => lay_out(&database, true, None).map_err(|error| error.to_string())?,
    }
    Ok(database)
}

enum Layout {
    Version(u64),
    Empty,
    Foreign,
}

fn layout(database: &Database) -> Result<Layout, redb::Error> {
    let transaction = database.begin_read()?;
    match transaction.open_table(META) {
        Ok(meta) => Ok(match meta.get(META_LAYOUT)? {
            Some(version) => Layout::Version(version.value()),
            None => Layout::Foreign,
        }),
        Err(TableError::TableDoesNotExist(_)) if transaction.list_tables()?.next().is_none() => {
            Ok(Layout::Empty)
        }
        Err(TableError::Storage(error)) => Err(error.into()),
        Err(_) => Ok(Layout::Foreign),
    }
}

/// Creates the tables that are missing. In a new file, all rows there will ever be have check values, and there
/// is a first key.
fn lay_out(database: &Database, is_new: bool, first: Option<&(String, String)>) -> Result<(), redb::Error> {
    let transaction = begin_write(database)?;
    {
        let mut tables = Tables::write(&transaction)?;
        if let Some((key, text)) = first {
            let mut batch = Batch::new();
            batch.set(key, text);
            tables.apply(&batch, &[])?;
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_LAYOUT, LAYOUT_VERSION)?;
        if is_new {
            meta.insert(META_SEALED, 1)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// If redb reports damage, it is in the value of one key, which the caller names. Every other error of
/// redb means that the store is unavailable.
macro_rules! unavailable {
    ($($error:ty),*) => {
        $(impl From<$error> for KeyspaceError {
            fn from(error: $error) -> Self {
                match redb::Error::from(error) {
                    redb::Error::Corrupted(what) => Self::Damaged(what),
                    error => Self::Unavailable(error.to_string()),
                }
            }
        })*
    };
}

unavailable!(redb::Error, StorageError, TableError);

impl From<StorageError> for crate::CommitError {
    fn from(error: StorageError) -> Self {
        Self::Keyspace(error.into())
    }
}
