//! The interface for sending mail. The program implements it with SMTP.

use std::error::Error;
use std::pin::Pin;

/// A message being sent.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// Sends mail.
pub trait SendMail: Send + Sync {
    /// Sends a plain text message to one address. Completes when the relay has
    /// accepted it.
    ///
    /// # Errors
    /// When the message cannot be addressed, or the relay does not accept it.
    fn send<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a>;
}
