//! Submitting, editing and deleting stories, and showing markup in them as text.

use crate::browser::Browser;
use crate::server::{Engine, Server};

#[tokio::test]
async fn links_and_texts_are_submitted_with_the_form() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/").await;
    browser.follow("Submit").await;
    browser.fill("Title", "A link").await;
    browser.fill("URL", "https://www.example.com/page?a=1&b=2").await;
    browser.press("Submit").await;
    browser.arrive("/news/1").await;
    assert_eq!(browser.text("h1 a").await, "A link");
    assert_eq!(browser.text("a.host").await, "example.com");
    let target = browser.wait_for("h1 a").await.attr("href").await.unwrap();
    assert_eq!(target.as_deref(), Some("https://www.example.com/page?a=1&b=2"));

    browser.follow("Submit").await;
    browser.fill("Title", "A text").await;
    browser.fill("Text", "First line\nand https://example.com/here.").await;
    browser.press("Submit").await;
    browser.arrive("/news/2").await;
    assert_eq!(browser.text("article .text").await, "First line\nand https://example.com/here.");
    let target = browser.wait_for("article .text a").await.attr("href").await.unwrap();
    assert_eq!(target.as_deref(), Some("https://example.com/here"), "without the full stop");
}

#[tokio::test]
async fn a_rejected_submission_keeps_what_was_typed() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/submit").await;
    browser.fill("Title", "A \"title\"").await;
    browser.fill("URL", "javascript:alert(1)").await;
    browser.fill("Text", "\n two <b>lines</b>").await;
    browser.press("Submit").await;
    browser.wait_for("[role=alert]").await;
    assert_eq!(browser.field_value("Title").await, "A \"title\"");
    assert_eq!(browser.field_value("URL").await, "javascript:alert(1)");
    assert_eq!(browser.field_value("Text").await, "\n two <b>lines</b>");
}

#[tokio::test]
async fn the_bookmarklet_fills_the_form_and_a_repost_opens_the_earlier_story() {
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.member("alice").await;
    let browser = Browser::open_as(&server, &alice).await;
    let earlier = alice.submit_link("Earlier", "https://example.com/a?b=c&d").await;
    // Encoded as by the script of the bookmarklet.
    browser.go("/submit?u=https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d&t=Tea%20%26%20%22cake%22").await;
    assert_eq!(browser.field_value("Title").await, "Tea & \"cake\"");
    assert_eq!(browser.field_value("URL").await, "https://example.com/a?b=c&d");
    browser.press("Submit").await;
    browser.arrive(&format!("/news/{earlier}")).await;
    assert_eq!(browser.text("h1 a").await, "Earlier");
}

#[tokio::test]
async fn authors_edit_and_delete_their_stories() {
    let server = Server::start(Engine::Memory, &[]).await;
    server.member("admin").await;
    let alice = server.member("alice").await;
    let news = alice.submit_text("Before", "the text").await;
    let browser = Browser::open_as(&server, &alice).await;
    browser.go("/").await;
    browser.enter("a[href^='/editnews/']").await;
    assert_eq!(browser.field_value("Title").await, "Before");
    assert_eq!(browser.field_value("Text").await, "the text");
    browser.fill("Title", "After").await;
    browser.press("Save").await;
    browser.arrive(&format!("/news/{news}")).await;
    assert_eq!(browser.text("h1").await, "After");
    assert_eq!(browser.text("article .text").await, "the text");

    browser.enter("a[href^='/delnews/']").await;
    browser.wait_for_text("h1", "Delete this story?").await;
    browser.press("Delete").await;
    browser.arrive("/").await;
    assert_eq!(browser.count("[data-item]").await, 0);
    browser.go(&format!("/news/{news}")).await;
    assert_eq!(browser.text("h1").await, "[deleted story]");
    assert_eq!(browser.count(".vote, form[action='/postcomment']").await, 0);
}

#[tokio::test]
async fn markup_in_titles_texts_comments_and_profiles_is_shown_as_text() {
    const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    const TITLE: &str = "<script>alert(1)</script>";
    let server = Server::start(Engine::Memory, &[]).await;
    let mallory = server.member("mallory").await;
    let link = mallory.submit_link(TITLE, "https://example.com/\"onmouseover=alert(3)").await;
    let text = mallory.submit_text("A text", MARKUP).await;
    let comment = mallory.comment(text, MARKUP).await;
    crate::client::ok(mallory.update_profile(MARKUP, "", "").await);
    let browser = Browser::open_as(&server, &mallory).await;
    for (page, place, shown) in [
        ("/".to_owned(), format!("#news-{link} h2 a"), TITLE),
        (format!("/news/{link}"), "h1 a".to_owned(), TITLE),
        (format!("/news/{text}"), "article .text".to_owned(), MARKUP),
        (format!("/news/{text}"), format!("#comment-{comment} .text"), MARKUP),
        (format!("/news/{text}?at={comment}"), format!("#comment-{comment} .text"), MARKUP),
        ("/usercomments/mallory/0".to_owned(), format!("#comment-{text}-{comment} .text"), MARKUP),
        ("/user/mallory".to_owned(), "main .text".to_owned(), MARKUP),
    ] {
        browser.go(&page).await;
        assert_eq!(browser.text(&place).await, shown, "{page}");
        assert_eq!(browser.count("main script, main img, [onmouseover]").await, 0, "{page}");
        assert_eq!(browser.script_dialog().await, None, "{page}");
    }
    browser.go(&format!("/editnews/{text}")).await;
    assert_eq!(browser.field_value("Text").await, MARKUP);
    browser.go(&format!("/editcomment/{text}/{comment}")).await;
    assert_eq!(browser.field_value("Your comment").await, MARKUP);
}
