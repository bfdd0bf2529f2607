//! Search: what is found, by whom, and in which order.

mod bounds;
mod hidden;
mod keeping_up;
mod privacy;

use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidings_web::features::search::searching::Searching;
use tidings_web::settings::SearchSettings;

use crate::client::{Client, each, line_of, ok};
use crate::html::Page;
use crate::pages::page;
use crate::server::{Engine, Server, each_engine, in_memory};

const ON: [(&str, &str); 1] = [("search.enabled", "true")];

async fn search(client: &Client, parameters: &str) -> Json {
    ok(client.api_get(&format!("/api/search?{parameters}")).await)
}

/// The results: the titles of stories, the texts of comments and posts, the names of people and sites.
fn names(answer: &Json) -> Vec<String> {
    let name = |result: &Json| {
        let text = match result["kind"].as_str().unwrap() {
            "story" => &result["story"]["title"],
            "comment" => &result["comment"]["body"],
            "post" => &result["post"]["text"],
            "person" => &result["person"]["username"],
            _ => &result["site"]["host"],
        };
        text.as_str().unwrap().to_owned()
    };
    answer["results"].as_array().unwrap().iter().map(name).collect()
}

/// Waits until a search finds exactly this, in whatever order.
pub async fn finds(client: &Client, parameters: &str, expected: &[&str]) {
    let path = format!("/api/search?{parameters}");
    tidings_testing::until_ok(async || {
        // Until the index is open, the status is 503.
        let found = client.get(&path).await.json();
        let mut names =
            if found["status"] == "ok" { names(&found) } else { return Err((parameters, found)) };
        names.sort();
        if names == expected { Ok(()) } else { Err((parameters, found)) }
    })
    .await;
}

#[each_engine("one of its kind", &ON)]
async fn everything_that_is_posted_is_found(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let rust = alice.submit_link("Writing a parser in Rust", "https://blog.example.org/parsers").await;
    let text = bob.submit_text("Ask: which C++ book?", "I have parsed three of them.").await;
    bob.comment(rust, "A fine crème brûlée of an article").await;
    alice.tweet("Parsers are on my mind").await;
    let visitor = server.visitor();
    finds(&visitor, "q=parsing", &["Ask: which C++ book?"]).await;
    finds(&visitor, "q=creme+brulee&kind=comments", &["A fine crème brûlée of an article"]).await;
    finds(&visitor, "q=mind&kind=posts", &["Parsers are on my mind"]).await;
    finds(&visitor, "q=alice&kind=people", &["alice"]).await;
    finds(&visitor, "q=alice", &[]).await;
    for (q, expected) in [
        ("c%2B%2B", vec!["Ask: which C++ book?"]),
        ("site:example.org", vec!["Writing a parser in Rust"]),
        ("by:BOB", vec!["Ask: which C++ book?"]),
        ("is:ask", vec!["Ask: which C++ book?"]),
        ("book+-rust", vec!["Ask: which C++ book?"]),
        ("parsers", vec!["Writing a parser in Rust"]),
        ("title:parser", vec!["Writing a parser in Rust"]),
        ("https://blog.example.org/parsers?utm_source=x%23top", vec!["Writing a parser in Rust"]),
        ("%22parser+in+rust%22", vec!["Writing a parser in Rust"]),
        ("boo*", vec!["Ask: which C++ book?"]),
        ("rust+OR+book", vec!["Ask: which C++ book?", "Writing a parser in Rust"]),
    ] {
        let mut found = names(&search(&visitor, &format!("q={q}")).await);
        found.sort();
        assert_eq!(found, expected, "{q}");
    }
    // An edit, and a deletion with what belongs to it.
    ok(bob.call(&format!("/api/submit?news_id={text}&title=Ask: which Go book?&url=&text=None yet.")).await);
    finds(&visitor, "q=go", &["Ask: which Go book?"]).await;
    finds(&visitor, "q=parsed", &[]).await;
    ok(alice.api_post("/api/delnews", &[("news_id", &*rust.to_string())]).await);
    finds(&visitor, "q=parsers&kind=all", &["Parsers are on my mind"]).await;
    finds(&visitor, "q=brulee&kind=comments", &[]).await;
}

