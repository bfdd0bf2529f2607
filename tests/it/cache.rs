//! Cached responses equal fresh ones: never stale for the user who acted, and never shown to
//! another user.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::{Method, StatusCode};

use crate::client::{Client, PASSWORD, ok};
use crate::community::{Access, COUNTS_REQUESTS, Community, PAGES};
use crate::redis_server::RedisServer;
use crate::routes::shared_reads;
use crate::server::{Engine, Server, each_engine, in_memory};

/// The attribute of the button of the viewer's own vote.
const PRESSED: &str = r#"aria-pressed="true""#;

/// The pages, and whatever is text and the same for all visitors: calls, feeds, files.
fn addresses() -> BTreeSet<String> {
    let pages = PAGES.iter().copied().filter(|(_, access)| *access != Access::Always).map(|(page, _)| page);
    let pages = pages.filter(|page| *page != COUNTS_REQUESTS).map(str::to_owned);
    // Each feed in one of its formats.
    let shared = shared_reads(|facts| !facts.has_events).into_iter().filter(|path| !path.ends_with("json"));
    pages.chain(shared.filter(|path| path != "/favicon.ico")).collect()
}

/// All responses to a visitor, with their status.
async fn read_all(client: &Client) -> BTreeMap<String, (StatusCode, String)> {
    let mut seen = BTreeMap::new();
    for address in addresses() {
        let answer = client.get(&address).await;
        // Masked secrets differ each time, and so do the ids of requests.
        let body = without_secrets(&answer.text());
        let body = body.replace(answer.headers["x-request-id"].to_str().unwrap(), "ID");
        seen.insert(address, (answer.status, body));
    }
    seen
}

/// A page without the secrets of its forms, and without the names of their requests.
fn without_secrets(page: &str) -> String {
    let fields = [r#"name="apisecret" value=""#, r#"name="request" value=""#];
    fields.into_iter().fold(page.to_owned(), |page, field| {
        let mut parts = page.split(field);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |page, part| page + part.split_once('"').unwrap().1)
    })
}

/// Compares all responses with those after the caches are cleared.
async fn check_cache(server: &Server, visitors: &[Client], after: &str) {
    for client in visitors {
        // The first visit of a member to a thread changes what is new in lists.
        if client.auth.is_some() {
            read_all(client).await;
        }
        let seen = read_all(client).await;
        server.clear_caches().await;
        for (address, fresh) in read_all(client).await {
            assert_eq!(seen[&address], fresh, "{address} of {:?} after {after}", client.username);
        }
    }
}

/// Does every kind of action, and calls `check` after each.
async fn act(alice: &Client, bob: &Client, check: impl AsyncFn(&str)) {
    check("nothing").await;
    ok(bob.vote(1, "up").await);
    check("a vote up").await;
    ok(alice.vote(2, "down").await);
    check("a vote down").await;
    ok(alice.vote_comment(1, 1, "up").await);
    check("a vote on a comment").await;
    bob.reply(1, 2, "Another answer").await;
    check("a comment").await;
    ok(bob.edit_comment(1, 1, "An edited comment").await);
    check("an edited comment").await;
    ok(alice.edit(1, "Another title", "http://example.com/two", "").await);
    check("an edited item").await;
    ok(alice.edit_topics(1, "links").await);
    check("another topic").await;
    alice.tweet("Hello @bob, see http://example.com/").await;
    check("a tweet").await;
    bob.follow("alice").await;
    check("a follow").await;
    ok(bob.update_profile("I am <b>bob</b>", "", "").await);
    check("a changed profile").await;
    ok(bob.api_post("/api/sites/vote", &[("link", "example.com"), ("vote", "1")]).await);
    check("a vote on a site").await;
    ok(bob.api_post("/api/deltweet", &[("tweet_id", "2")]).await);
    check("a deleted tweet").await;
    ok(alice.delete(1).await);
    check("a deleted item").await;
}

// The next test has the same actions on Redis.
#[in_memory]
async fn every_action_invalidates_the_cached_responses_it_changes(server: Server) {
    let Community { server, alice, bob } = Community::on(server).await;
    for member in [&alice, &bob] {
        server.set_karma(member, 1_000).await;
    }
    // The first visit of a user changes the karma shown, so all users visit first.
    let visitors = [server.visitor(), alice.clone(), bob.clone(), server.visitor()];
    for client in &visitors {
        read_all(client).await;
    }
    act(&alice, &bob, async |after| check_cache(&server, &visitors, after).await).await;
}

