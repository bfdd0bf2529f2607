//! A strict reader of the text format of Prometheus.

use std::collections::{BTreeMap, BTreeSet};

/// A family of series with one name.
#[derive(Debug, Default)]
pub struct Family {
    pub kind: String,
    pub help: String,
    /// The names of labels that its series have, without `le`.
    pub labels: BTreeSet<String>,
    pub samples: Vec<Sample>,
}

/// One line with a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// The families of an answer, by name. Fails on everything that is not in the format.
pub fn read(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    assert!(text.ends_with('\n'));
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            families.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let family = families.entry(name.to_owned()).or_default();
            assert!(family.kind.is_empty() && family.samples.is_empty(), "{line}");
            family.kind = kind.to_owned();
        } else {
            let sample = sample(line);
            let family = families.iter_mut().find(|(name, family)| belongs(&sample.name, name, &family.kind));
            let (_, family) = family.unwrap_or_else(|| panic!("{line} has no TYPE"));
            assert!(!family.samples.iter().any(|other| same_series(other, &sample)), "{line} twice");
            family.labels.extend(sample.labels.keys().filter(|label| *label != "le").cloned());
            family.samples.push(sample);
        }
    }
    families
}

fn belongs(sample: &str, name: &str, kind: &str) -> bool {
    let parts: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
    parts.iter().any(|part| sample.strip_suffix(part) == Some(name))
}

fn same_series(one: &Sample, other: &Sample) -> bool {
    one.name == other.name && one.labels == other.labels
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap() };
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, labels(rest.strip_suffix('}').unwrap())),
        None => (series, BTreeMap::new()),
    };
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    assert!(!name.is_empty() && is_name(name) && labels.keys().all(|label| is_name(label)), "{line}");
    Sample { name: name.to_owned(), labels, value }
}

/// Labels as `a="x",b="y"`. None of ours has a quotation mark or a backslash.
fn labels(text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap();
        let (value, after) = after.split_once('"').unwrap();
        assert!(!value.contains('\\'), "{text}");
        assert_eq!(labels.insert(name.to_owned(), value.to_owned()), None, "{text}");
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    labels
}

#[test]
fn the_format_is_read() {
    let text = "# HELP a_total Help.\n# TYPE a_total counter\na_total{b=\"/x/{id}\",c=\"\"} 5\n\n\
                # TYPE d histogram\nd_bucket{le=\"+Inf\"} 1\nd_sum 0.5\nd_count 1\n";
    let families = read(text);
    assert_eq!(families["a_total"].samples[0].labels["b"], "/x/{id}");
    assert_eq!((families["d"].samples.len(), families["d"].labels.len()), (3, 0));
    for bad in ["a 1\n", "# TYPE a counter\na 1\na 2\n", "# TYPE a counter\na{b=\"c\"} x\n"] {
        assert!(std::panic::catch_unwind(|| read(bad)).is_err(), "{bad}");
    }
}
