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
const STATUSES: [(StatusCode, &str); 26] = [
    (StatusCode::OK, "200"),
    (StatusCode::NOT_MODIFIED, "304"),
    (StatusCode::SEE_OTHER, "303"),
    (StatusCode::NOT_FOUND, "404"),
    (StatusCode::TOO_MANY_REQUESTS, "429"),
    (StatusCode::SERVICE_UNAVAILABLE, "503"),
    (StatusCode::CREATED, "201"),
    (StatusCode::ACCEPTED, "202"),
    (StatusCode::NO_CONTENT, "204"),
    (StatusCode::MOVED_PERMANENTLY, "301"),
    (StatusCode::FOUND, "302"),
    (StatusCode::TEMPORARY_REDIRECT, "307"),
    (StatusCode::PERMANENT_REDIRECT, "308"),
    (StatusCode::BAD_REQUEST, "400"),
    (StatusCode::UNAUTHORIZED, "401"),
    (StatusCode::FORBIDDEN, "403"),
    (StatusCode::METHOD_NOT_ALLOWED, "405"),
    (StatusCode::REQUEST_TIMEOUT, "408"),
    (StatusCode::CONFLICT, "409"),
    (StatusCode::GONE, "410"),
    (StatusCode::PAYLOAD_TOO_LARGE, "413"),
    (StatusCode::URI_TOO_LONG, "414"),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "415"),
    (StatusCode::UNPROCESSABLE_ENTITY, "422"),
    (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "431"),
    (StatusCode::INTERNAL_SERVER_ERROR, "500"),
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
        let status = STATUSES.iter().position(|(known, _)| *known == status).unwrap_or(STATUSES.len());
        let by_status = self.answers[method].get_or_init(|| Box::new(array::from_fn(|_| OnceLock::new())));
        by_status[status].get_or_init(|| {
            metrics::counter!(
                "tidings_http_requests_total",
                "route" => self.pattern,
                "method" => METHODS.get(method).map_or(OTHER, Method::as_str).to_owned(),
                "status" => STATUSES.get(status).map_or(OTHER, |(_, text)| text),
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

    #[test]
    fn the_texts_of_statuses_are_their_codes() {
        for (status, text) in STATUSES {
            assert_eq!(status.as_str(), text);
        }
    }
}
