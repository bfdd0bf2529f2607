//! The content of an address as a stream of server-sent events, as Firebase sends them: first all of it, and
//! again when it changes, at most once a second.
//!
//! A stream remembers what was read for what it has sent. Each second it looks in memory whether any of that was
//! written, and only then reads it again. On a store that servers share, the writes of others are reported to
//! this process without a question.

use super::json::written;
use super::resources::Resource;
use crate::App;
use crate::error::Result;
use crate::features::timelines::live::{UNBUFFERED, VisitorStream, ticks};
use crate::limits::{EVENTS_EVERY, EVENTS_KEEP_ALIVE, STREAM_LIFETIME};
use crate::request::Sender;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use std::convert::Infallible;
use std::net::IpAddr;
use tidings_domain::accounts::access::Access;
use tidings_keyspace::ReadSet;
use tokio::time::{Instant, Interval, sleep_until};

/// Answers are never stored, and an address has JSON too.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    (header::VARY, HeaderValue::from_static("accept")),
];

/// A stream of what is at an address. Rounds: as for the answer, and again when it has changed.
///
/// # Errors
/// [`TooManyStreams`](crate::error::RequestError::TooManyStreams), or the store's.
pub(super) async fn open(app: App, resource: Resource, (from, sender): (IpAddr, Sender)) -> Result<Response> {
    let open = app.live.open_for_visitor(&app, from)?;
    let (json, reads) = read(&app, &resource).await?;
    let watched = Watched {
        first: Some(put(&json)),
        app,
        resource,
        sender,
        open,
        json,
        reads,
        ends: Instant::now() + STREAM_LIFETIME,
        looks: ticks(EVENTS_EVERY),
        alive: ticks(EVENTS_KEEP_ALIVE),
    };
    let events = futures_util::stream::unfold(watched, async |mut watched| {
        let event = watched.next().await?;
        Some((Ok::<_, Infallible>(event), watched))
    });
    Ok(([UNBUFFERED], HEADERS, Sse::new(events)).into_response())
}

async fn read(app: &App, resource: &Resource) -> Result<(String, ReadSet)> {
    let (content, reads) = app.site.store.record_reads(resource.read(app)).await;
    Ok((written(&content?, false)?, reads))
}

/// The event that says what is there now.
fn put(json: &str) -> Event {
    Event::default().event("put").data(format!(r#"{{"path":"/","data":{json}}}"#))
}

/// Something that a client watches.
struct Watched {
    app: App,
    resource: Resource,
    sender: Sender,
    open: VisitorStream,
    /// The content that was sent last.
    json: String,
    /// The read set of that content.
    reads: ReadSet,
    /// The first event, until it is sent.
    first: Option<Event>,
    looks: Interval,
    alive: Interval,
    ends: Instant,
}

impl Watched {
    /// Waits for the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            tokio::select! {
                () = self.open.closed() => return None,
                () = sleep_until(self.ends) => return None,
                _ = self.alive.tick() => return Some(Event::default().event("keep-alive").data("null")),
                _ = self.looks.tick() => {}
            }
            if self.has_changed().await {
                // On a site that only members read, they may have been banned meanwhile.
                self.sender.visit(&self.app).demand(Access::Readers).await.ok()?;
                return Some(put(&self.json));
            }
        }
    }

    /// Reads it again if anything was written that it was made of. If the store is unavailable, the next look
    /// tries again.
    async fn has_changed(&mut self) -> bool {
        let store = &self.app.site.store;
        if store.tracks_writes() && store.is_unchanged(&self.reads) {
            return false;
        }
        match read(&self.app, &self.resource).await {
            Ok((json, reads)) => {
                self.reads = reads;
                let is_new = json != self.json;
                self.json = json;
                is_new
            }
            Err(error) => {
                tracing::debug!(?error, "what a stream shows was not read");
                false
            }
        }
    }
}
