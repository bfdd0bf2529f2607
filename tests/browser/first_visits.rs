//! First visits: from the front page to a first comment, and from a fresh site to its own name
//! and first story.

use crate::browser::Browser;
use crate::client::PASSWORD;
use crate::server::{Engine, Server};

/// Fills in the form to sign up and sends it.
async fn sign_up(browser: &Browser, username: &str) {
    browser.fill("Username", username).await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Sign up").await;
    browser.wait_until_logged_in(username).await;
}

#[tokio::test]
async fn a_visitor_who_wants_to_comment_signs_up_and_does() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    let news = alice.submit_text("A story", "to talk about").await;
    let browser = Browser::open(&server).await;
    browser.go("/").await;
    browser.follow("discuss").await;
    browser.follow("Log in to comment").await;
    browser.wait_for_text(".notice", "Log in to comment.").await;
    browser.click("main a[href^='/register']").await;
    browser.wait_for_text(".notice", "Sign up to comment.").await;
    sign_up(&browser, "bob").await;
    browser.arrive(&format!("/news/{news}#comment")).await;
    browser.run("document.querySelector('textarea').value = 'My first comment'").await;
    browser.press("Add comment").await;
    browser.wait_for_text(".comment .text", "My first comment").await;
    let thread = alice.thread(news).await;
    assert_eq!(thread[0]["body"], "My first comment");
}

#[tokio::test]
async fn a_fresh_site_gets_its_name_its_colour_and_its_first_story() {
    let server = Server::start(Engine::Memory, &[]).await;
    let browser = Browser::open(&server).await;
    browser.go("/").await;
    browser.follow("Sign up").await;
    sign_up(&browser, "alice").await;
    assert_eq!(browser.address().await, "/welcome");
    browser.wait_for_text(".checklist h2", "You are the administrator").await;
    let accent = "getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()";
    assert_eq!(browser.run(&format!("return {accent}")).await, "#0b6e6a");

    browser.follow("Change its name, colour, logo and texts").await;
    browser.fill("Name", "The Gazette").await;
    browser.fill("Accent colour", "red").await;
    browser.press("Save").await;
    browser
        .wait_for_text("#error-accent", "Enter a colour as # and six hexadecimal digits, such as #0b6e6a.")
        .await;
    assert_eq!(browser.field_value("Name").await, "The Gazette");
    browser.fill("Accent colour", "#aa0000").await;
    browser.press("Save").await;
    browser.wait_for_text(".notice", "Your changes have been saved. Everyone sees them now.").await;
    browser.wait_for_text(".brand", "The Gazette").await;
    assert_eq!(browser.run(&format!("return {accent}")).await, "#aa0000");

    browser.go("/welcome").await;
    browser.follow("Submit the first story").await;
    browser.fill("Title", "Hello").await;
    browser.fill("Text", "world").await;
    browser.fill("Topics", "news").await;
    browser.press("Submit").await;
    browser.wait_for_text("h1", "Hello").await;
    browser.go("/welcome").await;
    assert_eq!(browser.count(".checklist li:not(.done)").await, 2);
}
