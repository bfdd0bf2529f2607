//! The main tasks of visitors, by keyboard alone: every journey starts on a page that is linked from
//! all others, and goes on with Tab, Enter and typing. Each is made with and without the
//! script, where it needs none.
//!
//! Votes have their journey in `votes.rs`, collapsed branches in `threads.rs`, and a lost connection in `writing.rs`.

use crate::browser::{Browser, ENTER};
use crate::client::{Client, PASSWORD};
use crate::page_server::{PageServer, Reply};
use crate::server::{Engine, Server};

/// Comments of a long thread.
const LONG_THREAD: usize = 40;

/// A new browser, in which a user may be logged in.
async fn open(server: &Server, user: Option<&Client>, script: bool) -> Browser {
    let browser = match user {
        Some(user) => Browser::open_as(server, user).await,
        None => Browser::open(server).await,
    };
    if !script {
        browser.disable_javascript().await;
    }
    browser
}

/// Types into a field that Tab reaches.
async fn type_into(browser: &Browser, css: &str, text: &str) {
    browser.tab_to(css).await;
    browser.type_text(text).await;
}

async fn sign_up(browser: &Browser, username: &str) {
    type_into(browser, "main [name=username]", username).await;
    type_into(browser, "main [name=password]", PASSWORD).await;
    browser.press_key(ENTER).await;
    browser.wait_until_logged_in(username).await;
}

#[tokio::test]
async fn from_the_first_visit_to_the_first_comment() {
    for script in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let alice = server.register("alice").await;
        alice.submit_text("A story", "to talk about").await;
        let browser = open(&server, None, script).await;
        browser.go("/").await;
        browser.enter("h2 a[href='/news/1']").await;
        browser.arrive("/news/1").await;
        browser.enter("main a.action[href*='reason=comment']").await;
        browser.wait_for_text(".notice", "Log in to comment.").await;
        browser.enter("main a[href^='/register']").await;
        browser.wait_for_text(".notice", "Sign up to comment.").await;
        sign_up(&browser, "bob").await;
        browser.arrive("/news/1#comment").await;
        type_into(&browser, "#comment", "My first comment").await;
        browser.enter("form:has(#comment) button:not([name])").await;
        browser.wait_for_text("#comment-1 .text", "My first comment").await;
        assert_eq!(alice.thread(1).await[0]["body"], "My first comment");
    }
}

#[tokio::test]
async fn a_story_is_submitted_with_a_fetched_title() {
    let pages = PageServer::start(|_| Reply::html("<title>The title of the page</title>")).await;
    let network = pages.network();
    for script in [true, false] {
        let network = network.clone();
        let server = Server::start_adjusted(&[], |settings| settings.titles.network = network).await;
        let alice = server.register("alice").await;
        let browser = open(&server, Some(&alice), script).await;
        browser.go("/").await;
        browser.enter(".site-header a[href='/submit']").await;
        browser.arrive("/submit").await;
        type_into(&browser, "[name=url]", &pages.url("/page")).await;
        browser.enter("[data-fetch-title]").await;
        browser.wait_for_text("[data-fetched] p", "This is the title of the page.").await;
        assert_eq!(browser.field_value("Title").await, "The title of the page");
        type_into(&browser, "main [name=topics]", "reading").await;
        browser.enter("form:has([name=url]) .buttons button:not([name])").await;
        browser.arrive("/news/1").await;
        assert_eq!(browser.text("h1 a").await, "The title of the page");
    }
}

#[tokio::test]
async fn a_long_thread_is_read_twice_and_the_second_time_what_is_new() {
    for script in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let [alice, bob] = server.people(["alice", "bob"]).await;
        alice.submit_text("A story", "to talk about").await;
        for number in 1..=LONG_THREAD {
            alice.comment(1, &format!("comment {number}")).await;
        }
        let browser = open(&server, Some(&bob), script).await;
        browser.go("/latest/0").await;
        browser.enter("h2 a[href='/news/1']").await;
        browser.arrive("/news/1").await;
        assert_eq!(browser.count(".is-new").await, 0);
        server.advance(3_600);
        let new = [alice.reply(1, 20, "a new reply").await, alice.comment(1, "a new comment").await];
        browser.enter(".site-header a[href='/latest/0']").await;
        browser.arrive("/latest/0").await;
        browser.enter(".new-count").await;
        browser.wait_for(".is-new").await;
        assert_eq!(browser.count(".is-new").await, 2);
        browser.wait_for_text(".new-comments a", "2 new comments").await;
        if !script {
            // The script has gone on to the first of them.
            browser.enter(".new-comments a").await;
        }
        let first = new.map(|id| format!("/news/1#comment-{id}"));
        let there = async || first.contains(&browser.address().await);
        browser.wait_until("the first new comment is shown", there).await;
        if script {
            let current = "return document.querySelector('.current')?.closest('[id]').id ?? ''";
            let mut reached = Vec::new();
            for _ in 0..2 {
                browser.press_key('n').await;
                reached.push(browser.run(current).await.as_str().unwrap().to_owned());
            }
            reached.sort_unstable();
            assert_eq!(reached, new.map(|id| format!("comment-{id}")));
        }
    }
}

