//! Lists for visitors come from a replica of the store; everything else, and what decides a write, from the
//! primary.

use crate::client::{Client, ok};
use crate::pages::page;
use crate::redis_server::RedisServer;
use crate::server::Server;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long to poll for what must happen.
const PATIENCE: Duration = Duration::from_secs(15);

/// Lists that are the same for all visitors, each with an address that has not been asked for.
const LISTS: [&str; 9] = [
    "/?1",
    "/latest/0",
    "/best",
    "/best/new",
    "/topics",
    "/everyone",
    "/api/getnews/latest/0/30",
    "/api/articles/best/1",
    "/api/timeline/everyone",
];

/// Feeds have no viewer, whoever asks.
const FEEDS: [&str; 2] = ["/rss", "/best/atom"];

/// A site on a primary with a replica.
async fn start() -> (Server, RedisServer, RedisServer) {
    let primary = RedisServer::start_with(&["--repl-diskless-sync-delay", "0"]);
    let port = primary.port().to_string();
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &port]);
    let server = Server::at(&primary.url(), &[("server.store_read_from_replicas", "true")]).await;
    wait_for_replica(&server, true).await;
    (server, primary, replica)
}

async fn wait_for_replica(server: &Server, is_there: bool) {
    let deadline = Instant::now() + PATIENCE;
    while server.store().has_replica() != is_there {
        assert!(Instant::now() < deadline, "{is_there}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Commands that only read, so that they do not come from the primary.
const READS: [&str; 8] = ["get", "hget", "hmget", "hgetall", "zrange", "zcard", "zmscore", "sismember"];

/// How often a server has been read since [`forget_reads`].
fn reads(server: &RedisServer) -> u64 {
    let stats = server.send(b"INFO commandstats");
    let calls = |line: &str| {
        let (command, calls) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls: u64 = calls.split(',').next()?.parse().ok()?;
        READS.contains(&command).then_some(calls)
    };
    stats.lines().filter_map(calls).sum()
}

fn forget_reads(server: &RedisServer) {
    assert!(server.send(b"CONFIG RESETSTAT").contains("OK"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_for_visitors_come_from_a_replica_and_those_of_members_from_the_primary() {
    let (server, _primary, replica) = start().await;
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    alice.tweet("Hello").await;
    forget_reads(&replica);
    for path in LISTS {
        ok_page(alice.get(path).await.status.as_u16(), path);
    }
    let own = ["/home", "/news/1", "/inbox", "/submit", "/settings"];
    for path in own {
        ok_page(alice.get(path).await.status.as_u16(), path);
    }
    ok(alice.api_post("/api/hide", &[("news_id", "1")]).await);
    ok(alice.api_post("/api/unhide", &[("news_id", "1")]).await);
    // Nor are pages that are no lists read there.
    for path in ["/news/1", "/@alice", "/login"] {
        ok_page(server.visitor().get(path).await.status.as_u16(), path);
    }
    assert_eq!(reads(&replica), 0);
    assert_read_on_replica(&server, &replica, &alice, &LISTS).await;
    forget_reads(&replica);
    assert_read_on_replica(&server, &replica, &alice, &FEEDS).await;
}

/// Asserts that a visitor's pages come from the replica. A busy machine may measure it too late. The pages then come
/// from the primary and are kept until the next story.
async fn assert_read_on_replica(server: &Server, replica: &RedisServer, author: &Client, paths: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        for path in paths {
            ok_page(server.visitor().get(path).await.status.as_u16(), path);
        }
        if reads(replica) > 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{paths:?}");
        author.submit_text("Another story", "text").await;
    }
}

#[track_caller]
fn ok_page(status: u16, path: &str) {
    assert_eq!(status, 200, "{path}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_writes_sees_it_at_once_and_visitors_within_a_second() {
    let (server, primary, replica) = start().await;
    let alice = server.member("alice").await;
    for number in 1..=20 {
        let title = format!("Story number {number}");
        alice.submit_text(&title, "text").await;
        // Visitors read before and after, perhaps what is older.
        let path = format!("/latest/0?{number}");
        server.visitor().get(&path).await;
        assert!(page(&alice, "/latest/0").await.text().contains(&title), "{title}");
    }
    // A replica that is cut off has what it had.
    assert!(replica.send(b"REPLICAOF 127.0.0.1 1").contains("OK"));
    alice.submit_text("The last story", "text").await;
    wait_for_replica(&server, false).await;
    let shown = page(&server.visitor(), "/latest/0?last").await;
    assert!(shown.text().contains("The last story"), "{}", shown.text());
    assert!(primary.send(b"PING").contains("PONG"));
}
