//! The badge of what a user has not seen: it counts what is there, whatever is posted,
//! deleted and looked at, and whoever does it at the same time.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::client::{Client, ok};
use crate::concurrency::at_once;
use crate::server::{Engine, Server, each_engine};

async fn badge(server: &Server, user: &Client) -> i64 {
    server.number(&format!("user:{}", user.user_id), "replies").await
}

async fn delete_tweet(author: &Client, id: u64) {
    ok(author.api_post("/api/deltweet", &[("tweet_id", &id.to_string())]).await);
}

async fn delete_comment(author: &Client, id: u64) {
    let fields = [("news_id", "1"), ("comment_id", &*id.to_string()), ("parent_id", "-1"), ("comment", "")];
    ok(author.api_post("/api/postcomment", &fields).await);
}

#[tokio::test]
async fn what_is_deleted_before_it_is_seen_is_counted_no_more() {
    each_engine(&[], async |server| {
        let (alice, bob) = (server.member("alice").await, server.member("bob").await);
        let news = alice.submit_text("A story", "text").await;
        let comment = alice.comment(news, "a comment").await;
        let tweets = [bob.tweet("hello @alice").await, bob.tweet("@alice and @ALICE").await];
        let replies = [bob.reply(news, comment, "one").await, bob.reply(news, comment, "two").await];
        assert_eq!(badge(&server, &alice).await, 4);
        delete_tweet(&bob, tweets[0]).await;
        delete_comment(&bob, replies[0]).await;
        delete_comment(&bob, replies[0]).await;
        assert_eq!(badge(&server, &alice).await, 2);
        alice.get("/replies").await;
        assert_eq!(badge(&server, &alice).await, 0);
        // These have been seen.
        delete_tweet(&bob, tweets[1]).await;
        bob.tweet("@alice again").await;
        delete_comment(&bob, replies[1]).await;
        assert_eq!(badge(&server, &alice).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_badge_that_another_program_has_reset_does_not_fall_below_zero() {
    each_engine(&[], async |server| {
        let (alice, bob) = (server.member("alice").await, server.member("bob").await);
        let tweet = bob.tweet("hello @alice").await;
        server.set_field(&format!("user:{}", alice.user_id), "replies", "0").await;
        delete_tweet(&bob, tweet).await;
        assert_eq!(badge(&server, &alice).await, 0);
    })
    .await;
}

#[tokio::test]
async fn the_mentions_of_a_deactivated_account_are_counted_no_more() {
    each_engine(&[], async |server| {
        let (alice, bob) = (server.member("alice").await, server.register("bob").await);
        for number in 0..200 {
            bob.tweet(&format!("hello @alice {number}")).await;
        }
        assert_eq!(badge(&server, &alice).await, 200);
        let form = crate::pages::page(&bob, "/settings/deactivate").await.form("/settings/deactivate");
        let answer = form.with("password", crate::client::PASSWORD).send(&bob).await;
        assert!(answer.status.is_success() || answer.status.is_redirection(), "{answer:?}");
        assert_eq!(badge(&server, &alice).await, 0);
    })
    .await;
}

#[tokio::test]
async fn mentions_notify_so_many_people_a_day() {
    each_engine(&[("limits.mentions_per_day", "3")], async |server| {
        let author = server.member("author").await;
        let members = server.members(5).await;
        let [a, b, c, d, e] = &members[..] else { unreachable!() };
        author.tweet("@member-0 @member-1 @author").await;
        // Who has been notified today is again.
        author.tweet("@member-1 @member-0 @member-2 @member-3").await;
        let last = author.tweet("@member-4 @member-2").await;
        let badges = async || {
            let mut badges = Vec::new();
            for member in [a, b, c, d, e] {
                badges.push(badge(&server, member).await);
            }
            badges
        };
        assert_eq!(badges().await, [2, 2, 2, 0, 0]);
        assert_eq!(server.ids(&format!("user:{}:mentions", e.user_id)).await, Vec::<u64>::new());
        delete_tweet(&author, last).await;
        assert_eq!(badges().await, [2, 2, 1, 0, 0]);
        // The limit is the author's.
        a.tweet("@member-4").await;
        server.advance(86_400);
        author.tweet("@member-4").await;
        assert_eq!(badges().await, [2, 2, 1, 0, 2]);
    })
    .await;
}

#[tokio::test]
async fn concurrent_mentions_notify_no_more_people() {
    each_engine(&[("limits.mentions_per_day", "5")], async |server| {
        let author = server.member("author").await;
        let members = server.members(12).await;
        at_once((0..12).map(|number| {
            let author = author.clone();
            async move { author.tweet(&format!("@member-{number}")).await }
        }))
        .await;
        let mut notified = 0;
        for member in &members {
            notified += badge(&server, member).await;
        }
        assert_eq!(notified, 5);
    })
    .await;
}

#[tokio::test]
async fn posts_deletions_and_looks_at_the_same_time_leave_an_exact_badge() {
    each_engine(&[], async |server| {
        let (alice, bob) = (server.member("alice").await, server.member("bob").await);
        let news = alice.submit_text("A story", "text").await;
        let comment = alice.comment(news, "a comment").await;
        at_once((0..24).map(|number| {
            let (alice, bob) = (alice.clone(), bob.clone());
            async move {
                let tweet = bob.tweet("@alice").await;
                let reply = bob.reply(news, comment, "a reply").await;
                if number % 4 == 0 {
                    alice.get("/replies").await;
                }
                delete_tweet(&bob, tweet).await;
                delete_comment(&bob, reply).await;
            }
        }))
        .await;
        assert_eq!(badge(&server, &alice).await, 0);
        assert!(server.sorted(&format!("user:{}:unread", alice.user_id)).await.is_empty());
    })
    .await;
}

#[derive(Debug, Clone)]
enum Step {
    Mention(usize),
    Reply(usize),
    DeleteTweet(prop::sample::Index),
    DeleteReply(prop::sample::Index),
    Look(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize).prop_map(Step::Mention),
        4 => (0..2_usize).prop_map(Step::Reply),
        3 => any::<prop::sample::Index>().prop_map(Step::DeleteTweet),
        3 => any::<prop::sample::Index>().prop_map(Step::DeleteReply),
        1 => (0..2_usize).prop_map(Step::Look),
    ]
}

/// Checks the badges after each step, against the sets of what is unread.
async fn check(steps: &[Step]) {
    let server = Server::start(Engine::Memory, &[]).await;
    let author = server.member("author").await;
    let readers = server.members(2).await;
    let news = author.submit_text("A story", "text").await;
    let comments = [readers[0].comment(news, "one").await, readers[1].comment(news, "two").await];
    let (mut tweets, mut replies) = (Vec::new(), Vec::new());
    let mut unread = [BTreeSet::new(), BTreeSet::new()];
    for step in steps {
        match step {
            Step::Mention(reader) => {
                let id = author.tweet(&format!("hello @member-{reader}")).await;
                tweets.push((id, *reader));
                unread[*reader].insert((true, id));
            }
            Step::Reply(reader) => {
                let id = author.reply(news, comments[*reader], "a reply").await;
                replies.push((id, *reader));
                unread[*reader].insert((false, id));
            }
            Step::DeleteTweet(index) if !tweets.is_empty() => {
                let (id, reader) = tweets.swap_remove(index.index(tweets.len()));
                delete_tweet(&author, id).await;
                unread[reader].remove(&(true, id));
            }
            Step::DeleteReply(index) if !replies.is_empty() => {
                let (id, reader) = replies.swap_remove(index.index(replies.len()));
                delete_comment(&author, id).await;
                unread[reader].remove(&(false, id));
            }
            Step::Look(reader) => {
                readers[*reader].get("/replies").await;
                unread[*reader].clear();
            }
            Step::DeleteTweet(_) | Step::DeleteReply(_) => {}
        }
        for (reader, unread) in readers.iter().zip(&unread) {
            assert_eq!(badge(&server, reader).await, i64::try_from(unread.len()).unwrap(), "{steps:?}");
        }
    }
}

#[test]
fn the_badge_counts_what_is_there_and_not_seen() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
    let steps = prop::collection::vec(step(), 1..60);
    TestRunner::new(config)
        .run(&steps, |steps| {
            runtime.block_on(check(&steps));
            Ok(())
        })
        .unwrap();
}
