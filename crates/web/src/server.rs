//! Accepts connections, answers their requests, and shuts down gracefully.
//!
//! What a client may cost is bounded here: see `connections` for the number of
//! connections, `client_stream` for their times, `answer_memory` for the
//! memory of answers.

use super::answer_memory::AnswerMemory;
use super::client_stream::ClientStream;
use super::compression::Compressor;
use super::connections::{Connection, ConnectionLimits, Connections, Place};
use super::error::RequestError;
use super::host::HostRule;
use super::response_cache::answer_cached;
use super::{App, outbox, request_rates, router};
use crate::limits::{ADDRESS_BYTES, HEAD_BYTES, IDLE_TIMEOUT, SOCKET_BUFFER_BYTES};
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use socket2::SockRef;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::background;
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

/// How long to wait when no connection can be accepted, as when the process
/// has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves the site on a listener until `shutdown` completes, then finishes the running
/// requests. Runs the background jobs of the site meanwhile.
///
/// Error pages read nothing: they show what the site was last known to be called, so call
/// [`App::brand`] before.
pub async fn serve(app: App, listener: TcpListener, shutdown: impl Future<Output = ()>) {
    let background = tokio::spawn({
        let app = app.clone();
        async move { tokio::join!(background::run(app.site.clone(), app.clock.clone()), outbox::run(app.clone())) }
    });
    let server = Arc::new(Server::new(app));
    let graceful = GracefulShutdown::new();
    let http = http_builder();
    limit_buffers(&listener);
    tokio::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = &mut shutdown => break,
        };
        // A connection without a place is closed.
        let Some(place) = server.connections.admit(peer, Instant::now()) else { continue };
        let connection = place.connection();
        let io = ClientStream::new(server.app.clone(), stream, connection.clone());
        let service = service_fn({
            let (server, connection) = (server.clone(), connection.clone());
            move |request| {
                let (server, connection) = (server.clone(), connection.clone());
                async move { Ok::<_, Infallible>(server.answer(&connection, peer, request).await) }
            }
        });
        let serving = graceful.watch(http.serve_connection(TokioIo::new(io), service));
        tokio::spawn(keep_place(place, serving));
    }
    drop(listener);
    server.app.live.close();
    graceful.shutdown().await;
    // Unfinished jobs stay in the store.
    background.abort();
    background::store_rest(&server.app.site, server.app.now()).await;
}

fn http_builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(HEAD_BYTES);
    http
}

/// Bounds what the system buffers for each connection; accepted connections inherit it.
fn limit_buffers(listener: &TcpListener) {
    let socket = SockRef::from(listener);
    let limited = limit_unsent(&socket).and_then(|()| socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES));
    if let Err(error) = limited {
        tracing::warn!(%error, "cannot limit the buffers of connections");
    }
}

/// Bounds what is accepted from us and not sent yet. A bound on what is sent and not
/// acknowledged would be too low for a loopback, whose packets have up to 64 KiB: each
/// acknowledgement would take 40 ms.
#[cfg(target_os = "linux")]
fn limit_unsent(socket: &SockRef<'_>) -> std::io::Result<()> {
    socket.set_tcp_notsent_lowat(u32::try_from(SOCKET_BUFFER_BYTES).unwrap_or(u32::MAX))
}

/// Systems other than Linux bound the sum of both.
#[cfg(not(target_os = "linux"))]
fn limit_unsent(socket: &SockRef<'_>) -> std::io::Result<()> {
    socket.set_send_buffer_size(SOCKET_BUFFER_BYTES)
}

/// Serves a connection until it ends, or until it has to make room.
async fn keep_place(place: Place, serving: impl Future<Output = hyper::Result<()>>) {
    let connection = place.connection();
    tokio::select! {
        ended = serving => {
            if let Err(error) = ended {
                // Usually the client closed the connection, or was too slow.
                tracing::debug!(%error, "connection ended");
            }
        }
        () = connection.closed() => tracing::debug!("connection closed to make room"),
    }
}

/// Accepts the next connection, after errors too.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Sends responses at once. If this fails, they may be slower.
                stream.set_nodelay(true).ok();
                return (stream, peer);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// What all connections share.
struct Server {
    app: App,
    router: Router,
    host_rule: HostRule,
    connections: Arc<Connections>,
    answers: Arc<AnswerMemory>,
    compressor: Compressor,
}

impl Server {
    fn new(app: App) -> Self {
        let settings = &app.settings;
        let transport = &settings.transport;
        let exempt = settings.trusted_proxies.iter().chain(&app.site.rules.rates.exempt.0);
        let connections = Connections::new(ConnectionLimits {
            total: transport.connections,
            per_address: transport.connections_per_address,
            exempt: exempt.copied().collect(),
        });
        let names = transport.hosts.iter().map(String::as_str).chain(settings.site.url.host_str());
        let answers = AnswerMemory::new(transport.answers_bytes);
        Self {
            router: router::router(app.clone()),
            host_rule: HostRule::new(names),
            connections,
            compressor: Compressor::new(answers.clone()),
            answers,
            app,
        }
    }

    async fn answer(
        &self,
        connection: &Arc<Connection>,
        peer: SocketAddr,
        mut request: Request<Incoming>,
    ) -> Response {
        let guard = connection.begin_answer();
        request.extensions_mut().insert(ConnectInfo(peer));
        if let Err(refusal) = self.check(peer, &request) {
            // The router turns it into a response in the form of the address.
            request.extensions_mut().insert(refusal);
        }
        // For HEAD, hyper sends only the head of the response.
        if request.method() == Method::HEAD {
            *request.method_mut() = Method::GET;
        }
        let router = self.router.clone();
        let answer =
            answer_cached(&self.app, &self.compressor, request, |request| route(router, request)).await;
        if answer.head.status == StatusCode::PAYLOAD_TOO_LARGE {
            connection.note_unread();
        }
        answer.send(&self.answers, guard)
    }

    fn check(&self, peer: SocketAddr, request: &Request<Incoming>) -> Result<(), RequestError> {
        let address = request.uri();
        let length = address.path().len() + address.query().map_or(0, |query| 1 + query.len());
        if length > ADDRESS_BYTES {
            return Err(RequestError::AddressTooLong);
        }
        self.host_rule.check(request)?;
        Ok(request_rates::check(&self.app, peer.ip(), request)?)
    }
}

/// Passes a request to the router.
async fn route(mut router: Router, request: Request<Incoming>) -> Response {
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
