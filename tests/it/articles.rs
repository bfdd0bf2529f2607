//! Articles: every item under the rule of time plus votes, its keys, its votes,
//! its lists, and programs that know nothing but the keys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tidings_keyspace::{Expiry, read};

use crate::client::{Client, ids, ok, refused, refused_saying};
use crate::pages::{error_message, page};
use crate::redis_commands::RedisCommands;
use crate::server::{Batch, Engine, START, Server, each_engine, in_memory};

const WEEK: u64 = 7 * 86_400;

/// The score of an article posted at a time with some votes.
#[allow(clippy::cast_precision_loss)]
pub fn score(posted: u64, votes: u64) -> f64 {
    (posted + 432 * votes) as f64
}

async fn members(server: &Server, key: &str) -> BTreeSet<String> {
    server.store().fetch(read::members(key)).await.unwrap().into_iter().collect()
}

fn set(members: &[&str]) -> BTreeSet<String> {
    members.iter().map(|member| (*member).to_owned()).collect()
}

fn article(title: &str, link: &str, poster: u64, time: u64, votes: u64) -> BTreeMap<String, String> {
    [
        ("title", title.to_owned()),
        ("link", link.to_owned()),
        ("poster", format!("user:{poster}")),
        ("time", time.to_string()),
        ("votes", votes.to_string()),
    ]
    .into_iter()
    .map(|(field, value)| (field.to_owned(), value))
    .collect()
}

/// The ids of a page of the best or the newest articles.
pub async fn listed(client: &Client, order: &str, page: u64) -> Vec<u64> {
    let answer = ok(client.api_get(&format!("/api/articles/{order}/{page}")).await);
    ids(&answer["articles"])
}

#[in_memory(&[("site.url", "https://news.example")])]
async fn a_new_item_is_an_article_with_the_vote_of_its_author(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_link("A link", "https://a.example/?b=1#c").await;
    alice.submit_text("A text", "Hello").await;
    let link = article("A link", "https://a.example/?b=1#c", 1, START, 1);
    assert_eq!(server.hash("article:1").await, link);
    let text = article("A text", "https://news.example/news/2", 1, START, 1);
    assert_eq!(server.hash("article:2").await, text);
    let both = |score: f64| [("article:1".to_owned(), score), ("article:2".to_owned(), score)];
    assert_eq!(server.sorted("score:").await, both(score(START, 1)));
    assert_eq!(server.sorted("time:").await, both(score(START, 0)));
    assert_eq!(members(&server, "voted:1").await, set(&["user:1"]));
    let Expiry::In(left) = server.expiry("voted:1").await else { panic!("voted:1 does not expire") };
    assert!(left <= Duration::from_secs(WEEK) && left > Duration::from_secs(WEEK - 60), "{left:?}");
    assert_eq!(server.field("news:1", "topics").await, None);
}

#[in_memory]
async fn each_vote_up_counts_once_and_votes_down_do_not(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let id = alice.submit_text("One", "text").await;
    server.set_karma(&carol, 100).await;
    server.advance(3_600);
    ok(bob.vote(id, "up").await);
    refused_saying(bob.vote(id, "up").await, "already");
    ok(carol.vote(id, "down").await);
    refused_saying(carol.vote(id, "up").await, "already");
    assert_eq!(server.number("article:1", "votes").await, 2);
    assert_eq!(server.sorted("score:").await, [("article:1".to_owned(), score(START, 2))]);
    assert_eq!(members(&server, "voted:1").await, set(&["user:1", "user:2"]));
}

#[in_memory]
async fn a_vote_never_lengthens_the_life_of_the_list_of_voters(server: Server) {
    let users = server.members(4).await;
    let id = users[0].submit_text("One", "text").await;
    for user in &users[1..] {
        server.advance(86_400);
        let before = server.expiry("voted:1").await;
        ok(user.vote(id, "up").await);
        assert_eq!(server.expiry("voted:1").await, before);
    }
    // Another program dropped it, or made it live for ever.
    let dave = server.member("dave").await;
    server.write(|batch| batch.delete("voted:1")).await;
    ok(dave.vote(id, "up").await);
    let left = Duration::from_secs(WEEK - 3 * 86_400);
    assert_eq!(server.expiry("voted:1").await, Expiry::In(left));
    assert_eq!(server.number("article:1", "votes").await, 5);
}

