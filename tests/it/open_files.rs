//! The process has no file descriptors left.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use reqwest::StatusCode;

use crate::night::{assert_nothing_is_lost, lasting_redis, post, url_of, visitor, wait_for_health};
use crate::program::Program;

/// How long anything that must come may take. The machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many connections wait for room.
const WAITING: usize = 5;
/// How much is written meanwhile: more than the embedded store writes to its file in one second.
const WRITES: usize = 200;

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

async fn check_too_many_files(store: &str) {
    let program = Program::start(store);
    // Its connection stays open.
    let alice = visitor(&program).register("alice").await;
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
    limit_files(&program, open_files(&program));
    let mut waiting: Vec<TcpStream> = (0..WAITING).map(|_| connect()).collect();
    waiting.iter_mut().for_each(ask);
    program.wait_for_log("cannot accept connections");
    for number in 0..WRITES {
        ask(&mut reader);
        assert!(is_answered(&mut reader));
        post(&alice, &mut posted, &format!("Story {number}")).await;
    }
    // A monitor that is connected hears that the site works.
    let health = alice.get("/health/ready").await;
    assert_eq!((health.status, &health.json()["status"]), (StatusCode::OK, &"ok".into()));
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
