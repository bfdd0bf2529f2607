//! The new comments since the last visit of a thread, and the order of comments.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings_domain::background;

use crate::client::{Client, ids, ok, refused_saying};
use crate::html::Page;
use crate::pages::page;
use crate::server::{Batch, Server, in_memory};
use crate::thread_pages::comments;

const HALF_AN_HOUR: u64 = 1_800;

/// The texts of the comments that a page marks as new.
async fn marked(client: &Client, path: &str) -> Vec<String> {
    let page = page(client, path).await;
    let marked: Vec<_> = page.find("article", &[("class", "item comment is-new")]);
    let tags = page.find("span", &[("class", "tag new")]);
    assert_eq!(marked.len(), tags.len(), "each has a mark that can be read");
    let texts = page.find("div", &[("class", "text formatted")]);
    let texts = texts.into_iter().map(|text| text.text().to_owned());
    // The preview of a comment is empty.
    let is_marked =
        |text: &String| !text.is_empty() && marked.iter().any(|item| item.text().contains(text.as_str()));
    texts.filter(is_marked).collect()
}

async fn new_in_list(client: &Client) -> Value {
    ok(client.api_get("/api/getnews/latest/0/1").await)["news"][0]["new_comments"].clone()
}

fn collect_new(comments: &Value, new: &mut Vec<u64>) {
    for comment in comments.as_array().unwrap() {
        if let Some(value) = comment.get("new") {
            assert_eq!(*value, true);
            new.push(comment["id"].as_u64().unwrap());
        }
        collect_new(&comment["replies"], new);
    }
}

async fn new_in_api(client: &Client) -> Vec<u64> {
    let mut new = Vec::new();
    collect_new(&ok(client.api_get("/api/getcomments/1").await)["comments"], &mut new);
    new
}

#[in_memory]
async fn what_others_wrote_since_the_last_visit_is_new(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    alice.comment(1, "First").await;
    assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(0), vec![]), "never visited");
    assert_eq!(marked(&bob, "/news/1").await, [""; 0], "nothing is new at first");

    alice.reply(1, 1, "Second").await;
    bob.comment(1, "My own").await;
    for _ in 0..2 {
        // The API is no visit.
        assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(1), vec![2]));
    }
    let list = page(&bob, "/latest/0").await;
    assert_eq!(list.one("a", &[("href", "/news/1#new")]).text(), "1 new comment");
    let thread = page(&bob, "/news/1").await;
    let notice = thread.one("p", &[("id", "new")]);
    assert_eq!(notice.text(), "1 new comment since your last visit");
    assert!(thread.links_to("#comment-2"));
    assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(0), vec![2]));
    assert!(!page(&bob, "/latest/0").await.links_to("/news/1#new"));

    // It stays marked for a while, so that a vote or a reply does not hide it.
    server.advance(60);
    alice.reply(1, 2, "Third").await;
    assert_eq!(new_in_list(&bob).await, 1);
    assert_eq!(marked(&bob, "/news/1").await, ["Second", "Third"]);
    assert_eq!(new_in_api(&bob).await, [2, 4], "as long as on the page");
    server.advance(HALF_AN_HOUR);
    assert_eq!(new_in_api(&bob).await, [0; 0]);
    assert_eq!(marked(&bob, "/news/1").await, [""; 0]);

    assert_eq!(marked(&alice, "/news/1").await, [""; 0]);
    let visitor = server.visitor();
    assert_eq!((new_in_list(&visitor).await, new_in_api(&visitor).await), (Value::Null, vec![]));
}

#[in_memory]
async fn deleted_comments_make_no_count_negative(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    for text in ["One", "Two", "Three"] {
        alice.comment(1, text).await;
    }
    page(&bob, "/news/1").await;
    for comment in [1, 2] {
        ok(alice.edit_comment(1, comment, "").await);
    }
    assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(0), vec![]));
    let last = alice.comment(1, "Four").await;
    assert_eq!(new_in_api(&bob).await, [last]);
    ok(alice.edit_comment(1, last, "").await);
    assert_eq!(new_in_api(&bob).await, [0; 0]);
}

/// Stores comments by user 1 on item 1.
async fn store_comments(server: &Server, count: u64) {
    let comment = |id: u64| json!({"body": "old", "ctime": id, "user_id": 1, "parent_id": -1, "up": [1]});
    let fields: Vec<_> = (1..=count).map(|id| (id.to_string(), comment(id).to_string())).collect();
    let mut batch = Batch::new();
    batch.set_fields("thread:comment:1", fields);
    batch.set_field("thread:comment:1", "nextid", count.to_string());
    batch.set_field("news:1", "comments", count.to_string());
    server.commit(batch).await;
}

