//! A cache of whole responses for visitors who are not logged in.
//!
//! An entry is valid within the second it was made in, because pages show ages, and until
//! anything it was made from is written. So a cached response is byte for byte what the
//! handler would return, with one exception: writes of another server to a shared store
//! become visible in the next second. Requests with a session
//! bypass the cache, except those for files and for what is the same for everyone, such as feeds.
//!
//! A response is made and compressed once, also for those who ask while it is being made.

use super::cookies;
use crate::App;
use crate::error::RequestError;
use crate::limits::RESPONSE_CACHE_BYTES;
use crate::route::{Facts, Route};
use crate::server::answer::{Answer, AnswerBody};
use crate::server::compression::{Compressor, Encoding};
use crate::server::headers::{PRIVATE, PUBLIC};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use jiff::civil::DateTime;
use quick_cache::Equivalent;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use tidings_domain::cache::{Lookup, Shared, View};
use tidings_keyspace::Tracked;
use url::form_urlencoded;

/// Gives a request the one address that others for the same response have, if that can be shared: without the
/// parameters that its route does not read, so that they make no further entries. If the response is for everyone,
/// nobody is told who asks for it.
pub fn unify<B>(route: &Facts, request: &mut Request<B>) {
    if route.is_for_everyone() && cookies::has_session_cookie(request.headers()) {
        request.headers_mut().remove(header::COOKIE);
    }
    let asks_for_shared = *request.method() == Method::GET && !is_personal(route, request);
    if asks_for_shared && let Some(address) = unified(route, request.uri()) {
        *request.uri_mut() = address;
    }
}

/// The one address; `None` if it is this one, or cannot be shared.
fn unified(route: &Facts, address: &Uri) -> Option<Uri> {
    let (path, query) = (address.path(), address.query());
    if query.is_none() && !path.contains('%') {
        return None;
    }
    let parameters = route.parameters()?;
    let path = unescaped(path);
    let kept = query.map(|query| kept_parameters(query, parameters)).unwrap_or_default();
    let unified = if kept.is_empty() { path.into_owned() } else { format!("{path}?{kept}") };
    let mut parts = address.clone().into_parts();
    parts.path_and_query = Some(unified.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// The fields of a query string with these names, sorted by them, each written in one way.
fn kept_parameters(query: &str, names: &[&str]) -> String {
    let mut kept: Vec<_> =
        form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| names.contains(&name.as_ref())).collect();
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish()
}

/// A path without the escapes that say nothing (RFC 3986, 6.2.2): letters, digits and `-._~` as they
/// are, other bytes in capital digits.
fn unescaped(path: &str) -> Cow<'_, str> {
    let mut parts = path.split('%');
    let first = parts.next().unwrap_or_default();
    if first.len() == path.len() {
        return Cow::Borrowed(path);
    }
    let mut unescaped = first.to_owned();
    for part in parts {
        let escape =
            part.get(..2).and_then(|digits| Some((u8::from_str_radix(digits, 16).ok()?, part.get(2..)?)));
        match escape {
            Some((byte, rest)) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                unescaped.push(char::from(byte));
                unescaped.push_str(rest);
            }
            Some((byte, rest)) => {
                unescaped.push_str(&format!("%{byte:02X}"));
                unescaped.push_str(rest);
            }
            None => {
                unescaped.push('%');
                unescaped.push_str(part);
            }
        }
    }
    Cow::Owned(unescaped)
}

/// The approximate size of a response's headers, in bytes.
const HEADERS_BYTES: usize = 1_024;

tidings_domain::cache_kind! {
    /// Whole responses.
    struct CachedResponses: ResponseKey => CachedResponse, "responses", RESPONSE_CACHE_BYTES,
        |key, response| HEADERS_BYTES + key.address.len() + response.body.len();
}

/// The parts of a request that its response depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ResponseKey {
    address: String,
    encoding: Encoding,
}

/// A [`ResponseKey`] that borrows from the request.
#[derive(Hash)]
struct RequestKey<'a> {
    address: &'a str,
    encoding: Encoding,
}

impl Equivalent<ResponseKey> for RequestKey<'_> {
    fn equivalent(&self, key: &ResponseKey) -> bool {
        self.address == key.address && self.encoding == key.encoding
    }
}

