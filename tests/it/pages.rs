//! The content of the pages: which users see what, and error pages.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::LOCATION;
use reqwest::{Method, StatusCode};
use tidings_domain::values::secrets::is_masked;
use tidings_web::route::ErrorFormat;
use tidings_web::router::routes;

use crate::client::{Client, HttpResponse, ok, refused};
use crate::community::{Access, COUNTS_REQUESTS, Community, GONE, PAGES};
use crate::html::Page;
use crate::outage::{STORE_TIMEOUT, wait_for};
use crate::routes::filled;
use crate::server::{Engine, Server, in_memory};

/// The page at an address, which must be there.
#[track_caller]
pub fn shown(answer: &HttpResponse) -> Page {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    Page::of(answer)
}

/// The page at an address, which must be there.
pub async fn page(client: &Client, path: &str) -> Page {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
    shown(&answer)
}

/// The source of a page, which must be there.
pub async fn source(client: &Client, path: &str) -> String {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    answer.text()
}

/// Where an answer leads to, which must be a redirect after a form.
#[track_caller]
pub fn redirects_to(answer: &HttpResponse) -> &str {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    answer.headers[LOCATION].to_str().unwrap()
}

/// Where an answer leads to, which must be a page that says something: see `markup::notices`.
#[track_caller]
pub fn redirects_saying<'a>(answer: &'a HttpResponse, path: &str, notice: &str) -> &'a str {
    let to = redirects_to(answer);
    let joined = if path.contains('?') { '&' } else { '?' };
    assert!(to.starts_with(&format!("{path}{joined}notice={notice}.")), "{to}");
    to
}

/// Checks that a response is an error page, and returns its message.
#[track_caller]
pub fn error_message(answer: &HttpResponse, status: StatusCode) -> String {
    assert_eq!(answer.status, status, "{}", answer.text());
    let page = Page::of(answer);
    assert!(page.links_to("/"));
    page.alert().expect("a message").to_owned()
}

/// The address of the login page that redirects back.
fn login_and_back(path: &str) -> String {
    let page = path.split('?').next().unwrap_or_default();
    let reason = routes().find(&Method::GET, page).login;
    let reason = reason.map_or_else(String::new, |reason| format!("&reason={}", reason.name()));
    format!("/login?next={}{reason}", utf8_percent_encode(path, NON_ALPHANUMERIC))
}

/// Checks the parts that every page must have.
#[track_caller]
fn check_page(page: &Page, viewer: &Client) {
    assert!(!page.heading().is_empty());
    // Charts have titles, too.
    assert!(page.all("title").next().unwrap().text().ends_with("Tidings"));
    assert_eq!(page.alert(), None);
    for feed in ["/rss", "/atom"] {
        page.one("link", &[("rel", "alternate"), ("href", feed)]);
    }
    let navigation = page.one("nav", &[("aria-label", "Main")]).text();
    let is_member = viewer.auth.is_some();
    assert_eq!(navigation.contains("Log out"), is_member, "{navigation}");
    assert_eq!(navigation.contains("Sign up"), !is_member, "{navigation}");
    if is_member {
        assert!(navigation.contains(&viewer.username), "{navigation}");
    }
    // Pages have one word for a thing, and one way to write a day.
    let content = page.content().to_lowercase();
    let is_date = |text: &[u8]| {
        text.iter().zip(b"2000-00-00").all(|(at, form)| at.is_ascii_digit() == form.is_ascii_digit())
            && text.starts_with(b"20")
            && text.iter().filter(|at| **at == b'-').count() == 2
    };
    let is_right = !["tweet", "public log"].iter().any(|odd| content.contains(odd))
        && !content.as_bytes().windows(10).any(is_date);
    assert!(is_right || page.heading() == "Changes", "{content}");
    for tabs in page.find("nav", &[("class", "tabs")]) {
        assert!(!tabs.text().contains("all time"), "{}", tabs.text());
    }
    for form in page.forms() {
        let secret = viewer.apisecret.as_deref().filter(|_| form.is_post && is_member);
        let has_no_session =
            ["/login", "/login/passkey", "/register", "/reset-password"].contains(&form.action.as_str());
        let is_right = match (secret, form.value("apisecret")) {
            (Some(secret), Some(masked)) => is_masked(secret, masked),
            (secret, value) => secret.is_none() && value.is_none(),
        };
        assert!(is_right || has_no_session, "{form:?}");
    }
}

