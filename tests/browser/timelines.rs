//! Tweets, following, the home timeline and its notices of new posts.

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};

async fn two_members() -> (Server, Client, Client) {
    let server = Server::start(Engine::Memory, &[("web.gravatars", "false")]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
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
    browser.press("Add post").await;
    browser.wait_for_text("[role=alert]", "Your post is too long (280 characters at most).").await;
    assert_eq!(browser.field_value("Your post").await, "👩‍🚀".repeat(281));

    browser.fill("Your post", "Hello @bob and @nobody").await;
    browser.press("Add post").await;
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
async fn timelines_work_without_javascript() {
    let (server, alice, bob) = two_members().await;
    bob.tweet("What bob says").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.disable_javascript().await;
    browser.go("/home").await;
    browser.fill("Your post", "Hello\nthere").await;
    browser.press("Add post").await;
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
