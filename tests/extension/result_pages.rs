//! A server that stands in for the web: result pages for the hosts of search
//! engines, and a plain page for any other host. It uses TLS with a
//! certificate of an authority that is created for each test.

use std::net::SocketAddr;

use tidings_testing::certificates::Authority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// The onion address of DuckDuckGo.
pub const ONION: &str = "duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion";

/// The blank line that ends the headers of a request.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// The maximum length of the headers of a request, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// A running server. It stops when it is dropped.
pub struct ResultPages {
    pub address: SocketAddr,
    serving: AbortHandle,
}

impl ResultPages {
    /// Starts a server on a free port.
    pub async fn start() -> Self {
        let acceptor = Authority::new().identity().acceptor();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Browsers open connections that they do not use. Ignore the errors of these.
                tokio::spawn(answer(acceptor.clone(), stream));
            }
        });
        Self { address, serving: serving.abort_handle() }
    }
}

impl Drop for ResultPages {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers one request and closes the connection.
async fn answer(acceptor: TlsAcceptor, stream: TcpStream) -> std::io::Result<()> {
    let mut stream = acceptor.accept(through_proxy(stream).await?).await?;
    let head = read_head(&mut stream).await?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let host = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("host:").map(|host| host.trim().to_owned()))
        .unwrap_or_default();
    let body = page(&host, path);
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Accepts a CONNECT request, which a browser sends first if this server is its proxy.
async fn through_proxy(mut stream: TcpStream) -> std::io::Result<TcpStream> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first == *b"C" {
        read_head(&mut stream).await?;
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    Ok(stream)
}

/// Reads the request line and the headers of a request.
async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(END_OF_HEAD) && head.len() < LONGEST_HEAD {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The page at an address.
fn page(host: &str, path: &str) -> &'static str {
    let is_html = path.starts_with("/html");
    match host {
        "www.google.com" if path.contains("later") => include_str!("pages/google-later.html"),
        "www.google.com" | "www.google.co.uk" if path.contains("gbv=1") => {
            include_str!("pages/google-basic.html")
        }
        "www.google.com" | "www.google.co.uk" => include_str!("pages/google.html"),
        "www.bing.com" => include_str!("pages/bing.html"),
        "html.duckduckgo.com" => include_str!("pages/duckduckgo-html.html"),
        "lite.duckduckgo.com" => include_str!("pages/duckduckgo-lite.html"),
        ONION if is_html => include_str!("pages/duckduckgo-html.html"),
        "duckduckgo.com" | ONION => include_str!("pages/duckduckgo.html"),
        "search.brave.com" => include_str!("pages/brave.html"),
        "www.startpage.com" => include_str!("pages/startpage.html"),
        "www.ecosia.org" => include_str!("pages/ecosia.html"),
        "www.qwant.com" => include_str!("pages/qwant.html"),
        "www.mojeek.com" => include_str!("pages/mojeek.html"),
        "search.yahoo.com" => include_str!("pages/yahoo.html"),
        _ => "<!doctype html><html lang=\"en\"><title>A site</title><h1>A site</h1>",
    }
}