/// Whether answers of a route may be kept for others: on a site that only members read, its open files.
pub fn is_shared(app: &App, route: &Facts) -> bool {
    !app.site.is_for_members() || route.is_open_file()
}

/// Whether the response to a request depends on who sends it.
fn is_personal<B>(route: &Facts, request: &Request<B>) -> bool {
    !route.is_for_everyone() && cookies::has_session_cookie(request.headers())
}

impl<'a> RequestKey<'a> {
    /// The key of a request, or `None` if its response must not come from the cache.
    fn of<B>(route: &Facts, request: &'a Request<B>, encoding: Encoding) -> Option<Self> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_refused = request.extensions().get::<RequestError>().is_some();
        let is_stream = route.has_events && wants_events(request.headers());
        if !is_read || is_refused || is_stream || is_personal(route, request) {
            return None;
        }
        Some(Self { address: request.uri().path_and_query()?.as_str(), encoding })
    }

    fn to_key(&self) -> ResponseKey {
        ResponseKey { address: self.address.to_owned(), encoding: self.encoding }
    }
}

/// A cached response. Its status is 200.
struct CachedResponse {
    headers: HeaderMap,
    body: Bytes,
    made_bytes: usize,
}

impl CachedResponse {
    /// The answer to a request with these headers: 304 if the client has this version.
    fn answer(&self, request_headers: &HeaderMap) -> Answer {
        let mut headers = self.headers.clone();
        if is_unchanged(request_headers, &self.headers) {
            remove_content_headers(&mut headers);
            return self.answer_with(StatusCode::NOT_MODIFIED, headers, Bytes::new());
        }
        self.answer_with(StatusCode::OK, headers, self.body.clone())
    }

    fn answer_with(&self, status: StatusCode, headers: HeaderMap, body: Bytes) -> Answer {
        let (mut head, _) = status.into_response().into_parts();
        head.headers = headers;
        let made_bytes = if status == StatusCode::OK { self.made_bytes } else { 0 };
        Answer { head, body: AnswerBody::Whole(body), made_bytes }
    }
}

/// An extension of responses that say why a request failed, perhaps with status 200.
#[derive(Debug, Clone, Copy)]
pub struct FailureResponse;

/// Whether a response is the same for all visitors. A refusal, or one that sets a cookie, never is.
fn is_cacheable(route: &Facts, response: &Response) -> bool {
    response.status() == StatusCode::OK
        && route.parameters().is_some()
        && response.extensions().get::<FailureResponse>().is_none()
        && !response.headers().contains_key(header::SET_COOKIE)
}

/// Whether `If-None-Match` contains the entity tag of the response (RFC 9110, 13.1.2).
fn has_current_version(request_headers: &HeaderMap, tag: Option<&HeaderValue>) -> bool {
    let Some(tag) = tag.and_then(|tag| tag.to_str().ok()) else {
        return false;
    };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let known = request_headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|value| value.split(',')).any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

/// Whether the client has what a response with these headers would send: by its version or, if the request names none,
/// by its time (RFC 9110, 13.2.2).
fn is_unchanged(request_headers: &HeaderMap, headers: &HeaderMap) -> bool {
    if request_headers.contains_key(header::IF_NONE_MATCH) {
        return has_current_version(request_headers, headers.get(header::ETAG));
    }
    let time = |headers: &HeaderMap, name| {
        DateTime::strptime("%a, %d %b %Y %H:%M:%S GMT", headers.get(name)?.to_str().ok()?).ok()
    };
    let known: Option<DateTime> = time(request_headers, header::IF_MODIFIED_SINCE);
    let changed = time(headers, header::LAST_MODIFIED);
    known.zip(changed).is_some_and(|(known, changed)| changed <= known)
}

/// Removes the headers that a response without content does not have.
fn remove_content_headers(headers: &mut HeaderMap) {
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
        headers.remove(name);
    }
}

