//! The addresses of the site, from its actions and from the source of its router, so that a test of all of
//! them covers a new one as soon as it exists.

use std::collections::BTreeSet;
use tidings_web::router;

const ROUTER: &str = include_str!("../../web/src/router.rs");

/// Every address that answers to GET, with its variables in braces.
pub fn get_routes() -> BTreeSet<String> {
    routes_with("get(")
}

/// Every address that answers to POST, with its variables in braces.
pub fn post_routes() -> BTreeSet<String> {
    let mut routes = routes_with("post(");
    for (_, action) in router::actions() {
        routes.extend([action.path.to_owned(), action.call_path]);
    }
    routes
}

/// Every address with a handler of a method, which its name ends with.
fn routes_with(method: &str) -> BTreeSet<String> {
    // With `reading` a route also says which parameters it reads.
    ROUTER
        .replace(".reading(", ".route(")
        .split(".route(")
        .skip(1)
        .filter_map(|route| {
            let (path, handlers) = route.trim_start().strip_prefix('"')?.split_once('"')?;
            handlers.contains(method).then(|| path.to_owned())
        })
        .collect()
}
