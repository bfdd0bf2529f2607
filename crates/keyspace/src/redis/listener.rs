//! A subscription to a channel, on a connection of its own that is renewed when it breaks.

use super::place::{Located, NoConnection, Place};
use crate::events::Notice;
use crate::limits::MAX_QUEUED_MESSAGES;
use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use std::sync::Arc;
use std::time::Duration;
use tidings_supervision::{Policy, supervise};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// How often the connection is tested with a PING.
const PING_EVERY: Duration = Duration::from_secs(10);
/// How long to wait before the next attempt if the server cannot be reached.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Subscribes in a task that ends when the receiver is dropped.
pub(super) fn listen(place: Arc<Place>, channel: String, patience: Duration) -> mpsc::Receiver<Notice> {
    let (notices, receiver) = mpsc::channel(MAX_QUEUED_MESSAGES);
    tokio::spawn(async move {
        supervise("messages", Policy::UntilDone, || forward_all(&place, &channel, &notices, patience)).await;
    });
    receiver
}

/// Forwards messages, over as many connections as it takes, until the receiver is dropped.
async fn forward_all(place: &Place, channel: &str, notices: &mpsc::Sender<Notice>, patience: Duration) {
    while !notices.is_closed() {
        match timeout(patience, connect(place, channel)).await {
            Ok(Ok((sink, stream, term))) => {
                // Messages before this moment were missed, the first time too.
                if notices.send(Notice::Missed).await.is_err() {
                    return;
                }
                let replaced = place.wait_for_another_term(term);
                forward(sink, stream, notices, replaced, patience).await;
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot subscribe to messages");
                sleep(RETRY_AFTER).await;
            }
            Err(_) => tracing::debug!("cannot subscribe to messages: no answer in time"),
        }
    }
}

/// Subscribes. Also returns the term of the server.
async fn connect(place: &Place, channel: &str) -> Result<(PubSubSink, PubSubStream, u64), NoConnection> {
    let Located { client, term } = place.locate().await?;
    let mut connection = client.get_async_pubsub().await?;
    connection.subscribe(channel).await?;
    let (sink, stream) = connection.split();
    Ok((sink, stream, term))
}

/// Forwards messages until the connection breaks, the store has another server, or the receiver is
/// dropped.
async fn forward(
    mut sink: PubSubSink,
    mut stream: PubSubStream,
    notices: &mpsc::Sender<Notice>,
    replaced: impl Future<Output = ()>,
    patience: Duration,
) {
    tokio::pin!(replaced);
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = stream.next() => {
                let Some(message) = message else { return };
                let text = String::from_utf8_lossy(message.get_payload_bytes()).into_owned();
                if notices.send(Notice::Message(text)).await.is_err() {
                    return;
                }
            }
            _ = pings.tick() => {
                if !matches!(timeout(patience, sink.ping::<redis::Value>()).await, Ok(Ok(_))) {
                    return;
                }
            }
            // A server that was replaced may still accept subscriptions, and gets no messages.
            () = &mut replaced => return,
            () = notices.closed() => return,
        }
    }
}
