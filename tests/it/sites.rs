//! Votes on sites over HTTP: the documented calls, those of the original
//! extension, and our own, byte for byte where a client would notice.

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::client::{Client, HttpResponse, each, ok, refused, refused_saying};
use crate::consistency;
use crate::outage::STORE_TIMEOUT;
use crate::pages::{page, redirects_to};
use crate::server::{Engine, Server, each_engine, in_memory};

/// The UUID of a voter.
pub fn uuid(number: usize) -> String {
    format!("beda{number:04}-0822-4342-0990-b92d94d9489a")
}

/// Sends JSON as extensions do, without a preflight.
pub async fn post_text(client: &Client, path: &str, body: &Value) -> HttpResponse {
    client.post_bytes(path, "text/plain;charset=UTF-8", body.to_string().into_bytes()).await
}

/// A vote through the documented call.
pub async fn vote(client: &Client, link: &str, vote: i64, user: &str) -> HttpResponse {
    post_text(client, "/vote", &json!({"link": link, "vote": vote, "user_id": user})).await
}

/// Lets the first so many voters vote the same.
async fn votes(client: &Client, link: &str, value: i64, voters: std::ops::Range<usize>) {
    for number in voters {
        assert_eq!(vote(client, link, value, &uuid(number)).await.status, StatusCode::NO_CONTENT);
    }
}

pub fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

async fn scores(client: &Client, parameter: &str) -> Value {
    let answer = client.get(&format!("/scores?for={}", encoded(parameter))).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.json()
}

pub async fn score(client: &Client, link: &str) -> String {
    scores(client, link).await[0]["score"].as_str().unwrap().to_owned()
}

#[track_caller]
pub fn body(answer: &HttpResponse) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

/// The code of an error of the documented calls, whose message is not empty.
#[track_caller]
pub fn code(answer: &HttpResponse, status: StatusCode) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    let json = answer.json();
    assert_eq!(json.as_object().unwrap().len(), 2, "{json}");
    assert!(!json["message"].as_str().unwrap().is_empty());
    json["error"].as_str().unwrap().to_owned()
}

