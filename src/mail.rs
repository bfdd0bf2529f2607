//! Mail to users, through the relay that the operator configures.
//!
//! Mail with a secret, such as a reset link, and the relay's own password go over TLS or not
//! at all, unless `mail.tls = none` says otherwise. An attacker who removes the relay's offer
//! of STARTTLS gets neither.

use std::error::Error;
use std::time::Duration;

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::config::{Mail, MailTls, Relay};
use tidings_keyspace::certificates;
use tidings_web::mail::{Failure, Letter, SendError, SendMail, Sending};

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
        /// The error of the library.
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
    Smtp(lettre::transport::smtp::Error),
    /// There is no TLS connection to the relay.
    #[error("the mail relay {host} {trouble} ({reason}); {remedy}")]
    Tls {
        /// The host of the relay.
        host: String,
        /// The fault, to follow "the mail relay".
        trouble: &'static str,
        /// The words of the library.
        reason: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The relay does not accept the login.
    #[error("the mail relay {host} refuses the login ({reason}); check mail.username and mail.password")]
    Login {
        /// The host of the relay.
        host: String,
        /// The relay's answer.
        reason: String,
    },
    /// The relay says that there is no such mailbox.
    #[error("the mail relay {host} says that there is no mailbox {to} ({reason})")]
    NoMailbox {
        /// The host of the relay.
        host: String,
        /// The address.
        to: String,
        /// The relay's answer.
        reason: String,
    },
    /// The relay refuses the message for good, for a reason that is not the address.
    #[error(
        "the mail relay {host} refuses this mail for good ({reason}); check mail.from, and that the relay \
         accepts mail of this site"
    )]
    Refused {
        /// The host of the relay.
        host: String,
        /// The relay's answer.
        reason: String,
    },
    /// The relay offers no TLS, and this must not be sent without it.
    #[error(
        "the mail relay {host} offers no TLS (STARTTLS), and this mail is not sent without it; \
         see the setting mail.tls"
    )]
    NoTls {
        /// The host of the relay.
        host: String,
    },
    /// The relay took too long.
    #[error("the mail relay did not answer within {} seconds", SEND_TIMEOUT.as_secs())]
    TimedOut,
}

/// Faults of a TLS connection by a part of the library's message, with the remedy.
const TLS_TROUBLES: [(&str, &str, &str); 12] = [
    (
        "UnknownIssuer",
        "has a certificate of an authority that this machine does not trust",
        "install the certificate of the authority in the system, or name its file in SSL_CERT_FILE",
    ),
    (
        "CaUsedAsEndEntity",
        "has a certificate that is one of an authority",
        "give the relay a certificate of its own, and install that of the authority in the system",
    ),
    (
        "not valid for name",
        "has a certificate for another name",
        "set mail.relay to a name that is in the certificate",
    ),
    (
        "NotValidForName",
        "has a certificate for another name",
        "set mail.relay to a name that is in the certificate",
    ),
    ("xpired", "has a certificate that has expired", "have it renewed, and check the clock of this machine"),
    ("not valid yet", "has a certificate that is not valid yet", "check the clock of this machine"),
    ("NotValidYet", "has a certificate that is not valid yet", "check the clock of this machine"),
    (
        "invalid peer certificate",
        "has a certificate that cannot be used",
        "give it one of a known authority for its name",
    ),
    (
        "corrupt message",
        "does not speak TLS where it must",
        "only port 465 begins with TLS; for STARTTLS, mail.relay needs another port, usually 587",
    ),
    (
        "handshake eof",
        "ended the connection when TLS was to begin",
        "only port 465 begins with TLS; for STARTTLS, mail.relay needs another port, usually 587",
    ),
    (
        "fatal alert",
        "refuses this TLS connection",
        "it must speak TLS 1.2 or 1.3; the log of the relay says more",
    ),
    ("peer ", "speaks another kind of TLS", "it must speak TLS 1.2 or 1.3"),
];
/// The same for everything else.
const OTHER_TLS_TROUBLE: (&str, &str) =
    ("does not come to a TLS connection", "check that mail.relay names its host and port");
/// Status codes that are final, and say that there is no such mailbox (RFC 5321).
const NO_MAILBOX: [u16; 3] = [550, 551, 553];
/// The beginnings of answers with such a code that are about the site and not about the address:
/// policy, and the sender (RFC 3463).
const ABOUT_THE_SITE: [&str; 3] = ["5.7.", "5.1.7", "5.1.8"];

