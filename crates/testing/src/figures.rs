//! Figures of benches as sections of `docs/benchmarks.md`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A section: its name, and its tables.
pub struct Section {
    pub name: String,
    pub text: String,
}

/// Prints sections.
pub fn print(sections: &[Section]) {
    for section in sections {
        println!("{}", section.text);
    }
}

/// Replaces the sections of what was measured; others stay as they are.
pub fn write(sections: &[Section], heading: &str) {
    let path = Path::new(ROOT).join("docs/benchmarks.md");
    let mut document = std::fs::read_to_string(&path).unwrap();
    for Section { name, text } in sections {
        document = replaced(&document, name, &format!("{heading}\n{text}"));
    }
    std::fs::write(path, document).unwrap();
}

/// The root of the project.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A document with another text in a section.
fn replaced(document: &str, section: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {section} -->\n"), format!("<!-- /{section} -->"));
    let parts = document.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some(format!("{before}{begin}{text}\n{end}{after}"))
    });
    parts.unwrap_or_else(|| panic!("docs/benchmarks.md has no place for {section}: no line {begin}"))
}

/// The beginning of a table.
pub fn table(text: &mut String, headings: &[&str]) {
    text.push('\n');
    line(text, headings);
    line(text, &vec!["---"; headings.len()]);
}

/// A line of a table.
pub fn line(text: &mut String, cells: &[impl AsRef<str>]) {
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
        let output = Command::new("git").current_dir(ROOT).args(arguments).output();
        output.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]);
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ":!docs/benchmarks.md"]);
    if changed.is_empty() { commit } else { format!("{commit} with changes") }
}
