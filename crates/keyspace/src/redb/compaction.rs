//! Writing a store file anew: the rows that are there, into a new file that takes the place of the old one.
//!
//! A page that redb frees keeps its bytes until it is used again. So what was deleted may be in the file for
//! long, unless the file is written anew.

use super::database::open_file;
use super::tables::{META, Tables};
use redb::backends::FileBackend;
use redb::{Durability, ReadTransaction, ReadableTable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tidings_disk::{Folder, RealFolder};

/// The memory for pages of the new file.
const CACHE_BYTES: usize = 64 << 20;

/// A new file that is complete and on disk.
pub(super) struct NewFile(OsString);

/// The name of the new file beside the store file of this path.
fn name_beside(path: &Path) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push("-compact");
    name
}

fn path_beside(path: &Path) -> PathBuf {
    path.with_file_name(name_beside(path))
}

/// Writes the rows of a snapshot into a new file beside the store file. The snapshot must be a checkpoint: the
/// new file names the same journal and the same last record.
pub(super) fn write_anew(from: &ReadTransaction, path: &Path) -> Result<NewFile, redb::Error> {
    remove_rest(path);
    let file = open_file(&path_beside(path), true).map_err(std::io::Error::other)?;
    let backend = FileBackend::new(file)?;
    let database = redb::Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(backend)?;
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    transaction.set_durability(Durability::Immediate)?;
    {
        let (old, new) = (Tables::read(from)?, Tables::write(&transaction)?);
        for (old, mut new) in old.into_all().into_iter().zip(new.into_all()) {
            for row in old.iter()? {
                let (key, value) = row?;
                new.insert(key.value(), value.value())?;
            }
        }
        let mut meta = transaction.open_table(META)?;
        for row in from.open_table(META)?.iter()? {
            let (key, value) = row?;
            meta.insert(key.value(), value.value())?;
        }
    }
    transaction.commit()?;
    drop(database);
    Ok(NewFile(name_beside(path)))
}

impl NewFile {
    /// Gives it the name of the store file. Durable when it returns.
    pub(super) fn take_the_place_of(self, path: &Path) -> std::io::Result<()> {
        let folder = RealFolder::of(path);
        folder.rename(&self.0, path.file_name().unwrap_or_default())?;
        folder.sync()
    }
}

/// Removes what there is of a new file that was not completed.
pub(super) fn remove_rest(path: &Path) {
    // There is none, as a rule.
    std::fs::remove_file(path_beside(path)).ok();
}
