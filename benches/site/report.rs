//! What the figures are measured against, and the tables.

use super::document::time;
use super::growth::{GrownPage, Growth};
use super::options::Engine;
use super::rows::MIX;
use super::run::{Figures, PageFigures};
use super::soak::Minute;
use super::votes::{Times, Votes};
use std::time::Duration;

const START: Duration = Duration::from_millis(200);
const RESIDENT_MEBIBYTES: f64 = 200.0;
const VOTE_OVER_FLUSH: f64 = 3.0;
const MIX_P99_OVER_BARE: f64 = 20.0;
const GROWTH: f64 = 1.2;
const REDIS_FRONT_PAGES: f64 = 2_500.0;
const REDB_VOTES: f64 = 4_000.0;
const REDIS_VOTES: f64 = 3_000.0;

/// All that was measured of an engine.
pub struct Results {
    pub engine: Engine,
    pub filling: Option<Duration>,
    pub figures: Option<Figures>,
    /// How many times the data the larger site has.
    pub times: u64,
    pub growth: Growth,
    pub soak: Vec<Minute>,
}

/// A figure beside what it must be.
pub struct Judged {
    pub name: String,
    pub value: f64,
    /// The figure with its unit.
    pub shown: String,
    /// What it must be; empty when it may be anything.
    pub required: String,
    pub is_kept: bool,
}

impl Judged {
    fn least(name: &str, value: f64, shown: String, least: f64) -> Self {
        let required = format!("at least {least}");
        Self { name: name.to_owned(), value, shown, required, is_kept: value >= least }
    }

    fn below(name: &str, value: f64, shown: String, below: f64, unit: &str) -> Self {
        let required = format!("below {below}{unit}");
        Self { name: name.to_owned(), value, shown, required, is_kept: value < below }
    }

    fn free(name: &str, value: f64, shown: String) -> Self {
        Self { name: name.to_owned(), value, shown, required: String::new(), is_kept: true }
    }

    /// A page beside the bare route; on Redis one page has to be fast for itself.
    pub fn page(engine: Engine, page: &PageFigures) -> Self {
        let ratio = page.ratio();
        let free = Self::free(page.name, ratio, String::new());
        match (engine, page.required) {
            (Engine::Redb, Some(required)) => Self {
                required: format!("{required:.2}"),
                is_kept: ratio >= required && (page.name != MIX || mix_p99(page) < MIX_P99_OVER_BARE),
                ..free
            },
            (Engine::Redis, _) if page.name == "/ logged in" => Self {
                required: format!("{REDIS_FRONT_PAGES} per second"),
                is_kept: page.site.per_second >= REDIS_FRONT_PAGES,
                ..free
            },
            _ => free,
        }
    }

    /// A page with more data; it may be slower where it is larger.
    pub fn growth(page: &GrownPage) -> Self {
        let factor = page.factor();
        let most = GROWTH * page.larger.max(1.0);
        let free = Self::free(page.name, factor, String::new());
        Self { required: format!("at most {most:.2}"), is_kept: factor <= most, ..free }
    }

    /// What it must be, and whether it is not.
    pub fn verdict(&self) -> String {
        format!("{}{}", self.required, if self.is_kept { "" } else { ", missed" })
    }
}

/// How many times as long the slowest answers of the mix take as bare ones.
fn mix_p99(page: &PageFigures) -> f64 {
    page.site.p99.as_secs_f64() / page.bare.p99.as_secs_f64()
}

impl Results {
    /// The figures that are not of pages.
    pub fn others(&self) -> Vec<Judged> {
        let mut others = Vec::new();
        if let Some(filling) = self.filling {
            let seconds = filling.as_secs_f64();
            others.push(Judged::free("filling the store", seconds, format!("{seconds:.0} s")));
        }
        if let Some(figures) = &self.figures {
            self.add_figures(&mut others, figures);
        }
        if let (Some(first), Some(last)) = (self.soak.first(), self.soak.last()) {
            let name = format!("memory after {} minutes of the mix", self.soak.len());
            others.push(Judged {
                required: format!("below {RESIDENT_MEBIBYTES} MiB"),
                is_kept: last.memory.resident < RESIDENT_MEBIBYTES,
                ..Judged::free(
                    &name,
                    last.memory.resident,
                    format!("{:.0} MiB; after one {:.0} MiB", last.memory.resident, first.memory.resident),
                )
            });
        }
        others
    }

