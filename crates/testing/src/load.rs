//! Just enough of a client to load a server over loopback, and a bare server to
//! compare with: the benches of the site share it.

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How long each figure is measured, after a warm-up of a quarter of it.
const MEASURED: Duration = Duration::from_secs(3);

/// A route that returns the same bytes with the same headers and does nothing else.
pub async fn serve_bare(sample: Sample) -> SocketAddr {
    let router = Router::new().fallback(move || {
        let Sample { headers, body } = sample.clone();
        async move { (headers, body) }
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// An answer, to be given again.
#[derive(Clone)]
pub struct Sample {
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The answer to a request.
pub async fn fetch(address: SocketAddr, request: &str) -> Sample {
    let mut connection = Connection::open(address).await;
    let head = connection.exchange(request).await;
    let mut headers = HeaderMap::new();
    for line in head.lines().skip(1).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        if !["content-length", "date"].contains(&name) {
            headers.append(name.parse::<axum::http::HeaderName>().unwrap(), value.parse().unwrap());
        }
    }
    Sample { headers, body: Bytes::from(connection.body) }
}

/// How fast answers came.
pub struct Load {
    /// Answers in a second.
    pub per_second: f64,
    /// The time that half of them took at most.
    pub p50: Duration,
    /// The time that 99 of 100 took at most.
    pub p99: Duration,
}

/// Sends one request over and over on several connections.
pub async fn load(address: SocketAddr, request: &str, connections: usize) -> Load {
    let start = Instant::now() + MEASURED / 4;
    let end = start + MEASURED;
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let request = request.to_owned();
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                let mut times = Vec::new();
                loop {
                    let began = Instant::now();
                    if began >= end {
                        return times;
                    }
                    connection.exchange(&request).await;
                    if began >= start {
                        times.push(began.elapsed());
                    }
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times.sort_unstable();
    Load {
        per_second: times.len() as f64 / MEASURED.as_secs_f64(),
        p50: times[times.len() / 2],
        p99: times[times.len() * 99 / 100],
    }
}

/// An HTTP/1.1 connection that is kept open: just enough of a client to load
/// a server without being the bottleneck.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The body of the last answer.
    pub body: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Self {
        Self::try_open(address).await.unwrap()
    }

    /// Connects, if that is possible.
    pub async fn try_open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), body: Vec::new() })
    }

    /// Sends a request that succeeds, and reads the answer whole; returns its head.
    pub async fn exchange(&mut self, request: &str) -> String {
        let head = self.try_exchange(request).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{head}");
        head
    }

    /// Sends a request and reads the answer whole, whatever it says; returns its head.
    pub async fn try_exchange(&mut self, request: &str) -> std::io::Result<String> {
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        let head_end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            self.receive().await?;
        };
        let head = String::from_utf8(self.buffer[..head_end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned))
            // An answer without content has no length.
            .map_or(0, |length| length.parse().unwrap());
        let whole = head_end + 4 + length;
        while self.buffer.len() < whole {
            self.receive().await?;
        }
        self.body.clear();
        self.body.extend_from_slice(&self.buffer[head_end + 4..whole]);
        Ok(head)
    }

    async fn receive(&mut self) -> std::io::Result<()> {
        let closed = || Error::new(ErrorKind::UnexpectedEof, "the server closed the connection");
        if self.stream.read_buf(&mut self.buffer).await? == 0 { Err(closed()) } else { Ok(()) }
    }
}
