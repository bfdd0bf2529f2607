//! The headers that protect readers, on every kind of answer.

use std::collections::BTreeMap;

use reqwest::Method;

use crate::client::{Client, FORM, HttpResponse};
use crate::community::Community;
use crate::server::{Engine, Server, in_memory};
use crate::two_viewers::addresses;

/// The values of a header that are separated by commas, from all its lines.
fn values(answer: &HttpResponse, name: &str) -> Vec<String> {
    let lines = answer.headers.get_all(name).iter().map(|line| line.to_str().unwrap().to_lowercase());
    let mut values: Vec<String> = lines
        .flat_map(|line| line.split(',').map(|value| value.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    values.sort_unstable();
    values
}

/// Checks the headers that every answer must have.
#[track_caller]
pub fn check_protection(answer: &HttpResponse, what: &str) {
    let one = |name: &str| {
        assert_eq!(answer.headers.get_all(name).iter().count(), 1, "{what} {name}");
        answer.headers[name].to_str().unwrap()
    };
    let policy: BTreeMap<&str, &str> = one("content-security-policy")
        .split(';')
        .map(|rule| rule.trim().split_once(' ').expect("a name and sources"))
        .collect();
    assert!(policy.values().all(|sources| !sources.contains("unsafe") && !sources.contains('*')), "{what}");
    for (name, sources) in [
        ("default-src", "'none'"),
        ("script-src", "'self'"),
        ("style-src", "'self'"),
        ("connect-src", "'self'"),
        ("form-action", "'self'"),
        ("base-uri", "'none'"),
        ("frame-ancestors", "'none'"),
    ] {
        assert_eq!(policy.get(name), Some(&sources), "{what} {name}");
    }
    assert_eq!(one("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(one("x-frame-options"), "DENY", "{what}");
    assert_eq!(one("referrer-policy"), "strict-origin-when-cross-origin", "{what}");
    assert_eq!(one("cross-origin-opener-policy"), "same-origin", "{what}");
    assert!(one("permissions-policy").contains("camera=()"), "{what}");
    assert!(!answer.headers.contains_key("server") && !answer.headers.contains_key("x-powered-by"), "{what}");
}

/// The caching of pages that are the same for all visitors: shared, with revalidation.
#[track_caller]
fn check_shared(answer: &HttpResponse, what: &str) {
    assert_eq!(values(answer, "cache-control"), ["no-cache", "public"], "{what}");
    assert!(values(answer, "vary").contains(&"cookie".to_owned()), "{what}: {:?}", answer.headers);
    assert_eq!(values(answer, "etag").len(), 1, "{what}");
    assert!(!answer.headers.contains_key("set-cookie"), "{what}");
}

/// The caching of personal pages: only in the browser.
#[track_caller]
fn check_private(answer: &HttpResponse, what: &str) {
    assert_eq!(values(answer, "cache-control"), ["no-cache", "private"], "{what}");
    assert!(values(answer, "vary").contains(&"cookie".to_owned()), "{what}: {:?}", answer.headers);
}

#[tokio::test]
async fn every_response_has_security_headers_and_private_ones_are_not_cached() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    for encoding in ["identity", "gzip", "br", "gzip, deflate, br, zstd"] {
        for client in [server.visitor(), alice.clone(), bob.clone()] {
            let client = client.with_header("accept-encoding", encoding);
            let paths = "/ /news/1 /submit /admin /login /random /nothing /news/999 /votenews /submit?u=%FF \
                /api/getnews/top/0/30 /api/getnews/top/0/-1 /api/nothing /assets/x.css";
            for path in paths.split(' ') {
                let answer = client.get(path).await;
                let what = format!("{} {path} {encoding}", answer.status);
                check_protection(&answer, &what);
                let is_shared = ["/", "/news/1", "/api/getnews/top/0/30"].contains(&path);
                if is_shared && client.auth.is_none() {
                    check_shared(&answer, &what);
                } else {
                    check_private(&answer, &what);
                }
            }
            for path in
                ["/rss", "/atom", "/robots.txt", "/favicon.ico", "/manifest.webmanifest", "/sitemap.xml"]
            {
                let answer = client.get(path).await;
                check_protection(&answer, path);
                assert!(values(&answer, "cache-control").contains(&"public".to_owned()), "{path}");
                assert_eq!(values(&answer, "vary"), ["accept-encoding"], "{path}");
                assert!(!answer.headers.contains_key("set-cookie"), "{path}");
            }
            for (path, body) in [
                ("/submit", "apisecret=x"),
                ("/login", "username=nobody&password=x"),
                ("/login", "username=1&username=2"),
                ("/logout", ""),
                ("/votenews", "x[]=1"),
                ("/", ""),
            ] {
                let answer = client.post_bytes(path, FORM, body.into()).await;
                let what = format!("POST {} {path} {encoding}", answer.status);
                check_protection(&answer, &what);
                check_private(&answer, &what);
            }
            let large = client.post_bytes("/submit", FORM, vec![b'x'; 200_000]).await;
            assert_eq!(large.status, 413);
            check_protection(&large, "too large");
        }
    }
}

/// A secret of an address, which nothing in these tests has made.
const SECRET: &str = "0123456789abcdef0123456789abcdef01234567";

#[tokio::test]
async fn an_address_with_a_secret_is_neither_sent_nor_stored_nor_repeated_in_links() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let in_query = ["/register?token=", "/welcome?token=", "/register?next=%2Fnews%2F1&invitation="];
    let led_to = ["/login?next=%2Fwelcome%3Ftoken%3D", "/register?next=%2Freset-password%2F"];
    let in_path = ["/reset-password/", "/confirm-email/", "/unsubscribe/", "/inbox/feed/1-"];
    let addresses = in_query.iter().chain(&led_to).chain(&in_path).map(|start| format!("{start}{SECRET}"));
    for address in addresses.chain([format!("/inbox/feed/1-{SECRET}/json")]) {
        for client in [server.visitor(), alice.clone()] {
            let answer = client.get(&address).await;
            assert_eq!(answer.headers["referrer-policy"], "no-referrer", "{address}");
            assert!(values(&answer, "cache-control").contains(&"no-store".to_owned()), "{address}");
            let body = answer.text();
            let links = ["href=\"", "action=\""].map(|start| body.split(start).skip(1).collect::<Vec<_>>());
            for link in links.concat() {
                assert!(!link.split('"').next().unwrap().contains(SECRET), "{address}: {body}");
            }
        }
    }
}

#[tokio::test]
async fn a_strong_version_names_the_bytes_of_one_answer() {
    let Community { server, .. } = Community::new(Engine::Memory, &[]).await;
    let mut compressed = 0;
    for address in addresses() {
        let mut bodies = BTreeMap::new();
        for encoding in ["identity", "gzip", "br"] {
            let answer = server.visitor().with_header("accept-encoding", encoding).get(&address).await;
            compressed += usize::from(answer.headers.contains_key("content-encoding"));
            let tag = answer.headers.get("etag").map(|tag| tag.to_str().unwrap().to_owned());
            let Some(tag) = tag.filter(|tag| tag.starts_with('"')) else { continue };
            let known = bodies.entry(tag).or_insert_with(|| answer.body.clone());
            assert!(*known == answer.body, "{address}: {encoding}");
        }
    }
    assert!(compressed > 100, "only {compressed} answers were compressed");
}

/// A page of 100 items, as it comes with this `Accept-Encoding`.
async fn large_page(client: &Client, encoding: &str) -> (HttpResponse, Option<String>) {
    let answer = client.clone().with_header("accept-encoding", encoding).get("/latest/0").await;
    assert_eq!(answer.status, 200);
    assert!(values(&answer, "vary").contains(&"accept-encoding".to_owned()));
    let applied = answer.headers.get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
    (answer, applied)
}

#[in_memory]
async fn large_pages_are_compressed_if_the_client_accepts_it(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..100 {
        alice.submit_text(&format!("Number {number}"), "text").await;
    }
    let (plain, applied) = large_page(&alice, "identity").await;
    assert_eq!(applied, None);
    assert!(plain.body.len() > 30_000, "{}", plain.body.len());
    for (asked, expected) in
        [("gzip", "gzip"), ("br", "br"), ("gzip;q=0.5, br", "br"), ("gzip, br;q=0", "gzip")]
    {
        let (packed, applied) = large_page(&alice, asked).await;
        assert_eq!(applied.as_deref(), Some(expected), "{asked}");
        assert!(packed.body.len() * 5 < plain.body.len(), "{asked}: {}", packed.body.len());
        // The magic number of gzip; brotli has none.
        assert_eq!(packed.body.starts_with(&[0x1f, 0x8b]), expected == "gzip", "{asked}");
    }
    for refused in ["gzip;q=0", "zstd", ""] {
        assert_eq!(large_page(&alice, refused).await.1, None, "{refused}");
    }
    let feed = alice.clone().with_header("accept-encoding", "gzip").get("/rss").await;
    assert_eq!(feed.headers["content-encoding"], "gzip");
    let head =
        alice.request(Method::HEAD, "/latest/0").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(head.status(), 200);
}

#[tokio::test]
async fn https_is_for_a_year_where_the_site_has_it() {
    for (url, expected) in
        [("https://news.example.com", Some("max-age=31536000")), ("http://news.example.com", None)]
    {
        let server = Server::start(Engine::Memory, &[("site.url", url)]).await;
        for path in ["/", "/nothing", "/api/getnews/top/0/1", "/favicon.ico"] {
            let answer = server.visitor().get(path).await;
            let https_only =
                answer.headers.get("strict-transport-security").map(|value| value.to_str().unwrap());
            assert_eq!(https_only, expected, "{url} {path}");
        }
    }
}

#[tokio::test]
async fn pictures_come_from_gravatar_only_if_there_are_any() {
    for (gravatars, sources) in [("true", "'self' https://www.gravatar.com"), ("false", "'self'")] {
        let server = Server::start(Engine::Memory, &[("web.gravatars", gravatars)]).await;
        let answer = server.visitor().get("/").await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains(&format!("; img-src {sources};")), "{policy}");
    }
}
