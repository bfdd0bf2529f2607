//! The four pages of settings: each saves its own fields, and says so.

use reqwest::StatusCode;
use serde_json::json;

use crate::client::{Client, HttpResponse, PASSWORD, ok, refused};
use crate::html::Page;
use crate::pages::{page, redirects_saying};
use crate::server::{Engine, Server, in_memory};

const PAGES: [&str; 4] = ["/settings", "/settings/reading", "/settings/mail", "/settings/account"];

/// Where an answer leads to, which must be a page that says what was saved.
#[track_caller]
fn saved_at<'a>(answer: &'a HttpResponse, path: &str) -> &'a str {
    let name = match path {
        "/settings" => "profile",
        other => other.trim_start_matches("/settings/"),
    };
    redirects_saying(answer, path, &format!("{name}_saved"))
}

async fn saves(user: &Client, path: &str, fields: &[(&str, &str)]) -> Page {
    let form = page(user, path).await.form(path);
    let filled = fields.iter().fold(form, |form, (name, value)| form.with(name, value));
    let answer = filled.send(user).await;
    page(user, saved_at(&answer, path)).await
}

#[in_memory]
async fn each_page_saves_its_own_fields_and_says_what_was_saved(server: Server) {
    let alice = server.register("alice").await;
    let filled = [("fullname", "Alice\u{3000}<A.>"), ("about", "About me")];
    let saved = saves(&alice, "/settings", &filled).await;
    assert_eq!(saved.one("p", &[("role", "status")]).text(), "Your profile has been saved.");
    let form = saved.form("/settings");
    assert_eq!((form.value("fullname"), form.value("tweet_news")), (Some("Alice\u{3000}<A.>"), Some("1")));
    let filled = [("sort_comments", "newest"), ("shortcuts", "off")];
    let saved = saves(&alice, "/settings/reading", &filled).await;
    assert_eq!(saved.one("p", &[("role", "status")]).text(), "Your reading settings have been saved.");
    let filled = [("email", "alice@example.org"), ("current_password", PASSWORD)];
    let saved = saves(&alice, "/settings/mail", &filled).await;
    assert_eq!(saved.one("p", &[("role", "status")]).text(), "Your mail settings have been saved.");
    assert_eq!(saved.form("/settings/mail").value("email"), Some("alice@example.org"));

    // The fields of other pages do nothing.
    let before = server.dump().await;
    let others = [
        ("/settings", &[("email", ""), ("password", "battery staple"), ("theme", "dark")][..]),
        ("/settings/reading", &[("about", ""), ("digest", "daily"), ("tweet_news_shown", "1")]),
        ("/settings/mail", &[("fullname", ""), ("theme", "dark"), ("show_hidden", "1")]),
    ];
    for (path, fields) in others {
        let fields = [fields, &[("current_password", PASSWORD)]].concat();
        saved_at(&alice.post(path, &fields).await, path);
    }
    let after = server.dump().await;
    assert_eq!(after.get("user:1"), before.get("user:1"));

    let fields = [("password", "battery staple"), ("current_password", PASSWORD)];
    let form = page(&alice, "/settings/account").await.form("/settings/account");
    let changed = fields.iter().fold(form, |form, (name, value)| form.with(name, value)).send(&alice).await;
    redirects_saying(&changed, "/settings/account", "password_changed");
    assert!(changed.headers.contains_key("set-cookie") && !alice.is_logged_in().await);
    server.visitor().log_in("alice", "battery staple").await;
}

#[in_memory]
async fn a_refused_name_comes_back_as_it_was_typed_and_what_is_left_out_stays(server: Server) {
    let alice = server.register("alice").await;
    for (text, reason) in [
        ("x".repeat(51), "Your full name is too long (50 characters at most)."),
        ("a\u{202e}b".to_owned(), "Your full name contains a control character (U+202E). Remove it."),
    ] {
        let form = page(&alice, "/settings").await.form("/settings");
        let answer = form.with("about", "typed").with("fullname", &text).send(&alice).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let back = Page::of(&answer);
        assert_eq!(back.alert(), Some(reason));
        let form = back.form("/settings");
        assert_eq!((form.value("fullname"), form.value("about")), (Some(&*text), Some("typed")));
    }
    let empty = alice.post("/settings/account", &[("current_password", PASSWORD)]).await;
    assert!(empty.status.is_client_error(), "{}", empty.status);
    let answer = alice.call("/api/updateprofile?about=&email=&tweet_news=yes").await;
    assert_eq!(refused(answer), "The field tweet_news is wrong: it must be 0 or 1.");
    // Fields that a program leaves out stay.
    saves(&alice, "/settings", &[("fullname", "Alice A.")]).await;
    ok(alice.update_profile("", "", "").await);
    assert_eq!(page(&alice, "/@alice").await.heading(), "Alice A.");
}

#[in_memory(&[("features.timelines", "false")])]
async fn the_pages_are_tabs_and_offer_what_the_site_has(server: Server) {
    let alice = server.register("alice").await;
    for path in PAGES {
        let shown = page(&alice, path).await;
        assert!(PAGES.iter().all(|other| shown.links_to(other) == (*other != path)), "{path}");
        assert!(!shown.find("a", &[("aria-current", "page")]).is_empty(), "{path}");
        // Nobody announces anything on a site without timelines.
        assert!(!shown.content().contains("Show stories I submit"), "{path}");
    }
    let leave = page(&alice, "/settings/deactivate").await;
    assert!(page(&alice, "/settings/account").await.content().contains("Delete your account"));
    for part in ["Leave this site", "It can't be undone", "Deleted", "Kept"] {
        assert!(leave.content().contains(part), "{part} in {}", leave.content());
    }
    // This site has no relay.
    assert!(page(&alice, "/settings/mail").await.content().contains("This site doesn't send mail."));
    let server = Server::start(Engine::Memory, &[]).await;
    let alice = server.register("alice").await;
    assert!(page(&alice, "/settings").await.content().contains("Show stories I submit"));
}

#[in_memory]
async fn every_page_has_the_colours_and_the_text_size_that_its_reader_has_chosen(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    alice.submit_text("A story", "text").await;
    let look = async |user: &Client, path: &str| {
        let shown = Page::of(&user.get(path).await);
        let [html] = shown.find("html", &[])[..] else { panic!("{path}") };
        let scheme = shown.one("meta", &[("name", "color-scheme")]).attribute("content").unwrap().to_owned();
        let of = |name| html.attribute(name).map(str::to_owned);
        json!([of("data-theme"), of("data-text"), scheme])
    };
    let usual = json!([null, null, "light dark"]);
    assert_eq!(look(&alice, "/").await, usual);
    for (theme, size, expected) in [
        ("dark", "larger", json!(["dark", "larger", "dark"])),
        ("light", "normal", json!(["light", null, "light"])),
        ("device", "large", json!([null, "large", "light dark"])),
    ] {
        saves(&alice, "/settings/reading", &[("theme", theme), ("text_size", size)]).await;
        for path in ["/", "/news/1", "/settings/reading", "/about", "/inbox", "/nothing-here"] {
            assert_eq!(look(&alice, path).await, expected, "{path}");
            assert_eq!(look(&bob, path).await, usual, "{path}");
        }
        assert_eq!(look(&server.visitor(), "/").await, usual);
    }
    assert_eq!(server.field("user:1", "text_size").await.as_deref(), Some("large"));
}
