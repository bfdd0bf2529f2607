//! Votes on news, and what they cost and give.

use serde_json::json;
use tidings_keyspace::Value;

use crate::client::{Client, ok, refused, refused_saying};
use crate::server::{Engine, Server, each_engine, in_memory};

const ALREADY: &str = "You have already voted on this.";

#[each_engine("one of its kind")]
async fn an_up_vote_costs_a_karma_gives_one_to_the_author_and_saves_the_item(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    server.advance(60);
    ok(bob.vote(id, "up").await);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (2, 0));
    let other = bob.vote(alice.submit_text("Two", "text").await, "up").await;
    refused_saying(other, "no karma left to vote with. You earn 1 an hour by visiting.");
    assert_eq!(server.karma(&bob).await, 0);
    assert_eq!(server.number("news:1", "up").await, 2);
    assert_eq!(server.number("news:1", "down").await, 0);
    assert_eq!(server.ids("news.up:1").await, [1, 2]);
    #[allow(clippy::cast_precision_loss)]
    let expected = [("1".to_owned(), server.now() as f64)];
    assert_eq!(server.sorted("user.saved:2").await, expected);
}

#[in_memory]
async fn a_down_vote_needs_30_karma_costs_6_and_leaves_the_authors_alone(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    server.set_karma(&bob, 29).await;
    let before = server.dump().await;
    refused_saying(bob.vote(id, "down").await, "need 30 karma");
    assert_eq!(server.dump().await, before);
    server.set_karma(&bob, 30).await;
    ok(bob.vote(id, "down").await);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (1, 24));
    assert_eq!((server.number("news:1", "up").await, server.number("news:1", "down").await), (1, 1));
    assert_eq!(server.ids("news.down:1").await, [2]);
    assert_eq!(server.sorted("user.saved:2").await, []);
}

#[in_memory]
async fn a_karma_source_votes_without_karma_and_goes_below_zero(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let (one, two) = (alice.submit_text("One", "text").await, alice.submit_text("Two", "text").await);
    server.set_field("user:2", "flags", "nk").await;
    ok(bob.vote(one, "up").await);
    assert_eq!(server.karma(&bob).await, 0);
    ok(bob.vote(two, "down").await);
    assert_eq!(server.karma(&bob).await, -6);
    assert_eq!(server.karma(&alice).await, 2);
}

#[in_memory]
async fn votes_on_own_items_are_free_of_karma(server: Server) {
    let alice = server.member("alice").await;
    let id = alice.submit_text("One", "text").await;
    // An imported item may lack its author's vote.
    server.write(|batch| batch.sorted_remove("news.up:1", "1")).await;
    server.set_field("news:1", "up", "0").await;
    server.set_karma(&alice, 0).await;
    ok(alice.vote(id, "down").await);
    assert_eq!(server.karma(&alice).await, 0);
    assert_eq!(server.ids("news.down:1").await, [1]);
}

