//! Submitting a story: the fetched title, earlier stories, topics and the preview, with and
//! without the script.

use crate::axe::{axe_source, check_page};
use crate::browser::Browser;
use crate::client::Client;
use crate::page_server::{PageServer, Reply};
use crate::server::Server;

/// The Enter key, as a driver of browsers knows it.
const ENTER: char = '\u{E007}';

/// A site that can fetch from a server with one page that has a title.
async fn site() -> (PageServer, Server, Client) {
    let pages = PageServer::start(|path| match path {
        "/page" => Reply::html("<title>The title of the page</title>"),
        _ => Reply::html("no title"),
    })
    .await;
    let network = pages.network();
    let server = Server::start_adjusted(&[], |settings| settings.titles.network = network).await;
    let alice = server.register("alice").await;
    (pages, server, alice)
}

#[tokio::test]
async fn the_title_of_a_page_is_fetched() {
    let (pages, server, alice) = site().await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    browser.mark_page().await;
    browser.fill("URL", &pages.url("/none")).await;
    browser.fill("Title", "Mine").await;
    browser.fill("Text", "My text").await;
    browser.press("Fetch title").await;
    browser.wait_for_text("#error-url", "This page has no title.").await;
    check_page(&browser, &axe_source(), "a title that was not fetched").await;
    assert_eq!(browser.field_value("Title").await, "Mine");

    browser.fill("URL", &pages.url("/page")).await;
    // By keyboard alone.
    browser.run("document.querySelector('[data-fetch-title]').focus()").await;
    browser.press_key(ENTER).await;
    browser.wait_for_text("[data-fetched]", "This is the title of the page. You had typed: \"Mine\".").await;
    assert_eq!(browser.field_value("Title").await, "The title of the page");
    assert_eq!(browser.field_value("Text").await, "My text");
    assert_eq!(browser.count("#error-url, [aria-invalid]").await, 0);
    assert!(browser.is_marked().await, "the page was not loaded again");
    browser.press("Submit").await;
    browser.arrive("/news/1").await;
    assert_eq!(browser.text("h1 a").await, "The title of the page");
}

#[tokio::test]
async fn an_earlier_story_shows_while_typing_and_a_host_is_completed() {
    let (_pages, server, alice) = site().await;
    let earlier = alice.submit_link("Earlier", "https://example.com/a").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    browser.fill("URL", "example.com/a").await;
    browser.wait_for_text("[data-duplicate]", "Submitted just now: Earlier").await;
    browser.run("document.querySelector('#title').focus()").await;
    let completed = async || browser.field_value("URL").await == "https://example.com/a";
    browser.wait_until("the URL is completed", completed).await;
    browser.fill("URL", "example.com/b").await;
    browser.wait_until_gone("[data-duplicate] p").await;
    server.advance(3 * 3_600);
    browser.reload().await;
    browser.fill("URL", "example.com/a").await;
    browser.wait_for_text("[data-duplicate]", "Submitted 3 hours ago: Earlier").await;
    browser.go("/submit?u=https%3A%2F%2Fexample.com%2Fa&t=T").await;
    browser.wait_for("[data-duplicate] a").await;
    browser.follow("Earlier").await;
    browser.arrive(&format!("/news/{earlier}")).await;
    // A story is not its own duplicate.
    browser.go(&format!("/editnews/{earlier}")).await;
    browser.fill("URL", "https://example.com/c").await;
    browser.fill("URL", "example.com/a").await;
    browser.run("document.querySelector('#title').focus()").await;
    browser.wait_until("the URL is completed", completed).await;
    assert_eq!(browser.count("[data-duplicate] p").await, 0);
}

#[tokio::test]
async fn the_text_of_a_duplicate_is_a_draft_of_a_comment() {
    let (_pages, server, alice) = site().await;
    let earlier = alice.submit_link("Earlier", "https://example.com/a").await;
    let bob = server.member("bob").await;
    let browser = Browser::open_as(&server, &bob).await;
    browser.go("/submit").await;
    browser.fill("URL", "https://example.com/a").await;
    browser.fill("Title", "Later").await;
    browser.fill("Text", "What I think").await;
    browser.press("Submit").await;
    browser.wait_for_text(".notice", "Already submitted just now by alice. Your text is below.").await;
    check_page(&browser, &axe_source(), "a duplicate").await;
    assert!(browser.text(".draft-note").await.contains("Your draft."));
    // The draft waits in the thread; the form for stories is empty.
    browser.go(&format!("/news/{earlier}")).await;
    browser.wait_for(".draft-note").await;
    assert_eq!(browser.field_value("Your comment").await, "What I think");
    browser.go("/submit").await;
    assert_eq!(browser.field_value("Text").await, "");
    browser.go(&format!("/news/{earlier}")).await;
    browser.press("Add comment").await;
    browser.wait_for_text("#comment-1 .text", "What I think").await;
}

