//! User input is text on every page, and never markup, however it came
//! into the store. The markup itself is checked by [`Page::of`].

use serde_json::json;

use crate::client::{Client, encoded, ok, refused, refused_saying};
use crate::community::{Access, Community, PAGES};
use crate::html::Page;
use crate::pages::{crawl, page};
use crate::server::{Batch, Engine, START, Server, in_memory};

/// Texts that would do harm if they were not escaped, or that would be spoiled
/// if they were escaped twice.
const HOSTILE: [&str; 9] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\" onfocus=\"alert(1)\" autofocus=\"",
    "</title></textarea></script><b>",
    "&lt;b&gt; &amp; &#60; &quot",
    "javascript:alert(1)",
    "<!--<svg/onload=alert(1)>",
    "'${alert(1)}' {{7*7}}",
];

/// Web addresses that would break out of an attribute, and how they are linked.
const HOSTILE_LINKS: [(&str, &str); 6] = [
    (
        "http://example.com/\"><script>alert(1)</script>",
        "http://example.com/%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    ),
    ("http://example.com/' onmouseover='alert(1)", "http://example.com/'%20onmouseover='alert(1)"),
    ("HTTP://example.com/?a=<b>&lt;&amp;c", "HTTP://example.com/?a=%3Cb%3E&lt;&amp;c"),
    ("http://\"onmouseover=alert(1)@example.com/<x>", "http://example.com/%3Cx%3E"),
    ("http://good.example:secret@evil.example/", "http://evil.example/"),
    ("http://evil.example\\@good.example/", "http://evil.example/@good.example/"),
];

/// Addresses that no page may link to, whatever an old site has stored.
const NO_LINKS: [&str; 12] = [
    "javascript:alert(1)",
    "JaVaScRiPt://example.com/%0aalert(1)",
    "\u{1}javascript:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "//evil.example/",
    "/\\evil.example/",
    "http:",
    "http://<script>alert(1)</script>/",
    "text://javascript:alert(1)",
];

#[track_caller]
fn check_shown(page: &Page, text: &str) {
    assert!(page.content().contains(text), "{text:?} in {:?}", page.content());
}

#[in_memory]
async fn titles_texts_comments_and_profiles_are_text_on_every_page(server: Server) {
    let alice = server.administrator("alice").await;
    let bob = server.member("bob").await;
    for hostile in HOSTILE {
        let news = bob.submit_text(hostile, hostile).await;
        let comment = bob.comment(news, hostile).await;
        alice.reply(news, comment, hostile).await;
    }
    ok(bob.update_profile(&HOSTILE.join("\n"), "", "").await);
    for client in [server.visitor(), alice, bob.clone()] {
        let pages = crawl(&client).await;
        for (hostile, id) in HOSTILE.into_iter().zip(1..) {
            check_shown(&pages["/latest/0"], hostile);
            let thread = &pages[&format!("/news/{id}")];
            // The title, the text, two comments, each with the line of its collapsed branch, and the names of
            // the buttons of the story, of which some readers have one.
            let shown = thread.content().matches(hostile).count();
            assert!((7..=8).contains(&shown), "{hostile}: {shown}");
            assert_eq!(thread.one("title", &[]).text(), format!("{hostile} - Tidings"));
            check_shown(&pages[&format!("/news/{id}?at=2")], hostile);
            check_shown(&pages["/usercomments/bob/0"], hostile);
            check_shown(&pages["/@bob"], hostile);
        }
    }
    for (hostile, id) in HOSTILE.into_iter().zip(1..) {
        let form = page(&bob, &format!("/editnews/{id}")).await.form(&format!("/editnews/{id}"));
        assert_eq!((form.value("title"), form.value("text")), (Some(hostile), Some(hostile)));
        let forms = page(&bob, &format!("/editcomment/{id}/1")).await.forms();
        assert!(forms.iter().any(|form| form.value("comment") == Some(hostile)), "{hostile}");
    }
}

#[in_memory]
async fn tweets_and_full_names_are_text_on_every_page(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for hostile in HOSTILE {
        bob.tweet(&format!("{hostile} @alice")).await;
    }
    alice.follow("bob").await;
    for hostile in HOSTILE {
        ok(bob.api_post("/api/updateprofile", &[("about", ""), ("email", ""), ("fullname", hostile)]).await);
        for path in ["/home", "/everyone", "/@bob", "/tweet/1", "/@alice/followings"] {
            check_shown(&page(&alice, path).await, hostile);
        }
        check_shown(&page(&server.visitor(), "/@bob").await, hostile);
        assert_eq!(page(&bob, "/settings").await.form("/settings").value("fullname"), Some(hostile));
    }
    for client in [server.visitor(), alice, bob.clone()] {
        let pages = crawl(&client).await;
        for (hostile, id) in HOSTILE.into_iter().zip(1..) {
            for path in ["/everyone", "/@bob", &format!("/tweet/{id}")] {
                check_shown(&pages[path], hostile);
            }
        }
    }
}

#[tokio::test]
async fn links_of_users_lead_where_they_say_and_nowhere_else() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    for (stored, link) in HOSTILE_LINKS {
        server.set_field("news:1", "url", stored).await;
        for client in [server.visitor(), alice.clone()] {
            for path in ["/", "/news/1", "/latest/0", "/usernews/alice/0"] {
                assert!(page(&client, path).await.links_to(link), "{link} at {path}");
            }
        }
        let form = page(&alice, "/editnews/1").await.form("/editnews/1");
        assert_eq!(form.value("url"), Some(stored));
    }
    let mut stories = Vec::new();
    for link in NO_LINKS {
        let news = alice.submit_text("An odd link", "text").await;
        server.set_field(&format!("news:{news}"), "url", link).await;
        stories.push(news);
    }
    for client in [server.visitor(), alice.clone()] {
        for (path, page) in crawl(&client).await {
            assert_eq!(NO_LINKS.iter().find(|link| page.links_to(link)), None, "{path}");
        }
        let list = page(&client, "/latest/0").await;
        for news in &stories {
            let story = list.one("li", &[("id", &format!("news-{news}"))]);
            assert!(story.text().contains("An odd link"), "{}", story.text());
        }
    }
}

