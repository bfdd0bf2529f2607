//! Why a mail could not be sent, in a sentence that names the relay and the remedy.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tidings_web::mail::{Failure, SendError};

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The recipient is not a valid address.
    #[error("not a mail address: {0}")]
    Address(#[from] lettre::address::AddressError),
    /// The message cannot be built.
    #[error("cannot write the mail: {0}")]
    Message(#[from] lettre::error::Error),
    /// It does not go over the relay.
    #[error("the mail relay {relay} {trouble}")]
    NotTaken {
        /// The relay, as `host:port`.
        relay: String,
        /// The fault with the remedy, to follow "the mail relay".
        trouble: String,
        /// Whether to try again would help, and whether the address exists.
        failure: Failure,
    },
}

/// Faults of a connection by parts of the messages of the library and the system, with the remedy.
const TROUBLES: [(&[&str], &str, &str); 13] = [
    (
        &["UnknownIssuer"],
        "has a certificate of an authority that this machine does not trust",
        "install the certificate of the authority in the system, or name its file in SSL_CERT_FILE",
    ),
    (
        &["CaUsedAsEndEntity"],
        "has a certificate that is one of an authority, often one that the relay has signed itself",
        "give the relay a certificate of its own, and install that of the authority in the system",
    ),
    (
        &["not valid for name", "NotValidForName"],
        "has a certificate for another name",
        "set mail.relay to a name that is in the certificate",
    ),
    (
        &["xpired"],
        "has a certificate that has expired",
        "have it renewed, and check the clock of this machine",
    ),
    (
        &["not valid yet", "NotValidYet"],
        "has a certificate that is not valid yet",
        "check the clock of this machine",
    ),
    (
        &["invalid peer certificate"],
        "has a certificate that cannot be used",
        "give it one of a known authority for its name",
    ),
    (
        &["corrupt message"],
        "does not speak TLS where it must",
        "only port 465 begins with TLS; for STARTTLS, mail.relay needs another port, usually 587",
    ),
    (
        &["handshake eof"],
        "ended the connection when TLS was to begin",
        "only port 465 begins with TLS; for STARTTLS, mail.relay needs another port, usually 587",
    ),
    (
        &["fatal alert"],
        "refuses this TLS connection",
        "it must speak TLS 1.2 or 1.3; the relay's log says more",
    ),
    (&["peer "], "speaks another kind of TLS", "it must speak TLS 1.2 or 1.3"),
    (
        &["No compatible authentication mechanism"],
        "offers no login with a password",
        "check the port in mail.relay, usually 587, or remove mail.username",
    ),
    (
        &["incomplete"],
        "ended the connection before it had answered",
        "check the port in mail.relay; the relay's log may say more",
    ),
    (
        &["failed to lookup address"],
        "is not found: its name has no address",
        "check the name in mail.relay, and the name servers of this machine",
    ),
];
/// Faults of the network by the kind of the system's error, with the remedy.
const NETWORK_TROUBLES: [(&[ErrorKind], &str, &str); 3] = [
    (
        &[ErrorKind::ConnectionRefused],
        "refuses the connection: nothing listens on this port",
        "check the host and the port in mail.relay, and that the relay runs",
    ),
    (
        &[ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable],
        "cannot be reached from this machine",
        "check mail.relay, the network of this machine, and its firewall",
    ),
    (
        &[
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionAborted,
            ErrorKind::BrokenPipe,
            ErrorKind::UnexpectedEof,
        ],
        "ended the connection",
        "check the port in mail.relay; the relay's log may say more",
    ),
];
/// Status codes that are final, and say that there is no such mailbox (RFC 5321).
const NO_MAILBOX: [u16; 3] = [550, 551, 553];
/// Status codes of a refused login (RFC 4954).
const NO_LOGIN: [u16; 3] = [534, 535, 538];
/// The beginnings of answers with such a code that are about the site and not about the address:
/// policy, and the sender (RFC 3463).
const ABOUT_THE_SITE: [&str; 3] = ["5.7.", "5.1.7", "5.1.8"];

impl MailError {
    /// The relay, as `host:port`, took longer than it may.
    pub(super) fn timed_out(relay: &str, limit: Duration) -> Self {
        let trouble = format!(
            "did not answer within {} seconds; check the host and the port in mail.relay, and that no firewall is \
             in between",
            limit.as_secs()
        );
        Self::NotTaken { relay: relay.to_owned(), trouble, failure: Failure::Temporary }
    }

    /// An error of the library for a mail to an address through a relay (`host:port`), as the operator should
    /// read it.
    pub(super) fn explain(
        (relay, limit): (&str, Duration),
        to: &str,
        error: &lettre::transport::smtp::Error,
    ) -> Self {
        if error.is_timeout() {
            return Self::timed_out(relay, limit);
        }
        let reason = error.source().map(ToString::to_string).unwrap_or_default();
        let (failure, trouble) = match error.status().map(u16::from) {
            Some(code) => of_answer(to, code, &reason),
            None => of_connection(to, error, &reason),
        };
        Self::NotTaken { relay: relay.to_owned(), trouble, failure }
    }

    /// Whether to try again would help, and whether the address exists.
    pub const fn failure(&self) -> Failure {
        match self {
            Self::NotTaken { failure, .. } => *failure,
            Self::Address(_) => Failure::NoMailbox,
            Self::Message(_) => Failure::Temporary,
        }
    }
}

/// The fault of a relay that has not answered to a mail.
fn of_connection(to: &str, error: &lettre::transport::smtp::Error, reason: &str) -> (Failure, String) {
    // The only errors of the client's own that name it.
    if error.is_client() && has_source(error, "STARTTLS") {
        let trouble =
            "offers no TLS (STARTTLS), and this mail is not sent without it; see the setting mail.tls";
        return (Failure::Temporary, trouble.to_owned());
    }
    if error.is_client() && has_source(error, "SMTPUTF8") {
        let trouble = format!(
            "does not take the address {to}, because of the letters before the @; use another address, or a relay \
             with SMTPUTF8"
        );
        return (Failure::NoMailbox, trouble);
    }
    // "Connection reset by peer" is no fault of TLS.
    let is_reset = kind_of(error) == Some(ErrorKind::ConnectionReset);
    let is_of = |parts: &[&str]| !is_reset && parts.iter().any(|part| has_source(error, part));
    let known = TROUBLES.iter().find(|(parts, ..)| is_of(parts));
    let known = known.map(|(_, trouble, remedy)| (*trouble, *remedy));
    let trouble = if let Some((trouble, remedy)) = known.or_else(|| of_network(error)) {
        format!("{trouble}; {remedy}")
    } else if error.is_response() {
        // The library's words about an answer that is none say nothing.
        "does not speak SMTP; check the host and the port in mail.relay, usually 587".to_owned()
    } else if error.is_tls() {
        format!("cannot agree on a TLS connection ({reason}); check that mail.relay names its host and port")
    } else {
        format!("cannot be used ({reason}); check mail.relay, and the relay's log")
    };
    (Failure::Temporary, trouble)
}

/// The fault in an answer of the relay that refuses a mail.
fn of_answer(to: &str, code: u16, reason: &str) -> (Failure, String) {
    if NO_LOGIN.contains(&code) {
        let trouble = format!("refuses the login ({reason}); check mail.username and mail.password");
        return (Failure::Temporary, trouble);
    }
    if NO_MAILBOX.contains(&code) {
        return match ABOUT_THE_SITE.iter().any(|beginning| reason.starts_with(beginning)) {
            true => (
                Failure::Final,
                format!(
                    "refuses this mail for good ({reason}); check mail.from, and that the relay accepts mail of \
                     this site"
                ),
            ),
            false => (
                Failure::NoMailbox,
                format!("says that there is no mailbox {to} ({reason}); check the address"),
            ),
        };
    }
    let remedy = match code {
        530 => "set mail.username and mail.password, and set mail.tls to required",
        400..500 => "try again later; the relay's log may say more",
        _ => "check mail.from; the relay's log may say more",
    };
    (Failure::Temporary, format!("does not accept this mail now ({code} {reason}); {remedy}"))
}

impl From<MailError> for SendError {
    fn from(error: MailError) -> Self {
        Self { failure: error.failure(), reason: error.into() }
    }
}

/// A fault of the network, with the remedy.
fn of_network(error: &lettre::transport::smtp::Error) -> Option<(&'static str, &'static str)> {
    let kind = kind_of(error)?;
    let (_, trouble, remedy) = NETWORK_TROUBLES.iter().find(|(kinds, ..)| kinds.contains(&kind))?;
    Some((trouble, remedy))
}

/// The kind of the system's error behind an error.
fn kind_of(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => kind_of(error.source()?),
    }
}

/// Whether an error or what caused it says so.
fn has_source(error: &dyn Error, text: &str) -> bool {
    error.to_string().contains(text) || error.source().is_some_and(|source| has_source(source, text))
}