#[tokio::test]
async fn the_inbox_leads_from_a_mention_to_the_comment_and_then_it_is_read() {
    for script in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let [alice, bob] = server.people(["alice", "bob"]).await;
        bob.submit_text("A story", "to talk about").await;
        bob.comment(1, "Ask @alice about it").await;
        let browser = open(&server, Some(&alice), script).await;
        browser.go("/").await;
        assert!(browser.text(".badge").await.starts_with('1'));
        browser.enter(".site-header a[href='/inbox']").await;
        browser.arrive("/inbox").await;
        browser.wait_for_text(".inbox .unread .excerpt", "Ask @alice about it").await;
        browser.enter(".inbox .unread a.entry-row").await;
        browser.wait_for_text("#comment-1 .text", "Ask @alice about it").await;
        browser.enter(".site-header a[href='/inbox']").await;
        browser.arrive("/inbox").await;
        browser.wait_until_gone(".inbox .unread").await;
        assert_eq!(browser.count(".badge").await, 0);
        assert_eq!(browser.count(".inbox .entry").await, 1);
    }
}

#[tokio::test]
async fn a_story_is_saved_hidden_and_shown_again() {
    for script in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let [alice, bob] = server.people(["alice", "bob"]).await;
        alice.submit_text("A story", "to talk about").await;
        let hidden = format!("user:{}:hidden", bob.user_id);
        let browser = open(&server, Some(&bob), script).await;
        let focused = async || browser.run("return document.activeElement.textContent").await;
        browser.go("/latest/0").await;
        browser.mark_page().await;
        browser.enter("#news-1 [formaction='/hide']").await;
        browser.wait_for(":is(.undo, .undone) button").await;
        assert_eq!(server.ids(&hidden).await, [1]);
        if script {
            assert_eq!(browser.text("#news-1 .undone").await, "Hidden: A story. Undo");
            assert_eq!((browser.count("#news-1 h2").await, focused().await), (0, "Undo".into()));
        }
        browser.enter(":is(.undo, .undone) button").await;
        browser.wait_for("#news-1 h2").await;
        assert_eq!(server.ids(&hidden).await, [0; 0]);
        assert!(!script || focused().await == "hide");
        browser.enter("#news-1 [formaction='/save']").await;
        browser.wait_for("#news-1 [formaction='/unsave']").await;
        assert_eq!(server.ids(&format!("user.saved:{}", bob.user_id)).await, [1]);
        browser.enter("#news-1 [formaction='/unsave']").await;
        browser.wait_for("#news-1 [formaction='/save']").await;
        assert!(!script || browser.is_marked().await, "the page was not reloaded");
        // The list of what is hidden shows it, too.
        browser.enter("#news-1 [formaction='/hide']").await;
        browser.wait_for(":is(.undo, .undone) button").await;
        browser.enter(".menu.own summary").await;
        browser.enter(".site-header a[href='/@bob']").await;
        browser.arrive("/@bob").await;
        browser.enter("main a[href='/hidden/0']").await;
        browser.arrive("/hidden/0").await;
        browser.enter("#news-1 [formaction='/unhide']").await;
        browser.wait_until("it is no longer hidden", async || server.ids(&hidden).await.is_empty()).await;
    }
}

#[tokio::test]
async fn the_best_of_a_past_month_is_found() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    alice.submit_text("A story", "to talk about").await;
    server.advance(40 * 86_400);
    for script in [true, false] {
        let browser = open(&server, None, script).await;
        browser.go("/").await;
        browser.enter(".site-header a[href='/topics']").await;
        browser.enter("main a[href='/past']").await;
        browser.arrive("/past").await;
        browser.enter("main a[href='/past/2027-01']").await;
        browser.arrive("/past/2027-01").await;
        assert_eq!(browser.text("h1").await, "Best of January 2027");
        assert_eq!(browser.count("[data-item]").await, 1);
        browser.enter(".days a").await;
        browser.wait_for_text("h1", "Best of 15 Jan 2027").await;
        browser.enter("h2 a[href='/news/1']").await;
        browser.arrive("/news/1").await;
    }
}

#[tokio::test]
async fn a_fresh_site_is_set_up() {
    for script in [true, false] {
        let server = Server::start(Engine::Memory, &[]).await;
        let browser = open(&server, None, script).await;
        browser.go("/").await;
        browser.enter(".site-header a[href^='/register']").await;
        browser.wait_for("main [name=username]").await;
        sign_up(&browser, "alice").await;
        browser.arrive("/welcome").await;
        browser.enter(".checklist a[href='/admin/site']").await;
        browser.arrive("/admin/site").await;
        type_into(&browser, "main [name=name]", "The Gazette").await;
        browser.run("document.querySelector('main [name=accent]').value = '#aa0000'").await;
        browser.enter("main form[action='/admin/site'] > button").await;
        browser.wait_for_text(".brand", "The Gazette").await;
        let accent = "getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()";
        assert_eq!(browser.run(&format!("return {accent}")).await, "#aa0000");
        browser.go("/welcome").await;
        browser.enter(".checklist a[href='/submit']").await;
        browser.arrive("/submit").await;
        type_into(&browser, "main [name=title]", "Hello").await;
        type_into(&browser, "main [name=text]", "world").await;
        type_into(&browser, "main [name=topics]", "news").await;
        browser.press_key(ENTER).await;
        browser.wait_for_text("h1", "Hello").await;
        browser.go("/welcome").await;
        assert_eq!(browser.count(".checklist li:not(.done)").await, 2);
    }
}
