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

/// An address of each route that answers the same to all visitors, and has such facts.
pub fn shared_reads(has: impl Fn(&Facts) -> bool) -> BTreeSet<String> {
    let shared = routes_where(|route| route.get.filter(|facts| facts.parameters().is_some() && has(facts)));
    shared.iter().map(|route| filled(route)).collect()
}

/// A sample value for a variable part of an address.
fn sample(variable: &str) -> &'static str {
    match variable {
        "id" | "news" | "comment" | "news_id" | "page" => "1",
        "kind" => "story",
        "start" => "0",
        "count" => "32",
        "sort" => "latest",
        "order" => "score",
        "topics" => "links",
        "list" => "best",
        "span" => "all",
        "host" => "example.com",
        "at_name" => "@alice",
        "name" | "username" => "alice",
        "file" => "app.css",
        "secret" => "1-0123456789abcdef0123456789abcdef01234567",
        "token" => "0123456789abcdef0123456789abcdef01234567",
        // The hash of example.com begins so.
        "hex" => "a379",
        "day" => "2027-01",
        "uuid" => "beda0000-0822-4342-0990-b92d94d9489a",
        "date" => "2027-01-15",
        "number" => "1",
        "item" => "1.json",
        "person" => "alice.json",
        "resource" => "topstories.json",
        _ => panic!("say here what stands for {{{variable}}} in an address"),
    }
}

/// The address of a route, its variables filled in with what the small community of the tests has.
pub fn filled(route: &str) -> String {
    let mut address = String::new();
    for (index, part) in route.split(['{', '}']).enumerate() {
        // The names of topics are those of the API's `{name}`.
        let is_topic = part == "name" && route.contains("/topic/");
        address.push_str(if index % 2 == 0 {
            part
        } else if is_topic {
            "links"
        } else {
            sample(part)
        });
    }
    address
}
