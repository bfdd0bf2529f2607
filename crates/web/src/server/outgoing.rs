//! Connections to other servers.
//!
//! Where a person chooses the address, each is checked after the look-up of its name, and the connection goes to exactly
//! the addresses that were checked. So nobody reaches what only this server can reach.

mod addresses;

use self::addresses::is_public;
use crate::error::TitleError;
use crate::limits::{OUTGOING_ADDRESSES, OUTGOING_CONNECT_TIMEOUT, OUTGOING_HEAD_BYTES};
use crate::settings::Network;
use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::{Method, Request, Response, StatusCode, request};
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
const WEB_PORTS: [u16; 2] = [80, 443];

/// Why another server could not be asked. None of the messages has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// The name has no address, or one that is not public.
    #[error("not on the public internet")]
    NotPublic,
    /// Another port than those of web sites.
    #[error("not a port of web sites")]
    Port,
    /// No address accepts a connection, or the connection broke.
    #[error("cannot connect")]
    Unreachable,
    /// The last address does not answer.
    #[error("no answer in time")]
    TimedOut,
    /// TLS fails: the certificate is not that of the host, or nobody known has signed it.
    #[error("no safe connection")]
    Insecure,
}

impl From<OutgoingError> for TitleError {
    fn from(error: OutgoingError) -> Self {
        match error {
            OutgoingError::NotPublic => Self::NotPublic,
            OutgoingError::Port => Self::Port,
            OutgoingError::Unreachable => Self::Unreachable,
            OutgoingError::TimedOut => Self::TimedOut,
            OutgoingError::Insecure => Self::Insecure,
        }
    }
}

/// The ports that may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// Those of web sites.
    OfTheWeb,
    /// All.
    Any,
}

impl Ports {
    fn has(self, port: u16) -> bool {
        self == Self::Any || WEB_PORTS.contains(&port)
    }
}

impl Network {
    /// The addresses of a URL's host, all of which may be connected to. A name that also has an address that is not
    /// public is refused. The system cannot be interrupted while it looks a name up, so `held` is held until it is done.
    ///
    /// # Errors
    /// [`OutgoingError::NotPublic`] or [`OutgoingError::Port`].
    pub async fn look_up(
        &self,
        url: &Url,
        ports: Ports,
        held: impl Send + 'static,
    ) -> Result<Vec<SocketAddr>, OutgoingError> {
        let (host, port) = self.check(url, ports)?;
        let addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::V4(address)],
            Host::Ipv6(address) => vec![IpAddr::V6(address)],
            Host::Domain(name) => match self.names.get(name) {
                Some(addresses) => addresses.clone(),
                None => look_up_name(name.to_owned(), held).await,
            },
        };
        let endpoints: Vec<SocketAddr> =
            addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        if endpoints.is_empty() || !endpoints.iter().all(|endpoint| self.allows(*endpoint, ports)) {
            return Err(OutgoingError::NotPublic);
        }
        Ok(endpoints)
    }

    /// The host and the port of a URL, or why it is refused whatever a name stands for.
    ///
    /// # Errors
    /// [`OutgoingError::NotPublic`] or [`OutgoingError::Port`].
    pub fn check<'a>(&self, url: &'a Url, ports: Ports) -> Result<(Host<&'a str>, u16), OutgoingError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(OutgoingError::NotPublic);
        };
        if !ports.has(port) && !self.let_through.iter().any(|endpoint| endpoint.port() == port) {
            return Err(OutgoingError::Port);
        }
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        match literal {
            Some(address) if !self.allows(SocketAddr::new(address, port), ports) => {
                Err(OutgoingError::NotPublic)
            }
            _ => Ok((host, port)),
        }
    }

    fn allows(&self, endpoint: SocketAddr, ports: Ports) -> bool {
        (is_public(endpoint.ip()) && ports.has(endpoint.port())) || self.let_through.contains(&endpoint)
    }
}

/// The addresses of the host of a URL that the operator has named, so that they may be private.
///
/// # Errors
/// [`OutgoingError::Unreachable`].
pub async fn look_up_unchecked(url: &Url) -> Result<Vec<SocketAddr>, OutgoingError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((host, url.port_or_known_default().unwrap_or_default())).await;
    Ok(found.map_err(|_| OutgoingError::Unreachable)?.collect())
}

