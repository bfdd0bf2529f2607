//! The addresses of the site, from the source of its router, so that a test of all of them
//! covers a new one as soon as it exists.

use std::collections::BTreeSet;

const ROUTER: &str = include_str!("../../web/src/router.rs");

/// Every address that answers to GET, with its variables in braces.
pub fn get_routes() -> BTreeSet<String> {
    ROUTER
        .split(".route(")
        .skip(1)
        .filter_map(|route| {
            let (path, handlers) = route.trim_start().strip_prefix('"')?.split_once('"')?;
            handlers.contains("get(").then(|| path.to_owned())
        })
        .collect()
}
