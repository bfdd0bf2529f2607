//! The interface for sending mail. The program implements it with SMTP.

use std::error::Error;
use std::pin::Pin;

/// A message being sent.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'a>>;

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
}