#[tokio::test]
async fn one_line_says_that_a_story_is_a_draft_and_a_new_address_has_none() {
    let (_pages, server, alice) = site().await;
    let browser = Browser::open_as(&server, &alice).await;
    let typed = async || {
        let mut typed = Vec::new();
        for field in ["URL", "Title", "Text"] {
            typed.push(browser.field_value(field).await);
        }
        typed
    };
    let old = ["https://example.com/a", "An old title", "An old text"];
    browser.go("/submit").await;
    for (field, text) in ["URL", "Title", "Text"].into_iter().zip(old) {
        browser.fill(field, text).await;
    }
    let new = "/submit?u=https%3A%2F%2Fexample.com%2Fb&t=New";
    browser.go(new).await;
    assert_eq!(typed().await, ["https://example.com/b", "New", ""]);
    assert_eq!(browser.count(".draft-note").await, 0);
    browser.fill("Text", "A new text").await;
    // Refused, it is still the form of this address.
    browser.fill("Topics", "a/b").await;
    browser.press("Submit").await;
    browser.wait_for("[aria-invalid=true]").await;
    browser.go(new).await;
    assert_eq!(typed().await, ["https://example.com/b", "New", "A new text"]);
    browser.go("/submit").await;
    assert_eq!(typed().await, old);
    assert_eq!(browser.count(".draft-note").await, 1);
    browser.press("Discard").await;
    assert_eq!(typed().await, ["", "", ""]);
    browser.reload().await;
    assert_eq!(typed().await, ["", "", ""]);
    assert_eq!(browser.count(".draft-note").await, 0);

    browser.go(new).await;
    browser.press("Submit").await;
    browser.arrive("/news/1").await;
    browser.go(new).await;
    assert_eq!(browser.field_value("Text").await, "", "what was sent is no draft");
}

#[tokio::test]
async fn topics_are_chosen_by_buttons() {
    let (_pages, server, alice) = site().await;
    alice.submit_on("rust, go", "One").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    browser.mark_page().await;
    browser.fill("Topics", "new").await;
    browser.press("rust").await;
    assert_eq!(browser.field_value("Topics").await, "new, rust");
    assert_eq!(browser.text("[data-topic-buttons] [aria-pressed=true]").await, "rust");
    browser.press("go").await;
    browser.press("rust").await;
    assert_eq!(browser.field_value("Topics").await, "new, go");
    browser.fill("Topics", "rust").await;
    assert_eq!(browser.text("[data-topic-buttons] [aria-pressed=true]").await, "rust");
    assert!(browser.is_marked().await, "the page was not loaded again");
    check_page(&browser, &axe_source(), "chosen topics").await;
}

#[tokio::test]
async fn enter_in_a_field_submits_and_fetches_nothing() {
    let (pages, server, alice) = site().await;
    let browser = Browser::open_as(&server, &alice).await;
    for script in [true, false] {
        if !script {
            browser.disable_javascript().await;
        }
        browser.go("/submit").await;
        browser.fill("URL", &pages.url(&format!("/{script}"))).await;
        browser.fill("Title", &format!("Script: {script}\n")).await;
        browser.arrive(&format!("/news/{}", if script { 1 } else { 2 })).await;
    }
    assert_eq!(pages.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn the_last_of_several_topics_is_completed() {
    let (_pages, server, alice) = site().await;
    alice.submit_on("rust, databases, go", "One").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    for (typed, offered) in [
        ("ru", "rust|go|databases"),
        ("rust, d", "rust, go|rust, databases"),
        ("rust,go,", "rust,go,databases"),
        ("new, go,  r", "new, go,  rust|new, go,  databases"),
        ("", "rust|go|databases"),
    ] {
        browser.fill("Topics", typed).await;
        let script = "const field = document.querySelector('input[data-several]');
            field.dispatchEvent(new Event('input'));
            return [...field.list.options].map((option) => option.value).join('|')";
        let found = browser.run(script).await;
        assert_eq!(found, offered, "{typed:?}");
    }
}
