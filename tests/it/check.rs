//! `tidings check`, as an operator runs it: articles of a database of Lamer
//! News, and timelines that were changed by hand.

use std::process::{Command, Output, Stdio};

use crate::client::ok;
use crate::original::{self, ACCOUNTS, LEGACY_SALT};
use crate::pages::page;
use crate::redis_commands::RedisCommands;
use crate::redis_server::RedisServer;
use crate::server::{Engine, START, Server};

/// Runs the program to its end.
fn tidings(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidings")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The program's exit code, and what it says of articles.
fn check(store: &str, options: &[&str]) -> (Option<i32>, String) {
    check_what("articles", store, options)
}

fn check_what(what: &str, store: &str, options: &[&str]) -> (Option<i32>, String) {
    let output = tidings(&[&["check", what, "--store", store], options].concat());
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code(), text)
}

#[tokio::test]
async fn a_database_of_the_original_gets_its_articles_on_every_engine() {
    let database = original::database().await;
    let redis_url = database.url();
    let folder = tempfile::tempdir().unwrap();
    let file = format!("redb:{}", folder.path().join("copy.redb").display());
    assert!(tidings(&["copy", &redis_url, &file]).status.success());
    for store in [&redis_url, &file] {
        // The first command brings them.
        for options in [&[][..], &["--repair"]] {
            let (code, text) = check(store, options);
            assert_eq!(code, Some(0), "{text}");
            assert!(text.contains("keys checked, no differences"), "{text}");
        }
    }
    let (code, _) = check(&format!("{file}-mistyped"), &[]);
    assert_eq!(code, Some(1));

    let mut redis = RedisCommands::connect(&database).await;
    let article = redis.hash("article:1").await;
    assert_eq!(article["votes"], "2");
    assert_eq!(article["poster"], "user:2");
    assert_eq!(article["time"], (START - 3_600).to_string());
    assert_eq!(redis.hash("article:3").await.len(), 0, "the item is deleted");
}

#[tokio::test]
async fn a_site_of_the_original_works_before_and_after_the_repair() {
    let database = original::database().await;
    let url = database.url();
    let server = Server::on_redis(database, &[("accounts.legacy_salt", LEGACY_SALT)]).await;
    let [antirez, _, carol] = ACCOUNTS;
    let admin = server.visitor().log_in(antirez.0, antirez.1).await;
    let carol = server.visitor().log_in(carol.0, carol.1).await;
    for (path, empty) in [("/best", "No stories"), ("/best/new", "No stories"), ("/topics", "No topics")] {
        assert!(page(&admin, path).await.content().contains(empty), "{path}");
    }
    ok(carol.vote(2, "up").await);
    ok(admin.call("/api/submit?news_id=2&title=Renamed&url=&text=text&topics=old-times").await);
    assert_eq!(ok(admin.api_get("/api/articles/score/1").await)["count"], 0);

    assert_eq!(check(&url, &["--repair"]).0, Some(0));
    let best = ok(admin.api_get("/api/articles/time/1").await);
    assert_eq!(best["count"], 2);
    let text = &best["articles"][0];
    assert_eq!((&text["title"], &text["votes"]), (&"Renamed".into(), &2.into()));
    assert_eq!(text["topics"], serde_json::json!(["old-times"]));
    assert_eq!(ok(admin.api_get("/api/topic/old-times/score/1").await)["count"], 1);
}

