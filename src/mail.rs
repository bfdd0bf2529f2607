//! Mail to users, through the relay that the operator configures.
//!
//! Mail with a secret, such as a reset link, and the relay's own password go over TLS or not
//! at all, unless `mail.tls = none` says otherwise. An attacker who removes the relay's offer
//! of STARTTLS gets neither.

mod trouble;

pub use trouble::MailError;

use std::time::Duration;

use email_encoding::headers::rfc2047;
use email_encoding::headers::writer::EmailWriter;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MessageBuilder};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use crate::WrongUse;
use crate::config::{Mail, MailTls, Relay};
use tidings_domain::values::Email;
use tidings_keyspace::certificates;
use tidings_web::mail::{Failure, Letter, SendError, SendMail, Sending};

/// How long the relay may take to accept a message, from the connection on.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The port on which TLS starts at once (RFC 8314).
const IMPLICIT_TLS_PORT: u16 = 465;

/// Sends mail through one relay. Clones are cheap and share the settings.
#[derive(Clone, Debug)]
pub struct Mailer {
    /// For mail with a secret.
    secret: AsyncSmtpTransport<Tokio1Executor>,
    /// For other mail.
    plain: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    /// The relay, as `host:port`.
    relay: String,
    /// How long it may take to accept a message.
    limit: Duration,
}

impl Mailer {
    /// A mailer for the configured relay; `None` when none is configured.
    /// Nothing is connected before the first message.
    ///
    /// # Errors
    /// When TLS cannot be set up for the relay's name, or `mail.from` is no address for mail.
    pub fn from_config(mail: &Mail) -> anyhow::Result<Option<Self>> {
        Self::trusting(mail, None, SEND_TIMEOUT)
    }

    /// The same, with one more certificate that the relay may have, and how long it may take.
    fn trusting(
        mail: &Mail,
        certificate: Option<Certificate>,
        limit: Duration,
    ) -> anyhow::Result<Option<Self>> {
        let Some(relay) = &mail.relay else { return Ok(None) };
        let parameters = tls_parameters(relay, certificate)?;
        let from = Mailbox::new(mail.from.name.clone(), outgoing(mail.from.email.as_ref())?);
        let transport = |is_secret: bool| {
            let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&relay.host)
                .port(relay.port)
                .tls(tls_for(mail, relay.port, is_secret, parameters.clone()))
                .hello_name(ClientId::Domain(from.email.domain().to_owned()))
                .timeout(Some(limit));
            if !mail.username.is_empty() {
                let password = mail.password.reveal().to_owned();
                builder = builder.credentials(Credentials::new(mail.username.clone(), password));
            }
            builder.build()
        };
        let (secret, plain) = (transport(true), transport(false));
        Ok(Some(Self { secret, plain, from, relay: format!("{}:{}", relay.host, relay.port), limit }))
    }

    /// The relay, as `host:port`.
    pub fn relay(&self) -> &str {
        &self.relay
    }

    /// The sender of all mails.
    pub fn from(&self) -> String {
        self.from.to_string()
    }

    fn addressed(&self, to: &str, subject: &str) -> Result<MessageBuilder, MailError> {
        Ok(Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, outgoing(to)?))
            .raw_header(subject_header(subject))
            .raw_header(header("Content-Language", tidings_language::tag().to_string()))
            .header(ContentType::TEXT_PLAIN))
    }

    /// Sends a plain text message.
    async fn send_text(
        &self,
        transport: &AsyncSmtpTransport<Tokio1Executor>,
        (to, subject, body): (&str, &str, &str),
    ) -> Result<(), SendError> {
        let message = self.addressed(to, subject)?.message_id(None).body(body.to_owned());
        self.transmit(transport, to, message).await
    }

    async fn transmit(
        &self,
        transport: &AsyncSmtpTransport<Tokio1Executor>,
        to: &str,
        message: Result<Message, lettre::error::Error>,
    ) -> Result<(), SendError> {
        let sending = tokio::time::timeout(self.limit, transport.send(message.map_err(MailError::from)?));
        let sent = match sending.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(MailError::explain((&self.relay, self.limit), to, &error)),
            Err(_) => Err(MailError::timed_out(&self.relay, self.limit)),
        };
        let result = match &sent {
            Ok(()) => "sent",
            Err(error) if error.failure() == Failure::Temporary => "failed",
            Err(_) => "refused",
        };
        metrics::counter!("tidings_mails_total", "result" => result).increment(1);
        Ok(sent?)
    }
}

/// With `mail.tls = opportunistic`, messages without a secret go over TLS if the relay offers it.
impl SendMail for Mailer {
    fn send<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a> {
        Box::pin(self.send_text(&self.secret, (to, subject, body)))
    }

    fn send_notice<'a>(&'a self, to: &'a str, subject: &'a str, body: &'a str) -> Sending<'a> {
        Box::pin(self.send_text(&self.plain, (to, subject, body)))
    }

    fn send_letter<'a>(&'a self, letter: &'a Letter) -> Sending<'a> {
        Box::pin(async move {
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
            self.transmit(&self.plain, &letter.to, message.body(letter.body.clone())).await
        })
    }
}