async fn check_page_at(path: &str, viewer: &Client) {
    let page = page(viewer, path).await;
    check_page(&page, viewer);
    links_nowhere_to(&page, path);
}

/// Checks that nothing in the header or in the content of a page leads to its own address, and no name in a row to the first
/// part of it.
#[track_caller]
fn links_nowhere_to(page: &Page, path: &str) {
    let first_part = path.split('?').next().unwrap();
    for link in page.within(&["header", "main"]) {
        let (to, class) = (link.attribute("href"), link.attribute("class"));
        let is_name = ["topic", "host", "author"].map(Some).contains(&class);
        assert!(to != Some(path) && !(is_name && to == Some(first_part)), "{path}: {link:?}");
    }
}

#[tokio::test]
async fn every_page_is_available_to_those_allowed_to_see_it() {
    for engine in [Engine::Memory, Engine::Redis] {
        let Community { server, alice, bob } = Community::new(engine, &[]).await;
        let visitor = server.visitor();
        for tab in ["month", "server"] {
            check_page_at(&format!("/admin?tab={tab}"), &alice).await;
        }
        for (path, access) in PAGES.iter().copied() {
            check_page_at(path, &alice).await;
            match access {
                Access::Always | Access::Everybody => {
                    check_page_at(path, &visitor).await;
                    check_page_at(path, &bob).await;
                }
                Access::Members => {
                    assert_eq!(redirects_to(&visitor.get(path).await), login_and_back(path));
                    check_page_at(path, &bob).await;
                }
                Access::Alice => {
                    assert_eq!(redirects_to(&visitor.get(path).await), login_and_back(path));
                    error_message(&bob.get(path).await, StatusCode::FORBIDDEN);
                }
            }
        }
    }
}

#[tokio::test]
async fn every_page_of_a_moderator_says_how_much_waits() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    ok(server.member("carol").await.call("/api/flag?kind=story&id=1&reason=spam").await);
    let badge = |page: &Page| {
        let badges = page.find("span", &[("class", "badge")]);
        badges.iter().filter(|badge| badge.text().ends_with("waiting")).count()
    };
    let (posts, nothing) = (["/flag", "/moderate/rules", "/nothing"], ["/nothing", "/news/999"]);
    for is_first in [true, false] {
        for (path, _) in PAGES.iter() {
            // The queue may have changed.
            ok(alice.moderate("warn", ("user", "bob"), &[("reason", "be kind")]).await);
            if is_first {
                // The viewer is in no cache.
                server.clear_caches().await;
            }
            assert_eq!(badge(&page(&alice, path).await), 2, "{path}");
        }
        for path in nothing {
            assert_eq!(badge(&Page::of(&alice.get(path).await)), 2, "{path}");
        }
        for path in posts {
            assert_eq!(badge(&Page::of(&alice.post(path, &[]).await)), 2, "{path}");
        }
    }
    assert_eq!(badge(&page(&bob, "/").await), 0);
}

#[tokio::test]
async fn head_answers_as_get_without_the_page() {
    let Community { alice, server: _server, .. } = Community::new(Engine::Memory, &[]).await;
    // Pages that are opened read entries of the inbox, and all pages have its badge.
    ok(alice.call("/api/readinbox?id=all").await);
    let paths = PAGES.iter().map(|(path, _)| *path).filter(|path| *path != COUNTS_REQUESTS);
    for path in paths.chain(["/rss", "/nothing", "/robots.txt"]) {
        let get = alice.get(path).await;
        let head = alice.request(Method::HEAD, path).send().await.unwrap();
        assert_eq!(head.status(), get.status, "{path}");
        for (name, value) in &get.headers {
            // Whether an answer could be compressed is only known with its body.
            if !["date", "vary", "x-request-id"].contains(&name.as_str()) {
                assert_eq!(head.headers().get(name), Some(value), "{path} {name}");
            }
        }
        assert!(head.bytes().await.unwrap().is_empty(), "{path}");
    }
}

/// The ends of the addresses of feeds and of lists of them.
const FEEDS: [&str; 5] = ["/rss", "/atom", "/json", "/feed", ".opml"];

