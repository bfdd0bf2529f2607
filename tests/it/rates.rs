//! How much one account and one address may do: each rate at its edge, on both engines, and
//! what those hear who are over it.

use reqwest::header::RETRY_AFTER;
use reqwest::{Method, StatusCode};
use serde_json::json;
use strum::VariantArray;

use crate::client::{Client, HttpResponse, ok, refused};
use crate::html::Page;
use crate::pages::{error_message, page};
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, Settings, each_engine, in_memory};
use crate::sites::{uuid, vote as vote_as_extension};

const DAY: u64 = 86_400;
/// Lets tests come from any address.
const PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.1");

/// An action with a rate per account and per address.
#[derive(Debug, Clone, Copy, VariantArray)]
enum Action {
    Comment,
    Reply,
    Tweet,
    VoteNews,
    VoteComment,
    VoteSite,
    Follow,
}

impl Action {
    /// The settings begin with this.
    const fn setting(self) -> &'static str {
        match self {
            Self::Comment | Self::Reply => "rates.comment",
            Self::Tweet => "rates.tweet",
            Self::VoteNews | Self::VoteComment | Self::VoteSite => "rates.vote",
            Self::Follow => "rates.follow",
        }
    }

    /// Does it for the `number`th time, counted from 1.
    async fn call(self, client: &Client, number: usize) -> HttpResponse {
        let request = match self {
            Self::Comment => "/api/postcomment?news_id=1&comment_id=-1&parent_id=-1&comment=text NUMBER",
            Self::Reply => "/api/postcomment?news_id=1&comment_id=-1&parent_id=1&comment=text NUMBER",
            Self::Tweet => "/api/tweet?text=text NUMBER",
            Self::VoteNews => "/api/votenews?news_id=NUMBER&vote_type=up",
            Self::VoteComment => "/api/votecomment?comment_id=1-NUMBER&vote_type=up",
            Self::VoteSite => "/api/sites/vote?link=siteNUMBER.example&vote=1",
            Self::Follow if number % 2 == 1 => "/api/follow?username=author",
            Self::Follow => "/api/unfollow?username=author",
        };
        client.answer_to(&request.replace("NUMBER", &number.to_string())).await
    }
}

/// A server with stories, comments and members whose accounts are a day old.
async fn site(engine: Engine, settings: Settings<'_>) -> (Server, Vec<Client>) {
    let server = Server::start(engine, settings).await;
    let members = furnish(&server).await;
    (server, members)
}

async fn furnish(server: &Server) -> Vec<Client> {
    let author = server.administrator("author").await;
    for number in 1..=8 {
        author.submit_text(&format!("Story {number}"), "text").await;
    }
    for _ in 1..=8 {
        author.comment(1, "text").await;
    }
    let members = server.members(3).await;
    for member in &members {
        server.set_karma(member, 100).await;
    }
    server.advance(DAY);
    members
}

#[track_caller]
fn assert_done(answer: &HttpResponse, what: &str) {
    assert_eq!(answer.status, StatusCode::OK, "{what}: {answer:?}");
    ok(answer.json());
}

/// Checks that a call of the API was over a rate; returns the message.
#[track_caller]
fn too_many(answer: &HttpResponse, seconds: u64) -> String {
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{answer:?}");
    assert_eq!(answer.headers[RETRY_AFTER], seconds.to_string());
    refused(answer.json())
}

#[tokio::test]
async fn an_account_does_so_much_and_then_as_much_as_flows_in() {
    for action in Action::VARIANTS {
        let setting = format!("{}_per_account", action.setting());
        for engine in [Engine::Memory, Engine::Redis] {
            println!("{action:?} on {engine:?}");
            let (server, members) = site(engine, &[(&setting, "3/1m")]).await;
            let (alice, bob) = (&members[0], &members[1]);
            for number in 1..=3 {
                assert_done(&action.call(alice, number).await, &setting);
            }
            let before = server.dump().await;
            let message = too_many(&action.call(alice, 4).await, 20);
            assert!(message.contains("in a short time. Try again in 1 minute."), "{message}");
            assert_eq!(server.dump().await, before, "a refusal writes nothing");
            assert_done(&action.call(bob, 1).await, "another account");
            server.advance(19);
            too_many(&action.call(alice, 4).await, 1);
            server.advance(1);
            assert_done(&action.call(alice, 4).await, &setting);
            too_many(&action.call(alice, 5).await, 20);
        }
    }
}