/// The answer of a handler to a client, with no content if the client has it.
async fn answer_unless_known(response: Response, known: Option<HeaderMap>) -> Answer {
    let mut answer = Answer::from_response(response).await;
    let is_known = known.is_some_and(|known| is_unchanged(&known, &answer.head.headers));
    if is_known && answer.head.status == StatusCode::OK {
        remove_content_headers(&mut answer.head.headers);
        answer.head.status = StatusCode::NOT_MODIFIED;
        (answer.body, answer.made_bytes) = (AnswerBody::Whole(Bytes::new()), 0);
    }
    answer
}

/// The headers with which a client says what it has.
fn conditions<B>(request: &Request<B>) -> Option<HeaderMap> {
    let names = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let has_any = is_read && names.iter().any(|name| request.headers().contains_key(name));
    has_any.then(|| request.headers().clone())
}

/// Answers from the cache, or with `handle`. Of concurrent requests for the same response,
/// one calls `handle` and compresses what it returns, and the others wait for the result.
pub async fn answer_cached<B, F: Future<Output = Response>>(
    app: &App,
    compressor: &Compressor,
    request: Request<B>,
    handle: impl FnOnce(Request<B>) -> F,
) -> Answer {
    let (route, encoding) = (Route::of(request.extensions()), Encoding::of(request.headers()));
    let moment = app.moment();
    let is_shared = is_shared(app, &route);
    let Some(request_key) = RequestKey::of(&route, &request, encoding).filter(|_| is_shared) else {
        let known = conditions(&request);
        let answer = answer_unless_known(handle(request).await, known).await;
        return compressor.compress(answer, encoding).await;
    };
    // `is_current` skips the check for writes of other servers. They become visible when the
    // second of the entry ends.
    let view = View { store: &app.site.store, now: moment.timestamp(), is_current: true };
    let cache = app.site.caches.of::<CachedResponses>();
    if let Some(cached) = cache.get(view, &request_key) {
        return cached.answer(request.headers());
    }
    let key = request_key.to_key();
    let flight = match cache.claim(view, &key) {
        Lookup::Hit(cached) => return cached.answer(request.headers()),
        Lookup::Make(flight) => flight,
        Lookup::Wait(waiting) => match waiting.value(view).await {
            Some(cached) => return cached.answer(request.headers()),
            None => cache.make_too(&key),
        },
    };
    let (request_headers, known) = (request.headers().clone(), conditions(&request));
    let (response, reads) = app.site.store.record_reads(handle(request)).await;
    let is_cacheable = is_cacheable(&route, &response);
    let made = answer_unless_known(response, known.filter(|_| !is_cacheable)).await;
    let made = compressor.compress(made, encoding).await;
    let Answer { head, body: AnswerBody::Whole(body), made_bytes } = made else { return made };
    if !is_cacheable {
        return Answer { head, body: AnswerBody::Whole(body), made_bytes };
    }
    // A compressed body has no spare capacity; a plain one may have.
    let body = if encoding == Encoding::Identity { Bytes::copy_from_slice(&body) } else { body };
    let headers = shared_headers(head.headers, &body);
    let response = CachedResponse { headers, body, made_bytes };
    let response: Shared<CachedResponse> =
        flight.finish(view, Tracked::recorded(response, &reads), Some(view.now));
    response.answer(&request_headers)
}

/// The headers of a shared response: caches on the way may store it too, and revalidate it
/// with its entity tag.
fn shared_headers(mut headers: HeaderMap, body: &[u8]) -> HeaderMap {
    if headers.get(header::CACHE_CONTROL) == Some(&PRIVATE) {
        headers.insert(header::CACHE_CONTROL, PUBLIC);
    }
    if !headers.contains_key(header::ETAG) {
        headers.insert(header::ETAG, entity_tag(body));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    headers
}

/// The entity tag of a body.
pub fn entity_tag(body: &[u8]) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    // Hex digits within quotes are always a valid header.
    HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish()))
        .unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

/// The entity tag of a text that may be compressed in several ways.
pub fn weak_entity_tag(text: &[u8]) -> HeaderValue {
    let strong = entity_tag(text);
    let tag = strong.to_str().ok().and_then(|tag| HeaderValue::from_str(&format!("W/{tag}")).ok());
    tag.unwrap_or(strong)
}

