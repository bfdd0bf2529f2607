//! The examples run on both engines.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;
use tidings_testing_redis::RedisServer;

/// The output of an example on a store. `cargo test` and `cargo nextest` build the examples,
/// unless they are told to build this test alone.
fn run(example: &str, url: &str) -> String {
    // The test itself is in `deps`, beside the folder of the examples.
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples").join(example);
    let output = Command::new(&program).arg(url).output().unwrap_or_else(|error| {
        panic!("{} cannot be run ({error}); cargo build --examples builds it", program.display())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn check_counter(url: &str) {
    let counted = run("counter", url);
    assert!(counted.contains("raised the counter to 50\n"), "{counted}");
    assert!(counted.ends_with("before: 0, after: 50\n"), "{counted}");
}

fn check_leaderboard(url: &str, rounds_of_a_hit: usize) {
    let shown = run("leaderboard", url);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 12, "{shown}");
    // Each player's best game has four points more than the first.
    assert_eq!((lines[0], lines[9]), (" 1. player 11  114", "10. player 2    24"), "{shown}");
    assert_eq!(lines[10], format!("reading it again: {rounds_of_a_hit} rounds"));
    assert_eq!(lines[11], "the new leader: player 0");
}

#[test]
fn the_examples_run_in_memory() {
    check_counter("redb::memory:");
    check_leaderboard("redb::memory:", 0);
}

#[test]
fn the_examples_run_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redb:{}", folder.path().join("examples.redb").display());
    check_counter(&url);
    check_leaderboard(&url, 0);
    // The count of the first run is on disk.
    assert!(run("counter", &url).ends_with("before: 50, after: 100\n"));
}

#[test]
fn the_examples_run_on_redis() {
    let server = RedisServer::start();
    check_counter(&server.url());
    check_leaderboard(&server.url(), 1);
}
