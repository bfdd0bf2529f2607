//! The figures as a section of `docs/benchmarks.md`.

use super::options::Engine;
use super::report::{Judged, Results};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

const BEGIN: &str = "<!-- site -->\n";
const END: &str = "<!-- /site -->";

/// Replaces the section.
pub fn write(results: &[Results]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("the document has a place for the section");
    let (_, after) = rest.split_once(END).expect("the place has an end");
    std::fs::write(path, format!("{before}{BEGIN}{}{END}{after}", section(results))).unwrap();
}

fn section(results: &[Results]) -> String {
    let mut text = format!("{}\n", machine());
    for results in results {
        let engine = match results.engine {
            Engine::Redb => "embedded store",
            Engine::Redis => "Redis",
        };
        if let Some(figures) = &results.figures {
            table(
                &mut text,
                &[engine, "per second", "bare", "ratio", "required", "p50", "p99", "bare p99", "rounds"],
            );
            for page in &figures.pages {
                let judged = Judged::page(results.engine, page);
                let cells = [
                    page.name.to_owned(),
                    format!("{:.0}", page.site.per_second),
                    format!("{:.0}", page.bare.per_second),
                    format!("{:.2}", judged.value),
                    format!("{}{}", judged.required, judged.missed()),
                    time(page.site.p50),
                    time(page.site.p99),
                    time(page.bare.p99),
                    page.rounds.to_string(),
                ];
                line(&mut text, &cells);
            }
        }
        let others = results.others();
        if !others.is_empty() {
            table(&mut text, &[engine, "", "required"]);
            for other in others {
                line(
                    &mut text,
                    &[
                        other.name.clone(),
                        other.shown.clone(),
                        format!("{}{}", other.required, other.missed()),
                    ],
                );
            }
        }
        if !results.growth.is_empty() {
            let times = results.times;
            let headings = [
                format!("{engine}, {times} times the data"),
                "p50 before".to_owned(),
                "p50".to_owned(),
                "times as slow".to_owned(),
                "required".to_owned(),
                "per second before".to_owned(),
                "per second".to_owned(),
            ];
            table(&mut text, &headings.each_ref().map(String::as_str));
            for growth in &results.growth {
                let judged = Judged::growth(growth);
                let cells = [
                    growth.name.to_owned(),
                    time(growth.small),
                    time(growth.large),
                    format!("{:.2}", judged.value),
                    format!("{}{}", judged.required, judged.missed()),
                    format!("{:.0}", growth.small_per_second),
                    format!("{:.0}", growth.large_per_second),
                ];
                line(&mut text, &cells);
            }
        }
    }
    text.push('\n');
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
