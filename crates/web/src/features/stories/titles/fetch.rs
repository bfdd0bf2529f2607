//! Gets a page over HTTP, from addresses that were checked.

use super::FetchPlace;
use super::addresses::is_public;
use super::page::Page;
use crate::error::TitleError;
use crate::limits::{
    TITLE_ADDRESSES, TITLE_BYTES, TITLE_CONNECT_TIMEOUT, TITLE_HEAD_BYTES, TITLE_HEADERS, TITLE_REDIRECTS,
};
use crate::settings::Network;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::{Host, Position, Url};

/// The ports that web sites have.
const PORTS: [u16; 2] = [80, 443];
/// The content types of pages.
const PAGE_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// What the server at an address answers.
enum Answer {
    Page(Page),
    Redirect(Url),
}

/// Gets the page at a URL, and follows redirects.
pub(super) async fn fetch_page(
    network: &Network,
    home: &Url,
    place: &FetchPlace,
    mut url: Url,
) -> Result<Page, TitleError> {
    let agent = format!("Tidings/{} (+{home})", env!("CARGO_PKG_VERSION"));
    for _ in 0..=TITLE_REDIRECTS {
        let endpoints = network.look_up(place, &url).await?;
        let stream = connect(&endpoints).await?;
        let answer = if url.scheme() == "https" {
            ask(network.secure(stream, &url).await?, &url, &agent).await?
        } else {
            ask(stream, &url, &agent).await?
        };
        match answer {
            Answer::Page(page) => return Ok(page),
            Answer::Redirect(elsewhere) => url = elsewhere,
        }
    }
    Err(TitleError::TooManyRedirects)
}

impl Network {
    /// The addresses of a URL's host, all of which may be connected to. A name that also has
    /// an address that is not public is refused.
    async fn look_up(&self, place: &FetchPlace, url: &Url) -> Result<Vec<SocketAddr>, TitleError> {
        let (host, port) = self.check(url)?;
        let addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::V4(address)],
            Host::Ipv6(address) => vec![IpAddr::V6(address)],
            Host::Domain(name) => match self.names.get(name) {
                Some(addresses) => addresses.clone(),
                None => look_up_name(place.clone(), name.to_owned()).await,
            },
        };
        let endpoints: Vec<SocketAddr> =
            addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        if endpoints.is_empty() || !endpoints.iter().all(|endpoint| self.allows(*endpoint)) {
            return Err(TitleError::NotPublic);
        }
        Ok(endpoints)
    }

    /// The host and the port of a URL, or why it is refused whatever a name stands for.
    pub(super) fn check<'a>(&self, url: &'a Url) -> Result<(Host<&'a str>, u16), TitleError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(TitleError::NotPublic);
        };
        if !PORTS.contains(&port) && !self.let_through.iter().any(|endpoint| endpoint.port() == port) {
            return Err(TitleError::Port);
        }
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        match literal {
            Some(address) if !self.allows(SocketAddr::new(address, port)) => Err(TitleError::NotPublic),
            _ => Ok((host, port)),
        }
    }

    fn allows(&self, endpoint: SocketAddr) -> bool {
        (is_public(endpoint.ip()) && PORTS.contains(&endpoint.port())) || self.let_through.contains(&endpoint)
    }

    /// Begins TLS. The certificate must be valid for the host of the URL.
    async fn secure(
        &self,
        stream: TcpStream,
        url: &Url,
    ) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static, TitleError> {
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).ok(),
            Some(Host::Ipv4(address)) => Some(ServerName::from(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => Some(ServerName::from(IpAddr::V6(address))),
            None => None,
        };
        let name = name.ok_or(TitleError::Insecure)?;
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(certificate) = &self.certificate {
            roots.add(CertificateDer::from(certificate.clone())).map_err(|_| TitleError::Insecure)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| TitleError::Insecure)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|_| TitleError::Insecure)
    }
}

/// The addresses of a name, as the system knows them; none if there are none. The system
/// cannot be interrupted, so the look-up keeps its place until it is done.
async fn look_up_name(place: FetchPlace, name: String) -> Vec<IpAddr> {
    let look_up = tokio::task::spawn_blocking(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        drop(place);
        found.map(|endpoints| endpoints.map(|endpoint| endpoint.ip()).collect())
    });
    look_up.await.ok().and_then(Result::ok).unwrap_or_default()
}

/// Connects to the first of these that accepts. No name is looked up here.
async fn connect(endpoints: &[SocketAddr]) -> Result<TcpStream, TitleError> {
    let mut failure = TitleError::Unreachable;
    for endpoint in endpoints.iter().take(TITLE_ADDRESSES) {
        match tokio::time::timeout(TITLE_CONNECT_TIMEOUT, TcpStream::connect(endpoint)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_)) => {}
            Err(_) => failure = TitleError::TimedOut,
        }
    }
    Err(failure)
}

/// Sends the request and reads the answer.
async fn ask<S>(stream: S, url: &Url, agent: &str) -> Result<Answer, TitleError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut settings = http1::Builder::new();
    settings.max_buf_size(TITLE_HEAD_BYTES).max_headers(TITLE_HEADERS);
    let (mut sender, connection) =
        settings.handshake(TokioIo::new(stream)).await.map_err(|_| TitleError::Unreachable)?;
    // Dropping the set ends the connection.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(header::HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(header::USER_AGENT, agent)
        .header(header::ACCEPT, PAGE_TYPES.join(", "))
        .header(header::ACCEPT_ENCODING, "identity")
        .header(header::CONNECTION, "close")
        .body(Body::empty())
        .map_err(|_| TitleError::NotAPage)?;
    let response = sender.send_request(request).await.map_err(|_| TitleError::Unreachable)?;
    read(response, url).await
}

/// Reads an answer: where it redirects to, or at most [`TITLE_BYTES`] of the page.
async fn read(response: Response<Incoming>, url: &Url) -> Result<Answer, TitleError> {
    let (status, headers) = (response.status(), response.headers());
    let redirects = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if redirects.contains(&status) {
        return redirect(headers, url).map(Answer::Redirect);
    }
    if !status.is_success() {
        return Err(TitleError::Status(status.as_u16()));
    }
    let content_type = text(headers, header::CONTENT_TYPE);
    let (essence, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
    let is_page = PAGE_TYPES.iter().any(|known| essence.trim().eq_ignore_ascii_case(known));
    let encoding = text(headers, header::CONTENT_ENCODING);
    if !is_page || !matches!(encoding.trim(), "" | "identity") {
        return Err(TitleError::NotAPage);
    }
    let mut page = Page::new(parameters);
    let mut chunks = Body::new(response.into_body()).into_data_stream();
    while let Some(chunk) = chunks.next().await {
        // A page that breaks off may have a title all the same.
        let Ok(chunk) = chunk else { break };
        let room = TITLE_BYTES.saturating_sub(page.body.len());
        page.body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() >= room {
            break;
        }
    }
    Ok(Answer::Page(page))
}

/// Where a redirect leads to.
fn redirect(headers: &HeaderMap, url: &Url) -> Result<Url, TitleError> {
    let elsewhere = url.join(&text(headers, header::LOCATION)).map_err(|_| TitleError::BadRedirect)?;
    let is_web = matches!(elsewhere.scheme(), "http" | "https") && headers.contains_key(header::LOCATION);
    if is_web { Ok(elsewhere) } else { Err(TitleError::BadRedirect) }
}

/// A header as text; empty if there is none.
fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}
