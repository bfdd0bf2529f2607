//! CORS: browser extensions and pages of other sites may call the reputation of sites.
//!
//! `Access-Control-Allow-Origin: *` excludes credentials, so such pages cannot use the
//! session cookie of a visitor.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The headers, as the original server sent them.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    (header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*")),
    (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET")),
];

/// How long a browser may cache the result of a preflight request: a day, in seconds.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Whether any origin may call a path.
fn is_open(path: &str) -> bool {
    matches!(path, "/scores" | "/vote") || path.starts_with("/v1/") || path.starts_with("/api/sites/")
}

/// Middleware that responds to preflight requests and adds the headers to all other
/// responses, including errors.
pub async fn allow_any_origin(request: Request, next: Next) -> Response {
    if !is_open(request.uri().path()) {
        return next.run(request).await;
    }
    let mut response = if request.method() == Method::OPTIONS {
        (StatusCode::NO_CONTENT, [(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)]).into_response()
    } else {
        next.run(request).await
    };
    add_headers(response.headers_mut());
    response
}

/// Adds the headers to the response for a path, if any origin may call it.
pub fn open_path(path: &str, headers: &mut HeaderMap) {
    if is_open(path) {
        add_headers(headers);
    }
}

fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, value);
    }
}
