//! The addresses of the site, as its routes declare them, so that a test of all of them covers a new one as soon as
//! it exists.

use std::collections::BTreeSet;
use tidings_web::route::{Declared, Facts};
use tidings_web::router;

/// Every address that answers to GET, with its variables in braces.
pub fn get_routes() -> BTreeSet<String> {
    routes_where(|route| route.get)
}

/// Every address that answers to POST, with its variables in braces.
pub fn post_routes() -> BTreeSet<String> {
    routes_where(|route| route.post)
}

/// The addresses whose routes have some facts.
pub fn routes_where(facts: impl Fn(&Declared) -> Option<Facts>) -> BTreeSet<String> {
    let found = router::routes().iter().filter(|route| facts(route).is_some());
    found.map(|route| route.pattern.to_string()).collect()
}
