//! Names that a person would confuse.

use crate::values::text_forms::shown;
use std::collections::BTreeSet;
use unicode_script::Script;
use unicode_security::MixedScript;
use unicode_security::confusable_detection::skeleton;
use unicode_security::mixed_script::AugmentedScriptSet;

/// The most places of a full name that look like two letters and may be one (`rn`, `m`) and
/// are tried both ways.
const MAX_DOUBTS: usize = 4;

/// A username as a person sees it at a glance: `i`, `l` and `1` are one letter, `O` and `0`
/// are one, case does not matter, and hyphens, underscores, blanks, symbols and emoji are left
/// out. Two users never have the same. A name of nothing else is itself.
///
/// `i` is one with `l` because both are one with `1`, and because a name in capitals is the same name.
pub fn folded(username: &str) -> String {
    let letters: String = username.chars().filter(|character| character.is_alphanumeric()).collect();
    one_letter(if letters.is_empty() { username } else { &letters }).replace('i', "l")
}

/// A text with one letter for those that look the same, in lower case.
fn one_letter(text: &str) -> String {
    let same = |character| match character {
        'I' | '1' => 'l',
        '0' => 'O',
        other => other,
    };
    text.chars().map(same).collect::<String>().to_lowercase()
}

/// The ways to read a text in which somebody may have hidden a phrase: with one letter for all
/// that look the same (Unicode TR39, and those of [`folded`]), and without invisible characters.
/// Those may also stand for a blank, and a capital `I` for an `l`. At most 4.
pub fn readings(text: &str) -> BTreeSet<String> {
    let is_invisible = |character: char| {
        !character.is_ascii() && skeleton(character.encode_utf8(&mut [0; 4])).next().is_none()
    };
    let mut typed = vec![text.to_owned()];
    if text.contains(is_invisible) {
        typed.push(text.replace(is_invisible, " "));
    }
    let as_typed = typed.iter().filter(|text| text.contains('I')).cloned();
    let all = typed.iter().map(|text| text.to_lowercase()).chain(as_typed);
    all.map(|text| plain(&text)).collect()
}

/// A phrase that is looked for in [`readings`].
pub fn plain(text: &str) -> String {
    // The skeleton of a long dash is a letter.
    let is_dash = |character: char| matches!(character, '\u{2010}'..='\u{2015}' | '\u{2212}');
    one_letter(&skeleton(&text.replace(is_dash, "-")).collect::<String>())
}

/// Names that nobody can sign up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedNames {
    text: String,
    folded: BTreeSet<String>,
}

/// Names that look like those of who runs a site, and those that the site itself uses for people.
const RESERVED: &str = "admin, admins, administrator, administrators, administration, mod, mods, moderator, \
moderators, moderation, a moderator, an applicant, owner, founder, root, sysadmin, sysop, system, operator, \
superuser, staff, team, support, helpdesk, help, security, abuse, legal, privacy, official, info, contact, \
feedback, noreply, postmaster, hostmaster, webmaster, mailer daemon, nobody, everyone, everybody, anonymous, \
unknown, deleted, deleted user, null, undefined, bot, tidings, lamernews";

impl ReservedNames {
    /// Names with commas between them.
    pub fn parse(text: &str) -> Self {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Self { text: text.to_owned(), folded: names.map(folded).collect() }
    }

    /// Whether a name looks like one of them.
    pub fn cover(&self, name: &str) -> bool {
        self.folded.contains(&folded(name))
    }
}

impl Default for ReservedNames {
    fn default() -> Self {
        Self::parse(RESERVED)
    }
}

shown!(ReservedNames: |names| names.text);

