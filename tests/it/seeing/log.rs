//! The log: ids of requests, who did what, and what was slow.

use std::collections::HashSet;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::Watched;
use crate::client::{PASSWORD, ok, refused};
use crate::program::{run_to_end, serve_command, serve_on};
use crate::redis_commands::RedisCommands;
use crate::redis_server::RedisServer;
use crate::server::{Engine, Server, in_memory};

const JSON: (&str, &str) = ("TIDINGS_LOG__FORMAT", "json");

/// Reads one value. Nothing in it may be there twice: written again, it is the same.
#[track_caller]
fn strict_json(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(value.to_string(), text, "a member is there twice");
    value
}

#[test]
#[should_panic(expected = "a member is there twice")]
fn a_member_that_is_there_twice_is_refused() {
    strict_json(r#"{"b":[{"a":1,"a":1}]}"#);
}

#[in_memory]
async fn every_answer_has_an_id_of_its_own(server: Server) {
    let visitor = server.visitor();
    let mut ids = HashSet::new();
    for path in ["/", "/", "/nothing", "/login", "/api/getnews/top/0/30", "/assets/x.css", "/health/live"] {
        let answer = visitor.get(path).await;
        let given: Vec<_> = answer.headers.get_all("x-request-id").iter().collect();
        assert_eq!(given.len(), 1, "{path}");
        let id = given[0].to_str().unwrap().to_owned();
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{path} {id}");
        assert!(ids.insert(id), "{path}");
    }
    let post = visitor.post("/api/login", &[]).await;
    let refused = visitor.clone().with_header("host", "evil.example").get("/").await;
    let method = visitor.request(Method::OPTIONS, "/").send().await.unwrap();
    let bare = visitor.send_raw(b"nonsense\r\n\r\n").await;
    for headers in [&post.headers, &refused.headers, method.headers(), &bare.headers] {
        assert!(ids.insert(headers["x-request-id"].to_str().unwrap().to_owned()));
    }
    // Nobody but a trusted proxy chooses it.
    let own = visitor.clone().with_header("x-request-id", "mine").get("/").await;
    assert_ne!(own.headers["x-request-id"], "mine");
}

#[tokio::test]
async fn a_trusted_proxy_gives_ids_and_error_pages_show_them() {
    let settings = [("web.trusted_proxies", "127.0.0.0/8")];
    let server = Server::start(Engine::Memory, &settings).await;
    let ask = async |id: &str, path: &str| server.visitor().with_header("x-request-id", id).get(path).await;
    for path in ["/", "/", "/nothing"] {
        assert_eq!(ask("7f-A_9.b", path).await.headers["x-request-id"], "7f-A_9.b", "{path}");
    }
    assert!(ask("7f-A_9.b", "/nothing").await.text().contains("7f-A_9.b"));
    let odd = ask("<script>", "/nothing").await;
    assert_ne!(odd.headers["x-request-id"], "<script>");
    assert!(odd.text().contains(odd.headers["x-request-id"].to_str().unwrap()));
}

#[tokio::test]
async fn failed_logins_are_lines_without_what_may_be_a_password() {
    let watched = Watched::start("redb::memory:", &[]);
    let client = watched.client();
    client.register("alice").await;
    let wrong = client.post("/api/login", &[("username", "alice"), ("password", "wrong horse")]).await;
    let typed_in_the_wrong_field = "my secret passphrase";
    client.post("/api/login", &[("username", typed_in_the_wrong_field), ("password", "x-y-z")]).await;
    let line = watched.line("account=\"alice\"").await;
    assert!(line.contains(" WARN audit: login failed") && line.contains("address=127.0.0.1"), "{line}");
    let id = wrong.headers["x-request-id"].to_str().unwrap();
    assert!(line.ends_with(&format!("request_id={id}")), "{line}");
    watched.line("account=\"unknown name\"").await;
    assert_eq!(watched.lines_with("login failed").len(), 2);
    for secret in [typed_in_the_wrong_field, "wrong horse", "x-y-z", PASSWORD] {
        assert!(watched.lines_with(secret).is_empty(), "{secret}");
    }
}

#[tokio::test]
async fn what_staff_do_and_what_is_deleted_are_lines_of_json() {
    let watched = Watched::start("redb::memory:", &[JSON]);
    let client = watched.client();
    // The first account is the administrator.
    let alice = client.register("alice").await;
    let bob = client.register("bob").await;
    let story = bob.submit_text("A story", "text").await;
    let comment = bob.comment(story, "A comment").await;
    ok(bob.edit_comment(story, comment, "").await);
    let alice = alice.log_in("alice", PASSWORD).await;
    ok(alice.moderate("lock", ("story", &*story.to_string()), &[("reason", "Too heated.")]).await);
    ok(bob.delete(story).await);
    client.log_in("bob", PASSWORD).await;
    watched.line("deleted a story").await;

    let lines: Vec<Value> = watched.lines().iter().map(|line| strict_json(line)).collect();
    let audit: Vec<&Value> = lines.iter().filter(|line| line["target"] == "audit").collect();
    let said: Vec<(&str, &str)> = audit
        .iter()
        .map(|line| {
            let who = line.get("by").or(line.get("account")).unwrap();
            (line["message"].as_str().unwrap(), who.as_str().unwrap())
        })
        .collect();
    let expected = [
        ("deleted a comment", "bob"),
        ("staff logged in", "alice"),
        ("moderated", "alice"),
        ("deleted a story", "bob"),
    ];
    assert_eq!(said, expected);
    for line in audit {
        assert_eq!(line["request_id"].as_str().unwrap().len(), 16, "{line}");
    }
    assert_eq!((&lines[0]["level"], lines[0]["timestamp"].is_string()), (&"INFO".into(), true));
}

#[tokio::test]
async fn each_line_of_a_run_is_an_object_without_a_member_twice() {
    let mut redis = RedisServer::start();
    let mut watched = Watched::start(&redis.url(), &[JSON]);
    let client = watched.client();
    client.register("alice").await;
    redis.save();
    redis.stop();
    assert_eq!(client.get("/news/1").await.status, StatusCode::SERVICE_UNAVAILABLE);
    watched.line("the store cannot be reached; ").await;
    redis.start_again();
    watched.line("the store is back").await;
    watched.0.signal("-HUP");
    watched.line("nothing has changed").await;
    watched.0.signal("-TERM");
    assert!(watched.0.wait().success());
    let lines: Vec<Value> = watched.lines().iter().map(|line| strict_json(line)).collect();
    for line in &lines {
        for member in ["timestamp", "level", "message", "target"] {
            assert!(line[member].is_string(), "{member} of {line}");
        }
    }
    let by_worker = |worker: &str| lines.iter().filter(|line| line["worker"] == worker).count();
    assert_eq!(by_worker("health"), 2, "{lines:#?}");
    assert_eq!(lines.last().unwrap()["message"], "stopped");
}

#[test]
fn the_line_that_says_why_the_program_ends_is_an_object_too() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidings.toml");
    std::fs::write(&file, "[site]\nurl = \"nonsense\"\n[log]\nformat = \"json\"\n").unwrap();
    let with_file = {
        let mut command = serve_on("127.0.0.1:0", &[]);
        command.arg("--config").arg(&file);
        command
    };
    let memory = "redb::memory:";
    for (command, status, words) in [
        (serve_command("redb:/no/such/folder/site.redb", &[JSON]), 1, "its folder does not exist"),
        (serve_on(&taken.local_addr().unwrap().to_string(), &[JSON]), 2, "cannot listen on"),
        (serve_command(memory, &[JSON, ("TIDINGS_LOG", "verbose")]), 2, "TIDINGS_LOG has \"verbose\""),
        (
            serve_command(memory, &[JSON, ("TIDINGS_LOG", "off"), ("TIDINGS_SERVER__CONTROL", "/dev/null")]),
            2,
            "server.control",
        ),
        (serve_command(memory, &[JSON, ("TIDINGS_SITE__URL", "nonsense")]), 2, "site.url is"),
        (with_file, 2, "site.url is"),
    ] {
        let (ended, said) = run_to_end(command);
        assert_eq!(ended, Some(status), "{said}");
        let lines: Vec<Value> = said.lines().map(strict_json).collect();
        let last = lines.last().unwrap();
        assert!(last["message"].as_str().unwrap().contains(words), "{last}");
        assert_eq!((&last["level"], &last["target"]), (&"ERROR".into(), &"tidings".into()));
        assert!(last["timestamp"].is_string(), "{last}");
    }
    // It is not known what is wanted.
    let (ended, said) = run_to_end(serve_command(memory, &[("TIDINGS_LOG__FORMAT", "xml")]));
    assert_eq!(ended, Some(2));
    assert!(said.starts_with("tidings: log.format is "), "{said}");
}

