//! The store is not there when the program starts.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tidings_keyspace::{Store, StoreOptions};

use crate::client::refused;
use crate::night::{
    assert_nothing_is_lost, assert_readers_see, assert_writer_is_told, lasting_redis, post, visitor,
    wait_for_health,
};
use crate::outage::wait_for;
use crate::program::{Program, serve_command, wait_until};
use crate::redis_server::RedisServer;

/// A call that reads the store.
const TOP: &str = "/api/getnews/top/0/30";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_site_answers_503_and_takes_redis_when_it_comes() {
    let mut redis = lasting_redis();
    let mut posted = Vec::new();
    let before = Program::start(&redis.url());
    let alice = visitor(&before).register("alice").await;
    post(&alice, &mut posted, "Before").await;
    before.stop();
    redis.stop();
    let mut program = Program::start(&redis.url());
    let (visitor, alice) = (visitor(&program), alice.at(program.address));
    for path in ["/", "/latest", "/news/1"] {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(answer.headers["retry-after"], "10", "{path}");
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
    }
    let answer = visitor.get(TOP).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused(answer.json()).contains("cannot reach its database"));
    assert_writer_is_told(&alice, "cannot reach its database").await;
    wait_for_health(&program, 503, "unavailable").await;
    let line = program.wait_for_log("health: the store cannot be reached");
    assert!(line.contains("Connection refused"), "{line}");
    redis.start_again();
    wait_for(&visitor, StatusCode::OK).await;
    program.wait_for_log("health: the store is back");
    wait_for_health(&program, 200, "ok").await;
    assert_readers_see(&program, "Before").await;
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&program, &redis.url(), &posted).await;
    // Each once.
    assert_eq!(program.log().matches("health: the store").count(), 2, "{}", program.log());
    program.signal("-TERM");
    assert!(program.wait().success());
}

#[test]
fn a_redis_that_refuses_the_login_ends_the_program_with_its_message() {
    let mut redis = RedisServer::start_with(&["--requirepass", "secret"]);
    redis.stop();
    let mut program = Program::start(&redis.url());
    redis.start_again();
    assert_eq!(program.wait().code(), Some(1));
    let log = program.log();
    assert!(log.contains("the server refuses the user name or the password"), "{log}");
}

#[test]
fn the_program_can_be_stopped_while_it_waits() {
    let mut redis = RedisServer::start();
    redis.stop();
    let mut program = Program::start(&redis.url());
    program.wait_for_log("health: the store cannot be reached");
    let began = Instant::now();
    program.signal("-TERM");
    assert!(program.wait().success());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_process_closes_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("site.redb").display());
    let store = Store::open(&url, &StoreOptions::default()).await.unwrap();
    let mut process = serve_command(&url, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(process.stderr.take().unwrap());
    let waits =
        log.lines().map(Result::unwrap).find(|line| line.contains("another process has the store open"));
    assert!(waits.is_some());
    store.close().await;
    drop(store);
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on "), "{line}");
    process.kill().unwrap();
    wait_until("the end", || process.try_wait().unwrap());
}
