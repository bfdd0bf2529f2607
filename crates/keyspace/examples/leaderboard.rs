//! A leaderboard: each player's best score, and a cached top ten.
//!
//! ```sh
//! cargo run -p tidings-keyspace --example leaderboard
//! cargo run -p tidings-keyspace --example leaderboard -- redb:leaderboard.redb
//! cargo run -p tidings-keyspace --example leaderboard -- redis://localhost
//! ```
//!
//! | key | type | holds |
//! | --- | --- | --- |
//! | `example:players:NAME` | hash | `best`: the best score, `games`: the number of games |
//! | `example:leaderboard` | sorted set | the players' names by their best scores |

use std::error::Error;
use tidings_keyspace::{
    Batch, CommitError, Fetch, KeyspaceError, Order, ReadSet, Store, StoreOptions, Tracked, read,
};

/// The key of the sorted set.
const LEADERBOARD: &str = "example:leaderboard";

/// How many players submit scores at the same time.
const PLAYERS: usize = 12;

/// How many games each of them plays.
const GAMES: usize = 5;

/// How often a submission is tried when others write to the same player meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// Names and scores, best first.
type TopTen = Vec<(String, f64)>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redb::memory:".to_owned());
    let store = Store::open(&url, &StoreOptions::default()).await?;
    clear(&store).await?;

    let mut tasks = tokio::task::JoinSet::new();
    for player in 0..PLAYERS {
        for game in 0..GAMES {
            let store = store.clone();
            // All games of a player end at once, so the submissions compete.
            let score = player * 10 + game * 7 % GAMES;
            tasks.spawn(async move { submit_score(&store, &name(player), score).await });
        }
    }
    for outcome in tasks.join_all().await {
        outcome?;
    }

    let mut cache = TopTenCache::default();
    for (place, (name, score)) in cache.get(&store).await?.iter().enumerate() {
        println!("{:>2}. {name:<9} {score:>4}", place + 1);
    }

    // The second look takes no round at all on the embedded engine.
    let rounds = store.rounds();
    cache.get(&store).await?;
    println!("reading it again: {} rounds", store.rounds() - rounds);

    submit_score(&store, &name(0), 1000).await?;
    let leader = cache.get(&store).await?.first().map(|(name, _)| name.clone());
    println!("the new leader: {}", leader.unwrap_or_default());
    clear(&store).await?;
    store.close().await;
    Ok(())
}

fn name(player: usize) -> String {
    format!("player {player}")
}

fn player_key(name: &str) -> String {
    format!("example:players:{name}")
}

/// Counts a game, and stores its score if it is the player's best. Two rounds, and two
/// more for each time that another submission for the same player came first.
async fn submit_score(store: &Store, name: &str, score: usize) -> Result<(), CommitError> {
    let key = player_key(name);
    let mut attempts = 0;
    loop {
        let best = store.fetch(read::hash_fields(&key, ["best"])).await?.pop().flatten();
        let is_best = best.as_ref().and_then(|best| best.parse().ok()).is_none_or(|best: usize| score > best);

        let mut batch = Batch::new();
        // If anyone has changed the best score since the read, nothing is written.
        batch.field_unchanged(&key, "best", best);
        batch.increment_field(&key, "games", 1);
        if is_best {
            batch.set_field(&key, "best", score.to_string());
            batch.sorted_add(LEADERBOARD, name, f64::from(u32::try_from(score).unwrap_or(u32::MAX)));
        }
        attempts += 1;
        match store.commit(batch).await {
            Err(CommitError::Rejected(_)) if attempts < MAX_ATTEMPTS => {}
            outcome => return outcome.map(|_| ()),
        }
    }
}

/// The top ten with what was read for it. Takes one round.
async fn read_top_ten(store: &Store) -> Result<Tracked<TopTen>, KeyspaceError> {
    store.fetch(read::sorted_range(LEADERBOARD, Order::Descending, 0, 10).tracked()).await
}

/// The top ten, read again only after somebody has written to the leaderboard.
#[derive(Default)]
struct TopTenCache {
    entry: Option<(TopTen, ReadSet)>,
}

impl TopTenCache {
    /// The top ten. No round if it is cached and unchanged, otherwise one; one more on a Redis server.
    async fn get(&mut self, store: &Store) -> Result<&TopTen, KeyspaceError> {
        // Those of other processes, on a Redis server.
        store.learn_writes().await?;
        let cached = self.entry.take();
        let is_current = |(_, reads): &(TopTen, ReadSet)| store.tracks_writes() && store.is_unchanged(reads);
        let entry = match cached.filter(is_current) {
            Some(entry) => entry,
            None => read_top_ten(store).await?.into_parts(),
        };
        Ok(&self.entry.insert(entry).0)
    }
}

/// Removes all that an earlier run has left.
async fn clear(store: &Store) -> Result<(), CommitError> {
    let mut batch = Batch::new();
    batch.delete(LEADERBOARD);
    for player in 0..PLAYERS {
        batch.delete(player_key(&name(player)));
    }
    store.commit(batch).await.map(|_| ())
}
