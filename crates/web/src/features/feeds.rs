//! For feed readers: every list of the site as Atom and as JSON Feed, the newest stories as RSS too, the page that
//! lists the feeds, and lists of them in OPML.
//!
//! [`FeedKind`] is the list of all feeds. `sources` reads what one has into a `Feed`, and `writers` makes a document of
//! it. Feeds are the same for everyone, so shared caches may store them; but not that of an inbox, which is for
//! whoever has its private address.

mod feed;
pub mod hub;
pub mod list;
pub mod searched;
pub mod sitemap;
pub mod sources;
mod writers;

use crate::App;
use crate::markup::feed_links::{FeedFormat, FeedKind};
use crate::markup::parts::moment;
use crate::request::response_cache::weak_entity_tag;
use crate::settings::SiteSettings;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use feed::Feed;
use std::convert::Infallible;
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::values::clock::Timestamp;

/// The headers of a public document of this type.
pub const fn headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ]
}

/// The headers of a document of this type that is for one person.
const fn private_headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
    ]
}

/// The format of a feed is the end of its address.
impl<S: Send + Sync> FromRequestParts<S> for FeedFormat {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let ends = |format: &Self| parts.uri.path().ends_with(format.name());
        Ok([Self::Json, Self::Rss].into_iter().find(ends).unwrap_or(Self::Atom))
    }
}

/// The response with a page of a feed. Its version is that of its text.
fn answer(app: &App, site: &SiteSettings, format: FeedFormat, feed: &Feed) -> Response {
    let content_type = match format {
        FeedFormat::Atom => "application/atom+xml; charset=utf-8",
        FeedFormat::Json => "application/feed+json",
        FeedFormat::Rss => "application/rss+xml; charset=utf-8",
    };
    let headers = if feed.kind.is_private() { private_headers(content_type) } else { headers(content_type) };
    let hub = app.settings.hub.as_ref().filter(|_| feed.kind.is_announced());
    let document = writers::document(site, feed, format, hub);
    let tag = weak_entity_tag(document.as_bytes());
    let mut response = (headers, [(header::ETAG, tag)], document).into_response();
    if let Some(changed) = last_modified(app.now(), feed) {
        response.headers_mut().insert(header::LAST_MODIFIED, changed);
    }
    // Hubs look for these first, and in JSON for nothing else.
    if let Some((hub, own)) = hub.zip(feed.own(site, format)) {
        let links = HeaderValue::from_str(&format!("<{hub}>; rel=\"hub\", <{own}>; rel=\"self\""));
        response.headers_mut().extend(links.ok().map(|links| (header::LINK, links)));
    }
    response
}

/// When a feed was modified: in a list by time, at the time of its newest entry. Other lists change with each vote.
fn last_modified(now: Timestamp, feed: &Feed) -> Option<HeaderValue> {
    let is_ranked = matches!(feed.kind, FeedKind::Top | FeedKind::Articles(_, ArticleOrder::Score));
    let changed = if is_ranked { now } else { feed.updated().min(now) };
    let date = moment(changed).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::from_str(&date).ok().filter(|_| changed > Timestamp::default())
}
