//! The site over HTTP: pages for people and JSON for programs, both on top of the same
//! functions of the domain.

pub mod error;
pub mod features;
pub mod languages;
pub mod limits;
pub mod mail;
pub mod markup;
pub mod openapi;
pub mod request;
pub mod route;
pub mod router;
mod serve;
pub mod server;
pub mod settings;
pub mod site_lists;

pub use error::{RequestError, Result};
pub use features::moderation::acting::mail_decision;
pub use serve::serve;
pub use server::listening::Listening;
pub use tidings_supervision::panics;

use crate::mail::SendMail;
use crate::settings::Settings;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use tidings_domain::values::{Changeable, Moment, Timestamp};
use tidings_domain::{Site, Visit};
use tidings_keyspace::EngineClock;
use url::Url;

/// Everything that a request handler needs. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

/// The parts of an [`App`].
pub struct AppParts {
    /// The site.
    pub site: Arc<Site>,
    /// The settings.
    pub settings: Changeable<Settings>,
    /// Sends mail; `None` if no relay is configured.
    pub mailer: Option<Arc<dyn SendMail>>,
    /// The clock.
    pub clock: EngineClock,
    /// The open streams of home pages.
    pub live: Arc<features::timelines::live::Hub>,
    /// The counts and times of this server's answers.
    pub traffic: Arc<server::traffic::Traffic>,
    /// Whether it works.
    pub health: Arc<server::health::Health>,
    /// The search of this server, once it is open.
    pub search: Arc<features::search::searching::SearchPlace>,
    /// The OpenID provider, as far as it is known.
    pub provider: Arc<server::provider::Provider>,
    /// Its routes.
    pub routes: &'static route::Routes,
    /// When the documents of feeds changed.
    pub feed_times: features::feeds::FeedTimes,
}

/// Handlers take the app as an argument.
impl FromRequestParts<Self> for App {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, app: &Self) -> Result<Self, Infallible> {
        Ok(app.clone())
    }
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl App {
    /// The app of a process that has answered nothing yet.
    pub fn new(
        site: impl Into<Arc<Site>>,
        settings: Settings,
        mailer: Option<Arc<dyn SendMail>>,
        clock: EngineClock,
    ) -> Self {
        Self(Arc::new(AppParts {
            site: site.into(),
            settings: settings.into(),
            mailer,
            clock,
            live: Arc::default(),
            traffic: Arc::default(),
            health: Arc::default(),
            search: Arc::default(),
            provider: Arc::default(),
            routes: router::routes(),
            feed_times: features::feeds::FeedTimes::default(),
        }))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        Timestamp::now(&self.clock)
    }

    /// A visit without a session, which begins now.
    pub fn visitor(&self) -> Visit {
        Visit::new(self.site.clone(), self.now(), None)
    }

    /// The hub that is told when feeds change; `None` on a site that only members read.
    pub fn hub(&self) -> Option<&Url> {
        self.settings.hub.as_ref().filter(|_| !self.site.is_for_members())
    }

    /// The time now, in milliseconds.
    pub fn moment(&self) -> Moment {
        Moment::now(&self.clock)
    }
}
