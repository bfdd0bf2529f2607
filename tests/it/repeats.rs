//! Requests that are sent again: the same `request` is answered as the first was, and does nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::StatusCode;
use reqwest::header::CACHE_CONTROL;
use serde_json::Value;
use tidings_domain::keys;
use tidings_domain::values::UserId;
use tidings_keyspace::{Expiry, Value as Stored};

use crate::client::{Client, Fields, PASSWORD, ok, refused};
use crate::html::{Form, Page};
use crate::pages::{page, redirects_to};
use crate::server::{Engine, Server, each_engine, in_memory};

/// Calls the API with a name for the request.
async fn named(client: &Client, path: &str, fields: Fields<'_>, request: &str) -> Value {
    client.api_post(path, &[fields, &[("request", request)]].concat()).await
}

/// The keys of the requests that were answered.
pub fn answered(stored: &BTreeMap<String, Stored>) -> Vec<String> {
    stored.keys().filter(|key| key.starts_with("request:")).cloned().collect()
}

/// All that is stored, without what reading changes.
pub async fn stored(server: &Server) -> BTreeMap<String, Stored> {
    server.finish_jobs().await;
    let mut dump = server.dump().await;
    // How far people have read is stored when there is time.
    dump.retain(|key, _| !key.starts_with("statistics:") && !key.ends_with(":visits"));
    dump
}

