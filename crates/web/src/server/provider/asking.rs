//! Requests to the provider, each with its bounds: 64 KiB, a time, so many at once, and addresses that are public unless the
//! operator has named the host.

use crate::App;
use crate::limits::PROVIDER_BYTES;
use crate::server::outgoing::{self, OutgoingError, Ports};
use crate::settings::OidcSettings;
use axum::body::{self, Body};
use axum::http::{HeaderMap, Method, StatusCode, header, request};
use hyper::client::conn::http1;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use tokio::time::timeout;
use url::Url;

/// Why a question to the provider has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error(transparent)]
    Outgoing(#[from] OutgoingError),
    #[error("too many questions are under way")]
    TooMany,
    #[error("the answer is larger than 64 KiB, or breaks off")]
    Length,
    #[error("the status is {}", .0.as_u16())]
    Status(StatusCode),
    #[error("the answer is not the JSON that OpenID Connect demands")]
    Form,
}

/// An answer of the provider.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The value in its body, if its status is a success.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, AskError> {
        if !self.status.is_success() {
            return Err(AskError::Status(self.status));
        }
        serde_json::from_slice(&self.body).map_err(|_| AskError::Form)
    }
}

/// Gets what is at an address.
pub(super) async fn get(app: &App, settings: &OidcSettings, url: &Url) -> Result<Answer, AskError> {
    send(app, settings, url, (request_for(app, Method::GET, url), Body::empty())).await
}

/// The head of a request.
pub(super) fn request_for(app: &App, method: Method, url: &Url) -> request::Builder {
    outgoing::request(method, url, &app.settings.site.url).header(header::ACCEPT, "application/json")
}

/// Sends a request. Redirects are not followed.
pub(super) async fn send(
    app: &App,
    settings: &OidcSettings,
    url: &Url,
    (request, body): (request::Builder, Body),
) -> Result<Answer, AskError> {
    let Ok(_place) = app.provider.places.try_acquire() else { return Err(AskError::TooMany) };
    let asking = async {
        let endpoints = endpoints(app, settings, url).await?;
        let length = http_body_length(&body);
        let request = request.header(header::CONTENT_LENGTH, length);
        let request = request.body(body).map_err(|_| OutgoingError::Unreachable)?;
        let certificate = app.settings.titles.network.certificate.as_deref();
        let (response, _connection) =
            outgoing::send((&endpoints, url, certificate), &http1::Builder::new(), request).await?;
        let (head, body) = response.into_parts();
        let body = body::to_bytes(Body::new(body), PROVIDER_BYTES).await.map_err(|_| AskError::Length)?;
        Ok(Answer { status: head.status, headers: head.headers, body: body.into() })
    };
    timeout(settings.patience, asking).await.unwrap_or(Err(OutgoingError::TimedOut.into()))
}

fn http_body_length(body: &Body) -> u64 {
    axum::body::HttpBody::size_hint(body).exact().unwrap_or(0)
}

/// Where to connect to. The issuer's own host is what the operator named, so it may be private; any other is checked.
async fn endpoints(app: &App, settings: &OidcSettings, url: &Url) -> Result<Vec<SocketAddr>, OutgoingError> {
    let is_safe = url.scheme() == "https" || settings.issuer.scheme() == "http";
    if !is_safe {
        return Err(OutgoingError::Insecure);
    }
    if url.host() != settings.issuer.host() {
        return app.settings.titles.network.look_up(url, Ports::Any, ()).await;
    }
    outgoing::look_up_unchecked(url).await
}
