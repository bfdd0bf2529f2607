//! Taking votes back: nothing of a vote remains, whoever else does something meanwhile.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use reqwest::StatusCode;
use serde_json::Value as Json;
use tidings_domain::values::MAX_RECENT_VOTES;
use tidings_keyspace::Value;

use crate::client::{Client, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::html::Page;
use crate::pages::page;
use crate::redis_server::RedisServer;
use crate::server::{Batch, Engine, START, Server, each_engine, in_memory};

/// Old records of votes are removed once in so many votes; see docs/data-layout.md.
const PRUNED_ONCE_IN: u64 = 64;
const NOT_VOTED: &str = "You have no vote on this.";
const TOO_LATE: &str = "You can no longer take back this vote. The limit is 10 minutes.";
const WEEK: u64 = 7 * 86_400;

/// Everything that a vote could leave behind: the whole store without sessions, visits, and
/// ranks, which sink with time.
async fn traces(server: &Server) -> BTreeMap<String, Value> {
    let mut dump = server.dump().await;
    dump.retain(|key, _| !key.contains("session") && !key.starts_with("built:") && key != "news.top");
    for (key, value) in &mut dump {
        if let Value::Hash(fields) = value {
            fields.retain(|(field, _)| {
                !["rank", "salt", "seen_time", "last_seen"].contains(&field.as_str())
                    && (!key.starts_with("user:") || !field.contains("secret") && field != "password")
            });
        }
    }
    dump
}

/// The records of the votes that a user can take back.
async fn records(server: &Server, user: &Client) -> BTreeMap<String, String> {
    server.hash(&format!("user:{}:recent_votes", user.user_id)).await
}

#[each_engine("one of its kind", &[("karma.visit_seconds", "0")])]
async fn nothing_of_a_vote_that_was_taken_back_remains(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 30).await;
    server.set_karma(&alice, 10).await;
    let news = alice.submit_on("rust", "One").await;
    let comment = alice.comment(news, "A comment").await;
    ok(alice.api_get("/api/topic/rust/score/1").await);
    server.advance(60);
    ok(bob.api_get("/api/getnews/top/0/1").await);
    let before = traces(&server).await;
    let whole = server.dump().await;
    for direction in ["up", "down", "up"] {
        assert_eq!(bob.vote(news, direction).await, serde_json::json!({"status": "ok"}));
        assert_ne!(traces(&server).await, before);
        assert_eq!(bob.vote(news, "none").await, serde_json::json!({"status": "ok"}));
        assert_eq!(traces(&server).await, before, "{direction}");
        ok(bob.vote_comment(news, comment, direction).await);
        assert_ne!(traces(&server).await, before);
        let answer = ok(bob.vote_comment(news, comment, "none").await);
        assert_eq!(answer["comment_id"], format!("{news}-{comment}"));
        assert_eq!(traces(&server).await, before, "{direction} on the comment");
    }
    let now = server.dump().await;
    assert_eq!(now["news.up:1"], whole["news.up:1"]);
    assert_eq!(now.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
    assert!(bob.news(news).await.get("voted").is_none());
}

#[in_memory]
async fn the_rank_is_that_of_the_votes_that_are_left(server: Server) {
    let users = server.members(4).await;
    let news = users[0].submit_text("One", "text").await;
    for voter in &users[1..] {
        ok(voter.vote(news, "up").await);
    }
    server.advance(300);
    ok(users[2].vote(news, "none").await);
    let score: f64 = server.field("news:1", "score").await.unwrap().parse().unwrap();
    assert!((score - 3.0).abs() < 1e-9, "{score}");
    let rank = 3.0 * 1_000_000.0 / (300.0 + 28_800.0_f64).powf(1.1);
    let listed = server.sorted("news.top").await;
    assert!((listed[0].1 - rank).abs() < 1e-6, "{listed:?}");
}

#[in_memory(&[("karma.visit_seconds", "0")])]
async fn a_vote_can_be_taken_back_for_ten_minutes_and_cast_again(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let comment = alice.comment(news, "A comment").await;
    assert_eq!(refused(bob.vote(news, "none").await), NOT_VOTED);
    assert_eq!(refused(bob.vote_comment(news, comment, "none").await), NOT_VOTED);
    ok(bob.vote(news, "up").await);
    server.advance(600);
    ok(bob.vote(news, "none").await);
    assert_eq!(refused(bob.vote(news, "none").await), NOT_VOTED);
    ok(bob.vote(news, "up").await);
    ok(bob.vote_comment(news, comment, "down").await);
    server.advance(601);
    let before = traces(&server).await;
    assert_eq!(refused(bob.vote(news, "none").await), TOO_LATE);
    assert_eq!(refused(bob.vote_comment(news, comment, "none").await), TOO_LATE);
    assert_eq!(traces(&server).await, before);
    let form = [
        ("news_id", "1"),
        ("vote_type", "none"),
        ("next", "/"),
        ("apisecret", bob.apisecret.as_deref().unwrap()),
    ];
    assert_eq!(bob.post("/votenews", &form).await.status, StatusCode::FORBIDDEN);
}

#[in_memory]
async fn what_one_posts_keeps_ones_first_vote(server: Server) {
    let alice = server.member("alice").await;
    let news = alice.submit_text("One", "text").await;
    let comment = alice.comment(news, "A comment").await;
    let before = server.dump().await;
    let error = "You can't take back your vote on your own post.";
    assert_eq!(refused(alice.vote(news, "none").await), error);
    assert_eq!(refused(alice.vote_comment(news, comment, "none").await), error);
    assert_eq!(server.dump().await, before);
    // An imported item may lack its author's vote. A later one is as any other, and free.
    let mut batch = Batch::new();
    batch.sorted_remove("news.up:1", "1");
    batch.sorted_remove("user.saved:1", "1");
    batch.set_field("news:1", "up", "0");
    server.commit(batch).await;
    server.advance(60);
    ok(alice.vote(news, "down").await);
    ok(alice.vote(news, "none").await);
    assert_eq!((server.karma(&alice).await, server.number("news:1", "down").await), (1, 0));
}

#[in_memory(&[("karma.take_back_seconds", "0")])]
async fn with_zero_seconds_votes_are_final_and_nothing_is_recorded(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let comment = alice.comment(news, "A comment").await;
    ok(bob.vote(news, "up").await);
    ok(bob.vote_comment(news, comment, "up").await);
    assert!(records(&server, &bob).await.is_empty());
    for answer in [bob.vote(news, "none").await, bob.vote_comment(news, comment, "none").await] {
        assert_eq!(refused(answer), "Votes are final on this site.");
    }
    let shown = page(&bob, "/news/1").await;
    assert!(shown.find("button", &[("value", "none")]).is_empty());
}

#[in_memory(&[("karma.take_back_seconds", "7200")])]
async fn the_window_is_a_setting(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    ok(bob.vote(news, "up").await);
    server.advance(7_201);
    refused_saying(bob.vote(news, "none").await, "take back this vote. The limit is 2 hours.");
}

#[tokio::test]
async fn karma_is_given_back_at_the_price_of_then() {
    let redis = RedisServer::start();
    let url = redis.url();
    let dear = [("karma.upvote_cost", "3"), ("karma.upvote_transfer", "2"), ("karma.visit_seconds", "0")];
    let then = Server::on_redis(redis, &dear).await;
    let now = Server::beside_with(&url, &then, &[("karma.visit_seconds", "0")]).await;
    let [alice, bob] = then.people(["alice", "bob"]).await;
    then.set_karma(&bob, 10).await;
    let news = alice.submit_text("One", "text").await;
    ok(bob.vote(news, "up").await);
    assert_eq!((then.karma(&alice).await, then.karma(&bob).await), (3, 7));
    let bob_now = now.client_of(bob.user_id).await;
    ok(bob_now.vote(news, "none").await);
    assert_eq!((then.karma(&alice).await, then.karma(&bob).await), (1, 10));
}

#[in_memory(&[("karma.visit_seconds", "0")])]
async fn the_author_loses_what_was_given_even_below_zero(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let one = alice.submit_text("One", "text").await;
    let two = bob.submit_text("Two", "text").await;
    ok(bob.vote(one, "up").await);
    // Alice has spent what she got.
    server.set_karma(&alice, 1).await;
    ok(alice.vote(two, "up").await);
    assert_eq!(server.karma(&alice).await, 0);
    ok(bob.vote(one, "none").await);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (-1, 2));
}

