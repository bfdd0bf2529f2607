//! The file with everything of one's own: a zip archive with `data.json` for programs and
//! `index.html` for people.
//!
//! Both files are written and compressed while the parts of the export arrive, so the memory
//! that is needed is that of the archive, which has a cap.

mod archive;
mod page;

use crate::error::RequestError;
use crate::settings::SiteSettings;
use archive::Archive;
use tidings_domain::Error;
use tidings_domain::exports::Export;
use tidings_domain::values::clock::Timestamp;
use tokio::task::spawn_blocking;

/// The content type of the file.
pub const ZIP: &str = "application/zip";

/// Makes the archive of an export.
///
/// # Errors
/// When the store fails.
pub async fn archive(
    mut export: Export<'_>,
    site: &SiteSettings,
    now: Timestamp,
) -> Result<Vec<u8>, RequestError> {
    let mut archive = Archive::begin(export.account(), site, now).map_err(failed)?;
    while let Some(part) = export.next().await? {
        // Other requests go on while it is compressed.
        let added = spawn_blocking(move || archive.add(part).map(|()| archive)).await;
        archive = added.map_err(failed)?.map_err(failed)?;
    }
    Ok(spawn_blocking(move || archive.finish()).await.map_err(failed)?.map_err(failed)?)
}

/// The archive is in memory, so writing it does not fail.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("cannot write the archive of an export: {error}"))
}
