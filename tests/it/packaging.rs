//! The files of `packaging/`: what can be checked without installing them. `packaging/check-deb`
//! tries the Debian package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use tidings::config::{CommandLineSettings, Config};
use tidings::metrics::{Kind, METRICS};

use crate::skips::skip;

/// The exposure that `systemd-analyze security` may find, in tenths.
const MOST_EXPOSURE: &str = "--threshold=20";
/// The metrics of the process collector.
pub const OF_PROCESS: [&str; 5] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
];

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(packaging().join(name)).unwrap()
}

/// Runs a tool that must succeed, or skips the test if it is not installed.
#[track_caller]
fn run_if_installed(tool: &str, arguments: &[&str]) {
    let run = match Command::new(tool).args(arguments).current_dir(packaging()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return skip(tool);
        }
        run => run.unwrap(),
    };
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{tool} {}: {said}", arguments.join(" "));
}

#[test]
fn systemd_accepts_the_units_and_finds_them_hardened() {
    let folder = tempfile::tempdir().unwrap();
    // The program is not where the package installs it.
    for name in ["tidings.service", "tidings.socket"] {
        let unit = read(name).replace("/usr/bin/tidings", env!("CARGO_BIN_EXE_tidings"));
        std::fs::write(folder.path().join(name), unit).unwrap();
    }
    let path = |name| folder.path().join(name).to_str().unwrap().to_owned();
    let (service, socket) = (path("tidings.service"), path("tidings.socket"));
    run_if_installed("systemd-analyze", &["verify", "--man=no", &service, &socket]);
    run_if_installed("systemd-analyze", &["security", "--offline=true", MOST_EXPOSURE, &service]);
}

/// Every name of a metric in a text, without what a histogram adds to it.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(|character| !is_of_name(character))
        .filter(|word| word.starts_with("tidings_") || word.starts_with("process_"))
        .map(|word| {
            let histogram = word.strip_suffix("_bucket").filter(|name| {
                METRICS.iter().any(|metric| metric.name == *name && metric.kind == Kind::Histogram)
            });
            histogram.unwrap_or(word).to_owned()
        })
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_exist() {
    let known: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).chain(OF_PROCESS).collect();
    for name in ["grafana.json", "prometheus-alerts.yaml", "prometheus-alerts-tests.yaml"] {
        let used = metrics_in(&read(name));
        let unknown: Vec<&String> = used.iter().filter(|metric| !known.contains(metric.as_str())).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_shows_every_metric() {
    let shown = metrics_in(&read("grafana.json"));
    let missing: Vec<&str> =
        METRICS.iter().map(|metric| metric.name).filter(|name| !shown.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn panels_of_the_dashboard_have_ids_of_their_own_and_do_not_overlap() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("grafana.json")).unwrap();
    let mut ids = BTreeSet::new();
    let mut places = BTreeMap::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert_eq!(places.insert((x, y), panel["id"].clone()), None, "{panel}");
            }
        }
    }
    assert!(ids.len() > 30);
}

/// The files of the Debian package: where each is in the sources, and where the package has it.
fn packaged_files() -> BTreeMap<PathBuf, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let mut files = BTreeMap::new();
    for asset in manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap() {
        let (from, to) = (asset[0].as_str().unwrap(), asset[1].as_str().unwrap());
        let names = match from.split_once('*') {
            Some((folder, end)) if root.join(folder).is_dir() => {
                let entries =
                    std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
                entries.filter(|path| path.to_str().unwrap().ends_with(end)).collect()
            }
            _ => vec![root.join(from)],
        };
        for path in names {
            let name = if to.ends_with('/') { path.file_name().unwrap().to_str().unwrap() } else { "" };
            files.insert(PathBuf::from(format!("{to}{name}")), path);
        }
    }
    files
}

