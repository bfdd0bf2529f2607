//! The words of pages, mails, help and documents: phrases that nobody would say are gone for good.

use super::documents::{ROOT, files};
use std::fs;

/// Phrases that were replaced, each with the words that are used instead.
const REPLACED: [(&str, &str); 60] = [
    ("on the site's pages", "in Tidings itself"),
    ("gone at Ctrl-C", "Ctrl-C deletes it"),
    ("opens a Lamer News database as it is", "can open an existing Lamer News database unchanged"),
    ("how the site is", "health of the site"),
    ("check that everything stored fits together", "check the stored data for inconsistencies"),
    ("Do something with the whole site", "Move the site to another host name"),
    ("Look after the search index", "Inspect or rebuild the search index"),
    ("without what was deleted", "without deleted data"),
    ("Make a user no longer an administrator", "Remove the administrator role"),
    ("for ever without it", "permanently, if left out"),
    ("No accounts vote for each other", "No suspicious voting groups found."),
    ("than chance would have it", "than would be likely by chance"),
    ("look among the spam", "check the spam folder"),
    ("the log of the relay", "the relay's log"),
    ("store is away", "the store is unreachable"),
    ("cannot serve an empty site", "cannot start an empty site by accident"),
    ("serves no empty site", "starts no empty site by accident"),
    ("only a server knows", "that need a running server"),
    ("Announce the stories I submit", "Show stories I submit in my followers' timelines"),
    ("Show what readers' flags have hidden", "Show items hidden by flags"),
    ("What should be looked at again", "What should we reconsider, and why?"),
    ("has both words, in any form", "both words, in any form"),
    ("good and {} bad on one day", "{} good, {} bad in the last {asked} days, all on one day"),
    ("Figures without names", "Anonymous statistics"),
    ("Counters against abuse", "Rate-limit counters"),
    ("That didn't work", "Couldn't follow a person"),
    ("Fails when the store does", "Errors: those of the store."),
    ("fails when the store does", "returns the errors of the store"),
    ("is true of it", "applies to it"),
    ("refusal for what is not there", "refusal for a missing item"),
    ("names what is not there", "names a missing item"),
    ("(current_password)", "your current password"),
    ("choose at least one of story", "choose at least one kind of event"),
    ("\"Do this\"", "the action: Lock the thread"),
    ("made a moderator of", "eleni is now a moderator"),
    ("Reason to undo it", "Why undo it?"),
    ("}, for moderators\"", "Moderator notes on farouk"),
    ("rejected of the last that were decided", "No decided flags yet"),
    ("Invited by nobody", "Signed up without an invitation."),
    ("Moderation in figures", "Moderation statistics"),
    ("half were decided within", "median time to decision"),
    ("What waits for an answer", "Unanswered messages are also in the review queue."),
    ("their browser offers these texts", "These texts are suggested wherever moderators give a reason."),
    ("Act on those who are chosen", "Apply to the selected people"),
    ("Choose all on this page", "Select all on this page"),
    ("Everyone can see in the", "The log shows when and why, but not the address."),
    ("those whom the ban stops", "the people affected"),
    ("\"What they can't do\"", "Blocked actions"),
    ("one line of text, for Slack", "One line of text (Slack, Matrix)"),
    ("decisions of moderators\"", "moderator decisions"),
    ("For how long it is shown", "Hours to show it. 0: until removed."),
    ("flags that moderators found right", "flags upheld"),
    ("Nothing of it can be undone", "It can't be undone"),
    ("Hold them no longer", "Stop holding posts"),
    ("Say why each is where it is", "Show why each result is where it is"),
    ("the room and the rights of", "the free space and the permissions of"),
    ("What is absent there is made anew", "Missing ones are rebuilt."),
    ("\"Who to follow\"", "People to follow"),
    ("has no line of what the operator does", "The moderation log does not record it."),
    ("until it ends by itself; 0 or empty", "Hours until it ends. 0 or empty: until it is lifted."),
];
/// History, and texts that are not ours to change.
const LEFT_ALONE: [&str; 5] =
    ["CHANGELOG.md", "docs/benchmarks.md", "docs/decisions/", "tests/", "crates/web/src/openapi/described/"];

/// A text as one reads it: without its tests, and with one space where a line or a literal is broken.
fn as_read(text: &str) -> String {
    let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let words = program.split_whitespace().filter(|word| !["\\", "///", "//!", "//"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn replaced_phrases_are_gone() {
    let mut read = 0;
    let mut found = Vec::new();
    for path in files(&["md", "rs", "js", "html", "toml", "sh", "json", "yaml"]) {
        let name = path.strip_prefix(ROOT).unwrap().to_str().unwrap();
        if LEFT_ALONE.iter().any(|left| name.starts_with(left)) {
            continue;
        }
        let text = as_read(&fs::read_to_string(&path).unwrap());
        read += 1;
        for (old, new) in REPLACED.iter().filter(|(old, _)| text.contains(old)) {
            found.push(format!("{name}: {old:?}; say {new:?}"));
        }
    }
    assert!(read > 700, "only {read} files were read");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_phrase_is_found_where_a_line_is_broken() {
    for text in ["/// how the\n    /// site is", "\"how the \\\n   site is\"", "how\nthe site is"] {
        assert!(as_read(text).contains("how the site is"), "{text}");
    }
    assert!(!as_read("a\n#[cfg(test)]\nmod tests { \"how the site is\" }").contains("how the site is"));
}