#[in_memory]
async fn the_second_page_still_shows_what_was_new_on_the_first(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    store_comments(&server, 201).await;
    page(&bob, "/news/1").await;
    server.advance(86_400);
    alice.comment(1, "New").await;
    let first = page(&bob, "/news/1?sort=oldest").await;
    assert_eq!(first.one("p", &[("id", "new")]).text(), "1 new comment since your last visit");
    assert!(first.links_to("/news/1?at=202&sort=oldest#comment-202"));
    server.advance(HALF_AN_HOUR - 1);
    assert_eq!(marked(&bob, "/news/1?page=2&sort=oldest").await, ["New"]);
    server.advance(60);
    assert_eq!(marked(&bob, "/news/1?page=2&sort=oldest").await, ["New"], "still the same reading");
    assert_eq!(marked(&bob, "/news/1?sort=newest").await, [""; 0]);
}

#[in_memory]
async fn visits_are_stored_after_the_answer_and_the_last_200_are_kept(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    alice.comment(1, "First").await;
    let key = format!("user:{}:visits", bob.user_id);
    let old: Vec<_> = (1_000..1_200).map(|news| (news.to_string(), format!("{news} 5 6 7 8"))).collect();
    server.write(|batch| batch.set_fields(&key, old)).await;
    page(&bob, "/news/1").await;
    assert_eq!(server.field(&key, "1").await, None, "the answer did not wait for it");
    background::store_rest(&server.app.site, server.app.now()).await;
    let now = server.now();
    assert_eq!(server.field(&key, "1").await, Some(format!("{now} {now} 1 1 1")));
    let stored = server.hash(&key).await;
    assert_eq!((stored.len(), stored.contains_key("1000"), stored.contains_key("1001")), (200, false, true));

    // The stored visit counts when nothing is in memory.
    server.advance(120);
    background::store_rest(&server.app.site, server.app.now()).await;
    alice.comment(1, "Second").await;
    server.clear_caches().await;
    assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(1), vec![2]));

    // Own comments are stored too, but no mark is made of them.
    bob.comment(1, "My own").await;
    alice.submit_text("Another", "text").await;
    bob.comment(2, "Without a visit").await;
    background::store_rest(&server.app.site, server.app.now()).await;
    assert_eq!(server.field(&key, "1").await, Some(format!("{now} {now} 1 1 2")));
    assert_eq!(server.field(&key, "2").await, None);
    // A deactivated account has none.
    bob.comment(1, "Late").await;
    server.set_field(&format!("user:{}", bob.user_id), "deactivated", "1").await;
    background::store_rest(&server.app.site, server.app.now()).await;
    assert_eq!(server.field(&key, "1").await, Some(format!("{now} {now} 1 1 2")), "nobody reads it");
}

#[in_memory]
async fn unreadable_marks_are_skipped(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    alice.comment(1, "First").await;
    let key = format!("user:{}:visits", bob.user_id);
    for mark in ["", "x", "1 2 3", "1 2 3 4 -5", "1 2 3 4 99999999999999999999"] {
        server.set_field(&key, "1", mark).await;
        server.set_field(&key, "not a story", "1 1 0 0 0").await;
        assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(0), vec![]), "{mark}");
    }
    server.set_field(&key, "1", "1 1 0 0 0").await;
    assert_eq!((new_in_list(&bob).await, new_in_api(&bob).await), (json!(1), vec![1]));
}

#[in_memory]
async fn marks_cost_no_round_once_they_are_cached(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    for number in 1..=30 {
        let news = alice.submit_text(&format!("Story {number}"), "text").await;
        alice.comment(news, "A comment").await;
        page(&bob, &format!("/news/{news}")).await;
        alice.comment(news, "Another").await;
    }
    for path in ["/latest/0", "/news/3"] {
        page(&bob, path).await;
        let before = server.store().rounds();
        page(&bob, path).await;
        assert_eq!(server.store().rounds(), before, "{path}");
    }
}

async fn order(client: &Client, path: &str) -> Vec<u64> {
    comments(&page(client, path).await)
}

