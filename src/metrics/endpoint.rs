//! The server of `/metrics`, on an address of its own, so that it is not on the site.

use super::{Figures, record};
use crate::config::{HostName, Metrics};
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
use tidings_domain::supervision::places::{Place, PlaceLimits, Places};
use tidings_domain::supervision::{Policy, supervise};
use tidings_web::App;
use tidings_web::server::host::HostRule;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How long a connection may stay open without a request. Prometheus opens another one then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at the same time. One without a request makes room for another at once.
const LIMITS: PlaceLimits =
    PlaceLimits { places: 16, idle: IDLE_TIMEOUT, spared: Duration::ZERO, patience: Duration::ZERO };
/// Bytes of the head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// How often the histograms take in what was noted.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// The pause after an error of the system, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The format of the answer.
const PROMETHEUS_TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

const WRONG_HOST: &str = "metrics are not served under the host name of the request. \
    The operator can add names with the setting metrics.hosts\n";

/// The address of `/metrics`, and what collects them.
pub struct MetricsEndpoint {
    listener: TcpListener,
    /// The hosts that it answers for; `None` for all.
    hosts: Option<HostRule>,
    handle: PrometheusHandle,
}

impl MetricsEndpoint {
    /// Listens on the address in the settings, and collects metrics from now on. `None` without an
    /// address, or if the address is not available: the site does not need it.
    pub async fn open(settings: &Metrics) -> Option<Self> {
        let address = settings.listen?;
        let hosts = hosts_of(address, &settings.hosts);
        let opened = match TcpListener::bind(address).await {
            Ok(listener) => record().map(|handle| Self { listener, hosts, handle }),
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
        let Self { listener, hosts, handle } = self;
        let upkeep = handle.clone();
        let page = Arc::new(Page { figures: Figures::new(app), hosts, handle, turn: Mutex::new(()) });
        tokio::join!(
            supervise("metrics", Policy::Forever, || accept(&listener, page.clone())),
            supervise("metrics upkeep", Policy::Forever, || keep_up(upkeep.clone())),
        );
    }
}

/// The hosts that `/metrics` answers for, besides those that an operator has named. On loopback a page
/// in a browser of this machine could read it through a name of its own that leads here.
fn hosts_of(address: SocketAddr, named: &[HostName]) -> Option<HostRule> {
    let names = named.iter().map(|HostName(name)| name.as_str());
    if address.ip().to_canonical().is_loopback() {
        Some(HostRule::of_loopback(names))
    } else {
        (!named.is_empty()).then(|| HostRule::new(names))
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
    let places = Places::new(LIMITS);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // A connection without a place is closed.
        let Some(place) = places.admit().await else { continue };
        tokio::spawn(serve_connection(place, stream, page.clone()));
    }
}

async fn serve_connection(place: Place, stream: TcpStream, page: Arc<Page>) {
    let (io, place) = (TokioIo::new(place.hear(stream)), &place);
    let service = service_fn(move |request| {
        let page = page.clone();
        async move {
            let _working = place.work();
            Ok::<_, Infallible>(page.answer(&request).await)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(HEAD_BYTES);
    match place.keep(http.serve_connection(io, service)).await {
        Some(Err(error)) => tracing::debug!(%error, "connection of a monitor ended"),
        Some(Ok(())) => {}
        None => tracing::debug!("connection of a monitor closed, because nothing came"),
    }
}

/// The one page there is.
struct Page {
    figures: Figures,
    hosts: Option<HostRule>,
    handle: PrometheusHandle,
    /// One answer is made at a time.
    turn: Mutex<()>,
}

impl Page {
    async fn answer(&self, request: &Request<Incoming>) -> Response<String> {
        if self.hosts.as_ref().is_some_and(|hosts| hosts.check(request).is_err()) {
            return plain(StatusCode::BAD_REQUEST, WRONG_HOST.to_owned());
        }
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