#[in_memory]
async fn what_was_saved_without_the_vote_stays_saved(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 10).await;
    let news = alice.submit_text("One", "text").await;
    let listed = async || server.sorted("user.saved:2").await;
    let at = |time: u64| [("1".to_owned(), f64::from(u32::try_from(time).unwrap()))];
    let mark = async |how: &str| ok(bob.api_post(&format!("/api/{how}"), &[("news_id", "1")]).await);
    // Saved before the vote.
    mark("save").await;
    server.advance(5);
    ok(bob.vote(news, "up").await);
    assert_eq!(listed().await, at(START + 5));
    ok(bob.vote(news, "none").await);
    assert_eq!(listed().await, at(START));
    // Saved again after the vote.
    ok(bob.vote(news, "up").await);
    server.advance(10);
    mark("save").await;
    ok(bob.vote(news, "none").await);
    assert_eq!(listed().await, at(START + 15));
    // Removed after the vote.
    ok(bob.vote(news, "up").await);
    mark("unsave").await;
    assert_eq!(listed().await, at(START + 15));
    ok(bob.vote(news, "none").await);
    assert_eq!(listed().await, []);
}

#[in_memory]
async fn at_the_end_of_its_week_an_article_loses_exactly_the_votes_that_counted(server: Server) {
    let users = server.members(3).await;
    let news = users[0].submit_text("One", "text").await;
    let standing = async || {
        let score = server.sorted("score:").await[0].1;
        (server.number("article:1", "votes").await, score)
    };
    let start = standing().await;
    server.advance(WEEK - 1);
    ok(users[1].vote(news, "up").await);
    assert_eq!(standing().await, (2, start.1 + 432.0));
    server.advance(2);
    // This one comes too late to count.
    ok(users[2].vote(news, "up").await);
    assert_eq!(standing().await, (2, start.1 + 432.0));
    ok(users[2].vote(news, "none").await);
    assert_eq!(standing().await, (2, start.1 + 432.0));
    ok(users[1].vote(news, "none").await);
    assert_eq!(standing().await, start);
}