/// A thread of which 2 answers 1, and 3 has the most votes.
async fn thread_of_four(server: &Server) -> (Client, Client) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    alice.comment(1, "One").await;
    server.advance(1);
    alice.reply(1, 1, "Two").await;
    server.advance(1);
    alice.comment(1, "Three").await;
    server.advance(1);
    alice.comment(1, "Four").await;
    ok(bob.vote_comment(1, 3, "up").await);
    (alice, bob)
}

#[in_memory]
async fn comments_are_sorted_as_the_address_or_the_viewer_says(server: Server) {
    let (_, bob) = thread_of_four(&server).await;
    let visitor = server.visitor();
    for _ in 0..2 {
        for client in [&visitor, &bob] {
            assert_eq!(order(client, "/news/1").await, [3, 4, 1, 2]);
            assert_eq!(order(client, "/news/1?sort=score").await, [3, 4, 1, 2]);
            assert_eq!(order(client, "/news/1?sort=newest").await, [4, 3, 1, 2]);
            assert_eq!(order(client, "/news/1?sort=oldest").await, [1, 2, 3, 4]);
        }
    }
    ok(bob.call("/api/updateprofile?sort_comments=oldest&about=&email=").await);
    for _ in 0..2 {
        assert_eq!(order(&bob, "/news/1").await, [1, 2, 3, 4]);
        assert_eq!(order(&visitor, "/news/1").await, [3, 4, 1, 2]);
        server.clear_caches().await;
    }
    let api = async |query: &str| {
        let answer = ok(bob.api_get(&format!("/api/getcomments/1{query}")).await);
        ids(&answer["comments"])
    };
    assert_eq!(api("").await, [3, 4, 1]);
    assert_eq!(api("?sort=newest").await, [4, 3, 1]);
    assert_eq!(api("?sort=oldest&after=2").await, [3, 4]);
}

#[in_memory]
async fn links_keep_the_order_and_a_wrong_one_is_named(server: Server) {
    let (_, bob) = thread_of_four(&server).await;
    let newest = page(&bob, "/news/1?sort=newest").await;
    newest.one("link", &[("rel", "canonical"), ("href", "http://localhost:8080/news/1")]);
    assert!(newest.links_to("/news/1?at=3&sort=newest#comment-3"), "the permalink");
    let chosen = newest.one("a", &[("aria-current", "true")]);
    assert_eq!((chosen.text(), chosen.attribute("href")), ("New", None));
    for order in ["score", "oldest"] {
        assert!(newest.links_to(&format!("/news/1?sort={order}")), "{order}");
    }
    assert!(page(&bob, "/news/1").await.links_to("/news/1?at=3#comment-3"));
    store_comments(&server, 201).await;
    let first = page(&bob, "/news/1?sort=oldest").await;
    for next in first.find("a", &[("rel", "next")]) {
        assert_eq!(next.attribute("href"), Some("/news/1?page=2&sort=oldest"));
    }
    for wrong in ["", "best", "Newest", "newest%20", "0"] {
        for path in ["/news/1?", "/news/1?at=1&"] {
            let answer = bob.get(&format!("{path}sort={wrong}")).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {wrong}");
            let text = Page::of(&answer).content().to_owned();
            assert!(text.contains("This link is damaged"), "{text}");
        }
        let answer = bob.api_get(&format!("/api/getcomments/1?sort={wrong}")).await;
        refused_saying(answer, "score, newest or oldest");
    }
}

#[in_memory]
async fn comments_link_to_those_around_them(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("The story", "text").await;
    alice.comment(1, "One").await;
    for (parent, text) in [(1, "Two"), (2, "Three"), (2, "Four")] {
        server.advance(1);
        bob.reply(1, parent, text).await;
    }
    bob.comment(1, "Five").await;
    let thread = page(&alice, "/news/1?sort=oldest").await;
    let jumps: Vec<&str> =
        thread.find("div", &[("class", "jumps")]).iter().map(|jumps| jumps.text()).collect();
    assert_eq!(jumps, ["next", "parent", "root parent next", "root parent prev", "prev"]);
    for target in 1..=5 {
        assert!(thread.links_to(&format!("#comment-{target}")), "{target}");
    }
    // The menus of the page have summaries too.
    let lines = thread.all("summary").map(|summary| summary.text()).filter(|text| text.contains(" · "));
    let expected = [
        "alice · just now · 3 replies · One",
        "bob · just now · 2 replies · Two",
        "bob · just now · 0 replies · Three",
        "bob · just now · 0 replies · Four",
        "bob · just now · 0 replies · Five",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert_eq!(thread.find("span", &[("class", "tag")]).len(), 1, "the author of the story");
}
