//! Comments and the texts of stories in Markdown: stored as they were typed, shown as HTML on
//! pages, in feeds and in the API.

use roxmltree::Document;
use serde_json::json;

use crate::client::{ok, refused, refused_saying};
use crate::html::Page;
use crate::pages::page;
use crate::server::{Server, in_memory};

const TEXT: &str =
    "A *new* [page](https://example.com/a), says @bob:\n\n> `x < y`\n> <b>&amp;</b>\n\n- one\n- two";
const HTML: &str = "<p>A <em>new</em> <a href=\"https://example.com/a\" rel=\"nofollow ugc noopener\">page</a>, \
    says <a href=\"/@bob\">@bob</a>:</p><blockquote><p><code>x &lt; y</code><br>\
    &lt;b&gt;&amp;amp;&lt;/b&gt;</p></blockquote><ul><li>one</li><li>two</li></ul>";

/// Looks for the markup of [`TEXT`] on a page, so often.
#[track_caller]
fn check_formatted(page: &Page, times: usize) {
    let shown = |name: &str, text: &str| page.all(name).filter(|element| element.text() == text).count();
    let links = page.find("a", &[("href", "https://example.com/a"), ("rel", "nofollow ugc noopener")]);
    assert_eq!((links.len(), shown("em", "new"), shown("code", "x < y")), (times, times, times));
    assert_eq!((shown("blockquote", "x < y<b>&amp;</b>"), shown("li", "one")), (times, times));
    assert!(
        page.find("a", &[("href", "/@bob")]).iter().filter(|link| link.text() == "@bob").count() >= times
    );
}

#[in_memory(&[("site.url", "https://news.example.com")])]
async fn what_was_typed_is_stored_and_its_html_is_shown_everywhere(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", TEXT).await;
    let comment = bob.comment(news, TEXT).await;
    assert_eq!(server.field("news:1", "url").await, Some(format!("text://{TEXT}")));
    let thread = server.visitor().thread(news).await;
    assert_eq!((&thread[0]["body"], &thread[0]["html"]), (&json!(TEXT), &json!(HTML)));

    for client in [&server.visitor(), &alice, &bob] {
        check_formatted(&page(client, "/news/1").await, 2);
        check_formatted(&page(client, &format!("/news/1?at={comment}")).await, 2);
        check_formatted(&page(client, "/usercomments/bob/0").await, 1);
    }
    for feed in ["/rss", "/atom"] {
        let body = server.visitor().text(feed).await;
        let document = Document::parse(&body).unwrap();
        let html = HTML.replace("\"/@bob", "\"https://news.example.com/@bob");
        let is_text = |node: roxmltree::Node<'_, '_>| node.text().is_some_and(|text| text.starts_with(&html));
        assert!(document.descendants().any(is_text), "{html} in {body}");
    }
}

#[in_memory]
async fn links_open_new_windows_for_those_who_chose_that(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("A story", TEXT).await;
    alice.comment(news, TEXT).await;
    server.set_field("user:2", "flags", "n").await;
    for (client, windows) in [(&alice, 0), (&bob, 2), (&alice, 0), (&server.visitor(), 0)] {
        let page = page(client, "/news/1").await;
        let links = page.find("a", &[("href", "https://example.com/a"), ("target", "_blank")]);
        assert_eq!(links.len(), windows);
        // Programs get the same, whoever asks.
        assert_eq!(client.thread(news).await[0]["html"], HTML);
    }
}

#[in_memory]
async fn a_preview_is_what_pages_show_and_the_page_about_formatting_has_examples(server: Server) {
    let before = server.dump().await;
    let visitor = server.visitor();
    let preview = async |text: &str| visitor.api_post("/api/preview", &[("text", text)]).await;
    assert_eq!(preview(TEXT).await, json!({"status": "ok", "html": HTML}));
    assert_eq!(preview("  a\r\nb ").await["html"], "<p>a<br>b</p>");
    assert_eq!(preview(" \n").await, json!({"status": "ok", "html": ""}));
    assert!(ok(preview(&"é".repeat(4_096)).await)["html"].is_string());
    let error = refused(preview(&"é".repeat(4_097)).await);
    assert_eq!(error, "Your text is too long (4,096 characters at most).");
    refused_saying(preview("a\u{7}").await, "control character");
    refused_saying(visitor.api_post("/api/preview", &[]).await, "text");
    assert_eq!(server.dump().await, before);
    let page = page(&server.visitor(), "/formatting").await;
    assert_eq!(page.heading(), "Formatting");
    for (name, text) in
        [("em", "all"), ("strong", "not"), ("a", "the example"), ("li", "tea"), ("li", "Wait.")]
    {
        assert!(page.all(name).any(|element| element.text() == text), "{name} {text}");
    }
    assert!(page.all("blockquote").count() == 1 && page.content().contains("> What do you think of it?"));
}