/// An address as it goes out: the domain in ASCII, so that a relay without SMTPUTF8 takes it. Earlier versions
/// stored addresses as they were typed.
fn outgoing(address: &str) -> Result<Address, MailError> {
    let email = Email::parse(address);
    Ok(email.as_ref().map_or(address, Email::as_str).parse()?)
}

/// The beginning of an encoded word (RFC 2047).
const ENCODED_WORD: &str = "=?";

/// The header with the subject. The library encodes only what is not ASCII; a text that looks like an encoded word
/// is encoded too, because mail programs would decode it.
fn subject_header(subject: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str("Subject");
    if !subject.contains(ENCODED_WORD) {
        return HeaderValue::new(name, subject.to_owned());
    }
    let mut encoded = String::new();
    let mut writer = EmailWriter::new(&mut encoded, "Subject: ".len(), 0, false);
    // Writing into a text does not fail.
    let written = rfc2047::encode(subject, &mut writer);
    drop(writer);
    match written {
        Ok(()) => HeaderValue::dangerous_new_pre_encoded(name, subject.to_owned(), encoded),
        Err(_) => HeaderValue::new(name, subject.to_owned()),
    }
}

/// A header of our own making: one line of ASCII, which must not be folded.
fn header(name: &'static str, value: String) -> HeaderValue {
    let value: String = value.chars().filter(char::is_ascii).filter(|c| !c.is_ascii_control()).collect();
    HeaderValue::dangerous_new_pre_encoded(HeaderName::new_from_ascii_str(name), value.clone(), value)
}

