//! Markup in what people write is shown as text.

use crate::browser::Browser;
use crate::server::{Engine, Server};

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
        ("/user/mallory?show=about".to_owned(), "main .text".to_owned(), MARKUP),
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
