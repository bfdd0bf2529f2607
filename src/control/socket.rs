//! The socket that a server listens on for commands.
//!
//! Only its owner may connect, from the first moment on: the socket is made in a folder that
//! nobody else may enter, gets its mode there, and is then moved to its place. The move also replaces
//! what a killed server has left behind.

use crate::config::folder_of;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

/// The owner may connect, and nobody else.
const SOCKET_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// A socket that this process listens on. Dropping it removes the file.
#[derive(Debug)]
pub struct ControlSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// By which it is recognised, in case that another server has replaced the file.
    identity: (u64, u64),
}

/// Why a server cannot listen on a socket. The message tells the operator what to do.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The system does not allow a path of this length.
    #[error("the path {} has {} bytes, more than the system allows for a socket; choose a shorter one",
        .0.display(), .0.as_os_str().len())]
    PathTooLong(PathBuf),
    /// A running server listens there.
    #[error("another running server listens on {}; stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// Something else is at this path.
    #[error("{} is not a socket; move it away, or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The system refuses.
    #[error("cannot listen on {}: {source}; the user that runs this program must be able to write to its folder",
        path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SocketError {
    /// Whether it may pass although nobody changes a setting: the disk is full.
    pub fn may_pass(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

impl ControlSocket {
    /// Listens on a socket at this path. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Io { path: path.to_owned(), source };
        if is_too_long(path) {
            return Err(SocketError::PathTooLong(path.to_owned()));
        }
        check_place(path)?;
        // The paths of sockets are limited, so its name is short.
        let mode = std::fs::Permissions::from_mode(FOLDER_MODE);
        let folder = tempfile::Builder::new().prefix(".").permissions(mode).tempdir_in(folder_of(path));
        Self::make_in(folder.map_err(failed)?.path(), path).map_err(failed)
    }

    /// Makes the socket in a folder and moves it to its place.
    fn make_in(folder: &Path, path: &Path) -> io::Result<Self> {
        let made = folder.join("s");
        let listener = UnixListener::bind(&made)?;
        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(SOCKET_MODE))?;
        std::fs::rename(&made, path)?;
        let identity = identity_of(path)?;
        Ok(Self { listener, path: path.to_owned(), identity })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if identity_of(&self.path).is_ok_and(|identity| identity == self.identity)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the control socket");
        }
    }
}

/// Whether no socket can have this path.
pub(super) fn is_too_long(path: &Path) -> bool {
    std::os::unix::net::SocketAddr::from_pathname(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
}

/// Refuses a path at which there is something that must stay.
fn check_place(path: &Path) -> Result<(), SocketError> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(SocketError::InUse(path.to_owned())),
        Err(error) if is_nobody(&error) => Ok(()),
        Err(source) => Err(SocketError::Io { path: path.to_owned(), source }),
    }
}

/// Whether a connection failed because no server is there.
pub(super) fn is_nobody(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = path.symlink_metadata()?;
    Ok((found.dev(), found.ino()))
}