fn tls_parameters(relay: &Relay, certificate: Option<Certificate>) -> Result<TlsParameters, WrongUse> {
    let mut builder = TlsParameters::builder(relay.host.clone());
    let failed = |error| WrongUse::new(format!("cannot use mail.relay {}: {error}", relay.host));
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
    use crate::config::Config;
    use base64::Engine as _;
    use tidings_testing::certificates::{Authority, Identity};
    use tidings_testing::smtp_server::SmtpServer;

    const IN_CLEAR: (&str, &str) = ("TIDINGS_MAIL__TLS", "none");

    fn settings(variables: &[(&str, &str)]) -> Mail {
        Config::from_variables(variables.iter().copied()).unwrap().mail
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
                let mailer =
                    Mailer::trusting(&settings(&variables), certificate, SEND_TIMEOUT).unwrap().unwrap();
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
            assert_eq!(error.failure, failure, "{answer}: {error}");
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
        assert!(matches!(injected.unwrap_err().reason.downcast_ref(), Some(MailError::Address(_))));
        mailer.send("bob@example.org", "x\r\nBcc: eve@example.org", "y").await.unwrap();
        let message = server.next_message().await;
        assert_eq!(message.header("Bcc"), None);
        assert_eq!(message.to, ["bob@example.org"]);
    }

    #[tokio::test]
    async fn text_that_looks_encoded_arrives_as_it_was_written() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[IN_CLEAR, ("TIDINGS_MAIL__RELAY", &server.relay())]).unwrap();
        let long = format!("=?utf-8?q?_{}?= Grüße", "x".repeat(200));
        for subject in
            ["=?utf-8?q?_URGENT=3A_pay?=", "Re: =?us-ascii?B?QQ==?= x", "a=?b", "=?x\r\nBcc: eve@e.f", &long]
        {
            mailer.send("bob@example.org", subject, "y").await.unwrap();
            let message = server.next_message().await;
            let (headers, _) = message.data.split_once("\n\n").unwrap();
            assert_eq!(message.header("Bcc"), None, "{headers}");
            let unfolded = headers.replace("\n ", " ");
            let raw = unfolded.lines().find_map(|line| line.strip_prefix("Subject: ")).unwrap().to_owned();
            let words: Vec<&str> = raw.split(' ').collect();
            let decoded: Vec<u8> = words.iter().flat_map(|word| decode_word(word)).collect();
            assert_eq!(String::from_utf8(decoded).unwrap(), subject, "{raw}");
            assert!(headers.lines().all(|line| line.len() <= 78), "{headers}");
        }
        mailer.send("bob@example.org", "Is a = ? b", "y").await.unwrap();
        assert_eq!(server.next_message().await.header("Subject"), Some("Is a = ? b"));
    }

    /// An encoded word of ours.
    fn decode_word(word: &str) -> Vec<u8> {
        let text = word.strip_prefix("=?utf-8?b?").and_then(|rest| rest.strip_suffix("?=")).unwrap();
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    }

    #[tokio::test]
    async fn domains_go_out_in_ascii() {
        let mut server = SmtpServer::start().await;
        let mailer = mailer(&[
            IN_CLEAR,
            ("TIDINGS_MAIL__RELAY", &server.relay()),
            ("TIDINGS_MAIL__FROM", "News <news@bücher.example>"),
        ])
        .unwrap();
        // The relay offers no SMTPUTF8.
        for stored in ["bob@Müller.example", "bob@xn--mller-kva.example"] {
            mailer.send(stored, "x", "y").await.unwrap();
            let message = server.next_message().await;
            assert_eq!(message.from, "news@xn--bcher-kva.example");
            assert_eq!(message.to, ["bob@xn--mller-kva.example"]);
            assert_eq!(message.header("To"), Some("bob@xn--mller-kva.example"));
        }
        let error = mailer.send("bøb@example.org", "x", "y").await.unwrap_err();
        assert_eq!(error.failure, Failure::NoMailbox);
        assert!(error.to_string().contains("because of the letters before the @"), "{error}");
    }

    #[test]
    fn what_a_form_accepts_can_be_sent() {
        let names = [
            "a",
            "first.last+tag",
            "o'neil",
            "ü",
            "a_b",
            "{x}",
            "a/b=c?",
            "%",
            "*",
            ".a",
            "a..b",
            "ａ",
            "日本",
        ];
        let domains =
            ["b.c", "Bücher.example", "президент.рф", "ｂ.ｃ", "b_c.d", "xn--a.b", "1.2.3.4", "b.c.", "b"];
        let mut accepted = 0;
        for (name, domain) in names.iter().flat_map(|name| domains.map(|domain| (name, domain))) {
            let Ok(email) = Email::parse(&format!("{name}@{domain}")) else { continue };
            accepted += 1;
            let address: Address = email.as_str().parse().unwrap();
            assert!(address.domain().is_ascii(), "{address}");
            assert_eq!(outgoing(email.as_str()).unwrap(), address);
        }
        assert!(accepted > 30, "{accepted}");
    }

    /// A relay that does this with each connection.
    async fn strange_relay<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(tokio::net::TcpStream) -> F + Send + 'static,
    ) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        address
    }

    #[tokio::test]
    async fn every_failure_is_a_sentence_with_the_relay_and_what_to_do() {
        use tokio::io::AsyncWriteExt as _;
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let no_smtp = strange_relay(|mut stream| async move {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
            std::future::pending::<()>().await;
        })
        .await;
        let silent = strange_relay(|stream| async move {
            let _open = stream;
            std::future::pending::<()>().await;
        })
        .await;
        let closing = strange_relay(|stream| async move { drop(stream) }).await;
        let authority = Authority::new();
        let itself =
            Identity { certificate: authority.file(), key: authority.file().with_file_name("authority.key") };
        let own = SmtpServer::start_with_identity(&itself).await;
        let unknown = SmtpServer::start_with_tls().await;
        let plain = SmtpServer::start().await;
        let (own, unknown, in_clear) = (own.relay(), unknown.relay(), plain.relay());
        for (relay, tls, said) in [
            (
                &*nobody,
                "none",
                "refuses the connection: nothing listens on this port; check the host and the port",
            ),
            (
                "relay.invalid:25",
                "none",
                "is not found: its name has no address; check the name in mail.relay",
            ),
            (&*no_smtp, "none", "does not speak SMTP"),
            (&*silent, "none", "did not answer within 1 seconds; check the host and the port in mail.relay"),
            (&*closing, "none", "ended the connection"),
            (
                &*own,
                "required",
                "has a certificate that is one of an authority, often one that the relay has signed itself; give",
            ),
            (
                &*unknown,
                "required",
                "has a certificate of an authority that this machine does not trust; install",
            ),
            (&*in_clear, "required", "offers no TLS (STARTTLS), and this mail is not sent without it; see"),
        ] {
            let variables = [("TIDINGS_MAIL__RELAY", relay), ("TIDINGS_MAIL__TLS", tls)];
            let mailer =
                Mailer::trusting(&settings(&variables), None, Duration::from_secs(1)).unwrap().unwrap();
            let error = mailer.send("bob@example.org", "x", "y").await.unwrap_err();
            check_sentence(relay, &error, said);
            assert_eq!(error.failure, Failure::Temporary, "{error}");
        }
        let variables = [IN_CLEAR, ("TIDINGS_MAIL__RELAY", &*in_clear)];
        let mailer = mailer(&variables).unwrap();
        for (answer, said) in [
            ("451 later", "does not accept this mail now (451 later); try again later"),
            ("530 5.7.0 log in", "does not accept this mail now (530 5.7.0 log in); set mail.username"),
            ("535 5.7.8 no", "refuses the login (5.7.8 no); check mail.username and mail.password"),
            ("550 5.1.1 who", "says that there is no mailbox bob@example.org (5.1.1 who); check the address"),
            ("554 spam", "does not accept this mail now (554 spam); check mail.from"),
        ] {
            plain.refuse_with(answer);
            check_sentence(&in_clear, &mailer.send("bob@example.org", "x", "y").await.unwrap_err(), said);
        }
    }

    /// The sentence names the relay, the fault and the remedy, and nothing that only a programmer understands.
    #[track_caller]
    fn check_sentence(relay: &str, error: &SendError, said: &str) {
        let sentence = error.to_string();
        assert!(
            sentence.starts_with(&format!("the mail relay {relay} ")) && sentence.contains(said),
            "{sentence}"
        );
        for jargon in ["os error", "CaUsed", "UnknownIssuer", "Error", "error:", "Os {"] {
            assert!(!sentence.contains(jargon), "{jargon}: {sentence}");
        }
    }
}