#[each_engine("other versions")]
async fn a_vote_that_another_program_has_counted_stays_counted(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let mut batch = Batch::new();
    batch.add_member("voted:1", "user:2");
    batch.increment_field("article:1", "votes", 1);
    batch.sorted_increment("score:", "article:1", 432.0);
    server.commit(batch).await;
    let before = traces(&server).await;
    ok(bob.vote(news, "up").await);
    ok(bob.vote(news, "none").await);
    assert_eq!(traces(&server).await, before);
}

#[in_memory]
async fn only_so_many_votes_are_recorded_and_not_for_longer_than_they_can_be_taken_back(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 1_000).await;
    for number in 1..=6 {
        let news = alice.submit_text(&format!("Number {number}"), "text").await;
        ok(bob.vote(news, "up").await);
        server.advance(1);
    }
    // So many others, as old as the fourth, that there is no room for the last vote: the oldest 64 leave.
    let others = |first: u64, count: u64| {
        let json = format!(r#"{{"time":{}}}"#, START + 3);
        (first..first + count).map(|id| (id.to_string(), json.clone())).collect::<Vec<_>>()
    };
    let filled = others(1_001, MAX_RECENT_VOTES - 6);
    server.write(|batch| batch.set_fields("user:2:recent_votes", filled)).await;
    let last = alice.submit_text("Another", "text").await;
    ok(bob.vote(last, "up").await);
    let stored = records(&server, &bob).await;
    assert_eq!(stored.len() as u64, MAX_RECENT_VOTES - PRUNED_ONCE_IN + 1);
    assert!(!stored.contains_key("3") && stored.contains_key("4"));
    assert_eq!(refused(bob.vote(3, "none").await), TOO_LATE);
    ok(bob.vote(4, "none").await);
    server.advance(500);
    ok(bob.vote(alice.submit_text("The last but one", "text").await, "up").await);
    server.advance(101);
    assert_eq!(refused(bob.vote(5, "none").await), TOO_LATE);
    // The next vote removes those that are too old.
    let count = records(&server, &bob).await.len() as u64;
    let missing = PRUNED_ONCE_IN - 1 - count % PRUNED_ONCE_IN;
    server.write(|batch| batch.set_fields("user:2:recent_votes", others(5_001, missing))).await;
    ok(bob.vote(alice.submit_text("The last one", "text").await, "up").await);
    // Those of the last ten minutes.
    assert_eq!(records(&server, &bob).await.len(), 2);
    server.advance(601);
    assert!(records(&server, &bob).await.is_empty());
}

