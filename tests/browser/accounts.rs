//! Logging in and signing up on the way to something else.

use crate::browser::Browser;
use crate::client::PASSWORD;
use crate::server::{Engine, Server};

async fn log_in(browser: &Browser, username: &str, password: &str) {
    browser.fill("Username", username).await;
    browser.fill("Password", password).await;
    browser.press("Log in").await;
}

#[tokio::test]
async fn visitors_return_to_their_page_after_logging_in() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    let news = alice.submit_text("Hello", "world").await;
    server.register("bob").await;
    let browser = Browser::open(&server).await;

    // A page for members.
    browser.go("/submit?t=Title&u=https%3A%2F%2Fexample.com%2F").await;
    log_in(&browser, "bob", PASSWORD).await;
    browser.wait_until_logged_in("bob").await;
    assert_eq!(browser.field_value("Title").await, "Title");
    assert_eq!(browser.field_value("URL").await, "https://example.com/");

    // A vote: one question, and it is done.
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    browser.go("/latest/0").await;
    browser.click(".vote .up").await;
    log_in(&browser, "bob", PASSWORD).await;
    browser.arrive("/vote/story/1").await;
    browser.wait_until_logged_in("bob").await;
    assert_eq!(browser.text("h1").await, "Vote for “Hello” now?");
    browser.press("Vote").await;
    browser.arrive(&format!("/news/{news}#news-{news}")).await;
    browser.wait_for(".vote .up[aria-pressed=true]").await;

    // Signing up, with the link on the login page.
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    browser.go(&format!("/news/{news}")).await;
    browser.follow("Log in to comment").await;
    browser.click("main a[href^='/register']").await;
    browser.fill("Username", "carol").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Sign up").await;
    browser.arrive(&format!("/news/{news}#comment")).await;
    browser.wait_until_logged_in("carol").await;
}
