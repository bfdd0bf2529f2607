//! Lines of the log about requests: slow ones, and those that a proxy sends which is not
//! trusted.

use super::traffic::Answered;
use crate::App;
use crate::limits::{PROXY_WARNING_EVERY, SLOW_LINES_PER_MINUTE, SLOW_REQUEST};
use axum::http::{HeaderMap, HeaderName, header};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::time::Instant;
use tidings_domain::audit::LineLimit;

/// The headers by which proxies say for whom they ask.
const FORWARDED: [HeaderName; 2] = [HeaderName::from_static("x-forwarded-for"), header::FORWARDED];

/// The limits of these lines.
#[derive(Debug)]
pub struct RequestLog {
    slow: LineLimit,
    /// When a proxy was last warned of.
    warned: Mutex<Option<Instant>>,
}

impl Default for RequestLog {
    fn default() -> Self {
        Self { slow: LineLimit::per_minute(SLOW_LINES_PER_MINUTE), warned: Mutex::default() }
    }
}

impl RequestLog {
    /// Logs an answer that took long.
    pub fn note_answer(&self, answered: &Answered, rounds: u64) {
        if answered.took < SLOW_REQUEST {
            return;
        }
        let Some(left_out) = self.slow.admit(Instant::now()) else { return };
        let Answered { route, method, status, took } = answered;
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let left_out = (left_out > 0).then_some(left_out);
        let (route, status) = (route.pattern(), status.as_u16());
        tracing::warn!(%method, route, status, milliseconds, rounds, left_out, "slow request");
    }

    /// Warns of a proxy that says for whom it asks, and is not trusted: all its visitors count
    /// as one.
    pub fn note_proxy(&self, app: &App, peer: IpAddr, headers: &HeaderMap) {
        if app.settings.trusts(peer) {
            return;
        }
        let Some(header) = FORWARDED.into_iter().find(|name| headers.contains_key(name)) else { return };
        if self.may_warn(Instant::now()) {
            let peer = peer.to_canonical();
            tracing::warn!(
                address = %peer,
                header = header.as_str(),
                "a proxy that is not trusted names the client that it asks for; if it is yours, add \
                 its address to web.trusted_proxies: until then all its visitors count as one"
            );
        }
    }

    fn may_warn(&self, now: Instant) -> bool {
        let mut warned = self.warned.lock();
        let is_recent = warned.is_some_and(|then| now.saturating_duration_since(then) < PROXY_WARNING_EVERY);
        if !is_recent {
            *warned = Some(now);
        }
        !is_recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_proxy_is_warned_of_once_an_hour() {
        let log = RequestLog::default();
        let start = Instant::now();
        let at = |seconds| log.may_warn(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(1), at(3_599), at(3_600), at(3_601)], [true, false, false, true, false]);
    }
}