#[in_memory]
async fn deleted_stories_and_comments_keep_their_votes(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let comment = alice.comment(news, "A comment").await;
    ok(bob.vote(news, "up").await);
    ok(bob.vote_comment(news, comment, "up").await);
    ok(alice.edit_comment(news, comment, "").await);
    assert_eq!(refused(bob.vote_comment(news, comment, "none").await), "This comment has been deleted.");
    ok(alice.delete(news).await);
    assert_eq!(refused(bob.vote(news, "none").await), "This story has been deleted.");
    assert_eq!(refused(bob.vote(99, "none").await), "There is no such story.");
}

#[each_engine("races", &[("karma.visit_seconds", "0")])]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_take_the_same_vote_back_at_once_one_succeeds(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let comment = alice.comment(news, "A comment").await;
    let before = traces(&server).await;
    ok(bob.vote(news, "up").await);
    ok(bob.vote_comment(news, comment, "up").await);
    for on_comment in [false, true] {
        let answers = at_once((0..16).map(|_| {
            let bob = bob.clone();
            async move {
                if on_comment {
                    bob.vote_comment(news, comment, "none").await
                } else {
                    bob.vote(news, "none").await
                }
            }
        }))
        .await;
        let (taken, others): (Vec<Json>, Vec<Json>) =
            answers.into_iter().partition(|answer| answer["status"] == "ok");
        assert_eq!(taken.len(), 1);
        assert!(others.into_iter().all(|answer| refused(answer) == NOT_VOTED));
    }
    assert_eq!(traces(&server).await, before);
}

#[each_engine("check")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn votes_taken_back_while_the_story_is_deleted_or_its_topic_renamed_leave_the_store_consistent(
    server: Server,
) {
    let crowd = server.members(24).await;
    server.set_field("user:1", "flags", "a").await;
    server.set_karma(&crowd[0], 100).await;
    let deleted = crowd[0].submit_on("rust", "One").await;
    let renamed = crowd[0].submit_on("rust", "Two").await;
    for voter in &crowd[1..] {
        server.set_karma(voter, 10).await;
        ok(voter.vote(deleted, "up").await);
        ok(voter.vote(renamed, "up").await);
    }
    let order = (1..12).chain([0]).chain(12..24).map(|number| (number, crowd[number].clone()));
    let taken = at_once(order.map(|(number, client)| async move {
        if number == 0 {
            ok(client.delete(deleted).await);
            ok(client.api_post("/api/renametopic", &[("topic", "rust"), ("name", "rustlang")]).await);
            return (false, false);
        }
        let first = client.vote(deleted, "none").await["status"] == "ok";
        (first, client.vote(renamed, "none").await["status"] == "ok")
    }))
    .await;
    assert_eq!(taken.iter().filter(|(_, second)| *second).count(), 23);
    assert_eq!(server.ids("news.up:2").await, [1]);
    assert_eq!(server.number("article:2", "votes").await, 1);
    // Those who were in time have their karma back, the others have paid.
    let in_time = taken.iter().filter(|(first, _)| *first).count();
    assert_eq!(server.ids("news.up:1").await.len(), 24 - in_time);
    let mut paid = 0;
    for voter in &crowd[1..] {
        paid += 10 - server.karma(voter).await;
    }
    assert_eq!(paid, i64::try_from(23 - in_time).unwrap());
    assert_eq!(server.karma(&crowd[0]).await, 100 + paid);
    crate::consistency::check_site(&server).await;
}

/// One step of a random story: who does what, on which of the stories or their comments, after
/// how many seconds.
type Step = (usize, u64, bool, usize, u64);