#[in_memory]
async fn after_a_week_the_score_is_fixed_and_the_voters_are_gone(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let id = alice.submit_text("One", "text").await;
    server.advance(WEEK - 1);
    ok(bob.vote(id, "up").await);
    let fixed = [("article:1".to_owned(), score(START, 2))];
    assert_eq!(server.sorted("score:").await, fixed);
    server.advance(1);
    ok(carol.vote(id, "up").await);
    assert_eq!(server.number("news:1", "up").await, 3);
    assert_eq!(server.number("article:1", "votes").await, 2);
    assert_eq!(server.sorted("score:").await, fixed);
    if server.redis.is_none() {
        // A Redis server has a clock of its own.
        assert_eq!(members(&server, "voted:1").await, set(&[]));
    }
}

#[in_memory]
async fn editing_and_deleting_an_item_reach_its_article(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    ok(bob.vote(id, "up").await);
    ok(alice.edit(id, "Another", "http://b.example/", "").await);
    assert_eq!(server.hash("article:1").await, article("Another", "http://b.example/", 1, START, 2));
    ok(alice.edit(id, "A text", "", "Hello").await);
    assert_eq!(server.field("article:1", "link").await.unwrap(), "http://localhost:8080/news/1");
    ok(alice.delete(id).await);
    let dump = server.dump().await;
    for key in ["article:1", "voted:1", "score:", "time:"] {
        assert!(!dump.contains_key(key), "{key}");
    }
    refused_saying(server.member("carol").await.vote(id, "up").await, "deleted");
}

