//! Accepts connections, answers their requests, and shuts down gracefully.
//!
//! The resources that a client may take are bounded here: see `connections` for the
//! number of connections, `client_stream` for their times, `answer_memory` for the
//! memory of answers.

use crate::error::{RequestError, Result};
use crate::features::administration::hooks::sending;
use crate::features::feeds::hub;
use crate::features::inbox::outbox;
use crate::features::search::following;
use crate::limits::{ADDRESS_BYTES, HEAD_BYTES, IDLE_TIMEOUT, TRAFFIC_SAMPLE_EVERY};
use crate::request::request_rates::CountedRequest;
use crate::request::response_cache::{answer_cached, is_shared, unify};
use crate::request::viewer::OnlyHead;
use crate::route::{Cost, Route};
use crate::router::failures::failure_response;
use crate::router::writes::Writes;
use crate::server::answer_memory::{AnswerMemory, BodyMemory};
use crate::server::client_stream::ClientStream;
use crate::server::compression::Compressor;
use crate::server::connections::{AnswerGuard, ConnectionLimits, Connections, Place, UNKNOWN_LENGTH};
use crate::server::host::HostRule;
use crate::server::listening::Listening;
use crate::server::request_id::{REQUEST_ID, RequestId};
use crate::server::request_log::RequestLog;
use crate::server::traffic::Answered;
use crate::server::{figures, health, provider};
use crate::{App, router};
use axum::Router;
use axum::body::HttpBody;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::background;
use tidings_keyspace::count_rounds;
use tidings_supervision::{Policy, repeat, retry, supervise};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

/// How long requests may take to finish once the server is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// How long it may take after that to store what is only in memory, if the store does not answer.
const STORE_TIME: Duration = Duration::from_secs(10);

/// How often a server looks for something to send, and how long after its start.
const SEND_EVERY: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(1));

/// Serves the site on a listener until `shutdown` completes, then answers everything that was
/// sent before it closes connections, for ten seconds at most. Runs the background jobs of the site
/// meanwhile, and stores at the end what is only in memory.
///
/// Error pages read nothing: they show what the site was last known to be called, so call
/// [`App::brand`] before.
pub async fn serve(app: App, listening: impl Into<Listening>, shutdown: impl Future<Output = ()> + Send) {
    tokio::pin!(shutdown);
    serve_boxed(app, listening.into(), shutdown).await;
}

/// A boxed future is compiled here, and not once more in each program and test that serves.
fn serve_boxed<'a>(
    app: App,
    mut listening: Listening,
    mut shutdown: Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let keep_every = app.settings.keep_figures_every;
        let background = tokio::spawn({
            let app = app.clone();
            async move {
                tokio::join!(
                    background::run(app.site.clone(), app.clock.clone()),
                    supervise("search", Policy::UntilDone, || following::run(app.clone())),
                    supervise("sign-in service", Policy::Forever, || provider::watch(&app)),
                    retry("outbox", SEND_EVERY, || outbox::send_due(&app)),
                    retry("hub of the feeds", SEND_EVERY, || hub::look(&app)),
                    retry("webhooks", SEND_EVERY, || sending::look(&app)),
                    repeat("traffic", (Duration::ZERO, TRAFFIC_SAMPLE_EVERY), async || app
                        .traffic
                        .sample(Instant::now())),
                    repeat("figures", (keep_every, keep_every), || figures::keep(&app)),
                    supervise("health", Policy::Forever, || health::watch(&app)),
                )
            }
        });
        let server = Arc::new(Server::new(app));
        let http = http_builder();
        listening.limit_buffers();
        loop {
            let (stream, peer) = tokio::select! {
                accepted = listening.accept() => accepted,
                () = &mut shutdown => break,
            };
            server.begin(&http, stream, peer);
        }
        server.app.health.stop();
        // Clients that are connected have perhaps sent a request.
        for (stream, peer) in listening.stop() {
            server.begin(&http, stream, peer);
        }
        server.app.live.close();
        let drained = async {
            server.connections.drain().await;
            // Also those whose clients have gone.
            server.writes.ended().await;
        };
        if timeout(DRAIN_TIME, drained).await.is_err() {
            tracing::warn!("some connections were still open");
        }
        // Unfinished jobs stay in the store.
        background.abort();
        let storing = async {
            background::store_rest(&server.app.site, server.app.now()).await;
            figures::keep(&server.app).await;
        };
        if timeout(STORE_TIME, storing).await.is_err() {
            tracing::error!("the store does not answer; the last visits and figures were not stored");
        }
    })
}

fn http_builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(HEAD_BYTES);
    http
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

/// The state that all connections share.
struct Server {
    app: App,
    router: Router,
    host_rule: HostRule,
    connections: Arc<Connections>,
    writes: Arc<Writes>,
    answers: Arc<AnswerMemory>,
    compressor: Compressor,
    log: RequestLog,
}

