//! The files of one folder, as a store and its backups need them: on the real disk, or on a
//! simulated one that forgets what was not flushed.
//!
//! The traits name each step that a power cut can undo on its own: a write, a change of length,
//! a creation, a rename. Code that is written against them is tested by cutting the power of a
//! [`simulated::SimulatedDisk`] between any two of these steps.

mod real;
pub mod simulated;

pub use real::RealFolder;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::io::Result;

/// A folder of files.
pub trait Folder: Debug + Send + Sync {
    /// Opens a file for reading and writing. The error is of the kind `NotFound` if there is none.
    ///
    /// # Errors
    /// If the file cannot be opened.
    fn open(&self, name: &OsStr) -> Result<Box<dyn DiskFile>>;

    /// Creates an empty file, or empties the one of that name. Only its owner may read it. Its
    /// name is durable after [`Self::sync`].
    ///
    /// # Errors
    /// If the file cannot be created.
    fn create(&self, name: &OsStr) -> Result<Box<dyn DiskFile>>;

    /// The same for this process alone. What another process writes stays as it is.
    ///
    /// # Errors
    /// If the file cannot be created, or another process is writing it.
    fn create_alone(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        self.create(name)
    }

    /// Whether there is anything of this name.
    fn exists(&self, name: &OsStr) -> bool;

    /// Renames a file, and replaces one that has the new name. Durable after [`Self::sync`].
    ///
    /// # Errors
    /// If the file cannot be renamed.
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()>;

    /// Removes a file. Durable after [`Self::sync`].
    ///
    /// # Errors
    /// If the file cannot be removed; of the kind `NotFound` if there is none.
    fn remove(&self, name: &OsStr) -> Result<()>;

    /// Makes all earlier creations, renames and removals durable.
    ///
    /// # Errors
    /// If the disk fails.
    fn sync(&self) -> Result<()>;
}

/// An open file.
pub trait DiskFile: Debug + Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// If the disk fails.
    fn length(&self) -> Result<u64>;

    /// Fills a buffer with the bytes from an offset on. The error is of the kind `UnexpectedEof`
    /// if there are fewer.
    ///
    /// # Errors
    /// If the disk fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Writes bytes at an offset, and lengthens the file if it ends before. Durable after
    /// [`Self::sync`].
    ///
    /// # Errors
    /// If the disk fails or is full. Then any part of the bytes may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Cuts the file off, or lengthens it with zeros. Durable after [`Self::sync`].
    ///
    /// # Errors
    /// If the disk fails.
    fn set_length(&self, length: u64) -> Result<()>;

    /// Makes the content and the length durable, but not the name.
    ///
    /// # Errors
    /// If the disk fails. Then nothing is known about the writes since the last success, and
    /// trying again does not help: the system may have dropped them.
    fn sync(&self) -> Result<()>;
}