/// Actions of a member that leave intact what the others of this table need. `repeats_of_all` has every action, on
/// one server.
const ACTIONS: [(&str, Fields<'_>); 14] = [
    ("/api/submit", &[("news_id", "-1"), ("title", "A text"), ("text", "The text")]),
    ("/api/submit", &[("news_id", "-1"), ("title", "A link"), ("url", "https://example.com/")]),
    ("/api/submit", &[("news_id", "-1"), ("title", "The same"), ("url", "https://example.com/")]),
    ("/api/submit", &[("news_id", "2"), ("title", "Edited"), ("text", "The text")]),
    ("/api/postcomment", &[("news_id", "1"), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", "New")]),
    ("/api/postcomment", &[("news_id", "1"), ("comment_id", "-1"), ("parent_id", "1"), ("comment", "Reply")]),
    (
        "/api/postcomment",
        &[("news_id", "1"), ("comment_id", "2"), ("parent_id", "-1"), ("comment", "Edited")],
    ),
    ("/api/postcomment", &[("news_id", "1"), ("comment_id", "2"), ("parent_id", "-1"), ("comment", "")]),
    ("/api/votenews", &[("news_id", "1"), ("vote_type", "up")]),
    ("/api/votenews", &[("news_id", "1"), ("vote_type", "none")]),
    ("/api/votecomment", &[("comment_id", "1-1"), ("vote_type", "up")]),
    ("/api/votecomment", &[("comment_id", "1-1"), ("vote_type", "none")]),
    ("/api/tweet", &[("text", "Hello @alice")]),
    ("/api/delnews", &[("news_id", "2")]),
];

/// A story of alice with a comment of hers, and bob, who has karma.
async fn alice_and_bob(server: &Server) -> (Client, Client) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.submit_text("First", "The text").await;
    alice.comment(1, "The first comment").await;
    server.set_karma(&bob, 100).await;
    (alice, bob)
}

#[in_memory]
async fn a_repeat_does_not_undo_what_came_after_the_first(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let vote = |choice| [("news_id", "1"), ("vote_type", choice)];
    let karma = server.karma(&bob).await;
    ok(named(&bob, "/api/votenews", &vote("up"), "1").await);
    ok(named(&bob, "/api/votenews", &vote("none"), "2").await);
    ok(named(&bob, "/api/votenews", &vote("up"), "1").await);
    assert_eq!(server.karma(&bob).await, karma);
    assert_eq!(server.number("news:1", "up").await, 1);
    // A request that changes nothing is recorded as well.
    let alice = [("username", "alice")];
    bob.follow("alice").await;
    ok(named(&bob, "/api/follow", &alice, "3").await);
    ok(named(&bob, "/api/unfollow", &alice, "4").await);
    ok(named(&bob, "/api/follow", &alice, "3").await);
    assert_eq!(server.sorted(&keys::followers(UserId(1))).await, []);
}

#[each_engine("races")]
async fn equal_requests_at_the_same_time_act_once(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let submit = [("news_id", "-1"), ("title", "Title"), ("text", "Text")];
    let comment = [("news_id", "1"), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", "Once")];
    let vote = [("comment_id", "1-1"), ("vote_type", "up")];
    let calls: [(&str, Fields<'_>); 4] = [
        ("/api/submit", &submit),
        ("/api/postcomment", &comment),
        ("/api/tweet", &[("text", "Once")]),
        ("/api/votecomment", &vote),
    ];
    for (path, fields) in calls {
        let answers = join_all((0..12).map(|_| named(&bob, path, fields, path))).await;
        let first = ok(answers[0].clone());
        assert!(answers.iter().all(|answer| *answer == first), "{path}: {answers:?}");
    }
    assert_eq!(bob.listed("latest").await.len(), 2);
    assert_eq!(server.number("news:1", "comments").await, 2);
    assert_eq!(server.sorted(&keys::user_comments(UserId(bob.user_id))).await.len(), 1);
}

#[in_memory]
async fn the_same_name_with_other_contents_is_another_request(server: Server) {
    let (alice, bob) = alice_and_bob(&server).await;
    let first = ok(named(&bob, "/api/tweet", &[("text", "One")], "a").await);
    let second = ok(named(&bob, "/api/tweet", &[("text", "Two")], "a").await);
    assert_ne!(second, first);
    // Requests of different accounts have nothing to do with each other.
    let other = ok(named(&alice, "/api/tweet", &[("text", "One")], "a").await);
    assert_ne!(other, first);
    // Nor have those to different addresses.
    ok(named(&bob, "/api/follow", &[("username", "alice")], "a").await);
    ok(named(&bob, "/api/unfollow", &[("username", "alice")], "a").await);
    assert_eq!(server.sorted(&keys::followers(UserId(1))).await, []);
    // Each of them is a repeat when it comes again.
    let done = stored(&server).await;
    assert_eq!(named(&bob, "/api/tweet", &[("text", "One")], "a").await, first);
    assert_eq!(named(&bob, "/api/tweet", &[("text", "Two")], "a").await, second);
    ok(named(&bob, "/api/follow", &[("username", "alice")], "a").await);
    assert_eq!(stored(&server).await, done);
}

#[in_memory]
async fn who_goes_back_to_a_form_and_writes_something_else_is_not_answered_as_before(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    // As the browser kept it: with the same name.
    let form = form(&bob, "/news/1", "/postcomment").await;
    let first = form.clone().with("comment", "Once").send(&bob).await;
    let other = form.clone().with("comment", "Something else").send(&bob).await;
    assert_ne!(redirects_to(&other), redirects_to(&first));
    let again = form.with("comment", "Once").send(&bob).await;
    assert_eq!(redirects_to(&again), redirects_to(&first));
    assert_eq!(server.number("news:1", "comments").await, 3);
}

#[in_memory]
async fn a_password_cannot_be_guessed_from_what_is_stored_of_a_request(server: Server) {
    let bob = server.register("bob").await;
    let elsewhere = server.visitor().log_in("bob", PASSWORD).await;
    let fields = [("current_password", PASSWORD)];
    let first = ok(named(&bob, "/api/totp/begin", &fields, "a").await);
    assert_eq!(named(&bob, "/api/totp/begin", &fields, "a").await, first);
    // The token of the session is in the hash, so in another session it is another request.
    assert_ne!(ok(named(&elsewhere, "/api/totp/begin", &fields, "a").await), first);
    assert_eq!(answered(&stored(&server).await).len(), 2);
    // Without a password it is the same one.
    let tweet = [("text", "Hello")];
    let first = ok(named(&bob, "/api/tweet", &tweet, "a").await);
    assert_eq!(named(&elsewhere, "/api/tweet", &tweet, "a").await, first);
}

#[in_memory]
async fn what_failed_is_tried_again(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    server.set_karma(&bob, 0).await;
    let vote = [("news_id", "1"), ("vote_type", "up")];
    refused(named(&bob, "/api/votenews", &vote, "a").await);
    assert_eq!(answered(&stored(&server).await), [""; 0]);
    server.set_karma(&bob, 100).await;
    ok(named(&bob, "/api/votenews", &vote, "a").await);
    assert_eq!(server.number("news:1", "up").await, 2);
    // A refusal that a repeat would get counts no more than what was answered first.
    server.set_karma(&bob, 0).await;
    ok(named(&bob, "/api/votenews", &vote, "a").await);
    refused(named(&bob, "/api/votenews", &vote, "b").await);
}

#[each_engine("expiry")]
async fn an_answer_is_kept_for_an_hour(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let tweet = [("text", "Hello")];
    let first = ok(named(&bob, "/api/tweet", &tweet, "a").await);
    let key = answered(&stored(&server).await).remove(0);
    let Expiry::In(left) = server.expiry(&key).await else { panic!("it does not expire") };
    assert!(left > Duration::from_secs(3_500) && left <= Duration::from_secs(3_600), "{left:?}");
    // Redis expires it by a clock of its own.
    if server.store().is_shared() {
        server.write(|batch| batch.delete(&key)).await;
    } else {
        server.advance(3_599);
        assert_eq!(named(&bob, "/api/tweet", &tweet, "a").await, first);
        server.advance(1);
    }
    assert_ne!(ok(named(&bob, "/api/tweet", &tweet, "a").await), first);
}

#[tokio::test]
async fn every_action_is_answered_again_by_each_server_and_not_done_again() {
    let server = Server::start(Engine::Redis, &[]).await;
    let other = Server::beside(&server.redis.as_ref().unwrap().url(), &server).await;
    let (_, bob) = alice_and_bob(&server).await;
    let elsewhere = bob.at(other.address);
    // The other knows nothing of what the first did, as after a restart.
    for (number, (path, fields)) in ACTIONS.into_iter().enumerate() {
        let request = format!("request {number}");
        let first = ok(named(&bob, path, fields, &request).await);
        let done = stored(&server).await;
        assert_eq!(answered(&done).len(), number + 1, "{path} {fields:?} is noted");
        assert_eq!(named(&bob, path, fields, &request).await, first, "{path} {fields:?}");
        assert_eq!(stored(&server).await, done, "{path} {fields:?}");
        assert_eq!(named(&elsewhere, path, fields, &request).await, first, "{path} {fields:?}");
    }
    assert_eq!(server.number("news:1", "comments").await, 2);
    assert_eq!(bob.listed("latest").await.len(), 2);
}

#[in_memory]
async fn a_request_has_1_to_64_characters(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let tweet = [("text", "Hello")];
    for wrong in ["", &"é".repeat(65)] {
        let message = refused(named(&bob, "/api/tweet", &tweet, wrong).await);
        assert!(message.contains("request") && message.contains("1 to 64"), "{message}");
    }
    for (number, right) in ["\u{1F980}", " ", "a b\r\n\u{7F}", &"é".repeat(64)].into_iter().enumerate() {
        let text = [("text", &*format!("Number {number}"))];
        let first = ok(named(&bob, "/api/tweet", &text, right).await);
        assert_eq!(named(&bob, "/api/tweet", &text, right).await, first, "{right:?}");
    }
}

#[in_memory(&[("rates.tweet_per_account", "2/10m")])]
async fn a_repeat_costs_no_rate_and_is_answered_when_the_rate_is_used_up(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let first = ok(named(&bob, "/api/tweet", &[("text", "One")], "1").await);
    for _ in 0..5 {
        assert_eq!(named(&bob, "/api/tweet", &[("text", "One")], "1").await, first);
    }
    ok(named(&bob, "/api/tweet", &[("text", "Two")], "2").await);
    let third = bob.post("/api/tweet", &[("text", "Three"), ("request", "3")]).await;
    assert_eq!(third.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(named(&bob, "/api/tweet", &[("text", "One")], "1").await, first);
}

/// The form with this action. The browser keeps its page, and with it what was typed.
async fn form(client: &Client, path: &str, action: &str) -> Form {
    let answer = client.get(path).await;
    assert_eq!(answer.headers[CACHE_CONTROL], "private, no-cache", "{path}");
    Page::of(&answer).form(action)
}

#[in_memory]
async fn each_form_has_another_name_each_time_it_is_shown_and_keeps_it_when_it_is_refused(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    let mut names = BTreeSet::new();
    for (path, action, field) in
        [("/submit", "/submit", "title"), ("/news/1", "/postcomment", "comment"), ("/home", "/tweet", "text")]
    {
        for _ in 0..3 {
            let form = form(&bob, path, action).await;
            let name = form.value("request").unwrap().to_owned();
            assert!((1..=64).contains(&name.len()), "{name}");
            let refused = Page::of(&form.with(field, "").send(&bob).await).form(action);
            assert_eq!(refused.value("request"), Some(&*name), "{path}");
            assert!(names.insert(name), "{names:?}");
        }
    }
}

#[in_memory]
async fn each_form_that_a_session_can_send_has_a_name(server: Server) {
    let (alice, _) = alice_and_bob(&server).await;
    server.set_field(&format!("user:{}", alice.user_id), "flags", "a").await;
    for path in
        ["/", "/latest/0", "/@bob", "/news/1", "/settings", "/settings/mutes", "/editnews/1", "/inbox"]
    {
        let answer = alice.get(path).await;
        assert_eq!(answer.headers[CACHE_CONTROL], "private, no-cache", "{path}");
        let forms = Page::of(&answer).forms();
        let signed: Vec<_> = forms.iter().filter(|form| form.value("apisecret").is_some()).collect();
        assert!(!signed.is_empty(), "{path}");
        for form in signed {
            assert!(form.value("request").is_some_and(|name| name.len() == 16), "{form:?} of {path}");
        }
    }
    // The pages of a visitor are the same for all.
    let visitor = server.visitor();
    let thread = page(&visitor, "/news/1").await;
    assert_eq!(thread.find("input", &[("name", "request")]).len(), 0);
    assert_eq!(visitor.get("/news/1").await.headers[CACHE_CONTROL], "public, no-cache");
}

#[in_memory]
async fn a_page_that_is_kept_sets_a_state_again(server: Server) {
    let (_, bob) = alice_and_bob(&server).await;
    bob.comment(1, "One").await;
    // The forms that the browser kept, and the state after they were sent.
    let vote = form(&bob, "/latest/0", "/votenews").await.pressing("up");
    let follow = form(&bob, "/@alice", "/follow").await;
    let edits = page(&bob, "/editcomment/1/2").await.forms();
    let edit = edits.into_iter().find(|form| form.value("comment") == Some("One")).unwrap();
    let state = async || {
        let followers = server.sorted(&keys::followers(UserId(1))).await.len();
        let body = format!("{:?}", bob.thread(1).await);
        (server.number("news:1", "up").await, followers, body.contains("Two"))
    };
    for _ in 0..2 {
        vote.send(&bob).await;
        follow.send(&bob).await;
        edit.clone().with("comment", "Two").send(&bob).await;
        assert_eq!(state().await, (2, 1, true));
        form(&bob, "/latest/0", "/votenews").await.pressing("none").send(&bob).await;
        form(&bob, "/@alice", "/unfollow").await.send(&bob).await;
        edit.clone().with("comment", "Three").send(&bob).await;
        assert_eq!(state().await, (1, 0, false));
    }
}