#[in_memory(&ON)]
async fn nobody_finds_what_they_may_not_read(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let carol = server.register("carol").await;
    let story = bob.submit_text("A needle", "hay").await;
    bob.comment(story, "needle in a comment").await;
    carol.submit_text("Another needle", "hay").await;
    let visitor = server.visitor();
    finds(&visitor, "q=needle&kind=all", &["A needle", "Another needle", "needle in a comment"]).await;
    // Muted and hidden things are left out for one reader, at once.
    ok(alice.api_post("/api/mute", &[("what", "user"), ("value", "carol")]).await);
    assert_eq!(search(&alice, "q=needle").await["total"], 1);
    ok(alice.api_post("/api/hide", &[("news_id", &*story.to_string())]).await);
    let nothing = search(&alice, "q=needle&kind=all").await;
    assert_eq!((&nothing["total"], names(&nothing).len()), (&Json::from(0), 0), "{nothing}");
    // A removed story is gone from the moment of the action, with its comments; and comes back.
    let line = line_of(alice.moderate("remove", ("story", &story.to_string()), &[]).await);
    assert_eq!(names(&search(&visitor, "q=needle&kind=all").await), ["Another needle"]);
    finds(&carol, "q=needle&kind=comments", &[]).await;
    ok(alice.undo(line).await);
    finds(&visitor, "q=needle&kind=all", &["A needle", "Another needle", "needle in a comment"]).await;
    // No number tells of what has a muted word.
    let dave = server.register("dave").await;
    ok(dave.api_post("/api/mute", &[("what", "word"), ("value", "needle")]).await);
    carol.tweet("needle in a post").await;
    finds(&visitor, "q=needle&kind=posts", &["needle in a post"]).await;
    for kind in ["stories", "comments", "posts", "all"] {
        let found = search(&dave, &format!("q=needle&kind={kind}")).await;
        assert_eq!((&found["total"], &found["total_is_exact"]), (&Json::from(0), &true.into()), "{found}");
    }
    // Held posts and the profiles of banned people.
    ok(alice.moderate("ban", ("user", "carol"), &[("reason", "spam")]).await);
    assert!(names(&search(&visitor, "q=carol&kind=people").await).is_empty());
}

#[tokio::test]
async fn two_servers_find_what_either_posts() {
    let first = Server::start(Engine::Redis, &ON).await;
    let second = Server::beside_with(&first.redis.as_ref().unwrap().url(), &first, &ON).await;
    let alice = first.register("alice").await;
    let story = alice.submit_text("A needle", "hay").await;
    finds(&second.visitor(), "q=needle", &["A needle"]).await;
    alice.at(second.address).comment(story, "Another needle").await;
    finds(&first.visitor(), "q=needle&kind=comments", &["Another needle"]).await;
    ok(alice.api_post("/api/delnews", &[("news_id", &*story.to_string())]).await);
    finds(&second.visitor(), "q=needle&kind=all", &[]).await;
}

