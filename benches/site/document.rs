//! The figures as sections of `docs/benchmarks.md`: those of each engine, those with
//! more data, and memory in the long run.

use super::growth::Growth;
use super::options::Engine;
use super::report::{Judged, Results, time};
use super::soak::Minute;
use tidings_testing::figures::{Section, line, table};

/// Every so many minutes of the mix make a line.
const SHOWN_MINUTES: usize = 5;

/// The sections of what was measured of an engine.
pub fn sections(results: &Results) -> Vec<Section> {
    let engine = results.engine.name();
    let title = match results.engine {
        Engine::Redb => "embedded store",
        Engine::Redis => "Redis",
    };
    let section = |name: String, text: String| (!text.is_empty()).then_some(Section { name, text });
    let figures = section(engine.to_owned(), figures(title, results));
    let growth = section(format!("{engine} growth"), growth(title, results));
    let memory = section(format!("{engine} memory"), memory(title, results));
    [figures, growth, memory].into_iter().flatten().collect()
}

fn figures(engine: &str, results: &Results) -> String {
    let mut text = String::new();
    add_pages(&mut text, engine, results);
    add_times(&mut text, engine, results);
    add_judged(&mut text, engine, &results.others());
    text
}

/// Adds the table of measurements that are one figure each.
fn add_judged(text: &mut String, title: &str, figures: &[Judged]) {
    if !figures.is_empty() {
        table(text, &[title, "", "required"]);
    }
    for figure in figures {
        line(text, &[&figure.name, &figure.shown, &figure.verdict()]);
    }
}

fn add_pages(text: &mut String, engine: &str, results: &Results) {
    let Some(figures) = results.figures.as_ref().filter(|figures| !figures.pages.is_empty()) else {
        return;
    };
    let headings =
        [engine, "per second", "bare", "ratio", "of runs", "required", "p50", "p99", "bare p99", "rounds"];
    table(text, &headings);
    for page in &figures.pages {
        let judged = Judged::page(results.engine, page);
        let cells = [
            page.name.to_owned(),
            format!("{:.0}", page.site.per_second),
            format!("{:.0}", page.bare.per_second),
            format!("{:.2}", judged.value),
            page.spread(),
            judged.verdict(),
            time(page.site.p50),
            time(page.site.p99),
            time(page.bare.p99),
            page.rounds.to_string(),
        ];
        line(text, &cells);
    }
}

/// Adds the table of processor times.
fn add_times(text: &mut String, engine: &str, results: &Results) {
    let Some(figures) = results.figures.as_ref().filter(|figures| !figures.pages.is_empty()) else {
        return;
    };
    let title = format!("{engine}, processor time of a page");
    table(text, &[&title, "bytes, mean", "the program", "bare", "times", "required"]);
    for page in &figures.pages {
        let judged = Judged::times(results.engine, page);
        let [site, bare] = [page.site_time, page.bare_time].map(|time| format!("{time:.1} us"));
        line(text, &[page.name, &page.bytes.to_string(), &site, &bare, &judged.shown, &judged.verdict()]);
    }
}

fn growth(engine: &str, results: &Results) -> String {
    let mut text = String::new();
    let Growth { pages, first_views } = &results.growth;
    let name = format!("{engine}, {} times the data", results.times);
    if !pages.is_empty() {
        table(
            &mut text,
            &[&name, "per second before", "per second", "times as slow", "required", "times as large"],
        );
    }
    for page in pages {
        let judged = Judged::growth(page);
        let cells = [
            page.name.to_owned(),
            format!("{:.0}", page.small.per_second),
            format!("{:.0}", page.large.per_second),
            format!("{:.2}", judged.value),
            judged.verdict(),
            format!("{:.2}", page.larger),
        ];
        line(&mut text, &cells);
    }
    if !first_views.is_empty() {
        table(&mut text, &[&format!("{name}, asked for first"), "p50 before", "p50", "times as slow"]);
    }
    for view in first_views {
        let cells =
            [view.name.to_owned(), time(view.small), time(view.large), format!("{:.2}", view.factor())];
        line(&mut text, &cells);
    }
    text
}

fn memory(engine: &str, results: &Results) -> String {
    let mut text = String::new();
    let title = format!("{engine}, {} minutes of the mix", results.soak.len());
    if !results.soak.is_empty() {
        table(&mut text, &[&title, "per second", "p99", "memory", "at most so far"]);
    }
    for (number, minute) in (1..).zip(&results.soak) {
        let Minute { per_second, p99, memory } = minute;
        if number == 1 || number % SHOWN_MINUTES == 0 {
            let cells = [
                format!("minute {number}"),
                format!("{per_second:.0}"),
                time(*p99),
                format!("{:.0} MiB", memory.resident),
                format!("{:.0} MiB", memory.peak),
            ];
            line(&mut text, &cells);
        }
    }
    add_judged(&mut text, &title, &results.memory());
    text
}
