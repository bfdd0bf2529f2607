//! Mail to users, through the relay that the operator configures.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::config::{Mail, Relay};
use tidings_web::mail::{SendMail, Sending};

/// How long the relay may take to accept a message, from the connection on.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The port on which TLS starts at once (RFC 8314).
const IMPLICIT_TLS_PORT: u16 = 465;

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The relay's name is not one that a certificate can have.
    #[error("cannot use mail.relay {host}: {source}")]
    Relay {
        /// The host of the relay.
        host: String,
        /// What is wrong with it.
        source: lettre::transport::smtp::Error,
    },
    /// The recipient is not a valid address.
    #[error("not a mail address: {0}")]
    Address(#[from] lettre::address::AddressError),
    /// The message cannot be built.
    #[error("cannot write the mail: {0}")]
    Message(#[from] lettre::error::Error),
    /// The relay cannot be reached, or refused the message.
    #[error("the mail relay failed: {0}")]
    Smtp(#[from] lettre::transport::smtp::Error),
    /// The relay took too long.
    #[error("the mail relay did not answer within {} seconds", SEND_TIMEOUT.as_secs())]
    TimedOut,
}

/// Sends mail through one relay. Clones are cheap and share the settings.
#[derive(Clone, Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// A mailer for the configured relay; `None` when none is configured.
    /// Nothing is connected before the first message.
    ///
    /// # Errors
    /// [`MailError::Relay`] when TLS cannot be set up for the relay's name.
    pub fn from_config(mail: &Mail) -> Result<Option<Self>, MailError> {
        let Some(relay) = &mail.relay else {
            return Ok(None);
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&relay.host)
            .port(relay.port)
            .tls(tls_for(relay)?)
            .hello_name(ClientId::Domain(mail.from.email.domain().to_owned()))
            .timeout(Some(SEND_TIMEOUT));
        if !mail.username.is_empty() {
            let password = mail.password.reveal().to_owned();
            builder = builder.credentials(Credentials::new(mail.username.clone(), password));
        }
        Ok(Some(Self { transport: builder.build(), from: mail.from.clone() }))
    }

    /// Sends a plain text message to one address and waits until the relay has
    /// accepted it.
    ///
    /// # Errors
    /// When the address is not valid, or the relay is unavailable, slow, or refuses.
    pub async fn send(&self, to: &str, subject: &str, body: &str) -> Result<(), MailError> {
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.parse()?))
            .subject(subject)
            .message_id(None)
            .header(ContentType::TEXT_PLAIN)
            .body(body.to_owned())?;
        let sending = tokio::time::timeout(SEND_TIMEOUT, self.transport.send(message));
        sending.await.map_err(|_| MailError::TimedOut)??;
        Ok(())
    }
}

impl SendMail for Mailer {
    fn send<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a> {
        Box::pin(async move { Ok(self.send(to, subject, body).await?) })
    }
}

fn tls_for(relay: &Relay) -> Result<Tls, MailError> {
    let parameters = TlsParameters::new(relay.host.clone())
        .map_err(|source| MailError::Relay { host: relay.host.clone(), source })?;
    Ok(if relay.port == IMPLICIT_TLS_PORT {
        Tls::Wrapper(parameters)
    } else {
        Tls::Opportunistic(parameters)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CommandLineSettings, Config};
    use tidings_testing::smtp_server::SmtpServer;

    fn mailer(variables: &[(&str, &str)]) -> Option<Mailer> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = Config::load(None, variables, &CommandLineSettings::default()).unwrap();
        Mailer::from_config(&config.mail).unwrap()
    }

    #[test]
    fn without_a_relay_there_is_no_mailer() {
        assert!(mailer(&[]).is_none());
    }

    #[tokio::test]
    async fn a_message_reaches_the_relay_with_its_headers_and_text() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[
            ("TIDINGS_MAIL__RELAY", &server.relay()),
            ("TIDINGS_MAIL__FROM", "The News <news@example.com>"),
        ]);
        let link = format!("https://news.example.com/reset-password/{}", "0123456789abcdef".repeat(3));
        let body = format!("Grüße!\n.\nThe link:\n{link}\n");
        mailer.unwrap().send("bob@example.org", "A new password", &body).await.unwrap();
        let message = server.next_message().await;
        assert_eq!(message.from, "news@example.com");
        assert_eq!(message.to, ["bob@example.org"]);
        assert_eq!(message.header("Subject"), Some("A new password"));
        assert_eq!(message.header("To"), Some("bob@example.org"));
        let text = message.text();
        assert!(text.contains("Grüße!\n.\nThe link:\n") && text.contains(&link), "{text}");
        assert_eq!(message.login, None);
    }

    #[tokio::test]
    async fn credentials_are_sent_when_they_are_set() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[
            ("TIDINGS_MAIL__RELAY", &server.relay()),
            ("TIDINGS_MAIL__USERNAME", "me"),
            ("TIDINGS_MAIL__PASSWORD", "swordfish"),
        ]);
        let mailer = mailer.unwrap();
        assert!(!format!("{mailer:?}").contains("swordfish"));
        mailer.send("bob@example.org", "x", "y").await.unwrap();
        // base64 of "\0me\0swordfish"
        assert_eq!(server.next_message().await.login.as_deref(), Some("PLAIN AG1lAHN3b3JkZmlzaA=="));
    }

    #[tokio::test]
    async fn an_address_or_subject_cannot_add_headers() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[("TIDINGS_MAIL__RELAY", &server.relay())]).unwrap();
        let injected = mailer.send("bob@example.org\r\nBcc: eve@example.org", "x", "y").await;
        assert!(matches!(injected, Err(MailError::Address(_))));
        mailer.send("bob@example.org", "x\r\nBcc: eve@example.org", "y").await.unwrap();
        let message = server.next_message().await;
        assert_eq!(message.header("Bcc"), None);
        assert_eq!(message.to, ["bob@example.org"]);
    }

    #[tokio::test]
    async fn an_unreachable_relay_is_an_error() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = listener.local_addr().unwrap().to_string();
        drop(listener);
        let mailer = mailer(&[("TIDINGS_MAIL__RELAY", &relay)]).unwrap();
        assert!(matches!(mailer.send("bob@example.org", "x", "y").await, Err(MailError::Smtp(_))));
    }
}
