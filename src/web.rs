//! The site over HTTP: pages for people, JSON for programs, both over the same
//! calls of the domain.

pub mod address;
pub mod api;
pub mod assets;
pub mod autolink;
pub mod cookies;
pub mod error;
pub mod feeds;
pub mod form;
pub mod headers;
pub mod identicon;
pub mod local_path;
pub mod pages;
pub mod path;
pub mod router;
pub mod viewer;

use crate::config::Config;
use crate::domain::clock::Timestamp;
use crate::domain::site::Site;
use crate::keyspace::EngineClock;
use crate::mail::Mailer;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Everything that a request handler needs. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The site.
    pub site: Arc<Site>,
    /// The settings.
    pub config: Arc<Config>,
    /// Where mail goes; `None` when no relay is configured.
    pub mailer: Option<Mailer>,
    /// The clock that visits are timed by.
    pub clock: EngineClock,
}

impl App {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::now(&self.clock)
    }
}

/// Serves the site on a listener until `shutdown` completes; then finishes
/// the requests that are under way.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    app: App,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let service = router::router(app).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(shutdown).await
}