/// Sends mail through one relay. Clones are cheap and share the settings.
#[derive(Clone, Debug)]
pub struct Mailer {
    /// For mail with a secret.
    secret: AsyncSmtpTransport<Tokio1Executor>,
    /// For other mail.
    plain: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    host: String,
    port: u16,
}

impl Mailer {
    /// A mailer for the configured relay; `None` when none is configured.
    /// Nothing is connected before the first message.
    ///
    /// # Errors
    /// [`MailError::Relay`] when TLS cannot be set up for the relay's name.
    pub fn from_config(mail: &Mail) -> Result<Option<Self>, MailError> {
        Self::trusting(mail, None)
    }

    /// The same, with one more certificate that the relay may have.
    fn trusting(mail: &Mail, certificate: Option<Certificate>) -> Result<Option<Self>, MailError> {
        let Some(relay) = &mail.relay else {
            return Ok(None);
        };
        let parameters = tls_parameters(relay, certificate)?;
        let transport = |is_secret: bool| {
            let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&relay.host)
                .port(relay.port)
                .tls(tls_for(mail, relay.port, is_secret, parameters.clone()))
                .hello_name(ClientId::Domain(mail.from.email.domain().to_owned()))
                .timeout(Some(SEND_TIMEOUT));
            if !mail.username.is_empty() {
                let password = mail.password.reveal().to_owned();
                builder = builder.credentials(Credentials::new(mail.username.clone(), password));
            }
            builder.build()
        };
        Ok(Some(Self {
            secret: transport(true),
            plain: transport(false),
            from: mail.from.clone(),
            host: relay.host.clone(),
            port: relay.port,
        }))
    }

    /// The relay, as `host:port`.
    pub fn relay(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The sender of all mails.
    pub fn from(&self) -> String {
        self.from.to_string()
    }

    /// Sends a plain text message, which may hold a secret, to one address and waits until the
    /// relay has accepted it.
    ///
    /// # Errors
    /// When the address is not valid, the relay is unavailable, slow, or refuses, or it offers
    /// no TLS.
    pub async fn send(&self, to: &str, subject: &str, body: &str) -> Result<(), MailError> {
        self.send_over(&self.secret, to, subject, body).await
    }

    /// The same for a message without a secret: with `mail.tls = opportunistic`, TLS is used
    /// if the relay offers it.
    ///
    /// # Errors
    /// As [`Mailer::send`].
    pub async fn send_notice(&self, to: &str, subject: &str, body: &str) -> Result<(), MailError> {
        self.send_over(&self.plain, to, subject, body).await
    }

    /// Sends a message that somebody has subscribed to, as [`Mailer::send_notice`] does.
    ///
    /// # Errors
    /// As [`Mailer::send`].
    pub async fn send_letter(&self, letter: &Letter) -> Result<(), MailError> {
        let mut message = self
            .addressed(&letter.to, &letter.subject)?
            .message_id(Some(letter.message_id.clone()))
            .raw_header(header("List-Unsubscribe", format!("<{}>", letter.unsubscribe)))
            .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()))
            // Programs that answer for people who are away do not answer this.
            .raw_header(header("Auto-Submitted", "auto-generated".to_owned()));
        if let Some(thread) = &letter.thread {
            message = message.references(thread.clone());
        }
        self.transmit(&self.plain, &letter.to, message.body(letter.body.clone())?).await
    }

    fn addressed(&self, to: &str, subject: &str) -> Result<MessageBuilder, MailError> {
        Ok(Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.parse()?))
            .subject(subject)
            .header(ContentType::TEXT_PLAIN))
    }

    async fn send_over(
        &self,
        transport: &AsyncSmtpTransport<Tokio1Executor>,
        to: &str,
        subject: &str,
        body: &str,
    ) -> Result<(), MailError> {
        let message = self.addressed(to, subject)?.message_id(None).body(body.to_owned())?;
        self.transmit(transport, to, message).await
    }

    async fn transmit(
        &self,
        transport: &AsyncSmtpTransport<Tokio1Executor>,
        to: &str,
        message: Message,
    ) -> Result<(), MailError> {
        let sending = tokio::time::timeout(SEND_TIMEOUT, transport.send(message));
        let sent = match sending.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.explain(to, error)),
            Err(_) => Err(MailError::TimedOut),
        };
        let result = match &sent {
            Ok(()) => "sent",
            Err(error) if error.failure() == Failure::Temporary => "failed",
            Err(_) => "refused",
        };
        metrics::counter!("tidings_mails_total", "result" => result).increment(1);
        sent
    }

    /// An error of the library as the operator should read it.
    fn explain(&self, to: &str, error: lettre::transport::smtp::Error) -> MailError {
        let host = self.host.clone();
        // The only error of the client's own that names it.
        if error.is_client() && has_source(&error, "STARTTLS") {
            return MailError::NoTls { host };
        }
        let reason = error.source().map(ToString::to_string).unwrap_or_default();
        if let Some(code) = error.status().map(u16::from) {
            let is_about_the_site = ABOUT_THE_SITE.iter().any(|beginning| reason.starts_with(beginning));
            return match code {
                535 => MailError::Login { host, reason },
                code if !NO_MAILBOX.contains(&code) => MailError::Smtp(error),
                _ if is_about_the_site => MailError::Refused { host, reason },
                _ => MailError::NoMailbox { host, to: to.to_owned(), reason },
            };
        }
        let known = TLS_TROUBLES.iter().find(|(part, ..)| has_source(&error, part));
        let other = error.is_tls().then_some(OTHER_TLS_TROUBLE);
        match known.map(|(_, trouble, remedy)| (*trouble, *remedy)).or(other) {
            Some((trouble, remedy)) => MailError::Tls { host, trouble, reason, remedy },
            None => MailError::Smtp(error),
        }
    }
}

