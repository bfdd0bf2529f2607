//! The rates of requests: what one address may ask this server for, whether or not the answer
//! is cached. They are checked before any other work on a request.

use super::viewer::subscriber_of;
use crate::App;
use crate::limits::UNIT_BYTES;
use axum::http::{Method, Request};
use std::net::IpAddr;
use tidings_domain::Refusal;
use tidings_domain::rates;

/// The call of extensions that reads by POST.
const READ_BY_POST: &str = "/api/sites/own";

/// A request as the limits of requests count it: its address and kind.
#[derive(Debug, Clone, Copy)]
pub struct CountedRequest {
    address: IpAddr,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Post,
    /// Any other request, also one that no address answers.
    Read {
        is_large: bool,
    },
}

impl CountedRequest {
    /// The address and kind that a request counts under.
    pub fn of<B>(app: &App, peer: IpAddr, request: &Request<B>) -> Self {
        let path = request.uri().path();
        let is_post = *request.method() == Method::POST && path != READ_BY_POST;
        let kind = if is_post { Kind::Post } else { Kind::Read { is_large: is_large(path) } };
        Self { address: subscriber_of(app, peer, request.headers()), kind }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// [`Refusal::TooManyRequests`].
    pub fn spend(&self, app: &App) -> Result<(), Refusal> {
        match self.kind {
            Kind::Post => rates::spend_post(&app.site, app.moment(), self.address),
            Kind::Read { is_large } => rates::spend_read(&app.site, app.moment(), self.address, is_large),
        }
    }

    /// Takes further tokens for an answer with a large body: a read costs one for each started
    /// [`UNIT_BYTES`].
    pub fn charge(&self, app: &App, bytes: usize) {
        let Kind::Read { is_large } = self.kind else { return };
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(1);
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            rates::charge_read(&app.site, app.moment(), self.address, is_large, more);
        }
    }
}

/// Whether the answer is large, or costly to make: threads, feeds, lists of several topics, those
/// of days and months, and the description of the API.
fn is_large(path: &str) -> bool {
    const FIRST: [&str; 9] =
        ["news", "comment", "reply", "editcomment", "inbox", "topic", "topics", "past", "rss"];
    // Lists of many stories that may have to be read, and the posts of a person; whole threads.
    const HACKER_NEWS: &str = "v0";
    const ALGOLIA: &str = "v1";
    const API: [&str; 7] = ["export", "getcomments", "inbox", "topic", "past", "openapi.json", ALGOLIA];
    let mut segments = path.trim_start_matches('/').split('/');
    let (first, second) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    path == READ_BY_POST
        || FIRST.contains(&first)
        || first == HACKER_NEWS && !matches!(second, "item" | "maxitem.json")
        || first == "api" && API.contains(&second)
        || matches!(path.rsplit('/').next(), Some("atom" | "json" | "feed" | "feeds.opml"))
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
            "/user/alice/json",
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
            "/v0/topstories.json",
            "/v0/user/alice.json",
        ] {
            assert!(is_large(large), "{large}");
        }
        for small in [
            "/",
            "/latest/0",
            "/best",
            "/@alice",
            "/newsletter",
            "/api/getnews/top/0/30",
            "/assets/app.js",
            "/v0/item/1.json",
        ] {
            assert!(!is_large(small), "{small}");
        }
    }
}
