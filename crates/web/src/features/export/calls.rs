//! Everything of one's own, as a file.

use super::Owner;
use crate::error::RequestError;
use crate::features::export;
use crate::markup::page::{Member, Page};
use crate::request::viewer::ClientAddress;
use crate::server::compression::ZIP;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// No cache keeps a copy, not even that of the browser.
const NOT_STORED: HeaderValue = HeaderValue::from_static("no-store");

/// Export everything of the caller's own as a zip file: `data.json` for programs and `index.html`
/// for people.
#[utoipa::path(
    get,
    path = "/api/export",
    responses((
        status = 200,
        description = "A zip file, or a refusal by a rule of the site",
        content_type = "application/zip",
    )),
    security(("session" = [])),
)]
pub async fn export(
    ClientAddress(address): ClientAddress,
    Page { app, visit, user, .. }: Page<Member>,
) -> Result<Response, RequestError> {
    let session = visit.session().ok_or(RequestError::LoginRequired)?.clone();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(ZIP)),
        (header::CONTENT_DISPOSITION, attachment(&user.username, app.now())),
        (header::CACHE_CONTROL, NOT_STORED),
    ];
    let archive = export::archive(&app, Owner { user, address, session }).await?;
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
