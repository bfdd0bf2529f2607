//! The only cookie: the session.

use super::App;
use axum::http::{HeaderMap, HeaderValue, header};
use cookie::{Cookie, SameSite};

/// The name of the session cookie.
pub const SESSION_COOKIE: &str = "auth";
/// How long a browser stores the cookie, in days. The session itself ends with a logout.
const COOKIE_DAYS: i64 = 365;

/// The session token of a request.
#[must_use]
pub fn session_token(headers: &HeaderMap) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| Cookie::split_parse(value.to_owned()).filter_map(Result::ok))
        .find(|cookie| cookie.name() == SESSION_COOKIE)
        .map(|cookie| cookie.value().to_owned())
}

/// The header that sets the session cookie.
#[must_use]
pub fn session_cookie(app: &App, token: &str) -> HeaderValue {
    header_value(cookie(app, token, COOKIE_DAYS))
}

/// The header that deletes the session cookie.
#[must_use]
pub fn no_session_cookie(app: &App) -> HeaderValue {
    header_value(cookie(app, "", 0))
}

fn cookie<'a>(app: &App, token: &'a str, days: i64) -> Cookie<'a> {
    Cookie::build((SESSION_COOKIE, token))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(app.settings.site.is_https())
        .max_age(cookie::time::Duration::days(days))
        .build()
}

fn header_value(cookie: Cookie<'_>) -> HeaderValue {
    // Cannot fail: tokens are hex digits, and the attributes are valid in a header.
    HeaderValue::from_str(&cookie.to_string()).unwrap_or_else(|_| HeaderValue::from_static(""))
}
