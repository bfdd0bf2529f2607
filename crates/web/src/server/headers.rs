//! The headers of every response.

use crate::settings::Settings;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Only our own style, script and images, no inline script, no framing, forms to ourselves.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// The same, and avatars from Gravatar.
const POLICY_WITH_GRAVATARS: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https://www.gravatar.com; \
     connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// For a year, browsers use https only. Not for subdomains, which may be other sites.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The headers that depend on nothing, each set unless the handler has set it.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
    // Pages of other sites that open ours cannot reach into it.
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    // A page shows who is logged in, so shared caches must not store it.
    (header::CACHE_CONTROL, PRIVATE),
];

/// Browsers may store the response but must revalidate it; shared caches must not store it.
pub const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
/// Browsers and shared caches may store the response but must revalidate it.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, no-cache");

/// Sets these headers.
pub fn protect(settings: &Settings, headers: &mut HeaderMap) {
    let policy = if settings.gravatars { POLICY_WITH_GRAVATARS } else { CONTENT_SECURITY_POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    if settings.site.is_https() {
        headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(HTTPS_ONLY);
    }
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(value);
    }
    if headers.get(header::CACHE_CONTROL) == Some(&PRIVATE) {
        headers.append(header::VARY, HeaderValue::from_static("cookie"));
    }
}
