//! What browser extensions and pages of other sites may call: the reputation
//! of sites, from anywhere. Nothing there is answered to a cookie alone that
//! a browser would send along: an answer to any origin comes without
//! credentials.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The headers, as the original's server sent them.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    (header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*")),
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET")),
];

/// How long a browser may remember that it may call: a day, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("86400");

/// Whether a path may be called from anywhere.
fn is_open(path: &str) -> bool {
    matches!(path, "/scores" | "/vote") || path.starts_with("/v1/") || path.starts_with("/api/sites/")
}

/// Answers a preflight, and adds the headers to every other answer, errors included.
pub async fn allow_any_origin(request: Request, next: Next) -> Response {
    if !is_open(request.uri().path()) {
        return next.run(request).await;
    }
    let mut response = if request.method() == Method::OPTIONS {
        (StatusCode::NO_CONTENT, [(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED)]).into_response()
    } else {
        next.run(request).await
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}