/// The addresses of a name, as the system knows them; none if there are none.
async fn look_up_name(name: String, held: impl Send + 'static) -> Vec<IpAddr> {
    let look_up = tokio::task::spawn_blocking(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        drop(held);
        found.map(|endpoints| endpoints.map(|endpoint| endpoint.ip()).collect())
    });
    look_up.await.ok().and_then(Result::ok).unwrap_or_default()
}

/// A server to ask: its endpoints, the URL, and the certificate that [`secure`] trusts.
type Server<'a> = (&'a [SocketAddr], &'a Url, Option<&'a [u8]>);

/// A connection to another server.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// The head of a request for a URL. `home` is the address of this site, which the other server is told.
pub fn request(method: Method, url: &Url, home: &Url) -> request::Builder {
    Request::builder()
        .method(method)
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(header::HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(header::USER_AGENT, format!("Tidings/{} (+{home})", env!("CARGO_PKG_VERSION")))
        .header(header::CONNECTION, "close")
}

/// Sends a request, and returns the answer, of which the body is read from the connection. Dropping the set ends that.
///
/// # Errors
/// When there is no connection, or it breaks.
pub async fn send(
    (endpoints, url, trusted): Server<'_>,
    settings: &http1::Builder,
    request: Request<Body>,
) -> Result<(Response<Incoming>, JoinSet<hyper::Result<()>>), OutgoingError> {
    let stream = connect(endpoints).await?;
    let stream: Box<dyn Stream> = match url.scheme() {
        "https" => Box::new(secure(stream, url, trusted).await?),
        _ => Box::new(stream),
    };
    let failed = |_| OutgoingError::Unreachable;
    let (mut sender, connection) = settings.handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    Ok((sender.send_request(request).await.map_err(failed)?, connections))
}

/// Sends a body, and returns the status of the answer. Redirects are not followed, and nothing else is read of the
/// answer.
///
/// # Errors
/// When there is no connection, or it breaks.
pub async fn post(
    server: Server<'_>,
    home: &Url,
    headers: Vec<(HeaderName, String)>,
    body: Vec<u8>,
) -> Result<StatusCode, OutgoingError> {
    let mut request = request(Method::POST, server.1, home).header(header::CONTENT_LENGTH, body.len());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Body::from(body)).map_err(|_| OutgoingError::Unreachable)?;
    let mut settings = http1::Builder::new();
    settings.max_buf_size(OUTGOING_HEAD_BYTES);
    Ok(send(server, &settings, request).await?.0.status())
}

/// Connects to the first of these that accepts. No name is looked up here.
///
/// # Errors
/// When none of the first [`OUTGOING_ADDRESSES`] accepts in time.
async fn connect(endpoints: &[SocketAddr]) -> Result<TcpStream, OutgoingError> {
    let mut failure = OutgoingError::Unreachable;
    for endpoint in endpoints.iter().take(OUTGOING_ADDRESSES) {
        match tokio::time::timeout(OUTGOING_CONNECT_TIMEOUT, TcpStream::connect(endpoint)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_)) => {}
            Err(_) => failure = OutgoingError::TimedOut,
        }
    }
    Err(failure)
}

/// Begins TLS. The certificate must be valid for the host of the URL. `trusted` is a certificate (DER) that is
/// trusted besides those of Mozilla's list.
///
/// # Errors
/// [`OutgoingError::Insecure`].
async fn secure(
    stream: TcpStream,
    url: &Url,
    trusted: Option<&[u8]>,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static, OutgoingError> {
    let name = match url.host() {
        Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).ok(),
        Some(Host::Ipv4(address)) => Some(ServerName::from(IpAddr::V4(address))),
        Some(Host::Ipv6(address)) => Some(ServerName::from(IpAddr::V6(address))),
        None => None,
    };
    let name = name.ok_or(OutgoingError::Insecure)?;
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(certificate) = trusted {
        roots.add(CertificateDer::from(certificate.to_owned())).map_err(|_| OutgoingError::Insecure)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| OutgoingError::Insecure)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|_| OutgoingError::Insecure)
}
