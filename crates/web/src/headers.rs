//! The headers of every response.

use super::cors;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// Only our own style, script and images (and avatars from Gravatar), no
/// inline script, no framing, forms to ourselves.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self' https://www.gravatar.com; connect-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// The headers, each set unless the handler has set it.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
    // A page shows who is logged in, so shared caches must not store it.
    (header::CACHE_CONTROL, PRIVATE),
];

/// Browsers may store the response but must revalidate it; shared caches must not store it.
pub const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
/// Browsers and shared caches may store the response but must revalidate it.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, no-cache");

/// Middleware that sets these headers and those for other origins.
pub async fn set_headers(request: Request, next: Next) -> Response {
    let mut response = cors::allow_any_origin(request, next).await;
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(value);
    }
    if response.headers().get(header::CACHE_CONTROL) == Some(&PRIVATE) {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("cookie"));
    }
    response
}
