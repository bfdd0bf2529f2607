//! The primary of the store is killed while the site is under load. The long form, with a hundred
//! failovers, is `cargo bench --bench failover`.

use crate::client::refused;
use crate::failover_runs::{run, start_site};
use reqwest::StatusCode;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failovers_lose_nothing_that_the_site_acknowledged() {
    let (server, mut redis) = start_site().await;
    let outcome = run(&server, &mut redis, 16, 3).await;
    println!("{outcome:?}");
    assert_eq!(outcome.lost, [""; 0]);
    assert_eq!(outcome.half_done, [""; 0]);
    assert_eq!(outcome.done_though_refused, [""; 0]);
    assert!(outcome.acknowledged > 0 && outcome.unsure + outcome.refused > 0, "{outcome:?}");
    assert!(outcome.gaps.iter().all(|gap| *gap < Duration::from_secs(30)), "{:?}", outcome.gaps);
    crate::consistency::check(&server.dump().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_no_replica_has_is_answered_as_not_sure() {
    let (server, redis) = start_site().await;
    let alice = server.member("alice").await;
    alice.submit_text("One", "text").await;
    let primary = redis.primary().unwrap();
    let replicas = (0..3).filter(|number| *number != primary);
    replicas.for_each(|number| redis.server(number).pause());
    let fields = [("news_id", "-1"), ("title", "Two"), ("url", ""), ("text", "text")];
    let answer = alice.post("/api/submit", &fields).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "10");
    let message = refused(answer.json());
    assert!(message.contains("It may or may not have been done; repeat it"), "{message}");
    // The form keeps what was typed.
    let fields = [("news_id", "-1"), ("title", "Three"), ("url", ""), ("text", "A text of some length")];
    let page = alice.post("/submit", &fields).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("may or may not have been done; repeat it"), "{page}");
    assert!(page.contains("A text of some length"), "{page}");
    // Reading goes on.
    assert_eq!(server.visitor().get("/").await.status, StatusCode::OK);
}
