//! The server of `/metrics`, on an address of its own, so that it is not on the site.

use super::{Figures, record};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics_exporter_prometheus::PrometheusHandle;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::supervision::{Policy, supervise};
use tidings_web::App;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 16;
/// How long a connection may stay open without a request. Prometheus asks every 15 seconds to
/// every minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of the head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// How often the histograms take in what was noted.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// The pause after an error of the system, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The format of the answer.
const PROMETHEUS_TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The address of `/metrics`, and what collects them.
pub struct MetricsEndpoint {
    listener: TcpListener,
    handle: PrometheusHandle,
}

impl MetricsEndpoint {
    /// Listens on an address, and collects metrics from now on. `None` without an address, or if
    /// the address is not available: the site does not need it.
    pub async fn open(address: Option<SocketAddr>) -> Option<Self> {
        let address = address?;
        let opened = match TcpListener::bind(address).await {
            Ok(listener) => record().map(|handle| Self { listener, handle }),
            Err(error) => Err(error.into()),
        };
        match opened {
            Ok(endpoint) => {
                let address = endpoint.listener.local_addr().unwrap_or(address);
                tracing::info!(%address, "metrics are at /metrics");
                Some(endpoint)
            }
            Err(error) => {
                tracing::warn!(
                    %address,
                    %error,
                    "no metrics: the address of metrics.listen is not available; choose another, or set it to nothing"
                );
                None
            }
        }
    }

    /// Answers until the future is dropped.
    pub async fn serve(self, app: App) {
        let Self { listener, handle } = self;
        let upkeep = handle.clone();
        let page = Arc::new(Page { figures: Figures::new(app), handle, turn: Mutex::new(()) });
        tokio::join!(
            supervise("metrics", Policy::Forever, || accept(&listener, page.clone())),
            supervise("metrics upkeep", Policy::Forever, || keep_up(upkeep.clone())),
        );
    }
}

/// Without this, what was noted would wait for the next request.
async fn keep_up(handle: PrometheusHandle) {
    let mut ticks = interval(UPKEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}

async fn accept(listener: &TcpListener, page: Arc<Page>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // A connection without a place is closed.
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let page = page.clone();
        tokio::spawn(async move {
            serve_connection(stream, page).await;
            drop(place);
        });
    }
}

async fn serve_connection(stream: TcpStream, page: Arc<Page>) {
    let service = service_fn(move |request| {
        let page = page.clone();
        async move { Ok::<_, Infallible>(page.answer(&request).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(HEAD_BYTES);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection of a monitor ended");
    }
}

/// The one page there is.
struct Page {
    figures: Figures,
    handle: PrometheusHandle,
    /// One answer is made at a time.
    turn: Mutex<()>,
}

impl Page {
    async fn answer(&self, request: &Request<Incoming>) -> Response<String> {
        if request.uri().path() != "/metrics" {
            return plain(StatusCode::NOT_FOUND, "metrics are at /metrics\n".to_owned());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, String::new());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let _turn = self.turn.lock().await;
        self.figures.read().await;
        let mut response = plain(StatusCode::OK, self.handle.render());
        response.headers_mut().insert(CONTENT_TYPE, PROMETHEUS_TEXT);
        response
    }
}

fn plain(status: StatusCode, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