#[each_engine("one of its kind")]
async fn scores_are_in_the_order_of_the_request_in_every_notation(server: Server) {
    let client = server.visitor();
    votes(&client, "good.com", 1, 0..20).await;
    votes(&client, "bad.com", -1, 0..10).await;
    let expected = r#"[{"link":"bad.com","score":"Bad"},{"link":"unknown.com","score":"NoScore"},{"link":"good.com","score":"Good"}]"#;
    for query in [
        format!("for={}", encoded(r#"["bad.com","unknown.com","good.com"]"#)),
        "for=bad.com,unknown.com,good.com".to_owned(),
        "for=bad.com&for=unknown.com&for=good.com".to_owned(),
        "other=1&for=bad.com&for=%5B%22UNKNOWN.com%22,%22Good.Com.%22%5D".to_owned(),
    ] {
        let answer = client.get(&format!("/scores?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}");
        assert_eq!(answer.headers[CONTENT_TYPE], "application/json");
        assert_eq!(body(&answer), expected, "{query}");
    }
}

#[in_memory]
async fn a_question_that_cannot_be_read_is_refused_with_what_is_wrong(server: Server) {
    let client = server.visitor();
    let hosts = |count: usize| (0..count).map(|n| format!("a{n}.com")).collect::<Vec<_>>().join(",");
    assert_eq!(client.get(&format!("/scores?for={}", hosts(100))).await.status, StatusCode::OK);
    for (query, named) in [
        (String::new(), "for"),
        ("for=".to_owned(), "\\\"\\\""),
        ("for=[]".to_owned(), "for"),
        (format!("for={}", hosts(101)), "for"),
        ("for=[1]".to_owned(), "for"),
        ("for=%5B%22a.com".to_owned(), "for"),
        ("for=a.com,b%20c.com".to_owned(), "b c.com"),
        ("for=a.com,a:80".to_owned(), "a:80"),
        ("for=a.com,%5B::1".to_owned(), "[::1"),
        ("for=::1".to_owned(), "::1"),
        ("for=%FF.com".to_owned(), ".com"),
    ] {
        let answer = client.get(&format!("/scores?{query}")).await;
        assert_eq!(code(&answer, StatusCode::BAD_REQUEST), "invalid", "{query}");
        assert!(body(&answer).contains(named), "{}", body(&answer));
    }
}

#[in_memory]
async fn a_vote_gives_204_and_an_invalid_one_names_the_field(server: Server) {
    let client = server.visitor();
    let answer = vote(&client, "A.com.", 1, &uuid(1)).await;
    assert_eq!((answer.status, body(&answer)), (StatusCode::NO_CONTENT, ""));
    let stored = server.hash("link:a.com:votes").await;
    assert_eq!(stored[&uuid(1)], "+1 2027-01-15T08:00:00Z");
    assert_eq!(server.hash("link:a.com").await["sum_of_votes"], "1");
    assert_eq!(server.hash(&format!("voter:{}", uuid(1))).await["created_at"], "2027-01-15T08:00:00Z");
    let good = json!({"link": "a.com", "vote": 1, "user_id": uuid(1)});
    for (member, wrong) in [
        ("link", json!(null)),
        ("link", json!("")),
        ("link", json!("a b.com")),
        ("link", json!("10.0.0.1")),
        ("link", json!(["a.com"])),
        ("vote", json!(2)),
        ("vote", json!("1")),
        ("vote", json!(0.5)),
        ("vote", json!(1.5)),
        ("vote", json!(null)),
        ("user_id", json!("me")),
        ("user_id", json!(7)),
    ] {
        let mut wrong_body = good.clone();
        wrong_body[member] = wrong;
        let answer = post_text(&client, "/vote", &wrong_body).await;
        assert_eq!(code(&answer, StatusCode::BAD_REQUEST), "invalid", "{wrong_body}");
        let is_named = body(&answer).contains(&format!("The field {member} is wrong"));
        assert!(is_named || body(&answer).contains("site name"), "{}", body(&answer));
        wrong_body.as_object_mut().unwrap().remove(member);
        let answer = post_text(&client, "/vote", &wrong_body).await;
        assert!(body(&answer).contains(member), "{}", body(&answer));
    }
    for (decimal, stored) in [(json!(-1.0), Some("-1")), (json!(0.0), None), (json!(1.0), Some("+1"))] {
        let whole = json!({"link": "a.com", "vote": decimal, "user_id": uuid(1)});
        assert_eq!(post_text(&client, "/vote", &whole).await.status, StatusCode::NO_CONTENT);
        let votes = server.hash("link:a.com:votes").await;
        assert_eq!(votes.get(&uuid(1)).map(|vote| &vote[..2]), stored, "{decimal}");
    }
    for wrong in ["", "x", "[]", "{", "\"a\"", "\u{0}"] {
        let answer = client.post_bytes("/vote", "application/json", wrong.as_bytes().to_vec()).await;
        assert_eq!(code(&answer, StatusCode::BAD_REQUEST), "invalid", "{wrong:?}");
    }
    let large = client.post_bytes("/vote", "application/json", vec![b' '; 200_000]).await;
    assert_eq!(code(&large, StatusCode::PAYLOAD_TOO_LARGE), "invalid");
    assert_eq!(code(&client.get("/vote").await, StatusCode::METHOD_NOT_ALLOWED), "method_not_allowed");
}

#[each_engine("other versions")]
async fn the_story_that_the_original_server_was_tested_with(server: Server) {
    let client = server.visitor();
    let vote = async |host: String, value: i64, user: String| {
        let body = json!({"link": {"hostname": host}, "value": value, "user_id": user});
        post_text(&client, "/v1/vote", &body).await
    };
    let good = async |host: &str, value, user: String| {
        let answer = vote(host.to_owned(), value, user).await;
        assert_eq!((answer.status, body(&answer)), (StatusCode::OK, ""));
        assert_eq!(answer.headers[CONTENT_TYPE], "application/json");
    };
    let fails = async |host: &str, value, user: String, reason: &str| {
        let answer = vote(host.to_owned(), value, user).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(body(&answer), format!(r#"{{"error":"{reason}"}}"#));
    };
    let score = async |host: &str| {
        let from = json!({"links": [{"hostname": host}]}).to_string();
        let answer = client.get(&format!("/v1/scores?from={}", encoded(&from))).await;
        assert_eq!(answer.status, StatusCode::OK);
        answer.json()[0]["score"].as_str().unwrap().to_owned()
    };
    assert_eq!(score("a.com").await, "NoScore");
    for (host, value, before, then) in [("good.com", 1, 19, "Good"), ("bad.com", -1, 9, "Bad")] {
        for number in 0..before {
            good(host, value, uuid(number)).await;
        }
        assert_eq!(score(host).await, "NoScore");
        for number in 100..102 {
            good(host, value, uuid(number)).await;
        }
        assert_eq!(score(host).await, then);
    }
    for number in 0..30 {
        good("controversial.com", -1, uuid(number)).await;
    }
    assert_eq!(score("controversial.com").await, "Bad");
    for number in 100..125 {
        good("controversial.com", 1, uuid(number)).await;
    }
    assert_eq!(score("controversial.com").await, "Controversial");

    let shill = uuid(9999);
    for value in [1, -1] {
        for number in 0..10 {
            good(&format!("shill{number}.com"), value, shill.clone()).await;
        }
    }
    let too_many = "User has voted too many times today";
    fails("shill10.com", 1, shill.clone(), too_many).await;
    server.set_field("settings", "maximum_votes_per_user_per_day", "15").await;
    for number in 10..15 {
        good(&format!("shill{number}.com"), 1, shill.clone()).await;
    }
    fails("shill15.com", 1, shill.clone(), too_many).await;

    server.set_field("settings", "voting_is_disabled", "1").await;
    fails("good.com", 1, uuid(0), "Voting is disabled").await;
    fails("shill15.com", 1, shill.clone(), "Voting is disabled").await;
    fails("new.com", 1, uuid(5000), "Voting is disabled").await;
    let banned = format!("voter:{shill}");
    server.set_field(&banned, "is_banned", "1").await;
    fails("shill15.com", 1, shill.clone(), "User is banned").await;
    server.set_field("settings", "voting_is_disabled", "0").await;
    fails("shill1.com", 1, shill.clone(), "User is banned").await;
    server.set_field(&banned, "is_banned", "0").await;
    good("shill1.com", 1, shill.clone()).await;
    consistency::check_site(&server).await;
}

#[in_memory]
async fn the_original_extension_gets_names_as_it_sent_them_and_500_for_everything_else(server: Server) {
    let client = server.visitor();
    votes(&client, "a.com", 1, 0..20).await;
    let from = r#"{"links":[{"hostname":"A.Com"},{"hostname":"localhost"},{"hostname":"10.0.0.1"},{"hostname":"a.com"}]}"#;
    let answer = client.get(&format!("/v1/scores?from={}", encoded(from))).await;
    let expected = r#"[{"link":{"hostname":"A.Com"},"score":"Good"},{"link":{"hostname":"localhost"},"score":"NoScore"},{"link":{"hostname":"10.0.0.1"},"score":"NoScore"},{"link":{"hostname":"a.com"},"score":"Good"}]"#;
    assert_eq!((answer.status, body(&answer)), (StatusCode::OK, expected));

    let fails = |answer: HttpResponse, what: &str| {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{what}");
        let json = answer.json();
        assert_eq!(json.as_object().unwrap().len(), 1, "{what}: {json}");
        assert!(!json["error"].as_str().unwrap().is_empty());
    };
    let many = json!({"links": vec![json!({"hostname": "a.com"}); 101]}).to_string();
    for from in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"links":[]}"#,
        r#"{"links":["a.com"]}"#,
        &many,
        r#"{"links":[{"hostname":"a b"}]}"#,
        r#"{"links":[{"hostname":"a.com"},{"hostname":""}]}"#,
    ] {
        fails(client.get(&format!("/v1/scores?from={}", encoded(from))).await, from);
    }
    fails(client.get("/v1/scores").await, "no parameter");
    fails(client.get("/v1/vote").await, "another method");
    let good = json!({"link": {"hostname": "a.com"}, "value": 1, "user_id": uuid(1)});
    assert_eq!(post_text(&client, "/v1/vote", &good).await.status, StatusCode::OK);
    for (member, wrong) in [
        ("link", json!("a.com")),
        ("link", json!({"hostname": "localhost"})),
        ("value", json!(0)),
        ("value", json!(2)),
        ("value", json!("1")),
        ("user_id", json!("x")),
    ] {
        let mut wrong_body = good.clone();
        wrong_body[member] = wrong;
        fails(post_text(&client, "/v1/vote", &wrong_body).await, &wrong_body.to_string());
    }
    fails(client.post_bytes("/v1/vote", "text/plain", vec![b' '; 200_000]).await, "large");
}

#[track_caller]
fn assert_open(headers: &HeaderMap, what: &str) {
    assert_eq!(headers["access-control-allow-origin"], "*", "{what}");
    assert_eq!(headers["access-control-allow-headers"], "*", "{what}");
    assert_eq!(headers["access-control-allow-methods"], "POST, GET", "{what}");
}

#[in_memory]
async fn everything_about_sites_may_be_called_from_anywhere_errors_included(server: Server) {
    let client = server.visitor().with_header("origin", "https://www.example.com");
    for (path, status) in [
        ("/scores?for=a.com", 200),
        ("/scores", 400),
        ("/vote", 405),
        ("/v1/scores", 500),
        ("/v1/other", 404),
        ("/api/sites/history/a.com", 200),
        ("/api/sites/history/localhost", 200),
        ("/api/sites/nothing", 404),
        ("/api/sites/vote", 405),
        ("/api/sites/prefix/abcd", 200),
        ("/api/sites/admin/top_voters/2027-01-15", 200),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        assert_open(&answer.headers, path);
        let preflight = client.request(Method::OPTIONS, path).send().await.unwrap();
        assert_eq!(preflight.status(), StatusCode::NO_CONTENT, "{path}");
        assert_open(preflight.headers(), path);
    }
    let large = client.post_bytes("/vote", "text/plain", vec![b' '; 200_000]).await;
    assert_open(&large.headers, "too large");
    for path in ["/", "/api/getnews/top/0/1", "/site/a.com", "/sites", "/login"] {
        let headers = client.get(path).await.headers;
        assert!(!headers.contains_key("access-control-allow-origin"), "{path}");
    }
}

#[in_memory]
async fn a_voter_has_so_many_new_hosts_a_day_and_changes_are_free(server: Server) {
    let client = server.visitor();
    let me = uuid(1);
    server.set_field("settings", "maximum_votes_per_user_per_day", "3").await;
    for host in ["a.com", "b.com", "c.com"] {
        assert_eq!(vote(&client, host, 1, &me).await.status, 204);
    }
    assert_eq!(code(&vote(&client, "d.com", 1, &me).await, StatusCode::FORBIDDEN), "too_many_votes");
    // Changing is free, and so is voting the same again; taking back frees the place.
    assert_eq!(vote(&client, "a.com", -1, &me).await.status, 204);
    assert_eq!(vote(&client, "a.com", -1, &me).await.status, 204);
    assert_eq!(vote(&client, "e.com", 0, &me).await.status, 204);
    assert_eq!(vote(&client, "a.com", 0, &me).await.status, 204);
    assert_eq!(vote(&client, "d.com", 1, &me).await.status, 204);
    assert_eq!(code(&vote(&client, "a.com", 1, &me).await, StatusCode::FORBIDDEN), "too_many_votes");

    // The next day: old votes move to today without taking a place.
    server.advance(86_400);
    for host in ["b.com", "c.com", "d.com"] {
        assert_eq!(vote(&client, host, -1, &me).await.status, 204);
    }
    for host in ["e.com", "f.com", "g.com"] {
        assert_eq!(vote(&client, host, 1, &me).await.status, 204);
    }
    // A vote that was not new today frees no place.
    assert_eq!(vote(&client, "b.com", 0, &me).await.status, 204);
    assert_eq!(code(&vote(&client, "h.com", 1, &me).await, StatusCode::FORBIDDEN), "too_many_votes");
    let counted = server.sorted("day:2027-01-16:voters:count").await;
    assert_eq!(counted, [(me.clone(), 5.0)]);
    consistency::check_site(&server).await;
}

#[each_engine("keys")]
async fn a_vote_that_is_taken_back_leaves_nothing_behind(server: Server) {
    let client = server.visitor();
    votes(&client, "kept.com", 1, 0..1).await;
    let before = server.dump().await;
    for value in [1, -1, 0] {
        assert_eq!(vote(&client, "gone.com", value, &uuid(0)).await.status, 204);
    }
    let after = server.dump().await;
    let keys: Vec<_> = after.keys().collect();
    assert_eq!(keys, before.keys().collect::<Vec<_>>());
    for key in ["links:sum", "links:count", "day:2027-01-15:links:sum", "day:2027-01-15:links:count"] {
        assert_eq!(after[key], before[key], "{key}");
    }
}

#[in_memory(&[("limits.new_voters_per_day", "20")])]
async fn an_address_brings_so_many_new_voters_a_day(server: Server) {
    let client = server.visitor();
    let tasks = (0..64).map(|number| {
        let client = client.clone();
        async move { vote(&client, "a.com", 1, &uuid(number)).await.status.as_u16() }
    });
    let statuses = crate::concurrency::at_once(tasks).await;
    assert_eq!(statuses.iter().filter(|status| **status == 204).count(), 20, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 44, "{statuses:?}");
    let answer = vote(&client, "a.com", 1, &uuid(100)).await;
    assert_eq!(code(&answer, StatusCode::TOO_MANY_REQUESTS), "too_many_voters");
    // Known voters can still vote.
    let known = statuses.iter().position(|status| *status == 204).unwrap();
    assert_eq!(vote(&client, "b.com", 1, &uuid(known)).await.status, 204);
    server.advance(86_400);
    assert_eq!(vote(&client, "a.com", 1, &uuid(100)).await.status, 204);
    consistency::check_site(&server).await;
}

#[in_memory]
async fn an_account_votes_as_a_hidden_voter_of_its_own(server: Server) {
    let admin = server.administrator("admin").await;
    let alice = server.member("alice").await;
    for (link, value) in [("a.com", "1"), ("a.com", "-1"), ("b.com", "1")] {
        ok(alice.api_post("/api/sites/vote", &[("link", link), ("vote", value)]).await);
    }
    let voter = server.field(&format!("user:{}", alice.user_id), "voter").await.unwrap();
    assert_eq!(server.hash(&format!("voter:{voter}")).await["user_id"], alice.user_id.to_string());
    assert_eq!(server.hash("link:a.com:votes").await[&voter][..2], *"-1");
    for path in ["/site/a.com", "/sites", "/user/alice", "/api/sites/history/a.com", "/"] {
        for client in [&server.visitor(), &alice, &admin] {
            let page = client.get(path).await;
            assert_eq!(page.status, StatusCode::OK, "{path}");
            assert!(!body(&page).contains(&voter), "{path}");
        }
    }
    for (fields, named) in [
        ("vote=1", "link"),
        ("link=localhost&vote=1", "localhost"),
        ("link=a.com", "vote"),
        ("link=a.com&vote=2", "vote"),
        ("link=a.com&vote=1&apisecret=x", "session"),
    ] {
        refused_saying(alice.call(&format!("/api/sites/vote?{fields}")).await, named);
    }
    let reason = refused(server.visitor().call("/api/sites/vote?link=a.com&vote=1").await);
    assert_eq!(reason, "You must be logged in.");
    consistency::check_site(&server).await;
}

#[in_memory]
async fn own_votes_are_in_the_order_of_the_request(server: Server) {
    let client = server.visitor();
    votes(&client, "a.com", -1, 1..2).await;
    let asked = json!({"user_id": uuid(1), "links": ["b.com", "A.com"]});
    let answer = ok(post_text(&client, "/api/sites/own", &asked).await.json());
    let expected = json!([
        {"link": "b.com", "vote": 0, "time": null},
        {"link": "a.com", "vote": -1, "time": "2027-01-15T08:00:00Z"},
    ]);
    assert_eq!(answer["votes"], expected);
    let other = json!({"user_id": uuid(2), "links": ["a.com"]});
    assert_eq!(post_text(&client, "/api/sites/own", &other).await.json()["votes"][0]["vote"], 0);
    for wrong in [
        json!({"links": ["a.com"]}),
        json!({"user_id": uuid(1)}),
        json!({"user_id": uuid(1), "links": []}),
        json!({"user_id": uuid(1), "links": [1]}),
        json!({"user_id": uuid(1), "links": vec!["a.com"; 101]}),
        json!({"user_id": "x", "links": ["a.com"]}),
    ] {
        refused(post_text(&client, "/api/sites/own", &wrong).await.json());
    }
    assert_eq!(post_text(&client, "/api/sites/own", &json!("x")).await.status, StatusCode::OK);
    assert_eq!(client.post_bytes("/api/sites/own", "text/plain", b"{".to_vec()).await.status, 400);
}

#[in_memory]
async fn histories_and_leaderboards_tell_days_weeks_months_and_all_time(server: Server) {
    let client = server.visitor();
    votes(&client, "old.com", 1, 0..6).await;
    server.advance(40 * 86_400);
    votes(&client, "month.com", 1, 0..5).await;
    server.advance(10 * 86_400);
    votes(&client, "week.com", 1, 0..4).await;
    votes(&client, "bad.com", -1, 0..3).await;
    server.advance(86_400);
    votes(&client, "day.com", 1, 0..2).await;
    votes(&client, "week.com", 1, 4..5).await;
    votes(&client, "mixed.com", 1, 0..2).await;
    votes(&client, "mixed.com", -1, 2..4).await;
    let board = async |list: &str, span: &str| -> Vec<String> {
        let answer = ok(client.api_get(&format!("/api/sites/leaderboard/{list}/{span}")).await);
        let sites = answer["sites"].as_array().unwrap().iter();
        let line =
            |site: &Value| format!("{} {} {}", site["link"].as_str().unwrap(), site["sum"], site["count"]);
        sites.map(line).collect()
    };
    assert_eq!(board("best", "day").await, ["day.com 2 2", "week.com 1 1"]);
    assert_eq!(board("best", "week").await, ["week.com 5 5", "day.com 2 2"]);
    assert_eq!(board("best", "month").await, ["month.com 5 5", "week.com 5 5", "day.com 2 2"]);
    assert_eq!(board("best", "all").await, ["old.com 6 6", "month.com 5 5", "week.com 5 5", "day.com 2 2"]);
    assert_eq!(board("worst", "week").await, ["bad.com -3 3"]);
    assert!(board("worst", "day").await.is_empty());
    assert_eq!(board("voted", "day").await, ["mixed.com 0 4", "day.com 2 2", "week.com 1 1"]);
    assert_eq!(board("controversial", "week").await, ["mixed.com 0 4"]);
    assert_eq!(board("controversial", "all").await, ["mixed.com 0 4"]);

    let history = ok(client.api_get("/api/sites/history/Week.com?days=7").await);
    let expected = json!({"status": "ok", "link": "week.com", "score": "NoScore", "sum": 5, "count": 5, "days": [
        {"day": "2027-03-06", "sum": 4, "count": 4}, {"day": "2027-03-07", "sum": 1, "count": 1},
    ]});
    assert_eq!(history, expected);
    let today = ok(client.api_get("/api/sites/history/week.com?days=1").await);
    assert_eq!(today["days"], json!([{"day": "2027-03-07", "sum": 1, "count": 1}]));
    let unknown = ok(client.api_get("/api/sites/history/unknown.com").await);
    assert_eq!((&unknown["count"], &unknown["days"]), (&json!(0), &json!([])));
    for (path, named) in [
        ("history/localhost", "localhost"),
        ("history/a.com?days=0", "days"),
        ("history/a.com?days=366", "days"),
        ("history/a.com?days=x", "days"),
        ("leaderboard/top/day", "list"),
        ("leaderboard/best/year", "span"),
    ] {
        refused_saying(client.api_get(&format!("/api/sites/{path}")).await, named);
    }
}

#[in_memory]
async fn the_lookup_by_prefix_gives_the_same_scores_and_is_cacheable(server: Server) {
    let client = server.visitor();
    votes(&client, "good.com", 1, 0..20).await;
    votes(&client, "bad.com", -1, 0..10).await;
    votes(&client, "some.com", 1, 0..3).await;
    for host in ["good.com", "bad.com", "some.com", "unknown.com"] {
        let hash = hex::encode(Sha256::digest(host));
        let plain = score(&client, host).await;
        for digits in 4..=8 {
            let answer = client.get(&format!("/api/sites/prefix/{}", &hash[..digits])).await;
            let json = ok(answer.json());
            let found = json["sites"].as_array().unwrap().iter().find(|site| site["link"] == host);
            let private = found.map_or("NoScore", |site| site["score"].as_str().unwrap());
            assert_eq!(private, plain, "{host} by {digits} digits");
            assert_eq!(answer.headers["cache-control"], "public, max-age=300");
            let tag = answer.headers["etag"].to_str().unwrap();
            for known in [tag.to_owned(), format!("\"x\", {tag}"), tag[2..].to_owned()] {
                let again = client.clone().with_header("if-none-match", &known);
                let again = again.get(&format!("/api/sites/prefix/{}", hash[..digits].to_uppercase())).await;
                assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
                assert_eq!(again.headers["etag"], tag);
            }
            let other = client.clone().with_header("if-none-match", "W/\"0123\"");
            assert_eq!(other.get(&format!("/api/sites/prefix/{hash:.4}")).await.status, 200);
        }
    }
    for wrong in ["abc", "abcdefabc", "xyz1"] {
        refused_saying(client.api_get(&format!("/api/sites/prefix/{wrong}")).await, "hex");
    }
}

#[in_memory]
async fn a_ban_takes_all_votes_out_and_lifting_it_puts_them_back(server: Server) {
    let admin = server.administrator("admin").await;
    let client = server.visitor();
    let me = uuid(0);
    ok(admin.api_post("/api/sites/admin/settings", &[("maximum_votes_per_user_per_day", "1000")]).await);
    votes(&client, "a.com", 1, 0..20).await;
    for number in 0..230 {
        assert_eq!(vote(&client, &format!("s{number}.com"), 1, &me).await.status, 204);
    }
    server.advance(86_400);
    assert_eq!(vote(&client, "s7.com", -1, &me).await.status, 204);
    let figures = |dump: consistency::Dump| -> Vec<_> {
        let is_figure =
            |key: &String| key.starts_with("link") || key.starts_with("day:") || key.starts_with("prefix:");
        dump.into_iter().filter(|(key, _)| is_figure(key)).collect()
    };
    let before = figures(server.dump().await);
    assert_eq!(score(&client, "a.com").await, "Good");

    let user = [("user_id", me.as_str())];
    ok(admin.api_post("/api/sites/admin/ban", &user).await);
    assert_eq!(score(&client, "a.com").await, "NoScore");
    assert_eq!(code(&vote(&client, "new.com", 1, &me).await, StatusCode::FORBIDDEN), "banned");
    assert_eq!(code(&vote(&client, "a.com", 0, &me).await, StatusCode::FORBIDDEN), "banned");
    assert_eq!(server.number("link:s3.com", "count_of_votes").await, 0);
    let dump = server.dump().await;
    consistency::check(&dump);
    assert!(!dump.contains_key("sites:unfinished"));
    // Again changes nothing, and is not noted.
    ok(admin.api_post("/api/sites/admin/ban", &user).await);
    assert_eq!(server.dump().await, dump);

    ok(admin.api_post("/api/sites/admin/unban", &user).await);
    assert_eq!(figures(server.dump().await), before);
    assert_eq!(vote(&client, "a.com", -1, &me).await.status, 204);
    consistency::check_site(&server).await;

    let audit = server.sorted("sites:audit").await;
    let audit: Vec<Value> = audit.iter().map(|(line, _)| serde_json::from_str(line).unwrap()).collect();
    let mut noted: Vec<&str> = audit.iter().map(|line| line["what"].as_str().unwrap()).collect();
    noted.sort_unstable();
    assert_eq!(noted, ["ban", "settings", "unban"]);
    assert!(audit.iter().all(|line| line["by"] == "admin"), "{audit:?}");
}

#[in_memory]
async fn only_administrators_see_voters_and_their_votes(server: Server) {
    let admin = server.administrator("admin").await;
    let (member, client) = (server.member("bob").await, server.visitor());
    let me = uuid(1);
    for (host, value) in [("a.com", 1), ("b.com", -1), ("c.com", 1)] {
        assert_eq!(vote(&client, host, value, &me).await.status, 204);
        server.advance(60);
    }
    votes(&client, "a.com", 1, 2..3).await;

    let path = format!("/api/sites/admin/voter/{me}");
    let details = ok(admin.api_get(&path).await);
    let expected =
        json!({"user_id": me, "created_at": "2027-01-15T08:00:00Z", "is_banned": false, "count": 3});
    assert_eq!(details["voter"], expected);
    let listed =
        async |range: &str| each(&ok(admin.api_get(&format!("{path}/votes{range}")).await)["votes"], "link");
    assert_eq!(listed("").await, ["c.com", "b.com", "a.com"]);
    assert_eq!(listed("?from=2027-01-15T08:01:00Z").await, ["c.com", "b.com"]);
    assert_eq!(listed("?to=2027-01-15T08:01:00Z").await, ["a.com"]);
    assert_eq!(listed("?from=2027-01-15T09:00:30%2B01:00&to=2027-01-15T08:01:30Z").await, ["b.com"]);
    let first = ok(admin.api_get(&format!("{path}/votes?to=2027-01-15T08:00:01Z")).await);
    assert_eq!(first["votes"], json!([{"link": "a.com", "vote": 1, "time": "2027-01-15T08:00:00Z"}]));
    let voters = ok(admin.api_get("/api/sites/admin/top_voters/2027-01-15").await);
    let expected = json!([
        {"user_id": me, "count": 3, "sum": 1}, {"user_id": uuid(2), "count": 1, "sum": 1},
    ]);
    assert_eq!(voters["voters"], expected);
    ok(admin.api_post("/api/sites/admin/settings", &[("voting_is_disabled", "1")]).await);
    assert_eq!(code(&vote(&client, "d.com", 1, &me).await, StatusCode::FORBIDDEN), "voting_disabled");
    ok(admin.api_post("/api/sites/admin/settings", &[("voting_is_disabled", "0")]).await);
    assert_eq!(server.hash("settings").await["voting_is_disabled"], "0");

    for (path, named) in [
        (format!("{path}/votes?from=yesterday"), "from"),
        (format!("{path}/votes?to=2027"), "to"),
        ("/api/sites/admin/voter/me".to_owned(), "user_id"),
        (format!("/api/sites/admin/voter/{}", uuid(77)), "There is no such voter."),
        ("/api/sites/admin/top_voters/today".to_owned(), "date"),
    ] {
        refused_saying(admin.api_get(&path).await, named);
    }
    for (field, wrong) in [
        ("maximum_votes_per_user_per_day", "-1"),
        ("maximum_votes_per_user_per_day", "1000001"),
        ("voting_is_disabled", "yes"),
    ] {
        refused_saying(admin.api_post("/api/sites/admin/settings", &[(field, wrong)]).await, field);
    }
    let unknown = admin.api_post("/api/sites/admin/ban", &[("user_id", &uuid(77))]).await;
    refused_saying(unknown, "There is no such voter.");

    let before = server.dump().await;
    for path in [path.clone(), format!("{path}/votes"), "/api/sites/admin/top_voters/2027-01-15".to_owned()] {
        assert_eq!(refused(member.api_get(&path).await), "Only administrators can do this.");
        assert_eq!(refused(client.api_get(&path).await), "You must be logged in.");
    }
    for call in ["ban", "unban", "settings"] {
        let fields = [("user_id", me.as_str()), ("voting_is_disabled", "1")];
        let reason = refused(member.api_post(&format!("/api/sites/admin/{call}"), &fields).await);
        assert_eq!(reason, "Only administrators can do this.");
    }
    assert_eq!(server.dump().await, before);
}

#[each_engine("rounds")]
async fn a_hundred_scores_take_one_round_and_the_rest_takes_few(server: Server) {
    let client = server.visitor();
    votes(&client, "a0.com", 1, 0..3).await;
    let hosts: Vec<String> = (0..100).map(|number| format!("a{number}.com")).collect();
    let from: Vec<Value> = hosts.iter().map(|host| json!({"hostname": host})).collect();
    let from = encoded(&json!({"links": from}).to_string());
    let hash = hex::encode(Sha256::digest("a0.com"));
    for (path, rounds) in [
        (format!("/scores?for={}", hosts.join(",")), 1),
        (format!("/v1/scores?from={from}"), 1),
        ("/api/sites/history/a0.com?days=365".to_owned(), 1),
        ("/api/sites/leaderboard/best/all".to_owned(), 2),
        ("/api/sites/leaderboard/controversial/month".to_owned(), 2),
        (format!("/api/sites/prefix/{hash:.4}"), 2),
    ] {
        assert_eq!(server.rounds_of(&client, &path).await, rounds, "{path}");
    }
    for (value, rounds) in [(1, 2), (-1, 2), (-1, 1), (0, 3)] {
        let cast = server.rounds_during(vote(&client, "b.com", value, &uuid(1))).await;
        assert_eq!(cast, rounds, "{value}");
    }
}

#[tokio::test]
async fn while_the_store_is_away_every_face_says_so_in_its_own_way() {
    let mut server = Server::start(Engine::Redis, &[STORE_TIMEOUT]).await;
    let client = server.visitor();
    server.redis.as_mut().unwrap().stop();
    for answer in [client.get("/scores?for=a.com").await, vote(&client, "a.com", 1, &uuid(1)).await] {
        assert_eq!(code(&answer, StatusCode::SERVICE_UNAVAILABLE), "unavailable");
        assert_eq!(answer.headers["retry-after"], "10");
        assert_open(&answer.headers, "unavailable");
    }
    let from = encoded(r#"{"links":[{"hostname":"a.com"}]}"#);
    let deployed = client.get(&format!("/v1/scores?from={from}")).await;
    assert_eq!(deployed.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(deployed.json()["error"].as_str().unwrap().contains("database"));
    assert_open(&deployed.headers, "unavailable");
    let ours = client.get("/api/sites/history/a.com").await;
    assert_eq!(ours.status, StatusCode::SERVICE_UNAVAILABLE);
    refused(ours.json());
    assert_open(&ours.headers, "unavailable");
}

#[tokio::test]
async fn a_setting_says_which_sites_are_marked() {
    for (marks, good, bad) in [("distrusted", 0, 1), ("all", 1, 1), ("none", 0, 0)] {
        let server = Server::start(Engine::Memory, &[("sites.marks", marks)]).await;
        let (alice, visitor) = (server.member("alice").await, server.visitor());
        alice.submit_link("From there", "https://good.com/page").await;
        alice.submit_link("From elsewhere", "https://other.com/").await;
        votes(&visitor, "good.com", 1, 0..20).await;
        votes(&visitor, "other.com", -1, 0..10).await;
        let latest = page(&visitor, "/latest/0").await;
        let marked = |words: &str| latest.all("a").filter(|link| link.text() == words).count();
        assert_eq!((marked("good site"), marked("distrusted site")), (good, bad), "{marks}");
    }
}

#[in_memory]
async fn the_pages_of_sites_show_votes_news_and_the_way_to_vote(server: Server) {
    let (alice, visitor) = (server.member("alice").await, server.visitor());
    alice.submit_link("From there", "https://www.Good.com/page").await;
    alice.submit_link("From elsewhere", "https://other.com/").await;
    alice.submit_link("No site", "http://127.0.0.1/").await;
    votes(&visitor, "www.good.com", 1, 0..20).await;
    votes(&visitor, "other.com", -1, 0..10).await;
    for path in ["/", "/latest/0", "/news/1", "/usernews/alice/0"] {
        let page = page(&visitor, path).await;
        assert!(page.links_to("/site/good.com"), "{path}");
        assert!(!page.text().contains("good site") && !page.text().contains("site: good"), "{path}");
    }
    assert!(page(&visitor, "/site/good.com").await.text().contains("site: good"));
    // Only a site that people distrust is marked, with a link to its page.
    let latest = page(&visitor, "/latest/0").await;
    let marks = latest.find("a", &[("class", "host"), ("href", "/site/other.com")]);
    assert_eq!(marks.iter().map(|mark| mark.text()).collect::<Vec<_>>(), ["other.com", "distrusted site"]);
    assert!(!latest.links_to("/site/127.0.0.1"));

    let site = page(&visitor, "/site/Good.com").await;
    assert!(site.text().contains("From there") && !site.text().contains("From elsewhere"));
    let voted = alice.answer_to("/votesite?link=www.good.com&vote=-1&next=/site/good.com").await;
    assert_eq!(redirects_to(&voted), "/site/good.com");
    let site = alice.get("/site/good.com").await;
    for part in [
        r#"value="-1" aria-pressed="true""#,
        "<dd>20</dd>",
        "<dd>1</dd>",
        "<dd>+19</dd>",
        "Take back my vote",
    ] {
        assert!(body(&site).contains(part), "{part} in {}", body(&site));
    }
    let site = visitor.text("/site/good.com").await;
    assert!(site.contains("Log in to vote") && !site.contains("/votesite"), "{site}");
    assert_eq!(server.number("link:www.good.com", "sum_of_votes").await, 19);

    for (path, status) in [
        ("/site/localhost", 404),
        ("/site/127.0.0.1", 404),
        ("/site/a%20b.com", 404),
        ("/site/nobody.example", 200),
        ("/sites/best/year", 404),
        ("/sites?host=localhost", 422),
        ("/sites?host=%3Cscript%3E", 422),
    ] {
        assert_eq!(visitor.get(path).await.status.as_u16(), status, "{path}");
    }
    let found = visitor.get("/sites?host=https%3A%2F%2FOther.com%2Fx").await;
    assert_eq!(redirects_to(&found), "/site/other.com");
    let board = page(&visitor, "/sites/worst/day").await;
    assert!(board.links_to("/site/other.com"));

    // News that move or go take their place with them.
    ok(alice.edit(1, "From there", "https://moved.com/", "").await);
    ok(alice.delete(2).await);
    for (path, shown) in [("/site/good.com", false), ("/site/moved.com", true), ("/site/other.com", false)] {
        let page = page(&visitor, path).await;
        assert_eq!(page.text().contains("From "), shown, "{path}");
    }
    consistency::check_site(&server).await;
}

#[in_memory]
async fn badges_cost_no_round(server: Server) {
    let alice = server.member("alice").await;
    for number in 0..40 {
        let url = format!("https://site{}.com/{number}", number % 30);
        alice.submit_link(&format!("Link {number}"), &url).await;
    }
    votes(&server.visitor(), "site3.com", 1, 0..20).await;
    for (client, path, rounds) in [
        (&server.visitor(), "/latest/0", 3),
        (&alice, "/latest/0", 3),
        (&server.visitor(), "/news/4", 2),
        (&server.visitor(), "/site/site3.com", 3),
        (&server.visitor(), "/site/empty.com", 1),
        (&alice, "/site/site3.com", 3),
        (&server.visitor(), "/sites", 2),
        (&alice, "/sites/voted/month", 2),
    ] {
        assert_eq!(server.cold_rounds_of(client, path).await, rounds, "{path}");
        assert!(client.text(path).await.contains("site3.com") || path.contains("empty"), "{path}");
    }
    ok(alice.api_post("/api/sites/vote", &[("link", "site3.com"), ("vote", "1")]).await);
    assert_eq!(server.rounds_of(&alice, "/site/site3.com").await, 4);
}

#[in_memory]
async fn administrators_do_on_a_page_what_they_can_do_over_the_api(server: Server) {
    let (admin, member) = (server.administrator("admin").await, server.member("bob").await);
    let me = uuid(1);
    votes(&server.visitor(), "a.com", 1, 0..3).await;
    let user = [("user_id", me.as_str())];
    let banned = admin.post("/admin/sites/ban", &user).await;
    assert_eq!(banned.status, StatusCode::SEE_OTHER);
    let page = admin.get(banned.headers["location"].to_str().unwrap()).await;
    for part in ["Lift the ban", "/site/a.com", "2027-01-15T08:00:00Z", &me, "<td>ban</td>"] {
        assert!(body(&page).contains(part), "{part} in {}", body(&page));
    }
    assert_eq!(server.number("link:a.com", "count_of_votes").await, 2);
    admin.post("/admin/sites/unban", &user).await;
    assert_eq!(server.number("link:a.com", "count_of_votes").await, 3);
    admin.post("/admin/sites/settings", &[("maximum_votes_per_user_per_day", "4711")]).await;
    assert!(body(&admin.get("/admin/sites").await).contains(r#"value="4711""#));
    let unknown = admin.get(&format!("/admin/sites?voter={}", uuid(99))).await;
    assert!(body(&unknown).contains("There is no such voter."));
    let before = server.dump().await;
    assert_eq!(member.get("/admin/sites").await.status, StatusCode::FORBIDDEN);
    assert_eq!(server.visitor().get("/admin/sites").await.status, StatusCode::SEE_OTHER);
    for call in ["ban", "unban", "settings"] {
        let fields = [("user_id", me.as_str()), ("voting_is_disabled", "1")];
        assert_eq!(member.post(&format!("/admin/sites/{call}"), &fields).await.status, StatusCode::FORBIDDEN);
    }
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn a_page_of_another_site_cannot_make_its_visitors_vote() {
    let origins = ("sites.vote_origins", "https://search.example, http://search.example:8080");
    let server = Server::start(Engine::Memory, &[origins, ("site.url", "https://news.example.com")]).await;
    let documented = json!({"link": "a.com", "vote": 1, "user_id": uuid(1)});
    let deployed = json!({"link": {"hostname": "a.com"}, "value": 1, "user_id": uuid(1)});
    let own = json!({"user_id": uuid(1), "links": ["a.com"]});
    let calls = [("/vote", &documented), ("/v1/vote", &deployed), ("/api/sites/own", &own)];
    for origin in ["https://evil.example", "http://news.example.com", "null", "https://search.example:8443"] {
        let page = server.visitor().with_header("origin", origin);
        for (path, body) in calls {
            let answer = post_text(&page, path, body).await;
            let text = answer.text();
            assert!(text.to_lowercase().contains("other web sites can't vote here"), "{text}");
            assert_open(&answer.headers, path);
            let json = answer.json();
            match path {
                "/vote" => assert_eq!((answer.status.as_u16(), &json["error"]), (403, &json!("invalid"))),
                "/v1/vote" => assert_eq!(answer.status, 500),
                _ => assert_eq!((answer.status.as_u16(), &json["status"]), (403, &json!("err"))),
            }
        }
        // Scores stay open.
        assert_eq!(page.get("/scores?for=a.com").await.status, 200);
    }
    assert!(server.hash("link:a.com").await.is_empty());
    let extensions = ["chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb", "moz-extension://3f504997-80b7"];
    let pages = ["https://news.example.com", "https://search.example", "http://search.example:8080"];
    for origin in extensions.into_iter().chain(pages) {
        let client = server.visitor().with_header("origin", origin);
        for (path, body) in calls {
            assert!(post_text(&client, path, body).await.status.is_success(), "{origin} {path}");
        }
    }
    assert_eq!(server.hash("link:a.com").await["count_of_votes"], "1");
}