#[tokio::test]
async fn an_address_does_so_much_whoever_is_logged_in_there() {
    for action in Action::VARIANTS {
        let setting = format!("{}_per_address", action.setting());
        for engine in [Engine::Memory, Engine::Redis] {
            println!("{action:?} on {engine:?}");
            let settings = [(&*setting, "3/1m"), PROXY, ("rates.exempt", "192.0.2.0/24, 2001:db8:9::1")];
            let (_server, members) = site(engine, &settings).await;
            let [alice, bob, carol] = &members[..] else { unreachable!() };
            let from = |client: &Client, address: &str| client.clone().forwarded_for(address);
            assert_done(&action.call(&from(alice, "2001:db8:0:1::1"), 1).await, &setting);
            assert_done(&action.call(&from(alice, "2001:db8:0:1::2"), 2).await, &setting);
            assert_done(&action.call(&from(bob, "2001:db8:0:1:ffff::"), 1).await, &setting);
            let message = too_many(&action.call(&from(bob, "2001:db8:0:1::1"), 2).await, 20);
            assert!(message.contains("from your address. Try again in 1 minute."), "{message}");
            too_many(&action.call(&from(carol, "2001:db8:0:1::7"), 1).await, 20);
            assert_done(&action.call(&from(bob, "2001:db8:0:2::1"), 2).await, "another network");
            for number in 1..=5 {
                let exempt = if number % 2 == 0 { "192.0.2.7" } else { "2001:db8:9::7" };
                assert_done(&action.call(&from(carol, exempt), number).await, "an exempt network");
            }
        }
    }
}

#[tokio::test]
async fn an_account_has_a_share_of_it_until_it_is_trusted() {
    let a_day = ("trust.days", "1");
    let a_quarter = ("rates.new_account_share", "0.25");
    each_engine(&[("rates.tweet_per_account", "8/1m"), a_quarter, a_day], async |server| {
        furnish(&server).await;
        let dave = server.member("dave").await;
        for _ in 0..2 {
            assert_done(&Action::Tweet.call(&dave, 1).await, "a quarter of 8");
        }
        too_many(&Action::Tweet.call(&dave, 1).await, 30);
        server.advance(DAY - 1);
        for _ in 0..2 {
            assert_done(&Action::Tweet.call(&dave, 1).await, "not trusted yet");
        }
        too_many(&Action::Tweet.call(&dave, 1).await, 30);
        server.advance(1);
        // The bucket is almost as empty as before, but it fills four times as fast.
        too_many(&Action::Tweet.call(&dave, 1).await, 7);
        server.advance(60);
        for _ in 0..8 {
            assert_done(&Action::Tweet.call(&dave, 1).await, "a day old");
        }
        too_many(&Action::Tweet.call(&dave, 1).await, 8);
    })
    .await;
    let settings = [("rates.tweet_per_account", "8/1m"), ("rates.new_account_share", "0.1"), a_day];
    let server = Server::start(Engine::Memory, &settings).await;
    let dave = server.member("dave").await;
    assert_done(&Action::Tweet.call(&dave, 1).await, "at least one");
    too_many(&Action::Tweet.call(&dave, 1).await, 60);
}

#[tokio::test]
async fn whoever_has_less_is_told_until_when() {
    let settings = [
        ("rates.comment_per_account", "10/10m"),
        ("rates.tweet_per_account", "10/10m"),
        ("trust.days", "3"),
        ("trust.karma", "10"),
    ];
    let server = Server::start(Engine::Memory, &settings).await;
    let dave = server.member("dave").await;
    let story = dave.submit_text("A story", "text").await;
    for number in 0..5 {
        dave.comment(story, &format!("Comment {number}")).await;
        ok(dave.api_post("/api/tweet", &[("text", &format!("Tweet {number}"))]).await);
    }
    let refused_comment = async || refused(Action::Comment.call(&dave, 11).await.json());
    let error = refused_comment().await;
    let expected = "Your limit is higher from 18 Jan 2027, 08:00 UTC on, once you have 10 karma.";
    assert!(error.contains(expected), "{error}");
    server.advance(3 * DAY);
    server.set_karma(&dave, 10).await;
    for number in 0..10 {
        dave.comment(story, &format!("Comment {number}")).await;
    }
    let error = refused_comment().await;
    assert!(!error.contains("higher"), "{error}");
}

#[tokio::test]
async fn administrators_post_as_much_as_they_like() {
    let per = |action| ["account", "address"].map(|per| format!("rates.{action}_per_{per}"));
    let settings: Vec<String> = ["comment", "tweet", "vote", "follow"].into_iter().flat_map(per).collect();
    let all: Vec<(&str, &str)> = settings.iter().map(|name| (name.as_str(), "1/1h")).collect();
    let (server, members) = site(Engine::Memory, &all).await;
    let admin = &members[0];
    server.set_field(&format!("user:{}", admin.user_id), "flags", "a").await;
    for action in Action::VARIANTS {
        for number in 1..=4 {
            assert_done(&action.call(admin, number).await, "an administrator");
        }
    }
    // They took nothing from the others of their address.
    assert_done(&Action::Tweet.call(&members[1], 1).await, "a member");
    too_many(&Action::Tweet.call(&members[2], 1).await, 3_600);
}

