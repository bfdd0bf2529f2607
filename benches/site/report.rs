//! The tables.

use super::options::Engine;
use super::run::{Figures, PageFigures};
use std::time::Duration;

/// What an engine must do.
const START: Duration = Duration::from_millis(200);
const RESIDENT_MEBIBYTES: f64 = 200.0;
const VOTE_OVER_FLUSH: f64 = 3.0;
const MIX_P99_OVER_BARE: f64 = 20.0;
const REDIS_FRONT_PAGES: f64 = 2_500.0;

const fn votes_per_second(engine: Engine) -> f64 {
    match engine {
        Engine::Redb => 4_000.0,
        Engine::Redis => 3_000.0,
    }
}

/// `ok`, or what is missed.
fn mark(kept: bool) -> &'static str {
    if kept { "" } else { "MISSED" }
}

/// Whether a page is as fast as it must be.
pub fn keeps(engine: Engine, page: &PageFigures) -> bool {
    let ratio = page.site.per_second / page.bare.per_second;
    if engine == Engine::Redis {
        return page.name != "/ logged in" || page.site.per_second >= REDIS_FRONT_PAGES;
    }
    let p99 = page.site.p99.as_secs_f64() / page.bare.p99.as_secs_f64();
    page.required.is_none_or(|required| ratio >= required)
        && (page.name != super::rows::MIX || p99 < MIX_P99_OVER_BARE)
}

/// Prints what was measured of an engine.
pub fn print(figures: &Figures) {
    let engine = figures.engine;
    println!(
        "\n{:<26} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>6} {:>8}",
        engine.name(),
        "per sec",
        "bare",
        "ratio",
        "p50",
        "p99",
        "bare p99",
        "rounds",
        "required"
    );
    for page in &figures.pages {
        let required = page.required.filter(|_| engine == Engine::Redb);
        println!(
            "{:<26} {:>9.0} {:>9.0} {:>7.3} {:>9.2?} {:>9.2?} {:>9.2?} {:>6} {:>8} {}",
            page.name,
            page.site.per_second,
            page.bare.per_second,
            page.site.per_second / page.bare.per_second,
            page.site.p50,
            page.site.p99,
            page.bare.p99,
            page.rounds,
            required.map(|required| format!("{required:.2}")).unwrap_or_default(),
            mark(keeps(engine, page)),
        );
    }
    if let Some(filling) = figures.filling {
        println!("{:<26} {:>9.1?}", "filling the store", filling);
    }
    println!("{:<26} {:>9.1?} {}", "start to first answer", figures.start, mark(figures.start < START));
    for (after, memory) in &figures.memory {
        let kept = memory.resident < RESIDENT_MEBIBYTES;
        println!(
            "{:<26} {:>6.0} MiB, at most {:.0} MiB {}",
            format!("memory {after}"),
            memory.resident,
            memory.peak,
            mark(kept)
        );
    }
    if let Some(votes) = &figures.votes {
        let kept = votes.per_second >= votes_per_second(engine);
        println!("{:<26} {:>9.0} {}", "votes per second", votes.per_second, mark(kept));
        println!("{:<26} {:>9.1?}", "one vote alone", votes.alone);
        if let Some(flush) = votes.flush {
            let times = votes.alone.as_secs_f64() / flush.as_secs_f64();
            println!(
                "{:<26} {:>9.1?}; a vote takes {times:.2} times as long {}",
                "flush of 4 KiB",
                flush,
                mark(times <= VOTE_OVER_FLUSH)
            );
        }
    }
}
