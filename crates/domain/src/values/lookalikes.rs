//! Names that a person would confuse.

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

/// The [`folded`] usernames that a full name looks like: those with the same skeleton
/// (Unicode TR39), in any case. At most 16; none for most full names, because usernames are
/// ASCII and have no blanks.
#[must_use]
pub fn usernames_that_look_like(fullname: &str) -> Vec<String> {
    let skeleton: String = skeleton(fullname.trim()).collect();
    let is_name = skeleton.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if skeleton.is_empty() || !is_name {
        return Vec::new();
    }
    // A skeleton has `rn` for each `m`.
    let folded = folded(&skeleton);
    let mut candidates = vec![String::new()];
    for (position, part) in folded.split("rn").enumerate() {
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
        ] {
            let candidates = usernames_that_look_like(fullname);
            assert!(candidates.contains(&folded(username)), "{fullname}: {candidates:?}");
            assert!(candidates.len() <= 16);
        }
        for fullname in ["", "Alice A.", "\u{e1}lice", "\u{65e5}\u{672c}", "!"] {
            assert_eq!(usernames_that_look_like(fullname), [""; 0], "{fullname}");
        }
        assert_eq!(usernames_that_look_like(&"m".repeat(50)).len(), 16);
        assert!(usernames_that_look_like("bob") == ["bob"]);
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
