//! The store is not there when the program starts.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tidings_keyspace::{Store, StoreOptions};

use crate::client::refused_saying;
use crate::night::{
    assert_nothing_is_lost, assert_readers_see, assert_writer_is_told, lasting_redis, post, wait_for_health,
};
use crate::outage::wait_for;
use crate::program::{Program, serve_command, serve_existing_command, succeed, tidings, wait_until};
use crate::redis_server::RedisServer;

/// A call that reads the store.
const TOP: &str = "/api/getnews/top/0/30";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_site_answers_503_and_takes_redis_when_it_comes() {
    let mut redis = lasting_redis();
    let mut posted = Vec::new();
    let before = Program::start(&redis.url());
    let alice = before.visitor().register("alice").await;
    post(&alice, &mut posted, "Before").await;
    before.stop();
    redis.stop();
    let mut program = Program::start(&redis.url());
    let (visitor, alice) = (program.visitor(), alice.at(program.address));
    for path in ["/", "/latest", "/news/1"] {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(answer.headers["retry-after"], "10", "{path}");
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
    }
    let answer = visitor.get(TOP).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    refused_saying(answer.json(), "cannot reach its database");
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

/// Runs a Redis command.
async fn redis(url: &str, words: &[&str]) {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query_async::<redis::Value>(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_redis_or_one_of_another_program_is_no_new_site_without_create() {
    let server = RedisServer::start();
    let other = format!("{}/5", server.url());
    redis(&other, &["SET", "jobs of another program", "1"]).await;
    for url in [&server.url(), &other] {
        for command in ["serve", "check store", "user promote alice", "status"] {
            let words: Vec<_> = command.split(' ').chain(["--store", url]).collect();
            let ran = tidings(&words);
            assert_eq!(ran.code, Some(1), "{command}: {ran:?}");
            assert!(
                ran.said().contains("there is no site in the database at redis://"),
                "{command}: {ran:?}"
            );
        }
        let ran = tidings(&["serve", "--store", url]);
        assert!(ran.said().contains("add --create"), "{ran:?}");
    }
    let keys =
        Store::open(&server.url(), &StoreOptions::default()).await.unwrap().count_keys().await.unwrap();
    assert_eq!(keys, 0, "something was written");
    // A database of Lamer News, or a part of one.
    for (number, words) in [(1, ["SET", "users.count", "0"]), (2, ["SADD", "prefix:0123", "voter"])] {
        let url = format!("{}/{number}", server.url());
        redis(&url, &words).await;
        Program::start_command(serve_existing_command(&url, &[])).stop();
    }
    succeed(&["create", "--store", &server.url()]);
    Program::start_command(serve_existing_command(&server.url(), &[])).stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_redis_that_comes_late_is_no_new_site_until_it_has_one() {
    let mut server = RedisServer::start();
    server.stop();
    let program = Program::start_command(serve_existing_command(&server.url(), &[]));
    let visitor = program.visitor();
    wait_for_health(&program, 503, "unavailable").await;
    server.start_again();
    program.wait_for_log("there is no site in the database");
    wait_for(&visitor, StatusCode::SERVICE_UNAVAILABLE).await;
    wait_for_health(&program, 503, "unavailable").await;
    redis(&server.url(), &["SET", "users.count", "0"]).await;
    wait_for(&visitor, StatusCode::OK).await;
    wait_for_health(&program, 200, "ok").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_loses_its_data_is_refused_until_it_has_them_again() {
    let server = RedisServer::start();
    let programs = [Program::start(&server.url()), Program::start(&server.url())];
    let alice = programs[0].visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    // Another database takes the place of this one; then it is emptied.
    redis(&server.url(), &["SWAPDB", "0", "1"]).await;
    for program in &programs {
        wait_for(&program.visitor(), StatusCode::SERVICE_UNAVAILABLE).await;
        wait_for_health(program, 503, "unavailable").await;
        let line = program.wait_for_log("has lost its data");
        assert!(line.contains("layout:version"), "{line}");
    }
    for _ in 0..3 {
        assert_writer_is_told(&alice, "cannot reach its database").await;
    }
    redis(&server.url(), &["SWAPDB", "0", "1"]).await;
    for program in &programs {
        wait_for(&program.visitor(), StatusCode::OK).await;
        wait_for_health(program, 200, "ok").await;
        assert_readers_see(program, "Before").await;
    }
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&programs[0], &server.url(), &posted).await;
    redis(&server.url(), &["FLUSHALL"]).await;
    for program in &programs {
        wait_for(&program.visitor(), StatusCode::SERVICE_UNAVAILABLE).await;
        wait_for_health(program, 503, "unavailable").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_restored_into_an_emptied_redis_is_served_by_the_running_server() {
    let server = RedisServer::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.backup");
    let program = Program::start(&server.url());
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    succeed(&["backup", file.to_str().unwrap(), "--store", &server.url()]);
    redis(&server.url(), &["FLUSHALL"]).await;
    wait_for(&program.visitor(), StatusCode::SERVICE_UNAVAILABLE).await;
    program.wait_for_log("has lost its data");
    // A restore that is under way has the version early.
    redis(&server.url(), &["SET", "restore:unfinished", "a"]).await;
    redis(&server.url(), &["SET", "layout:version", "2"]).await;
    program.wait_for_log("the data is being restored");
    redis(&server.url(), &["FLUSHALL"]).await;
    succeed(&["restore", file.to_str().unwrap(), "--store", &server.url()]);
    wait_for(&program.visitor(), StatusCode::OK).await;
    assert_readers_see(&program, "Before").await;
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&program, &server.url(), &posted).await;
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
