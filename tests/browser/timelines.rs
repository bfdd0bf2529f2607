//! Tweets, following, the home timeline and its notices of new posts.

use serde_json::json;

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};

async fn two_members() -> (Server, Client, Client) {
    let server = Server::start(Engine::Memory, &[("web.gravatars", "false")]).await;
    let (alice, bob) = (server.member("alice").await, server.member("bob").await);
    (server, alice, bob)
}

const COUNTER: &str = ".send .hint";
const NEWEST: &str = ".tweet .text";

#[tokio::test]
async fn a_tweet_is_written_with_a_character_counter_and_deleted() {
    let (server, alice, _bob) = two_members().await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/").await;
    browser.click(".menu summary").await;
    browser.follow("Following").await;
    browser.wait_for_text(COUNTER, "280 left").await;
    browser.fill("Your post", "Hello @bob").await;
    browser.wait_for_text(COUNTER, "270 left").await;
    // One character of several code points.
    let emoji = "const field = document.querySelector('#text');
        field.value = '👩‍🚀'.repeat(281);
        field.dispatchEvent(new Event('input'));";
    browser.run(emoji).await;
    browser.wait_for_text(COUNTER, "1 too many").await;
    browser.press("Post").await;
    browser.wait_for_text("[role=alert]", "Your post is too long (280 characters at most).").await;
    assert_eq!(browser.field_value("Your post").await, "👩‍🚀".repeat(281));

    browser.fill("Your post", "Hello @bob and @nobody").await;
    browser.press("Post").await;
    browser.wait_for_text(NEWEST, "Hello @bob and @nobody").await;
    browser.arrive("/home").await;
    browser.follow("@bob").await;
    browser.arrive("/@bob").await;

    browser.go("/home").await;
    browser.follow("delete").await;
    browser.wait_for_text("h1", "Delete this post?").await;
    browser.press("Delete").await;
    browser.arrive("/home").await;
    assert_eq!(browser.count(".tweet").await, 0);
    browser.wait_for(".empty").await;
}

#[tokio::test]
async fn people_are_followed_from_suggestions_and_unfollowed_on_their_profile() {
    let (server, alice, bob) = two_members().await;
    bob.tweet("What bob says").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/home").await;
    browser.follow("people to follow").await;
    browser.arrive("/suggestions").await;
    browser.press("Follow bob").await;
    browser.wait_until_gone(".person").await;
    browser.follow("Home").await;
    browser.wait_for_text(NEWEST, "What bob says").await;

    browser.click(".tweet .author").await;
    browser.arrive("/@bob").await;
    assert_eq!(browser.text("a[href='/@bob/followers']").await, "1");
    browser.click("a[href='/@bob/followers']").await;
    browser.wait_for(".person a[href='/@alice']").await;
    browser.go("/@bob").await;
    browser.press("Unfollow").await;
    browser.wait_for_text(".profile button", "Follow").await;
    assert_eq!(browser.text("a[href='/@bob/followers']").await, "0");
    browser.click(".menu summary").await;
    browser.follow("Following").await;
    browser.wait_for(".empty").await;
    assert_eq!(browser.count(".tweet").await, 0);
}

#[tokio::test]
async fn visitors_log_in_to_follow_and_return_to_the_profile() {
    let (server, _alice, _bob) = two_members().await;
    server.register("carol").await;
    let browser = Browser::open(&server).await;
    browser.go("/@bob").await;
    browser.press("Follow").await;
    browser.fill("Username", "carol").await;
    browser.fill("Password", crate::client::PASSWORD).await;
    browser.press("Log in").await;
    browser.arrive("/@bob").await;
    browser.press("Follow").await;
    browser.wait_for_text(".profile button", "Unfollow").await;
}

#[tokio::test]
async fn a_mention_is_counted_in_the_badge_and_shown_in_the_inbox_until_it_is_read() {
    let (server, alice, bob) = two_members().await;
    bob.tweet("Have you seen this, @alice?").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/").await;
    assert!(browser.text(".badge").await.starts_with('1'));
    browser.click("a[href='/inbox']").await;
    browser.arrive("/inbox").await;
    browser.wait_for_text(".inbox .unread .excerpt", "Have you seen this, @alice?").await;
    // Looking marks nothing as read.
    browser.go("/").await;
    assert!(browser.text(".badge").await.starts_with('1'));
    browser.go("/inbox").await;
    browser.press("Mark all as read").await;
    browser.wait_until_gone(".badge").await;
    assert_eq!((browser.count(".inbox .entry").await, browser.count(".inbox .unread").await), (1, 0));
}

