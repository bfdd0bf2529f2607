//! The counters and histograms of each route.
//!
//! A route is the pattern that a request matched, as `/news/{id}`, never its path. So the
//! number of series is bounded by the router: the routes, times a few methods and statuses.

use super::Answered;
use crate::limits::MAX_MEASURED_ROUTES;
use crate::route::Route;
use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use std::array;
use std::sync::OnceLock;

/// The label of what is none of the known ones.
const OTHER: &str = "other";

/// The methods that have labels of their own.
const METHODS: [Method; 7] =
    [Method::GET, Method::POST, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE, Method::PATCH];

/// The statuses that have labels of their own: all that the site answers with. The most
/// frequent come first.
const STATUSES: [u16; 26] = [
    200, 304, 303, 404, 429, 503, 201, 202, 204, 301, 302, 307, 308, 400, 401, 403, 405, 408, 409, 410, 413,
    414, 415, 422, 431, 500,
];

/// The measurements of all routes, by their numbers. Those of a route exist from its first request.
pub struct ByRoute(Box<[OnceLock<RouteFigures>]>);

/// The counters of a route by status, the last for other ones. Each exists from its first use.
type ByStatus = [OnceLock<Counter>; STATUSES.len() + 1];

/// The measurements of a route.
struct RouteFigures {
    pattern: &'static str,
    times: Histogram,
    /// The counters by method, the last for other ones.
    answers: [OnceLock<Box<ByStatus>>; METHODS.len() + 1],
}

impl Default for ByRoute {
    fn default() -> Self {
        let figures = Self((0..MAX_MEASURED_ROUTES).map(|_| OnceLock::new()).collect());
        figures.of(Route::default());
        figures
    }
}

impl ByRoute {
    fn of(&self, route: Route) -> Option<&RouteFigures> {
        let figures = self.0.get(route.number())?;
        Some(figures.get_or_init(|| RouteFigures::new(route.pattern())))
    }

    pub(super) fn note(&self, answered: &Answered) {
        if let Some(figures) = self.of(answered.route) {
            figures.times.record(answered.took);
            figures.counter(&answered.method, answered.status).increment(1);
        }
    }
}

impl RouteFigures {
    fn new(pattern: &'static str) -> Self {
        let times = metrics::histogram!("tidings_http_request_duration_seconds", "route" => pattern);
        Self { pattern, times, answers: array::from_fn(|_| OnceLock::new()) }
    }

    fn counter(&self, method: &Method, status: StatusCode) -> &Counter {
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let status = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(STATUSES.len());
        let by_status = self.answers[method].get_or_init(|| Box::new(array::from_fn(|_| OnceLock::new())));
        by_status[status].get_or_init(|| {
            metrics::counter!(
                "tidings_http_requests_total",
                "route" => self.pattern,
                "method" => METHODS.get(method).map_or(OTHER, Method::as_str).to_owned(),
                "status" => STATUSES.get(status).map_or_else(|| OTHER.to_owned(), u16::to_string),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_measured() {
        let (figures, routes) = (ByRoute::default(), crate::router::routes());
        for declared in routes.iter() {
            let route = routes.find(&Method::GET, &declared.pattern);
            assert_eq!(
                (route.pattern(), figures.of(route).unwrap().pattern),
                (&*declared.pattern, route.pattern())
            );
        }
        assert_eq!(figures.of(routes.find(&Method::GET, "/no/such/address")).unwrap().pattern, OTHER);
    }
}
