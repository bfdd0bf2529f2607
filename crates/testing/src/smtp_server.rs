//! A mail relay for tests: speaks the least SMTP there is on a free port, with or without
//! TLS, and keeps what it receives.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Authority, Identity};

/// One message as the relay received it.
#[derive(Debug, Default, Clone)]
pub struct ReceivedMessage {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// Headers and body, lines ended by `\n`, dots unstuffed.
    pub data: String,
    /// The text after `AUTH`, when the client logged in.
    pub login: Option<String>,
    /// Whether it arrived over TLS.
    pub over_tls: bool,
}

impl ReceivedMessage {
    /// The value of the first header of this name; folded headers are not unfolded.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (head, _) = self.data.split_once("\n\n")?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The body, with quoted-printable undone.
    pub fn text(&self) -> String {
        let body = self.data.split_once("\n\n").map_or("", |(_, body)| body);
        match self.header("Content-Transfer-Encoding") {
            Some("quoted-printable") => unquoted(body),
            _ => body.to_owned(),
        }
    }
}

/// A listening relay. It stops when it is dropped.
pub struct SmtpServer {
    address: SocketAddr,
    messages: mpsc::UnboundedReceiver<ReceivedMessage>,
    logins_in_clear: Arc<AtomicUsize>,
    refuses: Arc<Mutex<Option<String>>>,
    refused: Arc<AtomicUsize>,
    certificate: Option<Vec<u8>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl SmtpServer {
    /// Listens on a free port of 127.0.0.1, without TLS: like a relay whose offer of STARTTLS
    /// an attacker has removed.
    pub async fn start() -> Self {
        Self::listen(None, None).await
    }

    /// The same, with STARTTLS and a certificate of an authority that nobody else knows.
    pub async fn start_with_tls() -> Self {
        let authority = Authority::new();
        Self::listen(Some(authority.pem()), Some(authority.identity().acceptor())).await
    }

    /// The same, with a certificate of an authority.
    pub async fn start_with_identity(identity: &Identity) -> Self {
        Self::listen(None, Some(identity.acceptor())).await
    }

    async fn listen(certificate: Option<Vec<u8>>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, messages) = mpsc::unbounded_channel();
        let logins_in_clear = Arc::new(AtomicUsize::new(0));
        let (refuses, refused) = (Arc::<Mutex<Option<String>>>::default(), Arc::new(AtomicUsize::new(0)));
        let relay = Relay {
            sender,
            tls,
            logins_in_clear: logins_in_clear.clone(),
            refuses: refuses.clone(),
            refused: refused.clone(),
        };
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let relay = relay.clone();
                // A client that breaks off has sent no message; there is nothing to report.
                tokio::spawn(async move { relay.serve(stream).await.ok() });
            }
        });
        Self { address, messages, logins_in_clear, refuses, refused, certificate, accepting }
    }

    /// The certificate of its own authority as PEM, if the relay has one.
    pub fn certificate(&self) -> Option<Vec<u8>> {
        self.certificate.clone()
    }

    /// Refuses messages for the moment from now on, or accepts them again.
    pub fn refuse(&self, refuses: bool) {
        *self.refuses.lock().unwrap() = refuses.then(|| "451 later".to_owned());
    }

    /// Answers every recipient so from now on.
    pub fn refuse_with(&self, answer: &str) {
        *self.refuses.lock().unwrap() = Some(answer.to_owned());
    }

    /// How many messages it has refused.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    /// How often a client has sent its password without TLS.
    pub fn logins_in_clear(&self) -> usize {
        self.logins_in_clear.load(Ordering::SeqCst)
    }

    /// The value for `mail.relay`.
    pub fn relay(&self) -> String {
        self.address.to_string()
    }

    /// The next message, in the order of arrival. Waits for one for at most ten seconds.
    pub async fn next_message(&mut self) -> ReceivedMessage {
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(10), self.messages.recv());
        waiting.await.expect("a message within ten seconds").expect("the relay runs")
    }

    /// The messages that have arrived and were not taken.
    pub fn waiting(&self) -> usize {
        self.messages.len()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The state that the conversations of a relay share.
#[derive(Clone)]
struct Relay {
    sender: mpsc::UnboundedSender<ReceivedMessage>,
    tls: Option<TlsAcceptor>,
    logins_in_clear: Arc<AtomicUsize>,
    refuses: Arc<Mutex<Option<String>>>,
    refused: Arc<AtomicUsize>,
}

/// How a conversation ended.
enum Ended<S> {
    Quit,
    StartTls(S),
}

impl Relay {
    async fn serve(&self, mut stream: tokio::net::TcpStream) -> std::io::Result<()> {
        stream.write_all(b"220 test relay\r\n").await?;
        if let Ended::StartTls(stream) = self.converse(stream, false).await?
            && let Some(acceptor) = &self.tls
        {
            self.converse(acceptor.accept(stream).await?, true).await?;
        }
        Ok(())
    }

    async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        over_tls: bool,
    ) -> std::io::Result<Ended<S>> {
        let mut stream = BufReader::new(stream);
        let mut message = ReceivedMessage { over_tls, ..Default::default() };
        while let Some(line) = next_line(&mut stream).await? {
            let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
            let refusal = self.refuses.lock().unwrap().clone();
            let answer = match verb.as_str() {
                "EHLO" if self.tls.is_some() && !over_tls => {
                    "250-test relay\r\n250-8BITMIME\r\n250-STARTTLS\r\n250 AUTH PLAIN"
                }
                "EHLO" => "250-test relay\r\n250-8BITMIME\r\n250 AUTH PLAIN",
                "STARTTLS" if self.tls.is_some() && !over_tls => {
                    stream.write_all(b"220 go on\r\n").await?;
                    return Ok(Ended::StartTls(stream.into_inner()));
                }
                "AUTH" => {
                    self.logins_in_clear.fetch_add(usize::from(!over_tls), Ordering::SeqCst);
                    message.login = line.split_once(' ').map(|(_, login)| login.to_owned());
                    "235 welcome"
                }
                "MAIL" => {
                    message.from = address_in(&line);
                    "250 ok"
                }
                "RCPT" if refusal.is_some() => {
                    self.refused.fetch_add(1, Ordering::SeqCst);
                    refusal.as_deref().unwrap_or_default()
                }
                "RCPT" => {
                    message.to.push(address_in(&line));
                    "250 ok"
                }
                "DATA" => {
                    stream.write_all(b"354 go on\r\n").await?;
                    while let Some(line) = next_line(&mut stream).await?.filter(|line| line != ".") {
                        message.data.push_str(line.strip_prefix('.').unwrap_or(&line));
                        message.data.push('\n');
                    }
                    let next =
                        ReceivedMessage { login: message.login.clone(), over_tls, ..Default::default() };
                    // The receiver is gone when the test is over.
                    self.sender.send(std::mem::replace(&mut message, next)).ok();
                    "250 kept"
                }
                "QUIT" => {
                    stream.write_all(b"221 bye\r\n").await?;
                    return Ok(Ended::Quit);
                }
                "NOOP" | "RSET" => "250 ok",
                _ => "502 not here",
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
            stream.flush().await?;
        }
        Ok(Ended::Quit)
    }
}

/// The next line without its end; `None` at the end of the stream.
async fn next_line<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> std::io::Result<Option<String>> {
    let mut line = String::new();
    let is_end = stream.read_line(&mut line).await? == 0;
    Ok((!is_end).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn address_in(line: &str) -> String {
    let address = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    address.map_or(String::new(), |(address, _)| address.to_owned())
}

/// Undoes quoted-printable: joins soft line breaks and decodes `=XX`.
fn unquoted(text: &str) -> String {
    let joined = text.replace("=\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let decoded = after
            .get(..2)
            .filter(|_| *first == b'=')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = decoded {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
