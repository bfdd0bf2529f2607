//! The house rules that no compiler checks: the layers depend one way, the wings of the
//! domain too, key text has one place, and documents name everything there is.
//!
//! Each rule is a function from text to findings. One test runs it over the
//! project, another shows on bad input that it can fail.

use crate::documents::rust_files;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Write};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tidings::config::{CommandLineSettings, Config, SettingLine};
use tidings::metrics::{METRICS, Metric};
use tidings_domain::keys::families::{self, Family, KeyOrigin};
use tidings_domain::keys::kept::{CLASSES, Class};
use tidings_domain::migrations::{MIGRATIONS, Migration};
use tidings_domain::values::Withheld;
use tidings_web::server::conditions::{KINDS, Kind, Severity};

/// The dependencies that each layer may not have. Cargo sees to it that nothing else is used.
const FORBIDDEN_DEPENDENCIES: [(&str, &[&str]); 5] = [
    ("supervision", &["tidings-keyspace", "tidings-domain", "tidings-web", "axum", "hyper", "redb", "redis"]),
    (
        "text",
        &[
            "tidings-keyspace",
            "tidings-domain",
            "tidings-web",
            "axum",
            "hyper",
            "maud",
            "redb",
            "redis",
            "tantivy",
        ],
    ),
    ("keyspace", &["tidings-domain", "tidings-web", "axum", "hyper", "maud"]),
    ("domain", &["tidings-web", "axum", "hyper", "hyper-util", "maud", "redb", "redis", "tower-http"]),
    ("web", &["redb", "redis"]),
];
/// Words that the keyspace must not use: what its keys mean is not its business.
const FORBIDDEN_IN_KEYSPACE: [&str; 5] = ["domain", "web", "cli", "news", "News"];
/// The wings of the domain, the lowest first: a wing imports none that comes later. Those of
/// one line may not import each other either.
const WINGS: [&str; 14] = [
    "values keys",
    "action activity audit cache changes counts draws error fields identity items home_servers hooks \
     hub jobs key_walk marks passwords post_rules post_state process_state queue rates records \
     repeats report review site store_rules",
    "accounts",
    "sites",
    "news",
    "articles comments timelines",
    "submissions",
    "contributions",
    "flags",
    "administration deactivation digests found imports inbox numbered statistics texts \
     vote_rings votes",
    "exports migrations",
    "moderation",
    "background",
    "store_check",
];
/// The layers of the web crate, the lowest first: a file imports none of a later layer.
const WEB_LAYERS: [&[&str]; 6] = [
    &["error", "languages", "limits", "mail", "route", "settings", "site_lists"],
    &["server"],
    &["request"],
    &["markup"],
    &["features"],
    &["openapi", "router", "serve"],
];
/// The one file that may repeat an action.
const ACTION_FILE: &str = "crates/domain/src/action.rs";
/// The one file that tells states of posts apart.
const STATES_FILE: &str = "crates/domain/src/values/withheld.rs";
/// The one file that may spell keys.
const KEYS_FILE: &str = "crates/domain/src/keys.rs";
/// The file whose tests may spell keys too.
const FAMILY_FILE: &str = "crates/domain/src/keys/family.rs";

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A source file, taken apart.
#[derive(Default)]
struct Source {
    /// The path from the project's root, with `/`.
    path: String,
    /// The file as it is.
    text: String,
    /// Without tests and comments; lines stay where they are.
    code: String,
    /// Like `code`, and string literals are empty.
    bare: String,
    /// The string literals of `code`, each with its line.
    literals: Vec<(usize, String)>,
}

impl Source {
    /// Takes a file apart; of a test's file nothing but the text is left.
    fn new(path: &str, text: &str, is_test: bool) -> Self {
        let mut source = Self { path: path.to_owned(), text: text.to_owned(), ..Self::default() };
        if !is_test {
            source.take_apart(without_tests(text));
        }
        source
    }

    /// Tells code, comments and string literals apart.
    fn take_apart(&mut self, text: &str) {
        let mut tokens = Vec::new();
        list_tokens(text.parse().unwrap(), text, &mut tokens);
        let (mut end, mut line) = (0, 1);
        for (place, is_literal) in tokens {
            // Comments and blanks.
            let between = &text[end..place.start];
            let mut indent = between;
            if between.len() > 1 {
                let mut lines = between.rsplit('\n');
                indent = lines.next().filter(|indent| indent.trim().is_empty()).unwrap_or(" ");
                let ended = lines.count();
                line += ended;
                self.code.extend(std::iter::repeat_n('\n', ended));
                self.bare.extend(std::iter::repeat_n('\n', ended));
            } else if between == "\n" {
                line += 1;
            }
            let token = &text[place.clone()];
            self.code.push_str(indent);
            self.code.push_str(token);
            self.bare.push_str(indent);
            if is_literal && token.ends_with(['"', '#']) {
                let inner = token.trim_start_matches(['b', 'r', '#']).trim_end_matches('#');
                self.literals.push((line, inner.trim_matches('"').to_owned()));
                let ended = token.matches('\n').count();
                line += ended;
                self.bare.push_str("\"\"");
                self.bare.extend(std::iter::repeat_n('\n', ended));
            } else {
                self.bare.push_str(token);
            }
            end = place.end;
        }
    }

    fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }

    fn is_in(&self, layer: &str) -> bool {
        self.path.starts_with(&format!("crates/{layer}/src/"))
    }
}

/// Lists where the tokens of a text are, which comments are not, and whether they are literals.
fn list_tokens(stream: TokenStream, text: &str, found: &mut Vec<(Range<usize>, bool)>) {
    for tree in stream {
        let place = tree.span().byte_range();
        // A comment that documents something is read as an attribute.
        if ["//", "/*"].iter().any(|comment| text[place.clone()].starts_with(comment)) {
            continue;
        }
        match tree {
            TokenTree::Group(group) => {
                found.push((group.span_open().byte_range(), false));
                list_tokens(group.stream(), text, found);
                found.push((group.span_close().byte_range(), false));
            }
            tree => found.push((place, matches!(tree, TokenTree::Literal(_)))),
        }
    }
}

/// The part of a file before its test module, which by custom comes last.
fn without_tests(text: &str) -> &str {
    let mut start = 0;
    let mut after_test_attribute = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        if content == "#[cfg(test)]" {
            after_test_attribute = Some(start);
        } else if let Some(attribute) = after_test_attribute
            && !content.starts_with("#[")
        {
            if content.contains("mod ") && content.ends_with('{') {
                return &text[..attribute];
            }
            after_test_attribute = None;
        }
        start += line.len();
    }
    text
}

/// The words of a text (letters, digits and `_`), each with its line.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
        words.filter(|word| !word.is_empty()).map(move |word| (index + 1, word))
    })
}

/// A layer depends on no layer above it, and on no crate that belongs to another layer.
fn layer_depends_downwards(manifest: &toml::Table, path: &str, forbidden: &[&str]) -> Vec<Finding> {
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = dependencies.into_iter().flat_map(toml::Table::keys);
    names
        .filter(|name| forbidden.contains(&name.as_str()))
        .map(|name| Finding {
            path: path.to_owned(),
            line: 1,
            message: format!("depends on {name}, which belongs to another layer"),
        })
        .collect()
}

/// The wing that a file of the domain belongs to, or `None` for its root.
fn wing_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("crates/domain/src/")?;
    let wing = inside.split(['/', '.']).next()?;
    (wing != "lib").then_some(wing)
}

/// The wing of a name at the root of the domain, which re-exports some names of its wings.
fn wing_behind(name: &str) -> &str {
    match name {
        "AUDIT" => "audit",
        "Actor" | "Role" | "User" | "Visit" => "accounts",
        "Advance" => "report",
        "Applied" | "Site" => "site",
        "Comment" => "comments",
        "Contribution" => "contributions",
        "CountedAction" => "counts",
        "Decision" => "action",
        "Error" | "NothingToDo" | "Refusal" | "Result" => "error",
        "Item" => "items",
        "KeptAnswer" => "repeats",
        "News" => "news",
        "Tweet" => "timelines",
        "cache_kind" => "cache",
        wing => wing,
    }
}

/// The place of a wing in [`WINGS`].
fn height_of(wing: &str) -> Option<usize> {
    WINGS.iter().position(|wings| wings.split(' ').any(|other| other == wing))
}

/// A wing imports only wings below it. A name at the root that is of no known wing is not below any.
fn wings_import_downwards(source: &Source) -> Vec<Finding> {
    let Some(wing) = wing_of(&source.path) else {
        return Vec::new();
    };
    let Some(height) = height_of(wing) else {
        return vec![source.finding(1, format!("{wing} is none of the wings in tests/it/tidy.rs"))];
    };
    let names = crate_names(&source.bare).into_iter().map(|(line, name)| (line, wing_behind(name)));
    let imports = names.filter(|(_, imported)| {
        let is_below = height_of(imported).is_some_and(|other| other < height);
        // The ground and the values are one floor each.
        let is_beside = height < 2 && height_of(imported) == Some(height);
        *imported != wing && !is_below && !is_beside
    });
    imports
        .map(|(line, imported)| {
            source.finding(line, format!("{wing} imports {imported}, which is no wing below it"))
        })
        .collect()
}

/// The names at the root of a crate that its code uses, each with its line: `a`, `b` and `c` of
/// `crate::a` and `crate::{b::B, c}`.
fn crate_names(code: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        let rest = &code[at + start.len()..];
        let line = code[..at].matches('\n').count() + 1;
        let Some(group) = rest.strip_prefix('{') else {
            names.extend(words(rest).next().map(|(_, name)| (line, name)));
            continue;
        };
        let mut depth = 0;
        let mut is_name_next = true;
        for (index, character) in group.char_indices() {
            match character {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => is_name_next = true,
                _ if is_name_next && !character.is_whitespace() => {
                    names.extend(words(&group[index..]).next().map(|(_, name)| (line, name)));
                    is_name_next = false;
                }
                _ => {}
            }
        }
    }
    names
}