#[tokio::test]
async fn an_open_home_page_shows_a_notice_of_new_tweets() {
    let (server, alice, bob) = two_members().await;
    bob.tweet("Before").await;
    alice.follow("bob").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/home").await;
    browser.wait_for_text(NEWEST, "Before").await;
    browser.mark_page().await;
    server.advance(1);
    bob.tweet("The first").await;
    browser.wait_for_text(".live a", "1 new post").await;
    server.advance(1);
    bob.tweet("The second").await;
    browser.wait_for_text(".live a", "2 new posts").await;
    assert!(browser.is_marked().await, "the page was not reloaded");
    assert_eq!(browser.text(NEWEST).await, "Before");
    browser.fill("Your post", "Half a thought").await;
    browser.follow("2 new posts").await;
    browser.wait_for_text(NEWEST, "The second").await;
    assert_eq!(browser.field_value("Your post").await, "Half a thought");
    assert!(!browser.is_marked().await);
    assert_eq!(browser.count(".live a").await, 0);

    // A page that was hidden shows what it has missed when it is visible again.
    let hide = "Object.defineProperty(document, 'hidden', { value: HIDDEN, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));";
    browser.run(&hide.replace("HIDDEN", "true")).await;
    server.advance(1);
    bob.tweet("The third").await;
    browser.run(&hide.replace("HIDDEN", "false")).await;
    browser.wait_for_text(".live a", "1 new post").await;
    assert_eq!(browser.console_messages().await, Vec::<String>::new());
}

#[tokio::test]
async fn timelines_have_more_pages() {
    let (server, alice, bob) = two_members().await;
    for number in 0..60 {
        bob.tweet(&format!("Number {number}")).await;
    }
    alice.follow("bob").await;
    let browser = Browser::open_as(&server, &alice).await;
    for path in ["/home", "/everyone", "/@bob"] {
        browser.go(path).await;
        browser.wait_for_text(NEWEST, "Number 59").await;
        assert_eq!(browser.count(".tweet").await, 50);
        browser.follow("more").await;
        browser.wait_for_text(NEWEST, "Number 9").await;
        assert_eq!(browser.count(".tweet").await, 10);
        assert_eq!(browser.count("[rel=next]").await, 0);
    }
}

#[tokio::test]
async fn timelines_work_without_javascript() {
    let (server, alice, bob) = two_members().await;
    bob.tweet("What bob says").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.disable_javascript().await;
    browser.go("/home").await;
    browser.fill("Your post", "Hello\nthere").await;
    browser.press("Post").await;
    browser.wait_for_text(NEWEST, "Hello\nthere").await;
    browser.press("Follow bob").await;
    browser.wait_until_gone(".person").await;
    assert_eq!(browser.count(".tweet").await, 2);
    assert_eq!(browser.count(COUNTER).await, 0);
    assert_eq!(browser.count(".live a").await, 0);
    browser.follow("delete").await;
    browser.press("Delete").await;
    browser.wait_for_text(NEWEST, "What bob says").await;
}

#[tokio::test]
async fn settings_change_the_name_and_whether_stories_are_announced() {
    let (server, alice, bob) = two_members().await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/@alice").await;
    browser.click("main a[href='/settings']").await;
    browser.fill("Full name", "Alice Liddell").await;
    browser.click("#tweet_news").await;
    browser.press("Save").await;
    browser.wait_for("[role=status]").await;
    assert_eq!(browser.run("return document.querySelector('#tweet_news').checked").await, json!(false));
    browser.follow("Your profile").await;
    browser.wait_for_text("h1", "Alice Liddell").await;
    alice.submit_text("Quietly", "text").await;
    bob.submit_link("Loudly", "https://example.com/loud").await;
    browser.go("/everyone").await;
    assert_eq!(browser.count(".tweet").await, 1);
    browser.follow("discuss").await;
    browser.wait_for_text("h1", "Loudly (example.com)").await;
}

#[tokio::test]
async fn deactivating_an_account_needs_the_password() {
    let server = Server::start(Engine::Memory, &[]).await;
    // The first account is the administrator's, and the last administrator stays.
    server.register("bob").await;
    let alice = server.register("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/settings/account").await;
    browser.follow("deactivate your account").await;
    browser.fill("Your password", "wrong password").await;
    browser.press("Deactivate my account").await;
    browser.wait_for("[role=alert]").await;
    browser.fill("Your password", crate::client::PASSWORD).await;
    browser.press("Deactivate my account").await;
    browser.wait_for_text("h1", "Deactivated accounts").await;
    browser.wait_until_logged_out().await;
    browser.go("/@alice").await;
    browser.wait_for(".trouble").await;
}
