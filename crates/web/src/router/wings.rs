//! The parts of the site that the settings can switch off (`features.timelines`, `features.sites`, `search.enabled`).

use crate::App;
use crate::error::RequestError;
use axum::extract::{MatchedPath, Request};

/// The routes of timelines. One with a slash at its end stands for all below it.
const TIMELINES: [&str; 20] = [
    "/everyone",
    "/follow",
    "/home",
    "/home/",
    "/suggestions",
    "/tweet",
    "/tweet/",
    "/deltweet/",
    "/unfollow",
    "/{at_name}/feed",
    "/{at_name}/feed/json",
    "/{at_name}/followers",
    "/{at_name}/followings",
    "/api/deltweet",
    "/api/follow",
    "/api/followers/",
    "/api/followings/",
    "/api/timeline/",
    "/api/tweet",
    "/api/unfollow",
];

/// The routes of votes on sites. The stories of a site are not among them.
const SITES: [&str; 9] = [
    "/admin/sites",
    "/admin/sites/",
    "/api/sites/",
    "/scores",
    "/sites",
    "/sites/",
    "/v1/",
    "/vote",
    "/votesite",
];

/// The routes of search.
const SEARCH: [&str; 8] = [
    "/search",
    "/search.atom",
    "/search.json",
    "/opensearch.xml",
    "/api/search",
    "/api/search/",
    "/api/v1/search",
    "/api/v1/search_by_date",
];

/// The parts that are on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    timelines: bool,
    sites: bool,
    search: bool,
}

impl Parts {
    /// How many combinations there are.
    pub(crate) const COMBINATIONS: usize = 8;

    /// Those of a site.
    pub(crate) fn of(app: &App) -> Self {
        let features = &app.site.rules.features;
        Self { timelines: features.timelines, sites: features.sites, search: app.settings.search.is_on }
    }

    /// The number of this combination, from 0.
    pub(crate) fn number(self) -> usize {
        usize::from(self.timelines) + 2 * usize::from(self.sites) + 4 * usize::from(self.search)
    }

    /// Refuses a request for what is switched off, as if it did not exist.
    pub(super) fn admit(self, request: &Request) -> Result<(), RequestError> {
        let route = request.extensions().get::<MatchedPath>();
        let is_off = route.is_some_and(|route| self.has_off(route.as_str()));
        if is_off { Err(RequestError::NotFound) } else { Ok(()) }
    }

    /// Whether a route is one of what is switched off.
    pub(crate) fn has_off(self, route: &str) -> bool {
        !self.timelines && is_of(&TIMELINES, route)
            || !self.sites && is_of(&SITES, route)
            || !self.search && is_of(&SEARCH, route)
    }
}

fn is_of(routes: &[&str], route: &str) -> bool {
    routes.iter().any(|known| *known == route || known.ends_with('/') && route.starts_with(known))
}