/// A file of the web crate imports nothing of a layer above its own, and names other layers from the
/// root of the crate only.
fn web_layers_import_downwards(source: &Source) -> Vec<Finding> {
    let Some(inside) = source.path.strip_prefix("crates/web/src/") else {
        return Vec::new();
    };
    let own = inside.split(['/', '.']).next().unwrap_or_default();
    if own == "lib" {
        return Vec::new();
    }
    let height_of = |name: &str| WEB_LAYERS.iter().position(|layer| layer.contains(&name));
    let Some(height) = height_of(own) else {
        return vec![source.finding(1, format!("{own} is in none of the layers in tests/it/tidy.rs"))];
    };
    let mut findings: Vec<Finding> = crate_names(&source.bare)
        .into_iter()
        .filter(|(_, imported)| height_of(imported).is_some_and(|other| other > height))
        .map(|(line, imported)| source.finding(line, format!("{own} imports {imported}, which is above it")))
        .collect();
    let to_the_root = "super::".repeat(inside.matches('/').count() + 1);
    let lines = (1..).zip(source.bare.lines()).filter(|(_, line)| line.contains(&to_the_root));
    findings.extend(lines.map(|(line, _)| source.finding(line, "say crate:: for this")));
    findings
}

/// The types that a file of the domain defines outside of its modules and functions, each with its line.
fn types_of_the_domain(source: &Source) -> Vec<(usize, &str)> {
    let lines = (1..).zip(source.bare.lines()).filter(|_| source.is_in("domain"));
    lines
        .filter_map(|(number, line)| {
            let item = match line.strip_prefix("pub") {
                Some(rest) => rest.split_once(' ')?.1,
                None => line,
            };
            let kinds = ["struct ", "enum ", "trait ", "type "];
            let name = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
            words(name).next().map(|(_, name)| (number, name))
        })
        .collect()
}

/// Types that mean different things have different names.
fn names_of_types_differ(sources: &[Source]) -> Vec<Finding> {
    let mut known = BTreeMap::new();
    let mut findings = Vec::new();
    for source in sources {
        for (line, name) in types_of_the_domain(source) {
            if let Some(path) = known.insert(name, &source.path) {
                findings.push(source.finding(line, format!("{path} also has a type {name}")));
            }
        }
    }
    findings
}

/// Comments are written as people talk: no sentence at the start of a line has a clause with "what" or "who" as
/// its subject, unless it asks something.
fn comments_have_plain_subjects(source: &Source) -> Vec<Finding> {
    let is_clause = |line: &&str| {
        let Some(comment) = line.trim_start().strip_prefix("//") else { return false };
        let text = comment.trim_start_matches(['/', '!']).trim_start();
        let first = text.split(|character: char| !character.is_alphabetic()).next().unwrap_or_default();
        ["Who", "Whoever", "Whom", "Whose", "What", "Whatever"].contains(&first) && !text.contains('?')
    };
    let lines = (1..).zip(source.text.lines()).filter(|(_, line)| is_clause(line));
    lines.map(|(number, line)| source.finding(number, format!("name the subject: {}", line.trim()))).collect()
}

/// States of posts are told apart in one file, which has a row of answers for each. Elsewhere they are made, and asked:
/// nothing matches on one, or compares it.
fn states_are_told_apart_in_one_place(source: &Source) -> Vec<Finding> {
    if source.path == STATES_FILE {
        return Vec::new();
    }
    let is_told_apart = |line: &str| {
        let Some((before, state)) = line.split_once("Withheld::") else { return false };
        if !state.starts_with(char::is_uppercase) {
            return false;
        }
        let rest = state.trim_start_matches(char::is_alphanumeric).trim_start_matches('(');
        let after = rest.trim_start_matches(char::is_alphanumeric).trim_start_matches([')', ' ']);
        ["matches!(", "let Some(", "if let ", "== ", "!= "].iter().any(|begin| before.contains(begin))
            || rest.starts_with('_')
            || ["=>", "|", "if ", "= "].iter().any(|end| after.starts_with(end))
    };
    let lines = (1..).zip(source.bare.lines()).filter(|(_, line)| is_told_apart(line));
    let message = "ask the state; only its table tells one from another";
    lines.map(|(number, _)| source.finding(number, message)).collect()
}

/// The keyspace knows nothing of what its keys mean.
fn keyspace_knows_no_news(source: &Source) -> Vec<Finding> {
    if !source.is_in("keyspace") {
        return Vec::new();
    }
    words(&source.code)
        .filter(|(_, word)| FORBIDDEN_IN_KEYSPACE.contains(word))
        .map(|(line, word)| source.finding(line, format!("{word}: what keys mean belongs to the domain")))
        .collect()
}

