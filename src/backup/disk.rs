//! Brings a backup under its name only when it is whole and on disk.
//!
//! It is written to `FILE.partial`, flushed, renamed, and then the folder is flushed. So
//! whatever happens at any moment, a power cut too, there is either no file of the name
//! or a whole one.

use crate::config::folder_of;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tidings_domain::supervision::steps::step;

/// The operations that a backup needs of a file system. The tests have one that loses power.
pub trait Disk {
    /// An open file.
    type File: Write + Send + 'static;

    /// Whether there is anything under a path.
    fn exists(&self, path: &Path) -> bool;

    /// Opens a new file for this process alone; what an earlier process has left there is gone.
    ///
    /// # Errors
    /// When that is not possible, or another process is writing the file.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Flushes a file.
    ///
    /// # Errors
    /// When what was written may not be on disk.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Renames a file.
    ///
    /// # Errors
    /// When the system refuses it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Flushes a folder, so that its names last.
    ///
    /// # Errors
    /// When they may not be on disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path);
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    type File = File;

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        step();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        // A backup has everything, secrets too.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::Error::other("another backup is writing it")),
            // Not every file system has locks.
            Err(TryLockError::Error(error)) => tracing::debug!(%error, "a partial backup is not locked"),
        }
        if !is_still_at(&file, path) {
            return Err(io::Error::other("another backup has just finished it"));
        }
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        Ok(file)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        step();
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        step();
        std::fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        step();
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) {
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove a file");
        }
    }
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

/// A new file that has its name only when it is whole. Dropped before, it leaves nothing behind.
pub struct NewFile<'a, D: Disk> {
    disk: &'a D,
    path: PathBuf,
    partial: PathBuf,
    /// It is open, and so locked, until it has its name.
    file: Option<D::File>,
}

impl<'a, D: Disk> NewFile<'a, D> {
    /// Opens it under a name for the time being.
    ///
    /// # Errors
    /// When there is a file of its name, or the disk refuses it.
    pub fn create(disk: &'a D, path: &Path) -> anyhow::Result<Self> {
        demand_absent(disk, path)?;
        let partial = partial_of(path);
        let file = disk.create(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
        Ok(Self { disk, path: path.to_owned(), partial, file: Some(file) })
    }

    /// The open file.
    ///
    /// # Errors
    /// None until it is finished.
    pub fn file(&mut self) -> io::Result<&mut D::File> {
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Brings it under its name, when all of it is on disk.
    ///
    /// # Errors
    /// When there is a file of this name by now, or the disk fails.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let (partial, path) = (self.partial.display().to_string(), self.path.clone());
        self.disk.sync(self.file()?).with_context(|| format!("cannot flush {partial}"))?;
        demand_absent(self.disk, &path)?;
        let renamed = self.disk.rename(&self.partial, &path);
        renamed.with_context(|| format!("cannot rename {partial} to {}", path.display()))?;
        self.file = None;
        let folder = folder_of(&path);
        self.disk
            .sync_folder(&folder)
            .with_context(|| format!("cannot flush the folder {}", folder.display()))
    }
}

impl<D: Disk> Drop for NewFile<'_, D> {
    fn drop(&mut self) {
        if self.file.is_some() {
            self.disk.remove(&self.partial);
        }
    }
}

fn demand_absent<D: Disk>(disk: &D, path: &Path) -> anyhow::Result<()> {
    if disk.exists(path) {
        bail!("{} exists already; choose another name, or remove it first", path.display());
    }
    Ok(())
}

/// The name of a file while it is written.
pub fn partial_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}
