//! A small Redis database as the original Lamer News wrote it: accounts of
//! 2012 and later (PBKDF2 with a `salt` field) and one of 2011 (SHA-1 with the
//! salt of the site, no `apisecret`, no `replies`).
//!
//! The password hashes were computed with Python's hashlib.

use crate::redis_commands::RedisCommands;
use crate::redis_server::RedisServer;
use crate::server::START;

/// The salt of the site of 2011, for `accounts.legacy_salt`.
pub const LEGACY_SALT: &str = "PASSWORD_SALT_2011";

/// Names and passwords of the accounts, by id.
pub const ACCOUNTS: [(&str, &str); 3] =
    [("Antirez", "open sesame"), ("Bob", "swordfish"), ("carol", "pässwörd")];

/// The session of the first account.
pub const AUTH: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
/// The secret of the first account.
pub const APISECRET: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
/// The session of the account of 2011.
pub const AUTH_2011: &str = "cccccccccccccccccccccccccccccccccccccccc";

/// The exact URL of the first item.
pub const URL: &str = "http://Example.com/original?utm_source=feed";

/// A server that holds the database.
pub async fn database() -> RedisServer {
    let server = RedisServer::start();
    fill(&mut RedisCommands::connect(&server).await).await;
    server
}

/// Writes the database to an empty server.
pub async fn fill(redis: &mut RedisCommands) {
    write_users(redis).await;
    write_news(redis).await;
    write_comments(redis).await;
}

async fn write_users(redis: &mut RedisCommands) {
    let ctime = (START - 1_000_000).to_string();
    let visited = (START - 60).to_string();
    redis.write(&["SET", "users.count", "3"]).await;
    // Fields and values in turn; two spaces stand around an empty value.
    let users = [
        format!(
            "id 1 salt 5f0c8e2a6b1d4c3e9a7f5f0c8e2a6b1d4c3e9a7f flags a replies 1 auth {AUTH} \
             password 54b2b0e691566149f52cb9ebdd188710cad9823e apisecret {APISECRET}"
        ),
        format!("id 2 password d9bbfbc81a53b2f1c56a72552f8e2a86192845e1 auth {AUTH_2011} flags "),
        "id 3 salt 00112233445566778899aabbccddeeff00112233 flags  pwd_reset 1700000000 \
         password 50639332ff359f51c0f8bbb49de402a8bf32d305 auth dddddddddddddddddddddddddddddddddddddddd \
         apisecret eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
            .to_owned(),
    ];
    let common = format!("ctime {ctime} karma 40 about Hi email  karma_incr_time {visited}");
    for (own, (username, _)) in users.iter().zip(ACCOUNTS) {
        let own: Vec<&str> = own.split(' ').collect();
        let (id, common): (_, Vec<&str>) = (own[1], common.split(' ').collect());
        let key = format!("user:{id}");
        redis.write(&[&["HMSET", &key, "username", username], &common[..], &own[..]].concat()).await;
        redis.write(&["SET", &format!("username.to.id:{}", username.to_lowercase()), id]).await;
        let auth: String = redis.run(&["HGET", &key, "auth"]).await;
        redis.write(&["SET", &format!("auth:{auth}"), id]).await;
    }
}

async fn write_news(redis: &mut RedisCommands) {
    redis.write(&["SET", "news.count", "3"]).await;
    let ages = [3_600, 60, 7_200];
    let news: [(&str, &str, &str, &str, &[&str]); 3] = [
        ("1", "An original link", URL, "2", &["score", "1", "up", "2", "down", "1", "comments", "2"]),
        ("2", "An original text", "text://Hello\nworld", "1", &["score", "1", "up", "1", "down", "0"]),
        ("3", "Gone", "http://example.com/gone", "3", &["score", "1", "up", "1", "down", "0", "del", "1"]),
    ];
    for ((id, title, url, author, own), age) in news.into_iter().zip(ages) {
        let (key, ctime) = (format!("news:{id}"), (START - age).to_string());
        let rank = "11.5";
        let common = ["id", id, "title", title, "url", url, "user_id", author, "ctime", &ctime, "rank", rank];
        redis.write(&[&["HMSET", &key], &common[..], own].concat()).await;
        redis.write(&["ZADD", &format!("user.posted:{author}"), &ctime, id]).await;
        redis.write(&["ZADD", &format!("user.saved:{author}"), &ctime, id]).await;
        redis.write(&["ZADD", &format!("news.up:{id}"), &ctime, author]).await;
        if id != "3" {
            redis.write(&["ZADD", "news.cron", &ctime, id]).await;
            redis.write(&["ZADD", "news.top", rank, id]).await;
        }
    }
    let voted = (START - 3_000).to_string();
    redis.write(&["ZADD", "news.up:1", &voted, "1"]).await;
    redis.write(&["ZADD", "user.saved:1", &voted, "1"]).await;
    redis.write(&["ZADD", "news.down:1", &voted, "3"]).await;
    redis.write(&["SETEX", &format!("url:{URL}"), "100000", "1"]).await;
}

async fn write_comments(redis: &mut RedisCommands) {
    let comments = [
        ("2", 3_000, r#""body":"First <b>!</b>","parent_id":-1,"up":[2]"#),
        ("1", 2_000, r#""body":"An answer","parent_id":1,"up":[1,3],"down":[2]"#),
        ("3", 1_000, r#""body":"Regretted","parent_id":-1,"up":[3],"del":1"#),
    ];
    for (id, (author, age, own)) in ["1", "2", "3"].into_iter().zip(comments) {
        let ctime = (START - age).to_string();
        let json = format!(r#"{{"score":0,"user_id":"{author}","ctime":{ctime},{own}}}"#);
        redis.write(&["HINCRBY", "thread:comment:1", "nextid", "1"]).await;
        redis.write(&["HSET", "thread:comment:1", id, &json]).await;
        let (list, address) = (format!("user.comments:{author}"), format!("1-{id}"));
        redis.write(&["ZADD", &list, &ctime, &address]).await;
    }
}
