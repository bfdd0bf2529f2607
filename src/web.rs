//! The site over HTTP: pages for people, JSON for programs, both over the same
//! calls of the domain.

mod actions;
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
pub mod server;
pub mod viewer;

pub use server::serve;

use crate::config::Config;
use crate::domain::clock::Timestamp;
use crate::domain::site::Site;
use crate::keyspace::EngineClock;
use crate::mail::Mailer;
use std::sync::Arc;

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
