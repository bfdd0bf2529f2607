//! CORS: browser extensions and pages of other sites may call the reputation of sites, and pages of other sites may
//! read what programs read that were made for Hacker News.
//!
//! `Access-Control-Allow-Origin: *` excludes credentials, so such pages cannot use the
//! session cookie of a visitor.

use crate::route::Cors;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The headers, as the original server sent them.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
    (header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*")),
];

/// How long a browser may cache the result of a preflight request: a day, in seconds.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Responds to preflight requests, and adds the headers to all other responses, including errors.
pub async fn allow_any_origin<F: Future<Output = Response>>(
    cors: Cors,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let mut response = if cors != Cors::Closed && request.method() == Method::OPTIONS {
        (StatusCode::NO_CONTENT, [(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)]).into_response()
    } else {
        handle(request).await
    };
    open(cors, response.headers_mut());
    response
}

/// Adds the headers to a response, if any origin may call its address.
pub fn open(cors: Cors, headers: &mut HeaderMap) {
    let methods = match cors {
        Cors::Closed => return,
        Cors::Read => "GET",
        Cors::ReadAndVote => "POST, GET",
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    for (name, value) in HEADERS {
        headers.insert(name, value);
    }
}
