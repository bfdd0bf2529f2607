//! The rates of requests: what one address may ask this server for, whether or not the answer
//! is cached. They are checked before any other work on a request.

use super::viewer::subscriber_of;
use crate::App;
use crate::limits::UNIT_BYTES;
use crate::route::{Cost, Facts};
use axum::http::{Method, Request};
use std::net::IpAddr;
use tidings_domain::{Refusal, rates};

/// A request as the limits of requests count it: its address and kind.
#[derive(Debug, Clone, Copy)]
pub struct CountedRequest {
    address: IpAddr,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Post,
    /// Any other request, also one that no address answers.
    Read {
        is_large: bool,
    },
}

impl CountedRequest {
    /// The address and kind that a request counts under.
    pub fn of<B>(app: &App, peer: IpAddr, route: &Facts, request: &Request<B>) -> Self {
        let is_post = *request.method() == Method::POST && !route.reads_by_post;
        let kind = if is_post { Kind::Post } else { Kind::Read { is_large: route.read_cost == Cost::Large } };
        Self { address: subscriber_of(app, peer, request.headers()), kind }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// [`Refusal::TooManyRequests`].
    pub fn spend(&self, app: &App) -> Result<(), Refusal> {
        match self.kind {
            Kind::Post => rates::spend_post(&app.site, app.moment(), self.address),
            Kind::Read { is_large } => rates::spend_read(&app.site, app.moment(), self.address, is_large),
        }
    }

    /// Takes further tokens for an answer with a large body: a read costs one for each started
    /// [`UNIT_BYTES`].
    pub fn charge(&self, app: &App, bytes: usize) {
        let Kind::Read { is_large } = self.kind else { return };
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(1);
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            rates::charge_read(&app.site, app.moment(), self.address, is_large, more);
        }
    }
}
