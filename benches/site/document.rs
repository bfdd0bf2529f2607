//! The figures as sections of `docs/benchmarks.md`: those of each engine, and how
//! these grow.

use super::growth::Growth;
use super::options::Engine;
use super::report::{Judged, Results};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

/// Replaces the sections of what was measured; others stay as they are.
pub fn write(results: &[Results], load_before: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");
    let mut document = std::fs::read_to_string(path).unwrap();
    let heading = format!("{} Load average before the first figure: {load_before}.\n", machine());
    for results in results {
        let name = results.engine.name();
        let title = match results.engine {
            Engine::Redb => "embedded store",
            Engine::Redis => "Redis",
        };
        if results.figures.is_some() {
            document = replaced(&document, name, &format!("{heading}{}", figures(title, results)));
        }
        if !results.growth.is_empty() {
            let growth = format!("{heading}{}", growth(title, results));
            document = replaced(&document, &format!("{name} growth"), &growth);
        }
    }
    std::fs::write(path, document).unwrap();
}

/// A document with another text in a section.
fn replaced(document: &str, section: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {section} -->\n"), format!("<!-- /{section} -->"));
    let parts = document.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some(format!("{before}{begin}{text}\n{end}{after}"))
    });
    parts.unwrap_or_else(|| panic!("docs/benchmarks.md has no place for {section}: no line {begin}"))
}

/// How much else the machine had to do in the last minute, as a number of processes.
pub fn load_average() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

fn figures(engine: &str, results: &Results) -> String {
    let mut text = String::new();
    add_pages(&mut text, engine, results);
    let others = results.others();
    if !others.is_empty() {
        table(&mut text, &[engine, "", "required"]);
    }
    for other in others {
        line(&mut text, &[&other.name, &other.shown, &other.verdict()]);
    }
    text
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

/// The beginning of a table.
fn table(text: &mut String, headings: &[&str]) {
    text.push('\n');
    line(text, headings);
    line(text, &vec!["---"; headings.len()]);
}

fn line(text: &mut String, cells: &[impl AsRef<str>]) {
    text.push('|');
    for cell in cells {
        write!(text, " {} |", cell.as_ref()).unwrap();
    }
    text.push('\n');
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

/// When, where and of what.
fn machine() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor without a name", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let today = jiff::Zoned::now().date();
    format!("{today}, {cores} cores of {model}, which the load shares; commit {}.", commit())
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output();
        output.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ":!docs/benchmarks.md"]);
    if changed.is_empty() { commit } else { format!("{commit} with changes") }
}
