//! The parts of the site that the settings can switch off (`features.timelines`, `features.sites`).

use crate::error::RequestError;
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use tidings_domain::values::rules::FeatureRules;

/// The routes of timelines. One with a slash at its end stands for all below it.
const TIMELINES: [&str; 19] = [
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

/// Answers the routes of what is switched off as if they did not exist.
pub(super) fn without_switched_off<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    features: &FeatureRules,
) -> Router<S> {
    let features = features.clone();
    if features.timelines && features.sites {
        return router;
    }
    router.layer(from_fn(move |matched: Option<MatchedPath>, request: Request, next: Next| {
        let is_off = matched.is_some_and(|route| is_switched_off(route.as_str(), &features));
        async move { if is_off { Err(RequestError::NotFound) } else { Ok(next.run(request).await) } }
    }))
}

/// Whether a route is one of what is switched off.
pub(crate) fn is_switched_off(route: &str, features: &FeatureRules) -> bool {
    !features.timelines && is_of(&TIMELINES, route) || !features.sites && is_of(&SITES, route)
}

fn is_of(routes: &[&str], route: &str) -> bool {
    routes.iter().any(|known| *known == route || known.ends_with('/') && route.starts_with(known))
}
