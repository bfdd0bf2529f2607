//! The rounds that one piece of work takes, for lines about slow requests.

use std::cell::Cell;
use std::future::Future;
use tokio::task_local;

task_local! {
    static ROUNDS: Cell<u64>;
}

/// Runs a future and counts the rounds (queries and commits) that it makes on any store. Those
/// of tasks that it spawns are not counted.
pub async fn count_rounds<T>(work: impl Future<Output = T>) -> (T, u64) {
    ROUNDS.scope(Cell::new(0), async move { (work.await, ROUNDS.with(Cell::get)) }).await
}

/// Counts rounds of the calling task, or those that another has made for it.
pub fn note_rounds(count: u64) {
    // Nobody may be counting.
    ROUNDS.try_with(|rounds| rounds.set(rounds.get() + count)).ok();
}

#[cfg(test)]
mod tests {
    use super::count_rounds;
    use crate::{Batch, Store, read};

    #[tokio::test]
    async fn the_rounds_of_a_piece_of_work_are_counted() {
        let store = Store::in_memory().await.unwrap();
        let work = async |queries: u64| {
            for _ in 0..queries {
                store.fetch(read::string("a")).await.unwrap();
            }
            // Nothing to read takes none.
            store.fetch(read::known(())).await.unwrap();
            store.commit(Batch::of(|batch| batch.set("a", "1"))).await.unwrap();
        };
        let both = tokio::join!(count_rounds(work(3)), count_rounds(work(5)));
        assert_eq!(both, (((), 4), ((), 6)));
    }
}
