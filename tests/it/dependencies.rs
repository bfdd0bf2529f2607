//! Each dependency has a licence that `deny.toml` allows, comes from crates.io, is not one that
//! `deny.toml` forbids and no pre-release. Those that decide about security are listed with the reason.

use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The rules of `deny.toml`.
struct Rules(toml::Table);

impl Rules {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml");
        Self(fs::read_to_string(path).unwrap().parse().unwrap())
    }

    fn has(list: &toml::Value, wanted: &str) -> bool {
        list.as_array().unwrap().iter().any(|entry| entry.as_str() == Some(wanted))
    }

    fn allows_licence(&self, package: &str, licence: &str) -> bool {
        let licenses = &self.0["licenses"];
        let exceptions = licenses["exceptions"].as_array().unwrap();
        Self::has(&licenses["allow"], licence)
            || exceptions
                .iter()
                .any(|entry| entry["crate"].as_str() == Some(package) && Self::has(&entry["allow"], licence))
    }

    fn forbids(&self, package: &str) -> bool {
        self.0["bans"]["deny"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["crate"].as_str() == Some(package))
    }

    /// `registry`: where Cargo says that a package is from, `registry+https://…`.
    fn allows_registry(&self, registry: &str) -> bool {
        registry
            .strip_prefix("registry+")
            .is_some_and(|url| Self::has(&self.0["sources"]["allow-registry"], url))
    }
}

/// Says why the rules refuse a package of `cargo metadata`, if they do.
fn refusal(rules: &Rules, package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap();
    if rules.forbids(name) {
        return Some(format!("{name} is forbidden"));
    }
    // Our own crates have no source.
    let source = package["source"].as_str()?;
    if !rules.allows_registry(source) {
        return Some(format!("{name} is from {source}"));
    }
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} names no licence"));
    };
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
        return Some(format!("{name}: {licence} is no licence expression"));
    };
    let allowed = expression.evaluate(|requirement| {
        let id = requirement.license.id();
        requirement.addition.is_none() && id.is_some_and(|id| rules.allows_licence(name, id.name))
    });
    (!allowed).then(|| format!("{name}: {licence} is not allowed"))
}

#[test]
fn licences_and_sources_of_dependencies_are_allowed() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform=x86_64-unknown-linux-gnu"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules = Rules::read();
    let refused: Vec<_> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|package| refusal(&rules, package))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// A file of the project.
fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Whether a version is one before a release. What follows a plus sign says how it was built.
fn is_pre_release(version: &str) -> bool {
    version.split('+').next().unwrap().contains('-')
}

/// The names and versions in `Cargo.lock`.
fn locked() -> Vec<(String, String)> {
    let lock: toml::Table = file("Cargo.lock").parse().unwrap();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    let packages = lock["package"].as_array().unwrap().iter();
    packages.map(|package| (text(&package["name"]), text(&package["version"]))).collect()
}

#[test]
fn no_dependency_is_a_pre_release() {
    let found: Vec<_> = locked().into_iter().filter(|(_, version)| is_pre_release(version)).collect();
    assert!(found.is_empty(), "{found:#?}");
    for (version, is_one) in
        [("0.10.0-rc.19", true), ("1.0.0-alpha.1+x", true), ("0.11.1+wasi-snapshot", false), ("1.2.3", false)]
    {
        assert_eq!(is_pre_release(version), is_one, "{version}");
    }
}

#[test]
fn crates_that_decide_about_security_are_listed_with_the_reason() {
    let document = file("docs/security.md");
    let (_, table) = document.split_once("## Crates that decide").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.iter().all(|row| row.len() == 3 && row.iter().all(|cell| !cell.is_empty())), "{rows:#?}");
    let listed: BTreeSet<&str> =
        rows.iter().flat_map(|row| row[0].split(", ")).map(|name| name.trim_matches('`')).collect();
    let locked = locked();
    for name in &listed {
        assert!(locked.iter().any(|(known, _)| known == name), "{name} is no dependency");
    }
    // The part of Cargo.toml with the crates for secrets.
    let manifest = file("Cargo.toml");
    let (_, secrets) = manifest.split_once("\n# Secrets\n").unwrap();
    let (secrets, _) = secrets.split_once("\n\n").unwrap();
    for line in secrets.lines() {
        let (name, _) = line.split_once(' ').unwrap();
        assert!(listed.contains(name), "{name} is not in the table of docs/security.md");
    }
}

#[test]
fn bad_dependencies_are_refused() {
    let rules = Rules::read();
    let crates_io = "registry+https://github.com/rust-lang/crates.io-index";
    let refused = |name, source, license| {
        refusal(&rules, &serde_json::json!({ "name": name, "source": source, "license": license }))
    };
    assert_eq!(refused("a", crates_io, "MIT/Apache-2.0"), None);
    assert_eq!(refused("webdriver", crates_io, "MPL-2.0"), None);
    for (name, source, license) in [
        ("a", crates_io, "MPL-2.0"),
        ("a", crates_io, "MIT AND GPL-3.0"),
        ("a", crates_io, "unheard of"),
        ("a", "git+https://example.com/a", "MIT"),
        ("openssl-sys", crates_io, "MIT"),
    ] {
        assert!(refused(name, source, license).is_some(), "{name} {source} {license}");
    }
}
