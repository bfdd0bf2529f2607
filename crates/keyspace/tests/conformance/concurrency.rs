//! Concurrent batches and queries.

use super::{Subject, refusal};
use std::collections::HashSet;
use tidings_keyspace::{Batch, Store, read};
use tokio::task::JoinSet;

const TASKS: i64 = 32;
const ROUNDS: i64 = 10;

pub(super) async fn concurrent_increments_are_all_kept(subject: Subject) {
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let store = subject.store.clone();
        tasks.spawn(async move {
            let mut seen = Vec::new();
            for _ in 0..ROUNDS {
                let mut batch = Batch::new();
                batch.increment("counter", 1);
                batch.increment_field("hash", "field", 2);
                seen.push(store.commit(batch).await.unwrap().values());
            }
            seen
        });
    }
    let seen: Vec<Vec<i64>> = tasks.join_all().await.into_iter().flatten().collect();
    let numbers: HashSet<i64> = seen.iter().map(|counters| counters[0]).collect();
    assert_eq!(numbers, (1..=TASKS * ROUNDS).collect());
    assert!(seen.iter().all(|counters| counters[1] == 2 * counters[0]));
    let total = (TASKS * ROUNDS).to_string();
    assert_eq!(subject.ask(read::string("counter")).await, Some(total));
}

async fn vote(store: Store, member: String) -> String {
    let mut batch = Batch::new();
    batch.sorted_member_absent("up", "user");
    batch.sorted_member_absent("down", "user");
    batch.sorted_add(if member.len().is_multiple_of(2) { "up" } else { "down" }, "user", 1.0);
    batch.increment("votes", 1);
    batch.set("winner", member);
    refusal(store.commit(batch).await)
}

pub(super) async fn one_of_many_rivals_wins(subject: Subject) {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(vote(subject.store.clone(), task.to_string()));
    }
    let outcomes = tasks.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "passed").count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| outcome == "passed" || outcome.starts_with("rejected")));
    assert_eq!(subject.ask(read::string("votes")).await.as_deref(), Some("1"));
    let up = subject.ask(read::sorted_count("up")).await;
    let down = subject.ask(read::sorted_count("down")).await;
    assert_eq!(up + down, 1);
}

pub(super) async fn batches_are_seen_whole(subject: Subject) {
    // Moves between two fields while others read both with one command.
    subject.write(|batch| batch.set_fields("account", [("left", "1000"), ("right", "0")])).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let store = subject.store.clone();
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                let mut batch = Batch::new();
                batch.increment_field("account", "left", -1);
                batch.increment_field("account", "right", 1);
                store.commit(batch).await.unwrap();
                let account = store.fetch(read::hash("account")).await.unwrap();
                let field = |name| account.get(name).unwrap().parse::<i64>().unwrap();
                assert_eq!(field("left") + field("right"), 1000);
            }
        });
    }
    tasks.join_all().await;
}

pub(super) async fn more_batches_at_once_than_any_queue_holds_are_all_applied(subject: Subject) {
    // The embedded engine queues 1,024 batches and applies at most 256 together. The
    // client of Redis queues 1,024 requests.
    const BATCHES: i64 = 1_500;
    let mut tasks = JoinSet::new();
    for _ in 0..BATCHES {
        let store = subject.store.clone();
        tasks.spawn(async move {
            store.commit(Batch::of(|batch| batch.increment("counter", 1))).await.unwrap().values()
        });
    }
    let mut counters: Vec<i64> = tasks.join_all().await.into_iter().flatten().collect();
    counters.sort_unstable();
    assert!(counters.into_iter().eq(1..=BATCHES));
}
