//! The descriptions of pages in their head, and the files for browsers and crawlers.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use roxmltree::Document;

use crate::client::{Client, ok};
use crate::community::PAGES;
use crate::html::Page;
use crate::pages::page;
use crate::server::{Batch, Server, in_memory};

const SITE: &str = "https://news.example.com";

/// The content of a `meta` element; `None` if the page has none.
#[track_caller]
fn meta<'a>(page: &'a Page, kind: &str, name: &str) -> Option<&'a str> {
    let found = page.find("meta", &[(kind, name)]);
    assert!(found.len() <= 1, "{name} is there twice");
    found.first().and_then(|meta| meta.attribute("content"))
}

/// Checks that a page has a canonical address, and says the same to those who link to it.
#[track_caller]
fn check_head(page: &Page, path: &str, kind: &str, title: &str, description: &str) {
    let whole = format!("{SITE}{path}");
    assert_eq!(page.one("link", &[("rel", "canonical")]).attribute("href"), Some(&*whole));
    let og = |name: &str| meta(page, "property", &format!("og:{name}"));
    assert_eq!(og("url"), Some(&*format!("{SITE}{path}")));
    assert_eq!(
        (og("type"), og("title"), og("site_name")),
        (Some(kind), Some(title), Some("Tidings")),
        "{path}"
    );
    assert_eq!(
        (og("description"), meta(page, "name", "description")),
        (Some(description), Some(description))
    );
    assert_eq!(meta(page, "name", "twitter:card"), Some("summary"));
}

async fn site(server: &Server) -> (Client, Client) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_link("A <link> & \"more\"", "http://example.com/a").await;
    alice.submit_text("A text", "Some *text* with a [link](http://example.com/) & \"quotes\"").await;
    bob.comment(1, "> A quote\n\nand **words**").await;
    bob.tweet("Hello @alice").await;
    ok(alice.update_profile("I read\n\na lot.", "", "").await);
    (alice, bob)
}

#[in_memory(&[("site.url", SITE), ("site.description", "What we \"read\"")])]
async fn pages_say_what_they_are_about(server: Server) {
    let (alice, bob) = site(&server).await;
    let visitor = server.visitor();
    let shown = async |path: &str| page(&visitor, path).await;
    check_head(&shown("/").await, "/", "website", "Tidings", "What we \"read\"");
    let link = "1 comment on Tidings about a story from example.com submitted by alice.";
    check_head(&shown("/news/1").await, "/news/1", "article", "A <link> & \"more\"", link);
    let text = "Some text with a link & \"quotes\"";
    check_head(&shown("/news/2").await, "/news/2", "article", "A text", text);
    let comment = "bob: A quote and words";
    let title = "A <link> & \"more\"";
    check_head(&shown("/news/1?at=1").await, "/news/1", "article", title, comment);
    check_head(&shown("/@ALICE").await, "/@alice", "profile", "alice", "I read a lot.");
    let about = "Stories and comments by bob on Tidings.";
    check_head(&shown("/user/bob").await, "/@bob", "profile", "bob", about);
    check_head(&shown("/tweet/3").await, "/tweet/3", "article", "Post by bob", "Hello @alice");
    let about = "How people on Tidings rate example.com, and its stories. Not enough votes yet.";
    check_head(&shown("/site/example.com").await, "/site/example.com", "website", "example.com", about);
    // The programs that show cards have no session.
    for path in ["/", "/news/1", "/@alice", "/site/example.com"] {
        let page = page(&alice, path).await;
        assert_eq!(meta(&page, "property", "og:title"), None, "{path}");
        assert_eq!(page.find("link", &[("rel", "canonical")]).len(), 1, "{path}");
    }
    // Deleted texts are not repeated.
    ok(bob.edit_comment(1, 1, "").await);
    ok(alice.api_post("/api/delnews", &[("news_id", "2")]).await);
    let deleted = page(&server.visitor(), "/news/2").await;
    check_head(&deleted, "/news/2", "article", "[deleted story]", "What we \"read\"");
}

#[in_memory(&[("site.url", SITE)])]
async fn personal_pages_and_errors_are_not_for_sharing(server: Server) {
    let (alice, _) = site(&server).await;
    for path in ["/home", "/settings", "/submit", "/login", "/reply/1/1", "/nothing"] {
        let answer = alice.get(path).await;
        let page = Page::of(&answer);
        assert_eq!(
            (meta(&page, "property", "og:url"), page.find("link", &[("rel", "canonical")]).len()),
            (None, 0)
        );
        assert!(meta(&page, "name", "description").is_some(), "{path}");
    }
}

