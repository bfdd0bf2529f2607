//! The process has no file descriptors left.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::client::{Client, encoded, ok};
use crate::load::Connection;
use crate::night::{assert_nothing_is_lost, lasting_redis, post, url_of, wait_for_health};
use crate::program::Program;

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many connections wait for room.
const WAITING: usize = 5;
/// How much is written meanwhile: more than the embedded store writes to its file in one second.
const WRITES: usize = 200;
/// Asks whether the site works.
const HEALTH: &str = "GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Sets how many files a process may open; returns the limit before.
fn limit_files(program: &Program, soft: u64) {
    let status = Command::new("prlimit")
        .args(["--pid", &program.id().to_string(), &format!("--nofile={soft}:")])
        .status()
        .unwrap();
    assert!(status.success());
}

fn open_files(program: &Program) -> u64 {
    let folder = format!("/proc/{}/fd", program.id());
    u64::try_from(std::fs::read_dir(folder).unwrap().count()).unwrap()
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET /api/getnews/top/0/1 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
}

/// Whether a response begins.
fn is_answered(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 4_096];
    let read = stream.read(&mut bytes).unwrap();
    bytes[..read].starts_with(b"HTTP/1.1 200 OK")
}

/// A request that posts a story.
fn submission(member: &Client, title: &str) -> String {
    let (auth, apisecret) = (member.auth.as_deref().unwrap(), member.apisecret.as_deref().unwrap());
    let fields =
        [("news_id", "-1"), ("title", title), ("url", ""), ("text", "text"), ("apisecret", apisecret)];
    let body = encoded(&fields);
    format!(
        "POST /api/submit HTTP/1.1\r\nHost: localhost\r\nCookie: auth={auth}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn check_too_many_files(store: &str) {
    let program = Program::start(store);
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    let connect = || {
        let stream = TcpStream::connect(program.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    };
    let mut reader = connect();
    ask(&mut reader);
    assert!(is_answered(&mut reader));
    // One connection for all requests: a pool would open others.
    let mut writer = Connection::open(program.address).await;
    writer.exchange(HEALTH).await;
    limit_files(&program, open_files(&program));
    let mut waiting: Vec<TcpStream> = (0..WAITING).map(|_| connect()).collect();
    waiting.iter_mut().for_each(ask);
    program.wait_for_log("cannot accept connections");
    for number in 0..WRITES {
        ask(&mut reader);
        assert!(is_answered(&mut reader));
        let title = format!("Story {number}");
        writer.exchange(&submission(&alice, &title)).await;
        ok(serde_json::from_slice(&writer.body).unwrap());
        posted.push(title);
    }
    // A monitor that is connected hears that the site works.
    writer.exchange(HEALTH).await;
    let health: Value = serde_json::from_slice(&writer.body).unwrap();
    assert_eq!(health["status"], "ok");
    limit_files(&program, 1_000);
    for stream in &mut waiting {
        assert!(is_answered(stream));
    }
    wait_for_health(&program, 200, "ok").await;
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&program, store, &posted).await;
    // Many attempts, and one line.
    let log = program.log();
    assert_eq!(log.matches("cannot accept connections").count(), 1, "{log}");
    assert!(!log.contains(" ERROR ") && !log.contains("panic"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn established_readers_and_writers_go_on_and_others_wait_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    check_too_many_files(&url_of(folder.path())).await;
    let redis = lasting_redis();
    check_too_many_files(&redis.url()).await;
}
