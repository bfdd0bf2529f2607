//! The interface for sending mail. The program implements it with SMTP.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::pin::Pin;

/// A message being sent.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + 'a>>;

/// A message was not sent.
#[derive(Debug)]
pub struct SendError {
    /// Why, as a sentence for the operator.
    pub reason: Box<dyn Error + Send + Sync>,
    /// Whether to try again.
    pub failure: Failure,
}

/// The consequence of a failure for a message and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It may be accepted later.
    Temporary,
    /// It will never be accepted.
    Final,
    /// It will never be accepted, because there is no such mailbox.
    NoMailbox,
}

impl Display for SendError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.reason.fmt(formatter)
    }
}

/// A plain text message that somebody has subscribed to. It holds no secret but the address for
/// unsubscribing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The address of the recipient.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// The full address that ends the subscription with a POST (RFC 8058).
    pub unsubscribe: String,
    /// The id of the message, in angle brackets: the same if it is sent again.
    pub message_id: String,
    /// The id of the message that it belongs to, if there is one.
    pub thread: Option<String>,
}

/// Sends mail.
pub trait SendMail: Send + Sync {
    /// Sends a plain text message, which may hold a secret, to one address. Completes when the
    /// relay has accepted it.
    ///
    /// # Errors
    /// When the message cannot be addressed, the relay does not accept it, or it can be
    /// reached only in a way that reveals what is sent.
    fn send<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a>;

    /// The same for a message without a secret.
    ///
    /// # Errors
    /// When the message cannot be addressed, or the relay does not accept it.
    fn send_notice<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a>;

    /// Sends a message that somebody has subscribed to.
    ///
    /// # Errors
    /// As [`SendMail::send_notice`].
    fn send_letter<'a>(&'a self, letter: &'a Letter) -> Sending<'a>;
}