#[tokio::test]
async fn users_see_actions_on_another_server_at_once() {
    let redis = RedisServer::start();
    let url = redis.url();
    let here = Server::on_redis(redis, &[]).await;
    let Community { server: here, alice, bob } = Community::on(here).await;
    let there = Server::beside(&url, &here).await;
    for member in [&alice, &bob] {
        here.set_karma(member, 1_000).await;
        read_all(member).await;
    }
    let members = [alice.clone(), bob.clone()];
    let (alice, bob) = (alice.at(there.address), bob.at(there.address));
    act(&alice, &bob, async |after| check_cache(&here, &members, after).await).await;
    // A logout on the other server counts here too.
    ok(bob.api_post("/api/logout", &[]).await);
    assert!(!looked(&members[1], "/").await.contains("/logout"));
}

#[each_engine("caches")]
async fn a_user_sees_an_action_on_the_next_page(server: Server) {
    // Each page is read first, so that it is cached.
    let Community { server, alice, bob } = Community::on(server).await;
    server.set_karma(&bob, 100).await;
    let pages = ["/", "/latest/0", "/news/1", "/best", "/@alice"];
    for page in pages {
        looked(&bob, page).await;
        looked(&server.visitor(), page).await;
    }
    let votes = async |client: &Client, page: &str| looked(client, page).await.matches(PRESSED).count();
    let mut before = Vec::new();
    for page in &pages[..4] {
        before.push(votes(&bob, page).await);
    }
    ok(bob.vote(1, "up").await);
    for (page, before) in pages.iter().zip(before) {
        assert_eq!(votes(&bob, page).await, before + 1, "{page}");
        assert_eq!(votes(&server.visitor(), page).await, 0, "{page}");
    }
    bob.comment(1, "Quite new").await;
    assert!(looked(&bob, "/news/1").await.contains("Quite new"));
    assert!(looked(&server.visitor(), "/news/1").await.contains("Quite new"));
    let news = bob.submit_text("Just submitted", "text").await;
    for page in ["/", "/latest/0", "/best/new"] {
        assert!(looked(&bob, page).await.contains("Just submitted"), "{page}");
    }
    assert!(looked(&bob, &format!("/news/{news}")).await.contains("Just submitted"));
    let page = "/@alice";
    ok(alice.update_profile("Something about me", "", "").await);
    assert!(looked(&alice, page).await.contains("Something about me"));
    assert!(looked(&server.visitor(), page).await.contains("Something about me"));
    assert!(!looked(&alice, "/home").await.contains("My newest tweet"));
    alice.tweet("My newest tweet").await;
    assert!(looked(&alice, "/home").await.contains("My newest tweet"));
    // A logout takes effect at once.
    assert!(looked(&bob, "/").await.contains("/logout"));
    ok(bob.api_post("/api/logout", &[]).await);
    assert!(!looked(&bob, "/").await.contains("/logout"));
}

#[each_engine("caches")]
async fn the_mentions_in_a_tweet_follow_the_creation_and_deactivation_of_accounts(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let tweet = alice.tweet("Where is @carol?").await;
    // The later pages use what the first one cached of the tweet.
    let links = async || {
        let mut links = Vec::new();
        for page in ["/everyone".to_owned(), "/@alice".to_owned(), format!("/tweet/{tweet}")] {
            links.push(looked(&bob, &page).await.contains("\"/@carol\""));
        }
        links
    };
    assert_eq!(links().await, [false; 3]);
    let carol = server.register("carol").await;
    assert_eq!(links().await, [true; 3]);
    assert_eq!(carol.post("/settings/deactivate", &[("password", PASSWORD)]).await.status, 303);
    assert_eq!(links().await, [false; 3]);
}

/// A page that must be there.
async fn looked(client: &Client, path: &str) -> String {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}");
    answer.text()
}

#[each_engine("caches")]
async fn personal_pages_are_never_shared(server: Server) {
    let Community { server, alice, bob } = Community::on(server).await;
    let visitors = [bob.clone(), server.visitor(), alice.clone(), server.visitor(), bob.clone()];
    let secret = |client: &Client| client.apisecret.clone().unwrap();
    for address in addresses() {
        let is_page = PAGES.iter().any(|(page, _)| *page == address);
        for client in &visitors {
            let answer = client.get(&address).await;
            let body = answer.text();
            for member in [&alice, &bob] {
                let own = client.username == member.username && client.auth.is_some();
                assert!(own || !body.contains(&secret(member)), "{address} of {:?}", client.username);
            }
            let shared = answer.headers["cache-control"].to_str().unwrap().contains("public");
            if client.auth.is_some() && is_page {
                assert!(!shared, "{address} of {:?}", client.username);
            }
            if answer.status == 200 && client.auth.is_none() && is_page {
                assert!(shared, "{address}");
                assert!(!body.contains("/logout") && !body.contains("apisecret"), "{address}");
            }
        }
    }
}

