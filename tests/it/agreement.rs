//! All views agree. People and moderators do at random everything that they can, each thing with a word of its own.
//! Then every view shows the same words to whoever may read them, and no others; badges and counters are what one
//! sees; and the check of the store finds nothing. Everything undone, they agree again. After somebody leaves with
//! "erase", none of their words is left.
//!
//! `TEST_WALKS` is the number of long walks on each engine, `TEST_WALK` the first seed. With `TEST_WALK_SHRINK=words`, a
//! walk that finds a fault with these words is taken again and again with fewer steps.

mod erasure;
mod model;
mod moderating;
mod site;
mod steps;
mod stored;
mod views;
mod writing;

use crate::server::{Engine, Server};
use crate::undo_is_exact::Dice;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use steps::{FIRST, Step, Walk};
use views::{Faults, note};

/// The steps of a walk, and of a short one.
const STEPS: usize = 500;
const FEW_STEPS: usize = 150;
const FEW_WALKS: u64 = 2;

/// Notes what the checks of the store find.
async fn check_store(walk: &Walk, faults: &mut Faults, when: &str) {
    walk.server.finish_jobs().await;
    let before = walk.server.dump().await;
    let report = crate::store_check::report(&walk.server, true).await;
    for (key, value) in walk.server.dump().await {
        // A worker gives the lease of its last job back.
        if !key.contains("lease") && before.get(&key) != Some(&value) {
            note(faults, format!("check store {when}: a repair writes"), || format!("{key}: {value:?}"));
        }
    }
    for difference in &report.differences {
        let kind: String = format!("{difference:?}")
            .chars()
            .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
            .collect();
        let text = format!("{difference:?}");
        let history = walk.history_of_named(&text);
        note(faults, format!("check store {when}: {kind}"), || format!("{text}{history}"));
    }
    if report.strangers > 0 {
        note(faults, format!("check store {when}: strangers"), || format!("{:?}", report.named_strangers));
    }
    let checked =
        AssertUnwindSafe(async { crate::consistency::check(&walk.server.dump().await) }).catch_unwind().await;
    if let Err(panic) = checked {
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        let history = walk.history_of_person(&text);
        note(faults, format!("consistency {when}: {}", text.lines().last().unwrap_or_default()), || {
            text + &history
        });
    }
}

/// A walk that is new, or one that is taken again.
enum Way<'a> {
    /// So many steps, by the numbers of a seed.
    New(u64, usize),
    /// These steps.
    Again(&'a [Step]),
}

/// Walks, and returns what is wrong, with the steps.
async fn walk(engine: Engine, way: Way<'_>) -> (Faults, Vec<Step>) {
    let index = tempfile::tempdir().unwrap();
    let folder = index.path().join("index");
    let folder_name = folder.to_str().unwrap();
    let settings = [
        ("search.enabled", "true"),
        ("search.folder", folder_name),
        ("moderation.hide_at", "2"),
        ("limits.repost_seconds", "0"),
        ("accounts.signup", "apply"),
        // However busy the machine is.
        ("server.store_timeout_seconds", "60"),
    ];
    let mut walk = Walk::start(Server::start(engine, &settings).await).await;
    let mut faults = Faults::new();
    match way {
        Way::New(seed, steps) => {
            let mut dice = Dice(seed);
            for number in 1..=steps {
                let step = walk.choose(number, &mut dice);
                walk.take(&step).await;
            }
        }
        Way::Again(steps) => {
            for step in steps {
                walk.take(step).await;
            }
        }
    }
    walk.follow_index().await;
    walk.compare(&mut faults, true).await;
    check_store(&walk, &mut faults, "after the walk").await;
    let undone = views::undo_everything(&mut walk).await;
    walk.follow_index().await;
    walk.compare(&mut faults, false).await;
    check_store(&walk, &mut faults, "after the undo").await;
    let person = (FIRST..walk.model.people.len())
        .find(|person| !walk.model.people[*person].has_left && !walk.model.people[*person].is_banned);
    if let Some(person) = person {
        walk.leave_and_look(person, &folder, &mut faults).await;
        walk.compare(&mut faults, false).await;
        check_store(&walk, &mut faults, "after somebody has left").await;
    }
    println!("{} steps done, {undone} undone", walk.steps.len());
    walk.server.stop().await;
    (faults, walk.steps)
}

/// Looks for fewer steps that have a fault, too.
async fn shrink(engine: Engine, mut steps: Vec<Step>, fault: &str) -> Vec<Step> {
    let mut chunk = steps.len() / 2;
    while chunk > 0 {
        let mut start = 0;
        while start < steps.len() {
            let end = (start + chunk).min(steps.len());
            let fewer = [&steps[..start], &steps[end..]].concat();
            if walk(engine, Way::Again(&fewer)).await.0.keys().any(|found| found.contains(fault)) {
                steps = fewer;
            } else {
                start = end;
            }
        }
        chunk /= 2;
    }
    steps
}

async fn walks(engine: Engine) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("TEST_WALK").unwrap_or(0);
    let (count, steps) = match number("TEST_WALKS") {
        Some(count) => (count, STEPS),
        None => (FEW_WALKS, FEW_STEPS),
    };
    let mut failed = Vec::new();
    for seed in first..first + count {
        let (faults, taken) = walk(engine, Way::New(seed, steps)).await;
        for (what, (count, example)) in &faults {
            println!("{count:4} {what}: {example}");
        }
        if faults.is_empty() {
            continue;
        }
        failed.push(seed);
        if let Ok(fault) = std::env::var("TEST_WALK_SHRINK") {
            let fewer = shrink(engine, taken, &fault).await;
            println!("{} steps suffice:", fewer.len());
            for step in fewer {
                println!("    {step:?}");
            }
        }
    }
    assert!(failed.is_empty(), "on {engine:?}, these seeds find faults: {failed:?}");
}

#[tokio::test]
async fn all_views_agree_on_the_embedded_store() {
    walks(Engine::Memory).await;
}

#[tokio::test]
async fn all_views_agree_on_redis() {
    walks(Engine::Redis).await;
}
