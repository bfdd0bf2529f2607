//! Voting: with JavaScript without a page load, otherwise with a form.

use serde_json::json;

use crate::browser::{Browser, ENTER};
use crate::client::{Client, ok};
use crate::server::{Engine, Server};

/// A site with a story by alice and her comment on it. Returns the server, the client of bob, who
/// votes, and the ids of the story and the comment.
async fn site_with_bob() -> (Server, Client, u64, u64) {
    let server = Server::start(Engine::Memory, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("The story", "its text").await;
    let comment = alice.comment(news, "the comment").await;
    (server, bob, news, comment)
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
    browser.arrive(&format!("/news/{news}?at={comment}{place}")).await;
    browser.wait_for(&format!("{place} .vote .up[aria-pressed=true]")).await;

    let stored = server.field(&format!("thread:comment:{news}"), &comment.to_string()).await.unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    assert_eq!((&stored["up"], &stored["down"]), (&json!([1, 3]), &json!([2])));
}

#[tokio::test]
async fn a_rejected_vote_shows_the_reason_beside_the_story() {
    let (server, bob, news, _) = site_with_bob().await;
    server.set_karma(&bob, 50).await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    // Voting down needs more karma than bob has by now.
    server.set_karma(&bob, 5).await;
    browser.click(".vote .down").await;
    assert!(browser.text("#news-1 [role=alert]").await.contains("karma"));
    assert!(browser.is_marked().await);
    // It has taken itself back.
    assert_eq!(browser.count(".vote button:disabled, .vote [aria-pressed=true], [data-count=down]").await, 0);
    assert_eq!(server.ids(&format!("news.down:{news}")).await, Vec::<u64>::new());
    // The next vote removes the reason.
    browser.click(".vote .up").await;
    browser.wait_for(".vote .up[aria-pressed=true]").await;
    assert_eq!(browser.count("[role=alert]").await, 0);
    // A vote shows before it is answered.
    browser.run("window.fetch = () => new Promise(() => {})").await;
    browser.click(".vote .up").await;
    assert_eq!(browser.count(".vote .up[aria-pressed=false][value=up]").await, 1);
}

#[tokio::test]
async fn by_keyboard_a_vote_is_cast_and_taken_back_without_losing_the_focus() {
    let (server, bob, news, _) = site_with_bob().await;
    server.set_karma(&bob, 50).await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    for (button, direction, said, counts, karma) in
        [(".up", "up", "Voted up", ["2", "-"], "(49)"), (".down", "down", "Voted down", ["1", "1"], "(44)")]
    {
        let button = format!("#news-{news} .vote {button}");
        browser.tab_to(&button).await;
        assert_eq!(browser.wait_for(&button).await.attr("title").await.unwrap(), None);
        browser.press_key(ENTER).await;
        browser.wait_for(&format!("{button}[aria-pressed=true][title='Take back your vote']")).await;
        browser.wait_for(".vote button[aria-pressed=false]:disabled").await;
        browser.wait_until("it is announced", async || status(&browser).await == said).await;
        assert!(browser.has_focus(&button).await);
        let [up, down] = counts;
        assert_eq!(browser.text(".karma").await, karma);
        assert!(server.ids(&format!("news.{direction}:{news}")).await.contains(&bob.user_id));
        assert_eq!(browser.text("[data-count=up]").await, up);
        assert_eq!(browser.count("[data-count=down]").await, usize::from(down != "-"));
        if down != "-" {
            assert_eq!(browser.text("#news-1 .meta span:has(> [data-count=down])").await, "1 down");
        }
        browser.press_key(ENTER).await;
        browser.wait_for(&format!("{button}[aria-pressed=false][value={direction}]")).await;
        browser.wait_until("it is announced", async || status(&browser).await == "Vote taken back").await;
        assert!(browser.has_focus(&button).await);
        assert_eq!(browser.text("[data-count=up]").await, "1");
        assert_eq!(browser.count("[data-count=down], .vote button:disabled").await, 0);
        assert_eq!(browser.wait_for(&button).await.attr("title").await.unwrap(), None);
        assert_eq!(browser.text(".karma").await, "(50)");
    }
    assert!(browser.is_marked().await, "the page was not reloaded");
    assert_eq!(server.ids(&format!("news.up:{news}")).await, [1]);
    assert_eq!(server.karma(&bob).await, 50);

    // A vote of an earlier page is taken back as well.
    ok(bob.vote(news, "down").await);
    browser.reload().await;
    let button = format!("#news-{news} .vote .down");
    browser.wait_for(&format!("{button}[aria-pressed=true]:enabled")).await;
    browser.tab_to(&button).await;
    browser.press_key(ENTER).await;
    browser.wait_for(&format!("{button}[aria-pressed=false]:not([title])")).await;
    assert_eq!(browser.count("[data-count=down]").await, 0);
}

async fn status(browser: &Browser) -> String {
    let said = browser.run("return document.querySelector('[role=status]').textContent").await;
    said.as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn without_javascript_a_vote_is_taken_back_by_keyboard() {
    let (server, bob, news, _) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.disable_javascript().await;
    for page in ["/latest/0", "/"] {
        browser.go(page).await;
        assert_eq!(browser.count("li[hidden] [data-help]").await, 1, "no script has run");
    }
    let enter = ENTER.to_string();
    browser.wait_for(".vote .up").await.send_keys(&enter).await.unwrap();
    browser.arrive(&format!("/#news-{news}")).await;
    browser.wait_for(".vote .up[aria-pressed=true][value=none]").await.send_keys(&enter).await.unwrap();
    browser.wait_for(".vote .up[aria-pressed=false][value=up]").await;
    assert_eq!(browser.text("[data-count=up]").await, "1");
    assert_eq!(server.ids(&format!("news.up:{news}")).await, [1]);
}

#[tokio::test]
async fn where_votes_are_final_the_pressed_button_keeps_the_focus_and_does_nothing() {
    let server = Server::start(Engine::Memory, &[("karma.take_back_seconds", "0")]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "its text").await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.tab_to(".vote .up").await;
    browser.press_key(ENTER).await;
    browser.wait_for(".vote .up[aria-pressed=true][aria-disabled=true]").await;
    assert!(browser.has_focus(".vote .up").await);
    browser.press_key(ENTER).await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
    assert_eq!(browser.count("[role=alert]").await, 0);
}

#[tokio::test]
async fn on_a_phone_up_and_down_are_large_and_apart() {
    let (server, bob, news, _) = site_with_bob().await;
    // To have both buttons.
    server.set_karma(&bob, 100).await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.emulate_phone().await;
    for page in ["/".to_owned(), format!("/news/{news}")] {
        browser.go(&page).await;
        let script = "return [...document.querySelectorAll('.vote')].map((form) => {
            const [up, down] = [...form.querySelectorAll('button')].map((each) => each.getBoundingClientRect());
            const apart = Math.max(down.top - up.bottom, down.left - up.right);
            return [up.width, up.height, down.width, down.height, apart];
        })";
        let sizes = browser.run(script).await;
        for sizes in sizes.as_array().unwrap() {
            let sizes: Vec<f64> = sizes.as_array().unwrap().iter().filter_map(|size| size.as_f64()).collect();
            // One above the other.
            let [up_width, up_height, down_width, down_height, apart] = sizes[..] else {
                panic!("{sizes:?}")
            };
            assert!(up_width >= 44.0 && down_width >= 44.0 && apart >= 0.0, "{page}: {sizes:?}");
            assert!(up_height >= 24.0 && down_height >= 24.0, "{page}: {sizes:?}");
        }
    }
}

