//! A counter that several tasks increment at the same time.
//!
//! ```sh
//! cargo run -p tidings-keyspace --example counter
//! cargo run -p tidings-keyspace --example counter -- redb:counter.redb
//! cargo run -p tidings-keyspace --example counter -- redis://localhost
//! ```

use std::error::Error;
use tidings_keyspace::{Batch, CommitError, Store, StoreOptions, read};

/// The key of the counter.
const COUNTER: &str = "example:counter";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redb::memory:".to_owned());
    let store = Store::open(&url, &StoreOptions::default()).await?;
    let before = value(&store).await?;

    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let store = store.clone();
        tasks.spawn(async move { add(&store, 5).await });
    }
    for outcome in tasks.join_all().await {
        println!("a task has raised the counter to {}", outcome?);
    }

    let after = value(&store).await?;
    println!("before: {before}, after: {after}");
    store.close().await;
    Ok(())
}

/// Adds to the counter in one round. Returns its new value.
///
/// An increment needs no check: the engine reads, adds and writes in one step.
async fn add(store: &Store, by: i64) -> Result<i64, CommitError> {
    let mut batch = Batch::new();
    batch.increment(COUNTER, by);
    // A commit returns the new values of the counters of its batch.
    Ok(store.commit(batch).await?.counter(COUNTER).unwrap_or_default())
}

/// The value of the counter: 0 before the first increment. Takes one round.
async fn value(store: &Store) -> Result<i64, Box<dyn Error>> {
    Ok(store.fetch(read::string(COUNTER)).await?.map_or(Ok(0), |text| text.parse())?)
}
