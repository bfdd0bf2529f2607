//! The site over HTTP: pages for people and JSON for programs, both on top of the same
//! functions of the domain.

pub mod account_mail;
pub mod action;
mod actions;
pub mod address;
pub mod agent_name;
mod answer;
mod answer_memory;
pub mod api;
pub mod assets;
pub mod autolink;
pub mod brand;
mod client_stream;
mod compression;
mod connections;
pub mod cookies;
pub mod cors;
pub mod error;
mod export;
pub mod feeds;
pub mod figures;
pub mod form;
pub mod forms;
pub mod headers;
pub mod health;
pub mod host;
pub mod identicon;
pub mod json;
pub mod letters;
pub mod limits;
mod listening;
pub mod live;
pub mod local_path;
pub mod login_reason;
pub mod mail;
pub mod markdown;
pub mod openapi;
pub mod origin;
pub mod outbox;
pub mod pages;
pub mod paging;
pub mod path;
mod refusals;
pub mod reputation;
mod request_bytes;
pub mod request_id;
mod request_log;
pub mod request_rates;
pub mod response_cache;
pub mod router;
pub mod server;
pub mod settings;
pub mod signup_mail;
mod sitemap;
pub mod titles;
pub mod traffic;
mod two_factor;
pub mod viewer;
mod writes;

pub use actions::mail_decision;
pub use listening::Listening;
pub use server::serve;
pub use tidings_supervision::panics;

use crate::mail::SendMail;
use crate::settings::Settings;
use std::ops::Deref;
use std::sync::Arc;
use tidings_domain::site::Site;
use tidings_domain::values::changeable::Changeable;
use tidings_domain::values::clock::{Moment, Timestamp};
use tidings_keyspace::EngineClock;

/// Everything that a request handler needs. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

/// What an [`App`] consists of.
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
    pub live: Arc<live::Hub>,
    /// What this server has answered.
    pub traffic: Arc<traffic::Traffic>,
    /// Whether it works.
    pub health: Arc<health::Health>,
}

impl From<AppParts> for App {
    fn from(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl App {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::now(&self.clock)
    }

    /// The time now, in milliseconds.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment::now(&self.clock)
    }
}