#[tokio::test]
async fn an_index_catches_up_with_what_it_has_missed() {
    let posting = Server::start(Engine::Redis, &[]).await;
    let url = posting.redis.as_ref().unwrap().url();
    let alice = posting.register("alice").await;
    let gone = alice.submit_text("A needle that goes", "hay").await;
    alice.submit_text("A needle that stays", "hay").await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index").display().to_string();
    let settings = [("search.enabled", "true"), ("search.folder", path.as_str())];
    let searching = Server::beside_with(&url, &posting, &settings).await;
    finds(&searching.visitor(), "q=needle", &["A needle that goes", "A needle that stays"]).await;
    searching.stop().await;
    ok(alice.api_post("/api/delnews", &[("news_id", &*gone.to_string())]).await);
    alice.submit_text("A new needle", "hay").await;
    let expected = ["A needle that stays", "A new needle"];
    let searching = Server::beside_with(&url, &posting, &settings).await;
    finds(&searching.visitor(), "q=needle", &expected).await;
    // Another server with the same folder has one of its own.
    let other = Server::beside_with(&url, &posting, &settings).await;
    finds(&other.visitor(), "q=needle", &expected).await;
    assert!(folder.path().join("index.2").is_dir());
    searching.stop().await;
    other.stop().await;
    // A damaged index is made anew.
    let mut versions = std::fs::read_dir(folder.path().join("index")).unwrap();
    let version = versions.next().unwrap().unwrap().path();
    for entry in std::fs::read_dir(version).unwrap() {
        std::fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    let searching = Server::beside_with(&url, &posting, &settings).await;
    finds(&searching.visitor(), "q=needle", &expected).await;
}

#[in_memory(&ON)]
async fn a_search_explains_itself(server: Server) {
    let alice = server.register("alice").await;
    alice.submit_text("A story of <b>rust</b>", "Some words & rust again").await;
    finds(&alice, "q=rust", &["A story of <b>rust</b>"]).await;
    let found = search(&alice, "q=rust+votes%3A%3Eabc").await;
    assert_eq!(found["ignored"], json!(["votes:>abc"]));
    assert_eq!(found["understood"], json!([{ "term": "rust", "field": null, "excluded": false }]));
    let result = &found["results"][0];
    assert_eq!(result["why"]["title"], true);
    assert_eq!(result["excerpt"], "Some words & rust again");
    assert_eq!(result["marks"], json!([[13, 4]]));
    let shown = page(&alice, "/search?q=rust+votes%3A%3Eabc").await;
    let text = shown.text();
    for expected in ["votes:>abc: a number is missing. Searched for the rest.", "1 result", "Show why"] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    let suggested = search(&alice, "q=rsut").await;
    assert_eq!(suggested["suggestions"], json!(["rust"]));
    let others = search(&alice, "q=alice").await;
    assert_eq!(others["kinds"], json!({ "people": 1 }));
    let long = alice.get(&format!("/api/search?q={}", "a".repeat(201))).await;
    assert_eq!(long.status, 400);
    let suggestions = alice.api_get("/api/search/suggest?q=a+sto").await;
    assert_eq!(suggestions, json!(["a sto", ["A story of <b>rust</b>"]]));
    let suggestions = alice.api_get("/api/search/suggest?q=story+of+r").await;
    assert_eq!(suggestions, json!(["story of r", ["A story of <b>rust</b>"]]));
    let opensearch = alice.text("/opensearch.xml").await;
    let suggestions = alice.get("/api/search/suggest?q=a").await;
    let media_type = suggestions.headers["content-type"].to_str().unwrap();
    assert!(opensearch.contains(&format!("type=\"{media_type}\" template=\"")), "{opensearch}");
    assert_eq!(media_type, "application/x-suggestions+json");
    assert_eq!(search(&alice, "q=stoyr+rsut").await["suggestions"], json!(["story rust"]));
    alice.submit_on("alchemy", "On gold").await;
    finds(&alice, "q=topic:alchemy", &["On gold"]).await;
    let suggestions = alice.api_get("/api/search/suggest?q=al").await;
    assert_eq!(suggestions, json!(["al", ["alchemy", "alice"]]));
    // A story that is being submitted may have been submitted before.
    let similar = async |title: &str| {
        let found = ok(alice.api_get(&format!("/api/search/similar?title={title}")).await);
        each(&found["stories"], "id")
    };
    assert_eq!(similar("rust+stories").await, [1]);
    assert_eq!(similar("gold+rush+of+1849").await, [0_u64; 0]);
    let previewed =
        [("news_id", "-1"), ("title", "A rust story"), ("url", ""), ("text", "t"), ("then", "preview")];
    let previewed = alice.post("/submit", &previewed).await.text();
    assert!(previewed.contains("Is it one of these?"), "{previewed}");
    // The page of a person, a topic and a site has a search within it.
    for (address, value) in [("/user/alice", "by:alice"), ("/topic/alchemy", "topic:alchemy")] {
        let page = alice.text(address).await;
        assert!(page.contains(&format!("name=\"within\" value=\"{value}\"")), "{address}: {page}");
    }
    // It stays there, without showing how it is written, and one can leave it.
    let within = page(&alice, "/search?q=rust&within=by:alice&kind=all").await;
    assert!(within.content().contains("what alice wrote") && within.links_to("/search?q=rust&kind=all"));
    within.one("input", &[("name", "within"), ("value", "by:alice")]);
    assert!(!within.content().contains("Nothing found"));
    let elsewhere = page(&alice, "/search?q=rust&within=by:nobody&kind=all").await;
    assert!(elsewhere.content().contains("Nothing found"));
    assert_eq!(alice.get("/search?q=rust&within=votes:1").await.status, 400);
}

#[in_memory(&ON)]
async fn a_search_without_a_kind_is_for_the_kind_that_was_asked_for_last(server: Server) {
    server.register("alice").await.submit_text("A story of rust", "text").await;
    let shown_to = async |cookie: &str, address: &str| {
        let answer = server.visitor().with_header("cookie", cookie).get(address).await;
        let kept = answer.headers.get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        let page = Page::of(&answer);
        let current = page.find("a", &[("aria-current", "page")]);
        let kinds = ["Stories", "Comments", "People"];
        let kind = kinds.into_iter().find(|kind| current.iter().any(|tab| tab.text().starts_with(kind)));
        (kind.unwrap(), kept)
    };
    let (kind, kept) = shown_to("", "/search?q=rust&kind=comments").await;
    let kept = kept.unwrap();
    assert_eq!(kind, "Comments");
    assert!(kept.starts_with("search_kind=comments; HttpOnly; SameSite=Lax; Path=/search;"), "{kept}");
    for (cookie, address, kind) in [
        ("search_kind=comments", "/search?q=rust", "Comments"),
        ("search_kind=people", "/search?q=rust&sort=new", "People"),
        ("search_kind=comments", "/search?q=rust&kind=comments", "Comments"),
        // A search within something says what it is for, and is not remembered.
        ("search_kind=comments", "/search?q=rust&within=by:alice", "Stories"),
        ("search_kind=comments", "/search?q=rust&within=by:alice&kind=stories", "Stories"),
        ("search_kind=anything", "/search?q=rust", "Stories"),
        ("", "/search?q=rust", "Stories"),
    ] {
        assert_eq!(shown_to(cookie, address).await, (kind, None), "{cookie} {address}");
    }
    let (kind, kept) = shown_to("search_kind=comments", "/search?q=rust&kind=stories").await;
    assert!(kind == "Stories" && kept.unwrap().starts_with("search_kind=stories;"));
    // All links of the page say their kind.
    let results =
        page(&server.visitor().with_header("cookie", "search_kind=comments"), "/search?q=rust").await;
    assert!(results.links_to("/search?q=rust&kind=stories"));
    assert!(results.links_to("/search?q=rust&kind=comments&sort=new"));
}

#[in_memory(&ON)]
async fn where_nothing_has_all_words_the_page_offers_parts_and_other_kinds(server: Server) {
    let alice = server.register("alice").await;
    alice.submit_text("A story of rust", "text").await;
    alice.submit_text("Gardens", "text").await;
    alice.tweet("alice writes").await;
    finds(&alice, "q=writes&kind=posts", &["alice writes"]).await;
    let found = search(&alice, "q=rust+nowhere").await;
    assert_eq!((&found["total"], found["partial"].as_array().unwrap().len()), (&0.into(), 1), "{found:#}");
    assert_eq!(found["partial"][0]["story"]["title"], "A story of rust");
    assert_eq!(search(&alice, "q=rust").await["partial"], json!([]));
    let text = page(&alice, "/search?q=rust+nowhere").await.text().to_owned();
    assert!(text.contains("No story has all of these words"), "{text}");
    assert!(text.contains("A story of rust") && !text.contains("Gardens"), "{text}");
    let text = page(&alice, "/search?q=alice").await.text().to_owned();
    assert!(text.contains("No stories. 1 post, 1 person") && !text.contains("Nothing found"), "{text}");
    assert!(page(&alice, "/search?q=nowhere").await.text().contains("Nothing found"));
    // Other spellings are tried for three words.
    let offered = async |typed: &str| search(&alice, &format!("q={typed}")).await["suggestions"].to_string();
    assert!(offered("a+story+rusd").await.contains("rust"));
    assert_eq!(offered("a+story+of+rusd").await, "[]");
}

#[in_memory(&ON)]
async fn the_feed_of_a_search_has_entries_of_the_kind_that_it_is_for(server: Server) {
    let alice = server.register("alice").await;
    let story = alice.submit_text("A needle", "text").await;
    alice.comment(story, "A needle in a comment").await;
    alice.tweet("A needle in a post").await;
    finds(&alice, "q=needle&kind=posts", &["A needle in a post"]).await;
    let entries = async |kind: &str| {
        let address = format!("/search.json?q=needle{kind}");
        let feed = server.visitor().get(&address).await.json();
        assert!(feed["feed_url"].as_str().unwrap().ends_with(&address), "{feed:#}");
        let entry = |item: &serde_json::Value| {
            let id = item["id"].as_str().unwrap().rsplit_once(':').unwrap().1.to_owned();
            id.split('/').next().unwrap().to_owned()
        };
        let mut kinds: Vec<String> = feed["items"].as_array().unwrap().iter().map(entry).collect();
        kinds.sort();
        (feed["title"].as_str().unwrap().to_owned(), kinds)
    };
    for (kind, title, kinds) in [
        ("", "Search: needle - ", &["story"][..]),
        ("&kind=comments", "Search: needle (comments) - ", &["comment"]),
        ("&kind=posts", "Search: needle (posts) - ", &["post"]),
        ("&kind=all", "Search: needle (all) - ", &["comment", "post", "story"]),
    ] {
        let (found, entries) = entries(kind).await;
        assert!(found.starts_with(title), "{found}");
        assert_eq!(entries, kinds, "{kind}");
    }
    let refused = server.visitor().get("/search.atom?q=needle&kind=people").await;
    assert_eq!(refused.status, 400);
    for (kind, has_feed) in [("people", false), ("comments", true)] {
        let page = String::from_utf8(alice.get(&format!("/search?q=needle&kind={kind}")).await.body).unwrap();
        assert_eq!(page.contains("/search.atom"), has_feed, "{kind}");
    }
}

#[in_memory(&ON)]
async fn pages_of_long_comments_have_each_of_them_once(server: Server) {
    let alice = server.register("alice").await;
    let story = alice.submit_text("A story", "text").await;
    let long = "<&> ".repeat(1_000);
    for number in 0..35 {
        alice.comment(story, &format!("number{number} {long}")).await;
    }
    finds(&alice, "q=number34&kind=comments", &[&format!("number34 {}", long.trim())]).await;
    let mut seen = Vec::new();
    for page_number in [1, 2] {
        let address = format!("/search?q=by:alice&kind=comments&page={page_number}");
        let text = page(&alice, &address).await.text().to_owned();
        let numbers = text.split("number").skip(1).map(|rest| rest.split(' ').next().unwrap().to_owned());
        seen.extend(numbers);
    }
    seen.sort();
    assert_eq!(seen.len(), 35, "{seen:?}");
    seen.dedup();
    assert_eq!(seen.len(), 35, "{seen:?}");
}

#[in_memory(&[ON[0], ("rates.search_per_address", "1/1h")])]
async fn a_search_without_words_costs_no_token(server: Server) {
    server.register("alice").await.submit_text("A needle", "hay").await;
    let visitor = server.visitor();
    // Until the index is open, the status is 503.
    tidings_testing::until(async || visitor.get("/search?q=").await.status == 200).await;
    for address in ["/search", "/search?q=", "/search?q=%20%21", "/api/search?q=", "/api/search/suggest?q="] {
        assert_eq!(visitor.get(address).await.status, 200, "{address}");
    }
    assert_eq!(visitor.get("/search?q=needle").await.status, 200);
    assert_eq!(visitor.get("/search?q=needle").await.status, 429);
}

#[tokio::test]
async fn a_search_whose_asker_has_gone_is_not_made() {
    let settings = SearchSettings { is_on: true, threads: 1, ..SearchSettings::default() };
    let searching = Searching::open(&settings).unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let made = Arc::new(AtomicBool::new(false));
    let first = searching.run(move |_, _| Ok(held.recv().is_ok()));
    let mut first = std::pin::pin!(first);
    assert!(tokio::time::timeout(Duration::ZERO, &mut first).await.is_err());
    let is_made = made.clone();
    let gone = searching.run(move |_, _| {
        is_made.store(true, Ordering::SeqCst);
        Ok(())
    });
    assert!(tokio::time::timeout(Duration::ZERO, gone).await.is_err());
    drop(hold);
    assert!(!first.await.unwrap());
    searching.run(|_, _| Ok(())).await.unwrap();
    assert!(!made.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn compactions_that_meet_merges_are_tried_again() {
    let server = Server::start(Engine::Redis, &ON).await;
    let alice = server.register("alice").await;
    let titles: Vec<String> = (1..7).map(|number| format!("Needle {number}")).collect();
    for title in &titles {
        alice.submit_text(title, "hay").await;
    }
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    finds(&alice, "q=needle", &titles).await;
    ok(alice.delete(1).await);
    finds(&alice, "q=needle", &titles[1..]).await;
    let compactions = (0..8).map(|_| {
        let (store, searching) = (server.app.site.store.clone(), server.app.search.get());
        tokio::spawn(async move { tidings::compaction::compact(&store, searching).await })
    });
    for compaction in compactions.collect::<Vec<_>>() {
        compaction.await.unwrap().unwrap();
    }
}

#[in_memory]
async fn without_search_its_addresses_are_gone(server: Server) {
    let paths = "/search?q=a /api/search?q=a /api/search/suggest?q=a /search.atom?q=a /search.json?q=a \
        /opensearch.xml";
    for path in paths.split(' ') {
        assert_eq!(server.visitor().get(path).await.status, 404, "{path}");
    }
    assert!(!page(&server.visitor(), "/").await.text().contains("Search"));
}
