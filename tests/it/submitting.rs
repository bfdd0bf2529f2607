//! Help while a story is written: the buttons of the form, and the call that finds an
//! earlier story with the same URL.

use reqwest::StatusCode;

use crate::client::{Client, has_members, ok, refused};
use crate::html::Page;
use crate::page_server::{PageServer, Reply};
use crate::pages::{page, redirects_to, shown};
use crate::server::{Engine, Server, in_memory};

async fn duplicate(client: &Client, url: &str) -> serde_json::Value {
    let url: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
    client.api_get(&format!("/api/duplicate?url={url}")).await
}

#[in_memory(&[("limits.submission_seconds", "0")])]
async fn a_story_that_is_likely_there_is_shown_once_before_another_is_submitted(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_link("A talk", "https://youtu.be/abc-1?si=x").await;
    let typed = page(&bob, "/submit").await.form("/submit").with("title", "The talk");
    let same = typed.clone().with("url", "https://youtu.be/abc-1?si=x#top");
    let typed = typed.with("url", "https://www.youtube.com/watch?v=abc-1&feature=shared");
    let asked = shown(&typed.send(&bob).await);
    let said =
        "This page was probably submitted just now: A talk (0 comments). Your story is not submitted yet.";
    assert_eq!(asked.one("p", &[("role", "status")]).text(), said);
    assert!(asked.links_to("/news/1") && asked.content().contains("Submit anyway"));
    let again = asked.form("/submit");
    assert_eq!((again.value("anyway"), again.value("title")), (Some("1"), Some("The talk")));
    assert_eq!(redirects_to(&again.send(&bob).await), "/news/2");
    // Another story than the one that was shown is shown, too: the newest.
    let other = again.with("url", "http://m.youtube.com/watch?v=abc-1");
    assert_eq!(shown(&other.send(&bob).await).form("/submit").value("anyway"), Some("2"));
    // The same address leads to the story, and calls are not asked.
    assert_eq!(shown(&same.send(&bob).await).heading(), "Already submitted");
    ok(bob.submit("x", "http://youtu.be/abc-1", "").await);
    // A deleted story is not shown, and a refused form shows none.
    let id = alice.submit_link("B", "https://www.example.com/b/").await;
    let form = page(&bob, "/submit").await.form("/submit").with("url", "http://example.com/b");
    assert!(!Page::of(&form.send(&bob).await).text().contains("Submit anyway"));
    ok(alice.delete(id).await);
    assert!(redirects_to(&form.with("title", "x").send(&bob).await).starts_with("/news/"));
}

#[in_memory]
async fn an_earlier_story_with_the_same_url_is_found_while_it_counts(server: Server) {
    let alice = server.member("alice").await;
    let visitor = server.visitor();
    let new = |url: &str| serde_json::json!({"status": "ok", "url": url});
    assert_eq!(duplicate(&visitor, "https://example.com/a").await, new("https://example.com/a"));
    let id = alice.submit_link("A <title>", "https://example.com/a?b=c").await;
    for client in [&alice, &visitor] {
        for url in [
            "https://example.com/a?b=c",
            " example.com/a?b=c ",
            "HTTPS://Example.com:443/a?b=c&utm_source=x#y",
        ] {
            let found = ok(duplicate(client, url).await);
            has_members(&found, serde_json::json!({"news_id": id, "title": "A <title>"}));
        }
    }
    assert_eq!(duplicate(&visitor, "http://example.com/a?b=c").await, new("http://example.com/a?b=c"));
    for url in ["", "exam", "text://x", "javascript:alert(1)"] {
        refused(duplicate(&visitor, url).await);
    }
    refused(visitor.api_get("/api/duplicate").await);
    // A fragment that is a path, and another case of a path, make another address.
    for url in ["https://example.com/a?b=c#!/d", "https://example.com/A?b=c"] {
        assert_eq!(duplicate(&visitor, url).await["news_id"], serde_json::Value::Null, "{url}");
    }
    ok(alice.delete(id).await);
    assert_eq!(duplicate(&visitor, "example.com/a?b=c").await, new("https://example.com/a?b=c"));
}

