//! The figures as sections of `docs/benchmarks.md`: those of each engine, those with
//! more data, and memory in the long run.

use super::growth::Growth;
use super::options::Engine;
use super::report::{Judged, Results, time};
use super::soak::Minute;
use std::fmt::Write;
use std::process::Command;

/// Every so many minutes of the mix make a line.
const SHOWN_MINUTES: usize = 5;

/// A section: its name, and its tables.
pub struct Section {
    name: String,
    text: String,
}

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

/// Prints sections.
pub fn print(sections: &[Section]) {
    for section in sections {
        println!("{}", section.text);
    }
}

/// Replaces the sections of what was measured; others stay as they are.
pub fn write(sections: &[Section], heading: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");
    let mut document = std::fs::read_to_string(path).unwrap();
    for Section { name, text } in sections {
        document = replaced(&document, name, &format!("{heading}\n{text}"));
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

fn figures(engine: &str, results: &Results) -> String {
    let mut text = String::new();
    add_pages(&mut text, engine, results);
    add_judged(&mut text, engine, &results.others());
    text
}

/// What is one figure.
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

/// When, where and of what: as it is before anything is measured.
pub fn heading() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor without a name", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let today = jiff::Zoned::now().date();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "{today}, {cores} cores of {model}, which the load shares; commit {}. Load average before the first figure: {load}.",
        commit()
    )
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
