//! Answers that are the same for everyone who is not logged in, cached while they are
//! true: within the second that their ages are told for, and until anything that they
//! were made of is written.
//!
//! So a cached answer is, byte for byte, what the site would answer anew, with one
//! exception: what another server has written to a shared store is seen in the next
//! second. Who is logged in is never answered from here.

use super::headers::{PRIVATE, PUBLIC};
use super::{App, cookies};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use quick_cache::Equivalent;
use std::hash::{DefaultHasher, Hasher};
use tidings_domain::cache::{Lookup, MEBIBYTE, Shared, View};
use tidings_keyspace::Tracked;

/// A larger answer is not cached.
const LARGEST: usize = 1024 * 1024;
/// A longer `Accept-Encoding` is nobody's: such a request is answered anew.
const LONGEST_ENCODING: usize = 64;
/// About how many bytes the headers of an answer take.
const HEADERS: usize = 1_024;

/// Marks, in an answer's extensions, that it depends on nothing of the request
/// but its address, for those who are not logged in.
#[derive(Debug, Clone, Copy)]
struct SharedResponse;

/// The middleware that marks the answers of its routes.
pub async fn mark_shared(mut response: Response) -> Response {
    response.extensions_mut().insert(SharedResponse);
    response
}

tidings_domain::cache_kind! {
    /// Whole answers.
    struct CachedResponses: ResponseKey => CachedResponse, "answers", 12 * MEBIBYTE,
        |key, answer| HEADERS + key.address.len() + answer.body.len();
}

/// What an answer depends on, of a request that may be answered from the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ResponseKey {
    address: String,
    encoding: String,
}

/// The same, as a request has it.
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
    fn of<B>(request: &'a Request<B>) -> Option<Self> {
        let headers = request.headers();
        let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_reading || cookies::session_token(headers).is_some() {
            return None;
        }
        let mut encodings = headers.get_all(header::ACCEPT_ENCODING).iter();
        let encoding = encodings.next().map_or(Some(""), |value| value.to_str().ok())?;
        if encodings.next().is_some() || encoding.len() > LONGEST_ENCODING {
            return None;
        }
        Some(Self { address: request.uri().path_and_query()?.as_str(), encoding })
    }

    fn to_key(&self) -> ResponseKey {
        ResponseKey { address: self.address.to_owned(), encoding: self.encoding.to_owned() }
    }
}

/// An answer as it is cached.
struct CachedResponse {
    headers: HeaderMap,
    body: Bytes,
}

impl CachedResponse {
    /// The answer to somebody who may have it already.
    fn respond(&self, asked: &HeaderMap) -> Response {
        let mut headers = self.headers.clone();
        if has_current_version(asked, self.headers.get(header::ETAG)) {
            for of_the_body in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
                headers.remove(of_the_body);
            }
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = headers;
        response
    }
}

/// Whether an answer is the same for the next who asks. One that sets a cookie
/// never is, whatever its route says.
fn may_be_cached(response: &Response) -> bool {
    response.status() == StatusCode::OK
        && response.extensions().get::<SharedResponse>().is_some()
        && !response.headers().contains_key(header::SET_COOKIE)
}

/// Whether `If-None-Match` names the answer's entity tag (RFC 9110, 13.1.2).
fn has_current_version(asked: &HeaderMap, tag: Option<&HeaderValue>) -> bool {
    let Some(tag) = tag.and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let named = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|named| named.trim() == "*" || opaque(named) == opaque(tag))
}

/// Answers a request from the cache, or by `answer`. Where many ask for the same at once,
/// one of them has it made and the others wait.
pub async fn respond_cached<B, F: Future<Output = Response>>(
    app: &App,
    mut request: Request<B>,
    answer: impl FnOnce(Request<B>) -> F,
) -> Response {
    let Some(asked) = RequestKey::of(&request) else {
        return answer(request).await;
    };
    // Others may have written on a shared store, but not before this second.
    let view = View { store: &app.site.store, now: app.now(), is_current: true };
    let cache = app.site.caches.of::<CachedResponses>();
    if let Some(cached) = cache.get(view, &asked) {
        return cached.respond(request.headers());
    }
    let key = asked.to_key();
    let flight = match cache.claim(view, &key) {
        Lookup::Hit(cached) => return cached.respond(request.headers()),
        Lookup::Make(flight) => flight,
        Lookup::Wait(waiting) => match waiting.value(view).await {
            Some(cached) => return cached.respond(request.headers()),
            None => cache.make_too(&key),
        },
    };
    let asked = request.headers().clone();
    // Of an answer to HEAD the server sends the head alone.
    *request.method_mut() = Method::GET;
    let (response, reads) = app.site.store.record_reads(answer(request)).await;
    if !may_be_cached(&response) {
        return response;
    }
    let (head, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        // Bodies are made whole in memory, or compressed from there: it cannot be.
        tracing::error!(address = key.address, "the body of an answer could not be read");
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // A cached body has no room to grow.
    let body = Bytes::copy_from_slice(&body);
    let headers = shared_headers(head.headers, &body);
    let answer = CachedResponse { headers, body };
    if answer.body.len() > LARGEST {
        return answer.respond(&asked);
    }
    let answer: Shared<CachedResponse> =
        flight.finish(view, Tracked::recorded(answer, &reads), Some(view.now));
    answer.respond(&asked)
}

/// The headers of an answer that everybody gets: caches on the way may keep
/// it too, and ask with its tag whether it still stands.
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

    /// How often an answer of so many bytes is made for two requests with such an
    /// `Accept-Encoding`.
    async fn made(length: usize, encoding: &str) -> usize {
        let store = Store::in_memory().await.unwrap();
        let site = Arc::new(Site::new(store, Rules::default(), PasswordWorker::default()));
        let clock = EngineClock::Manual(Arc::new(AtomicU64::new(1_000_000)));
        let parts = AppParts { site, settings: settings(), mailer: None, clock, live: Arc::default() };
        let app = App::from(parts);
        let mut made = 0;
        for _ in 0..2 {
            let request = Request::builder().uri("/").header(header::ACCEPT_ENCODING, encoding);
            let response = respond_cached(&app, request.body(()).unwrap(), async |_| {
                made += 1;
                let mut query = Query::new();
                query.string("read");
                app.site.store.query(query).await.unwrap();
                mark_shared("a".repeat(length).into_response()).await
            })
            .await;
            assert_eq!(to_bytes(response.into_body(), usize::MAX).await.unwrap().len(), length);
        }
        made
    }

    #[tokio::test]
    async fn an_answer_is_cached_up_to_a_mebibyte() {
        assert_eq!(made(0, "gzip").await, 1);
        assert_eq!(made(LARGEST, "gzip").await, 1);
        assert_eq!(made(LARGEST + 1, "gzip").await, 2);
    }

    #[tokio::test]
    async fn a_request_whose_encodings_are_too_long_is_answered_anew() {
        assert_eq!(made(10, &"a".repeat(LONGEST_ENCODING)).await, 1);
        assert_eq!(made(10, &"a".repeat(LONGEST_ENCODING + 1)).await, 2);
    }
}
