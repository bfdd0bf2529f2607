//! A mail relay for tests: speaks the least SMTP there is on a free port and
//! keeps what it receives.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One message as the relay received it.
#[derive(Debug, Default, Clone)]
pub struct ReceivedMessage {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// Headers and body, lines ended by `\n`, dots unstuffed.
    pub data: String,
    /// What followed `AUTH`, when the client logged in.
    pub login: Option<String>,
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
    accepting: tokio::task::JoinHandle<()>,
}

impl SmtpServer {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, messages) = mpsc::unbounded_channel();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                // A client that breaks off has sent no message; there is nothing to report.
                tokio::spawn(async move { converse(stream, &sender).await.ok() });
            }
        });
        Self { address, messages, accepting }
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
}

impl SmtpServer {
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

async fn converse(stream: TcpStream, sender: &mpsc::UnboundedSender<ReceivedMessage>) -> std::io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    let mut message = ReceivedMessage::default();
    writing.write_all(b"220 test relay\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        let answer = match verb.as_str() {
            "EHLO" => "250-test relay\r\n250-8BITMIME\r\n250 AUTH PLAIN",
            "AUTH" => {
                message.login = line.split_once(' ').map(|(_, login)| login.to_owned());
                "235 welcome"
            }
            "MAIL" => {
                message.from = address_in(&line);
                "250 ok"
            }
            "RCPT" => {
                message.to.push(address_in(&line));
                "250 ok"
            }
            "DATA" => {
                writing.write_all(b"354 go on\r\n").await?;
                while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                    message.data.push_str(line.strip_prefix('.').unwrap_or(&line));
                    message.data.push('\n');
                }
                let login = message.login.clone();
                // The receiver is gone when the test is over.
                sender
                    .send(std::mem::replace(&mut message, ReceivedMessage { login, ..Default::default() }))
                    .ok();
                "250 kept"
            }
            "QUIT" => {
                writing.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            "NOOP" | "RSET" => "250 ok",
            _ => "502 not here",
        };
        writing.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
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
