//! The counters and histograms of each route.
//!
//! A route is the pattern that a request matched, as `/news/{id}`, never its path. So the
//! number of series is bounded by the router: the routes, times a few methods and statuses.

use super::Answered;
use crate::App;
use crate::limits::MAX_MEASURED_ROUTES;
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};
use std::array;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

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

/// The number of a route; by default that of requests that match none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteId(usize);

impl RouteId {
    /// The route that a request has matched.
    pub fn of(app: &App, request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>();
        route.map_or_else(Self::default, |route| app.traffic.routes.id_of(route.as_str()))
    }
}

/// The routes that have been asked for.
pub struct Routes {
    ids: RwLock<HashMap<Arc<str>, RouteId>>,
    figures: Box<[OnceLock<RouteFigures>]>,
}

/// The counters of a route by status, the last for other ones. Each exists from its first use.
type ByStatus = [OnceLock<Counter>; STATUSES.len() + 1];

/// The measurements of a route.
struct RouteFigures {
    pattern: Arc<str>,
    times: Histogram,
    /// The counters by method, the last for other ones.
    answers: [OnceLock<Box<ByStatus>>; METHODS.len() + 1],
}

impl Default for Routes {
    fn default() -> Self {
        let figures: Box<[OnceLock<RouteFigures>]> =
            (0..MAX_MEASURED_ROUTES).map(|_| OnceLock::new()).collect();
        if let Some(first) = figures.first() {
            first.get_or_init(|| RouteFigures::new(OTHER.into()));
        }
        Self { ids: RwLock::default(), figures }
    }
}

impl Routes {
    /// The number of a pattern of the router.
    pub(super) fn id_of(&self, pattern: &str) -> RouteId {
        if let Some(id) = self.ids.read().unwrap_or_else(PoisonError::into_inner).get(pattern) {
            return *id;
        }
        let mut ids = self.ids.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = ids.get(pattern) {
            return *id;
        }
        // The first number is that of the others.
        let id = ids.len() + 1;
        let Some(figures) = self.figures.get(id) else {
            return RouteId::default();
        };
        let pattern: Arc<str> = pattern.into();
        figures.get_or_init(|| RouteFigures::new(pattern.clone()));
        ids.insert(pattern, RouteId(id));
        RouteId(id)
    }

    /// The pattern of a route.
    pub(super) fn pattern_of(&self, route: RouteId) -> &str {
        self.figures.get(route.0).and_then(OnceLock::get).map_or(OTHER, |figures| &figures.pattern)
    }

    pub(super) fn note(&self, answered: &Answered) {
        if let Some(figures) = self.figures.get(answered.route.0).and_then(OnceLock::get) {
            figures.times.record(answered.took);
            figures.counter(&answered.method, answered.status).increment(1);
        }
    }
}

impl RouteFigures {
    fn new(pattern: Arc<str>) -> Self {
        let times =
            metrics::histogram!("tidings_http_request_duration_seconds", "route" => pattern.to_string());
        Self { pattern, times, answers: array::from_fn(|_| OnceLock::new()) }
    }

    fn counter(&self, method: &Method, status: StatusCode) -> &Counter {
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let status = STATUSES.iter().position(|(known, _)| *known == status).unwrap_or(STATUSES.len());
        let by_status = self.answers[method].get_or_init(|| Box::new(array::from_fn(|_| OnceLock::new())));
        by_status[status].get_or_init(|| {
            metrics::counter!(
                "tidings_http_requests_total",
                "route" => self.pattern.to_string(),
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
    fn a_pattern_has_one_number_and_too_many_share_that_of_the_others() {
        let routes = Routes::default();
        let first = routes.id_of("/news/{id}");
        assert_eq!(routes.id_of("/news/{id}"), first);
        assert_eq!(routes.pattern_of(first), "/news/{id}");
        assert_ne!(routes.id_of("/"), first);
        for number in 0..2 * MAX_MEASURED_ROUTES {
            routes.id_of(&format!("/{number}"));
        }
        assert_eq!(routes.id_of("/one-too-many"), RouteId::default());
        assert_eq!(routes.pattern_of(RouteId::default()), OTHER);
        assert_eq!(routes.id_of("/news/{id}"), first);
    }

    #[test]
    fn the_texts_of_statuses_are_their_codes() {
        for (status, text) in STATUSES {
            assert_eq!(status.as_str(), text);
        }
    }
}