#[tokio::test]
async fn an_earlier_story_is_found_only_as_long_as_it_counts() {
    for (seconds, found) in [("100", true), ("0", false)] {
        let server = Server::start(Engine::Memory, &[("limits.repost_seconds", seconds)]).await;
        let alice = server.member("alice").await;
        let id = alice.submit_link("A title", "https://example.com/").await;
        let answer = ok(duplicate(&alice, "example.com").await);
        assert_eq!(answer["news_id"].as_u64(), found.then_some(id), "{seconds}");
        server.advance(101);
        assert_eq!(ok(duplicate(&alice, "example.com").await)["news_id"].as_u64(), None, "{seconds}");
    }
}

#[in_memory]
async fn a_duplicate_keeps_what_was_typed(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_link("Earlier", "https://example.com/a").await;
    server.advance(49 * 60);
    let typed = page(&bob, "/submit").await.form("/submit").with("title", "Later");
    let typed = typed.with("url", "https://example.com/a").with("text", "What <b>I</b> think");
    let earlier = shown(&typed.send(&bob).await);
    let said = "Already submitted 49 minutes ago by alice. Your text is below.";
    assert_eq!(earlier.one("p", &[("role", "status")]).text(), said);
    let vote = earlier.form("/votenews");
    let comment = earlier.form("/postcomment");
    assert_eq!(comment.value("comment"), Some("What <b>I</b> think"));
    assert_eq!(comment.value("news_id"), Some("1"));
    assert_eq!(redirects_to(&vote.pressing("up").send(&bob).await), "/news/1#news-1");
    assert_eq!(server.number("news:1", "up").await, 2);
    assert_eq!(redirects_to(&comment.send(&bob).await), "/news/1?posted=1#comment-1");
    // Nothing was typed but the link.
    let earlier = shown(&typed.with("text", "").send(&bob).await);
    assert_eq!(earlier.one("p", &[("role", "status")]).text(), "Already submitted 49 minutes ago by alice.");
    // Of one's own story, with a text and without.
    let own = page(&alice, "/submit").await.form("/submit").with("title", "T").with("url", "example.com/a");
    assert_eq!(redirects_to(&own.clone().send(&alice).await), "/news/1");
    let own = shown(&own.with("text", "More").send(&alice).await);
    let said = "You submitted this 49 minutes ago. Your text is below.";
    assert_eq!(own.one("p", &[("role", "status")]).text(), said);
}

#[in_memory]
async fn forms_complete_a_host_and_the_api_does_not(server: Server) {
    let alice = server.member("alice").await;
    let form = page(&alice, "/submit").await.form("/submit").with("title", "Title");
    assert_eq!(redirects_to(&form.with("url", "example.com/foo").send(&alice).await), "/news/1");
    assert_eq!(server.field("news:1", "url").await.unwrap(), "https://example.com/foo");
    let form = page(&alice, "/editnews/1").await.form("/editnews/1");
    assert_eq!(redirects_to(&form.with("url", "example.org").send(&alice).await), "/news/1");
    assert_eq!(server.field("news:1", "url").await.unwrap(), "https://example.org");
    let error = refused(alice.submit("Title", "example.com/bar", "").await);
    assert_eq!(error, "Enter a full address, such as https://example.com.");
}

