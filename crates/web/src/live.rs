//! Tells open home pages that there are new tweets, as server-sent events.
//!
//! There is one [`Hub`] in a process. It listens for new tweets while somebody
//! has a home page open, asks once for each tweet whom of them it concerns, and
//! passes it to their streams. A stream that waits costs a place in a map and
//! nothing else.

use super::App;
use super::error::RequestError;
use super::form::Form;
use super::paging::SinceQuery;
use crate::limits::{STREAM_KEEP_ALIVE, STREAM_LIFETIME, STREAM_QUEUE, STREAMS_PER_USER};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::site::Site;
use tidings_domain::timelines::live::{self, NewTweet};
use tidings_domain::values::cursor::Cursor;
use tidings_domain::values::ids::UserId;
use tidings_domain::values::limits::MAX_PAGE;
use tidings_keyspace::{Notice, Subscription};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

/// Tells nginx not to collect the answer before it passes it on.
const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// What a stream is told.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// A tweet that the reader sees at home has arrived.
    Arrived(NewTweet),
    /// Some may have arrived unheard.
    Missed,
}

/// The streams that are open in this process.
#[derive(Default)]
pub struct Hub {
    state: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    /// Each with the number by which it is found again.
    open: HashMap<UserId, Vec<(u64, Sender<Told>)>>,
    opened: u64,
    /// The task that listens; there is one while a stream is open.
    listener: Option<AbortHandle>,
    is_closed: bool,
}

impl Hub {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream, and begins to listen with the first.
    fn open(self: &Arc<Self>, site: &Arc<Site>, reader: UserId) -> Result<Place, RequestError> {
        let mut guard = self.streams();
        let streams = &mut *guard;
        let (sender, told) = channel(STREAM_QUEUE);
        let number = streams.opened;
        // Without the sender the stream ends by itself.
        if !streams.is_closed {
            let of_reader = streams.open.entry(reader).or_default();
            if of_reader.len() >= STREAMS_PER_USER {
                return Err(RequestError::TooManyStreams);
            }
            of_reader.push((number, sender));
            streams.opened += 1;
            streams.listener.get_or_insert_with(|| {
                let subscription = site.store.subscribe(live::CHANNEL);
                tokio::spawn(listen(self.clone(), site.clone(), subscription)).abort_handle()
            });
        }
        Ok(Place { hub: self.clone(), reader, number, told })
    }

    fn leave(&self, reader: UserId, number: u64) {
        let mut streams = self.streams();
        if let Some(of_reader) = streams.open.get_mut(&reader) {
            of_reader.retain(|(known, _)| *known != number);
            if of_reader.is_empty() {
                streams.open.remove(&reader);
            }
        }
        if streams.open.is_empty()
            && let Some(listener) = streams.listener.take()
        {
            listener.abort();
        }
    }

    fn readers(&self) -> Vec<UserId> {
        self.streams().open.keys().copied().collect()
    }

    /// Tells the streams of these readers. A stream that cannot take it ends.
    fn tell(&self, readers: &[UserId], told: Told) {
        let mut streams = self.streams();
        for reader in readers {
            if let Some(of_reader) = streams.open.get_mut(reader) {
                of_reader.retain(|(_, stream)| stream.try_send(told).is_ok());
            }
        }
    }

    /// Ends all streams, and those to come at once: the server stops.
    pub fn close(&self) {
        let mut streams = self.streams();
        streams.is_closed = true;
        streams.open.clear();
        if let Some(listener) = streams.listener.take() {
            listener.abort();
        }
    }
}

/// Passes on what arrives, until it is aborted.
async fn listen(hub: Arc<Hub>, site: Arc<Site>, mut subscription: Subscription) {
    while let Some(notice) = subscription.next().await {
        let readers = hub.readers();
        let tweet: NewTweet = match notice {
            Notice::Missed => {
                hub.tell(&readers, Told::Missed);
                continue;
            }
            Notice::Message(message) => match message.parse() {
                Ok(tweet) => tweet,
                Err(error) => {
                    tracing::warn!(message, %error, "unreadable message about a tweet skipped");
                    continue;
                }
            },
        };
        match live::followers_among(&site, tweet.author, &readers).await {
            Ok(concerned) => hub.tell(&concerned, Told::Arrived(tweet)),
            Err(error) => {
                tracing::debug!(%error, "cannot find out who follows the author of a new tweet");
                hub.tell(&readers, Told::Missed);
            }
        }
    }
}

/// A stream's place in the hub. It is given up when it is dropped.
struct Place {
    hub: Arc<Hub>,
    reader: UserId,
    number: u64,
    told: Receiver<Told>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.leave(self.reader, self.number);
    }
}

/// One stream: how many tweets are newer than the newest on the page.
struct Counter {
    app: App,
    place: Place,
    /// The newest tweet on the page.
    since: Cursor,
    /// How many are newer, once they have been counted.
    count: Option<u64>,
    /// When the counting began, as a score.
    counted_at: f64,
    ends: Instant,
}

impl Counter {
    /// Waits until the number is another one; `None` at the end.
    async fn next(&mut self) -> Option<u64> {
        let shown = self.count;
        if shown.is_none() {
            self.recount().await?;
        }
        while self.count == shown {
            let told = timeout_at(self.ends, self.place.told.recv()).await.ok()??;
            let mut is_certain = self.add(told);
            // What has come at the same time is one event.
            while let Ok(told) = self.place.told.try_recv() {
                is_certain &= self.add(told);
            }
            if !is_certain {
                self.recount().await?;
            }
        }
        self.count
    }

    /// Counts what has arrived; `false` when only a look at the store can tell.
    fn add(&mut self, told: Told) -> bool {
        match told {
            Told::Missed => false,
            Told::Arrived(tweet) if tweet.cursor().order(&self.since).is_le() => true,
            // It may have been there when they were counted.
            Told::Arrived(tweet) if tweet.score <= self.counted_at => false,
            Told::Arrived(_) => {
                let most = u64::try_from(MAX_PAGE).unwrap_or(u64::MAX);
                self.count = self.count.map(|count| count.saturating_add(1).min(most));
                true
            }
        }
    }

    async fn recount(&mut self) -> Option<()> {
        self.counted_at = self.app.moment().as_score();
        match live::count_newer(&self.app.site, self.place.reader, self.since).await {
            Ok(count) => {
                self.count = Some(count);
                Some(())
            }
            Err(error) => {
                // The browser comes again.
                tracing::debug!(%error, "cannot count new tweets");
                None
            }
        }
    }
}

/// GET /home/events: since, the cursor of the newest tweet on the page, missing
/// when there is none. An event `new` tells how many are newer, first at once
/// and then whenever the number changes; 100 stands for 100 and more. Who is
/// not logged in gets no content, at which browsers stop asking.
pub async fn events(
    State(app): State<App>,
    mut visit: Visit,
    Form(query): Form<SinceQuery>,
) -> Result<Response, RequestError> {
    let since = query.since.unwrap_or(Cursor { score: 0.0, id: 0 });
    let Some(reader) = visit.viewer().await?.map(|viewer| viewer.id) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let place = app.live.open(&app.site, reader)?;
    let ends = Instant::now() + STREAM_LIFETIME;
    let counter = Counter { app, place, since, count: None, counted_at: 0.0, ends };
    let events = futures_util::stream::unfold(counter, async |mut counter| {
        let count = counter.next().await?;
        Some((Ok::<_, Infallible>(Event::default().event("new").data(count.to_string())), counter))
    });
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(STREAM_KEEP_ALIVE));
    Ok(([UNBUFFERED], sse).into_response())
}