impl Server {
    fn new(app: App) -> Self {
        let settings = &app.settings;
        let transport = &settings.transport;
        let connections = Connections::new(ConnectionLimits {
            total: transport.connections,
            per_address: transport.connections_per_address,
        });
        let names = transport.hosts.iter().map(String::as_str).chain(settings.site.url.host_str());
        let answers = AnswerMemory::new(transport.answers_bytes);
        let writes: Arc<Writes> = Arc::default();
        Self {
            router: router::router(app.clone(), writes.clone()),
            host_rule: HostRule::new(names).with_old(settings.site.old_hosts.iter().map(String::as_str)),
            connections,
            writes,
            compressor: Compressor::new(answers.clone()),
            answers,
            log: RequestLog::default(),
            app,
        }
    }

    /// Serves a connection in a task of its own, if there is a place for it; else it is closed.
    fn begin(self: &Arc<Self>, http: &http1::Builder, stream: TcpStream, peer: SocketAddr) {
        let is_exempt = self.is_exempt(peer.ip());
        let Some(place) = self.connections.admit(peer, is_exempt, Instant::now()) else { return };
        let connection = place.connection();
        let io = ClientStream::new(self.app.clone(), failure_response, stream, connection.clone());
        let server = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            // Before anything else is read.
            let length = request.body().size_hint().exact().unwrap_or(UNKNOWN_LENGTH);
            let guard = connection.begin_answer(length);
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(guard, peer, request).await) }
        });
        tokio::spawn(keep_place(place, http.serve_connection(TokioIo::new(io), service)));
    }

    async fn answer(&self, guard: AnswerGuard, peer: SocketAddr, request: Request<Incoming>) -> Response {
        let id = RequestId::of(&self.app.settings, peer.ip(), request.headers());
        let mut response = id.clone().scope(self.answer_request(guard, peer, request)).await;
        response.headers_mut().insert(REQUEST_ID, id.header());
        response
    }

    async fn answer_request(
        &self,
        guard: AnswerGuard,
        peer: SocketAddr,
        mut request: Request<Incoming>,
    ) -> Response {
        let (connection, began) = (guard.connection().clone(), Instant::now());
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(BodyMemory::new(self.answers.clone(), connection.clone()));
        self.log.note_proxy(&self.app, peer.ip(), request.headers());
        let method = request.method().clone();
        // For HEAD, hyper sends only the head of the response.
        if method == Method::HEAD {
            *request.method_mut() = Method::GET;
            request.extensions_mut().insert(OnlyHead);
        }
        let route = self.app.routes.find(request.method(), request.uri().path());
        request.extensions_mut().insert(route);
        let counted = CountedRequest::of(&self.app, peer.ip(), &route, &request);
        if let Err(refusal) = self.check(route, &counted, &request) {
            // The router turns it into a response in the form of the address.
            request.extensions_mut().insert(refusal);
        }
        if is_shared(&self.app, &route) {
            unify(&route, &mut request);
        }
        let router = self.router.clone();
        let made = answer_cached(&self.app, &self.compressor, request, |request| handle(router, request));
        let (mut answer, rounds) = count_rounds(made).await;
        counted.charge(&self.app, answer.made_bytes);
        let status = answer.head.status;
        let answered = Answered { route, method, status, took: began.elapsed() };
        self.app.traffic.note(&answered);
        self.log.note_answer(&answered, rounds);
        if matches!(status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
            connection.note_unread();
        }
        if connection.is_draining() && !connection.has_waiting() {
            // The client must not send more requests here. Bytes that it sends nevertheless are
            // read, so that it gets the response.
            answer.head.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            connection.note_unread();
        }
        answer.send(&self.answers, guard)
    }

    /// Whether an address may have any number of connections, by the settings of this moment.
    fn is_exempt(&self, address: IpAddr) -> bool {
        let proxies = &self.app.settings.trusted_proxies;
        let mut exempt = proxies.iter().chain(&self.app.site.rules.rates.exempt.0);
        let address = address.to_canonical();
        exempt.any(|network| network.contains(&address))
    }

    fn check(&self, route: Route, counted: &CountedRequest, request: &Request<Incoming>) -> Result<()> {
        let address = request.uri();
        let length = address.path().len() + address.query().map_or(0, |query| 1 + query.len());
        if length > ADDRESS_BYTES {
            return Err(RequestError::AddressTooLong);
        }
        if route.read_cost == Cost::Free {
            return Ok(());
        }
        let host = self.host_rule.check(request);
        if !matches!(host, Err(RequestError::WrongHost)) {
            counted.spend(&self.app)?;
        }
        host
    }
}

/// Passes a request to the router.
async fn handle(mut router: Router, request: Request<Incoming>) -> Response {
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
