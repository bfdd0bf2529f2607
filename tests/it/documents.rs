//! The documents: their links lead to what is there, and they state the limits that the program has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tidings_domain::values::{Action, ActionFacts, FlagVerdict, PASSWORD_MIN, STAFF_PASSWORD_MIN};
use tidings_web::limits::MAX_FIELDS;

pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// All documents of the project.
fn documents() -> Vec<PathBuf> {
    files(&["md"])
}

/// The files of the project whose names end so.
pub fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(ROOT)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_ours = !name.starts_with('.') && !["target", "vendor", "node_modules"].contains(&&*name);
            if path.is_dir() && is_ours && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
                found.push(path);
            }
        }
    }
    found
}

/// The Rust files of folders of the project: their texts by their paths from its root.
pub fn rust_files(folders: &[impl AsRef<str>]) -> BTreeMap<String, String> {
    let is_wanted = |path: &Path| folders.iter().any(|folder| path.starts_with(folder.as_ref()));
    let mut texts = BTreeMap::new();
    for file in files(&["rs"]) {
        let path = file.strip_prefix(ROOT).unwrap();
        if is_wanted(path) {
            texts.insert(path.to_str().unwrap().to_owned(), fs::read_to_string(&file).unwrap());
        }
    }
    texts
}

/// The lines of a document that are not in a block of code.
fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).collect()
}

/// The fragments that a document has: those of its headings as GitHub makes them, and those that it names.
fn fragments(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(text) {
        for named in line.split("<a id=\"").skip(1) {
            found.insert(named.split('"').next().unwrap().to_owned());
        }
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        // Of a link, the text counts.
        let mut shown = String::new();
        for part in heading.trim().split("](") {
            let text =
                if shown.is_empty() { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
            shown.push_str(text);
        }
        let kept = shown
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        let slug = kept.replace(' ', "-");
        let count = counts.entry(slug.clone()).or_default();
        found.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

/// The links of a document within the project.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next());
    targets.filter(|to| !to.contains("://") && !to.starts_with("mailto:")).map(str::to_owned).collect()
}

fn broken_links(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap();
    let is_broken = |link: &String| {
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        let target =
            if path.is_empty() { document.to_owned() } else { document.parent().unwrap().join(path) };
        if !target.exists() {
            return true;
        }
        let is_document = target.extension().is_some_and(|extension| extension == "md");
        !fragment.is_empty()
            && is_document
            && !fragments(&fs::read_to_string(&target).unwrap()).contains(fragment)
    };
    links(&text).into_iter().filter(is_broken).map(|link| format!("{}: {link}", document.display())).collect()
}

#[test]
fn all_links_of_all_documents_lead_to_something() {
    let documents = documents();
    assert!(documents.len() > 40, "{documents:?}");
    let broken: Vec<String> = documents.iter().flat_map(|document| broken_links(document)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn links_and_headings_are_found() {
    let text = "# A [link](x.md) & `code`!\n## Twice\n## Twice\n```sh\n# no [link](y)\n```\n<a id=\"own\"></a> [z](#own)\n";
    let expected = ["a-link--code", "own", "twice", "twice-1"].map(str::to_owned);
    assert_eq!(fragments(text), BTreeSet::from(expected));
    assert_eq!(links(text), ["x.md", "#own"]);
}

#[test]
fn documents_state_the_limits_of_the_program() {
    for (name, sentence) in [
        ("api.md", format!("at most {MAX_FIELDS} fields")),
        ("security.md", format!("at most {MAX_FIELDS} fields")),
        ("security.md", format!("A password has at least {PASSWORD_MIN} characters")),
        ("security.md", format!("has at least {STAFF_PASSWORD_MIN}.")),
    ] {
        let text = fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{name}: {sentence}");
    }
}

#[test]
fn the_memory_and_disk_in_the_readme_are_figures_of_the_benchmarks() {
    let [readme, benchmarks] = ["README.md", "docs/benchmarks.md"]
        .map(|name| fs::read_to_string(Path::new(ROOT).join(name)).unwrap());
    let words: Vec<&str> = readme.split_whitespace().collect();
    let figures =
        words.windows(2).filter(|pair| pair[1].starts_with("MiB")).map(|pair| format!("{} MiB", pair[0]));
    let figures: Vec<String> = figures.collect();
    assert_eq!(figures.len(), 3, "{figures:?}");
    assert!(figures.iter().all(|figure| benchmarks.contains(figure)), "{figures:?}");
}

/// The words in backticks between two texts of a document.
fn words_between(text: &'static str, (begin, end): (&str, &str)) -> BTreeSet<&'static str> {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{begin:?}"));
    let (part, _) = rest.split_once(end).unwrap_or_else(|| panic!("{end:?}"));
    part.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_document_of_the_calls_says_what_follows_from_each_action_of_moderators() {
    let api = include_str!("../../docs/api.md");
    let called = || Action::ALL.iter().map(|action| action.facts()).filter(|facts| !facts.has_own_call);
    let those = |is_one: fn(&ActionFacts) -> bool| -> BTreeSet<&str> {
        called().filter(is_one).map(|facts| facts.name).collect()
    };
    let table = words_between(api, ("| action | thing | |", "The person concerned gets a message"));
    let manual = include_str!("../../docs/moderating.md");
    for button in called().filter_map(|facts| facts.button) {
        assert!(manual.contains(&format!("*{}*", button.english)), "moderating.md: {}", button.english);
    }
    assert!(those(|_| true).is_subset(&table), "{:?}", those(|_| true).difference(&table));
    let upheld: fn(&ActionFacts) -> bool = |facts| facts.verdict == Some(FlagVerdict::Upheld);
    for (place, is_one) in [
        (("and decides its flags: ", " uphold them"), upheld),
        ((" uphold them; ", " reject them"), |facts| facts.verdict == Some(FlagVerdict::Rejected)),
        (("`reason` is required except for ", ", and public"), |facts| facts.needs_no_reason),
        (("about you or your posts: ", ". A banned person sends"), |facts| facts.can_be_appealed),
    ] {
        assert_eq!(words_between(api, place), those(is_one), "{place:?}");
    }
}