#[tokio::test]
async fn a_title_is_fetched_without_a_script() {
    let pages = PageServer::start(|path| match path {
        "/page" => Reply::html("<title>The &lt;title></title>"),
        _ => Reply::html("no title"),
    })
    .await;
    let network = pages.network();
    let server = Server::start_adjusted(&[], |settings| settings.titles.network = network).await;
    let alice = server.member("alice").await;
    server.set_karma(&alice, 10).await;
    let form =
        page(&alice, "/submit").await.form("/submit").with("text", "My text").with("topics", "go, rust");
    let form = form.with("title", "Mine").with("url", &pages.url("/page"));
    let before = server.dump().await;
    let filled = shown(&form.clone().pressing("fetch_title").send(&alice).await);
    let back = filled.form("/submit");
    let expected =
        [("title", "The <title>"), ("text", "My text"), ("topics", "go, rust"), ("url", &pages.url("/page"))];
    for (name, value) in expected {
        assert_eq!(back.value(name), Some(value), "{name}");
    }
    assert!(filled.content().contains("You had typed: \"Mine\"."), "{}", filled.content());
    let again = shown(&back.clone().pressing("fetch_title").send(&alice).await);
    assert!(!again.content().contains("You had typed"), "{}", again.content());

    for (url, message) in [
        (&*pages.url("/none"), "This page has no title."),
        ("http://10.0.0.1/", "This address is not on the public internet."),
        ("no url", "Enter a full address, such as https://example.com."),
        ("", "Enter a URL."),
    ] {
        let answer = form.clone().with("url", url).pressing("fetch_title").send(&alice).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{url}");
        let refused = Page::of(&answer);
        assert_eq!(refused.alert(), Some(message), "{url}");
        refused.one("input", &[("id", "url"), ("aria-invalid", "true"), ("aria-describedby", "error-url")]);
        assert_eq!(refused.form("/submit").value("title"), Some("Mine"));
        assert_eq!(refused.form("/submit").value("url"), Some(url));
    }
    assert_eq!(server.dump().await, before);
    assert_eq!(redirects_to(&back.send(&alice).await), "/news/1");
    assert_eq!(server.field("news:1", "title").await.unwrap(), "The <title>");
}

#[in_memory]
async fn a_preview_shows_the_story_and_submits_nothing(server: Server) {
    let alice = server.member("alice").await;
    server.set_karma(&alice, 10).await;
    let form = page(&alice, "/submit").await.form("/submit");
    let form = form
        .with("title", "A <b>title</b>")
        .with("text", "See https://a.example/ <i>")
        .with("topics", "rust");
    let before = server.dump().await;
    let text = shown(&form.clone().pressing("preview").send(&alice).await);
    let preview = text.one("section", &[("class", "preview")]).text().to_owned();
    for part in ["Preview", "not submitted yet", "A <b>title</b>", "rust", "See https://a.example/ <i>"] {
        assert!(preview.contains(part), "{part} in {preview}");
    }
    assert!(text.links_to("https://a.example/"));
    let link = form.clone().with("url", "example.com/\"x\"");
    let link = shown(&link.pressing("preview").send(&alice).await);
    assert!(link.one("section", &[("class", "preview")]).text().contains("Your first comment:"));
    assert!(link.links_to("https://example.com/%22x%22"));
    let back = link.form("/submit");
    assert_eq!(back.value("url"), Some("https://example.com/\"x\""));
    assert_eq!(back.value("title"), Some("A <b>title</b>"));
    for (name, value, message, field) in [
        ("title", "", "Enter a title.", "title"),
        ("text", "", "Enter a URL or some text.", "url"),
        ("text", "a\u{1}", "Your text contains a control character (U+0001). Remove it.", "text"),
        ("topics", "C", "\"C\" is not a topic. Use a-z, 0-9 and hyphens.", "topics"),
    ] {
        let answer = form.clone().with(name, value).pressing("preview").send(&alice).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{name}");
        let refused = Page::of(&answer);
        assert_eq!(refused.alert(), Some(message));
        assert!(refused.find("section", &[]).is_empty());
        let wrong: Vec<_> = ["input", "textarea"]
            .into_iter()
            .flat_map(|element| refused.find(element, &[("aria-invalid", "true")]))
            .filter_map(|element| element.attribute("name"))
            .collect();
        assert_eq!(wrong, [field]);
    }
    assert_eq!(server.dump().await, before);
    assert_eq!(redirects_to(&back.send(&alice).await), "/news/1");

    let edit = page(&alice, "/editnews/1").await.form("/editnews/1");
    let shown_edit = shown(&edit.clone().with("title", "Changed").pressing("preview").send(&alice).await);
    let preview = shown_edit.one("section", &[("class", "preview")]).text().to_owned();
    assert!(preview.contains("not saved yet") && preview.contains("Changed"), "{preview}");
    assert_eq!(server.field("news:1", "title").await.unwrap(), "A <b>title</b>");
    let both = edit.with("text", "and a text").pressing("preview").send(&alice).await;
    assert_eq!(Page::of(&both).alert(), Some("A story has either a URL or text. Remove one of them."));
}

