//! Sites without timelines, without votes on sites, or without both: nothing of them is there, and nothing
//! leads to it.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};
use tidings_web::route::{ErrorFormat, Facts, Wing};
use tidings_web::router::routes;

use crate::client::ok;
use crate::community::{Community, PAGES};
use crate::pages::{page, redirects_to};
use crate::routes::{get_routes, post_routes, routes_where};
use crate::server::Engine;

/// A part of the site, with its setting.
type Part = (&'static str, Wing);

const TIMELINES: Part = ("features.timelines", Wing::Timelines);
const SITES: Part = ("features.sites", Wing::Sites);

/// Whether an address is one of a part.
fn is_of((_, wing): Part, path: &str) -> bool {
    routes().find(&Method::GET, path.split(['?', '#']).next().unwrap_or_default()).wing == wing
}

async fn site_without(parts: &[Part]) -> Community {
    let settings: Vec<_> = parts.iter().map(|(setting, _)| (*setting, "false")).collect();
    Community::new(Engine::Memory, &settings).await
}

#[tokio::test]
async fn no_page_leads_to_what_is_switched_off() {
    for parts in [&[TIMELINES][..], &[SITES], &[TIMELINES, SITES]] {
        let Community { server, alice, .. } = site_without(parts).await;
        let is_off = |path: &str| parts.iter().any(|part| is_of(*part, path));
        let mut shown = BTreeSet::new();
        for (address, _) in PAGES.iter().filter(|(address, _)| !is_off(address)) {
            for client in [&alice, &server.visitor()] {
                let answer = client.get(address).await;
                if answer.status != StatusCode::OK {
                    assert_ne!(answer.status, StatusCode::NOT_FOUND, "{address}");
                    continue;
                }
                shown.insert(*address);
                for element in ["a", "form", "link", "button"] {
                    for attribute in ["href", "action", "formaction"] {
                        let page = crate::html::Page::of(&answer);
                        let led = page.all(element).filter_map(|element| element.attribute(attribute));
                        let wrong: Vec<_> = led.filter(|to| is_off(to)).collect();
                        assert!(wrong.is_empty(), "{address} leads to {wrong:?}");
                    }
                }
            }
        }
        assert!(shown.len() > 60, "{shown:?}");
    }
}

#[tokio::test]
async fn what_is_switched_off_is_not_there_and_all_else_is() {
    for part in [TIMELINES, SITES] {
        let (off, on) = (site_without(&[part]).await, site_without(&[]).await);
        let mut gone = 0;
        for (method, routes) in [("GET", get_routes()), ("POST", post_routes())] {
            // The stream has no end.
            for route in routes.into_iter().filter(|route| route != "/home/events") {
                let path = route
                    .replace("{at_name}", "@alice")
                    .replace("{name}", "alice")
                    .replace("{host}", "example.com")
                    .replace("{list}", "best")
                    .replace("{span}", "week");
                let ask = async |community: &Community| match method {
                    "GET" => community.alice.get(&path).await.status,
                    _ => community.alice.post(&path, &[]).await.status,
                };
                if is_of(part, &path) {
                    assert_eq!(ask(&off).await, StatusCode::NOT_FOUND, "{method} {path}");
                    gone += 1;
                } else if method == "GET" && !path.contains('{') && ask(&on).await == StatusCode::OK {
                    let bad = [StatusCode::NOT_FOUND, StatusCode::INTERNAL_SERVER_ERROR];
                    assert!(!bad.contains(&ask(&off).await), "{path}");
                }
            }
        }
        assert!(gone > 10, "{}: {gone}", part.0);
        let described = async |community: &Community| {
            let description = community.alice.api_get("/api/openapi.json").await;
            let paths = description["paths"].as_object().unwrap();
            paths.keys().filter(|path| is_of(part, path)).count()
        };
        assert_eq!(described(&off).await, 0, "calls that are described");
        assert!(described(&on).await > 0);
    }
}

#[tokio::test]
async fn without_timelines_a_story_is_not_announced_and_a_profile_is_at_its_other_address() {
    let Community { server, alice, .. } = site_without(&[TIMELINES]).await;
    assert_eq!(server.number("news:1", "tweet_id").await, 0);
    assert_eq!(server.sorted("timeline:everyone").await, Vec::new());
    assert_eq!(redirects_to(&alice.get("/@alice").await), "/user/alice");
    let profile = page(&server.visitor(), "/user/bob").await;
    assert!(!profile.content().contains("Posts") && !profile.content().contains("followers"));
    assert!(profile.content().contains("Stories") && profile.content().contains("Comments"));
    assert_eq!(server.hash("user:1").await.get("tweet_news"), None);
}

#[tokio::test]
async fn without_sites_the_page_of_a_host_has_its_stories_and_no_votes() {
    let Community { server: _server, alice, .. } = site_without(&[SITES]).await;
    let shown = page(&alice, "/site/example.com").await;
    assert!(shown.links_to("http://example.com/one"));
    for word in ["Good site", "votes on", "trust"] {
        assert!(!shown.content().contains(word), "{word}");
    }
    ok(alice.api_get("/api/getnews/top/0/30").await);
}

#[tokio::test]
async fn nothing_redirects_to_what_is_switched_off() {
    let settings = ["features.timelines", "features.sites", "search.enabled"].map(|name| (name, "false"));
    let Community { server, alice, .. } = Community::new(Engine::Memory, &settings).await;
    let is_off = |facts: &Facts| facts.wing != Wing::Core && facts.errors == ErrorFormat::Page;
    let off = routes_where(|route| route.get.or(route.post).filter(is_off));
    assert!(off.len() > 20, "{off:?}");
    for path in off {
        for client in [&alice, &server.visitor()] {
            let status = client.get(&format!("{path}/")).await.status;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}/");
        }
    }
    // Parts that are on still lead to their pages.
    let led = alice.get("/comments/").await;
    assert_eq!(led.status, StatusCode::PERMANENT_REDIRECT);
    assert_eq!(led.headers["location"], "/comments");
}
