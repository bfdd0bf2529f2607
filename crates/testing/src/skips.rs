//! Tests of what this machine cannot do: they say so in one way, which `./check` counts.
//!
//! Where `CI` is set, a test may only be skipped if `tests/allowed-skips` names what is missing, with the
//! reason.

use std::fs::File;
use std::io::Write;

/// The variable that names the file to which each skipped test adds a line.
const FILE_VARIABLE: &str = "TEST_SKIPS";

const ALLOWED: &str = include_str!("../../../tests/allowed-skips");

/// Notes that the test that calls this is skipped, because this machine lacks something. The caller
/// returns then.
///
/// # Panics
/// Where `CI` is set, unless the list allows that it is missing.
#[track_caller]
pub fn skip(missing: &str) {
    let caller = std::panic::Location::caller();
    let line = format!("{missing}: {}:{}", caller.file(), caller.line());
    println!("skipped: {line}");
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
    let is_allowed = may_be_missing(missing, std::env::var_os("CI").is_some());
    assert!(is_allowed, "{missing} is missing, and tests/allowed-skips does not name it");
}

fn may_be_missing(missing: &str, is_ci: bool) -> bool {
    let named = |line: &str| {
        line.split_once(": ").is_some_and(|(name, reason)| name == missing && !reason.is_empty())
    };
    !is_ci || ALLOWED.lines().any(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_ci_is_set_only_what_the_list_names_with_a_reason_may_be_missing() {
        assert!(may_be_missing("mount", true));
        assert!(!may_be_missing("promtool", true) && !may_be_missing("# mount", true));
        assert!(may_be_missing("promtool", false));
    }
}
