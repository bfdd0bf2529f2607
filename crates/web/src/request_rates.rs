//! The rates of requests: what one address may ask this server for, whether or not the answer
//! is cached. They are checked before any other work on a request.

use super::App;
use super::viewer::subscriber_of;
use axum::http::{Method, Request};
use std::net::IpAddr;
use tidings_domain::Refusal;
use tidings_domain::rates;

/// The call of extensions that reads by POST.
const READ_BY_POST: &str = "/api/sites/own";

/// Takes a token for a request: that of a POST, or that of a read, which any other request
/// counts as, also one that no address answers.
///
/// # Errors
/// [`Refusal::TooManyRequests`].
pub fn check<B>(app: &App, peer: IpAddr, request: &Request<B>) -> Result<(), Refusal> {
    let address = subscriber_of(app, peer, request.headers());
    let path = request.uri().path();
    if *request.method() == Method::POST && path != READ_BY_POST {
        return rates::spend_post(&app.site, app.moment(), address);
    }
    rates::spend_read(&app.site, app.moment(), address, is_large(path))
}

/// Whether the answer is large, or costly to make: threads, feeds, lists of several topics, those
/// of days and months, and the description of the API.
fn is_large(path: &str) -> bool {
    const FIRST: [&str; 9] =
        ["news", "comment", "reply", "editcomment", "inbox", "topic", "topics", "past", "rss"];
    const API: [&str; 6] = ["export", "getcomments", "inbox", "topic", "past", "openapi.json"];
    let mut segments = path.trim_start_matches('/').split('/');
    let (first, second) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    path == READ_BY_POST
        || FIRST.contains(&first)
        || first == "api" && API.contains(&second)
        || matches!(path.rsplit('/').next(), Some("atom" | "feed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_feeds_and_topics_are_large() {
        for large in [
            "/api/sites/own",
            "/news/1",
            "/comment/1/2",
            "/reply/1/2",
            "/editcomment/1/2",
            "/inbox",
            "/inbox/feed/1-abc",
            "/rss",
            "/atom",
            "/best/atom",
            "/best/new/atom",
            "/topic/rust",
            "/topic/rust+go/new",
            "/topic/rust/new/atom",
            "/@alice/feed",
            "/topics/followed",
            "/past/2026-11",
            "/api/past/2026-11/0/30",
            "/api/getcomments/1",
            "/api/inbox",
            "/api/export",
            "/api/topic/rust+go/best/1",
            "/api/openapi.json",
        ] {
            assert!(is_large(large), "{large}");
        }
        for small in
            ["/", "/latest/0", "/best", "/@alice", "/newsletter", "/api/getnews/top/0/30", "/assets/app.js"]
        {
            assert!(!is_large(small), "{small}");
        }
    }
}
