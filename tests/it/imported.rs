//! A database of the original Lamer News serves as it is, and stays one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::client::{Client, ok, refused};
use crate::concurrency::at_once;
use crate::original::{self, ACCOUNTS, APISECRET, AUTH, AUTH_2011, LEGACY_SALT, URL};
use crate::redis_commands::RedisCommands;
use crate::server::{START, Server};
use tidings_domain::keys::families::{self, Family, Holds};

async fn imported_site() -> (Server, RedisCommands) {
    let database = original::database().await;
    let redis = RedisCommands::connect(&database).await;
    (Server::on_redis(database, &[("accounts.legacy_salt", LEGACY_SALT)]).await, redis)
}

#[tokio::test]
async fn the_original_is_served_reading_changes_nothing_but_ranks_and_its_sessions_stay_valid() {
    let (server, _) = imported_site().await;
    let before = server.dump().await;
    let visitor = server.visitor();
    for path in ["/api/getnews/top/0/30", "/api/getnews/latest/0/30", "/api/getcomments/1"] {
        ok(visitor.api_get(path).await);
    }
    let after = server.dump().await;
    let changed: Vec<&String> = after.keys().filter(|key| before.get(*key) != after.get(*key)).collect();
    // A start of the program lists them by votes, too.
    assert_eq!(changed, ["news.top", "news.votes:day", "news:1", "news:2"]);
    assert_eq!(before.len() + 1, after.len());
    for news in ["news:1", "news:2"] {
        let without_rank = |dump| {
            let mut hash = crate::consistency::hash(dump, news);
            hash.remove("rank");
            hash
        };
        assert_eq!(without_rank(&after), without_rank(&before));
    }
    let link = json!({
        "id": 1, "title": "An original link", "url": URL, "ctime": START - 3_600,
        "up": 2, "down": 1, "comments": 2, "username": "Bob",
    });
    let text = json!({
        "id": 2, "title": "An original text", "url": "text://Hello\nworld", "ctime": START - 60,
        "up": 1, "down": 0, "comments": 0, "username": "Antirez",
    });
    assert_eq!(visitor.list("latest").await, [text.clone(), link.clone()]);
    assert_eq!(visitor.list("top").await, [text, link]);
    let thread = json!([{
        "id": 1, "body": "First <b>!</b>", "html": "<p>First &lt;b&gt;!&lt;/b&gt;</p>", "ctime": START - 3_000,
        "username": "Bob",
        "up": 1, "down": 0,
        "replies": [{
            "id": 2, "body": "An answer", "html": "<p>An answer</p>", "ctime": START - 2_000, "username": "Antirez",
            "up": 2, "down": 1, "replies": [],
        }],
    }]);
    assert_eq!(json!(visitor.thread(1).await), thread);
    assert_eq!(json!(visitor.thread(2).await), json!([]));
    assert_eq!(json!(visitor.thread(3).await), json!([]));
    let admin = server.visitor().with_secrets(Some(AUTH), Some(APISECRET));
    assert!(admin.is_logged_in().await);
    let upper = server.visitor().with_secrets(Some(&AUTH.to_uppercase()), Some(APISECRET));
    assert!(upper.is_logged_in().await);
    let thread = admin.thread(1).await;
    assert_eq!(thread[0]["replies"][0]["voted"], "up");
    let bob = server.visitor().with_secrets(Some(AUTH_2011), None);
    for secret in [None, Some("")] {
        assert!(!bob.with_secrets(Some(AUTH_2011), secret).is_logged_in().await);
    }
}

#[tokio::test]
async fn every_password_of_the_original_is_accepted_and_upgraded_at_login() {
    let (server, mut redis) = imported_site().await;
    for (id, (username, password)) in (1..).zip(ACCOUNTS) {
        let key = format!("user:{id}");
        let before = redis.hash(&key).await;
        for wrong in ["", "wrong", &password.to_uppercase(), &before["password"]] {
            refused(server.visitor().try_log_in(username, wrong).await);
        }
        assert_eq!(redis.hash(&key).await, before);

        let client = server.visitor().log_in(&username.to_uppercase(), password).await;
        assert!(client.is_logged_in().await);
        let after = redis.hash(&key).await;
        assert!(after["password"].starts_with("$argon2id$"), "{username}");
        assert!(after["salt"].len() >= 32 && after.get("salt") != before.get("salt"), "{username}");
        assert_eq!(after["auth"], before["auth"], "{username}");
        assert_eq!(after.get("apisecret"), client.apisecret.as_ref(), "{username}");
        for (field, value) in &before {
            if !["password", "salt", "apisecret"].contains(&field.as_str()) {
                assert_eq!(after.get(field), Some(value), "{field} of {username}");
            }
        }
        // The upgraded hash is of the same password.
        refused(server.visitor().try_log_in(username, "wrong").await);
        server.visitor().log_in(username, password).await;
        assert_eq!(redis.hash(&key).await, after);
    }
}