#[in_memory(&[("site.name", "News & \"more\"")])]
async fn every_page_has_icons_and_a_manifest(server: Server) {
    let (alice, visitor) = (server.member("alice").await, server.visitor());
    for path in ["/", "/about", "/nothing", "/login"] {
        let page = Page::of(&visitor.get(path).await);
        for (rel, start) in
            [("icon", b"<svg".as_slice()), ("alternate icon", b"\x89PNG"), ("apple-touch-icon", b"\x89PNG")]
        {
            let icon = page.one("link", &[("rel", rel)]).attribute("href").unwrap();
            let answer = visitor.get(icon).await;
            assert_eq!(answer.status, StatusCode::OK, "{icon}");
            assert!(answer.body.starts_with(start), "{icon}");
        }
        assert_eq!(page.one("link", &[("rel", "manifest")]).attribute("href"), Some("/manifest.webmanifest"));
    }
    let icon = visitor.get("/favicon.ico").await;
    assert!(icon.body.starts_with(&[0, 0, 1, 0]) && icon.headers["content-type"] == "image/x-icon");
    for client in [&visitor, &alice] {
        let answer = client.get("/manifest.webmanifest").await;
        assert_eq!(answer.headers["content-type"], "application/manifest+json");
        assert_eq!(answer.headers["cache-control"], "public, max-age=86400");
        let manifest: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&manifest["name"], &manifest["start_url"]), (&"News & \"more\"".into(), &"/".into()));
        let icons = manifest["icons"].as_array().unwrap();
        assert_eq!(icons.len(), 3);
        for icon in icons {
            let answer = client.get(icon["src"].as_str().unwrap()).await;
            assert_eq!(
                (answer.status, &answer.headers["content-type"]),
                (StatusCode::OK, &icon["type"].as_str().unwrap().parse().unwrap())
            );
        }
    }
}

/// The addresses in a document of the sitemap.
async fn addresses(client: &Client, path: &str) -> Vec<String> {
    let answer = client.get(path).await;
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (StatusCode::OK, &"application/xml; charset=utf-8".parse().unwrap())
    );
    assert!(answer.body.len() <= 1024 * 1024);
    let body = answer.text();
    let document = Document::parse(&body).unwrap();
    let namespace = document.root_element().tag_name().namespace();
    assert_eq!(namespace, Some("http://www.sitemaps.org/schemas/sitemap/0.9"));
    let locations = document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.sitemaps.org/schemas/sitemap/0.9", "loc")));
    locations.map(|node| node.text().unwrap().to_owned()).collect()
}

#[in_memory(&[("site.url", SITE)])]
async fn the_lists_of_the_sitemap_are_pages_for_everyone_and_it_has_every_story_once(server: Server) {
    for address in addresses(&server.visitor(), "/sitemap/1").await {
        let path = address.strip_prefix(SITE).unwrap();
        assert!(PAGES.iter().any(|(known, _)| *known == path), "{path}");
        page(&server.visitor(), path).await;
    }
    let visitor = server.visitor();
    let part = |number: u64| format!("{SITE}/sitemap/{number}");
    assert_eq!(addresses(&visitor, "/sitemap.xml").await, [part(1)]);
    assert_eq!(addresses(&visitor, "/sitemap/1").await.len(), 11);
    let (alice, _) = site(&server).await;
    assert!(addresses(&visitor, "/sitemap/1").await.contains(&format!("{SITE}/news/2")));
    ok(alice.api_post("/api/delnews", &[("news_id", "2")]).await);
    assert!(!addresses(&visitor, "/sitemap/1").await.contains(&format!("{SITE}/news/2")));

    let mut batch = Batch::new();
    for id in 3..=6_000_u64 {
        batch.sorted_add("news.cron", id.to_string(), 1_900_000_000.0 + id as f64);
    }
    server.commit(batch).await;
    assert_eq!(addresses(&visitor, "/sitemap.xml").await, [part(3), part(2), part(1)]);
    let mut found = Vec::new();
    for number in 1..=3 {
        let before = server.store().rounds();
        found.extend(addresses(&alice, &format!("/sitemap/{number}")).await);
        // The numbers, and which of them readers' flags hide.
        assert!(server.store().rounds() - before <= 2);
    }
    let expected = (1..=6_000).filter(|id| *id != 2).map(|id| format!("{SITE}/news/{id}"));
    assert_eq!(found.len(), 11 + 5_999);
    assert_eq!(found.into_iter().skip(11).collect::<BTreeSet<_>>(), expected.collect::<BTreeSet<_>>());
    for path in ["/sitemap/0", "/sitemap/4", "/sitemap/01", "/sitemap/x", "/sitemap/99999999999999999999"] {
        assert_eq!(visitor.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}