#[tokio::test]
async fn topics_of_an_imported_file_are_topics_here() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.csv");
    let rows = "id,title,url,num_points,author,created_at,topics\n\
        1,One,http://example.com/1,3,jo,1470325920,\"Rust, Databases\"\n\
        2,Two,http://example.com/2,1,jo,1470325921,rust;c++;web\n\
        3,Three,,1,al,1470325922,\n";
    std::fs::write(&file, rows).unwrap();
    let server = RedisServer::start();
    let url = server.url();
    let imported = tidings(&["import", "links", file.to_str().unwrap(), "--create", "--store", &url]);
    assert!(imported.status.success(), "{imported:?}");
    let (code, text) = check(&url, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("keys checked, no differences"), "{text}");

    let mut redis = RedisCommands::connect(&server).await;
    let topics: Vec<String> = redis.run(&["ZREVRANGE", "topics", "0", "-1", "WITHSCORES"]).await;
    assert_eq!(topics, ["rust", "2", "web", "1", "databases", "1"]);
    let article = redis.hash("article:1").await;
    assert_eq!((article["votes"].as_str(), article["time"].as_str()), ("3", "1470325920"));
    let score: f64 = redis.run(&["ZSCORE", "score:", "article:1"]).await;
    assert_eq!(score, 1_470_325_920.0 + 3.0 * 432.0);
    // Its week is over, so the voters are no longer needed.
    let keys: Vec<String> = redis.run(&["KEYS", "voted:*"]).await;
    assert_eq!(keys, [""; 0]);
    assert_eq!(redis.hash("article:3").await["link"], "http://localhost:8080/news/3");
}

#[tokio::test]
async fn timelines_are_compared_without_a_write_and_mended_when_asked() {
    let server = Server::start(Engine::Redis, &[]).await;
    let url = server.redis.as_ref().unwrap().url();
    let users = server.members(2).await;
    let author = server.hash(&format!("user:{}", users[0].user_id)).await;
    ok(users[1].api_post("/api/follow", &[("username", &author["username"])]).await);
    let tweet = ok(users[0].api_post("/api/tweet", &[("text", "Hello")]).await)["tweet_id"].as_u64().unwrap();
    let home = format!("user:{}:home_timeline", users[1].user_id);
    tidings_testing::until(async || !server.ids(&home).await.is_empty()).await;
    let (code, text) = check_what("timelines", &url, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("keys checked, no differences"), "{text}");

    server.write(|batch| batch.sorted_remove(&home, tweet.to_string())).await;
    let damaged = server.dump().await;
    let (code, text) = check_what("timelines", &url, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("1 difference, of which 1 will be mended with --repair"), "{text}");
    assert_eq!(server.dump().await, damaged);
    let (code, text) = check_what("timelines", &url, &["--repair"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 difference, of which 1 mended"), "{text}");
    assert_eq!(server.ids(&home).await, [tweet]);
}

#[tokio::test]
async fn the_whole_store_is_checked_while_the_site_runs() {
    let server = Server::start(Engine::Redis, &[]).await;
    let url = server.redis.as_ref().unwrap().url();
    let users = server.members(2).await;
    let story = users[0].submit_link("A story", "http://example.com/").await;
    ok(users[1].vote(story, "up").await);
    let (code, text) = check_what("store", &url, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" keys checked, no differences\n"), "{text}");

    server.write(|batch| batch.increment_field("news:1", "up", 3)).await;
    let damaged = server.dump().await;
    let (code, text) = check_what("store", &url, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("found:    up 5\n  expected: up 2\n  will be mended with --repair: change"),
        "{text}"
    );
    let output = tidings(&["check", "store", "--json", "--store", &url]);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({"differences": [{
        "key": "news:1",
        "found": "up 5",
        "expected": "up 2",
        "repair": "will be mended with --repair: change the field up to 2",
    }]});
    assert_eq!(json, expected);
    assert_eq!(server.dump().await, damaged);

    let (code, text) = check_what("store", &url, &["--repair"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" 1 difference, of which 1 mended, 0 need a person\n"), "{text}");
    assert_eq!(server.number("news:1", "up").await, 2);
    assert_eq!(check_what("store", &url, &[]).0, Some(0));
    // A difference in the actions of people is named, not mended.
    server.write(|batch| batch.set_field("news:1", "user_id", "77")).await;
    let (code, text) = check_what("store", &url, &["--repair"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the author 77, which does not exist"), "{text}");
    assert_eq!(check_what("store", &url, &["--mend"]).0, Some(2));
}

#[tokio::test]
async fn a_database_of_the_original_fits_together_after_a_repair() {
    let database = original::database().await;
    let url = database.url();
    let (code, text) = check_what("store", &url, &["--repair"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = check_what("store", &url, &[]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = check(&url, &[]);
    assert_eq!(code, Some(0), "{text}");
}
