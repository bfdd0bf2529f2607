//! Messages on channels, to all processes that have the same store open.
//!
//! A batch sends a message when it is applied
//! ([`Batch::publish`](super::Batch::publish)). Messages are not stored: only current
//! subscribers get them. A subscriber misses messages while its connection is down, or if
//! it is too slow. It is told so, and should then read the store.

use tokio::sync::{broadcast, mpsc};

/// An event that a subscriber receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A message.
    Message(String),
    /// Messages may have been missed before this point. On Redis, this also
    /// comes first, because the subscription begins a moment after the call.
    Missed,
}

/// A message of the embedded engine: the channel and the text.
pub(super) type Message = (String, String);

/// A subscription to one channel, which ends when it is dropped. A subscriber that is
/// more than 1,024 messages behind misses some.
pub struct Subscription(MessageSource);

enum MessageSource {
    /// The messages of all channels of the embedded engine, and the wanted channel.
    Process(broadcast::Receiver<Message>, String),
    /// The messages of one channel, from a task that reads from a server.
    Server(mpsc::Receiver<Notice>),
}

impl Subscription {
    pub(super) fn in_process(messages: broadcast::Receiver<Message>, channel: &str) -> Self {
        Self(MessageSource::Process(messages, channel.to_owned()))
    }

    pub(super) fn from_server(notices: mpsc::Receiver<Notice>) -> Self {
        Self(MessageSource::Server(notices))
    }

    /// Waits for the next message. Returns `None` once the embedded store is closed; a
    /// subscription on Redis does not end.
    pub async fn next(&mut self) -> Option<Notice> {
        match &mut self.0 {
            MessageSource::Process(messages, wanted) => loop {
                match messages.recv().await {
                    Ok((channel, text)) if channel == *wanted => return Some(Notice::Message(text)),
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => return Some(Notice::Missed),
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            },
            MessageSource::Server(notices) => notices.recv().await,
        }
    }
}