#[in_memory]
async fn links_in_texts_end_where_markup_would_begin_and_submitted_urls_have_no_credentials(server: Server) {
    let alice = server.member("alice").await;
    let text = "http://a.example/\"><script>alert(1)</script> javascript://b.example/%0a \
                    https://c.example/?x=1&lt;y http://d.example/'onclick='x() data://e.example/";
    let news = alice.submit_text("Links", text).await;
    alice.comment(news, text).await;
    ok(alice.update_profile(text, "", "").await);
    for path in ["/news/1", "/news/1?at=1", "/user/alice?show=about", "/usercomments/alice/0"] {
        let page = page(&server.visitor(), path).await;
        check_shown(&page, text);
        for link in page.all("a").filter(|link| link.text().contains("example")) {
            assert_eq!(link.attribute("href"), Some(link.text()), "{path}");
            assert_eq!(link.attribute("rel"), Some("nofollow ugc noopener"), "{path}");
            assert!(link.text().starts_with("http"), "{path} {}", link.text());
        }
        assert!(page.links_to("http://a.example/"), "{path}");
    }
    for (url, reason) in [
        ("http://good.example@evil.example/", "a user name or password"),
        ("http://a:b@evil.example/", "a user name or password"),
        ("http://evil.example\\@good.example/", "a backslash"),
        ("http://evil.example\\", "a backslash"),
    ] {
        let told = refused(alice.submit("A title", url, "").await);
        assert!(told.contains(reason), "{url}: {told}");
    }
    ok(alice.submit("A title", "http://a.example/@b\\c", "").await);
}

/// Gives a user another name, as an import may bring it.
async fn rename(server: &Server, client: &Client, name: &str) {
    let id = client.user_id;
    server.set_field(&format!("user:{id}"), "username", name).await;
    let key = format!("username.to.id:{}", name.to_lowercase());
    server.write(|batch| batch.set(key, id.to_string())).await;
}

#[tokio::test]
async fn odd_names_of_users_are_text_and_lead_to_their_pages() {
    let Community { server, bob, .. } = Community::new(Engine::Memory, &[]).await;
    let odd = ["a/b", "a?b#c", "a b%20c", "ünï 🦀", "%FF", "a\\b", "\u{202e}abc", "x:y;z,w=v+u&t"];
    for name in HOSTILE.into_iter().chain(odd) {
        rename(&server, &bob, name).await;

        for client in [server.visitor(), bob.clone()] {
            let pages = crawl(&client).await;
            for heading in [name.to_owned(), format!("Stories by {name}"), format!("Comments by {name}")] {
                let found = pages.values().any(|page| page.heading() == heading.trim());
                assert!(found, "{heading:?} in {:?}", pages.keys());
            }
        }
    }
}

