//! Brings a backup under its name only when it is whole and on disk.
//!
//! It is written to `FILE.partial`, flushed, renamed, and then the folder is flushed. So
//! whatever happens at any moment, a power cut too, there is either no file of the name
//! or a whole one.

use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tidings_disk::{DiskFile, Folder, RealFolder};
use tidings_domain::supervision::steps::step;

/// A new file that has its name only when it is whole. Dropped before, it leaves nothing behind.
pub struct NewFile {
    folder: Box<dyn Folder>,
    path: PathBuf,
    partial: PathBuf,
    /// It is open, and so locked, until it has its name. A backup has everything, secrets too, so only its owner
    /// may read it.
    file: Option<Box<dyn DiskFile>>,
    length: u64,
}

impl NewFile {
    /// Opens it under a name for the time being.
    ///
    /// # Errors
    /// When there is a file of its name, or the disk refuses it.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        Self::create_in(Box::new(RealFolder::of(path)), path)
    }

    /// The same in a folder of any disk.
    pub(super) fn create_in(folder: Box<dyn Folder>, path: &Path) -> anyhow::Result<Self> {
        demand_absent(&*folder, path)?;
        let partial = partial_of(path);
        step();
        let file = folder.create_alone(name_of(&partial));
        let file = Some(file.with_context(|| format!("cannot create {}", partial.display()))?);
        Ok(Self { folder, path: path.to_owned(), partial, file, length: 0 })
    }

    /// The bytes that were written.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Brings it under its name, when all of it is on disk.
    ///
    /// # Errors
    /// When there is a file of this name by now, or the disk fails.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let (partial, path) = (self.partial.display(), self.path.display());
        if let Some(file) = &self.file {
            step();
            file.sync().with_context(|| format!("cannot flush {partial}"))?;
        }
        demand_absent(&*self.folder, &self.path)?;
        step();
        let renamed = self.folder.rename(name_of(&self.partial), name_of(&self.path));
        renamed.with_context(|| format!("cannot rename {partial} to {path}"))?;
        self.file = None;
        step();
        self.folder.sync().with_context(|| format!("cannot flush the folder of {path}"))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.write_at(self.length, bytes)?;
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            warn_of(&self.partial, self.folder.remove(name_of(&self.partial)));
        }
    }
}

/// Refuses a path at which there is something.
///
/// # Errors
/// When there is.
pub fn demand_absent(folder: &dyn Folder, path: &Path) -> anyhow::Result<()> {
    if folder.exists(name_of(path)) {
        bail!("{} exists already; choose another name, or remove it first", path.display());
    }
    Ok(())
}

/// Removes a file. A failure is logged.
pub fn remove(path: &Path) {
    warn_of(path, std::fs::remove_file(path));
}

fn warn_of(path: &Path, removed: io::Result<()>) {
    if let Err(error) = removed {
        tracing::warn!(%error, path = %path.display(), "cannot remove a file");
    }
}

fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// The name of a file while it is written.
pub fn partial_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    name.into()
}
