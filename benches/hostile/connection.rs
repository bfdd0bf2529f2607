//! Connections of attackers: from any address of the loopback network, with any bytes.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tidings_testing::dataset::people;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long an answer may take before it counts as none.
const PATIENCE: Duration = Duration::from_secs(30);
/// The host that requests name.
const HOST: &str = "localhost";

/// The number of a network address of the attackers or of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub u32);

impl Address {
    /// The address: 127.0.1.0 and those after it. Those before it belong to nobody here.
    fn ip(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 1, 0).to_bits() + self.0)
    }
}

/// A connection that is kept open.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer.
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request for an address.
pub fn get(path: &str, user: Option<u64>) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {HOST}\r\n{}\r\n", cookie(user))
}

/// A form, sent by a user if there is one; the secret is added to the fields.
pub fn form(path: &str, user: Option<u64>, fields: &str) -> String {
    let secret = user.map(|user| format!("&apisecret={}", people::apisecret(user))).unwrap_or_default();
    let body = format!("{fields}{secret}");
    let kind = "application/x-www-form-urlencoded";
    let (cookie, length) = (cookie(user), body.len());
    format!(
        "POST {path} HTTP/1.1\r\nhost: {HOST}\r\n{cookie}content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn cookie(user: Option<u64>) -> String {
    user.map(|user| format!("cookie: auth={}\r\n", people::auth(user))).unwrap_or_default()
}

impl Connection {
    /// Connects from an address.
    pub async fn open(site: SocketAddr, from: Address) -> Result<Self> {
        Self::open_with(site, from, None).await
    }

    /// Connects from an address and takes few bytes at a time.
    pub async fn open_slow(site: SocketAddr, from: Address) -> Result<Self> {
        Self::open_with(site, from, Some(4_096)).await
    }

    async fn open_with(site: SocketAddr, from: Address, window: Option<u32>) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = window {
            socket.set_recv_buffer_size(bytes)?;
        }
        // Ends without waiting, so that ports are free again.
        socket.set_zero_linger()?;
        socket.bind(SocketAddr::from((from.ip(), 0)))?;
        let stream = timeout(PATIENCE, socket.connect(site)).await??;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends a request and reads the answer.
    pub async fn ask(&mut self, request: &str) -> Result<Reply> {
        self.send(request.as_bytes()).await?;
        timeout(PATIENCE, self.reply()).await?
    }

    /// Reads an answer.
    pub async fn reply(&mut self) -> Result<Reply> {
        let head = self.head().await?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(Error::new(ErrorKind::InvalidData, head.clone()))?;
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        let body = match value("content-length: ") {
            Some(length) => self.take(length.parse().unwrap_or(0)).await?,
            None if value("transfer-encoding: ").is_some() => self.chunks().await?,
            None => Vec::new(),
        };
        Ok(Reply { status, body })
    }

    /// Reads the head of an answer, in lower case.
    pub async fn head(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                return Ok(String::from_utf8_lossy(&head).to_lowercase());
            }
            self.read().await?;
        }
    }

    /// Whether the site has closed the connection. Forgets what it sent before.
    pub fn is_closed(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        loop {
            match self.stream.try_read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.read().await?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.buffer.windows(2).position(|window| window == b"\r\n") {
                    Some(end) => break end,
                    None => self.read().await?,
                }
            };
            let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let length = usize::from_str_radix(String::from_utf8_lossy(&line).trim(), 16).unwrap_or(0);
            let chunk = self.take(length + 2).await?;
            if length == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }
}
