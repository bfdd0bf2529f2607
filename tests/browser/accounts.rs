//! Signing up, logging in and out, profiles, forgotten passwords.

use serde_json::json;

use crate::browser::Browser;
use crate::client::{PASSWORD, ok};
use crate::server::{Engine, Server};
use crate::smtp_server::SmtpServer;

const NEW_PASSWORD: &str = "battery staple";

async fn log_in(browser: &Browser, username: &str, password: &str) {
    browser.fill("Username", username).await;
    browser.fill("Password", password).await;
    browser.press("Log in").await;
}

#[tokio::test]
async fn a_new_user_is_logged_in_and_can_log_out_and_in_again() {
    let server = Server::start(Engine::Memory, &[]).await;
    let browser = Browser::open(&server).await;
    browser.go("/").await;
    browser.follow("Sign up").await;
    browser.fill("Username", "alice").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Sign up").await;
    browser.wait_until_logged_in("alice").await;
    assert_eq!(browser.address().await, "/welcome");

    browser.log_out().await;
    browser.wait_until_logged_out().await;
    browser.follow("Log in").await;
    log_in(&browser, "alice", PASSWORD).await;
    browser.wait_until_logged_in("alice").await;
}

#[tokio::test]
async fn a_wrong_password_shows_an_error_and_keeps_the_username() {
    let server = Server::start(Engine::Memory, &[]).await;
    server.register("alice").await;
    let browser = Browser::open(&server).await;
    browser.go("/login").await;
    log_in(&browser, "alice", "wrong password").await;
    assert!(browser.text("[role=alert]").await.contains("password"));
    assert_eq!(browser.field_value("Username").await, "alice");
    assert_eq!(browser.field_value("Password").await, "");
    log_in(&browser, "alice", PASSWORD).await;
    browser.wait_until_logged_in("alice").await;
}

#[tokio::test]
async fn a_rejected_sign_up_shows_an_error_and_keeps_the_username() {
    let server = Server::start(Engine::Memory, &[]).await;
    let browser = Browser::open(&server).await;
    browser.go("/register").await;
    browser.fill("Username", "alice").await;
    browser.fill("Password", "short").await;
    browser.press("Sign up").await;
    assert!(browser.text("[role=alert]").await.contains('8'));
    assert_eq!(browser.field_value("Username").await, "alice");
    assert_eq!(server.string("users.count").await, None);
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

#[tokio::test]
async fn a_changed_profile_is_shown_and_a_new_password_only_logs_out_other_browsers() {
    let server = Server::start(Engine::Memory, &[("web.gravatars", "false")]).await;
    let alice = server.register("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/user/alice").await;
    browser.fill("About you", "I read https://example.com/ daily.").await;
    browser.fill("E-mail address", "alice@example.org").await;
    browser.fill("New password", NEW_PASSWORD).await;
    browser.fill("Current password", PASSWORD).await;
    browser.press("Save").await;
    browser.wait_for("[role=status]").await;
    assert_eq!(browser.text("main .text").await, "I read https://example.com/ daily.");
    assert_eq!(browser.field_value("E-mail address").await, "alice@example.org");

    browser.wait_until_logged_in("alice").await;
    browser.go("/submit").await;
    browser.wait_for("#title").await;
    assert!(!alice.is_logged_in().await, "other sessions have ended");
    server.visitor().log_in("alice", NEW_PASSWORD).await;
}

#[tokio::test]
async fn a_rejected_profile_keeps_what_was_typed() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/user/alice").await;
    browser.fill("About you", "typed").await;
    browser.fill("E-mail address", "no address").await;
    browser.press("Save").await;
    assert!(browser.text("[role=alert]").await.contains("mail"));
    assert_eq!(browser.field_value("About you").await, "typed");
    assert_eq!(browser.field_value("E-mail address").await, "no address");
}

#[tokio::test]
async fn a_mailed_link_resets_a_forgotten_password() {
    const HOST: &str = "news.test";
    let mut relay = SmtpServer::start().await;
    let site = format!("http://{HOST}");
    let settings = [("mail.relay", &*relay.relay()), ("mail.from", "news@news.test"), ("site.url", &site)];
    let server = Server::start(Engine::Memory, &settings).await;
    ok(server.register("alice").await.update_profile("", "alice@example.org", "").await);
    // It tells of the new address.
    relay.next_message().await;
    let browser = Browser::open_at(&server, HOST).await;
    browser.go("/login").await;
    browser.follow("Forgot your password?").await;
    browser.fill("Username", "alice").await;
    browser.fill("E-mail address", "alice@example.org").await;
    browser.press("Send the link").await;
    browser.wait_for("[role=status]").await;

    let mail = relay.next_message().await;
    let text = mail.text();
    let link = text.lines().find(|line| line.starts_with(&site)).expect("a link in the mail");
    browser.go_to_url(link).await;
    browser.fill("New password", NEW_PASSWORD).await;
    browser.press("Set password").await;
    browser.wait_for_text("h1", "Your password has been changed").await;
    browser.follow("Log in").await;
    log_in(&browser, "alice", NEW_PASSWORD).await;
    browser.wait_until_logged_in("alice").await;

    // The link works only once.
    browser.go_to_url(link).await;
    assert!(browser.text("[role=alert]").await.contains("no longer valid"));
    assert_eq!(browser.run("return document.querySelectorAll('main input').length").await, json!(0));
}
