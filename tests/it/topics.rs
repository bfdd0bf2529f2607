//! Topics: who names them, their lists, renaming and merging, and the check
//! that mends what differs.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use tidings_domain::User;
use tidings_domain::articles::topic_moves::{self, Move};
use tidings_domain::store_check::{Part, StoreReport, Totals};
use tidings_domain::values::{Timestamp, Topic};
use tidings_keyspace::{Expiry, read};
use tidings_web::error::in_english;

use crate::client::{Client, ids, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::consistency;
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Batch, Engine, START, Server, each_engine, in_memory};
use crate::store_check::report_of;

/// An administrator, who may create topics, and a user who may not.
async fn people(server: &Server) -> (Client, Client) {
    (server.administrator("alice").await, server.member("bob").await)
}

/// The ids on the first page of a list of topics.
async fn listed(client: &Client, topics: &str) -> Vec<u64> {
    listed_by(client, topics, "score").await
}

async fn listed_by(client: &Client, topics: &str, order: &str) -> Vec<u64> {
    let answer = ok(client.api_get(&format!("/api/topic/{topics}/{order}/1")).await);
    let ids = ids(&answer["articles"]);
    assert!(answer["count"].as_u64().unwrap() >= ids.len() as u64, "{answer}");
    ids
}

/// The topics as the API lists them.
async fn counted(client: &Client) -> Vec<(String, u64)> {
    let answer = ok(client.api_get("/api/topics").await);
    let line = |line: &Value| (line["name"].as_str().unwrap().to_owned(), line["articles"].as_u64().unwrap());
    answer["topics"].as_array().unwrap().iter().map(line).collect()
}

fn counts(topics: &[(&str, u64)]) -> Vec<(String, u64)> {
    topics.iter().map(|(name, articles)| ((*name).to_owned(), *articles)).collect()
}

#[in_memory]
async fn topics_are_stored_once_each_and_listed_by_size(server: Server) {
    let (alice, _) = people(&server).await;
    let one = alice.submit_on(" rust, databases,rust ", "One").await;
    let two = alice.submit_on("rust", "Two").await;
    alice.submit_on("", "None").await;
    assert_eq!(server.field("news:1", "topics").await.unwrap(), "rust,databases");
    assert_eq!(server.field("news:3", "topics").await, None);
    assert_eq!(counted(&alice).await, counts(&[("rust", 2), ("databases", 1)]));
    let expected = [("databases".to_owned(), 1.0), ("rust".to_owned(), 2.0)];
    assert_eq!(server.sorted("topics").await, expected);
    assert_eq!(listed(&alice, "rust").await, [two, one]);
    assert_eq!(listed(&alice, "databases").await, [one]);
    let answer = ok(alice.api_get("/api/topic/databases/score/1").await);
    assert_eq!(answer["articles"][0]["topics"], serde_json::json!(["rust", "databases"]));
    consistency::check_site(&server).await;
}

