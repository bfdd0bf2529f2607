//! The figures of an engine as a table.

use super::attack::{COMMON_CHECKS, Check, Outcome};
use std::time::Duration;
use tidings_testing::figures::{Section, line, table};
use tidings_testing::program::StoreEngine;

/// The section of an engine: what each attack did, the bounds of its own, and those bounds of
/// all attacks that were missed.
pub fn section(engine: StoreEngine, outcomes: &[Outcome]) -> Section {
    let mut text = String::new();
    let title = match engine {
        StoreEngine::Redb => "embedded store",
        StoreEngine::Redis => "Redis",
    };
    let headings = [
        title,
        "requests",
        "answered",
        "429",
        "refused",
        "ended",
        "memory before",
        "most",
        "store grew by",
        "p50 of others",
        "p99",
        "held",
    ];
    table(&mut text, &headings);
    for outcome in outcomes {
        line(&mut text, &cells(outcome));
    }
    table(&mut text, &["attack", "bound", "seen", ""]);
    for outcome in outcomes {
        let listed = outcome.checks.iter().enumerate().filter(|(place, check)| {
            let is_common = *place < COMMON_CHECKS;
            !is_common || !check.is_kept
        });
        for (_, Check { bound, seen, is_kept }) in listed {
            line(&mut text, &[outcome.attack.name, bound, seen, if *is_kept { "held" } else { "missed" }]);
        }
    }
    Section { name: format!("{} hostile", engine.name()), text }
}

fn cells(outcome: &Outcome) -> [String; 12] {
    let Outcome { attack, tally, memory_before, memory_most, growth, new_keys, noticed, checks } = outcome;
    let time = |time: Option<Duration>| {
        time.map_or_else(|| "none".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1e3))
    };
    let missed = checks.iter().filter(|check| !check.is_kept).count();
    [
        format!("{}: {}", attack.name, attack.sends),
        tally.sent().to_string(),
        tally.answered.to_string(),
        tally.limited.to_string(),
        tally.refused.to_string(),
        tally.broken.to_string(),
        format!("{memory_before:.0} MiB"),
        format!("{memory_most:.0} MiB"),
        format!("{growth:.1} MiB, {new_keys} keys"),
        time(noticed.percentile(50)),
        time(noticed.percentile(99)),
        if missed == 0 { "yes".to_owned() } else { format!("no, {missed} missed") },
    ]
}