impl MailError {
    /// Whether to try again would help, and whether the address exists.
    pub const fn failure(&self) -> Failure {
        match self {
            Self::NoMailbox { .. } | Self::Address(_) => Failure::NoMailbox,
            Self::Refused { .. } => Failure::Final,
            _ => Failure::Temporary,
        }
    }
}

impl From<MailError> for SendError {
    fn from(error: MailError) -> Self {
        Self { failure: error.failure(), reason: error.into() }
    }
}

impl SendMail for Mailer {
    fn send<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a> {
        Box::pin(async move { Ok(self.send(to, subject, body).await?) })
    }

    fn send_notice<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a> {
        Box::pin(async move { Ok(self.send_notice(to, subject, body).await?) })
    }

    fn send_letter<'a>(&'a self, letter: &'a Letter) -> Sending<'a> {
        Box::pin(async move { Ok(self.send_letter(letter).await?) })
    }
}

/// A header of our own making: one line of ASCII, which must not be folded.
fn header(name: &'static str, value: String) -> HeaderValue {
    let value: String = value.chars().filter(char::is_ascii).filter(|c| !c.is_ascii_control()).collect();
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.clone(), value)
}

/// Whether an error or what caused it says so.
fn has_source(error: &dyn Error, text: &str) -> bool {
    error.to_string().contains(text) || error.source().is_some_and(|source| has_source(source, text))
}

