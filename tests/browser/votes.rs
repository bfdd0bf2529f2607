//! Voting: with JavaScript without a page load, otherwise with a form.

use serde_json::json;

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};

/// A site with a story by alice and her comment on it. Returns the server, the client of bob, who
/// votes, and the ids of the story and the comment.
async fn site_with_bob() -> (Server, Client, u64, u64) {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let bob = server.member("bob").await;
    let news = alice.submit_text("The story", "its text").await;
    let comment = alice.comment(news, "the comment").await;
    (server, bob, news, comment)
}

#[tokio::test]
async fn with_javascript_a_vote_does_not_load_a_page() {
    let (server, bob, news, _) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    assert_eq!(browser.text("[data-count=up]").await, "1");
    browser.click(".vote .up").await;
    browser.wait_for(".vote .up[aria-pressed=true]:disabled").await;
    browser.wait_for(".vote .down[aria-pressed=false]:disabled").await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
    assert!(browser.is_marked().await, "the page was not reloaded");
    assert_eq!(server.ids(&format!("news.up:{news}")).await, [1, 2]);

    browser.reload().await;
    browser.wait_for(".vote .up[aria-pressed=true]:disabled").await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
}

#[tokio::test]
async fn without_javascript_a_vote_returns_to_the_story() {
    let (server, bob, news, _) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.disable_javascript().await;
    for page in ["/latest/0", "/"] {
        browser.go(page).await;
        assert_eq!(browser.count("li[hidden] [data-help]").await, 1, "no script has run");
    }
    browser.click(".vote .up").await;
    browser.arrive(&format!("/#news-{news}")).await;
    browser.wait_for(".vote .up[aria-pressed=true]:disabled").await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
    assert_eq!(server.ids(&format!("news.up:{news}")).await, [1, 2]);
}

#[tokio::test]
async fn comments_are_voted_on_with_and_without_javascript() {
    let (server, bob, news, comment) = site_with_bob().await;
    let carol = server.member("carol").await;
    let place = format!("#comment-{comment}");
    let browser = Browser::open_as(&server, &bob).await;
    browser.go(&format!("/news/{news}")).await;
    browser.mark_page().await;
    browser.click(&format!("{place} .vote .down")).await;
    browser.wait_for(&format!("{place} .vote .down[aria-pressed=true]")).await;
    assert_eq!(browser.text(&format!("{place} [data-count=down]")).await, "1");
    assert!(browser.is_marked().await);

    browser.log_in_as(&carol).await;
    browser.disable_javascript().await;
    browser.go(&format!("/news/{news}")).await;
    browser.click(&format!("{place} .vote .up")).await;
    browser.arrive(&format!("/news/{news}{place}")).await;
    browser.wait_for(&format!("{place} .vote .up[aria-pressed=true]")).await;

    let stored = server.field(&format!("thread:comment:{news}"), &comment.to_string()).await.unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    assert_eq!((&stored["up"], &stored["down"]), (&json!([1, 3]), &json!([2])));
}

#[tokio::test]
async fn a_rejected_vote_shows_the_reason_beside_the_story() {
    let (server, bob, news, _) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    // Voting down needs more karma than bob has.
    browser.click(".vote .down").await;
    assert!(browser.text("#news-1 [role=alert]").await.contains("karma"));
    assert!(browser.is_marked().await);
    assert_eq!(browser.count(".vote button:disabled").await, 0);
    assert_eq!(server.ids(&format!("news.down:{news}")).await, Vec::<u64>::new());
    // The next vote removes the reason.
    browser.click(".vote .up").await;
    browser.wait_for(".vote .up[aria-pressed=true]").await;
    assert_eq!(browser.count("[role=alert]").await, 0);
}

#[tokio::test]
async fn stories_voted_up_are_saved() {
    let (server, bob, ..) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/user/bob").await;
    browser.follow("your saved stories").await;
    browser.wait_for(".empty").await;
    browser.go("/").await;
    browser.click(".vote .up").await;
    browser.wait_for(".vote .up[aria-pressed=true]").await;
    browser.go("/saved/0").await;
    assert_eq!(browser.text("[data-item] h2").await, "The story");
}
