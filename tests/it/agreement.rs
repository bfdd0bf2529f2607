//! All views agree. People and moderators do at random everything that they can, each thing with a word of its own.
//! Then every view shows the same words to whoever may read them, and no others; badges and counters are what one
//! sees; and the check of the store finds nothing. Everything undone, they agree again. After somebody leaves with
//! "erase", none of their words is left.
//!
//! `WALKS` is the number of walks, and `WALK` the seed of a single one.

mod model;
mod steps;
mod views;

use crate::server::{Engine, Server};
use crate::undo_is_exact::Dice;
use steps::Walk;
use views::Faults;

/// The steps of a walk.
const STEPS: usize = 500;

const SETTINGS: [(&str, &str); 3] =
    [("search.enabled", "true"), ("moderation.hide_at", "2"), ("limits.repost_seconds", "0")];

/// Walks with a seed, and returns what is wrong.
async fn walk(engine: Engine, seed: u64, steps: usize) -> Faults {
    let started = std::time::Instant::now();
    let mut walk = Walk::start(Server::start(engine, &SETTINGS).await).await;
    let mut dice = Dice(seed);
    let mut faults = Faults::new();
    println!("started after {:?}", started.elapsed());
    for number in 0..steps {
        let step = walk.choose(number, &mut dice);
        walk.take(&step).await;
    }
    println!("{} of {steps} steps done after {:?}", walk.acted, started.elapsed());
    walk.follow_index().await;
    walk.compare(&mut faults, true).await;
    println!("compared after {:?}", started.elapsed());
    crate::consistency::check_site(&walk.server).await;
    println!("checked after {:?}", started.elapsed());
    views::undo_everything(&mut walk).await;
    walk.follow_index().await;
    walk.compare(&mut faults, false).await;
    crate::consistency::check_site(&walk.server).await;
    println!("done after {:?}", started.elapsed());
    faults
}

async fn walks(engine: Engine) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("WALK") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WALKS").unwrap_or(2),
    };
    let steps = number("WALK_STEPS").map_or(STEPS, |steps| usize::try_from(steps).unwrap());
    for seed in seeds {
        let faults = walk(engine, seed, steps).await;
        for (what, (count, example)) in &faults {
            println!("{count:4} {what}: {example}");
        }
        assert!(faults.is_empty(), "seed {seed} on {engine:?}: {} kinds of faults", faults.len());
    }
}

#[tokio::test]
async fn all_views_agree_on_the_embedded_store() {
    walks(Engine::Memory).await;
}

#[tokio::test]
async fn all_views_agree_on_redis() {
    walks(Engine::Redis).await;
}
