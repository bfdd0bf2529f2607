//! The best list and topics: voting on stories, adding and finding topics, renaming them.

use crate::browser::Browser;
use crate::client::ok;
use crate::server::{Engine, Server};

#[tokio::test]
async fn topics_are_added_found_and_removed() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    alice.submit_on("rust, databases", "One").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    browser.fill("Title", "Two").await;
    browser.fill("Text", "text").await;
    browser.fill("Topics", "rust, go").await;
    browser.press("Submit").await;
    browser.arrive("/news/2").await;
    browser.follow("rust").await;
    browser.arrive("/topic/rust").await;
    assert_eq!(browser.text("h1").await, "Best in rust");
    assert_eq!(browser.count("[data-item]").await, 2);
    browser.click(".tabs a[href$='/new']").await;
    browser.arrive("/topic/rust/new").await;
    assert_eq!(browser.text("h1").await, "New in rust");
    browser.follow("go").await;
    browser.arrive("/topic/go").await;
    assert_eq!(browser.count("[data-item]").await, 1);
    browser.enter("a[href^='/editnews/']").await;
    assert_eq!(browser.field_value("Topics").await, "rust, go");
    browser.fill("Topics", "rust").await;
    browser.press("Save").await;
    browser.arrive("/news/2").await;
    browser.go("/topic/go").await;
    assert_eq!(browser.text("main .empty").await, "No stories here yet. Submit a story.");
    browser.go("/topics").await;
    assert_eq!(browser.text(".topic-list li:first-child .topic").await, "rust");
    assert_eq!(browser.text(".topic-list li:first-child .count").await, "2 stories");
}

#[tokio::test]
async fn the_last_of_several_topics_is_completed() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    alice.submit_on("rust, databases, go", "One").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    for (typed, offered) in [
        ("ru", "rust|go|databases"),
        ("rust, d", "rust, go|rust, databases"),
        ("rust,go,", "rust,go,databases"),
        ("new, go,  r", "new, go,  rust|new, go,  databases"),
        ("", "rust|go|databases"),
    ] {
        browser.fill("Topics", typed).await;
        let script = "const field = document.querySelector('input[data-several]');
            field.dispatchEvent(new Event('input'));
            return [...field.list.options].map((option) => option.value).join('|')";
        let found = browser.run(script).await;
        assert_eq!(found, offered, "{typed:?}");
    }
}

#[tokio::test]
async fn a_vote_changes_the_best_list() {
    let server = Server::start(Engine::Memory, &[]).await;
    let (alice, bob) = (server.member("alice").await, server.member("bob").await);
    let old = alice.submit_text("Old", "text").await;
    server.advance(400);
    let new = alice.submit_text("New", "text").await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.click(".site-footer a[href='/best']").await;
    browser.arrive("/best").await;
    assert_eq!(browser.text("li[data-item] h2").await, "New");
    browser.click(&format!("#news-{old} .vote .up")).await;
    browser.wait_for_text(&format!("#news-{old} [data-count=up]"), "2").await;
    browser.go("/best").await;
    assert_eq!(browser.text("li[data-item] h2").await, "Old");
    browser.click(".tabs a[href$='/new']").await;
    browser.arrive("/best/new").await;
    assert_eq!(browser.text("li[data-item] h2").await, "New");
    ok(alice.delete(new).await);
    browser.go("/best").await;
    assert_eq!(browser.count("[data-item]").await, 1);
}

#[tokio::test]
async fn administrators_rename_and_merge_topics() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    alice.submit_on("rustlang, go", "One").await;
    alice.submit_on("rust", "Two").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/topic/go").await;
    browser.click("main .tools summary").await;
    browser.fill("New name", "golang").await;
    browser.press("Rename").await;
    browser.arrive("/topic/golang").await;
    assert_eq!(browser.count("[data-item]").await, 1);
    browser.go("/topic/rustlang").await;
    browser.click("main .tools summary").await;
    browser.fill("Topic to merge it into", "rust").await;
    browser.press("Merge").await;
    browser.arrive("/topic/rust").await;
    assert_eq!(browser.count("[data-item]").await, 2);
    browser.go("/topic/rustlang").await;
    browser.wait_for_text(".trouble", "There is no topic \"rustlang\".").await;
}