#[tokio::test]
async fn what_comes_in_the_address_is_text() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    for hostile in HOSTILE.into_iter().chain(NO_LINKS) {
        let asked = encoded(&[("u", hostile), ("t", hostile)]);
        let form = page(&alice, &format!("/submit?{asked}")).await.form("/submit");
        let shown = hostile.replace('\u{1}', "");
        assert_eq!((form.value("url"), form.value("title")), (Some(&*shown), Some(&*shown)));
        let asked = encoded(&[("next", hostile), ("username", hostile), ("notice", hostile)]);
        for path in ["/login", "/register"] {
            let asked = page(&server.visitor(), &format!("{path}?{asked}")).await;
            assert_eq!(asked.form(path).value("next"), Some("/"));
        }
        page(&alice, &format!("/admin?{asked}")).await;
        page(&alice, &format!("/user/alice?notice={}", encoded(&[("x", hostile)]))).await;
        // An error repeats names of fields.
        let twice = format!("/login?{0}&{0}", encoded(&[(hostile, "1")]));
        let answer = server.visitor().get(&twice).await;
        assert_eq!(answer.status, 400);
        let told = Page::of(&answer);
        assert!(told.alert().is_some());
    }
}

#[tokio::test]
async fn half_written_and_odd_rows_of_an_old_database_break_no_page() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let odd = json!({
        "body": "\u{0}\u{1b}[31m\u{202e}<b>", "ctime": -5, "user_id": 999, "parent_id": 888,
        "score": "x", "up": [999], "down": [],
    });
    let mut batch = Batch::new();
    for (field, value) in
        [("7", "not json"), ("8", "{}"), ("nextid2", "x"), ("9", odd.to_string().as_str()), ("-3", "{}")]
    {
        batch.set_field("thread:comment:1", field, value);
    }
    batch.set_fields("news:77", [("id", "77"), ("title", "half <b>")]);
    for list in ["news.cron", "news.top", "user.posted:1", "user.saved:1"] {
        for id in ["77", "78", "nextid", "-1"] {
            batch.sorted_add(list, id, 5.0);
        }
    }
    for entry in ["1-999", "999-1", "x", "1-9", "-"] {
        batch.sorted_add("user.comments:1", entry, 5.0);
    }
    for (field, value) in [("karma", "many"), ("ctime", "-1"), ("replies", "-7"), ("about", "\u{0}<b>")] {
        batch.set_field("user:2", field, value);
    }
    server.commit(batch).await;
    for (path, access) in PAGES.iter().copied().chain([("/news/1?at=9", Access::Everybody)]) {
        page(&alice, path).await;
        if access == Access::Everybody {
            page(&server.visitor(), path).await;
        }
    }
    let thread = page(&alice, "/news/1").await;
    check_shown(&thread, "\u{202e}<b>");
    check_shown(&thread, "A first comment");
    check_shown(&page(&alice, "/").await, "A link");
}

#[tokio::test]
async fn what_no_document_may_have_in_a_stored_title_is_left_out() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let title = "Bell\u{7} and \u{1B}[31mred\u{FFFE}, null\u{0}, C1\u{9B}, \u{FFFF}end";
    server.set_field("news:1", "title", title).await;
    server.set_field("article:1", "title", title).await;
    let is_bad = |c: char| c.is_control() && !"\t\n\r".contains(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    let pages = PAGES.iter().copied().map(|(path, _)| path);
    let feeds = "/rss /atom /json /best/atom /topic/links/json /@alice/feed /api/getnews/top/0/30";
    for path in pages.chain(feeds.split(' ')).chain(["/api/articles/score/1", "/api/timeline/everyone"]) {
        let text = alice.any_text(path).await;
        assert_eq!(text.chars().find(|c| is_bad(*c)), None, "{path}");
    }
    let front = page(&server.visitor(), "/").await;
    assert!(front.content().contains("Bell and [31mred, null, C1, end"), "{}", front.content());
    let told = refused(alice.edit(1, "a\u{FFFF}b", "http://example.com/one", "").await);
    assert_eq!(told, "Your title contains a control character (U+FFFF). Remove it.");
}

/// Characters that no document may have, around some text with line breaks, and what is
/// shown of it.
const RAW: &str = "Bell\u{7} and\r\n\u{1B}[31mred\u{FFFE},\tnull\u{0} C1\u{9B}\u{7F}\r\u{FFFF}end";
const RAW_SHOWN: &str = "Bell and\n[31mred,\tnull C1\nend";

