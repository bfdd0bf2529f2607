//! Accepts connections, limits their number and times, and shuts down gracefully.

use super::response_cache::respond_cached;
use super::{App, read_rates, router};
use crate::limits::{HEAD_TIMEOUT, MAX_CONNECTIONS, WRITE_TIMEOUT};
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::background;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service;

/// How long to wait when no connection can be accepted, as when the process
/// has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Serves the site on a listener until `shutdown` completes, then finishes the running
/// requests. Runs the background jobs of the site meanwhile.
pub async fn serve(app: App, listener: TcpListener, shutdown: impl Future<Output = ()>) {
    let background = tokio::spawn(background::run(app.site.clone(), app.clock.clone()));
    let live = app.live.clone();
    let router = router::router(app.clone());
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    tokio::pin!(shutdown);
    loop {
        let next = async { (places.clone().acquire_owned().await, accept(&listener).await) };
        let (place, (stream, peer)) = tokio::select! {
            next = next => next,
            () = &mut shutdown => break,
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let (app, router) = (app.clone(), router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let (app, router) = (app.clone(), router.clone());
            async move {
                let is_admitted = read_rates::admit(&app, peer.ip(), &mut request);
                let handle = |request| route(router, peer, request);
                let response = if is_admitted {
                    respond_cached(&app, request, handle).await
                } else {
                    handle(request).await
                };
                Ok::<_, Infallible>(response)
            }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(Box::pin(stream)), service));
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                // Usually the client closed the connection.
                tracing::debug!(%peer, %error, "connection ended");
            }
        });
    }
    drop(listener);
    live.close();
    graceful.shutdown().await;
    // Unfinished jobs stay in the store.
    background.abort();
}

/// Passes a request to the router.
async fn route(mut router: Router, peer: SocketAddr, mut request: Request<Incoming>) -> Response {
    request.extensions_mut().insert(ConnectInfo(peer));
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
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