#[tokio::test]
async fn without_the_salt_of_the_site_accounts_of_2011_cannot_log_in() {
    let server = Server::on_redis(original::database().await, &[]).await;
    let [antirez, bob, _] = ACCOUNTS;
    refused(server.visitor().try_log_in(bob.0, bob.1).await);
    server.visitor().log_in(antirez.0, antirez.1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_logins_of_an_imported_account_all_get_a_session_that_works() {
    let (server, _) = imported_site().await;
    for (username, password) in ACCOUNTS {
        let clients: Vec<Client> = at_once((0..8).map(|_| {
            let visitor = server.visitor();
            async move { visitor.log_in(username, password).await }
        }))
        .await;
        for client in clients {
            assert!(client.is_logged_in().await, "{username}");
        }
    }
}

#[tokio::test]
async fn votes_of_the_original_count_as_votes_and_its_guard_and_counters_go_on() {
    let (server, mut redis) = imported_site().await;
    let [antirez, _, carol] = ACCOUNTS;
    let admin = server.visitor().log_in(antirez.0, antirez.1).await;
    let carol = server.visitor().log_in(carol.0, carol.1).await;
    let before = server.dump().await;
    for answer in [
        admin.vote(1, "down").await,
        carol.vote(1, "up").await,
        admin.vote_comment(1, 2, "down").await,
        carol.vote_comment(1, 2, "up").await,
    ] {
        assert_eq!(refused(answer), "You have already voted on this.");
    }
    assert_eq!(refused(admin.vote(3, "up").await), "This story has been deleted.");
    assert_eq!(refused(admin.vote_comment(1, 3, "up").await), "This comment has been deleted.");
    assert_eq!(server.dump().await, before);
    let [_, (username, password), _] = ACCOUNTS;
    let bob = server.visitor().log_in(username, password).await;
    assert_eq!(bob.submit_link("Again", URL).await, 1);
    assert_eq!(bob.submit_link("New", "http://example.com/new").await, 4);
    assert_eq!(bob.comment(1, "Next").await, 4);
    let dave = server.register("dave").await;
    assert_eq!(redis.run::<String>(&["GET", "username.to.id:dave"]).await, "4");
    assert_eq!(redis.run::<String>(&["HGET", "user:4", "flags"]).await, "");
    assert!(dave.is_logged_in().await);
    refused(server.visitor().call("/api/create_account?username=BOB&password=12345678").await);
}

/// The promises of `docs/data-layout.md` and the original's README about a key: its
/// type, whether it expires, and the fields of a hash.
fn documented(key: &str) -> (&'static str, bool, &'static str) {
    const USER: &str = "id username salt password credentials_version password_trimmed ctime karma about \
        email confirmed_email auth apisecret flags karma_incr_time pwd_reset replies seen_time \
        timeline_version voter";
    const NEWS: &str = "id title url user_id ctime score rank up down comments del tweet_id topics \
        edited_at";
    const SESSION: &str = "user_id apisecret since last_seen agent address";
    const TWEET: &str = "text created_at user_id news_id";
    const ARTICLE: &str = "title link poster time votes";
    let (family, _) = Family::of(key).unwrap_or_else(|| panic!("the key {key} is not documented"));
    let held = match family.holds {
        Holds::String => "string",
        Holds::Hash => "hash",
        Holds::Set => "set",
        Holds::SortedSet => "zset",
    };
    let hashes = [
        (&families::USER, USER),
        (&families::NEWS, NEWS),
        (&families::SESSION, SESSION),
        (&families::TWEET, TWEET),
        (&families::ARTICLE_OF, ARTICLE),
    ];
    let fields = hashes.iter().find(|(of, _)| *of == family).map_or("", |(_, fields)| fields);
    (held, family.seconds > 0, fields)
}

/// Compares every key of the server with what is documented.
async fn check_layout(redis: &mut RedisCommands) -> usize {
    let types = redis.types().await;
    for (key, held) in &types {
        let (expected, expires, fields) = documented(key);
        assert_eq!(held, expected, "{key}");
        let time_to_live: i64 = redis.run(&["TTL", key]).await;
        assert_eq!(time_to_live > 0, expires, "{key} lives {time_to_live} s");
        if key.starts_with("thread:") {
            check_thread(&redis.hash(key).await);
        } else if held == "hash" && !key.ends_with(":recent_votes") {
            check_hash(key, &redis.hash(key).await, fields);
        }
    }
    types.len()
}

fn check_hash(key: &str, hash: &BTreeMap<String, String>, fields: &str) {
    const WHOLE: [&str; 9] =
        ["id", "ctime", "karma", "karma_incr_time", "pwd_reset", "replies", "user_id", "up", "down"];
    for (field, value) in hash {
        assert!(fields.split(' ').any(|known| known == field), "{key} has the field {field}");
        if WHOLE.contains(&field.as_str()) || field == "comments" {
            assert!(value.parse::<i64>().is_ok(), "{field} of {key} is {value}");
        }
        if ["score", "rank"].contains(&field.as_str()) {
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{field} of {key} is {value}");
        }
    }
    if let Some(del) = hash.get("del") {
        assert_eq!(del, "1", "{key}");
    }
}

fn check_thread(thread: &BTreeMap<String, String>) {
    const FIELDS: [&str; 9] =
        ["score", "body", "parent_id", "user_id", "ctime", "up", "down", "del", "edited_at"];
    let mut thread = thread.clone();
    let nextid: u64 = thread.remove("nextid").unwrap().parse().unwrap();
    for (id, json) in &thread {
        assert!(id.parse::<u64>().unwrap() <= nextid);
        let comment: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap();
        let fields: BTreeSet<&str> = comment.keys().map(String::as_str).collect();
        assert!(fields.is_subset(&FIELDS.into()), "{fields:?}");
        assert!(comment["parent_id"].is_i64() && comment["ctime"].is_u64(), "{json}");
        let is_voters =
            |votes: &serde_json::Value| votes.as_array().unwrap().iter().all(serde_json::Value::is_u64);
        assert!(is_voters(&comment["up"]), "{json}");
        assert!(comment.get("down").is_none_or(is_voters), "{json}");
        assert!(comment.get("del").is_none_or(|del| del == 1), "{json}");
    }
}

#[tokio::test]
async fn after_our_writes_every_key_still_has_its_documented_type_and_fields() {
    let (server, mut redis) = imported_site().await;
    let at_first = check_layout(&mut redis).await;
    let [antirez, bob, carol] = ACCOUNTS;
    let admin = server.visitor().log_in(antirez.0, antirez.1).await;
    let bob = server.visitor().log_in(bob.0, bob.1).await;
    let carol = server.visitor().log_in(carol.0, carol.1).await;
    let dave = server.register("dave").await;

    let link = carol.submit_link("New link", "http://example.com/new").await;
    admin.submit_on("old-times", "Under a topic").await;
    let both =
        ok(bob.submit("Both", "http://example.com/both", "and a text").await)["news_id"].as_u64().unwrap();
    ok(carol.edit(link, "Edited", "http://example.com/edited", "").await);
    ok(admin.vote(link, "up").await);
    ok(bob.vote(link, "down").await);
    ok(carol.vote(2, "up").await);
    ok(dave.vote(1, "up").await);
    let answer = admin.reply(1, 1, "An answer of ours").await;
    let bare = dave.comment(2, "The first here").await;
    ok(bob.vote_comment(1, answer, "up").await);
    ok(carol.vote_comment(1, 1, "down").await);
    ok(dave.vote_comment(1, 2, "up").await);
    ok(bob.edit_comment(1, 1, "Edited").await);
    ok(admin.edit_comment(1, 2, "").await);
    ok(dave.edit_comment(2, bare, "").await);
    ok(bob.delete(both).await);
    let profile = "about=About me&email=carol@example.com&password=a new password";
    let current = ACCOUNTS[2].1;
    ok(carol.call(&format!("/api/updateprofile?{profile}&current_password={current}")).await);
    ok(bob.api_post("/api/logout", &[]).await);
    server.advance(7_200);
    assert_eq!(server.visitor().listed("top").await.len(), 4);
    assert!(dave.is_logged_in().await);

    assert!(check_layout(&mut redis).await > at_first + 10);
    let comments: i64 = redis.run(&["HGET", "news:1", "comments"]).await;
    assert_eq!(comments, 2);
    let first: String = redis.run(&["HGET", "thread:comment:1", "1"]).await;
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&first["body"], &first["user_id"], &first["up"]), (&json!("Edited"), &json!(2), &json!([2])));
    assert_eq!(redis.run::<i64>(&["HGET", "user:2", "replies"]).await, 1);
    let ups: Vec<String> = redis.run(&["ZRANGE", "news.up:1", "0", "-1"]).await;
    assert_eq!(ups, ["2", "1", "4"]);
    // The recipe of the original's README for an administrator.
    redis.write(&["HSET", "user:4", "flags", "a"]).await;
    ok(dave.delete(1).await);
}
