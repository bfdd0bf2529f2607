//! Hiding and saving with a script.

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