/// The usernames, in lower case, that a full name looks like: the name itself, and those with
/// its skeleton (Unicode TR39), whose letters alone count, as in [`folded`]. At most 49. For full
/// names in other scripts there is only the name itself, because usernames are ASCII.
///
/// A skeleton has `l` for a capital `I`. So the skeleton of the name in lower case counts
/// too, and so does an `l` where a capital letter is likely.
pub fn usernames_that_look_like(fullname: &str) -> BTreeSet<String> {
    let name = fullname.trim();
    if name.is_empty() {
        return BTreeSet::new();
    }
    let lower = name.to_lowercase();
    let as_typed: String = skeleton(name).collect();
    let readings = [with_capital_i(&as_typed), skeleton(&lower).collect(), as_typed];
    // An accent makes another letter.
    let counts = |c: &char| c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(c);
    let letters = |reading: String| reading.chars().filter(counts).collect::<String>();
    let is_name = |reading: &String| !reading.is_empty() && reading.is_ascii();
    let readings = readings.map(letters).into_iter().filter(is_name);
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
/// written with, such as those of Japanese. Chinese, Japanese and Korean are also written with Latin letters
/// (Unicode TR39, highly restrictive).
pub fn has_one_script(text: &str) -> bool {
    if text.is_single_script() {
        return true;
    }
    let mut of_one = [true; 3];
    for script in text
        .chars()
        .map(AugmentedScriptSet::for_char)
        .filter(|script| !script.base.contains_script(Script::Latin))
    {
        of_one = [of_one[0] && script.hanb, of_one[1] && script.jpan, of_one[2] && script.kore];
    }
    of_one.contains(&true)
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
            ("alice", "Al1ce", true),
            ("alice", "ALICE", true),
            ("Bob", "B0B", true),
            ("bob", "b0b", true),
            ("Ill1", "lIIl", true),
            ("L00L", "looI", true),
            ("modern", "rnodern", false),
            ("alice", "alicia", false),
            ("a-b", "a_b", true),
            ("alice_", "alice", true),
            ("al ice", "alice", true),
            ("\u{2713}alice\u{1f600}", "alice", true),
            // Of nothing else.
            ("-", "_", false),
            ("a-b", "a-c", false),
            ("iris", "lris", true),
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
        let with_mark = usernames_that_look_like("alice \u{2713} a.");
        assert!(with_mark.contains("alicea"), "{with_mark:?}");
        for fullname in ["\u{e1}lice", "\u{65e5}\u{672c}", "!", "bob", "alice"] {
            assert_eq!(usernames_that_look_like(fullname), BTreeSet::from([fullname.to_owned()]));
        }
        for start in ["m", "Il", "lM", "l"] {
            let count = usernames_that_look_like(&format!("{start}{}", "m".repeat(48))).len();
            assert!((16..=49).contains(&count), "{start}: {count}");
        }
    }

    #[test]
    fn names_are_reserved_however_they_are_written() {
        let names = ReservedNames::default();
        for name in ["admin", "Admin", "ADM1N", "a-d_m-i-n", "M0derator", "no-reply", "Deleted User"] {
            assert!(names.cover(name), "{name}");
        }
        assert!(["alice", "adminer", "modern"].iter().all(|name| !names.cover(name)));
        assert!(!ReservedNames::parse("").cover("admin") && ReservedNames::parse(" x ,, y").cover("Y"));
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
            // Latin with the scripts of Japanese, Korean and Chinese, also Bopomofo.
            ("Kenji \u{5065}\u{4e8c} \u{3051}\u{30f3}", true),
            ("Kim \u{ae40} \u{91d1}", true),
            ("Li \u{674e} \u{3105}", true),
            // Scripts of two of them, and another one beside Latin.
            ("Kim \u{ae40}\u{3051}", false),
            ("Ivan \u{674e} \u{418}", false),
            ("Alice \u{e01}", false),
            // A Cyrillic letter in a Latin name, and two scripts beside each other.
            ("\u{430}lice", false),
            ("Alice \u{410}\u{43b}\u{438}\u{441}\u{430}", false),
            ("\u{3b1}lice", false),
        ] {
            assert_eq!(has_one_script(text), one, "{text}");
        }
    }
}