#[tokio::test]
async fn a_page_that_comes_back_asks_for_its_votes() {
    let (server, bob, news, comment) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    for (page, event) in [
        (format!("/news/{news}"), "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"),
        ("/".to_owned(), "document.dispatchEvent(new Event('visibilitychange'))"),
    ] {
        browser.go(&page).await;
        browser.mark_page().await;
        // In another tab.
        ok(bob.vote(news, "up").await);
        ok(bob.vote_comment(news, comment, "up").await);
        browser.run(event).await;
        browser.wait_for(&format!("#news-{news} .vote .up[aria-pressed=true][value=none]")).await;
        assert_eq!(browser.text(&format!("#news-{news} [data-count=up]")).await, "2");
        if page != "/" {
            browser.wait_for(&format!("#comment-{comment} .vote .up[aria-pressed=true]")).await;
        }
        ok(bob.vote(news, "none").await);
        ok(bob.vote_comment(news, comment, "none").await);
        browser.run(event).await;
        browser.wait_for(&format!("#news-{news} .vote .up[aria-pressed=false][value=up]")).await;
        assert_eq!(browser.text(&format!("#news-{news} [data-count=up]")).await, "1");
        assert!(browser.is_marked().await);
    }
    // After Back, whether the browser has kept the page or asks for it.
    browser.go("/").await;
    browser.go(&format!("/news/{news}")).await;
    browser.click(&format!("#news-{news} .vote .up")).await;
    browser.wait_for(&format!("#news-{news} .vote .up[value=none]")).await;
    browser.go_back().await;
    browser.arrive("/").await;
    browser.wait_for(".vote .up[aria-pressed=true][value=none]").await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
}

#[tokio::test]
async fn a_refused_vote_corrects_its_row() {
    let (server, bob, news, _) = site_with_bob().await;
    server.set_karma(&bob, 50).await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    ok(bob.vote(news, "up").await);
    browser.click(".vote .down").await;
    assert!(browser.text("#news-1 [role=alert]").await.contains("already voted"));
    browser.wait_for(".vote .up[aria-pressed=true][value=none]").await;
    browser.wait_for(".vote .down[aria-pressed=false]:disabled").await;
    assert_eq!(browser.text("[data-count=up]").await, "2");
    assert_eq!(browser.count("[data-count=down]").await, 0);
}