/// The keys that can be told from other words: whole ones, as `news.count`, or their start, as `news:`.
fn key_starts() -> Vec<&'static str> {
    let starts = families::ALL.iter().map(|family| family.name.split('<').next().unwrap_or_default());
    starts.filter(|start| start.contains([':', '.'])).collect()
}

/// Key text exists in one file only.
fn keys_are_spelled_in_one_place(source: &Source, starts: &[&'static str]) -> Vec<Finding> {
    if [KEYS_FILE, FAMILY_FILE].contains(&source.path.as_str()) {
        return Vec::new();
    }
    let spells_key = |literal: &str| {
        let is_spelled = |start: &str| literal == start || start.ends_with(':') && literal.starts_with(start);
        starts.iter().find(|start| is_spelled(start))
    };
    let message = |start| format!("a literal spells the key {start}...: make it a function in {KEYS_FILE}");
    let spelled = source.literals.iter().filter_map(|(line, literal)| Some((*line, spells_key(literal)?)));
    spelled.map(|(line, start)| source.finding(line, message(start))).collect()
}

/// A file says first what it is for.
fn files_say_what_they_are_for(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![source.finding(1, "the file does not begin with a //! comment that says what it is for")]
}

/// Whether a line begins a loop that may be a retry, not one over things.
fn begins_retry(line: &str) -> bool {
    let (line, block) = (line.trim_start(), line.ends_with('{'));
    let line = line.split_once(": ").filter(|_| line.starts_with('\'')).map_or(line, |(_, line)| line);
    block && ["loop {", "while ", "for _ in "].iter().any(|start| line.starts_with(start))
}

/// Only `Site::act` repeats a decision after a conflict.
fn actions_write_no_loop(source: &Source) -> Vec<Finding> {
    if !source.is_in("domain") || source.path == ACTION_FILE {
        return Vec::new();
    }
    let mut findings = Vec::new();
    // The indents of the loops around a line.
    let mut loops: Vec<usize> = Vec::new();
    for (number, line) in (1..).zip(source.bare.lines()) {
        let indent = line.len() - line.trim_start().len();
        while loops.last().is_some_and(|around| !line.trim().is_empty() && indent <= *around) {
            loops.pop();
        }
        if begins_retry(line) {
            loops.push(indent);
        }
        if !loops.is_empty() && [".apply(", ".commit("].iter().any(|call| line.contains(call)) {
            findings.push(source.finding(number, "a loop commits a batch: use Site::act"));
        }
    }
    findings
}

/// Plans are in issues, not in the code.
fn nothing_is_left_to_do(source: &Source) -> Vec<Finding> {
    words(&source.text)
        .filter(|(_, word)| ["TODO", "FIXME", "XXX"].contains(word))
        .map(|(line, word)| source.finding(line, format!("{word}: do it now, or write it down elsewhere")))
        .collect()
}

/// The lines around a table that is made from the code.
const BEFORE_TABLE: &str = "<!-- generated -->\n";
const AFTER_TABLE: &str = "<!-- end -->";
/// The lines around the alerts that are made from the code.
const BEFORE_ALERTS: &str = "      # generated\n";
const AFTER_ALERTS: &str = "      # end\n";
/// Longer defaults are not in the table of settings.
const LONGEST_DEFAULT: usize = 60;

/// A document with these tables in the places that it has for them, in this order.
fn with_tables(document: &str, tables: &[String]) -> String {
    let mut written = String::new();
    let mut rest = document;
    for table in tables {
        let Some((before, after)) = rest.split_once(BEFORE_TABLE) else { panic!("no place for a table") };
        let Some((_, after)) = after.split_once(AFTER_TABLE) else { panic!("the end of a table is missing") };
        written.extend([before, BEFORE_TABLE, table.as_str(), AFTER_TABLE]);
        rest = after;
    }
    written + rest
}

/// The table of all settings, with their defaults.
fn table_of_settings() -> String {
    let defaults = Config::load(None, std::iter::empty(), &CommandLineSettings::default()).unwrap();
    let mut table = "| setting | default | |\n| --- | --- | --- |\n".to_owned();
    for SettingLine { name, value, meaning, .. } in defaults.describe() {
        let default = if value.len() > LONGEST_DEFAULT { "tidings config" } else { value.as_str() };
        writeln!(table, "| `{name}` | `{default}` | {meaning} |").unwrap();
    }
    table
}

/// The table of all metrics, with their labels.
fn table_of_metrics() -> String {
    let mut table = "| metric | |\n| --- | --- |\n".to_owned();
    for Metric { name, labels, meaning, .. } in METRICS {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        writeln!(table, "| `{name}{labels}` | {meaning} |").unwrap();
    }
    table
}

/// The table of all conditions.
fn table_of_conditions() -> String {
    let mut table = "| condition | severity | meaning | what to do |\n| --- | --- | --- | --- |\n".to_owned();
    for Kind { name, severity, meaning, what_to_do, .. } in &KINDS {
        let [meaning, what_to_do] = [meaning, what_to_do].map(|text| text.english);
        writeln!(table, "| `{name}` | {severity} | {meaning} | {what_to_do} |").unwrap();
    }
    table
}

/// The rules of the alerts about conditions.
fn alerts_of_conditions() -> String {
    let mut rules = String::new();
    for Kind { name, severity, meaning, what_to_do, .. } in &KINDS {
        let words = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
        let alert = words.collect::<String>();
        let patience = if *severity == Severity::Page { "1m" } else { "5m" };
        let meaning = meaning.english;
        let description = what_to_do.english.replace('\'', "''");
        write!(
            rules,
            r#"      - alert: Tidings{alert}
        expr: max by (instance) (tidings_condition{{condition="{name}"}}) > 0
        for: {patience}
        labels: {{severity: {severity}}}
        annotations:
          summary: "{{{{ $labels.instance }}}}: {meaning}"
          description: '{description}'

"#
        )
        .unwrap();
    }
    rules
}

/// The table of all keys, in the order of their names.
fn table_of_keys() -> String {
    let mut families = families::ALL.to_vec();
    families.sort_unstable_by_key(|family| family.name);
    let mut table = "| key | type | expires | |\n| --- | --- | --- | --- |\n".to_owned();
    for family in families {
        let Family { name, holds, origin, .. } = family;
        let ours = if *origin == KeyOrigin::Ours { "**Ours**." } else { "" };
        let what = format!("{ours} {}", family.meaning());
        writeln!(table, "| `{name}` | {} | {} | {} |", holds.name(), family.lifetime(), what.trim()).unwrap();
    }
    table
}

/// The table of what is kept for how long.
fn table_of_retention() -> String {
    let mut table = "| what | kept | keys |\n| --- | --- | --- |\n".to_owned();
    for class in CLASSES {
        let Class { name, kept } = class;
        let mut keys: Vec<String> = class.families().map(|family| format!("`{}`", family.name)).collect();
        keys.sort_unstable();
        writeln!(table, "| {} | {} | {} |", name.english, kept.in_general(), keys.join(", ")).unwrap();
    }
    table
}

/// Fails if the tables of a document are not these, and writes them.
fn demand_tables(name: &str, tables: &[String]) {
    let document = document(name);
    let written = with_tables(&document, tables);
    if written != document {
        fs::write(root().join("docs").join(name), written).unwrap();
        panic!("the tables in docs/{name} were out of date; they are written again: commit them");
    }
}

/// Every call of the API has a heading with its methods, such as
/// ``### GET or POST `/api/login` ``.
fn calls_are_documented(calls: &BTreeSet<(String, &'static str)>, document: &str) -> Vec<Finding> {
    let finding = |message| Finding { path: "docs/api.md".to_owned(), line: 1, message };
    let paths: BTreeSet<&String> =
        calls.iter().map(|(path, _)| path).filter(|path| path.starts_with("/api/")).collect();
    let mut findings = Vec::new();
    for path in paths {
        let heading =
            document.lines().find(|line| line.starts_with('#') && line.contains(&format!("`{path}`")));
        let Some(heading) = heading else {
            findings.push(finding(format!("{path} has no heading")));
            continue;
        };
        for (method, word) in [("get", "GET"), ("post", "POST")] {
            let is_call = calls.contains(&(path.clone(), method));
            if is_call != words(heading).any(|(_, found)| found == word) {
                let fault = if is_call { "does not mention" } else { "wrongly mentions" };
                findings.push(finding(format!("the heading of {path} {fault} {word}")));
            }
        }
    }
    findings
}

/// The calls among the routes: the addresses with a method in lower case.
fn routed_calls() -> BTreeSet<(String, &'static str)> {
    let routes = tidings_web::router::routes().iter();
    let methods = routes.flat_map(|route| [(route, route.get, "get"), (route, route.post, "post")]);
    let calls = methods.filter(|(_, facts, _)| facts.is_some_and(|facts| !facts.tag.is_empty()));
    calls.map(|(route, _, method)| (route.pattern.to_string(), method)).collect()
}

/// The calls of an OpenAPI description.
fn described_calls(description: &serde_json::Value) -> BTreeSet<(String, &'static str)> {
    let mut calls = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        let known = ["get", "post"].into_iter().filter(|method| methods.get(method).is_some());
        calls.extend(known.map(|method| (path.clone(), method)));
    }
    calls
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    let path = root().join("docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file of the program and its crates, in the order of their paths.
fn sources() -> Vec<Source> {
    let crates = ["disk", "domain", "keyspace", "search", "supervision", "text", "vote_rings", "web"];
    let mut folders = vec!["src".to_owned()];
    folders.extend(crates.map(|name| format!("crates/{name}/src")));
    let texts = rust_files(&folders);
    let tests: HashSet<PathBuf> =
        texts.iter().flat_map(|(path, text)| test_modules(Path::new(path), text)).collect();
    let is_test =
        |path: &str| Path::new(path).ancestors().any(|part| tests.contains(&part.with_extension("")));
    texts.iter().map(|(path, text)| Source::new(path, text, is_test(path))).collect()
}

/// The files, without extension, of the modules that a file declares for tests.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    let folder = if is_root { path.parent().unwrap().to_owned() } else { path.with_extension("") };
    let mut modules = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        let module = line.split_once("mod ").and_then(|(_, name)| name.strip_suffix(';'));
        match module {
            Some(name) if is_test => modules.push(folder.join(name)),
            _ if line.starts_with("#[") => is_test |= line == "#[cfg(test)]",
            _ => {}
        }
        if !line.starts_with("#[") {
            is_test = false;
        }
    }
    modules
}

/// Fails with all findings, each with its file and line.
fn demand_none(rule: &str, findings: Vec<Finding>) {
    let list: String = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(findings.is_empty(), "{rule}:{list}");
}

fn check_sources(rule: &str, check: impl Fn(&Source) -> Vec<Finding>) {
    let sources = sources();
    assert!(sources.len() > 30, "only {} source files were found", sources.len());
    demand_none(rule, sources.iter().flat_map(check).collect());
}

fn source_of(path: &str) -> Source {
    sources().into_iter().find(|source| source.path == path).unwrap_or_else(|| panic!("there is no {path}"))
}

#[test]
fn layers_depend_downwards() {
    for (layer, forbidden) in FORBIDDEN_DEPENDENCIES {
        let path = format!("crates/{layer}/Cargo.toml");
        let manifest = fs::read_to_string(root().join(&path)).unwrap().parse().unwrap();
        demand_none("a layer depends downwards", layer_depends_downwards(&manifest, &path, forbidden));
    }
    check_sources("the keyspace does not know what keys mean", keyspace_knows_no_news);
}

#[test]
fn the_wings_of_the_domain_have_no_circle() {
    check_sources("a wing imports only wings below it", wings_import_downwards);
}

#[test]
fn the_layers_of_the_web_depend_downwards() {
    check_sources("a file imports only its layer and those below", web_layers_import_downwards);
}

#[test]
fn no_name_of_a_type_is_used_twice_in_the_domain() {
    demand_none("types have names of their own", names_of_types_differ(&sources()));
}

#[test]
fn no_action_writes_its_own_loop() {
    assert!(!source_of(ACTION_FILE).text.is_empty());
    check_sources("there is one way to act", actions_write_no_loop);
}

#[test]
fn each_state_of_a_post_is_one_row_of_answers() {
    assert!(!source_of(STATES_FILE).text.is_empty());
    check_sources("one file tells states apart", states_are_told_apart_in_one_place);
    let layout = document("data-layout.md");
    let row = layout.lines().find(|line| line.starts_with("| `withheld` | `removed:")).unwrap();
    for example in Withheld::EXAMPLES {
        let word = example.split(':').next().unwrap();
        assert!(row.contains(&format!("`{word}:")), "docs/data-layout.md does not know {word}");
    }
}

#[test]
fn key_text_is_in_one_file() {
    let starts = key_starts();
    check_sources("keys are spelled in one place", |source| keys_are_spelled_in_one_place(source, &starts));
}

#[test]
fn every_file_says_what_it_is_for_and_leaves_nothing_to_do() {
    check_sources("a file begins with what it is for", files_say_what_they_are_for);
    check_sources("nothing is left to do", nothing_is_left_to_do);
    check_sources("a comment names its subject", comments_have_plain_subjects);
}

#[test]
fn operators_are_told_every_setting_and_metric() {
    demand_tables("operating.md", &[table_of_settings(), table_of_conditions(), table_of_metrics()]);
}

#[test]
fn each_condition_has_an_alert() {
    let path = root().join("packaging/prometheus-alerts.yaml");
    let rules = fs::read_to_string(&path).unwrap();
    let (before, rest) = rules.split_once(BEFORE_ALERTS).unwrap();
    let (_, after) = rest.split_once(AFTER_ALERTS).unwrap();
    let written = [before, BEFORE_ALERTS, &alerts_of_conditions(), AFTER_ALERTS, after].concat();
    if written != rules {
        fs::write(path, written).unwrap();
        panic!("the alerts about conditions were out of date; they are written again: commit them");
    }
}

#[test]
fn every_api_call_is_documented() {
    let calls = described_calls(&tidings_web::openapi::description());
    demand_none("clients are told every call", calls_are_documented(&calls, &document("api.md")));
}

#[test]
fn the_openapi_description_is_of_all_calls() {
    let routed = routed_calls();
    assert!(routed.len() > 20, "only {} calls were found", routed.len());
    assert_eq!(described_calls(&tidings_web::openapi::description()), routed);
}

#[test]
fn the_data_layout_has_every_key_and_migration() {
    demand_tables("data-layout.md", &[table_of_keys()]);
    let document = document("data-layout.md");
    let (_, table) = document.split_once("| version | its migration writes |").unwrap();
    for Migration { to, what, .. } in &MIGRATIONS {
        assert!(table.contains(&format!("\n| {to} | ")), "docs/data-layout.md lacks migration {to}, {what}");
    }
}

#[test]
fn people_are_told_how_long_what_is_kept() {
    demand_tables("security.md", &[table_of_retention()]);
}

mod the_rules_can_fail {
    use super::*;

    #[test]
    fn plain_subjects() {
        let text = "//! What it is.\n/// The rest.\n    // Who knows?\n    // Whoever asks.\nlet what = 1; // What\n";
        assert_eq!(lines(&comments_have_plain_subjects(&Source::new("a.rs", text, true))), [1, 4]);
    }

    #[test]
    fn names_of_types() {
        let source = |path: &str, text: &str| Source::new(path, text, false);
        let sources = [
            source("crates/domain/src/a.rs", "pub(crate) struct Part;\npub enum Other {\n    Part,\n}\n"),
            source("crates/domain/src/b.rs", "\ntype Part<T> = Vec<T>;\n// struct Other\n"),
            source("crates/web/src/c.rs", "struct Part;\n"),
        ];
        let findings = names_of_types_differ(&sources);
        assert_eq!(lines(&findings), [2]);
        assert_eq!(findings[0].path, "crates/domain/src/b.rs");
    }

    #[test]
    fn states_told_apart() {
        let text = "let a = matches!(state, Some(Withheld::Held(_)));\nlet made = Some(Withheld::Held(why));\n\
            Some(Withheld::Flagged) => 1,\nWithheld::Held(_)\nif state == &Withheld::Flagged {}\n\
            write(Some(&Withheld::Flagged));\nstate.is_some_and(Withheld::is_held);\n\
            Withheld::Held(reason) | Withheld::Removed(reason)\nlet Withheld::Merged(into) = state else {}\n";
        let check = |path| lines(&states_are_told_apart_in_one_place(&Source::new(path, text, false)));
        assert_eq!(check("crates/web/src/a.rs"), [1, 3, 4, 5, 8, 9]);
        assert_eq!(check(STATES_FILE), [0; 0]);
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn scanning_tells_code_comments_and_literals_apart() {
        let text = "let a = 'x'; // one \"quote\n/* two /* nested */ \" */ fn f<'a>() {}\n\
                    let b = \"three // \\\" four\";\nlet c = r#\"five \" six\"#; let d = '\"'; // end\n";
        let Source { bare, literals, .. } = Source::new("a.rs", text, false);
        let expected = "let a = 'x';\n fn f<'a>() {}\nlet b = \"\";\nlet c = \"\"; let d = '\"';";
        assert_eq!(bare, expected);
        assert_eq!(literals, [(3, "three // \\\" four".to_owned()), (4, "five \" six".to_owned())]);
    }

    #[test]
    fn tests_are_left_out() {
        let text =
            "code\n#[cfg(test)]\nmod other;\nmore\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n  axum\n}\n";
        assert_eq!(without_tests(text), "code\n#[cfg(test)]\nmod other;\nmore\n");
        let folder = Path::new("/p/src/store");
        assert_eq!(test_modules(&folder.with_extension("rs"), text), [folder.join("other")]);
        assert_eq!(test_modules(Path::new("/p/src/lib.rs"), text), [Path::new("/p/src/other")]);
    }

    #[test]
    fn layers() {
        let manifest = "[dependencies]\naxum.workspace = true\nurl = \"2\"\n".parse().unwrap();
        assert_eq!(layer_depends_downwards(&manifest, "Cargo.toml", &["axum", "redis"]).len(), 1);
        assert!(layer_depends_downwards(&manifest, "Cargo.toml", &["redis"]).is_empty());

        let text = "use crate::news::News;\nuse crate::sites;\n// crate::votes\nuse crate::votes::vote_news;\n\
                    use crate::timelines::x;\nuse crate::values::ids;\nuse crate::error::Error;\n\
                    use crate::Unlisted;\n";
        let check = |path: &str| lines(&wings_import_downwards(&Source::new(path, text, false)));
        assert_eq!(check("crates/domain/src/news/lines.rs"), [4, 5, 8]);
        assert_eq!(check("crates/domain/src/comments.rs"), [4, 5, 8]);
        assert_eq!(check("crates/domain/src/sites/bans.rs"), [1, 4, 5, 8]);
        assert_eq!(check("crates/domain/src/values.rs"), [1, 2, 4, 5, 7, 8]);
        assert!(check("crates/domain/src/imports.rs") == [4, 8]);
        assert_eq!(check("crates/domain/src/elsewhere.rs"), [1]);
        assert!(check("crates/web/src/news.rs").is_empty());

        let text = "use crate::error::X;\nuse crate::{App, markup::{fields, parts}, router};\n// crate::router\n\
                    use crate::request::viewer;\nfn f() { super::markup::x(); }\n";
        let check = |path: &str| lines(&web_layers_import_downwards(&Source::new(path, text, false)));
        assert_eq!(check("crates/web/src/error.rs"), [2, 2, 4, 5]);
        assert_eq!(check("crates/web/src/server/host.rs"), [2, 2, 4]);
        assert_eq!(check("crates/web/src/request/form.rs"), [2, 2]);
        assert_eq!(check("crates/web/src/features/sites/pages.rs"), [2]);
        assert_eq!(check("crates/web/src/router.rs"), [5]);
        assert_eq!(check("crates/web/src/elsewhere.rs"), [1]);
        assert!(check("crates/web/src/lib.rs").is_empty() && check("crates/domain/src/news.rs").is_empty());

        let text = "//! No news.\nlet newsletter = 1;\nlet key = \"news:1\";\nuse domain::keys;\n";
        let check = |path: &str| lines(&keyspace_knows_no_news(&Source::new(path, text, false)));
        assert_eq!(check("crates/keyspace/src/redis.rs"), [3, 4]);
        assert!(check("crates/domain/src/news.rs").is_empty());
        let test = Source::new("crates/keyspace/src/conformance.rs", text, true);
        assert!(keyspace_knows_no_news(&test).is_empty());
    }

    #[test]
    fn retries() {
        let text = "fn f() {\n    loop {\n        read();\n        if site.apply(batch).await? {\n            \
                    return;\n        }\n    }\n    site.apply(batch);\n    for _ in 0..4 {\n\n        \
                    store.commit(batch);\n    }\n    for id in ids {\n        site.apply(batch);\n    }\n    \
                    'looks: while more() {\n        self.apply(batch);\n    }\n}\n";
        let check = |path: &str| lines(&actions_write_no_loop(&Source::new(path, text, false)));
        assert_eq!(check("crates/domain/src/votes.rs"), [4, 11, 17]);
        assert!(check(ACTION_FILE).is_empty());
        assert!(check("crates/keyspace/src/redb.rs").is_empty());
    }

    #[test]
    fn key_text() {
        let text =
            "// \"news:1\"\nlet a = \"news.counter\";\nlet b = \"news.count\";\nlet c = r\"news:{id}\";\n";
        let check = |path: &str| {
            lines(&keys_are_spelled_in_one_place(&Source::new(path, text, false), &key_starts()))
        };
        assert_eq!(check("src/web/pages.rs"), [3, 4]);
        assert!(check(KEYS_FILE).is_empty());
    }

    #[test]
    fn first_lines_and_left_work() {
        let source =
            Source::new("src/a.rs", "use x;\n// TODO: more\n#[test]\nfn f() { /* FIXME */ }\n", false);
        assert_eq!(lines(&files_say_what_they_are_for(&source)), [1]);
        assert_eq!(lines(&nothing_is_left_to_do(&source)), [2, 4]);
        let told = nothing_is_left_to_do(&source)[0].to_string();
        assert_eq!(told, "src/a.rs:2: TODO: do it now, or write it down elsewhere");
        let source = Source::new("src/a.rs", "//! What it is for.\n", false);
        assert!(files_say_what_they_are_for(&source).is_empty() && nothing_is_left_to_do(&source).is_empty());
    }

    #[test]
    fn documents() {
        let document = "a\n<!-- generated -->\nold\n<!-- end -->\nb\n";
        let expected = "a\n<!-- generated -->\nnew\n<!-- end -->\nb\n";
        assert_eq!(with_tables(document, &["new\n".to_owned()]), expected);

        let calls = |path: &str, method| (path.to_owned(), method);
        let routed = [
            calls("/api/a/{id}", "get"),
            calls("/api/a/{id}", "post"),
            calls("/api/b", "post"),
            calls("/api/c", "get"),
        ];
        let description =
            serde_json::json!({"paths": {"/api/a/{id}": {"get": {}, "post": {}}, "/api/b": {"post": {}}}});
        assert_eq!(described_calls(&description), BTreeSet::from_iter(routed[..3].iter().cloned()));

        let routed = BTreeSet::from(routed);
        let document = "### GET `/api/a/{id}`\n### GET or POST `/api/b`\nPOST `/api/c`\n";
        assert_eq!(calls_are_documented(&routed, document).len(), 3);
        let document = "### GET or POST `/api/a/{id}`\n### POST `/api/b`\n## GET `/api/c`\n";
        assert!(calls_are_documented(&routed, document).is_empty());
    }
}
