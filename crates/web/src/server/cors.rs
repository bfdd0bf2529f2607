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

/// The methods by which any origin may call an address; `None` if it may not.
const fn methods_of(cors: Cors) -> Option<HeaderValue> {
    match cors {
        Cors::Closed => None,
        Cors::Read => Some(HeaderValue::from_static("GET")),
        Cors::ReadAndVote => Some(HeaderValue::from_static("POST, GET")),
    }
}

/// Responds to preflight requests, and adds the headers to all other responses, including errors.
pub async fn allow_any_origin<F: Future<Output = Response>>(
    cors: Cors,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let Some(methods) = methods_of(cors) else {
        return handle(request).await;
    };
    let mut response = if request.method() == Method::OPTIONS {
        (StatusCode::NO_CONTENT, [(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)]).into_response()
    } else {
        handle(request).await
    };
    add_headers(methods, response.headers_mut());
    response
}

/// Adds the headers to a response, if any origin may call its address.
pub fn open(cors: Cors, headers: &mut HeaderMap) {
    if let Some(methods) = methods_of(cors) {
        add_headers(methods, headers);
    }
}

fn add_headers(methods: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    for (name, value) in HEADERS {
        headers.insert(name, value);
    }
}
