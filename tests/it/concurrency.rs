//! Many at the same time: nothing is done twice, nothing is lost, and the
//! counters agree with the stored votes.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::client::{Client, PASSWORD, ok, refused_saying};
use crate::consistency::check_site;
use crate::server::{Engine, Server, each_engine};

const CROWD: usize = 64;

/// Runs all at the same time; answers what they gave, in order.
pub async fn at_once<T: Send + 'static>(
    tasks: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let running: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    let mut outcomes = Vec::with_capacity(running.len());
    for task in running {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

/// Sends one call from each of many clients at the same time.
async fn all_call(clients: &[Client], path: &'static str, fields: &[(&'static str, String)]) -> Vec<Value> {
    at_once(clients.iter().cloned().map(|client| {
        let fields = fields.to_vec();
        async move {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
            client.api_post(path, &fields).await
        }
    }))
    .await
}

fn count_ok(answers: &[Value]) -> usize {
    answers.iter().filter(|answer| answer["status"] == "ok").count()
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_clients_that_register_the_same_name_one_succeeds_and_is_the_administrator(server: Server) {
    let crowd = vec![server.visitor(); CROWD];
    let fields = [("username", "alice".to_owned()), ("password", PASSWORD.to_owned())];
    let answers = all_call(&crowd, "/api/create_account", &fields).await;
    assert_eq!(count_ok(&answers), 1);
    for answer in answers.into_iter().filter(|answer| answer["status"] != "ok") {
        refused_saying(answer, "is taken");
    }
    // Where the one sign-up came from is noted by day.
    let is_of_user = |key: &String| key.starts_with("user:") && !key.contains(":addresses:");
    let users: Vec<String> = server.dump().await.into_keys().filter(is_of_user).collect();
    assert_eq!(users, ["user:1", "user:1:networks", "user:1:sessions"]);
    assert_eq!(server.field("user:1", "flags").await.as_deref(), Some("a"));
    assert_eq!(server.string("username.to.id:alice").await.as_deref(), Some("1"));
    assert!(server.visitor().log_in("alice", PASSWORD).await.is_logged_in().await);
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_first_accounts_created_at_once_exactly_one_is_the_administrator(server: Server) {
    let tasks = (0..CROWD).map(|number| {
        let visitor = server.visitor();
        async move { visitor.register(&format!("user-{number}")).await }
    });
    at_once(tasks).await;
    let mut administrators = 0;
    for id in 1..=CROWD {
        let user = server.hash(&format!("user:{id}")).await;
        assert_eq!(user["id"], id.to_string());
        administrators += usize::from(user["flags"] == "a");
    }
    assert_eq!(administrators, 1);
    assert_eq!(server.field("user:1", "flags").await.as_deref(), Some("a"));
    assert_eq!(server.string("users.count").await, Some(CROWD.to_string()));
}

#[each_engine("races", &[("limits.account_creation_seconds", "54000")])]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_creates_one_account_however_many_it_asks_for_at_once(server: Server) {
    let tasks = (0..16).map(|number| {
        let visitor = server.visitor();
        async move {
            let name = format!("user-{number}");
            visitor.call(&format!("/api/create_account?username={name}&password={PASSWORD}")).await
        }
    });
    assert_eq!(count_ok(&at_once(tasks).await), 1);
    assert_eq!(server.dump().await.keys().filter(|key| key.starts_with("username.to.id:")).count(), 1);
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_submitted_by_64_clients_at_once_is_inserted_once_and_all_get_its_id(server: Server) {
    let crowd = server.members(CROWD).await;
    let fields = [
        ("news_id", "-1".to_owned()),
        ("title", "A story".to_owned()),
        ("url", "http://example.com/story".to_owned()),
    ];
    let answers = all_call(&crowd, "/api/submit", &fields).await;
    assert_eq!(count_ok(&answers), CROWD);
    let ids: BTreeSet<u64> = answers.iter().map(|answer| answer["news_id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let dump = server.dump().await;
    let stored: Vec<&String> = dump.keys().filter(|key| key.starts_with("news:")).collect();
    let id = ids.first().unwrap();
    assert_eq!(stored, [&format!("news:{id}")]);
    assert_eq!(server.ids("news.cron").await, [*id]);
    assert_eq!(server.ids("news.top").await, [*id]);
    check_site(&server).await;
}

#[each_engine("races", &[("limits.submission_seconds", "900")])]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_submits_once_however_often_they_click(server: Server) {
    server.member("administrator").await;
    let clicks = vec![server.member("bob").await; CROWD];
    let fields = [("news_id", "-1".to_owned()), ("title", "A text".to_owned()), ("text", "text".to_owned())];
    let answers = all_call(&clicks, "/api/submit", &fields).await;
    assert_eq!(count_ok(&answers), 1);
    assert_eq!(server.ids("user.posted:2").await.len(), 1);
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_concurrent_votes_of_one_user_on_a_story_one_counts(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    server.set_karma(&bob, 1_000).await;
    let answers = at_once((0..CROWD).map(|number| {
        let bob = bob.clone();
        async move { bob.vote(news, if number % 2 == 0 { "up" } else { "down" }).await }
    }))
    .await;
    assert_eq!(count_ok(&answers), 1);
    let (ups, downs) = (server.ids("news.up:1").await, server.ids("news.down:1").await);
    match (ups.contains(&bob.user_id), downs.contains(&bob.user_id)) {
        (true, false) => assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (2, 999)),
        (false, true) => assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (1, 994)),
        both => panic!("{both:?}"),
    }
    check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_votes_never_spend_more_karma_than_there_is(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let mut items = Vec::new();
    for number in 0..40 {
        items.push(alice.submit_text(&format!("Number {number}"), "text").await);
    }
    server.set_karma(&bob, 10).await;
    let answers = at_once(items.into_iter().map(|news| {
        let bob = bob.clone();
        async move { bob.vote(news, "up").await }
    }))
    .await;
    assert_eq!(count_ok(&answers), 10);
    assert_eq!((server.karma(&alice).await, server.karma(&bob).await), (11, 0));
    check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_votes_of_200_users_on_a_comment_and_its_story_all_count(server: Server) {
    let author = server.member("author").await;
    let voters = server.members(200).await;
    let news = author.submit_text("One", "text").await;
    let comment = author.comment(news, "Vote on this").await;
    let answers = at_once(voters.iter().cloned().enumerate().map(|(number, voter)| async move {
        voter.vote_comment(news, comment, if number % 4 == 0 { "down" } else { "up" }).await
    }))
    .await;
    assert_eq!(count_ok(&answers), 200, "{:?}", answers.iter().find(|answer| answer["status"] != "ok"));
    let shown = &author.thread(news).await[0];
    assert_eq!((&shown["up"], &shown["down"]), (&151.into(), &50.into()));
    let fields = [("news_id", news.to_string()), ("vote_type", "up".to_owned())];
    assert_eq!(count_ok(&all_call(&voters, "/api/votenews", &fields).await), 200);
    assert_eq!(server.number("news:1", "up").await, 201);
    assert_eq!(server.karma(&author).await, 201);
    check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_comments_are_all_stored_and_counted(server: Server) {
    let crowd = server.members(CROWD).await;
    let news = crowd[0].submit_text("One", "text").await;
    let first = crowd[0].comment(news, "First").await;
    let answers = at_once(
        crowd
            .iter()
            .cloned()
            .map(|client| async move { client.try_comment(news, Some(first), "Me too").await }),
    )
    .await;
    assert_eq!(count_ok(&answers), CROWD);
    let thread = crowd[0].thread(news).await;
    assert_eq!(thread[0]["replies"].as_array().unwrap().len(), CROWD);
    assert_eq!(server.number("news:1", "comments").await, i64::try_from(CROWD).unwrap() + 1);
    assert_eq!(server.number("user:1", "replies").await, i64::try_from(CROWD).unwrap() - 1);
    check_site(&server).await;
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_deleted_many_times_at_once_is_counted_once(server: Server) {
    let bob = server.member("bob").await;
    let news = bob.submit_text("One", "text").await;
    let comment = bob.comment(news, "Delete me").await;
    bob.comment(news, "Keep me").await;
    let answers = at_once((0..32).map(|_| {
        let bob = bob.clone();
        async move { bob.edit_comment(news, comment, "").await }
    }))
    .await;
    assert_eq!(count_ok(&answers), 32);
    assert_eq!(server.number("news:1", "comments").await, 1);
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn votes_and_comments_that_race_with_a_deletion_leave_no_trace_behind_it(server: Server) {
    let crowd = server.members(32).await;
    let news = crowd[0].submit_link("One", "http://example.com/").await;
    // The author comes in the middle of the crowd.
    let order = (1..16).chain([0]).chain(16..32).map(|number| (number, crowd[number].clone()));
    at_once(order.map(|(number, client)| async move {
        match number {
            0 => drop(ok(client.delete(news).await)),
            _ if number % 2 == 0 => drop(client.vote(news, "up").await),
            _ => drop(client.try_comment(news, None, "text").await),
        }
    }))
    .await;
    assert_eq!(server.sorted("news.top").await, []);
    assert_eq!(server.sorted("news.cron").await, []);
    assert_eq!(server.field("news:1", "del").await.as_deref(), Some("1"));
    check_site(&server).await;
}

/// Voters, stories, and votes or taking them back: small numbers, so that they conflict.
fn random_votes(count: usize) -> Vec<(usize, u64, bool, usize)> {
    let vote = (0..12_usize, 1..=5_u64, proptest::bool::ANY, 0..3_usize);
    proptest::collection::vec(vote, count).new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_random_concurrent_votes_karma_and_counters_equal_what_the_votes_say() {
    each_engine(&[], check_random_votes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_file_too_karma_and_counters_equal_what_the_votes_say() {
    check_random_votes(Server::start(Engine::File, &[]).await).await;
}

async fn check_random_votes(server: Server) {
    let users = server.members(12).await;
    for user in &users {
        server.set_karma(user, 40).await;
    }
    for author in &users[..5] {
        let news = author.submit_text("On which all vote", "text").await;
        assert_eq!(author.comment(news, "A comment").await, 1);
    }
    let mut answers = Vec::new();
    // A server takes 256 writes at once.
    for votes in random_votes(500).chunks(250) {
        let some = at_once(votes.iter().map(|&(voter, news, on_comment, choice)| {
            let voter = users[voter].clone();
            let direction = ["up", "down", "none"][choice];
            async move {
                match on_comment {
                    true => voter.vote_comment(news, 1, direction).await,
                    false => voter.vote(news, direction).await,
                }
            }
        }));
        answers.extend(some.await);
    }
    assert!((30..300).contains(&count_ok(&answers)), "{}", count_ok(&answers));
    check_site(&server).await;

    let mut karma: BTreeMap<u64, i64> = users.iter().map(|user| (user.user_id, 40)).collect();
    for news in 1..=5_u64 {
        let author = server.field(&format!("news:{news}"), "user_id").await.unwrap().parse().unwrap();
        for voter in server.ids(&format!("news.up:{news}")).await.into_iter().filter(|id| *id != author) {
            *karma.get_mut(&voter).unwrap() -= 1;
            *karma.get_mut(&author).unwrap() += 1;
        }
        for voter in server.ids(&format!("news.down:{news}")).await.into_iter().filter(|id| *id != author) {
            *karma.get_mut(&voter).unwrap() -= 6;
        }
    }
    for user in &users {
        assert_eq!(server.karma(user).await, karma[&user.user_id], "{}", user.username);
        assert!(karma[&user.user_id] >= 0);
    }
}
