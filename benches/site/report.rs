//! The requirements for the figures.

use super::elsewhere::Elsewhere;
use super::growth::{GrownPage, Growth};
use super::options::Engine;
use super::rows::MIX;
use super::run::{Figures, PageFigures};
use super::soak::Minute;
use super::votes::{Times, Votes};
use std::time::Duration;
use tidings_testing::wrk::median;

const START: Duration = Duration::from_millis(200);
const RESIDENT_MEBIBYTES: f64 = 200.0;
const VOTE_OVER_FLUSH: f64 = 3.0;
const MIX_P99_OVER_BARE: f64 = 20.0;
const GROWTH: f64 = 1.2;
/// The factor below which a median counts as unchanged.
const MEMORY_GROWTH: f64 = 1.05;
const REDIS_FRONT_PAGES: f64 = 2_500.0;
const REDB_VOTES: f64 = 4_000.0;
const REDIS_VOTES: f64 = 3_000.0;

/// All measurements of an engine.
pub struct Results {
    pub engine: Engine,
    pub filling: Option<Duration>,
    pub figures: Option<Figures>,
    /// The factor of the larger site's data.
    pub times: u64,
    pub growth: Growth,
    pub soak: Vec<Minute>,
}

/// A figure and its requirement.
pub struct Judged {
    pub name: String,
    pub value: f64,
    /// The figure with its unit.
    pub shown: String,
    /// The requirement; empty if there is none.
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

    /// A page compared with the bare route. On Redis, one page has an absolute requirement.
    pub fn page(engine: Engine, page: &PageFigures) -> Self {
        let ratio = page.ratio();
        let free = Self::free(page.name, ratio, String::new());
        match (engine, page.required) {
            (Engine::Redb, Some(required)) => {
                Self { required: format!("{required:.2}"), is_kept: ratio >= required, ..free }
            }
            (Engine::Redis, _) if page.name == "/ logged in" => Self {
                required: format!("{REDIS_FRONT_PAGES} per second"),
                is_kept: page.site.per_second >= REDIS_FRONT_PAGES,
                ..free
            },
            _ => free,
        }
    }

    /// The processor time of a page as a multiple of the bare route's. Only the embedded store has a requirement.
    pub fn times(engine: Engine, page: &PageFigures) -> Self {
        let times = page.site_time / page.bare_time;
        let shown = format!("{times:.1}");
        match page.most.filter(|_| engine == Engine::Redb) {
            Some(most) => {
                let required = format!("at most {most:.1}");
                Self { name: page.name.to_owned(), value: times, shown, required, is_kept: times <= most }
            }
            None => Self::free(page.name, times, shown),
        }
    }

    /// A page with more data. It may be slower if it is larger.
    pub fn growth(page: &GrownPage) -> Self {
        let factor = page.factor();
        let most = GROWTH * page.larger.max(1.0);
        let free = Self::free(page.name, factor, String::new());
        Self { required: format!("at most {most:.2}"), is_kept: factor <= most, ..free }
    }

    /// The requirement, and whether it is missed.
    pub fn verdict(&self) -> String {
        format!("{}{}", self.required, if self.is_kept { "" } else { ", missed" })
    }
}

/// The slowest responses of the mix, relative to bare ones.
fn mix_p99(page: &PageFigures) -> f64 {
    page.site.p99.as_secs_f64() / page.bare.p99.as_secs_f64()
}

impl Results {
    /// The figures that are not about pages.
    pub fn others(&self) -> Vec<Judged> {
        let mut others = Vec::new();
        if let Some(filling) = self.filling {
            let seconds = filling.as_secs_f64();
            others.push(Judged::free("filling the store", seconds, format!("{seconds:.0} s")));
        }
        if let Some(figures) = &self.figures {
            self.add_figures(&mut others, figures);
        }
        others
    }

    /// The memory during the minutes of the mix.
    pub fn memory(&self) -> Vec<Judged> {
        let Some(last) = self.soak.last() else {
            return Vec::new();
        };
        let peak = last.memory.peak;
        let shown = format!("{peak:.0} MiB");
        let most = Judged::below("most memory", peak, shown, RESIDENT_MEBIBYTES, " MiB");
        // The first half fills the caches.
        let quarter = self.soak.len() / 4;
        let last_quarters = self.soak.rchunks(quarter.max(1)).take(2);
        let medians: Vec<f64> = last_quarters
            .map(|minutes| median(minutes.iter().map(|minute| minute.memory.resident)))
            .collect();
        let [after, before] = medians[..] else {
            return vec![most];
        };
        let name = "medians of the third and the last quarter";
        let (rise, shown) = (after / before, format!("{before:.0} MiB, {after:.0} MiB"));
        let growth = Judged {
            required: format!("at most {MEMORY_GROWTH} times"),
            is_kept: rise <= MEMORY_GROWTH,
            ..Judged::free(name, rise, shown)
        };
        vec![most, growth]
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
        if let Some(Elsewhere { quiet, beside_votes, votes }) = &figures.elsewhere {
            let name = "thread of 500, logged in, beside votes on other stories";
            let share = beside_votes / quiet;
            let shown = format!("{beside_votes:.0} of {quiet:.0} per second, {votes:.0} votes per second");
            others.push(Judged::free(name, share, shown));
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

/// One vote, relative to a flush of the disk.
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
    // A vote includes a flush. If flushes are slow at other times than votes, the medians
    // alone are too good, so both figures must meet the requirement.
    let (value, fast, shown) = over(flushes.append);
    let most = value.max(fast);
    others.push(Judged::below("one vote over one append", most, shown, VOTE_OVER_FLUSH, " times"));
    let (value, _, shown) = over(flushes.overwrite);
    others.push(Judged::free("one vote over one overwriting", value, shown));
}

/// A time in the unit that suits it.
pub fn time(time: Duration) -> String {
    if time < Duration::from_millis(1) {
        format!("{} us", time.as_micros())
    } else if time < Duration::from_millis(10) {
        format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
    } else {
        format!("{:.0} ms", time.as_secs_f64() * 1_000.0)
    }
}