#[tokio::test]
async fn rates_that_protect_data_hold_for_all_servers_of_a_store() {
    for (setting, per_account) in [("rates.tweet_per_account", true), ("rates.tweet_per_address", false)] {
        let settings = [(setting, "4/1m")];
        let one = Server::on_redis(RedisServer::start(), &settings).await;
        let url = one.redis.as_ref().unwrap().url();
        let other = Server::beside_with(&url, &one, &settings).await;
        let members = furnish(&one).await;
        let (alice, second) = (&members[0], if per_account { &members[0] } else { &members[1] });
        for number in 0..2 {
            assert_done(&Action::Tweet.call(alice, number).await, "one");
            assert_done(&Action::Tweet.call(&second.at(other.address), number).await, "other");
        }
        too_many(&Action::Tweet.call(alice, 9).await, 15);
        too_many(&Action::Tweet.call(&second.at(other.address), 9).await, 15);
        one.advance(15);
        assert_done(&Action::Tweet.call(&second.at(other.address), 9).await, "other");
        too_many(&Action::Tweet.call(alice, 9).await, 15);
    }
}

#[each_engine("races", &[("rates.tweet_per_account", "5/1h"), ("rates.tweet_per_address", "7/1h")])]
async fn concurrent_actions_take_no_more_than_there_is(server: Server) {
    let members = furnish(&server).await;
    let tasks = (0..20).map(|number| {
        let client = members[number % 2].clone();
        async move { Action::Tweet.call(&client, number).await.status }
    });
    let statuses = crate::concurrency::at_once(tasks).await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 7, "{statuses:?}");
}

#[tokio::test]
async fn the_stored_rate_expires_when_the_bucket_is_full() {
    let (server, members) = site(Engine::Redis, &[("rates.tweet_per_account", "4/1h")]).await;
    let key = format!("rate:tweet:account:{}", members[0].user_id);
    assert_done(&Action::Tweet.call(&members[0], 1).await, "a tweet");
    let full_at: u64 = server.string(&key).await.unwrap().parse().unwrap();
    assert_eq!(full_at, (server.now() + 900) * 1_000_000_000);
    let tidings_keyspace::Expiry::In(left) = server.expiry(&key).await else { panic!("it expires") };
    assert!(left <= std::time::Duration::from_secs(900), "{left:?}");
    let embedded = site(Engine::Memory, &[("rates.tweet_per_account", "4/1h")]).await;
    assert_done(&Action::Tweet.call(&embedded.1[0], 1).await, "a tweet");
    assert!(embedded.0.dump().await.keys().all(|key| !key.starts_with("rate:")));
}

#[in_memory(&[("rates.vote_per_address", "2/1m"), PROXY])]
async fn extensions_vote_so_often_from_an_address(server: Server) {
    let client = server.visitor();
    for number in 0..2 {
        assert_eq!(vote_as_extension(&client, "a.com", 1, &uuid(number)).await.status, 204);
    }
    let answer = vote_as_extension(&client, "a.com", 1, &uuid(3)).await;
    assert_eq!(answer.headers[RETRY_AFTER], "30");
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    let json = answer.json();
    assert_eq!(json["error"], "too_many_requests");
    assert_eq!(json["message"], "Too many votes from your address. Try again in 1 minute.");
    let body = json!({"link": {"hostname": "a.com"}, "value": 1, "user_id": uuid(3)}).to_string();
    let answer = client.post_bytes("/v1/vote", "application/json", body.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.json(), json!({"error": "Too many votes from your address. Try again in 1 minute."}));
    let elsewhere = server.visitor().forwarded_for("192.0.2.1");
    assert_eq!(vote_as_extension(&elsewhere, "a.com", 1, &uuid(3)).await.status, 204);
}

/// Sends the form of a page, which is refused; returns the page that comes back.
async fn refused_form(client: &Client, from: &str, action: &str, field: (&str, &str)) -> Page {
    let form = page(client, from).await.form(action).with(field.0, field.1);
    let answer = form.send(client).await;
    assert!(answer.headers.contains_key(RETRY_AFTER));
    assert!(error_message(&answer, StatusCode::TOO_MANY_REQUESTS).contains("Try again in"));
    Page::of(&answer)
}

