//! Votes of a person that moderators take out: afterwards everything that readers see is as if the
//! person had not voted, and putting the votes back restores the store.

use serde_json::Value;
use tidings_keyspace as keyspace;

use crate::client::{Client, each, ids, ok, refused, refused_saying};
use crate::consistency::{self, Dump};
use crate::removals::{act, assert_same, people, state, try_act, undo};
use crate::server::{Server, in_memory};
use crate::story_moderation;

/// Sets up the site of the tests: two stories of bob, one that is removed, one that is deleted, and
/// one of dave; with comments of all. Dave votes on everything, or on nothing.
async fn play(server: &Server, dave_votes: bool) -> [Client; 4] {
    let [alice, bob, carol, dave] = people(server).await;
    for person in [&bob, &carol, &dave] {
        server.set_karma(person, 1_000).await;
    }
    for number in 1..=4 {
        bob.submit_on("rust,web", &format!("Story {number}")).await;
    }
    dave.submit_on("rust", "Of dave").await;
    bob.comment(1, "of bob").await;
    carol.comment(1, "of carol").await;
    dave.comment(1, "of dave").await;
    server.advance(60);
    let other = server.member("erin").await;
    if dave_votes {
        for (story, direction) in [(1, "down"), (2, "up"), (3, "up"), (4, "up")] {
            ok(dave.vote(story, direction).await);
        }
        ok(dave.vote_comment(1, 1, "up").await);
        ok(dave.vote_comment(1, 2, "down").await);
        ok(dave.api_post("/api/sites/vote", &[("link", "good.com"), ("vote", "1")]).await);
    }
    server.advance(1);
    server.set_karma(&other, 1_000).await;
    for (story, direction) in [(1, "up"), (2, "down"), (5, "up")] {
        ok(carol.vote(story, direction).await);
    }
    ok(other.vote(1, "up").await);
    ok(other.vote_comment(1, 1, "up").await);
    ok(carol.vote_comment(1, 3, "up").await);
    ok(carol.api_post("/api/sites/vote", &[("link", "good.com"), ("vote", "1")]).await);
    ok(story_moderation::act(&alice, "remove", 3, &[]).await);
    ok(bob.delete(4).await);
    server.finish_jobs().await;
    [alice, bob, carol, dave]
}

