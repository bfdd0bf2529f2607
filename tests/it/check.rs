//! `tidings check`, as an operator runs it: articles of a database of Lamer
//! News, and timelines that were changed by hand.

use crate::client::ok;
use crate::original::{self, ACCOUNTS, LEGACY_SALT};
use crate::pages::page;
use crate::program::tidings;
use crate::redis_commands::RedisCommands;
use crate::redis_server::RedisServer;
use crate::server::{Engine, START, Server};

/// Checks a part of a store, such as `articles --repair`, which must end with an exit code and say these words.
#[track_caller]
fn check(store: &str, what: &str, code: i32, words: &str) {
    let words_of_command = ["check"].into_iter().chain(what.split(' ')).chain(["--store", store]);
    let ran = tidings(&words_of_command.collect::<Vec<_>>());
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert!(ran.said().contains(words), "{ran:?}");
}

const NO_DIFFERENCES: &str = " keys checked, no differences\n";

#[tokio::test]
async fn a_database_of_the_original_gets_its_articles_on_every_engine_and_fits_together() {
    let database = original::database().await;
    let redis_url = database.url();
    let folder = tempfile::tempdir().unwrap();
    let file = format!("redb:{}", folder.path().join("copy.redb").display());
    tidings(&["copy", &redis_url, &file]).good();
    for store in [&redis_url, &file] {
        // The first command brings them.
        check(store, "articles", 0, NO_DIFFERENCES);
        check(store, "articles --repair", 0, NO_DIFFERENCES);
    }
    check(&format!("{file}-mistyped"), "articles", 1, "");

    let mut redis = RedisCommands::connect(&database).await;
    let article = redis.hash("article:1").await;
    assert_eq!(article["votes"], "2");
    assert_eq!(article["poster"], "user:2");
    assert_eq!(article["time"], (START - 3_600).to_string());
    assert_eq!(redis.hash("article:3").await.len(), 0, "the item is deleted");
    for what in ["store --repair", "store", "articles"] {
        check(&redis_url, what, 0, "");
    }
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

    check(&url, "articles --repair", 0, "");
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
    tidings(&["import", "links", file.to_str().unwrap(), "--create", "--store", &url]).good();
    check(&url, "articles", 0, NO_DIFFERENCES);

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
async fn timelines_and_the_whole_store_are_checked_without_a_write_and_mended_when_asked() {
    let server = Server::start(Engine::Redis, &[]).await;
    let url = server.redis.as_ref().unwrap().url();
    let users = server.members(2).await;
    users[1].follow(&users[0].username).await;
    let tweet = users[0].tweet("Hello").await;
    let home = format!("user:{}:home_timeline", users[1].user_id);
    tidings_testing::until(async || !server.ids(&home).await.is_empty()).await;
    check(&url, "timelines", 0, NO_DIFFERENCES);

    server.write(|batch| batch.sorted_remove(&home, tweet.to_string())).await;
    let damaged = server.dump().await;
    check(&url, "timelines", 1, "1 difference, of which 1 will be mended with --repair");
    assert_eq!(server.dump().await, damaged);
    check(&url, "timelines --repair", 0, "1 difference, of which 1 mended");
    assert_eq!(server.ids(&home).await, [tweet]);
    let story = users[0].submit_link("A story", "http://example.com/").await;
    ok(users[1].vote(story, "up").await);
    check(&url, "store", 0, NO_DIFFERENCES);

    server.write(|batch| batch.increment_field("news:1", "up", 3)).await;
    let damaged = server.dump().await;
    let words = "found:    up 5\n  expected: up 2\n  will be mended with --repair: change";
    check(&url, "store", 1, words);
    let ran = tidings(&["check", "store", "--json", "--store", &url]);
    assert_eq!(ran.code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let expected = serde_json::json!({"differences": [{
        "key": "news:1",
        "found": "up 5",
        "expected": "up 2",
        "repair": "will be mended with --repair: change the field up to 2",
    }]});
    assert_eq!(json, expected);
    assert_eq!(server.dump().await, damaged);

    check(&url, "store --repair", 0, " 1 difference, of which 1 mended, 0 need a person\n");
    assert_eq!(server.number("news:1", "up").await, 2);
    check(&url, "store", 0, "");
    // A difference in the actions of people is named, not mended.
    server.write(|batch| batch.set_field("news:1", "user_id", "77")).await;
    check(&url, "store --repair", 1, "the author 77, which does not exist");
    check(&url, "store --mend", 2, "");
}
