//! Hiding and saving with and without a script, and the way into the past.

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};

/// A site with three stories of alice's, and bob, who reads them.
async fn site_with_bob() -> (Server, Client) {
    let server = Server::start(Engine::Memory, &[]).await;
    let (alice, bob) = (server.member("alice").await, server.member("bob").await);
    server.set_karma(&alice, 100).await;
    for number in 1..=3 {
        alice.submit_on("rust, go", &format!("Story {number}")).await;
        server.advance(1);
    }
    (server, bob)
}

#[tokio::test]
async fn with_javascript_a_hidden_story_leaves_the_list_and_can_come_back() {
    let (server, bob) = site_with_bob().await;
    let hidden = format!("user:{}:hidden", bob.user_id);
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    browser.enter("#news-2 [formaction='/hide']").await;
    browser.wait_for_text("#news-2 .undone", "Hidden: Story 2. Undo").await;
    assert_eq!(browser.count("#news-2 h2").await, 0);
    assert_eq!(browser.run("return document.activeElement.textContent").await, "Undo");
    assert_eq!(server.ids(&hidden).await, [2]);

    browser.click("#news-2 .undone button").await;
    browser.wait_for("#news-2 h2").await;
    assert_eq!(browser.run("return document.activeElement.textContent").await, "hide");
    assert!(server.ids(&hidden).await.is_empty());

    browser.enter("#news-1 [formaction='/save']").await;
    browser.wait_for("#news-1 [formaction='/unsave']").await;
    assert_eq!(server.ids(&format!("user.saved:{}", bob.user_id)).await, [1]);
    browser.enter("#news-1 [formaction='/unsave']").await;
    browser.wait_for("#news-1 [formaction='/save']").await;
    assert!(browser.is_marked().await, "the page was not reloaded");
}

#[tokio::test]
async fn without_javascript_a_story_is_hidden_shown_and_undone() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.disable_javascript().await;
    browser.go("/latest/0").await;
    browser.enter("#news-2 [formaction='/hide']").await;
    browser.arrive("/latest/0?hid=2").await;
    assert_eq!(browser.count("[data-item]").await, 2);
    browser.follow("Show hidden").await;
    browser.arrive("/latest/0?hidden=1").await;
    assert_eq!(browser.count("[data-item]").await, 3);
    browser.go("/latest/0?hid=2").await;
    browser.press("Undo").await;
    browser.arrive("/latest/0#news-2").await;
    assert_eq!(browser.count("[data-item]").await, 3);

    browser.enter("#news-1 [formaction='/hide']").await;
    browser.arrive("/latest/0?hid=1").await;
    browser.go("/hidden/0").await;
    browser.enter("[formaction='/unhide']").await;
    browser.arrive("/hidden/0#news-1").await;
    assert_eq!(browser.count("[data-item]").await, 0);
    assert!(browser.text("main .empty").await.starts_with("Stories you hide appear here"));
}

#[tokio::test]
async fn the_best_of_a_month_is_found_by_links() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/best").await;
    browser.click(".site-footer a[href='/past']").await;
    browser.arrive("/past").await;
    browser.follow("January 2027").await;
    browser.arrive("/past/2027-01").await;
    assert_eq!(browser.text("h1").await, "Best of January 2027");
    assert_eq!(browser.count("[data-item]").await, 3);
    browser.click(".days a").await;
    browser.wait_for_text("h1", "Best of 15 Jan 2027").await;
    browser.follow("January 2027").await;
    browser.arrive("/past/2027-01").await;
}

#[tokio::test]
async fn a_topic_is_followed_and_combined_by_clicking() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/topic/rust").await;
    browser.press("Follow this topic").await;
    browser.wait_for("form[action='/unfollowtopic']").await;
    browser.click(".combine summary").await;
    browser.click(".combine a[href='/topic/go,rust']").await;
    browser.arrive("/topic/go,rust").await;
    browser.click(".combined a[href='/topic/go+rust']").await;
    browser.arrive("/topic/go+rust").await;
    assert_eq!(browser.count("[data-item]").await, 3);
    browser.go("/topics").await;
    browser.follow("Stories of your topics").await;
    browser.arrive("/topics/followed").await;
    assert_eq!(browser.count("[data-item]").await, 3);
}
