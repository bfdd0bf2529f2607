//! A site that only members read: who is let in, and what caches and crawlers are told.
//!
//! Every request passes [`admit`] before its handler, whether something is at its address or not, and an address is open only
//! where its route says so. Nothing that is not open is kept for others: see `response_cache`.

use crate::App;
use crate::error::Result;
use crate::request::Sender;
use crate::route::Route;
use crate::server::headers::{KEY_PARAMETER, PRIVATE};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::response::Response;
use tidings_domain::accounts::access::Access;
use tidings_domain::accounts::reading_key::ReadingKey;
use url::form_urlencoded;

const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const NO_INDEX: HeaderValue = HeaderValue::from_static("noindex");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// An extension of responses to somebody who was let in.
#[derive(Clone, Copy)]
pub struct ForMember;

/// Whether a route is not for everyone, as far as it is known without a read.
pub fn is_closed(app: &App, route: &Route) -> bool {
    route.access != Access::Everyone && app.site.is_for_members()
}

/// Lets a request in, or refuses it. A program is known by the key of its member, where its route takes one, and its visit
/// is that member's. Rounds: none on a site for everyone; else those that recognise the viewer.
///
/// # Errors
/// [`Refusal::MembersOnly`](tidings_domain::Refusal::MembersOnly),
/// [`Refusal::EmailNotConfirmed`](tidings_domain::Refusal::EmailNotConfirmed), or the store's.
pub async fn admit(app: &App, route: &Route, request: &mut Request) -> Result<Option<ForMember>> {
    if !is_closed(app, route) {
        return Ok(None);
    }
    if let Some(key) = key_of(request.uri()).filter(|_| route.takes_key) {
        request.extensions_mut().insert(key);
    }
    Sender::of(app, request.headers(), request.extensions()).visit(app).demand(route.access).await?;
    Ok(Some(ForMember))
}

fn key_of(address: &Uri) -> Option<ReadingKey> {
    let mut parameters = form_urlencoded::parse(address.query()?.as_bytes());
    parameters.find_map(|(name, value)| (name == KEY_PARAMETER).then(|| ReadingKey::parse(&value)).flatten())
}

/// Tells caches and crawlers what they may keep of a site that only members read: the files of the program, and nothing
/// else. A member's own browser keeps what it always does.
pub fn seal(app: &App, route: &Route, response: &mut Response) {
    if !app.site.is_for_members() || route.is_open_file() {
        return;
    }
    let is_member = response.extensions().get::<ForMember>().is_some();
    let headers = response.headers_mut();
    if is_member {
        headers.insert(header::CACHE_CONTROL, PRIVATE);
    } else {
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        headers.insert(ROBOTS_TAG, NO_INDEX);
        headers.remove(header::LAST_MODIFIED);
    }
}