#[in_memory]
async fn items_without_an_article_work_and_get_no_half_of_one(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let ids = [alice.submit_text("One", "text").await, alice.submit_text("Two", "text").await];
    let mut batch = Batch::new();
    for key in ["article:1", "voted:1", "article:2", "voted:2", "score:", "time:"] {
        batch.delete(key);
    }
    server.commit(batch).await;
    ok(bob.vote(ids[0], "up").await);
    ok(alice.edit(ids[0], "Other", "", "text").await);
    ok(alice.delete(ids[1]).await);
    assert_eq!(listed(&alice, "score", 1).await, [0; 0]);
    let dump = server.dump().await;
    let article_keys = ["article:", "voted:", "score:", "time:"];
    let left = dump.keys().filter(|key| *key != "article:");
    let left: Vec<&String> =
        left.filter(|key| article_keys.iter().any(|start| key.starts_with(start))).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[each_engine("one of its kind")]
async fn the_best_are_ordered_by_score_and_the_newest_by_time(server: Server) {
    let users = server.members(4).await;
    let old = users[0].submit_text("Old", "text").await;
    server.advance(1_000);
    let new = users[1].submit_text("New", "text").await;
    assert_eq!(listed(&users[0], "score", 1).await, [new, old]);
    // Two votes are worth 864 seconds, three 1,296.
    for (voter, expected) in [(1, [new, old]), (2, [new, old]), (3, [old, new])] {
        ok(users[voter].vote(old, "up").await);
        assert_eq!(listed(&users[0], "score", 1).await, expected);
        assert_eq!(listed(&users[0], "time", 1).await, [new, old]);
    }
    let answer = ok(users[0].api_get("/api/articles/score/1").await);
    assert_eq!(answer["count"], 2);
    let best = json!({
        "id": old, "title": "Old", "link": "http://localhost:8080/news/1", "poster": "user:1",
        "time": START, "votes": 4, "score": START + 4 * 432, "topics": [],
    });
    assert_eq!(answer["articles"][0], best);
}

#[in_memory]
async fn lists_have_25_in_an_answer_and_30_on_a_page_and_end(server: Server) {
    let users = server.members(2).await;
    for number in 1..=31 {
        server.advance(1);
        users[0].submit_text(&format!("Number {number}"), "text").await;
    }
    for (order, path) in [("score", "/best"), ("time", "/best/new")] {
        let first: Vec<u64> = (7..=31).rev().collect();
        assert_eq!(listed(&users[1], order, 1).await, first);
        assert_eq!(listed(&users[1], order, 2).await, [6, 5, 4, 3, 2, 1]);
        assert_eq!(listed(&users[1], order, 3).await, [0; 0]);
        assert_eq!(listed(&users[1], order, 1_000_000_000).await, [0; 0]);
        let numbered = async |query: &str| page(&users[1], &format!("{path}{query}")).await;
        assert_eq!(numbered("").await.content(), numbered("?page=1").await.content());
        numbered("").await.one("a", &[("rel", "next"), ("href", &format!("{path}?page=2"))]);
        let second = numbered("?page=2").await;
        assert_eq!(second.find("li", &[("class", "item")]).len(), 1);
        assert!(second.find("a", &[("rel", "next")]).is_empty());
        second.one("a", &[("rel", "prev"), ("href", &format!("{path}?page=1"))]);
        assert!(numbered("?page=3").await.content().contains("No more stories."));
        for bad in ["0", "-1", "x", "", "1.5", "01x", "1000000001", "99999999999999999999"] {
            error_message(&users[1].get(&format!("{path}?page={bad}")).await, StatusCode::NOT_FOUND);
        }
    }
    for bad in ["/api/articles/score/0", "/api/articles/score/x", "/api/articles/best/1"] {
        refused(users[1].api_get(bad).await);
    }
}

#[each_engine("races")]
async fn concurrent_votes_and_submissions_count_exactly(server: Server) {
    let users = server.members(12).await;
    let id = users[0].submit_text("One", "text").await;
    let votes: Vec<_> = users[1..]
        .iter()
        .cloned()
        .flat_map(|user| {
            let other = user.clone();
            [
                tokio::spawn(async move { user.vote(id, "up").await }),
                tokio::spawn(async move { other.vote(id, "up").await }),
            ]
        })
        .collect();
    let mut counted = 0;
    for vote in votes {
        counted += u64::from(vote.await.unwrap()["status"] == "ok");
    }
    assert_eq!(counted, 11);
    assert_eq!(server.number("article:1", "votes").await, 12);
    assert_eq!(server.sorted("score:").await, [("article:1".to_owned(), score(START, 12))]);
    assert_eq!(members(&server, "voted:1").await.len(), 12);
    crate::consistency::check_site(&server).await;
}

#[tokio::test]
async fn the_keys_have_the_types_of_the_book() {
    let server = Server::start(Engine::Redis, &[]).await;
    let mut redis = RedisCommands::connect(server.redis.as_ref().unwrap()).await;
    let alice = server.administrator("alice").await;
    alice.submit_on("rust, go", "One").await;
    for path in ["/topic/rust", "/topic/rust/new", "/topic/go+rust", "/topic/rust,go", "/topic/go/new"] {
        assert_eq!(alice.get(path).await.status, 200);
    }
    let types = redis.types().await;
    for (key, expected) in [
        ("article:1", "hash"),
        ("time:", "zset"),
        ("score:", "zset"),
        ("voted:1", "set"),
        ("group:rust", "set"),
        ("group:go", "set"),
        ("topics", "zset"),
        ("score:rust", "zset"),
        ("time:rust", "zset"),
        ("time:go", "zset"),
        ("article:", "string"),
    ] {
        assert_eq!(types.get(key).map(String::as_str), Some(expected), "{key}");
    }
    assert!(types.keys().all(|key| !key.contains(['+', ','])), "{types:?}");
    assert_eq!(redis.hash("article:1").await.len(), 5);
}
