//! For feed readers: every list of the site as Atom and as JSON Feed, the newest stories as RSS too, the page that
//! lists the feeds, and lists of them in OPML.
//!
//! `FeedKind` is the list of all feeds. `sources` reads what one has into a `Feed`, and `writers` makes a document of
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
use crate::markup::FeedFormat;
use crate::markup::dates::moment;
use crate::request::response_cache::weak_entity_tag;
use crate::server::headers::cacheable;
use crate::settings::SiteSettings;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use feed::Feed;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use tidings_domain::values::Timestamp;

/// The headers of a public document of this type.
pub const fn headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    cacheable(content_type, "public, max-age=60")
}

/// The headers of a document of this type that is for one person.
const fn private_headers(content_type: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        (HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow")),
    ]
}

/// The response with a page of a feed. Its version is that of its text.
fn answer(app: &App, site: &SiteSettings, format: FeedFormat, feed: &Feed) -> Response {
    let content_type = match format {
        FeedFormat::Atom => "application/atom+xml; charset=utf-8",
        FeedFormat::Json => "application/feed+json",
        FeedFormat::Rss => "application/rss+xml; charset=utf-8",
    };
    let headers = if feed.kind.is_private() { private_headers(content_type) } else { headers(content_type) };
    let hub = app.hub().filter(|_| feed.kind.is_announced());
    let document = writers::document(site, feed, format, hub);
    let tag = weak_entity_tag(document.as_bytes());
    let address = format!("{}{}", feed.kind.path(format), feed.here);
    let changed = app.feed_times.changed(&address, &document, app.now());
    let mut response = (headers, [(header::ETAG, tag)], document).into_response();
    let date = moment(changed).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let date = HeaderValue::from_str(&date).ok();
    response.headers_mut().extend(date.map(|date| (header::LAST_MODIFIED, date)));
    // Hubs look for these first, and in JSON for nothing else.
    if let Some((hub, own)) = hub.zip(feed.own(site, format)) {
        let links = HeaderValue::from_str(&format!("<{hub}>; rel=\"hub\", <{own}>; rel=\"self\""));
        response.headers_mut().extend(links.ok().map(|links| (header::LINK, links)));
    }
    response
}

/// The most documents whose time is remembered.
const MOST_FEED_TIMES: usize = 16_384;

/// When documents of feeds changed, in the memory of this process.
///
/// Edits, removals, votes and changes of names change a document, and no time in the store tells of all of them. So a
/// document has changed when this process first made it as it is now. One that it has not made before has changed now:
/// clients read it once more than they need to, and never miss a change. The time of a document never goes back.
#[derive(Debug, Default)]
pub struct FeedTimes(Mutex<HashMap<u64, (u64, Timestamp)>>);

impl FeedTimes {
    /// When the document at an address changed to this one.
    fn changed(&self, address: &str, document: &str, now: Timestamp) -> Timestamp {
        let (address, version) = (hash_of(address), hash_of(document));
        let mut times = self.0.lock();
        let changed = match times.get(&address) {
            Some((known, changed)) if *known == version => return *changed,
            // A later second than that of the former document, which clients may have asked for in this one.
            Some((_, before)) => now.max(Timestamp(before.0.saturating_add(1))),
            None => now,
        };
        if times.len() >= MOST_FEED_TIMES {
            times.clear();
        }
        times.insert(address, (version, changed));
        changed
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_document_is_that_of_its_last_change_and_never_goes_back() {
        let times = FeedTimes::default();
        for (address, document, now, changed) in [
            ("/atom", "one", 100, 100),
            ("/atom", "one", 160, 100),
            ("/json", "one", 170, 170),
            ("/atom", "two", 200, 200),
            ("/atom", "three", 200, 201),
            ("/atom", "two", 150, 202),
            ("/atom", "two", 900, 202),
        ] {
            assert_eq!(
                times.changed(address, document, Timestamp(now)),
                Timestamp(changed),
                "{document} {now}"
            );
        }
        for number in 0..=MOST_FEED_TIMES {
            times.changed(&number.to_string(), "one", Timestamp(1_000));
        }
        assert!(times.0.lock().len() <= MOST_FEED_TIMES);
    }
}
