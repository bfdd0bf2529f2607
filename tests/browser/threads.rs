//! Long threads: collapsing, what is new, narrow screens.

use serde_json::json;

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};

/// A story with comments by alice: 1 and 4 on the story, 2 and 3 below 1.
async fn site() -> (Server, Client, Client) {
    let server = Server::start(Engine::Memory, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "its text").await;
    alice.comment(1, "first comment").await;
    alice.reply(1, 1, "second comment").await;
    alice.reply(1, 2, "third comment").await;
    alice.comment(1, "fourth comment").await;
    (server, alice, bob)
}

async fn is_shown(browser: &Browser, css: &str) -> bool {
    let script = format!("return document.querySelector(\"{css}\").checkVisibility()");
    browser.run(&script).await == json!(true)
}

async fn wait_until_shown(browser: &Browser, css: &str, shown: bool) {
    let is_there = async || is_shown(browser, css).await == shown;
    browser.wait_until(&format!("{css} is shown: {shown}"), is_there).await;
}

const FIRST: &str = "#comment-1 > .branch > .item";
const THIRD: &str = "#comment-3 > .branch > .item";

#[tokio::test]
async fn the_first_comment_is_not_lower_for_moderators_and_administrators() {
    let (server, alice, bob) = site().await;
    let carol = server.member("carol").await;
    server.set_field("user:2", "flags", "m").await;
    server.set_field("user:3", "flags", "a").await;
    let dave = server.member("dave").await;
    let browser = Browser::open(&server).await;
    for (width, height) in [(1280, 800), (390, 844)] {
        browser.resize(width, height).await;
        let mut tops = Vec::new();
        for viewer in [&dave, &bob, &carol, &alice] {
            browser.log_in_as(viewer).await;
            browser.go("/news/1").await;
            let script = "return document.querySelector('#comment-1').getBoundingClientRect().top";
            tops.push(browser.run(script).await.as_f64().unwrap());
        }
        assert!(tops.iter().all(|top| *top <= tops[0]), "{width}: {tops:?}");
    }
}

#[tokio::test]
async fn a_collapsed_branch_stays_collapsed_and_says_how_many_comments_it_has() {
    let (server, _, bob) = site().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/news/1").await;
    browser.enter("#comment-1 > .branch > summary").await;
    wait_until_shown(&browser, FIRST, false).await;
    assert!(!is_shown(&browser, THIRD).await);
    assert_eq!(
        browser.text("#comment-1 > .branch > summary").await.replace('\n', ""),
        "alice · just now · 2 replies · first comment"
    );
    browser
        .wait_until("it is remembered", async || {
            browser.run("return localStorage.collapsed").await == json!("[\"1-1\"]")
        })
        .await;
    browser.go("/latest/0").await;
    browser.go("/news/1").await;
    wait_until_shown(&browser, FIRST, false).await;
    assert!(is_shown(&browser, "#comment-4 > .branch > .item").await);

    // A link to a comment inside opens it.
    browser.go("/news/1#comment-3").await;
    wait_until_shown(&browser, THIRD, true).await;
    // So does the line beside the replies, the other way.
    let press_line = "const { left, top } = document.querySelector('#comment-1 > .branch > .replies').getBoundingClientRect();
        document.elementFromPoint(left, top + 20).click()";
    browser.run(press_line).await;
    wait_until_shown(&browser, THIRD, false).await;
    browser.click("#comment-1 > .branch > summary").await;
    wait_until_shown(&browser, THIRD, true).await;
    browser.press("Collapse all").await;
    wait_until_shown(&browser, "#comment-4 > .branch > .item", false).await;
    browser.press("Expand all").await;
    wait_until_shown(&browser, THIRD, true).await;
    browser.disable_javascript().await;
    browser.reload().await;
    for state in [":not([open])", "[open]"] {
        browser.enter("#comment-1 > .branch > summary").await;
        browser.wait_for(&format!("#comment-1 > .branch{state}")).await;
    }
}

#[tokio::test]
async fn brackets_collapse_the_current_branch_and_all() {
    let (server, _, bob) = site().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/news/1?sort=oldest").await;
    for _ in 0..2 {
        browser.press_key('j').await;
    }
    browser.press_key('[').await;
    wait_until_shown(&browser, FIRST, false).await;
    // Hidden comments are skipped.
    browser.press_key('j').await;
    let current = "return document.querySelector('.current').closest('[id]').id";
    assert_eq!(browser.run(current).await, "comment-4");
    browser.press_key(']').await;
    wait_until_shown(&browser, "#comment-4 > .branch > .item", false).await;
    browser.press_key(']').await;
    wait_until_shown(&browser, THIRD, true).await;
}

#[tokio::test]
async fn a_reader_who_comes_back_jumps_through_what_is_new() {
    let (server, alice, bob) = site().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/news/1?sort=oldest").await;
    assert_eq!(browser.count(".is-new, .new-comments").await, 0);
    server.advance(3_600);
    alice.reply(1, 3, "a new reply").await;
    alice.comment(1, "a new comment").await;
    browser.go("/latest/0").await;
    assert!(browser.text(".new-count").await.starts_with("2 new"));
    browser.click(".new-count").await;
    browser.wait_for(".is-new").await;
    browser.go("/news/1?sort=oldest#new").await;
    browser.arrive("/news/1?sort=oldest#comment-5").await;
    assert_eq!(browser.text(".new-comments a").await, "2 new comments");
    assert_eq!(browser.count(".is-new .tag.new").await, 2);
    let current = "return document.querySelector('.current').closest('[id]').id";
    browser.run("scrollTo(0, 0)").await;
    for expected in ["comment-5", "comment-6", "comment-5"] {
        browser.press_key('n').await;
        assert_eq!(browser.run(current).await, expected);
    }
    for (key, expected) in [('p', "comment-6"), ('p', "comment-5"), ('u', "comment-3")] {
        browser.press_key(key).await;
        assert_eq!(browser.run(current).await, expected);
    }
    browser.press_key('r').await;
    browser.wait_for("#comment-3 .in-place textarea:focus").await;
}

#[tokio::test]
async fn on_a_phone_the_line_of_facts_is_one_line() {
    let server = Server::start(Engine::Memory, &[]).await;
    let [carol, bob] = server.people(["carol-with-long-name", "bob"]).await;
    bob.submit_text("The story", "its text").await;
    let mut parent = carol.comment(1, "a comment").await;
    for _ in 0..7 {
        parent = carol.reply(1, parent, &"longwordwithoutanyblank".repeat(20)).await;
    }
    for user in [&bob, &carol] {
        let browser = Browser::open_as(&server, user).await;
        browser.resize(390, 900).await;
        browser.go("/news/1").await;
        let lines = "return Math.max(...[...document.querySelectorAll('.comment .meta')].map((meta) => meta.offsetHeight))";
        assert!(browser.run(lines).await.as_f64().unwrap() < 40.0);
        let overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(browser.run(overflow).await, 0);
    }
}

#[tokio::test]
async fn the_text_of_a_comment_is_about_70_characters_wide() {
    let (server, alice, bob) = site().await;
    alice.comment(1, &"The quick brown fox jumps over the lazy dog again. ".repeat(40)).await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.resize(1_280, 900).await;
    browser.go("/news/1?sort=newest").await;
    let line = "const text = document.querySelector('.comment .text');
        const lines = Math.round(text.offsetHeight / parseFloat(getComputedStyle(text).lineHeight));
        return text.textContent.length / lines";
    let characters = browser.run(line).await.as_f64().unwrap();
    assert!((60.0..=80.0).contains(&characters), "{characters}");
}