/// Whether a client asks for a stream of events.
pub fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;
    use crate::server::answer_memory::AnswerMemory;
    use axum::http::request::Builder;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use tidings_domain::Site;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::values::Rules;
    use tidings_keyspace::{EngineClock, Store, read};

    async fn app() -> App {
        let store = Store::in_memory().await.unwrap();
        let site = Site::new(store, Rules::default(), PasswordWorker::default());
        let clock = EngineClock::Manual(Arc::new(AtomicU64::new(1_000_000)));
        App::new(site, settings(), None, clock)
    }

    /// A request with its route.
    fn routed(request: Builder) -> Request<()> {
        let mut request = request.body(()).unwrap();
        let route = crate::router::routes().find(request.method(), request.uri().path());
        request.extensions_mut().insert(route);
        unify(&route, &mut request);
        request
    }

    /// Sends requests with these values of `Accept-Encoding` at the same time, and again one
    /// after the other. Returns how often the handler was called and a body was compressed.
    async fn work_for(encodings: &[&str], length: usize) -> (usize, u64) {
        let app = app().await;
        let compressor = Compressor::new(AnswerMemory::new(usize::MAX));
        let calls = AtomicUsize::new(0);
        let request = async |encoding: &str| {
            let request = Request::builder().uri("/").header(header::ACCEPT_ENCODING, encoding);
            let answer = answer_cached(&app, &compressor, routed(request), async |_| {
                calls.fetch_add(1, Ordering::Relaxed);
                app.site.store.fetch(read::string("read")).await.unwrap();
                // The others arrive meanwhile.
                tokio::task::yield_now().await;
                "a".repeat(length).into_response()
            })
            .await;
            assert!(answer.head.headers.contains_key(header::ETAG));
            answer.head.headers[header::CONTENT_LENGTH].clone()
        };
        let first = futures_util::future::join_all(encodings.iter().map(|encoding| request(encoding))).await;
        for (encoding, length) in encodings.iter().zip(first) {
            assert_eq!(request(encoding).await, length);
        }
        (calls.into_inner(), compressor.runs())
    }

    #[tokio::test]
    async fn a_response_of_any_size_is_made_and_compressed_once_for_concurrent_readers() {
        for length in [1_000, 1024 * 1024, 2 * 1024 * 1024] {
            assert_eq!(work_for(&["br"; 20], length).await, (1, 1), "{length}");
            assert_eq!(work_for(&["gzip"; 20], length).await, (1, 1), "{length}");
            assert_eq!(work_for(&["identity"; 20], length).await, (1, 0), "{length}");
        }
    }

    #[test]
    fn an_address_has_only_what_its_route_reads() {
        for (asked, unified) in [
            ("/?q=1", "/"),
            ("/?", "/"),
            ("/?page=2&q=1", "/"),
            ("/best?q=1&page=2&page2=3", "/best?page=2"),
            ("/news/1?utm_source=x&sort=newest&page=%32", "/news/1?page=2&sort=newest"),
            ("/news/%31?page=2", "/news/1?page=2"),
            ("/news/1?page=1&page=2", "/news/1?page=1&page=2"),
            ("/topic/r%75st%2bgo/new?x", "/topic/rust%2Bgo/new"),
            ("/%40alice?before=1-2&x=1", "/%40alice?before=1-2"),
            ("/@alice?before=1-2&x=1", "/@alice?before=1-2"),
            ("/@%61lice/feed?x", "/@alice/feed"),
            ("/@%c3%bc?x", "/@%C3%BC"),
            ("/@%zz?x", "/@%zz"),
            ("/top/atom?start=30&x=1", "/top/atom?start=30"),
            ("/assets/app.js?v=2", "/assets/app.js"),
            ("/scores?for=b.com&x=1&for=a.com", "/scores?for=b.com&for=a.com"),
            ("/api/getcomments/1?after=3&x=1&count=2", "/api/getcomments/1?after=3&count=2"),
            // These are not shared.
            ("/login?reason=vote&next=/", "/login?reason=vote&next=/"),
            ("/submit?u=a&t=b", "/submit?u=a&t=b"),
            ("/no/such/address?x", "/no/such/address?x"),
            ("/news/?x", "/news/?x"),
        ] {
            assert_eq!(routed(Request::builder().uri(asked)).uri(), unified, "{asked}");
        }
    }

    #[test]
    fn a_feed_is_not_told_who_asks_but_a_page_of_a_similar_name_is() {
        for (path, is_for_everyone) in [
            ("/atom", true),
            ("/json", true),
            ("/top/atom", true),
            ("/topic/json/atom", true),
            ("/@alice/feed", true),
            ("/user/alice/json", true),
            ("/feeds.opml", true),
            ("/topic/json", false),
            ("/user/atom", false),
            ("/top/0", false),
            ("/feeds", false),
            ("/inbox/feed/json", false),
            ("/", false),
        ] {
            let request = routed(Request::builder().uri(path).header(header::COOKIE, "auth=1"));
            assert_eq!(request.headers().contains_key(header::COOKIE), !is_for_everyone, "{path}");
        }
    }

    #[test]
    fn a_client_has_what_it_names_by_version_or_else_by_time() {
        let date = |day: u32| format!("Sun, {day:02} Jan 2026 00:00:00 GMT");
        let head = |pairs: &[(header::HeaderName, &str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
        };
        let response = head(&[(header::ETAG, "W/\"a\""), (header::LAST_MODIFIED, &date(4))]);
        for (asked, is_known) in [
            (head(&[]), false),
            (head(&[(header::IF_NONE_MATCH, "\"a\"")]), true),
            (head(&[(header::IF_MODIFIED_SINCE, &date(4))]), true),
            (head(&[(header::IF_MODIFIED_SINCE, "Sat, 03 Jan 2026 23:59:59 GMT")]), false),
            (head(&[(header::IF_MODIFIED_SINCE, "soon")]), false),
            // The time does not count beside a version.
            (head(&[(header::IF_NONE_MATCH, "\"b\""), (header::IF_MODIFIED_SINCE, &date(4))]), false),
        ] {
            assert_eq!(is_unchanged(&asked, &response), is_known, "{asked:?}");
        }
        assert!(!is_unchanged(&head(&[(header::IF_MODIFIED_SINCE, &date(4))]), &head(&[])));
    }

    #[tokio::test]
    async fn an_unknown_parameter_makes_no_further_entry() {
        let app = app().await;
        let compressor = Compressor::new(AnswerMemory::new(usize::MAX));
        let mut calls = 0;
        for number in 0..20 {
            let request = Request::builder().uri(format!("/best?q={number}&page=1"));
            let request = routed(request.header(header::ACCEPT_ENCODING, "gzip"));
            let answer = answer_cached(&app, &compressor, request, async |request| {
                calls += 1;
                assert_eq!(request.uri(), "/best?page=1");
                "a".repeat(100_000).into_response()
            })
            .await;
            assert_eq!(answer.made_bytes, 100_000);
        }
        assert_eq!((calls, compressor.runs()), (1, 1));
        let with_session = routed(Request::builder().uri("/best?q=1").header(header::COOKIE, "auth=1"));
        assert_eq!(with_session.uri(), "/best?q=1");
    }

    #[tokio::test]
    async fn odd_encodings_do_not_make_further_entries() {
        let encodings = ["br", "br, gzip", "br;q=0.9", "x-odd, br", " br ,", "gzip;q=0.1,br;q=0.2", "*"];
        assert_eq!(work_for(&encodings, 1_000).await, (1, 1));
    }

    #[tokio::test]
    async fn answers_to_people_with_a_session_are_made_and_compressed_for_each() {
        let app = app().await;
        let compressor = Compressor::new(AnswerMemory::new(usize::MAX));
        let mut calls = 0;
        for _ in 0..2 {
            let request = Request::builder().uri("/").header(header::ACCEPT_ENCODING, "gzip");
            let request = request.header(header::COOKIE, format!("auth={}", "0".repeat(40)));
            let answer = answer_cached(&app, &compressor, routed(request), async |_| {
                calls += 1;
                "a".repeat(1_000).into_response()
            })
            .await;
            assert_eq!(answer.head.headers[header::CONTENT_ENCODING], "gzip");
            assert!(!answer.head.headers.contains_key(header::ETAG));
        }
        assert_eq!((calls, compressor.runs()), (2, 2));
    }
}