#[tokio::test]
async fn what_was_typed_comes_back_in_the_form() {
    let settings = [("rates.comment_per_account", "1/1h"), ("rates.tweet_per_account", "1/1h")];
    let (_server, members) = site(Engine::Memory, &settings).await;
    let alice = &members[0];
    let comment = alice.comment(1, "the first").await;
    for from in ["/news/1".to_owned(), format!("/reply/1/{}", comment - 1)] {
        let back = refused_form(alice, &from, "/postcomment", ("comment", "A <long> text")).await;
        assert_eq!(back.form("/postcomment").value("comment"), Some("A <long> text"));
    }
    // An edit is no comment.
    ok(alice.edit_comment(1, comment, "changed").await);
    alice.tweet("the first").await;
    let back = refused_form(alice, "/home", "/tweet", ("text", "A <long> tweet")).await;
    assert_eq!(back.form("/tweet").value("text"), Some("A <long> tweet"));
}

#[tokio::test]
async fn an_address_reads_so_much() {
    let settings = [("rates.read_per_address", "5/10s"), PROXY, ("rates.exempt", "192.0.2.9")];
    let (server, members) = site(Engine::Memory, &settings).await;
    let visitor = server.visitor();
    let paths = ["/", "/assets/style.css", "/nothing", "/api/getnews/top/0/30", "/"];
    for path in paths {
        assert_ne!(visitor.get(path).await.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
    // Cached or not, found or not, whoever asks.
    for path in ["/", "/latest/0", "/nothing", "/assets/style.css"] {
        let answer = visitor.get(path).await;
        assert_eq!(answer.headers[RETRY_AFTER], "2", "{path}");
        let message = error_message(&answer, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(message, "Too many requests from your address. Try again in 1 minute.");
        assert!(answer.headers.contains_key("content-security-policy"));
    }
    assert_eq!(members[0].get("/home").await.status, StatusCode::TOO_MANY_REQUESTS);
    let head = visitor.request(Method::HEAD, "/").send().await.unwrap();
    assert_eq!(head.status(), StatusCode::TOO_MANY_REQUESTS);
    too_many(&visitor.get("/api/getnews/top/0/30").await, 2);
    let scores = visitor.get("/scores?for=a.com").await;
    assert_eq!(scores.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(scores.headers["access-control-allow-origin"], "*");
    assert_eq!(scores.json()["error"], "too_many_requests");
    assert_eq!(visitor.get("/v1/scores").await.status, StatusCode::INTERNAL_SERVER_ERROR);
    // Posts are not reads, other addresses have their own rate, and some have none.
    members[0].tweet("a tweet").await;
    assert_eq!(visitor.clone().forwarded_for("192.0.2.1").get("/").await.status, StatusCode::OK);
    for _ in 0..8 {
        assert_eq!(visitor.clone().forwarded_for("192.0.2.9").get("/").await.status, StatusCode::OK);
    }
    server.advance(2);
    assert_eq!(visitor.get("/").await.status, StatusCode::OK);
    assert_eq!(visitor.get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn large_answers_have_a_rate_of_their_own_and_count_as_reads() {
    let settings = [("rates.large_per_address", "2/10s"), ("rates.read_per_address", "4/1h")];
    let (server, _) = site(Engine::Memory, &settings).await;
    let visitor = server.visitor();
    for path in ["/news/1", "/rss"] {
        assert_eq!(visitor.get(path).await.status, StatusCode::OK, "{path}");
    }
    let message = too_many(&visitor.get("/api/getcomments/1").await, 5);
    assert_eq!(message, "Too many requests for large pages from your address. Try again in 1 minute.");
    for _ in 0..2 {
        assert_eq!(visitor.get("/").await.status, StatusCode::OK);
    }
    assert_eq!(visitor.get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn administrators_read_no_more_than_others() {
    let (server, members) = site(Engine::Memory, &[("rates.read_per_address", "2/1h")]).await;
    server.set_field(&format!("user:{}", members[0].user_id), "flags", "a").await;
    for _ in 0..2 {
        assert_eq!(members[0].get("/").await.status, StatusCode::OK);
    }
    assert_eq!(members[0].get("/").await.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_refusal_of_another_kind_costs_a_token() {
    let (_server, members) = site(Engine::Memory, &[("rates.vote_per_account", "2/1h")]).await;
    let alice = &members[0];
    assert_done(&Action::VoteNews.call(alice, 1).await, "a vote");
    let again = Action::VoteNews.call(alice, 1).await;
    assert_eq!(again.json()["error"], "You have already voted on this.");
    too_many(&Action::VoteNews.call(alice, 2).await, 1_800);
}
