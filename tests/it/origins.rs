//! Requests from pages of other sites, and the secret of forms as pages have it.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};

use tidings_web::route::Senders;
use tidings_web::router::routes;

use crate::client::{Client, HttpResponse, PASSWORD, encoded, ok};
use crate::community::Community;
use crate::pages::{error_message, page, redirects_to};
use crate::routes::{post_routes, routes_where};
use crate::server::{Engine, Server, in_memory};

const SITE: (&str, &str) = ("site.url", "https://news.example.com");

/// Every address that takes a POST, with something for its variables.
fn posts() -> BTreeSet<String> {
    let filled = |route: String| {
        let segments = route.split('/').map(|segment| if segment.starts_with('{') { "1" } else { segment });
        segments.collect::<Vec<_>>().join("/")
    };
    let found: BTreeSet<String> = post_routes().into_iter().map(filled).collect();
    assert!(found.len() > 100, "{found:?}");
    found
}

#[test]
fn what_knows_no_session_may_be_sent_from_elsewhere() {
    let routes = routes_where(|route| route.post.filter(|facts| facts.senders != Senders::Ours));
    let expected = ["/api/sites/own", "/oidc/logout", "/unsubscribe/{token}", "/v1/vote", "/vote"];
    assert_eq!(routes, expected.map(str::to_owned).into());
}

/// The refusal in the form of the address.
#[track_caller]
fn is_refused(answer: &HttpResponse, path: &str) -> bool {
    let refused = answer.status == StatusCode::FORBIDDEN && answer.text().contains("sent from another site");
    if refused && path.starts_with("/api/") {
        let answer = answer.json();
        assert_eq!(answer["status"], "err", "{path}");
        assert_eq!(answer.as_object().unwrap().len(), 3, "{path}");
    } else if refused {
        error_message(answer, StatusCode::FORBIDDEN);
    }
    refused
}

/// The headers of a request, and whether it may come from there.
const SENDERS: [(&[(&str, &str)], bool); 8] = [
    (&[], true),
    (&[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")], true),
    (&[("sec-fetch-site", "none")], true),
    (&[("sec-fetch-site", "same-site"), ("origin", "https://news.example.com")], false),
    (&[("sec-fetch-site", "cross-site")], false),
    (&[("origin", "https://news.example.com")], true),
    (&[("origin", "https://evil.example")], false),
    (&[("origin", "null")], false),
];

fn sent_by(client: &Client, headers: &[(&'static str, &str)]) -> Client {
    headers.iter().fold(client.clone(), |client, (name, value)| client.with_header(name, value))
}

#[tokio::test]
async fn no_call_that_changes_something_is_taken_from_another_site() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[SITE]).await;
    let before = server.dump().await;
    for path in posts() {
        for (headers, may) in SENDERS {
            let is_free = routes().find(&Method::POST, &path).senders != Senders::Ours;
            for client in [&server.visitor(), &alice] {
                // Without the secret nothing happens where it may.
                let client = sent_by(client, headers).with_secrets(client.auth.as_deref(), None);
                let answer = client.post(&path, &[]).await;
                assert_eq!(is_refused(&answer, &path), !may && !is_free, "{path} {headers:?}");
            }
        }
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory(&[SITE])]
async fn the_forms_without_a_session_are_not_taken_from_another_site(server: Server) {
    let fields = [("username", "alice"), ("password", PASSWORD), ("email", "a@example.org")];
    let query = encoded(&fields);
    let elsewhere = server.visitor().with_header("sec-fetch-site", "cross-site");
    for path in ["/api/create_account", "/register", "/api/login", "/login", "/api/reset-password"] {
        assert!(is_refused(&elsewhere.post(path, &fields).await, path), "{path}");
    }
    // Nobody has become the administrator.
    assert!(server.dump().await.is_empty());
    server.register("alice").await;
    for path in ["/api/login", "/api/reset-password"] {
        let address = format!("{path}?{query}");
        assert!(is_refused(&elsewhere.get(&address).await, path), "{path}");
        let head = elsewhere.request(Method::HEAD, &address).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::FORBIDDEN);
        for headers in [&[][..], &[("sec-fetch-site", "same-origin")]] {
            assert!(!is_refused(&sent_by(&server.visitor(), headers).get(&address).await, path), "{path}");
        }
    }
    // A link from elsewhere opens a page.
    assert_eq!(elsewhere.get("/login").await.status, StatusCode::OK);
}

#[in_memory(&[SITE])]
async fn a_site_that_is_used_at_a_literal_address_takes_its_own_forms(server: Server) {
    server.register("alice").await;
    let fields = [("username", "alice"), ("password", PASSWORD)];
    let here = server.address;
    for (origin, may) in [
        (format!("http://{here}"), true),
        (format!("https://{here}"), true),
        (format!("http://127.0.0.1:{}", here.port() ^ 1), false),
        (format!("http://localhost:{}", here.port()), false),
    ] {
        let client = server.visitor().with_header("origin", &origin);
        assert_eq!(is_refused(&client.post("/api/login", &fields).await, "/api/login"), !may, "{origin}");
    }
}

#[tokio::test]
async fn the_secret_in_a_page_is_masked_anew_in_every_answer() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let plain = alice.apisecret.as_deref().unwrap();
    let mut masked = BTreeSet::new();
    for _ in 0..3 {
        let answer = alice.get("/settings").await;
        assert!(!answer.text().contains(plain));
        let shown = page(&alice, "/settings").await;
        let secrets: BTreeSet<String> =
            shown.forms().iter().filter_map(|form| form.value("apisecret").map(str::to_owned)).collect();
        // All forms of one page carry the same.
        assert_eq!(secrets.len(), 1);
        masked.extend(secrets);
    }
    assert_eq!(masked.len(), 3);
    let is_taken = async |client: &Client, secret: &str| {
        client.with_secrets(client.auth.as_deref(), Some(secret)).is_logged_in().await
    };
    assert!(is_taken(&alice, plain).await);
    for secret in &masked {
        assert!(is_taken(&alice, secret).await);
        assert!(!is_taken(&bob, secret).await);
        for position in [0, secret.len() / 2, secret.len() - 1] {
            let mut tampered = secret.clone().into_bytes();
            tampered[position] = if tampered[position] == b'0' { b'1' } else { b'0' };
            assert!(!is_taken(&alice, std::str::from_utf8(&tampered).unwrap()).await);
        }
        assert!(!is_taken(&alice, &secret[1..]).await && !is_taken(&alice, &format!("{secret}0")).await);
    }
    // A form of a page, and the call that the script makes with its fields.
    let form = page(&bob, "/").await.forms().into_iter().find(|form| form.action == "/votenews").unwrap();
    let [news, secret] = ["news_id", "apisecret"].map(|name| form.value(name).unwrap());
    server.set_karma(&bob, 100).await;
    ok(bob.call(&format!("/api/votenews?news_id={news}&vote_type=down&apisecret={secret}")).await);
    let form = page(&alice, "/").await.form("/logout");
    assert_eq!(redirects_to(&form.send(&alice).await), "/");
}