#[tokio::test]
async fn what_no_document_may_have_never_leaves_the_store_raw() {
    let Community { server, alice, bob } = Community::new(Engine::Memory, &[]).await;
    let tweet = bob.tweet("A tweet").await;
    let comment = json!({
        "body": RAW, "ctime": START, "user_id": 2, "parent_id": -1, "score": 1, "up": [2], "down": [],
    });
    let mut batch = Batch::new();
    batch.set_field("thread:comment:1", "1", comment.to_string());
    batch.set_field("thread:comment:1", "2", comment.to_string());
    batch.set_field("news:1", "url", format!("http://example.com/{RAW}"));
    batch.set_field("news:2", "url", format!("text://{RAW}"));
    batch.set_field(format!("tweet:{tweet}"), "text", RAW);
    for user in ["user:1", "user:2"] {
        batch.set_fields(user, [("about", RAW), ("fullname", RAW), ("email", RAW)]);
    }
    batch.set_field("user:2", "username", format!("bob{RAW}"));
    server.commit(batch).await;
    let is_bad = |c: char| c.is_control() && !"\t\n".contains(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    let tweet_page = format!("/tweet/{tweet}");
    let pages = PAGES.iter().copied().map(|(path, _)| path);
    let more = ["/editnews/2", "/editcomment/1/1", "/rss", "/atom", "/best/atom", "/@bob/feed", &tweet_page];
    let more =
        more.into_iter().chain(["/json", "/comments/json", "/news/1/json", "/@bob/feed/json", "/feeds.opml"]);
    let paths: Vec<&str> = pages.chain(more).collect();
    for client in [&server.visitor(), &alice, &bob] {
        for path in &paths {
            let text = client.any_text(path).await;
            assert_eq!(text.chars().find(|c| is_bad(*c)), None, "{path}");
        }
    }
    // Nor does what was just typed and is refused.
    for (path, name) in [("/settings", "about"), ("/tweet", "text"), ("/submit", "text")] {
        let answer = alice.post(path, &[(name, RAW)]).await;
        let text = answer.text();
        assert_eq!(text.chars().find(|c| is_bad(*c)), None, "{path}");
    }
    for path in ["/news/1", "/news/2", "/@bob", &tweet_page] {
        let text = server.visitor().text(path).await;
        assert!(text.contains(RAW_SHOWN), "{path}: {text}");
    }
    for path in ["/rss", "/@bob/feed"] {
        let text = server.visitor().text(path).await;
        let shown = if path == "/rss" { RAW_SHOWN.replace('\n', "&lt;br&gt;") } else { RAW_SHOWN.to_owned() };
        assert!(text.contains(&shown), "{path}: {text}");
    }
    // Programs get what is stored; JSON can hold it.
    let thread = alice.thread(1).await;
    let comment = thread.iter().find(|comment| comment["id"] == 1).unwrap();
    assert_eq!(comment["body"], RAW);
}

#[tokio::test]
async fn long_urls_of_imported_stories_are_linked_up_to_a_bound() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let start = "http://example.com/";
    for (bytes, is_linked) in [(2_049, true), (8_192, true), (8_193, false)] {
        let url = format!("{start}{}", "x".repeat(bytes - start.len()));
        server.set_field("news:1", "url", &url).await;
        for path in ["/", "/news/1", "/best"] {
            let shown = page(&server.visitor(), path).await;
            assert_eq!(shown.links_to(&url), is_linked, "{bytes} {path}");
        }
        let feed = server.visitor().text("/rss").await;
        assert_eq!(feed.contains(&url), is_linked, "{bytes}");
        let listed = &ok(alice.api_get("/api/getnews/latest/0/30").await)["news"];
        assert!(listed.as_array().unwrap().iter().any(|news| news["url"] == *url), "{bytes}");
        // The bound for submitted URLs stays lower.
        refused_saying(alice.submit("Long", &url, "").await, "too long (2,048 characters at most)");
    }
}

#[in_memory]
async fn hosts_that_begin_with_www_are_linked_in_texts(server: Server) {
    let alice = server.member("alice").await;
    let text = "See www.example.com/a, (www.b.example) and example.org.";
    let news = alice.submit_text("Links", text).await;
    alice.comment(news, text).await;
    alice.tweet(text).await;
    ok(alice.update_profile(text, "", "").await);
    for path in ["/news/1", "/news/1?at=1", "/user/alice?show=about", "/everyone"] {
        let page = page(&server.visitor(), path).await;
        check_shown(&page, text);
        for address in ["http://www.example.com/a", "http://www.b.example"] {
            let links = page.find("a", &[("href", address), ("rel", "nofollow ugc noopener")]);
            assert!(!links.is_empty(), "{path}");
            assert!(links.iter().all(|link| Some(link.text()) == address.strip_prefix("http://")), "{path}");
        }
        assert!(!page.links_to("http://example.org"), "{path}");
    }
}
