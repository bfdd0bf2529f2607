//! Links to comments, and the badge of replies.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::server::{Engine, Server};

#[tokio::test]
async fn a_link_to_a_comment_finds_it_on_any_page() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    alice.submit_text("The story", "its text").await;
    let comment = json!({"body": "one of many", "ctime": 1, "user_id": 1, "parent_id": -1, "up": [1]});
    let fields: Vec<_> = (1..=201).map(|id| (id.to_string(), comment.to_string())).collect();
    server.write(|batch| batch.set_fields("thread:comment:1", fields)).await;
    let browser = Browser::open(&server).await;
    for hash in ["comment-1", "1-1"] {
        browser.go(&format!("/news/1#{hash}")).await;
        browser.arrive("/news/1?at=1#comment-1").await;
    }
    // On the page itself the browser finds it, with the original's id too.
    for hash in ["comment-2", "1-2"] {
        browser.go(&format!("/news/1#{hash}")).await;
        assert_eq!(browser.count(":target").await, 1);
    }
}

#[tokio::test]
async fn the_badge_counts_new_replies_until_they_are_read() {
    let server = Server::start(Engine::Memory, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("The story", "its text").await;
    let comment = alice.comment(news, "the comment").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/").await;
    browser.wait_until_logged_in("alice").await;
    assert_eq!(browser.count(".badge").await, 0);
    bob.reply(news, comment, "the first reply").await;
    let second = bob.reply(news, comment, "the second reply").await;
    let other = alice.submit_text("Another story", "its text").await;
    bob.comment(other, "a comment").await;
    browser.reload().await;
    assert!(browser.text(".badge").await.starts_with('3'));

    browser.click("a[href='/inbox']").await;
    browser.arrive("/inbox").await;
    let entry = format!("#reply-{news}-{second}");
    assert_eq!(browser.text(&format!("{entry} .excerpt")).await, "the second reply");
    assert!(browser.text(&entry).await.contains("Unread"));
    // Two lines at most, on a wide and on a narrow screen.
    let heights = "return [...document.querySelectorAll('.inbox .entry')].map((row) => row.getBoundingClientRect().height)";
    for width in [1_280, 390] {
        browser.resize(width, 800).await;
        let heights = browser.run(heights).await;
        let heights: Vec<f64> = heights.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        println!("rows of the inbox at {width}: {heights:?}");
        assert!(heights.len() == 3 && heights.iter().all(|height| *height <= 72.0), "{width}: {heights:?}");
    }
    // Its thread reads the two that are in it; the other stays.
    browser.click(&format!("{entry} .entry-row")).await;
    browser.wait_for_text(&format!("#comment-{second} .text"), "the second reply").await;
    browser.go("/inbox").await;
    assert_eq!(browser.count(&format!("{entry}.unread")).await, 0);
    assert!(browser.text(".badge").await.starts_with('1'));
    browser.press("Mark all as read").await;
    browser.wait_until_gone(".badge").await;
    assert_eq!(browser.count(".inbox .unread").await, 0);
    browser.press("Undo").await;
    browser.wait_for(".badge").await;
    assert_eq!(browser.count(".inbox .unread").await, 1);
}
