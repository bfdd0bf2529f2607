//! The cookies: the session, the kind of results that was searched for last and, for ten minutes, a login through a
//! provider.
//!
//! Under https the session is `__Host-auth`. A browser accepts that name only from the site itself,
//! and not from another site below the same domain, which could otherwise log its visitors
//! in to an account of its own. Under http browsers know no such rule, and the cookie is
//! `auth`, as it was in the original.
//!
//! Programs have always sent `auth`, under https too. It still counts there in requests
//! that do not come from a browser: browsers send `Sec-Fetch-Site`.

use crate::App;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use cookie::time::Duration;
use cookie::{Cookie, SameSite};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidings_domain::values::{SESSION_SECONDS, SIGN_ON_SECONDS};

/// The session cookie under http, and of programs.
const PLAIN_COOKIE: &str = "auth";
/// Tells a browser to forget what it keeps of the site.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
/// The session cookie under https.
const HOST_COOKIE: &str = "__Host-auth";
/// The kind of results that was searched for last. Browsers send it with searches alone.
const SEARCH_COOKIE: &str = "search_kind";
/// How long a browser stores a cookie, in days: as long as a session lasts.
#[allow(clippy::cast_possible_wrap)]
const COOKIE_DAYS: i64 = (SESSION_SECONDS / 86_400) as i64;
/// How long a login through a provider may take.
#[allow(clippy::cast_possible_wrap)]
const JOURNEY_SECONDS: i64 = SIGN_ON_SECONDS as i64;
/// Sent by browsers, and never by programs.
pub const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The session token of a request.
pub fn session_token(app: &App, headers: &HeaderMap) -> Option<String> {
    token_of(headers, app.settings.site.is_https())
}

/// The session token of a request to a site whose visitors use https, or do not.
pub fn token_of(headers: &HeaderMap, is_https: bool) -> Option<String> {
    let plain = only_cookie(headers, PLAIN_COOKIE);
    if !is_https {
        return plain.ok()?;
    }
    match only_cookie(headers, HOST_COOKIE) {
        Ok(None) if !headers.contains_key(SEC_FETCH_SITE) => plain.ok()?,
        found => found.ok()?,
    }
}

/// Whether a request has a session cookie of either name, valid or not.
pub fn has_session_cookie(headers: &HeaderMap) -> bool {
    cookies(headers).any(|cookie| [PLAIN_COOKIE, HOST_COOKIE].contains(&cookie.name()))
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = Cookie<'_>> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| Cookie::split_parse(value).filter_map(Result::ok))
}

/// Two cookies of one name: nobody can tell which of them is ours.
struct Ambiguous;

/// The value of the cookie with a name.
fn only_cookie(headers: &HeaderMap, name: &str) -> Result<Option<String>, Ambiguous> {
    let mut found = cookies(headers).filter(|cookie| cookie.name() == name);
    match (found.next(), found.next()) {
        (Some(cookie), None) => Ok(Some(cookie.value().to_owned())),
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Ambiguous),
    }
}

/// The header that sets the session cookie.
pub fn session_cookie(app: &App, token: &str) -> HeaderValue {
    header_value(cookie(app, token, COOKIE_DAYS))
}

/// The headers after which a browser keeps nothing of somebody who has logged out: no session cookie and, where the
/// connection is secure, no pages and no drafts. Elsewhere browsers ignore `Clear-Site-Data`, and the script of
/// drafts removes them.
pub fn farewell(app: &App) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, header_value(cookie(app, "", 0)));
    if app.settings.site.is_https() {
        headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static(r#""cache", "storage""#));
    }
    headers
}

fn cookie<'a>(app: &App, token: &'a str, days: i64) -> Cookie<'a> {
    let name = if app.settings.site.is_https() { HOST_COOKIE } else { PLAIN_COOKIE };
    cookie_at(app, "/", (name, token), Duration::days(days))
}

fn cookie_at<'a>(app: &App, path: &'a str, cookie: (&'a str, &'a str), age: Duration) -> Cookie<'a> {
    Cookie::build(cookie)
        .path(path)
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(app.settings.site.is_https())
        .max_age(age)
        .build()
}

/// The cookie of a login through a provider, under http and under https, as of the session.
const JOURNEY_COOKIES: [&str; 2] = ["oidc", "__Host-oidc"];

/// The header that sets the cookie of a login through a provider.
pub fn journey_cookie(app: &App, value: &str) -> HeaderValue {
    // It comes back with the provider's redirect, which is a request from another site.
    let name = JOURNEY_COOKIES[usize::from(app.settings.site.is_https())];
    header_value(cookie_at(app, "/", (name, value), Duration::seconds(JOURNEY_SECONDS)))
}

/// The cookie of a login through a provider.
pub fn journey(app: &App, headers: &HeaderMap) -> Option<String> {
    only_cookie(headers, JOURNEY_COOKIES[usize::from(app.settings.site.is_https())]).ok()?
}

/// The kind of results that was searched for last, as the browser says.
pub fn search_kind(headers: &HeaderMap) -> Option<String> {
    only_cookie(headers, SEARCH_COOKIE).ok()?
}

/// The header by which a browser remembers the kind of results that was searched for.
pub fn search_kind_cookie(app: &App, kind: &str) -> HeaderValue {
    header_value(cookie_at(app, "/search", (SEARCH_COOKIE, kind), Duration::days(COOKIE_DAYS)))
}

fn header_value(cookie: Cookie<'_>) -> HeaderValue {
    // Cannot fail: tokens are hex digits, kinds are words, and the attributes are valid in a header.
    HeaderValue::from_str(&cookie.to_string()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whether a header sets the cookie with a name.
fn is_of(cookie: &HeaderValue, name: &str) -> bool {
    cookie.as_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

/// An extension of requests: set when the request prolongs its session.
#[derive(Clone, Default)]
pub struct Prolonged(pub Arc<AtomicBool>);

/// Renews the cookie when a request has prolonged its session, so that the browser stores the
/// cookie as long as the session lasts.
pub async fn renew_cookie<F: Future<Output = Response>>(
    app: &App,
    mut request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let Some(token) = session_token(app, request.headers()) else {
        return handle(request).await;
    };
    let prolonged = Prolonged::default();
    request.extensions_mut().insert(prolonged.clone());
    let mut response = handle(request).await;
    if prolonged.0.load(Ordering::Relaxed) {
        let is_session =
            |cookie: &HeaderValue| [PLAIN_COOKIE, HOST_COOKIE].iter().any(|name| is_of(cookie, name));
        // A handler that has set the cookie knows better, as after a logout.
        if !response.headers().get_all(header::SET_COOKIE).iter().any(is_session) {
            response.headers_mut().append(header::SET_COOKIE, session_cookie(app, &token));
        }
    }
    response
}