#[in_memory]
async fn a_user_has_one_vote_on_an_item_up_or_down_never_both(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let (one, two) = (alice.submit_text("One", "text").await, alice.submit_text("Two", "text").await);
    server.set_karma(&bob, 100).await;
    ok(bob.vote(one, "up").await);
    ok(bob.vote(two, "down").await);
    let before = server.dump().await;
    for direction in ["up", "down"] {
        assert_eq!(refused(bob.vote(one, direction).await), ALREADY);
        assert_eq!(refused(bob.vote(two, direction).await), ALREADY);
        assert_eq!(refused(alice.vote(one, direction).await), ALREADY);
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn a_vote_on_an_item_whose_author_is_gone_makes_no_user(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    server.write(|batch| batch.delete("user:1")).await;
    ok(bob.vote(id, "up").await);
    assert_eq!(server.dump().await.get("user:1"), None);
    assert_eq!(bob.news(id).await["username"], "[deleted user]");
}

/// The score is up - down, plus 2 ln(v - 10) when v = up/2 + down/2 is over
/// 10; the rank is score * 1000000 / (age + 8 h)^1.1.
#[in_memory]
async fn score_and_rank_are_stored_with_every_vote(server: Server) {
    let [alice, voter] = server.people(["alice", "voter"]).await;
    server.set_karma(&voter, 1_000).await;
    for (up, down, direction, score) in [
        (3, 0, "up", 4.0),
        (3, 5, "down", -3.0),
        // 22/2 = 11 halves: ln 1 = 0.
        (21, 0, "up", 22.0),
        // 29/2 + 8/2 = 14 + 4 = 18 halves: 2 ln 8.
        (28, 8, "up", 21.0 + 2.0 * 8_f64.ln()),
        // 13/2 + 13/2 = 6 + 6 = 12 halves, not 13: 2 ln 2.
        (13, 12, "down", 2.0 * 2_f64.ln()),
    ] {
        let id = alice.submit_text("Item", "text").await;
        let key = format!("news:{id}");
        let counters = [("up", up.to_string()), ("down", down.to_string())];
        server.write(|batch| batch.set_fields(&key, counters)).await;
        server.advance(1_000);
        ok(voter.vote(id, direction).await);
        let stored: f64 = server.field(&key, "score").await.unwrap().parse().unwrap();
        assert!((stored - score).abs() < 1e-9, "{up} {down} {direction}: {stored}");
        let rank: f64 = server.field(&key, "rank").await.unwrap().parse().unwrap();
        let expected = score * 1_000_000.0 / (1_000.0 + 28_800.0_f64).powf(1.1);
        assert!((rank - expected).abs() < 1e-9, "{rank} {expected}");
        let listed = server.sorted("news.top").await.into_iter().find(|(item, _)| *item == id.to_string());
        assert!((listed.unwrap().1 - rank).abs() < 1e-9);
    }
}

#[tokio::test]
async fn the_constants_of_karma_are_settings() {
    let settings = [
        ("karma.initial", "10"),
        ("karma.upvote_cost", "2"),
        ("karma.upvote_transfer", "5"),
        ("karma.downvote_minimum", "8"),
        ("karma.downvote_cost", "3"),
        ("karma.visit_increment", "7"),
        ("karma.visit_seconds", "60"),
    ];
    let server = Server::start(Engine::Memory, &settings).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let (one, two) = (alice.submit_text("One", "text").await, alice.submit_text("Two", "text").await);
    ok(bob.vote(one, "up").await);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (15, 8));
    ok(bob.vote(two, "down").await);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (15, 5));
    server.advance(60);
    assert!(bob.is_logged_in().await);
    assert_eq!(server.karma(&bob).await, 12);
}

#[in_memory]
async fn a_karma_that_is_no_number_is_not_made_up(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    server.set_field("user:2", "karma", "many").await;
    refused(bob.vote(id, "up").await);
    let Some(Value::Hash(user)) = server.dump().await.remove("user:2") else { panic!("no hash") };
    assert!(user.contains(&("karma".to_owned(), "many".to_owned())));
    assert_eq!(server.number("news:1", "up").await, 1);
}

#[in_memory]
async fn a_refused_vote_carries_the_votes_and_a_page_can_ask_for_them(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_text("One", "text").await;
    let comment = alice.comment(id, "words").await;
    let removed = alice.submit_text("Two", "text").await;
    server.set_karma(&bob, 100).await;
    let asked = format!("/api/votes?of={id},{id}-{comment},99,{id}-99,{removed}");
    ok(alice.delete(removed).await);
    let votes = async |client: &Client| ok(client.api_get(&asked).await)["votes"].clone();
    let state = |of: String, voted: &str, up: u64, down: u64| json!({"of": of, "voted": voted, "up": up, "down": down});
    let (story, on_comment) = (id.to_string(), format!("{id}-{comment}"));
    let none = [state(story.clone(), "none", 1, 0), state(on_comment.clone(), "none", 1, 0)];
    assert_eq!(votes(&bob).await, json!(none));
    ok(bob.vote(id, "up").await);
    ok(bob.vote_comment(id, comment, "down").await);
    let cast = [state(story, "up", 2, 0), state(on_comment, "down", 1, 1)];
    assert_eq!(votes(&bob).await, json!(cast));
    for (refused, up, down, voted) in [
        (bob.vote(id, "down").await, 2, 0, "up"),
        (bob.vote_comment(id, comment, "up").await, 1, 1, "down"),
        (alice.vote(id, "up").await, 2, 0, "up"),
    ] {
        assert_eq!(refused["error"], ALREADY);
        let expected = json!({"voted": voted, "up": up, "down": down});
        assert_eq!(refused["votes"], expected, "{refused}");
    }
    let carol = server.member("carol").await;
    let none = json!({"voted": "none", "up": 2, "down": 0});
    assert_eq!(carol.vote(id, "none").await["votes"], none);
    refused(server.visitor().api_get(&asked).await);
    let most = |count: usize| format!("/api/votes?of={}", vec!["1"; count].join(","));
    ok(bob.api_get(&most(300)).await);
    refused(bob.api_get(&most(301)).await);
}