/// Follows all links of the site and the forms that only ask, from the front
/// page on, and looks at every page on the way. Answers the pages by address.
pub async fn crawl(client: &Client) -> BTreeMap<String, Page> {
    let mut pages = BTreeMap::new();
    let mut waiting = BTreeSet::from(["/".to_owned()]);
    while let Some(path) = waiting.pop_first() {
        let answer = client.get(&path).await;
        if answer.status == StatusCode::SEE_OTHER {
            waiting.insert(redirects_to(&answer).to_owned());
        } else if !FEEDS.iter().any(|end| path.ends_with(end)) && !path.starts_with("/api/") {
            let page = shown(&answer);
            waiting.extend(ways_on(&page));
            pages.insert(path, page);
        }
        waiting.retain(|found| !pages.contains_key(found));
    }
    assert!(pages.len() > 15, "{:?}", pages.keys());
    pages
}

/// The addresses of this site that a page leads to: by its links, by forms
/// that only ask, and after forms that do something.
fn ways_on(page: &Page) -> Vec<String> {
    let mut ways: Vec<String> =
        page.all("a").filter_map(|link| link.attribute("href")).map(str::to_owned).collect();
    for form in page.forms() {
        ways.extend(form.value("next").map(str::to_owned));
        if form.action == "/login" && !form.is_post {
            let reason = form.value("reason").map_or(String::new(), |reason| format!("&reason={reason}"));
            let wishes = form.value("next").into_iter().chain(form.buttons("next"));
            let login = |next| format!("/login?next={}{reason}", utf8_percent_encode(next, NON_ALPHANUMERIC));
            ways.extend(wishes.map(login));
        } else if !form.is_post {
            ways.push(form.action);
        }
    }
    ways.retain(|way| way.starts_with('/') && way != "/random");
    ways.into_iter().map(|way| way.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn no_page_has_a_broken_link_or_shows_deleted_content() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    for number in 0..31 {
        bob.submit_text(&format!("Number {number}"), "text").await;
    }
    for client in [server.visitor(), bob, alice] {
        for (path, page) in crawl(&client).await {
            links_nowhere_to(&page, &path);
            // An administrator must see what is to be erased.
            if path.starts_with("/moderate/erase/") {
                continue;
            }
            for gone in GONE {
                assert!(!page.text().contains(gone), "{gone} at {path}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_deleted_is_called_that_and_the_rest_of_its_thread_stays_readable() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    for client in [server.visitor(), alice.clone(), bob.clone()] {
        let thread = page(&client, "/news/3").await;
        assert_eq!(thread.heading(), "[deleted story]");
        assert!(thread.content().contains("It stays readable"));
        let forms = thread.forms().into_iter().filter(|form| form.action != "/logout");
        assert_eq!(forms.count(), 0);
        for list in ["/", "/latest/0"] {
            assert!(!page(&client, list).await.links_to("/news/3"));
        }
        assert!(page(&client, "/usernews/bob/0").await.content().contains("[deleted story]"));

        // A deleted comment is a gap above its answers, and nowhere without.
        let thread = page(&client, "/news/1").await;
        let gap = thread.one("li", &[("id", "comment-3")]).text();
        assert!(gap.contains("[deleted comment]") && !gap.contains("bob"), "{gap}");
        thread.one("li", &[("id", "comment-4")]);
        assert!(thread.find("li", &[("id", "comment-5")]).is_empty());
        let alone = page(&client, "/news/1?at=3").await;
        assert!(alone.content().contains("[deleted comment]"));
        assert!(alone.content().contains("An answer to what was withdrawn"));
        error_message(&client.get("/news/1?at=5").await, StatusCode::NOT_FOUND);
    }
    for path in ["/editnews/3", "/delnews/3", "/reply/3/1"] {
        let told = error_message(&alice.get(path).await, StatusCode::FORBIDDEN);
        assert_eq!(told, "This story has been deleted.");
    }
    for (path, status) in [
        ("/reply/1/3", StatusCode::FORBIDDEN),
        ("/editcomment/1/3", StatusCode::FORBIDDEN),
        ("/reply/1/5", StatusCode::NOT_FOUND),
        ("/editcomment/1/5", StatusCode::NOT_FOUND),
    ] {
        error_message(&bob.get(path).await, status);
    }
}

/// Path segments that are not valid ids.
const NO_IDS: &str = "0 -1 01 01x 1x 1.0 1%20 %201 1%0A +1 nextid 999 9223372036854775807 \
    99999999999999999999999999 %D9%A1 %FF%FE %00 ..%2F1";

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let before = server.dump().await;
    let families = "/news/* /news/*?at=1 /reply/1/* /reply/*/1 /editcomment/1/* /editcomment/*/2 /editnews/* \
        /delnews/* /tweet/* /deltweet/*";
    let without_id = |family: &str| NO_IDS.split(' ').map(|id| family.replace('*', id)).collect::<Vec<_>>();
    let mut absent: Vec<String> = families.split(' ').flat_map(without_id).collect();
    for start in ["-1", "01x", "nextid", "1.0", "+1", "1%0A", "%FF", "1000000001", "99999999999999999999"] {
        for family in ["/latest/", "/saved/", "/upvoted/", "/usernews/alice/", "/usercomments/alice/"] {
            absent.push(format!("{family}{start}"));
        }
    }
    for name in ["nobody", "%FF", "%00", "*", "alice%0A", "..%2Falice", "%3Cscript%3E", "\u{202e}"] {
        absent.push(format!("/user/{name}"));
        absent.push(format!("/@{name}"));
        for list in ["followers", "followings", "feed"] {
            absent.push(format!("/@{name}/{list}"));
        }
        absent.push(format!("/usernews/{name}/0"));
        absent.push(format!("/usercomments/{name}/0"));
    }
    let paths = "/nothing /news /news/ /news/1/1 /comment/1 /user/ /LATEST/0 /assets/app.css \
        /assets/app-000000000000.css /assets/..%2F..%2FCargo.toml /assets/ /.env /%FF /index.html \
        //news/1 /reset-password/0000000000000000000000000000000000000000 /reset-password/%FF";
    absent.extend(paths.split(' ').map(str::to_owned));
    for path in absent {
        for client in [&server.visitor(), &bob, &alice] {
            let answer = client.get(&path).await;
            if answer.status == StatusCode::SEE_OTHER {
                assert!(client.auth.is_none(), "{path}");
                assert!(redirects_to(&answer).starts_with("/login?next="), "{path}");
            } else {
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
                error_message(&answer, StatusCode::NOT_FOUND);
            }
        }
    }
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn a_list_beyond_its_end_is_empty_and_links_back() {
    let Community { alice, server: _server, .. } = Community::new(Engine::Memory, &[]).await;
    for family in ["/latest/", "/saved/", "/upvoted/", "/usernews/alice/", "/usercomments/alice/"] {
        for start in ["5", "999", "1000000000"] {
            let page = page(&alice, &format!("{family}{start}")).await;
            assert!(page.find("li", &[("data-item", "")]).is_empty());
            assert!(!page.one("p", &[("class", "empty")]).text().is_empty());
            page.one("a", &[("rel", "prev")]);
            assert!(page.find("a", &[("rel", "next")]).is_empty());
        }
    }
}

#[in_memory]
async fn lists_go_on_from_page_to_page(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..101 {
        alice.submit_text(&format!("Number {number}"), "text").await;
    }
    for _ in 0..31 {
        alice.comment(1, "A comment").await;
    }
    for (path, lengths) in [
        ("/", vec![30, 30, 30, 11]),
        ("/latest/0", vec![30, 30, 30, 11]),
        ("/usernews/alice/0", vec![30, 30, 30, 11]),
        ("/upvoted", vec![30, 30, 30, 11]),
        ("/usercomments/alice/0", vec![30, 1]),
    ] {
        let mut next = Some(path.to_owned());
        let mut found: Vec<usize> = Vec::new();
        while let Some(path) = next {
            let page = page(&alice, &path).await;
            // A story is an element of a list; a comment is within one.
            let items = ["li", "article"].map(|name| page.find(name, &[("data-item", "")]).len());
            found.push(items.iter().sum::<usize>());
            next = page.find("a", &[("rel", "next")]).first().map(|link| {
                assert_eq!(link.text(), "more");
                link.attribute("href").unwrap().to_owned()
            });
        }
        assert_eq!(found, lengths, "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_not_allowed_and_the_right_ones_are_named() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[("search.enabled", "true")]).await;
    let before = server.dump().await;
    for route in routes().iter() {
        let (method, allowed) = match (route.get, route.post) {
            (Some(_), Some(_)) => (Method::DELETE, "GET,HEAD,POST"),
            (Some(_), None) => (Method::POST, "GET,HEAD"),
            (None, _) => (Method::GET, "POST"),
        };
        let path = filled(&route.pattern);
        let is_api = match routes().find(&method, &path).errors {
            ErrorFormat::Page => false,
            ErrorFormat::Api => true,
            _ => continue,
        };
        let response = alice.request(method.clone(), &path).send().await.unwrap();
        let answer = HttpResponse {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await.unwrap().to_vec(),
        };
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        assert_eq!(answer.headers["allow"], allowed, "{method} {path}");
        if is_api {
            refused(answer.json());
        } else {
            error_message(&answer, StatusCode::METHOD_NOT_ALLOWED);
        }
    }
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn addresses_that_are_no_pages_lead_to_one() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    // A random story is one that is there.
    let mut seen = BTreeSet::new();
    for _ in 0..40 {
        seen.insert(redirects_to(&server.visitor().get("/random").await).to_owned());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["/news/1", "/news/2"]);
    let empty = Server::start(Engine::Memory, &[]).await;
    assert_eq!(redirects_to(&empty.visitor().get("/random").await), "/");
    // Password managers find where a password is changed.
    for client in [&server.visitor(), &alice] {
        let found = client.get("/.well-known/change-password").await;
        assert_eq!(redirects_to(&found), "/settings/account#password");
    }
    page(&alice, "/settings/account").await.one("input", &[("id", "password"), ("type", "password")]);
    // One with a slash too much leads to the one without.
    for (asked, to) in [
        ("/login/", "/login"),
        ("/news/1/", "/news/1"),
        ("/@alice/", "/@alice"),
        ("/latest/0/?hidden=1", "/latest/0?hidden=1"),
        ("/about//", "/about"),
    ] {
        let answer = alice.get(asked).await;
        assert_eq!(answer.status, StatusCode::PERMANENT_REDIRECT, "{asked}");
        assert_eq!(answer.headers[LOCATION], to);
    }
    for nothing in ["//", "//evil.example/", "/nothing/", "/news/", "/news/99/", "/api/topics/"] {
        assert_eq!(alice.get(nothing).await.status, StatusCode::NOT_FOUND, "{nothing}");
    }
    assert_eq!(alice.post("/login/", &[]).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn opening_the_logout_page_does_not_log_out() {
    let Community { alice, server: _server, .. } = Community::new(Engine::Memory, &[]).await;
    let asked = page(&alice, "/logout").await;
    assert_eq!(asked.forms().iter().filter(|form| form.action == "/logout").count(), 2);
    assert!(alice.is_logged_in().await);
}

/// The badge in the navigation, and how many replies the store says are new.
async fn badge(client: &Client, path: &str) -> Option<String> {
    let page = page(client, path).await;
    page.find("span", &[("class", "badge")]).first().map(|badge| badge.text().to_owned())
}

#[in_memory]
async fn comments_with_the_same_id_on_two_stories_have_different_anchors(server: Server) {
    let alice = server.member("alice").await;
    for title in ["One", "Two"] {
        let news = alice.submit_text(title, "text").await;
        assert_eq!(alice.comment(news, "A comment").await, 1);
    }
    let bob = server.member("bob").await;
    let shown = page(&alice, "/usercomments/alice/0").await;
    for anchor in ["comment-1-1", "comment-2-1"] {
        shown.one("li", &[("id", anchor)]);
    }
    let votes = page(&bob, "/usercomments/alice/0").await.forms();
    let vote = votes.into_iter().find(|form| form.value("comment_id") == Some("2-1")).unwrap();
    let voted = vote.pressing("up").send(&bob).await;
    assert_eq!(redirects_to(&voted), "/usercomments/alice/0#2-1");
}

#[tokio::test]
async fn the_badge_counts_entries_until_they_are_marked_as_read() {
    let Community { server: _server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    for path in ["/", "/latest/0", "/inbox", "/inbox"] {
        assert_eq!(badge(&bob, path).await.as_deref(), Some("3 unread"), "{path}");
    }
    // Bob's comments on her story, without those that he has deleted.
    assert_eq!(badge(&alice, "/").await.as_deref(), Some("1 unread"));
    let inbox = page(&bob, "/inbox").await;
    assert!(inbox.content().contains("It stays readable") && inbox.content().contains("An answer"));
    let all = inbox.forms().into_iter().find(|form| form.value("id") == Some("all")).unwrap();
    assert!(redirects_to(&all.send(&bob).await).starts_with("/inbox?marked="));
    assert_eq!(badge(&bob, "/inbox").await, None);
    alice.reply(1, 1, "One more").await;
    assert_eq!(badge(&bob, "/about").await.as_deref(), Some("1 unread"));
}

#[tokio::test]
async fn the_administrator_alone_is_led_to_the_administration() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    assert!(page(&alice, "/").await.links_to("/admin"));
    for client in [&server.visitor(), &bob] {
        assert!(!page(client, "/").await.links_to("/admin"));
    }
    let facts = page(&alice, "/admin?tab=server").await;
    for (name, value) in [("users", "2"), ("stories submitted", "3"), ("stories listed", "2")] {
        assert!(facts.content().contains(&format!("{name}{value}")), "{name}: {}", facts.content());
    }
}

#[tokio::test]
async fn while_the_store_is_away_pages_say_so_and_afterwards_they_are_back() {
    let mut community = Community::new(Engine::Redis, &[STORE_TIMEOUT]).await;
    community.server.redis.as_mut().unwrap().stop();
    let visitor = community.server.visitor();
    let check = |answer: &HttpResponse| {
        assert!(error_message(answer, StatusCode::SERVICE_UNAVAILABLE).contains("cannot reach its database"));
        assert_eq!(answer.headers["retry-after"], "10");
    };
    for (path, access) in
        PAGES.iter().copied().chain([("/rss", Access::Everybody), ("/random", Access::Everybody)])
    {
        if path != "/rss" && path != "/random" {
            check(&community.alice.get(path).await);
        }
        let answer = visitor.get(path).await;
        match access {
            Access::Always => assert_eq!(answer.status, StatusCode::OK, "{path}"),
            Access::Everybody => check(&answer),
            Access::Members | Access::Alice => assert!(redirects_to(&answer).starts_with("/login"), "{path}"),
        }
    }
    for path in ["/submit", "/editnews/1", "/delnews/1", "/votenews", "/postcomment", "/profile", "/logout"] {
        check(&community.alice.post(path, &[("news_id", "1")]).await);
    }
    for path in ["/login", "/register"] {
        check(&visitor.post(path, &[("username", "alice"), ("password", "correct horse")]).await);
    }
    community.server.redis.as_mut().unwrap().start_again();
    wait_for(&visitor, StatusCode::OK).await;
    // The test's server keeps nothing on disk: it came back empty.
    let community = Community::on(community.server).await;
    check_page(&page(&community.alice, "/news/1").await, &community.alice);
}

/// The addresses within the site that a page links to.
pub fn local_links(page: &Page) -> BTreeSet<String> {
    let links = page.all("a").filter_map(|link| link.attribute("href"));
    let local = links.filter(|address| address.starts_with('/'));
    local.map(|address| address.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn no_page_links_to_one_that_refuses_its_reader() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let (moderator, silenced) = (server.moderator("moderator").await, server.member("silenced").await);
    ok(alice.moderate("silence", ("user", "silenced"), &[("reason", "spam"), ("hours", "1")]).await);
    // Nobody may change what was written before.
    server.advance(3_600 * 24 * 30);
    for client in [server.visitor(), bob, moderator, silenced, alice] {
        let mut links = BTreeMap::new();
        for (path, _) in PAGES.iter() {
            let answer = client.get(path).await;
            if answer.status == StatusCode::OK {
                links.extend(local_links(&Page::of(&answer)).into_iter().map(|link| (link, *path)));
            }
        }
        assert!(links.len() > 30, "{links:?}");
        for (link, page) in links {
            let answer = client.get(&link).await;
            // A visitor may be led to the login.
            let is_open = answer.status == StatusCode::OK || answer.status.is_redirection();
            let to_login =
                answer.headers.get(LOCATION).is_some_and(|to| to.to_str().unwrap().starts_with("/login"));
            let is_refused = !is_open || to_login && client.auth.is_some();
            assert!(!is_refused, "{} follows {link} on {page}: {}", client.username, answer.status);
        }
    }
}