fn tls_parameters(relay: &Relay, certificate: Option<Certificate>) -> Result<TlsParameters, MailError> {
    let mut builder = TlsParameters::builder(relay.host.clone());
    let failed = |source| MailError::Relay { host: relay.host.clone(), source };
    // The builder knows those of Mozilla.
    for authority in certificates::of_system() {
        builder = builder.add_root_certificate(Certificate::from_der(authority).map_err(failed)?);
    }
    if let Some(certificate) = certificate {
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map_err(failed)
}

/// How to reach the relay for mail with or without a secret. A login at the relay is a secret
/// in every mail.
fn tls_for(mail: &Mail, port: u16, is_secret: bool, parameters: TlsParameters) -> Tls {
    let has_login = !mail.username.is_empty();
    let tls = mail.tls.unwrap_or(if has_login { MailTls::Required } else { MailTls::Opportunistic });
    match tls {
        MailTls::None => Tls::None,
        _ if port == IMPLICIT_TLS_PORT => Tls::Wrapper(parameters),
        MailTls::Opportunistic if !is_secret && !has_login => Tls::Opportunistic(parameters),
        MailTls::Required | MailTls::Opportunistic => Tls::Required(parameters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CommandLineSettings, Config};
    use tidings_testing::smtp_server::SmtpServer;

    const IN_CLEAR: (&str, &str) = ("TIDINGS_MAIL__TLS", "none");

    fn settings(variables: &[(&str, &str)]) -> Mail {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::load(None, variables, &CommandLineSettings::default()).unwrap().mail
    }

    fn mailer(variables: &[(&str, &str)]) -> Option<Mailer> {
        Mailer::from_config(&settings(variables)).unwrap()
    }

    /// The outcome for a message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fate {
        OverTls,
        InClear,
        NotSent,
    }

    #[tokio::test]
    async fn secrets_go_over_tls_or_not_at_all_unless_the_operator_says_so() {
        use Fate::{InClear, NotSent, OverTls};
        // The setting, whether a username is set, and what happens to mail with and without a
        // secret at a relay with TLS, and at one whose offer of it was stripped.
        for (tls, has_login, with_tls, stripped) in [
            ("", false, [OverTls, OverTls], [NotSent, InClear]),
            ("", true, [OverTls, OverTls], [NotSent, NotSent]),
            ("required", false, [OverTls, OverTls], [NotSent, NotSent]),
            ("required", true, [OverTls, OverTls], [NotSent, NotSent]),
            ("opportunistic", false, [OverTls, OverTls], [NotSent, InClear]),
            ("opportunistic", true, [OverTls, OverTls], [NotSent, NotSent]),
            ("none", false, [InClear, InClear], [InClear, InClear]),
            ("none", true, [InClear, InClear], [InClear, InClear]),
        ] {
            for (mut server, expected) in
                [(SmtpServer::start_with_tls().await, with_tls), (SmtpServer::start().await, stripped)]
            {
                let relay = server.relay();
                let mut variables = vec![("TIDINGS_MAIL__RELAY", &*relay), ("TIDINGS_MAIL__TLS", tls)];
                if has_login {
                    variables
                        .extend([("TIDINGS_MAIL__USERNAME", "me"), ("TIDINGS_MAIL__PASSWORD", "swordfish")]);
                }
                let certificate = server.certificate().map(|pem| Certificate::from_pem(&pem).unwrap());
                let mailer = Mailer::trusting(&settings(&variables), certificate).unwrap().unwrap();
                for (is_secret, expected) in [true, false].into_iter().zip(expected) {
                    let sent = match is_secret {
                        true => mailer.send("bob@example.org", "x", "y").await,
                        false => mailer.send_notice("bob@example.org", "x", "y").await,
                    };
                    let case = format!("mail.tls = {tls:?}, login: {has_login}, secret: {is_secret}");
                    let fate = match sent {
                        Ok(()) if server.next_message().await.over_tls => OverTls,
                        Ok(()) => InClear,
                        Err(error) => {
                            assert!(error.to_string().contains("offers no TLS"), "{case}: {error}");
                            NotSent
                        }
                    };
                    assert_eq!(fate, expected, "{case}");
                }
                // Nothing else has arrived, no credentials either.
                assert_eq!(server.waiting(), 0);
                assert_eq!(server.logins_in_clear() > 0, has_login && tls == "none");
            }
        }
    }

    #[tokio::test]
    async fn a_relay_with_another_certificate_gets_nothing() {
        let server = SmtpServer::start_with_tls().await;
        let mailer = mailer(&[("TIDINGS_MAIL__RELAY", &server.relay())]).unwrap();
        for sent in [
            mailer.send("bob@example.org", "x", "y").await,
            mailer.send_notice("bob@example.org", "x", "y").await,
        ] {
            let error = sent.unwrap_err().to_string();
            assert!(
                error.contains("has a certificate of an authority that this machine does not trust"),
                "{error}"
            );
            assert!(error.contains("SSL_CERT_FILE"), "{error}");
        }
        assert_eq!(server.waiting(), 0);
    }

    #[tokio::test]
    async fn a_550_is_final_and_other_answers_are_not() {
        let server = SmtpServer::start().await;
        let mailer = mailer(&[IN_CLEAR, ("TIDINGS_MAIL__RELAY", &server.relay())]).unwrap();
        for (answer, failure) in [
            ("550 5.1.1 no such user", Failure::NoMailbox),
            ("550 no such user", Failure::NoMailbox),
            ("553 bad name", Failure::NoMailbox),
            ("550 5.7.1 relaying denied", Failure::Final),
            ("550 5.1.8 bad sender", Failure::Final),
            ("552 mailbox full", Failure::Temporary),
            ("451 later", Failure::Temporary),
        ] {
            server.refuse_with(answer);
            let error = mailer.send("bob@example.org", "x", "y").await.unwrap_err();
            assert_eq!(error.failure(), failure, "{answer}: {error}");
        }
    }

    #[test]
    fn without_a_relay_there_is_no_mailer() {
        assert!(mailer(&[]).is_none());
    }

    #[tokio::test]
    async fn a_message_reaches_the_relay_with_its_headers_and_text() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[
            IN_CLEAR,
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
            IN_CLEAR,
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
        let mailer = mailer(&[IN_CLEAR, ("TIDINGS_MAIL__RELAY", &server.relay())]).unwrap();
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