#[tokio::test]
async fn an_answer_that_takes_long_is_a_line_with_its_rounds() {
    let redis = RedisServer::start();
    let watched = Watched::start(&redis.url(), &[]);
    let client = watched.client();
    client.get("/login").await;
    let mut commands = RedisCommands::connect(&redis).await;
    // The server answers nobody for this long.
    commands.write(&["CLIENT", "PAUSE", "700", "ALL"]).await;
    let answer = client.get("/news/7").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let line = watched.line("slow request").await;
    for part in ["method=GET", "route=\"/news/{id}\"", "status=404", "milliseconds=", "rounds="] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!line.contains("rounds=0"), "{line}");
    assert_eq!(watched.lines_with("slow request").len(), 1);
}

#[tokio::test]
async fn a_proxy_that_is_not_trusted_is_warned_of_once() {
    let watched = Watched::start("redb::memory:", &[]);
    for path in ["/", "/", "/login"] {
        watched.client().forwarded_for("203.0.113.9").get(path).await;
    }
    let line = watched.line("web.trusted_proxies").await;
    assert!(line.contains("WARN") && line.contains("address=127.0.0.1"), "{line}");
    assert_eq!(watched.lines_with("web.trusted_proxies").len(), 1);

    let trusting = Watched::start("redb::memory:", &[("TIDINGS_WEB__TRUSTED_PROXIES", "127.0.0.1")]);
    trusting.client().forwarded_for("203.0.113.9").get("/").await;
    refused(trusting.client().forwarded_for("203.0.113.9").try_log_in("nobody", "wrong horse").await);
    let line = trusting.line("login failed").await;
    assert!(line.contains("address=203.0.113.9"), "{line}");
    assert!(trusting.lines_with("web.trusted_proxies").is_empty());
}
