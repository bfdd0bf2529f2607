//! A Redis server that takes no writes: its memory or its disk is full, or it became a replica.

use std::path::Path;

use super::{assert_nothing_is_lost, lasting_redis, post, wait_for_health};
use crate::full_disk::{SmallDisk, assert_reading_works, assert_writing_says_why, post_until_refused};
use crate::program::{Program, wait_until};
use crate::redis_server::RedisServer;
use crate::skips::skip;

/// Lets a server refuse writes for a while. The site must write again by itself.
async fn check_refusal(redis: &RedisServer, cause: &str, refuse: impl FnOnce(), allow: impl FnOnce()) {
    let program = Program::start(&redis.url());
    let alice = program.visitor().register("alice").await;
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Before").await;
    refuse();
    let (more, refusal) = post_until_refused(&alice, 0).await;
    posted.extend(more);
    assert_reading_works(&program, &alice, posted.last().unwrap()).await;
    assert_writing_says_why(&alice, &refusal, cause).await;
    wait_for_health(&program, 503, "read_only").await;
    let health = program.visitor().get("/health/ready").await;
    assert!(health.text().contains(cause), "{}", health.text());
    let line = program.wait_for_log("health: the store is read only");
    assert!(line.contains(cause), "{line}");
    allow();
    wait_for_health(&program, 200, "ok").await;
    program.wait_for_log("the store can be written again");
    post(&alice, &mut posted, "After").await;
    assert_nothing_is_lost(&program, &redis.url(), &posted).await;
    assert!(!program.log().contains("panic"), "{}", program.log());
}

/// Sends commands that must succeed.
fn command(redis: &RedisServer, lines: &[&str]) {
    for line in lines {
        let answer = redis.send(line.as_bytes());
        assert!(answer.starts_with("+OK"), "{line}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_without_memory() {
    let redis = lasting_redis();
    let full = ["CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"];
    let refuse = || command(&redis, &full);
    let allow = || command(&redis, &["CONFIG SET maxmemory 0"]);
    check_refusal(&redis, "no memory left", refuse, allow).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_became_a_replica() {
    let redis = lasting_redis();
    let refuse = || command(&redis, &["REPLICAOF 127.0.0.1 1"]);
    let allow = || command(&redis, &["REPLICAOF NO ONE"]);
    check_refusal(&redis, "read-only replica", refuse, allow).await;
}

/// A Redis server that keeps its files on a disk.
fn redis_on(disk: &Path, options: &[&str]) -> RedisServer {
    RedisServer::start_with(&[&["--dir", disk.to_str().unwrap()], options].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_whose_log_finds_no_room() {
    let Some(disk) = SmallDisk::mount() else {
        skip("mount");
        return;
    };
    let redis = redis_on(disk.path(), &["--appendonly", "yes"]);
    check_refusal(&redis, "cannot save to its disk", || disk.fill(), || disk.free()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_whose_snapshot_finds_no_room() {
    let Some(disk) = SmallDisk::mount() else {
        skip("mount");
        return;
    };
    let redis = redis_on(disk.path(), &["--save", "1 1"]);
    let refuse = || {
        disk.fill();
        wait_until("a snapshot that fails", || {
            redis.send(b"BGSAVE");
            redis.send(b"INFO persistence").contains("rdb_last_bgsave_status:err").then_some(())
        });
    };
    check_refusal(&redis, "cannot save to its disk", refuse, || disk.free()).await;
}
