//! Requests of that API, and what all answers have in common.

use super::json::written;
use super::resources::Resource;
use super::stream;
use crate::App;
use crate::error::{RequestError, Result};
use crate::request::response_cache::{entity_tag, wants_events};
use crate::request::{ClientAddress, Fields, JSON, PathOf, Sender};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use tidings_language::m;

/// The parameters that an answer depends on.
pub const PARAMETERS: &[&str] = &["callback", "print"];

/// How long an answer may be used, and that an address has a stream of events too.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
    (header::CACHE_CONTROL, HeaderValue::from_static("max-age=5")),
    (header::VARY, HeaderValue::from_static("accept")),
];

/// A request for something.
pub struct Asked {
    address: IpAddr,
    sender: Sender,
    headers: HeaderMap,
    /// Whether the answer is written for people.
    is_pretty: bool,
}

impl FromRequest<App> for Asked {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let ClientAddress(address) = ClientAddress::from_request_parts(&mut parts, app).await?;
        let sender = Sender::of(app, &parts.headers, &parts.extensions);
        let headers = parts.headers.clone();
        let fields = Fields::from_request(Request::from_parts(parts, body), app).await?;
        if fields.get("callback").is_some() {
            return Err(RequestError::field(
                "callback",
                m!("this site does not wrap its answers in scripts"),
            ));
        }
        Ok(Self { address, sender, headers, is_pretty: fields.get("print") == Some("pretty") })
    }
}

/// GET /v0/item/:number.json.
pub async fn item(app: App, PathOf(file): PathOf<String>, asked: Asked) -> Result<Response> {
    asked.answer(app, Resource::of_item(&file)?).await
}

/// GET /v0/user/:name.json.
pub async fn user(app: App, PathOf(file): PathOf<String>, asked: Asked) -> Result<Response> {
    asked.answer(app, Resource::of_user(&file)?).await
}

/// GET /v0/maxitem.json: the highest number.
pub async fn highest_number(app: App, asked: Asked) -> Result<Response> {
    asked.answer(app, Resource::of_file("maxitem.json")?).await
}

/// GET /v0/:name.json: a list, or what has changed.
pub async fn file(app: App, PathOf(file): PathOf<String>, asked: Asked) -> Result<Response> {
    asked.answer(app, Resource::of_file(&file)?).await
}

impl Asked {
    async fn answer(self, app: App, resource: Resource) -> Result<Response> {
        let Self { address, sender, headers, is_pretty } = self;
        if wants_events(&headers) {
            return stream::open(app, resource, (address, sender)).await;
        }
        let body = written(&resource.read(&app).await?, is_pretty)?;
        Ok((HEADERS, [(header::ETAG, entity_tag(body.as_bytes()))], body).into_response())
    }
}