/// The parts of the state in which readers see votes.
fn figures(state: &Dump) -> Dump {
    let kinds = ["news:", "news.up:", "news.down:", "voted:", "article:", "thread:", "withdrawn:", "links:"];
    let is_shown = |key: &str| kinds.iter().any(|kind| key.starts_with(kind)) || key == "score:";
    state.iter().filter(|(key, _)| is_shown(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The figures of the stories, as far as a figure of 0 is not one that is absent.
async fn shown(server: &Server) -> Dump {
    let mut figures = figures(&state(server).await);
    for value in figures.values_mut() {
        if let keyspace::Value::SortedSet(members) = value {
            members.retain(|(_, score)| *score != 0.0);
        }
    }
    figures
}

#[in_memory]
async fn discounted_votes_are_as_if_they_had_not_been_cast_and_come_back(server: Server) {
    let without = Server::start(crate::server::Engine::Memory, &[]).await;
    play(&without, false).await;
    let [alice, _, carol, _] = play(&server, true).await;
    let (before, top) = (state(&server).await, carol.listed("top").await);
    for give_back in ["recount", "undo"] {
        let line = act(&alice, "discount", ("user", "dave")).await;
        server.finish_jobs().await;
        assert_same(&shown(&server).await, &shown(&without).await);
        consistency::check_site(&server).await;
        let visitor = without.visitor();
        assert_eq!(carol.listed("top").await, visitor.listed("top").await);
        // The past of the day is kept exact, or built from the same figures.
        assert_eq!(server.field("news:5", "up").await.as_deref(), Some("2"), "own votes count");
        match give_back {
            "recount" => drop(act(&alice, "recount", ("user", "dave")).await),
            _ => drop(undo(&alice, line).await),
        }
        assert_same(&state(&server).await, &before);
        assert_eq!(carol.listed("top").await, top);
        consistency::check_site(&server).await;
    }
    let log = Value::from(carol.log("?kind=user").await);
    assert_eq!(each(&log, "action"), ["recount", "discount", "recount", "discount"]);
    // The undo of a recount takes the votes out again.
    let last = ids(&log)[2];
    undo(&alice, last).await;
    server.finish_jobs().await;
    assert_same(&shown(&server).await, &shown(&without).await);
}

#[in_memory]
async fn who_is_discounted_cannot_vote_and_is_told_why(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    for person in [&carol, &dave] {
        server.set_karma(person, 1_000).await;
    }
    let (first, second) = (bob.submit_text("One", "text").await, bob.submit_text("Two", "text").await);
    bob.comment(first, "a comment").await;
    bob.comment(first, "another").await;
    ok(dave.vote(first, "up").await);
    ok(dave.vote_comment(first, 1, "up").await);
    ok(dave.api_post("/api/sites/vote", &[("link", "good.com"), ("vote", "1")]).await);
    refused_saying(try_act(&carol, "discount", ("user", "dave")).await, "moderators");
    ok(alice.moderate("discount", ("user", "dave"), &[("hours", "1"), ("reason", "a ring")]).await);
    let votes = async |dave: &Client| {
        [
            dave.vote(second, "up").await,
            dave.vote(first, "none").await,
            dave.vote_comment(first, 2, "up").await,
            dave.vote_comment(first, 1, "none").await,
            dave.call("/api/sites/vote?link=bad.com&vote=-1").await,
        ]
    };
    // Before the job has done anything, and after it.
    for _ in 0..2 {
        for answer in votes(&dave).await {
            let why = refused(answer);
            assert!(
                why.starts_with("Your votes do not count until 15 Jan 2027, 09:00 UTC: a ring."),
                "{why}"
            );
            assert!(why.contains("entry 1 of the moderation log"), "{why}");
        }
        server.finish_jobs().await;
    }
    assert_eq!(server.number(&format!("news:{first}"), "up").await, 1);
    // It ends at the second. A vote that is not back yet is a vote all the same.
    server.advance(3_600);
    refused_saying(dave.vote(first, "down").await, "already voted");
    refused_saying(dave.vote_comment(first, 1, "down").await, "already voted");
    ok(dave.vote(second, "up").await);
    server.finish_jobs().await;
    assert_eq!(server.number(&format!("news:{first}"), "up").await, 2);
    assert_eq!(server.number("link:good.com", "sum_of_votes").await, 1);
    assert!(server.sorted("bans:ending").await.is_empty());
    assert!(server.dump().await.keys().all(|key| !key.starts_with("news.discounted:")));
    consistency::check_site(&server).await;
}

#[in_memory]
async fn the_opposite_decision_turns_the_job_round(server: Server) {
    let [alice, bob, _, dave] = people(&server).await;
    server.set_karma(&dave, 10_000).await;
    for number in 0..25 {
        let story = bob.submit_text(&format!("Story {number}"), "text").await;
        ok(dave.vote(story, "up").await);
    }
    server.finish_jobs().await;
    let before = state(&server).await;
    let line = act(&alice, "discount", ("user", "dave")).await;
    // No worker has run, or some of it: the other decision is the one that holds.
    undo(&alice, line).await;
    assert_same(&state(&server).await, &before);
    act(&alice, "discount", ("user", "dave")).await;
    server.finish_jobs().await;
    let out = server.dump().await.keys().filter(|key| key.starts_with("news.discounted:")).count();
    assert_eq!(out, 25);
    // A story that is removed while the votes are out comes back with them.
    ok(story_moderation::act(&alice, "remove", 7, &[]).await);
    act(&alice, "recount", ("user", "dave")).await;
    server.finish_jobs().await;
    ok(story_moderation::act(&alice, "restore", 7, &[]).await);
    assert_same(&state(&server).await, &before);
}