fn random_steps(count: usize) -> Vec<Step> {
    let step = (0..4_usize, 1..=4_u64, proptest::bool::ANY, 0..4_usize, 0..15_u64);
    proptest::collection::vec(step, count).new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

/// A site with four stories by four users, each with a comment.
async fn stage(engine: Engine) -> (Server, Vec<Client>) {
    let server = Server::start(engine, &[("karma.visit_seconds", "0")]).await;
    let users = server.members(4).await;
    for user in &users {
        server.set_karma(user, 1_000).await;
    }
    for author in &users {
        let news = author.submit_on("rust", "A story").await;
        author.comment(news, "A comment").await;
    }
    (server, users)
}

async fn act(user: &Client, (news, on_comment): (u64, bool), vote: &str) -> bool {
    let answer =
        if on_comment { user.vote_comment(news, 1, vote).await } else { user.vote(news, vote).await };
    answer["status"] == "ok"
}

/// After random votes, some of them taken back, the store is as if only the others had been
/// cast.
#[tokio::test]
async fn after_random_votes_the_store_is_as_without_those_taken_back() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, users) = stage(engine).await;
        // The votes that stand: when each was cast, and in which step.
        let mut standing: BTreeMap<(usize, u64, bool), (usize, &str, u64)> = BTreeMap::new();
        let (mut taken_back, mut late) = (0, 0);
        for (step, (user, news, on_comment, choice, wait)) in random_steps(300).into_iter().enumerate() {
            server.advance(wait);
            let vote = ["up", "down", "none", "none"][choice];
            let done = act(&users[user], (news, on_comment), vote).await;
            let place = (user, news, on_comment);
            let is_own = u64::try_from(user).unwrap() + 1 == news;
            match (vote, standing.get(&place)) {
                ("none", Some((_, _, time))) => {
                    let in_time = server.now() - time <= 600;
                    assert_eq!(done, in_time, "step {step}");
                    if in_time {
                        standing.remove(&place);
                        taken_back += 1;
                    } else {
                        late += 1;
                    }
                }
                ("none", None) | (_, Some(_)) => assert!(!done, "step {step}"),
                (_, None) => {
                    assert_eq!(done, !is_own, "step {step}");
                    if done {
                        standing.insert(place, (step, vote, server.now()));
                    }
                }
            }
        }
        assert!(taken_back > 20 && late > 5, "{taken_back} {late}");

        let (model, model_users) = stage(engine).await;
        let mut votes: Vec<_> = standing.into_iter().collect();
        votes.sort_by_key(|(_, (step, ..))| *step);
        for ((user, news, on_comment), (_, vote, time)) in votes {
            model.advance(time - model.now());
            assert!(act(&model_users[user], (news, on_comment), vote).await);
        }
        model.advance(server.now() - model.now());
        let (mut found, mut expected) = (traces(&server).await, traces(&model).await);
        for dump in [&mut found, &mut expected] {
            // The secret of the tags of networks differs.
            dump.retain(|key, _| !key.contains("recent_votes") && !key.starts_with("network"));
        }
        for key in found.keys().chain(expected.keys()) {
            assert_eq!(found.get(key), expected.get(key), "{key}");
        }
    }
}

/// The names of the vote buttons of a page.
fn names(page: &Page) -> Vec<String> {
    let buttons = page.all("button").map(|button| button.text().to_owned());
    buttons.filter(|name| name.starts_with("Vote")).collect()
}

