//! Names that a person would confuse.

use std::collections::BTreeSet;
use unicode_security::MixedScript;
use unicode_security::confusable_detection::skeleton;

/// The most places of a full name that look like two letters and may be one (`rn`, `m`) and
/// are tried both ways.
const MAX_DOUBTS: usize = 4;

/// A username as a person sees it at a glance: `I`, `l` and `1` are one letter, `O` and `0`
/// are one, and case does not matter. Two users never have the same.
#[must_use]
pub fn folded(username: &str) -> String {
    let same = |character| match character {
        'I' | '1' => 'l',
        '0' => 'O',
        other => other,
    };
    username.chars().map(same).collect::<String>().to_lowercase()
}

/// The usernames, in lower case, that a full name looks like: the name itself, and those with
/// its skeleton (Unicode TR39). At most 49. For most full names there is only the name itself,
/// because usernames are ASCII and have no blanks.
///
/// A skeleton has `l` for a capital `I`. So the skeleton of the name in lower case counts
/// too, and so does an `l` where a capital letter is likely.
#[must_use]
pub fn usernames_that_look_like(fullname: &str) -> BTreeSet<String> {
    let name = fullname.trim();
    if name.is_empty() {
        return BTreeSet::new();
    }
    let lower = name.to_lowercase();
    let as_typed: String = skeleton(name).collect();
    let readings = [with_capital_i(&as_typed), skeleton(&lower).collect(), as_typed];
    let is_name = |reading: &String| {
        !reading.is_empty() && reading.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let readings = readings.iter().filter(|reading| is_name(reading));
    readings.flat_map(|reading| both_ways(&reading.to_lowercase())).chain([lower.clone()]).collect()
}

/// A skeleton with `i` for `l` where that may be a capital `I`: everywhere if no other letter
/// is a small one, otherwise at the start.
fn with_capital_i(skeleton: &str) -> String {
    let is_small = |c: char| c.is_ascii_lowercase() && c != 'l';
    if skeleton.contains(is_small) {
        skeleton.strip_prefix('l').map_or_else(|| skeleton.to_owned(), |rest| format!("i{rest}"))
    } else {
        skeleton.replace('l', "i")
    }
}

/// The names that a skeleton may stand for: it has `rn` for each `m`. At most 16.
fn both_ways(skeleton: &str) -> Vec<String> {
    let mut candidates = vec![String::new()];
    for (position, part) in skeleton.split("rn").enumerate() {
        if position > 0 {
            let with = |joint: &'static str| candidates.iter().map(move |start| format!("{start}{joint}"));
            candidates = if position <= MAX_DOUBTS {
                with("rn").chain(with("m")).collect()
            } else {
                with("m").collect()
            };
        }
        candidates.iter_mut().for_each(|start| start.push_str(part));
    }
    candidates
}

/// Whether all letters of a text are of one script, or of several that one language is
/// written with, such as those of Japanese.
#[must_use]
pub fn has_one_script(text: &str) -> bool {
    text.is_single_script()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_one_letter_and_then_case_is_ignored() {
        for (left, right, same) in [
            ("alice", "Alice", true),
            ("alice", "aIice", true),
            ("alice", "a1ice", true),
            ("Bob", "B0B", true),
            ("bob", "b0b", true),
            ("Ill1", "lIIl", true),
            ("L00L", "looI", true),
            ("modern", "rnodern", false),
            ("alice", "alicia", false),
            ("a-b", "a_b", false),
            ("iris", "lris", false),
            // Equal but for their case, which `username.to.id:` is for.
            ("alice", "ALICE", false),
        ] {
            assert_eq!(folded(left) == folded(right), same, "{left} {right}");
        }
    }

    #[test]
    fn a_full_name_looks_like_the_usernames_with_its_skeleton() {
        for (fullname, username) in [
            ("alice", "alice"),
            (" Alice ", "alice"),
            ("Al1ce", "aIlce"),
            // Cyrillic.
            ("\u{441}\u{43e}\u{441}\u{43e}", "coco"),
            // Fullwidth, and mathematical bold.
            ("\u{ff42}\u{ff4f}\u{ff42}", "bob"),
            ("\u{1d41b}\u{1d428}\u{1d41b}", "b0b"),
            ("a\u{ad}lice", "alice"),
            ("a|ice", "alice"),
            ("rnary", "mary"),
            ("mary", "rnary"),
            ("mmm", "rnmrn"),
            ("\u{2010}x", "-x"),
            ("Igor", "igor"),
            ("IGOR", "igor"),
            ("lgor", "igor"),
            ("ALICE", "alice"),
            ("IMMI", "immi"),
            // Mathematical bold, and Lisu.
            ("\u{1d408}\u{1d420}\u{1d428}\u{1d42b}", "igor"),
            ("\u{a4f2}\u{a4d6}\u{a4f3}\u{a4e3}", "igor"),
        ] {
            let candidates = usernames_that_look_like(fullname);
            let is_found = candidates.iter().any(|name| folded(name) == folded(username));
            assert!(is_found, "{fullname}: {candidates:?}");
        }
        assert!(usernames_that_look_like(" ").is_empty());
        for fullname in ["alice a.", "\u{e1}lice", "\u{65e5}\u{672c}", "!", "bob", "alice"] {
            assert_eq!(usernames_that_look_like(fullname), BTreeSet::from([fullname.to_owned()]));
        }
        for start in ["m", "Il", "lM", "l"] {
            let count = usernames_that_look_like(&format!("{start}{}", "m".repeat(48))).len();
            assert!((16..=49).contains(&count), "{start}: {count}");
        }
    }

    #[test]
    fn one_script_may_be_that_of_one_language() {
        for (text, one) in [
            ("", true),
            ("Alice A. 3rd", true),
            ("Zo\u{eb} O\u{2019}Brien \u{1f600}", true),
            ("\u{418}\u{432}\u{430}\u{43d} 2", true),
            ("\u{65e5}\u{672c}\u{306e}\u{30ab}\u{30bf}", true),
            ("\u{d55c}\u{6f22}", true),
            // A Cyrillic letter in a Latin name, and two scripts beside each other.
            ("\u{430}lice", false),
            ("Alice \u{410}\u{43b}\u{438}\u{441}\u{430}", false),
            ("\u{3b1}lice", false),
        ] {
            assert_eq!(has_one_script(text), one, "{text}");
        }
    }
}