    fn add_figures(&self, others: &mut Vec<Judged>, figures: &Figures) {
        let start = figures.start.as_secs_f64() * 1_000.0;
        let most = START.as_secs_f64() * 1_000.0;
        others.push(Judged::below("start to first answer", start, format!("{start:.0} ms"), most, " ms"));
        for (after, memory) in &figures.memory {
            let shown = format!("{:.0} MiB, at most {:.0} MiB", memory.resident, memory.peak);
            let name = format!("memory {after}");
            others.push(Judged::below(&name, memory.resident, shown, RESIDENT_MEBIBYTES, " MiB"));
        }
        if let Some(mix) = figures.pages.iter().find(|page| page.name == MIX) {
            let times = mix_p99(mix);
            let name = "p99 of the mix over the bare route's";
            others.push(Judged::below(name, times, format!("{times:.1} times"), MIX_P99_OVER_BARE, " times"));
        }
        let Some(votes) = &figures.votes else {
            return;
        };
        let least = if self.engine == Engine::Redb { REDB_VOTES } else { REDIS_VOTES };
        let shown = format!("{:.0} per second", votes.per_second);
        others.push(Judged::least("votes, 64 connections", votes.per_second, shown, least));
        add_alone(others, votes);
    }
}

/// One vote, beside what the disk takes.
fn add_alone(others: &mut Vec<Judged>, votes: &Votes) {
    let times = |name: &str, times: Times| {
        let shown = format!("{}, fastest tenth {}", time(times.median), time(times.fast));
        Judged::free(name, times.median.as_secs_f64(), shown)
    };
    others.push(times("one vote alone", votes.alone));
    let Some(flushes) = &votes.flushes else {
        return;
    };
    others.push(times("append of 4 KiB and a flush", flushes.append));
    others.push(times("overwriting 4 KiB and a flush", flushes.overwrite));
    let over = |flush: Times| {
        let of = |vote: Duration, flush: Duration| vote.as_secs_f64() / flush.as_secs_f64();
        let median = of(votes.alone.median, flush.median);
        let fast = of(votes.alone.fast, flush.fast);
        (median, fast, format!("{median:.2} times, fastest tenths {fast:.2}"))
    };
    // A vote includes a flush: where flushes were slow at times and votes were
    // not, the medians alone would flatter. So both figures have to be kept.
    let (value, fast, shown) = over(flushes.append);
    let most = value.max(fast);
    others.push(Judged::below("one vote over one append", most, shown, VOTE_OVER_FLUSH, " times"));
    let (value, _, shown) = over(flushes.overwrite);
    others.push(Judged::free("one vote over one overwriting", value, shown));
}

/// Prints what was measured of an engine.
pub fn print(results: &Results) {
    let engine = results.engine.name();
    if let Some(figures) = &results.figures {
        println!(
            "\n{engine:<26} {:>9} {:>9} {:>7} {:>11} {:>9} {:>9} {:>9} {:>6}  required",
            "per sec", "bare", "ratio", "of runs", "p50", "p99", "bare p99", "rounds"
        );
        for page in &figures.pages {
            let judged = Judged::page(results.engine, page);
            println!(
                "{:<26} {:>9.0} {:>9.0} {:>7.3} {:>11} {:>9} {:>9} {:>9} {:>6}  {}",
                page.name,
                page.site.per_second,
                page.bare.per_second,
                judged.value,
                page.spread(),
                time(page.site.p50),
                time(page.site.p99),
                time(page.bare.p99),
                page.rounds,
                judged.verdict(),
            );
        }
    }
    println!();
    for other in results.others() {
        println!("{:<38} {:<34} {}", other.name, other.shown, other.verdict());
    }
    print_growth(results);
    for (minute, of_minute) in (1..).zip(&results.soak) {
        let Minute { per_second, p99, memory } = of_minute;
        println!(
            "minute {minute:<4} {per_second:>9.0} per second, p99 {:>8}, {:>4.0} MiB",
            time(*p99),
            memory.resident
        );
    }
}

fn print_growth(results: &Results) {
    let Growth { pages, first_views } = &results.growth;
    let times = results.times;
    if !pages.is_empty() {
        let heading = format!("{times} times the data");
        println!(
            "\n{heading:<32} {:>14} {:>12} {:>8} {:>8}",
            "per sec before", "per sec", "slower", "larger"
        );
    }
    for page in pages {
        let judged = Judged::growth(page);
        println!(
            "{:<32} {:>14.0} {:>12.0} {:>8.2} {:>8.2}  {}",
            page.name,
            page.small.per_second,
            page.large.per_second,
            judged.value,
            page.larger,
            judged.verdict()
        );
    }
    if !first_views.is_empty() {
        println!("\n{:<32} {:>14} {:>12} {:>8}", "asked for first", "p50 before", "p50", "slower");
    }
    for view in first_views {
        let (small, large) = (time(view.small), time(view.large));
        println!("{:<32} {small:>14} {large:>12} {:>8.2}", view.name, view.factor());
    }
}
