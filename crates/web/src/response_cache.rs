//! A cache of whole responses for visitors who are not logged in.
//!
//! An entry is valid within the second it was made in, because pages show ages, and until
//! anything it was made from is written. So a cached response is byte for byte what the
//! handler would return, with one exception: writes of another server to a shared store
//! become visible in the next second. Requests with a session bypass the cache.

use super::headers::{PRIVATE, PUBLIC};
use super::limits::{CACHED_ENCODING_BYTES, CACHED_RESPONSE_BYTES, RESPONSE_CACHE_BYTES};
use super::{App, cookies};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use quick_cache::Equivalent;
use std::hash::{DefaultHasher, Hasher};
use tidings_domain::cache::{Lookup, Shared, View};
use tidings_keyspace::Tracked;

/// The approximate size of a response's headers, in bytes.
const HEADERS_BYTES: usize = 1_024;

/// An extension of responses that, without a session, depend only on the address of the
/// request.
#[derive(Debug, Clone, Copy)]
struct SharedResponse;

/// Middleware that marks the responses of its routes as the same for all visitors.
pub async fn mark_shared(mut response: Response) -> Response {
    response.extensions_mut().insert(SharedResponse);
    response
}

tidings_domain::cache_kind! {
    /// Whole responses.
    struct CachedResponses: ResponseKey => CachedResponse, "responses", RESPONSE_CACHE_BYTES,
        |key, response| HEADERS_BYTES + key.address.len() + response.body.len();
}

/// The parts of a request that its response depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ResponseKey {
    address: String,
    encoding: String,
}

/// A [`ResponseKey`] that borrows from the request.
#[derive(Hash)]
struct RequestKey<'a> {
    address: &'a str,
    encoding: &'a str,
}

impl Equivalent<ResponseKey> for RequestKey<'_> {
    fn equivalent(&self, key: &ResponseKey) -> bool {
        self.address == key.address && self.encoding == key.encoding
    }
}

impl<'a> RequestKey<'a> {
    /// The key of a request, or `None` if its response must not come from the cache.
    fn of<B>(request: &'a Request<B>) -> Option<Self> {
        let headers = request.headers();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read || cookies::has_session_cookie(headers) {
            return None;
        }
        let mut encodings = headers.get_all(header::ACCEPT_ENCODING).iter();
        let encoding = encodings.next().map_or(Some(""), |value| value.to_str().ok())?;
        if encodings.next().is_some() || encoding.len() > CACHED_ENCODING_BYTES {
            return None;
        }
        Some(Self { address: request.uri().path_and_query()?.as_str(), encoding })
    }

    fn to_key(&self) -> ResponseKey {
        ResponseKey { address: self.address.to_owned(), encoding: self.encoding.to_owned() }
    }
}

/// A cached response. Its status is 200.
struct CachedResponse {
    headers: HeaderMap,
    body: Bytes,
}

impl CachedResponse {
    /// The response to a request with these headers: 304 if the client has this version.
    fn respond(&self, request_headers: &HeaderMap) -> Response {
        let mut headers = self.headers.clone();
        if has_current_version(request_headers, self.headers.get(header::ETAG)) {
            for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
                headers.remove(name);
            }
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = headers;
        response
    }
}

/// Whether a response is the same for all visitors. One that sets a cookie never is, even
/// on a marked route.
fn is_cacheable(response: &Response) -> bool {
    response.status() == StatusCode::OK
        && response.extensions().get::<SharedResponse>().is_some()
        && !response.headers().contains_key(header::SET_COOKIE)
}

/// Whether `If-None-Match` contains the entity tag of the response (RFC 9110, 13.1.2).
pub fn has_current_version(request_headers: &HeaderMap, tag: Option<&HeaderValue>) -> bool {
    let Some(tag) = tag.and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let known = request_headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|value| value.split(',')).any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

