//! Gets a page over HTTP, from addresses that were checked.

use super::FetchPlace;
use super::page::Page;
use crate::error::TitleError;
use crate::limits::{TITLE_BYTES, TITLE_HEAD_BYTES, TITLE_HEADERS, TITLE_REDIRECTS};
use crate::server::outgoing::{self, Ports};
use crate::settings::Network;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use url::Url;

/// The content types of pages.
const PAGE_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The answer of the server at an address.
enum Answer {
    Page(Page),
    Redirect(Url),
}

/// Gets the page at a URL, and follows redirects.
pub(super) async fn fetch_page(
    network: &Network,
    home: &Url,
    place: &FetchPlace,
    mut url: Url,
) -> Result<Page, TitleError> {
    let mut settings = http1::Builder::new();
    settings.max_buf_size(TITLE_HEAD_BYTES).max_headers(TITLE_HEADERS);
    for _ in 0..=TITLE_REDIRECTS {
        let endpoints = network.look_up(&url, Ports::OfTheWeb, place.clone()).await?;
        let request = outgoing::request(Method::GET, &url, home)
            .header(header::ACCEPT, PAGE_TYPES.join(", "))
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|_| TitleError::NotAPage)?;
        let server = (&*endpoints, &url, network.certificate.as_deref());
        let (response, _connection) = outgoing::send(server, &settings, request).await?;
        match read(response, &url).await? {
            Answer::Page(page) => return Ok(page),
            Answer::Redirect(elsewhere) => url = elsewhere,
        }
    }
    Err(TitleError::TooManyRedirects)
}

/// Reads an answer: where it redirects to, or at most [`TITLE_BYTES`] of the page.
async fn read(response: Response<Incoming>, url: &Url) -> Result<Answer, TitleError> {
    let (status, headers) = (response.status(), response.headers());
    let redirects = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if redirects.contains(&status) {
        return redirect(headers, url).map(Answer::Redirect);
    }
    if !status.is_success() {
        return Err(TitleError::Status(status.as_u16()));
    }
    let content_type = text(headers, header::CONTENT_TYPE);
    let (essence, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
    let is_page = PAGE_TYPES.iter().any(|known| essence.trim().eq_ignore_ascii_case(known));
    let encoding = text(headers, header::CONTENT_ENCODING);
    if !is_page || !matches!(encoding.trim(), "" | "identity") {
        return Err(TitleError::NotAPage);
    }
    let mut page = Page::new(parameters);
    let mut chunks = Body::new(response.into_body()).into_data_stream();
    while let Some(chunk) = chunks.next().await {
        // A page that breaks off may have a title all the same.
        let Ok(chunk) = chunk else { break };
        let room = TITLE_BYTES.saturating_sub(page.body.len());
        page.body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() >= room {
            break;
        }
    }
    Ok(Answer::Page(page))
}

/// Where a redirect leads to.
fn redirect(headers: &HeaderMap, url: &Url) -> Result<Url, TitleError> {
    let elsewhere = url.join(&text(headers, header::LOCATION)).map_err(|_| TitleError::BadRedirect)?;
    let is_web = matches!(elsewhere.scheme(), "http" | "https") && headers.contains_key(header::LOCATION);
    if is_web { Ok(elsewhere) } else { Err(TitleError::BadRedirect) }
}

/// A header as text; empty if there is none.
fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}
