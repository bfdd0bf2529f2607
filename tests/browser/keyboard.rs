//! Keyboard shortcuts: next and previous, open, vote, help.

use serde_json::json;

use crate::browser::{ALT, Browser, ENTER, ESCAPE};
use crate::client::Client;
use crate::server::{Engine, Server};

/// A site with the stories `first` (at the top), `second` and `third`, and a client of bob, who may
/// vote down.
async fn site_with_bob() -> (Server, Client) {
    let server = Server::start(Engine::Memory, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 100).await;
    for title in ["third", "second", "first"] {
        alice.submit_text(title, "text").await;
        server.advance(3_600);
    }
    (server, bob)
}

async fn selected(browser: &Browser) -> String {
    browser.text(".current h2").await
}

#[tokio::test]
async fn j_and_k_move_through_the_list_and_enter_opens_the_story() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    assert_eq!(browser.count(".current").await, 0);
    for (key, expected) in
        [('j', "first"), ('k', "first"), ('j', "second"), ('j', "third"), ('j', "third"), ('k', "second")]
    {
        browser.press_key(key).await;
        assert_eq!(selected(&browser).await, expected, "after {key}");
        assert_eq!(browser.count(".current").await, 1);
    }
    browser.press_key(ENTER).await;
    browser.wait_for_text("h1", "second").await;
    assert_eq!(browser.address().await, "/news/2");
}

#[tokio::test]
async fn in_a_thread_j_and_k_move_between_comments() {
    let (server, bob) = site_with_bob().await;
    let comment = bob.comment(1, "a comment").await;
    bob.reply(1, comment, "a reply").await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/news/1").await;
    for expected in ["news-1", "comment-1", "comment-2"] {
        browser.press_key('j').await;
        let current = browser.run("return document.querySelector('.current').closest('[id]').id").await;
        assert_eq!(current, expected);
    }
    browser.press_key('k').await;
    browser.press_key(ENTER).await;
    browser.arrive("/news/1?at=1#comment-1").await;
}

#[tokio::test]
async fn a_and_z_vote_on_the_selected_story() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    browser.mark_page().await;
    // Without a selection, the key does nothing.
    browser.press_key('a').await;
    browser.press_key('j').await;
    browser.press_key('j').await;
    browser.press_key('a').await;
    browser.wait_for("#news-2 .up[aria-pressed=true]").await;
    browser.press_key('j').await;
    browser.press_key('z').await;
    browser.wait_for("#news-1 .down[aria-pressed=true]").await;
    // A second vote does nothing.
    browser.press_key('a').await;
    assert_eq!(browser.text("#news-1 .meta").await.split(' ').next(), Some("1"));
    assert!(browser.is_marked().await);
    assert_eq!(server.ids("news.up:1").await, [1]);
    assert_eq!(server.ids("news.down:1").await, [2]);
    assert_eq!(server.ids("news.up:2").await, [1, 2]);
    assert_eq!(server.ids("news.up:3").await, [1]);
}

#[tokio::test]
async fn a_question_mark_or_the_button_opens_the_help_and_escape_closes_it() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/").await;
    for _ in 0..2 {
        browser.press_key('?').await;
        browser.wait_for("dialog[open]").await;
        assert!(browser.text("dialog").await.contains("Next story"));
        // The page behind the dialog ignores keys.
        browser.press_key('j').await;
        assert_eq!(browser.count(".current").await, 0);
        browser.press_key(ESCAPE).await;
        browser.wait_until_gone("dialog[open]").await;
    }
    browser.press("Keyboard shortcuts").await;
    browser.wait_for("dialog[open]").await;
    browser.press("Close").await;
    browser.wait_until_gone("dialog[open]").await;
    assert_eq!(browser.count("dialog").await, 1, "the dialog is created only once");
}

#[tokio::test]
async fn keys_typed_into_a_field_are_not_shortcuts() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/news/1").await;
    browser.press_key('j').await;
    browser.fill("Your comment", "jazz? ok").await;
    assert_eq!(browser.field_value("Your comment").await, "jazz? ok");
    assert_eq!(browser.count("dialog").await, 0);
    let current = browser.wait_for(".current").await.attr("id").await.unwrap();
    assert_eq!(current.as_deref(), Some("news-1"));
    assert_eq!(server.ids("news.up:1").await, [1]);

    // Keys with Ctrl are not shortcuts either.
    browser.go("/").await;
    let event = "new KeyboardEvent('keydown', { key: 'j', ctrlKey: true, bubbles: true })";
    browser.run(&format!("document.body.dispatchEvent({event})")).await;
    assert_eq!(browser.run("return document.querySelectorAll('.current').length").await, json!(0));
}

#[tokio::test]
async fn members_choose_whether_keys_are_shortcuts() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    let choose = async |choice: &str| {
        browser.go("/settings/reading").await;
        let script = format!("document.querySelector('#shortcuts').value = '{choice}'");
        browser.run(&script).await;
        browser.press("Save").await;
        browser.wait_for_text("main [role=status]", "Your reading settings have been saved.").await;
        browser.go("/").await;
    };
    choose("modifier").await;
    browser.press_key('j').await;
    assert_eq!(browser.count(".current").await, 0);
    browser.press_keys(&[ALT, 'j']).await;
    assert_eq!(selected(&browser).await, "first");
    choose("off").await;
    browser.press_key('j').await;
    browser.press_keys(&[ALT, 'j']).await;
    assert_eq!(browser.count(".current").await, 0);
    // The list of keys says where to change it.
    browser.press("Keyboard shortcuts").await;
    browser.follow("Change in your settings").await;
    browser.arrive("/settings/reading#shortcuts").await;
}

#[tokio::test]
async fn visitors_choose_in_the_help_which_touch_screens_do_not_have() {
    let (server, _) = site_with_bob().await;
    let browser = Browser::open(&server).await;
    for (choice, alone, with_alt) in [("off", 0, 0), ("modifier", 0, 1), ("on", 1, 0)] {
        browser.go("/").await;
        browser.press("Keyboard shortcuts").await;
        let script = format!(
            "const choice = document.querySelector('#shortcut-mode');
            choice.value = '{choice}';
            choice.dispatchEvent(new Event('change'));"
        );
        browser.run(&script).await;
        for (keys, current) in [(&['j'][..], alone), (&[ALT, 'j'][..], with_alt)] {
            browser.reload().await;
            browser.press_keys(keys).await;
            assert_eq!(browser.count(".current").await, current, "{choice} {keys:?}");
        }
    }
    browser.emulate_phone().await;
    browser.go("/").await;
    let is_shown = browser.run("return document.querySelector('[data-help]').checkVisibility()").await;
    assert_eq!(is_shown, json!(false));
}
