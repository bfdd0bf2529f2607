//! Notifies open home pages of new tweets with server-sent events.
//!
//! Each process has one [`Hub`]. While at least one stream is open, the hub subscribes to
//! new tweets, looks up once per tweet which of the connected users follow its author, and
//! sends it to their streams. An idle stream costs an entry in a map, and now and then a look
//! whether its session has ended: then the stream ends too.

use crate::App;
use crate::error::{RequestError, Result};
use crate::limits::{
    SESSION_LOOK, SHARED_SESSION_LOOK, STREAM_KEEP_ALIVE, STREAM_LIFETIME, STREAM_QUEUE, STREAM_RETRY_MS,
    STREAM_RETRY_STEP_MS,
};
use crate::markup::Page;
use crate::request::paging::cursor;
use crate::request::{ClientAddress, Fields, cookies};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::timelines::live::{self, ArrivedTweet};
use tidings_domain::timelines::reading;
use tidings_domain::values::{ClientNetworks, CountedNetwork, Cursor, MAX_PAGE, RatedAction, UserId};
use tidings_domain::{Site, Visit, rates};
use tidings_keyspace::{Notice, Subscription};
use tidings_supervision::{Policy, supervise};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout_at};

/// Tells nginx not to buffer the response.
pub(crate) const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// The ticks of a stream: the first one after a whole period.
pub(crate) fn ticks(period: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// A message to a stream.
#[derive(Debug, Clone, Copy)]
enum StreamMessage {
    /// A new tweet for the user's home timeline.
    Arrived(ArrivedTweet),
    /// New tweets may have been missed.
    Missed,
}

/// The streams that are open in this process.
#[derive(Default)]
pub struct Hub {
    streams: Mutex<Streams>,
    /// Whether the server is stopping: all streams end, and new ones end at once.
    closing: watch::Sender<bool>,
}

#[derive(Default)]
struct Streams {
    /// The senders of each user's streams, with the number of the stream.
    open: HashMap<UserId, Vec<(u64, Sender<StreamMessage>)>>,
    /// The number of streams of each network of an address.
    by_network: HashMap<CountedNetwork, usize>,
    next_number: u64,
    /// The task that receives new tweets; present while a stream is open.
    listener: Option<AbortHandle>,
}

/// Whether a number is at its limit; 0 = no limit.
const fn is_full(count: usize, limit: u64) -> bool {
    limit != 0 && count as u64 >= limit
}

impl Streams {
    /// Whether an address has as many streams as it may have.
    fn is_full_for(&self, app: &App, address: IpAddr) -> bool {
        let rules = &app.site.rules.rates;
        let is_network_full = |network: CountedNetwork| {
            let of_network = self.by_network.get(&network).copied().unwrap_or(0);
            is_full(of_network, rules.streams_per_address.saturating_mul(network.factor().into()))
        };
        !rules.exempt.contain(address) && ClientNetworks::of(address).iter().any(is_network_full)
    }

    fn count(&mut self, networks: &ClientNetworks) {
        for network in networks.iter() {
            *self.by_network.entry(network).or_default() += 1;
        }
    }

    fn uncount(&mut self, networks: &ClientNetworks) {
        for network in networks.iter() {
            if let Some(of_network) = self.by_network.get_mut(&network) {
                *of_network -= 1;
                if *of_network == 0 {
                    self.by_network.remove(&network);
                }
            }
        }
    }
}

/// The registration of a stream for a visitor. Dropping it removes the stream.
pub struct VisitorStream {
    hub: Arc<Hub>,
    networks: ClientNetworks,
    closing: watch::Receiver<bool>,
}

impl VisitorStream {
    /// Waits until the server stops.
    pub async fn closed(&mut self) {
        // The hub is there as long as this.
        let _ = self.closing.wait_for(|closing| *closing).await;
    }
}

impl Drop for VisitorStream {
    fn drop(&mut self) {
        self.hub.streams.lock().uncount(&self.networks);
    }
}

impl Hub {
    /// Opens a stream for a visitor, who may not have a session. It counts like the others in the limit of its
    /// address.
    ///
    /// # Errors
    /// [`RequestError::TooManyStreams`].
    pub fn open_for_visitor(self: &Arc<Self>, app: &App, address: IpAddr) -> Result<VisitorStream> {
        let networks = ClientNetworks::of(address);
        let mut streams = self.streams.lock();
        if streams.is_full_for(app, address) {
            rates::note_refusal(&app.site, app.moment(), RatedAction::Stream, address, None);
            return Err(RequestError::TooManyStreams);
        }
        streams.count(&networks);
        Ok(VisitorStream { hub: self.clone(), networks, closing: self.closing.subscribe() })
    }

    /// Opens a stream. The first stream starts the task that receives new tweets.
    fn open(self: &Arc<Self>, app: &App, reader: UserId, address: IpAddr) -> Result<StreamGuard> {
        let mut state = self.streams.lock();
        let streams = &mut *state;
        let networks = ClientNetworks::of(address);
        let (sender, messages) = channel(STREAM_QUEUE);
        let number = streams.next_number;
        // After `close`, the sender is dropped here, which ends the stream.
        if !*self.closing.borrow() {
            let of_reader = streams.open.get(&reader).map_or(0, Vec::len);
            let is_reader_full = is_full(of_reader, app.site.rules.rates.streams_per_account);
            if is_reader_full || streams.is_full_for(app, address) {
                rates::note_refusal(&app.site, app.moment(), RatedAction::Stream, address, Some(reader));
                return Err(RequestError::TooManyStreams);
            }
            streams.open.entry(reader).or_default().push((number, sender));
            streams.next_number += 1;
            streams.listener.get_or_insert_with(|| {
                let (hub, site) = (self.clone(), app.site.clone());
                // Now, so that this stream misses nothing.
                let mut first = Some(app.site.store.subscribe(live::CHANNEL));
                tokio::spawn(async move {
                    supervise("tweets", Policy::Forever, || listen(&hub, &site, first.take())).await;
                })
                .abort_handle()
            });
        }
        // The guard takes it away again, in any case.
        streams.count(&networks);
        Ok(StreamGuard { hub: self.clone(), reader, networks, number, messages })
    }

    fn remove(&self, guard: &StreamGuard) {
        let mut streams = self.streams.lock();
        if let Some(of_reader) = streams.open.get_mut(&guard.reader) {
            of_reader.retain(|(known, _)| *known != guard.number);
            if of_reader.is_empty() {
                streams.open.remove(&guard.reader);
            }
        }
        streams.uncount(&guard.networks);
        if streams.open.is_empty()
            && let Some(listener) = streams.listener.take()
        {
            listener.abort();
        }
    }

    fn readers(&self) -> Vec<UserId> {
        self.streams.lock().open.keys().copied().collect()
    }

    /// Sends a message to the streams of these users. A stream with a full queue is closed.
    fn send(&self, readers: &[UserId], message: StreamMessage) {
        let mut streams = self.streams.lock();
        for reader in readers {
            if let Some(of_reader) = streams.open.get_mut(reader) {
                of_reader.retain(|(_, stream)| stream.try_send(message).is_ok());
            }
        }
    }

    /// Closes all streams, now and in future, because the server is stopping.
    pub fn close(&self) {
        self.closing.send_replace(true);
        let mut streams = self.streams.lock();
        streams.open.clear();
        if let Some(listener) = streams.listener.take() {
            listener.abort();
        }
    }
}

/// Sends new tweets to the streams until it is aborted. Without a subscription it makes one,
/// because the one before has ended with tweets that nobody has got.
async fn listen(hub: &Hub, site: &Site, subscription: Option<Subscription>) {
    let mut subscription = subscription.unwrap_or_else(|| {
        let subscription = site.store.subscribe(live::CHANNEL);
        hub.send(&hub.readers(), StreamMessage::Missed);
        subscription
    });
    while let Some(notice) = subscription.next().await {
        let readers = hub.readers();
        let tweet: ArrivedTweet = match notice {
            Notice::Missed => {
                hub.send(&readers, StreamMessage::Missed);
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
        match live::followers_among(site, tweet.author, &readers).await {
            Ok(concerned) => hub.send(&concerned, StreamMessage::Arrived(tweet)),
            Err(error) => {
                tracing::debug!(%error, "cannot find out who follows the author of a new tweet");
                hub.send(&readers, StreamMessage::Missed);
            }
        }
    }
}

/// A stream's registration in the hub. Dropping it removes the stream.
struct StreamGuard {
    hub: Arc<Hub>,
    reader: UserId,
    networks: ClientNetworks,
    number: u64,
    messages: Receiver<StreamMessage>,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.hub.remove(self);
    }
}

/// The session that a stream belongs to.
struct StreamSession {
    app: App,
    reader: UserId,
    token: String,
    looks: Interval,
}

impl StreamSession {
    fn new(app: App, reader: UserId, token: String) -> Self {
        let every = if app.site.store.is_shared() { SHARED_SESSION_LOOK } else { SESSION_LOOK };
        Self { app, reader, token, looks: ticks(every) }
    }

    /// Waits until the session has ended.
    async fn ended(&mut self) {
        loop {
            self.looks.tick().await;
            if !self.is_open().await {
                return;
            }
        }
    }

    /// Whether the token still belongs to the reader. If the store is unavailable, this is
    /// not known, and the stream goes on. Rounds: 1 on a store that servers share; elsewhere
    /// none, unless the session is no longer cached.
    async fn is_open(&self) -> bool {
        let mut visit = Visit::new(self.app.site.clone(), self.app.now(), Some(&self.token));
        if visit.viewer_id().is_none() && visit.identify().await.is_err() {
            return true;
        }
        visit.viewer_id() == Some(self.reader)
    }
}

/// One stream: how many tweets are newer than the newest on the page.
struct Counter {
    session: StreamSession,
    guard: StreamGuard,
    /// The newest tweet on the page.
    since: Cursor,
    /// How many are newer, once they have been counted.
    count: Option<u64>,
    /// When the last count in the store began, as a score.
    counted_at: f64,
    ends: Instant,
}

impl Counter {
    /// Waits until the count changes; `None` at the end of the stream.
    async fn next(&mut self) -> Option<u64> {
        let shown = self.count;
        if shown.is_none() {
            self.recount().await?;
        }
        while self.count == shown {
            let message = tokio::select! {
                message = timeout_at(self.ends, self.guard.messages.recv()) => message.ok()??,
                () = self.session.ended() => return None,
            };
            let mut is_certain = self.add(message);
            // Messages that are already in the queue become one event.
            while let Ok(message) = self.guard.messages.try_recv() {
                is_certain &= self.add(message);
            }
            if !is_certain {
                self.recount().await?;
            }
        }
        // Tweets that arrived after the end of the session are not for this stream.
        if self.session.is_open().await { self.count } else { None }
    }

    /// Counts a message; `false` if the tweets must be counted in the store.
    fn add(&mut self, message: StreamMessage) -> bool {
        match message {
            StreamMessage::Missed => false,
            StreamMessage::Arrived(tweet) if tweet.cursor().order(&self.since).is_le() => true,
            // It may have been included in the last count.
            StreamMessage::Arrived(tweet) if tweet.score <= self.counted_at => false,
            StreamMessage::Arrived(_) => {
                let most = u64::try_from(MAX_PAGE).unwrap_or(u64::MAX);
                self.count = self.count.map(|count| count.saturating_add(1).min(most));
                true
            }
        }
    }

    async fn recount(&mut self) -> Option<()> {
        self.counted_at = self.session.app.moment().as_score();
        match reading::count_newer(&self.session.app.site, self.guard.reader, self.since).await {
            Ok(count) => {
                self.count = Some(count);
                Some(())
            }
            Err(error) => {
                // The browser will reconnect.
                tracing::debug!(%error, "cannot count new tweets");
                None
            }
        }
    }
}

/// GET /home/events: since, the cursor of the newest tweet on the page, missing
/// when there is none. The event `new` contains the number of newer tweets, at once and
/// whenever it changes; 100 means 100 or more. Without a session the response is 204, which
/// stops browsers from reconnecting.
pub async fn events(
    Page { app, mut visit, .. }: Page,
    ClientAddress(address): ClientAddress,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    let since = cursor(&fields, "since")?.unwrap_or(Cursor { score: 0.0, id: 0 });
    let reader = visit.viewer().await?.map(|viewer| viewer.id);
    let (Some(reader), Some(token)) = (reader, cookies::session_token(&app, &headers)) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let guard = app.live.open(&app, reader, address)?;
    // When the stream ends, the page opens another, perhaps at the next process. Not all pages
    // do so at the same moment.
    let pause =
        Duration::from_millis(STREAM_RETRY_MS + guard.number * STREAM_RETRY_STEP_MS % STREAM_RETRY_MS);
    let ends = Instant::now() + STREAM_LIFETIME;
    let session = StreamSession::new(app, reader, token);
    let counter = Counter { session, guard, since, count: None, counted_at: 0.0, ends };
    let events = futures_util::stream::unfold(counter, async |mut counter| {
        let count = counter.next().await?;
        Some((Ok::<_, Infallible>(Event::default().event("new").data(count.to_string())), counter))
    });
    let last = futures_util::stream::once(async move { Ok(Event::default().retry(pause)) });
    let sse = Sse::new(events.chain(last)).keep_alive(KeepAlive::new().interval(STREAM_KEEP_ALIVE));
    Ok(([UNBUFFERED], sse).into_response())
}
