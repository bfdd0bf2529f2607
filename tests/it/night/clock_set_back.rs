//! The clock is a day behind what the store has. A program's clock cannot be set, so the store was
//! written by a server whose clock is a day ahead.

use std::time::SystemTime;

use super::{assert_nothing_is_lost, assert_readers_see, lasting_redis, post, url_of, wait_for_health};
use crate::client::ok;
use crate::html::Page;
use crate::program::Program;
use crate::server::{Engine, Server};

const DAY: u64 = 86_400;

/// A server on a store, whose clock is a day ahead.
async fn server_ahead(store: &str) -> Server {
    let clock = Server::start(Engine::Memory, &[]).await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let (ahead, shown) = (now + DAY, clock.now());
    clock.advance(ahead.saturating_sub(shown));
    clock.set_back(shown.saturating_sub(ahead));
    Server::beside(store, &clock).await
}

async fn check_clock_set_back(store: &str) -> Program {
    let server = server_ahead(store).await;
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let mut posted = Vec::new();
    post(&alice, &mut posted, "Tomorrow").await;
    bob.comment(1, "A comment of tomorrow").await;
    bob.tweet("A tweet of tomorrow").await;
    server.store().close().await;
    drop(server);

    let program = Program::start(store);
    let (alice, bob) = (alice.at(program.address), bob.at(program.address));
    for client in [&program.visitor(), &alice] {
        for path in
            ["/", "/latest", "/best", "/everyone", "/news/1", "/user/alice", "/@bob", "/sites", "/rss"]
        {
            let answer = client.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            let text = if path == "/rss" { answer.text() } else { Page::of(&answer).text().to_owned() };
            assert!(!text.contains("-1 ") && !text.contains("in the future"), "{path}: {text}");
        }
    }
    assert_readers_see(&program, "Tomorrow").await;
    wait_for_health(&program, 200, "ok").await;
    // Sessions go on, and everything can be done.
    post(&alice, &mut posted, "Today").await;
    bob.comment(2, "A comment of today").await;
    bob.tweet("A tweet of today").await;
    ok(bob.vote(2, "up").await);
    assert_readers_see(&program, "Today").await;
    wait_for_health(&program, 200, "ok").await;
    assert_nothing_is_lost(&program, store, &posted).await;
    let log = program.log();
    assert!(!log.contains(" ERROR ") && !log.contains("panic"), "{log}");
    program
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_set_back_by_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let program = check_clock_set_back(&url_of(folder.path())).await;
    let line = program.wait_for_log("the system's clock is behind the last write of the store");
    assert!(line.contains("behind by 23 hours") || line.contains("behind by 24 hours"), "{line}");
    let redis = lasting_redis();
    check_clock_set_back(&redis.url()).await;
}