#[test]
fn links_of_the_packaged_documents_lead_to_packaged_files() {
    let files = packaged_files();
    let mut links = 0;
    for (place, source) in &files {
        if place.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(source).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") || path.contains(' ') {
                continue;
            }
            let mut target = place.parent().unwrap().to_owned();
            for part in path.split('/') {
                match part {
                    ".." => _ = target.pop(),
                    part => target.push(part),
                }
            }
            assert!(files.contains_key(&target), "{}: {link}", source.display());
            links += 1;
        }
    }
    assert!(links > 30, "{links}");
    let manual = "usr/share/doc/tidings/docs/operating.md";
    assert!(files.contains_key(Path::new(manual)));
    for unit in ["tidings.service", "tidings.socket"] {
        assert!(read(unit).contains(&format!("file:/{manual}\n")), "{unit}");
    }
}

#[test]
fn promtool_accepts_the_alerts() {
    run_if_installed("promtool", &["check", "rules", "prometheus-alerts.yaml"]);
    run_if_installed("promtool", &["test", "rules", "prometheus-alerts-tests.yaml"]);
}

#[test]
fn the_settings_of_a_new_site_are_right() {
    let path = packaging().join("tidings.toml");
    let config = Config::load(Some(&path), std::iter::empty(), &CommandLineSettings::default()).unwrap();
    assert_eq!(config.server.store.as_str(), "redb:/var/lib/tidings/tidings.redb");
    assert!(!config.creates_store());
}

/// The variables of settings in a file, such as `TIDINGS_SITE__URL`.
fn variables_in(text: &str) -> BTreeSet<String> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| word.starts_with("TIDINGS_") && word.contains("__"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn containers_name_settings_that_exist() {
    let config = Config::load(None, std::iter::empty(), &CommandLineSettings::default()).unwrap();
    let known: BTreeSet<String> = config
        .describe()
        .iter()
        .map(|line| format!("TIDINGS_{}", line.name.replace('.', "__").to_uppercase()))
        .collect();
    for name in ["Containerfile", "compose.yaml", "tidings.service", "tidings.toml"] {
        let used = variables_in(&read(name));
        assert!(!used.is_empty() && used.is_subset(&known), "{name}: {used:?}");
    }
}

#[test]
fn a_container_lives_while_the_server_answers_and_has_time_to_stop() {
    let containerfile = read("Containerfile");
    let (_, check) = containerfile.split_once("HEALTHCHECK").unwrap();
    assert!(check.contains(r#"CMD ["/usr/bin/tidings", "status", "--live"]"#), "{check}");
    assert!(read("compose.yaml").contains("stop_grace_period: 30s"));
    let root = packaging().join("..");
    let documents = ["README.md", "docs/install.md", "packaging/README.md"];
    let texts = documents.map(|name| std::fs::read_to_string(root.join(name)).unwrap());
    let mut found = 0;
    for text in texts.iter().chain([&containerfile]) {
        let text = text.replace("\\\n", "");
        for line in text.lines().filter(|line| line.contains("podman run") || line.contains("docker run")) {
            assert!(line.contains("--stop-timeout 30"), "{line}");
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn a_container_is_built_from_every_crate_of_the_workspace() {
    let root = packaging().join("..");
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    for member in manifest["workspace"]["members"].as_array().unwrap() {
        let folder = member.as_str().unwrap().split('/').next().unwrap();
        assert!(ignored.lines().any(|line| line == format!("!{folder}")), "{folder} is left out");
    }
}

#[test]
fn each_file_is_listed() {
    let list = read("README.md");
    for entry in std::fs::read_dir(packaging()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_listed = name == "README.md" || list.contains(&format!("({name})"));
        assert!(is_listed, "{name} is not in packaging/README.md");
    }
}

#[test]
fn the_package_has_only_files_that_exist() {
    let root = packaging().join("..");
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    for asset in assets {
        let source = asset[0].as_str().unwrap();
        // Built, or one of several.
        if !source.starts_with("target/") && !source.contains('*') {
            assert!(root.join(source).is_file(), "{source}");
        }
    }
    let changelog = read("debian/changelog");
    let version = env!("CARGO_PKG_VERSION");
    assert!(changelog.starts_with(&format!("tidings ({version}-")), "{changelog}");
}
