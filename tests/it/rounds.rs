//! What an answer costs: a small constant number of rounds to the store.

use serde_json::json;

use crate::client::{Client, ok};
use crate::server::{Engine, Server, each_engine};

const MOST_ROUNDS: u64 = 3;

/// The rounds that one request takes.
async fn rounds(server: &Server, client: &Client, path: &str) -> u64 {
    let before = server.store().rounds();
    assert_eq!(client.get(path).await.status, 200, "{path}");
    server.store().rounds() - before
}

/// The rounds of a request, logged in and out: few, and the same number.
async fn check_rounds(server: &Server, member: &Client, path: &str) -> u64 {
    let anonymous = rounds(server, &server.visitor(), path).await;
    let logged_in = rounds(server, member, path).await;
    assert!((1..=MOST_ROUNDS).contains(&anonymous), "{path}: {anonymous}");
    assert!((1..=MOST_ROUNDS).contains(&logged_in), "{path}: {logged_in} when logged in");
    logged_in
}

#[tokio::test]
async fn lists_of_1_and_of_100_news_take_the_same_few_rounds() {
    each_engine(&[], async |server| {
        let users = server.members(10).await;
        users[0].submit_text("The only one", "text").await;
        let lists = ["/", "/latest/0", "/rss", "/api/getnews/top/0/30", "/api/getnews/latest/0/30"];
        let mut few = Vec::new();
        for list in lists {
            few.push(check_rounds(&server, &users[1], list).await);
        }
        for number in 1..100 {
            users[number % 10].submit_text(&format!("Number {number}"), "text").await;
        }
        for (list, few) in lists.into_iter().zip(few) {
            assert_eq!(check_rounds(&server, &users[1], list).await, few, "{list}");
        }
    })
    .await;
}

#[tokio::test]
async fn threads_of_1_and_of_500_comments_12_deep_take_the_same_few_rounds() {
    each_engine(&[], async |server| {
        let users = server.members(20).await;
        let short = users[0].submit_text("Short", "text").await;
        let long = users[0].submit_text("Long", "text").await;
        users[1].comment(short, "The only one").await;
        let fields = (1..=500_u64).map(|id| {
            // Eleven of twelve comments answer the one before.
            let parent = if id % 12 == 1 { -1 } else { i64::try_from(id).unwrap() - 1 };
            let author = id % 20 + 1;
            let comment =
                json!({"body": "x", "ctime": id, "user_id": author, "parent_id": parent, "up": [author]});
            (id.to_string(), comment.to_string())
        });
        let fields: Vec<_> = fields.collect();
        server.write(|batch| batch.set_fields(format!("thread:comment:{long}"), fields)).await;

        for face in ["/news", "/api/getcomments"] {
            let few = check_rounds(&server, &users[2], &format!("{face}/{short}")).await;
            assert_eq!(check_rounds(&server, &users[2], &format!("{face}/{long}")).await, few);
        }
        let path = format!("/api/getcomments/{long}");
        let text = String::from_utf8(users[2].get(&path).await.body).unwrap();
        assert_eq!(text.matches(r#""username":"member-"#).count(), 500);
    })
    .await;
}

#[tokio::test]
async fn storing_stale_ranks_costs_one_reader_in_5_seconds_one_round_more() {
    let server = Server::start(Engine::Memory, &[]).await;
    let users = server.members(2).await;
    for number in 0..50 {
        users[0].submit_text(&format!("Number {number}"), "text").await;
    }
    let path = "/api/getnews/top/0/30";
    let fresh = rounds(&server, &users[1], path).await;
    for _ in 0..3 {
        server.advance(3_600);
        assert_eq!(rounds(&server, &users[1], path).await, fresh + 1);
        assert_eq!(rounds(&server, &users[1], path).await, fresh);
        server.advance(4);
        assert_eq!(rounds(&server, &server.visitor(), path).await, fresh);
    }
}

#[tokio::test]
async fn actions_take_few_rounds_however_much_there_is() {
    let server = Server::start(Engine::Memory, &[]).await;
    let users = server.members(3).await;
    let mut costs = Vec::new();
    for number in 0..60 {
        let before = server.store().rounds();
        let news = users[0].submit_text(&format!("Number {number}"), "text").await;
        let submitted = server.store().rounds();
        server.set_karma(&users[1], 10).await;
        let granted = server.store().rounds();
        ok(users[1].vote(news, "up").await);
        let voted = server.store().rounds();
        users[2].comment(1, "Another").await;
        let commented = server.store().rounds();
        costs.push([submitted - before, voted - granted, commented - voted]);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
    assert!(costs[0].iter().all(|rounds| *rounds <= 6), "{:?}", costs[0]);
}
