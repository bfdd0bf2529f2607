//! The file with everything of one's own: a zip archive with `data.json` for programs and
//! `index.html` for people.
//!
//! Both files are written and compressed while the parts of the export arrive. The first is sent
//! meanwhile, as fast as the client takes it; the second, which has a cap, waits for its turn in
//! memory.

mod archive;
mod page;

use crate::App;
use crate::error::{RequestError, Result};
use crate::limits::{EXPORT_CHUNK_BYTES, EXPORT_CHUNKS_AHEAD};
use crate::markup::{Member, Page};
use crate::request::ClientAddress;
use crate::server::compression::ZIP;
use crate::server::request_id;
use archive::Archive;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use std::io;
use std::net::IpAddr;
use tidings_domain::accounts::session_store::VisitSession;
use tidings_domain::exports::Export;
use tidings_domain::{Actor, Error, User};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// A part of the file, or why there are no more.
type Chunk = Result<Bytes>;

/// The archive of an export, as a stream that is made while it is read. Returns when its first
/// bytes are there. It ends in the middle if the store fails later.
///
/// # Errors
/// Those of [`Export::begin`], or the store's.
async fn archive(app: App, user: User, address: IpAddr, session: VisitSession) -> Result<Body> {
    let (chunks, mut arriving) = mpsc::channel::<Chunk>(EXPORT_CHUNKS_AHEAD);
    let id = request_id::current().unwrap_or_default();
    tokio::spawn(id.scope(async move {
        let actor = Actor { user: &user, address };
        if let Err(failure) = make(&app, actor, &session, &chunks).await {
            // If the client has gone, nobody needs to know.
            chunks.send(Err(failure)).await.ok();
        }
    }));
    let first = arriving.recv().await.unwrap_or_else(|| Err(RequestError::Panic))?;
    let rest = stream::unfold(arriving, async |mut arriving| Some((arriving.recv().await?, arriving)));
    let rest = rest.map(|chunk| {
        chunk.map_err(|failure| {
            tracing::error!(reason = failure.message(), "an export ends in the middle");
            io::Error::other("the export failed")
        })
    });
    Ok(Body::from_stream(stream::iter([Ok(first)]).chain(rest)))
}

/// Makes the archive, and sends it in chunks. Ends early if the client has gone; then the export
/// does not count.
async fn make(
    app: &App,
    actor: Actor<'_>,
    session: &VisitSession,
    chunks: &mpsc::Sender<Chunk>,
) -> Result<()> {
    let mut export = Export::begin(&app.site, app.moment(), actor, session).await?;
    let brand = app.brand().await;
    let mut archive = Archive::begin(export.account(), &brand.site, app.now()).map_err(failed)?;
    while let Some(part) = export.next().await? {
        // Other requests go on while it is compressed.
        let added = spawn_blocking(move || {
            archive.add(part)?;
            let written = archive.take_written();
            Ok::<_, zip::result::ZipError>((archive, written))
        });
        let (more, written) = added.await.map_err(failed)?.map_err(failed)?;
        archive = more;
        if !send(chunks, written).await {
            return Ok(());
        }
    }
    let rest = spawn_blocking(move || archive.finish()).await.map_err(failed)?.map_err(failed)?;
    export.finish(app.moment()).await?;
    send(chunks, rest).await;
    Ok(())
}

/// Sends bytes as fast as the client takes them. Returns whether it still takes any.
async fn send(chunks: &mpsc::Sender<Chunk>, bytes: Vec<u8>) -> bool {
    let mut rest = Bytes::from(bytes);
    while !rest.is_empty() {
        let chunk = rest.split_to(rest.len().min(EXPORT_CHUNK_BYTES));
        if chunks.send(Ok(chunk)).await.is_err() {
            return false;
        }
    }
    !chunks.is_closed()
}

/// The archive is in memory, so writing it does not fail.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("cannot write the archive of an export: {error}"))
}

/// No cache keeps a copy, not even that of the browser.
const NOT_STORED: HeaderValue = HeaderValue::from_static("no-store");

/// GET /api/export.
pub async fn export(
    ClientAddress(address): ClientAddress,
    Page { app, visit, user, .. }: Page<Member>,
) -> Result<Response> {
    let session = visit.session().ok_or(RequestError::LoginRequired)?.clone();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(ZIP)),
        (header::CONTENT_DISPOSITION, attachment(&user.username, app.now())),
        (header::CACHE_CONTROL, NOT_STORED),
    ];
    let archive = archive(app, user, address, session).await?;
    Ok((headers, archive).into_response())
}

/// Says that the response is a file with this name. Accounts of older sites may have names of
/// any characters.
fn attachment(username: &str, now: tidings_domain::values::clock::Timestamp) -> HeaderValue {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "-_".contains(*character);
    let name: String = username.chars().filter(is_plain).collect();
    let day = tidings_domain::values::day::Day::of(now);
    HeaderValue::from_str(&format!("attachment; filename=\"{name}-{day}.zip\""))
        .unwrap_or(HeaderValue::from_static("attachment"))
}