#[in_memory(&[("karma.visit_seconds", "0")])]
async fn the_pressed_button_takes_the_vote_back_while_that_is_possible(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 50).await;
    alice.submit_text("Linux <7.2>", "text").await;
    alice.comment(1, "A comment").await;
    let expected = [
        "Vote up: Linux <7.2>",
        "Vote down: Linux <7.2>",
        "Vote up: comment by alice",
        "Vote down: comment by alice",
    ];
    assert_eq!(names(&page(&bob, "/news/1").await), expected);
    let of_visitor = page(&server.visitor(), "/news/1").await;
    assert_eq!(names(&of_visitor), [expected[0], expected[2]]);
    ok(bob.vote(1, "up").await);
    ok(bob.vote_comment(1, 1, "down").await);
    let lists: [(&str, &[&str]); 4] = [
        ("/", &["/votenews"]),
        ("/best", &["/votenews"]),
        ("/upvoted", &["/votenews"]),
        ("/news/1", &["/votenews", "/votecomment"]),
    ];
    for (path, forms) in lists {
        let shown = page(&bob, path).await;
        let pressed = [("value", "none"), ("aria-pressed", "true"), ("title", "Take back your vote")];
        assert_eq!(shown.find("button", &pressed).len(), forms.len(), "{path}");
        assert_eq!(shown.find("button", &[("disabled", "")]).len(), forms.len(), "{path}");
        let shown = page(&alice, path).await;
        assert!(shown.find("button", &[("value", "none")]).is_empty(), "{path}");
    }
    for (action, path) in [("/votenews", "/"), ("/votecomment", "/news/1")] {
        let form = page(&bob, path).await.form(action).pressing("none");
        assert_eq!(form.send(&bob).await.status, StatusCode::SEE_OTHER);
    }
    let shown = page(&bob, "/news/1").await;
    assert!(shown.find("button", &[("aria-pressed", "true")]).is_empty());

    ok(bob.vote(1, "up").await);
    server.advance(601);
    let shown = page(&bob, "/news/1").await;
    assert!(shown.find("button", &[("value", "none")]).is_empty());
    assert_eq!(shown.find("button", &[("aria-pressed", "true"), ("disabled", "")]).len(), 1);
}

#[tokio::test]
async fn only_those_who_may_vote_down_have_a_button_for_it_and_no_page_names_a_price() {
    let settings = [("karma.economy", "free"), ("karma.visit_seconds", "0")];
    let server = Server::start(Engine::Memory, &settings).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("One", "text").await;
    alice.comment(1, "A comment").await;
    let buttons = async |client: &Client, path: &str, name: &str| {
        let shown = page(client, path).await;
        for words in ["karma", "Costs", "costs"] {
            assert!(!shown.content().contains(words), "{words} in {path}");
        }
        shown.find("button", &[("class", name)]).len()
    };
    for (karma, down) in [(0, 0), (29, 0), (30, 1)] {
        server.set_karma(&bob, karma).await;
        for (path, things) in [("/", 1), ("/latest/0", 1), ("/best", 1), ("/news/1?at=1", 2)] {
            assert_eq!(buttons(&bob, path, "up").await, things, "{path}");
            assert_eq!(buttons(&bob, path, "down").await, down * things, "{path} {karma}");
        }
    }
    assert_eq!(buttons(&server.visitor(), "/", "down").await, 0);
    server.set_karma(&bob, 0).await;
    server.set_field(&format!("user:{}", bob.user_id), "flags", "m").await;
    assert_eq!(buttons(&bob, "/", "down").await, 1, "moderators need no karma");
}

#[in_memory]
async fn no_page_counts_votes_down_that_there_are_not(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("One", "text").await;
    alice.comment(1, "A comment").await;
    let counts = async || {
        let shown = page(&bob, "/news/1").await;
        let counts = shown.find("span", &[("data-count", "down")]);
        counts.iter().map(|count| count.text().to_owned()).collect::<Vec<_>>()
    };
    assert!(counts().await.is_empty());
    ok(bob.vote_comment(1, 1, "down").await);
    assert_eq!(counts().await, ["1"]);
    ok(bob.vote_comment(1, 1, "none").await);
    assert!(counts().await.is_empty());
}

#[each_engine("rounds")]
async fn pages_with_votes_that_can_be_taken_back_take_no_further_round(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    server.set_karma(&bob, 100).await;
    let mut stories = Vec::new();
    for number in 0..20 {
        stories.push(alice.submit_text(&format!("Number {number}"), "text").await);
    }
    for path in ["/", "/latest/0", "/best", "/news/1"] {
        let rounds = async || {
            let cold = server.cold_rounds_of(&bob, path).await;
            (cold, server.rounds_of(&bob, path).await)
        };
        let before = rounds().await;
        for news in &stories {
            ok(bob.vote(*news, "up").await);
        }
        assert_eq!(rounds().await, before, "{path}");
        for news in &stories {
            ok(bob.vote(*news, "none").await);
        }
    }
}