#[in_memory]
async fn topics_are_chosen_by_buttons_without_a_script(server: Server) {
    let alice = server.register("alice").await;
    assert!(page(&alice, "/submit").await.find("button", &[("name", "toggle_topic")]).is_empty());
    alice.submit_on("rust, go", "One").await;
    alice.submit_on("rust, web", "Two").await;
    let first = page(&alice, "/submit").await;
    let buttons = first.find("button", &[("name", "toggle_topic")]);
    let offered: Vec<_> = buttons.iter().map(|button| button.text()).collect();
    assert_eq!(offered, ["rust", "web", "go"]);
    let form = first.form("/submit").with("title", "Three").with("text", "text").with("topics", " new ");
    let chosen = shown(&form.pressing("rust").send(&alice).await);
    assert_eq!(chosen.form("/submit").value("topics"), Some("new, rust"));
    chosen.one("button", &[("value", "rust"), ("aria-pressed", "true")]);
    chosen.one("button", &[("value", "go"), ("aria-pressed", "false")]);
    let less = shown(&chosen.form("/submit").pressing("rust").send(&alice).await);
    assert_eq!(less.form("/submit").value("topics"), Some("new"));
    for (name, value) in [("title", "Three"), ("text", "text")] {
        assert_eq!(less.form("/submit").value(name), Some(value));
    }
    let wrong = less.form("/submit").with("topics", "C").pressing("go").send(&alice).await;
    assert_eq!(Page::of(&wrong).alert(), Some("\"C\" is not a topic. Use a-z, 0-9 and hyphens."));
    assert_eq!(Page::of(&wrong).form("/submit").value("topics"), Some("C"));
}

#[in_memory]
async fn many_topics_have_buttons_for_the_largest_only(server: Server) {
    let alice = server.register("alice").await;
    for number in 0..6 {
        let topics: Vec<String> = (0..5).map(|topic| format!("topic-{number}{topic}")).collect();
        alice.submit_on(&topics.join(","), "One").await;
    }
    let page = page(&server.member("bob").await, "/submit").await;
    assert_eq!(page.find("button", &[("name", "toggle_topic")]).len(), 20);
    assert_eq!(page.find("option", &[]).len(), 30);
}

#[tokio::test]
async fn the_bookmarklet_leads_to_the_host_that_the_visitor_uses() {
    let settings = [("site.url", "https://news.example.com"), ("server.hosts", "other.example.org")];
    let server = Server::start(Engine::Memory, &settings).await;
    let alice = server.member("alice").await;
    for (host, address) in [
        ("news.example.com", "https://news.example.com/submit"),
        ("other.example.org", "https://other.example.org/submit"),
        ("localhost:8080", "https://localhost:8080/submit"),
    ] {
        let client = alice.clone().with_header("host", host);
        let page = page(&client, "/submit").await;
        let script = page.one("a", &[("class", "bookmarklet")]).attribute("href").unwrap().to_owned();
        assert!(script.starts_with(&format!("javascript:location.href='{address}?u='+")), "{script}");
    }
}
