//! A web server with pages that a test chooses: the other sites of the web.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tidings_web::settings::Network;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::certificates::Authority;

/// The name that the pages' server has in [`PageServer::network`].
pub const PAGES_NAME: &str = "pages.test";

/// The reply to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These bytes, after which the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing more.
    Hang(Vec<u8>),
}

impl Reply {
    /// A page.
    pub fn html(html: &str) -> Self {
        Self::with("200 OK", "content-type: text/html; charset=utf-8", html.as_bytes())
    }

    /// A redirect.
    pub fn redirect(location: &str) -> Self {
        Self::with("302 Found", &format!("location: {location}"), b"<title>Moved</title>")
    }

    /// An answer with a status, further headers and a body.
    pub fn with(status: &str, headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {}\r\n\r\n", body.len());
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// Nothing, for ever.
    pub const fn silence() -> Self {
        Self::Hang(Vec::new())
    }
}

/// A running server. Dropping it stops it.
pub struct PageServer {
    pub address: SocketAddr,
    /// The heads of all requests, with their bodies.
    requests: watch::Receiver<Vec<String>>,
    accepting: JoinHandle<()>,
    certificate: Option<Vec<u8>>,
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl PageServer {
    /// Listens on a free port of 127.0.0.1. `reply` chooses the answer to a path.
    pub async fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0".parse().unwrap(), reply, None).await
    }

    /// Listens at an address.
    pub async fn start_at(
        address: SocketAddr,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::listen(address, reply, None).await
    }

    /// The same over TLS, with a certificate for 127.0.0.1 of an authority that nobody else knows.
    pub async fn start_with_tls(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let authority = Authority::new();
        let tls = (authority.pem(), authority.identity().acceptor());
        Self::listen("127.0.0.1:0".parse().unwrap(), reply, Some(tls)).await
    }

    async fn listen(
        address: SocketAddr,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
        tls: Option<(Vec<u8>, TlsAcceptor)>,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = watch::channel(Vec::new());
        let (reply, sender) = (Arc::new(reply), Arc::new(sender));
        let (certificate, acceptor) = tls.unzip();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, sender, acceptor) = (reply.clone(), sender.clone(), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => answer(stream, &*reply, &sender).await,
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => answer(stream, &*reply, &sender).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, requests, accepting, certificate }
    }

    /// The address of a page, by the name of the server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{PAGES_NAME}:{}{path}", self.address.port())
    }

    /// A network in which this server can be reached, and nothing else that is not public.
    pub fn network(&self) -> Network {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let private = "10.1.2.3".parse().unwrap();
        let names = [
            (PAGES_NAME, vec![local]),
            ("private.test", vec![private]),
            ("mixed.test", vec![local, private]),
            ("nowhere.test", vec![]),
        ];
        let names: BTreeMap<String, Vec<IpAddr>> =
            names.into_iter().map(|(name, addresses)| (name.to_owned(), addresses)).collect();
        Network { names, let_through: vec![self.address], certificate: None }
    }

    /// The certificate of its authority as PEM, of a server with TLS.
    pub fn certificate(&self) -> Vec<u8> {
        self.certificate.clone().expect("a certificate")
    }

    /// The heads of the requests so far, each with the body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.borrow().clone()
    }

    /// Waits until so many requests have come.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.requests.clone();
        requests.wait_for(|heads| heads.len() >= count).await.unwrap();
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    reply: &(impl Fn(&str) -> Reply + Send + Sync),
    requests: &watch::Sender<Vec<String>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let length = head.to_lowercase();
    let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    requests.send_modify(|heads| heads.push(head + &String::from_utf8_lossy(&body)));
    match reply(&path) {
        Reply::Bytes(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            stream.shutdown().await.ok()
        }
        Reply::Hang(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            stream.flush().await.ok()?;
            // The client goes away.
            stream.read_u8().await.err().map(drop)
        }
    }
}
