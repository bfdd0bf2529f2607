//! Messages on channels: telling other parts of the site, on this server and
//! on all others of the same store, that something has happened.
//!
//! A message is sent by a batch, when it is applied
//! ([`Batch::publish`](super::Batch::publish)). It is not stored: who does not
//! listen at that moment does not get it, and a listener may miss some when
//! its connection breaks or it is too slow. It is told so, and looks at the
//! store.

use tokio::sync::{broadcast, mpsc};

/// What a listener is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A message.
    Message(String),
    /// Messages may have been lost before this point. On a server this also
    /// comes first: the listening begins a little after it was asked for.
    Missed,
}

/// A message on its way within the process: the channel and the text.
pub(super) type Message = (String, String);

/// A listener on one channel. It stops listening when it is dropped.
pub struct Subscription {
    source: MessageSource,
}

enum MessageSource {
    /// All messages of the embedded engine; those of one channel are wanted.
    Process(broadcast::Receiver<Message>, String),
    /// The messages of one channel, from a task that talks to a server.
    Server(mpsc::Receiver<Notice>),
}

impl Subscription {
    pub(super) fn in_process(messages: broadcast::Receiver<Message>, channel: &str) -> Self {
        Self { source: MessageSource::Process(messages, channel.to_owned()) }
    }

    pub(super) fn from_server(notices: mpsc::Receiver<Notice>) -> Self {
        Self { source: MessageSource::Server(notices) }
    }

    /// Waits for the next message; `None` when there will be none any more,
    /// because the store is closed.
    pub async fn next(&mut self) -> Option<Notice> {
        match &mut self.source {
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