/// Responds from the cache, or with `handle`. Of concurrent requests for the same response,
/// one calls `handle` and the others wait for its result.
pub async fn respond_cached<B, F: Future<Output = Response>>(
    app: &App,
    mut request: Request<B>,
    handle: impl FnOnce(Request<B>) -> F,
) -> Response {
    let Some(request_key) = RequestKey::of(&request) else {
        return handle(request).await;
    };
    // `is_current` skips the check for writes of other servers. They become visible when the
    // second of the entry ends.
    let view = View { store: &app.site.store, now: app.now(), is_current: true };
    let cache = app.site.caches.of::<CachedResponses>();
    if let Some(cached) = cache.get(view, &request_key) {
        return cached.respond(request.headers());
    }
    let key = request_key.to_key();
    let flight = match cache.claim(view, &key) {
        Lookup::Hit(cached) => return cached.respond(request.headers()),
        Lookup::Make(flight) => flight,
        Lookup::Wait(waiting) => match waiting.value(view).await {
            Some(cached) => return cached.respond(request.headers()),
            None => cache.make_too(&key),
        },
    };
    let request_headers = request.headers().clone();
    // For HEAD, hyper sends only the head of the response.
    *request.method_mut() = Method::GET;
    let (response, reads) = app.site.store.record_reads(handle(request)).await;
    if !is_cacheable(&response) {
        return response;
    }
    let (head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        // Cannot happen: bodies are in memory, or compressed from there.
        tracing::error!(address = key.address, "cannot read the body of a response");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // A copy has no spare capacity.
    let body = Bytes::copy_from_slice(&body);
    let headers = shared_headers(head.headers, &body);
    let response = CachedResponse { headers, body };
    if response.body.len() > CACHED_RESPONSE_BYTES {
        return response.respond(&request_headers);
    }
    let response: Shared<CachedResponse> =
        flight.finish(view, Tracked::recorded(response, &reads), Some(view.now));
    response.respond(&request_headers)
}

/// The headers of a shared response: caches on the way may store it too, and revalidate it
/// with its entity tag.
fn shared_headers(mut headers: HeaderMap, body: &[u8]) -> HeaderMap {
    if headers.get(header::CACHE_CONTROL) == Some(&PRIVATE) {
        headers.insert(header::CACHE_CONTROL, PUBLIC);
    }
    if !headers.contains_key(header::ETAG) {
        let mut hasher = DefaultHasher::new();
        hasher.write(body);
        let tag = format!("\"{:016x}\"", hasher.finish());
        // Hex digits within quotes are always a valid header.
        headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (header::ETAG, tag)));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    headers
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::AppParts;
    use crate::pages::test_support::settings;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::site::Site;
    use tidings_domain::values::rules::Rules;
    use tidings_keyspace::{EngineClock, Query, Store};

    /// How often two equal requests call the handler.
    async fn handler_calls(length: usize, encoding: &str) -> usize {
        let store = Store::in_memory().await.unwrap();
        let site = Arc::new(Site::new(store, Rules::default(), PasswordWorker::default()));
        let clock = EngineClock::Manual(Arc::new(AtomicU64::new(1_000_000)));
        let parts = AppParts { site, settings: settings(), mailer: None, clock, live: Arc::default() };
        let app = App::from(parts);
        let mut calls = 0;
        for _ in 0..2 {
            let request = Request::builder().uri("/").header(header::ACCEPT_ENCODING, encoding);
            let response = respond_cached(&app, request.body(()).unwrap(), async |_| {
                calls += 1;
                let mut query = Query::new();
                query.string("read");
                app.site.store.query(query).await.unwrap();
                mark_shared("a".repeat(length).into_response()).await
            })
            .await;
            assert_eq!(to_bytes(response.into_body(), usize::MAX).await.unwrap().len(), length);
        }
        calls
    }

    #[tokio::test]
    async fn responses_are_cached_up_to_a_mebibyte() {
        assert_eq!(handler_calls(0, "gzip").await, 1);
        assert_eq!(handler_calls(CACHED_RESPONSE_BYTES, "gzip").await, 1);
        assert_eq!(handler_calls(CACHED_RESPONSE_BYTES + 1, "gzip").await, 2);
    }

    #[tokio::test]
    async fn a_request_with_a_long_accept_encoding_bypasses_the_cache() {
        assert_eq!(handler_calls(10, &"a".repeat(CACHED_ENCODING_BYTES)).await, 1);
        assert_eq!(handler_calls(10, &"a".repeat(CACHED_ENCODING_BYTES + 1)).await, 2);
    }
}