#[each_engine("caches")]
async fn a_cached_page_needs_no_round_trip_until_the_next_second_or_write(server: Server) {
    let Community { server, bob, .. } = Community::on(server).await;
    let visitor = server.visitor();
    let rounds = async |path: &str| server.rounds_of(&visitor, path).await;
    // The first feed stores how the ids of all entries begin.
    visitor.get("/@bob/feed").await;
    for path in ["/", "/latest/0", "/news/1", "/best", "/@alice", "/site/example.com"] {
        assert!(rounds(path).await > 0, "{path}");
        assert_eq!(rounds(path).await, 0, "{path}");
    }
    assert!(rounds("/rss").await <= 1, "it has the stories of /latest/0");
    assert_eq!(rounds("/rss").await, 0);
    // It is in nobody's inbox: on Redis that would count as a change of the name.
    bob.comment(2, "Elsewhere").await;
    assert_eq!(rounds("/news/1").await, 0, "a comment on another item");
    assert!(rounds("/").await > 0, "a comment is counted in the list");
    server.advance(1);
    assert!(rounds("/news/1").await > 0 || !server.store().is_shared(), "ages have changed");
}

#[in_memory]
async fn ages_are_current(server: Server) {
    let alice = server.member("alice").await;
    let news = alice.submit_text("A title", "text").await;
    alice.comment(news, "A comment").await;
    for (seconds, age) in [(0, "just now"), (59, "just now"), (1, "1 minute ago"), (3_540, "1 hour ago")] {
        server.advance(seconds);
        for client in [server.visitor(), alice.clone()] {
            for path in ["/", &format!("/news/{news}"), "/home"] {
                if client.auth.is_none() && path == "/home" {
                    continue;
                }
                let page = looked(&client, path).await;
                assert!(page.contains(age), "{path} after {seconds}: {page}");
            }
        }
    }
}

#[tokio::test]
async fn visitors_see_writes_of_another_server_within_a_second() {
    let redis = RedisServer::start();
    let url = redis.url();
    let here = Server::on_redis(redis, &[]).await;
    let there = Server::beside(&url, &here).await;
    let alice = here.member("alice").await;
    here.set_karma(&alice, 100).await;
    let news = alice.submit_text("A title", "text").await;
    let bob = here.member("bob").await;
    let path = format!("/news/{news}");
    for server in [&here, &there] {
        for client in [server.visitor(), alice.at(server.address), bob.at(server.address)] {
            assert!(!looked(&client, &path).await.contains("From afar"));
        }
    }
    // All users who are logged in see it on every server at once.
    bob.at(there.address).comment(news, "From afar").await;
    for server in [&here, &there] {
        for member in [&alice, &bob] {
            assert!(looked(&member.at(server.address), &path).await.contains("From afar"));
        }
    }
    here.advance(1);
    assert!(looked(&here.visitor(), &path).await.contains("From afar"));
}

#[tokio::test]
async fn a_matching_entity_tag_gives_304() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    for encoding in ["identity", "gzip", "br"] {
        let visitor = server.visitor().with_header("accept-encoding", encoding);
        let first = visitor.get("/news/1").await;
        let tag = first.headers["etag"].to_str().unwrap().to_owned();
        for named in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = server
                .visitor()
                .with_header("accept-encoding", encoding)
                .with_header("if-none-match", &named)
                .get("/news/1")
                .await;
            assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{named}");
            assert_eq!(again.headers["etag"], *tag);
            assert_eq!(again.headers["cache-control"], first.headers["cache-control"]);
            assert_eq!(again.headers["vary"], first.headers["vary"]);
        }
        let other = visitor.with_header("if-none-match", "\"other\"").get("/news/1").await;
        assert_eq!((other.status, &other.body), (StatusCode::OK, &first.body));
    }
    let tag = server.visitor().get("/news/1").await.headers["etag"].to_str().unwrap().to_owned();
    let asking = server.visitor().with_header("if-none-match", &tag);
    assert_eq!(asking.get("/news/1").await.status, StatusCode::NOT_MODIFIED);
    alice.comment(1, "Something new").await;
    assert_eq!(asking.get("/news/1").await.status, StatusCode::OK);
    // HEAD returns the same headers without a body, cached or not.
    server.advance(1);
    for _ in 0..2 {
        let head = server.visitor().request(Method::HEAD, "/news/2").send().await.unwrap();
        let whole = server.visitor().get("/news/2").await;
        for name in ["etag", "content-length", "cache-control", "content-type"] {
            assert_eq!(head.headers().get(name), whole.headers.get(name), "{name}");
        }
        assert_eq!(head.bytes().await.unwrap().len(), 0);
    }
}