#[in_memory]
async fn one_bad_name_refuses_the_whole_call(server: Server) {
    let (alice, _) = people(&server).await;
    let before = server.dump().await;
    for bad in ["rust,C", "rust,c++", "a", "aa,bb,cc,dd,ee,ff", "rust,data base"] {
        assert!(refused(alice.try_submit_on(bad, "Title").await).contains("topic"), "{bad}");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn a_new_topic_needs_karma(server: Server) {
    let (alice, bob) = people(&server).await;
    let told = refused(bob.try_submit_on("rust", "One").await);
    assert!(told.contains("\"rust\" does not exist yet") && told.contains("needs 10 karma"), "{told}");
    alice.submit_on("rust", "One").await;
    let two = bob.submit_on("rust", "Two").await;
    refused_saying(bob.try_submit_on("rust,go", "Three").await, "\"go\" does not exist yet");
    refused_saying(bob.edit_topics(two, "rust,go").await, "\"go\" does not exist yet");
    server.set_karma(&bob, 10).await;
    bob.submit_on("rust,go", "Three").await;
    // A story keeps its topics, even if its author could no longer create them.
    server.set_karma(&bob, 0).await;
    ok(bob.edit_topics(3, "go").await);
    assert_eq!(counted(&alice).await, counts(&[("rust", 2), ("go", 1)]));
}

#[in_memory]
async fn an_edit_moves_the_article_between_topics(server: Server) {
    let (alice, _) = people(&server).await;
    let id = alice.submit_on("rust,go", "One").await;
    for topics in ["rust", "go", "web", "rust+go"] {
        alice.get(&format!("/topic/{topics}")).await;
    }
    ok(alice.edit_topics(id, "go, web").await);
    assert_eq!(server.field("news:1", "topics").await.unwrap(), "go,web");
    assert_eq!(counted(&alice).await, counts(&[("web", 1), ("go", 1)]));
    for (topic, expected) in [("rust", vec![]), ("go", vec![id]), ("web", vec![id])] {
        assert_eq!(listed(&alice, topic).await, expected, "{topic}");
    }
    // Without the field the topics stay, with an empty one they go.
    ok(alice.edit(id, "Title", "", "text").await);
    assert_eq!(server.field("news:1", "topics").await.unwrap(), "go,web");
    ok(alice.edit_topics(id, "").await);
    assert_eq!(server.field("news:1", "topics").await, None);
    assert_eq!(counted(&alice).await, counts(&[]));
    consistency::check_site(&server).await;
}

#[each_engine("combined lists")]
async fn topics_are_combined(server: Server) {
    let (alice, _) = people(&server).await;
    let rust = alice.submit_on("rust", "Rust").await;
    server.advance(1);
    let both = alice.submit_on("rust,go", "Both").await;
    server.advance(1);
    let go = alice.submit_on("go", "Go").await;
    server.advance(1);
    alice.submit_on("web", "Web").await;
    for (topics, expected) in [
        ("rust+go", vec![both]),
        ("go+rust", vec![both]),
        ("rust,go", vec![go, both, rust]),
        ("go,rust,go", vec![go, both, rust]),
        ("rust+web", vec![]),
        ("rust+rust", vec![both, rust]),
    ] {
        assert_eq!(listed(&alice, topics).await, expected, "{topics}");
        assert_eq!(listed_by(&alice, topics, "time").await, expected, "{topics}");
    }
    for unknown in ["none", "rust+none", "none,rust"] {
        let answer = alice.get(&format!("/api/topic/{unknown}/score/1")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(refused(answer.json()), "There is no topic \"none\".");
        error_message(&alice.get(&format!("/topic/{unknown}")).await, StatusCode::NOT_FOUND);
    }
    for bad in ["rust+go,web", "Rust", "rust+", "aa+bb+cc+dd+ee+ff", "a"] {
        refused(alice.api_get(&format!("/api/topic/{bad}/score/1")).await);
        error_message(&alice.get(&format!("/topic/{bad}")).await, StatusCode::NOT_FOUND);
    }
    for bad in ["rust/score/0", "rust/score/x", "rust/best/1"] {
        refused(alice.api_get(&format!("/api/topic/{bad}")).await);
    }
    error_message(&alice.get("/topic/rust?page=0").await, StatusCode::NOT_FOUND);
}

#[in_memory]
async fn a_list_is_built_at_most_once_a_minute_also_an_empty_one(server: Server) {
    let (alice, bob) = people(&server).await;
    let one = alice.submit_on("rust", "One").await;
    let two = alice.submit_on("rust,go", "Two").await;
    let three = alice.submit_on("web", "Three").await;
    ok(alice.edit_topics(three, "").await);
    let minute = Expiry::In(Duration::from_secs(60));
    for (topics, expected) in [("rust", vec![two, one]), ("rust,go", vec![two, one]), ("web", vec![])] {
        assert_eq!(listed(&bob, topics).await, expected);
    }
    for list in ["score:rust", "built:score:rust", "score:go", "built:score:web"] {
        assert_eq!(server.expiry(list).await, minute, "{list}");
    }
    for list in ["score:web", "score:go,rust", "built:score:go,rust"] {
        assert_eq!(server.expiry(list).await, Expiry::Absent, "{list}");
    }
    // Behind the site's back: nobody looks at the groups until the minute is over.
    let mut batch = Batch::new();
    batch.remove_member("group:rust", "article:2");
    batch.add_member("group:web", "article:1");
    server.commit(batch).await;
    for seconds in [1, 58] {
        server.advance(seconds);
        server.clear_caches().await;
        let before = server.store().rounds();
        assert_eq!(listed(&bob, "rust").await, [two, one]);
        assert_eq!(listed(&bob, "web").await, [0; 0]);
        // An empty list has no authors to be named.
        assert_eq!(server.store().rounds() - before, 3 + 2, "nothing is built");
    }
    server.advance(1);
    assert_eq!(listed(&bob, "rust").await, [one]);
    assert_eq!(listed(&bob, "web").await, [one]);
    assert_eq!(listed(&bob, "rust+web").await, [one]);
}

#[in_memory]
async fn a_crowd_at_an_expired_list_builds_it_once(server: Server) {
    let (alice, bob) = people(&server).await;
    alice.submit_on("rust,go", "One").await;
    ok(alice.delete(1).await);
    for _ in 0..2 {
        at_once((0..10).map(|_| {
            let bob = bob.clone();
            async move { assert_eq!(listed(&bob, "rust").await, [0; 0]) }
        }))
        .await;
        assert_eq!(server.expiry("built:score:rust").await, Expiry::In(Duration::from_secs(60)));
        server.advance(30);
        assert_eq!(listed(&bob, "rust").await, [0; 0]);
        assert_eq!(server.expiry("built:score:rust").await, Expiry::In(Duration::from_secs(30)));
        server.advance(30);
    }
}

#[in_memory]
async fn ones_own_item_shows_at_once_and_a_deleted_one_nowhere(server: Server) {
    let (alice, bob) = people(&server).await;
    let lists = ["rust", "go", "go+rust", "go,rust"];
    let one = alice.submit_on("rust,go", "One").await;
    ok(alice.edit_topics(one, "rust").await);
    for list in lists {
        for order in ["score", "time"] {
            listed_by(&bob, list, order).await;
        }
    }
    server.advance(1);
    let two = bob.submit_on("rust,go", "Two").await;
    for order in ["score", "time"] {
        assert_eq!(listed_by(&bob, "rust", order).await, [two, one]);
        // This list was empty.
        assert_eq!(listed_by(&bob, "go", order).await, [two]);
    }
    assert!(matches!(server.expiry("score:rust").await, Expiry::In(_)));
    ok(bob.delete(two).await);
    for list in lists {
        for order in ["score", "time"] {
            assert!(!listed_by(&bob, list, order).await.contains(&two), "{list}");
        }
        for path in [format!("/topic/{list}"), format!("/topic/{list}/new")] {
            assert!(!page(&bob, &path).await.links_to("/news/2"), "{path}");
            let feed = bob.get(&format!("{path}/atom")).await;
            assert!(!feed.text().contains("/news/2"), "{path}");
        }
    }
    consistency::check_site(&server).await;
}

#[in_memory]
async fn pages_show_topics_and_offer_them(server: Server) {
    let (alice, bob) = people(&server).await;
    alice.submit_on("rust,go", "One").await;
    for path in ["/", "/latest/0", "/best", "/topic/rust", "/topic/go/new", "/news/1", "/topics"] {
        let page = page(&bob, path).await;
        for topic in ["/topic/rust", "/topic/go"] {
            let links = page.find("a", &[("class", "topic"), ("href", topic)]);
            // No page links to itself.
            assert_eq!(links.is_empty(), path == topic, "{topic} on {path}");
        }
    }
    for (path, feed) in [
        ("/best", "/best/atom"),
        ("/best/new", "/best/new/atom"),
        ("/topic/rust", "/topic/rust/atom"),
        ("/topic/rust+go/new", "/topic/go+rust/new/atom"),
    ] {
        page(&bob, path).await.one("link", &[("rel", "alternate"), ("href", feed)]);
        let answer = bob.get(feed).await;
        assert_eq!(answer.status, StatusCode::OK);
        let feed = answer.text();
        assert!(feed.contains("<title>One</title>") && feed.contains(path.trim_end_matches("rust+go/new")));
    }
    let of_topic = page(&bob, "/topic/rust/new").await;
    assert_eq!(of_topic.heading(), "New in rust");
    assert!(of_topic.forms().iter().all(|form| form.action != "/renametopic"));
    for path in ["/topic/none/atom", "/topic/none/new/atom"] {
        error_message(&bob.get(path).await, StatusCode::NOT_FOUND);
    }
    let form = page(&bob, "/submit").await;
    assert_eq!(form.find("option", &[]).len(), 2);
    let form = form.form("/submit").with("title", "Two").with("text", "text");
    let refused = form.with("topics", "go, C").send(&bob).await;
    let again = crate::html::Page::of(&refused);
    assert!(again.alert().unwrap().contains("not a topic"));
    assert_eq!(again.form("/submit").value("topics"), Some("go, C"));
    assert_eq!(again.find("option", &[]).len(), 2);
    let sent = again.form("/submit").with("topics", "go").send(&bob).await;
    assert_eq!(redirects_to(&sent), "/news/2");
    assert_eq!(page(&bob, "/editnews/2").await.form("/editnews/2").value("topics"), Some("go"));
    assert_eq!(page(&alice, "/editnews/1").await.form("/editnews/1").value("topics"), Some("rust, go"));
}

#[each_engine("one of its kind")]
async fn administrators_rename_and_merge_with_nothing_lost(server: Server) {
    let (alice, bob) = people(&server).await;
    for number in 0..120 {
        let topics = match number % 3 {
            0 => "rustlang",
            1 => "rustlang,rust,go",
            _ => "go,rustlang",
        };
        alice.submit_on(topics, &format!("Number {number}")).await;
    }
    ok(alice.delete(1).await);
    let rename = async |client: &Client, topic: &str, name: &str| {
        client.call(&format!("/api/renametopic?topic={topic}&name={name}")).await
    };
    refused_saying(rename(&bob, "go", "golang").await, "Only administrators");
    refused_saying(rename(&alice, "go", "rust").await, "\"rust\" already exists");
    refused_saying(rename(&alice, "go", "go").await, "the same");
    for request in ["/api/renametopic?topic=none&name=other", "/api/mergetopic?topic=rustlang&into=none"] {
        let answer = alice.answer_to(request).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        refused_saying(answer.json(), "There is no topic \"none\".");
    }

    let answer = ok(rename(&alice, "go", "golang").await);
    assert_eq!((&answer["finished"], &answer["articles"]), (&Value::from(true), &Value::from(80)));
    assert_eq!(counted(&alice).await, counts(&[("rustlang", 119), ("golang", 80), ("rust", 40)]));
    consistency::check_site(&server).await;

    listed(&alice, "rust").await;
    let answer = ok(alice.call("/api/mergetopic?topic=rustlang&into=rust").await);
    assert_eq!(answer["articles"], 119);
    assert_eq!(counted(&alice).await, counts(&[("rust", 119), ("golang", 80)]));
    assert_eq!(server.field("news:2", "topics").await.unwrap(), "rust,golang");
    assert_eq!(server.field("news:3", "topics").await.unwrap(), "golang,rust");
    assert_eq!(ok(alice.api_get("/api/topic/rust/time/1").await)["count"], 119);
    for path in ["/api/topic/rustlang/time/1", "/api/topic/none,other/time/1"] {
        let answer = alice.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        refused(answer.json());
    }
    consistency::check_site(&server).await;

    // And with the forms of a page.
    let form = page(&alice, "/topic/golang").await.form("/renametopic").with("name", "go");
    assert_eq!(redirects_to(&form.send(&alice).await), "/topic/go");
    let form = page(&alice, "/topic/go").await.form("/mergetopic").with("into", "rust");
    assert_eq!(redirects_to(&form.send(&alice).await), "/topic/rust");
    assert_eq!(counted(&alice).await, counts(&[("rust", 119)]));
    consistency::check_site(&server).await;
}

#[in_memory]
async fn a_move_takes_stories_along_that_wait_for_approval(server: Server) {
    let (alice, bob) = people(&server).await;
    alice.submit_on("go,rust", "A story").await;
    let act = async |action: &str, kind: &str, id: &str| {
        ok(alice.moderate(action, (kind, id), &[]).await);
    };
    act("hold", "user", "bob").await;
    let mut held = Vec::new();
    for title in ["Held", "Also held"] {
        held.push(ok(bob.try_submit_on("rust,go", title).await)["news_id"].to_string());
    }
    ok(alice.call("/api/renametopic?topic=go&name=golang").await);
    act("approve", "story", &held[0]).await;
    assert_eq!(counted(&alice).await, counts(&[("rust", 2), ("golang", 2)]));
    ok(alice.call("/api/mergetopic?topic=golang&into=rust").await);
    act("approve", "story", &held[1]).await;
    assert_eq!(counted(&alice).await, counts(&[("rust", 3)]));
    check_is_clean(&server).await;
}

async fn user(server: &Server, id: u64) -> User {
    let user =
        User::from_hash(&server.store().fetch(read::hash(format!("user:{id}"))).await.unwrap()).unwrap();
    user.acting(&server.app.site.rules, server.app.now())
}

fn topic(name: &str) -> Topic {
    Topic::parse("topic", name).unwrap()
}

#[in_memory]
async fn an_interrupted_move_is_finished_by_asking_again(server: Server) {
    let (alice, _) = people(&server).await;
    for number in 0..6 {
        alice.submit_on("old", &format!("Number {number}")).await;
    }
    alice.submit_on("other", "Another").await;
    // As a crash after the first of several batches leaves it.
    let mut batch = Batch::new();
    batch.set_field("topic.moves", "old", "new");
    batch.sorted_add("topics", "old", 4.0);
    batch.sorted_add("topics", "new", 2.0);
    for id in [1, 2] {
        batch.remove_member("group:old", format!("article:{id}"));
        batch.add_member("group:new", format!("article:{id}"));
        batch.set_field(format!("news:{id}"), "topics", "new");
    }
    server.commit(batch).await;
    // Submissions go on meanwhile, and other moves of the two wait.
    alice.submit_on("old", "Meanwhile").await;
    let site = &server.app.site;
    let admin = user(&server, 1).await;
    for (kind, from, to) in [
        (Move::Merge, "old", "other"),
        (Move::Merge, "new", "other"),
        (Move::Merge, "other", "old"),
        (Move::Rename, "new", "newer"),
    ] {
        let moved =
            topic_moves::move_topic(site, Timestamp(START), &admin, kind, &topic(from), &topic(to)).await;
        assert!(in_english(&moved.unwrap_err()).contains("topic \"old\" is still being moved to \"new\""));
    }
    let unfinished = page(&alice, "/topics").await;
    assert!(unfinished.content().contains("old to new"));
    assert!(!page(&server.visitor(), "/topics").await.content().contains("old to new"));
    assert_eq!(redirects_to(&unfinished.form("/mergetopic").send(&alice).await), "/topic/new");
    assert_eq!(counted(&alice).await, counts(&[("new", 7), ("other", 1)]));
    assert!(!page(&alice, "/topics").await.content().contains("not finished"));
    consistency::check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_submissions_edits_and_deletions_at_once_lose_nothing(server: Server) {
    let (alice, _) = people(&server).await;
    for number in 0..40 {
        alice.submit_on("old,side", &format!("Number {number}")).await;
    }
    let admin = user(&server, 1).await;
    let site = server.app.site.clone();
    let moving = tokio::spawn(async move {
        topic_moves::move_topic(&site, Timestamp(START), &admin, Move::Rename, &topic("old"), &topic("new"))
            .await
    });
    let others = at_once((0..30_u64).map(|number| {
        let alice = alice.clone();
        async move {
            match number % 3 {
                0 => alice.try_submit_on("side", &format!("More {number}")).await,
                1 => alice.edit_topics(number + 1, "side").await,
                _ => alice.delete(number + 1).await,
            }
        }
    }))
    .await;
    assert!(others.into_iter().all(|answer| answer["status"] == "ok"));
    moving.await.unwrap().unwrap();
    consistency::check_site(&server).await;
    let topics: BTreeMap<String, u64> = counted(&alice).await.into_iter().collect();
    // Ten were edited away from the topic and ten deleted; ten were added beside it.
    assert_eq!(topics, counts(&[("new", 20), ("side", 40)]).into_iter().collect());
}

/// Checks articles and topics, and mends them if asked to.
async fn check(server: &Server, repair: bool) -> StoreReport {
    report_of(Part::Articles, server, repair).await
}

async fn check_is_clean(server: &Server) {
    assert_eq!(check(server, false).await.differences, []);
}

#[tokio::test]
async fn the_repair_makes_what_the_site_would_have_made() {
    // A Redis server would expire keys by a clock of its own.
    let server = Server::start(Engine::Memory, &[]).await;
    let (alice, bob) = people(&server).await;
    let carol = server.member("carol").await;
    for user in [&alice, &bob, &carol] {
        server.set_karma(user, 100).await;
    }
    let old = alice.submit_on("rust", "Old").await;
    server.advance(3 * 86_400);
    ok(bob.vote(old, "up").await);
    let young = bob.submit_on("rust,go", "Young").await;
    server.advance(5 * 86_400);
    // Too late for the old one, in time for the young one.
    ok(carol.vote(old, "up").await);
    ok(carol.vote(young, "down").await);
    ok(alice.vote(young, "up").await);
    let gone = alice.submit_on("go", "Gone").await;
    ok(alice.delete(gone).await);
    check_is_clean(&server).await;

    let before = server.dump().await;
    let ours = ["article:", "voted:", "group:", "time:", "score:", "built:", "topics"];
    let keys: Vec<String> =
        before.keys().filter(|key| ours.iter().any(|start| key.starts_with(start))).cloned().collect();
    assert!(keys.len() >= 7, "{keys:?}");
    server.write(|batch| keys.iter().for_each(|key| batch.delete(key))).await;

    assert_eq!(check(&server, false).await.totals, Totals { mendable: 2, ..Totals::default() });
    assert_eq!(check(&server, true).await.left(), 0);
    assert_eq!(server.dump().await, before);
    check_is_clean(&server).await;
    let left = server.expiry("voted:2").await;
    assert_eq!(left, Expiry::In(Duration::from_secs(2 * 86_400)));
}

#[in_memory]
async fn votes_of_other_programs_survive_the_repair(server: Server) {
    let (alice, _) = people(&server).await;
    alice.submit_text("One", "text").await;
    for seconds in [0, 8 * 86_400] {
        server.advance(seconds);
        if seconds == 0 {
            let mut batch = Batch::new();
            batch.add_member("voted:1", "user:77");
            batch.sorted_increment("score:", "article:1", 432.0);
            batch.increment_field("article:1", "votes", 1);
            server.commit(batch).await;
        }
        check_is_clean(&server).await;
        check(&server, true).await;
        assert_eq!(server.number("article:1", "votes").await, 2);
    }
}

#[each_engine("check")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_repair_of_a_busy_site_counts_every_vote(server: Server) {
    let users = server.members(12).await;
    for number in 0..6 {
        users[0].submit_text(&format!("Number {number}"), "text").await;
    }
    for user in &users {
        server.set_karma(user, 100).await;
    }
    let mut batch = Batch::new();
    for id in 1..=6 {
        batch.delete(format!("article:{id}"));
        batch.delete(format!("voted:{id}"));
    }
    batch.delete("score:");
    batch.delete("time:");
    server.commit(batch).await;
    let votes = at_once(users[1..].iter().cloned().map(|user| async move {
        for id in 1..=6 {
            ok(user.vote(id, "up").await);
        }
    }));
    tokio::join!(votes, check(&server, true));
    check(&server, true).await;
    check_is_clean(&server).await;
    for id in 1..=6 {
        assert_eq!(server.number(&format!("article:{id}"), "votes").await, 12);
    }
    consistency::check_site(&server).await;
}
