//! A folder of the file system.

use crate::{DiskFile, Folder};
use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A folder of the file system.
#[derive(Debug, Clone)]
pub struct RealFolder(PathBuf);

impl RealFolder {
    /// The folder that contains the file at a path.
    pub fn of(file: &Path) -> Self {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self(folder.unwrap_or(Path::new(".")).to_owned())
    }
}

impl Folder for RealFolder {
    fn open(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.0.join(name))?;
        Ok(Box::new(RealFile(Mutex::new(file))))
    }

    fn create(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        let file = for_owner().truncate(true).open(self.0.join(name))?;
        Ok(Box::new(RealFile(Mutex::new(file))))
    }

    fn create_alone(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        let path = self.0.join(name);
        let file = for_owner().open(&path)?;
        // Not every file system has locks.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::other("another process is writing it"));
        }
        if !is_still_at(&file, &path) {
            return Err(Error::other("another process has just finished it"));
        }
        // A device has no length.
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        Ok(Box::new(RealFile(Mutex::new(file))))
    }

    fn exists(&self, name: &OsStr) -> bool {
        self.0.join(name).symlink_metadata().is_ok()
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        std::fs::remove_file(self.0.join(name))
    }

    fn sync(&self) -> Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

/// To create a file that only its owner may read.
fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether an open file still has this path: another process may have renamed it between
/// opening and locking.
#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(file), Ok(path)) => place(file) == place(path),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still_at(_: &File, _: &Path) -> bool {
    true
}

/// The lock keeps the position of the file for one caller.
#[derive(Debug)]
struct RealFile(Mutex<File>);

impl RealFile {}

impl DiskFile for RealFile {
    fn length(&self) -> Result<u64> {
        Ok(self.0.lock().metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut file = self.0.lock();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut file = self.0.lock();
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    fn set_length(&self, length: u64) -> Result<()> {
        self.0.lock().set_len(length)
    }

    fn sync(&self) -> Result<()> {
        // This flushes the length too, but not the time of the last change.
        self.0.lock().sync_data()
    }
}
