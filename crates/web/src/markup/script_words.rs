//! The words of the script, which has none itself: they stand in attributes `data-t-…`. A page has those that the script can
//! need on it. Its footer, which is written last, knows that from the attributes of the elements above it.

use super::fields::attribute;
use super::parts::{votes_down, votes_up};
use maud::{Markup, html};
use memchr::memmem;
use tidings_domain::values::{Choice, Shortcuts};
use tidings_language::{PerLanguage, Phrase, m, n, t};

/// Numbers that have all forms of the plural, in any language. The script has the same.
const SAMPLES: [i64; 6] = [1, 2, 5, 0, 11, 100];

/// The words for each of [`SAMPLES`], up to the one from which on it is the same.
fn forms<'a>(say: impl Fn(i64) -> Phrase<'a>) -> String {
    let mut forms: Vec<String> = SAMPLES.iter().map(|count| say(*count).to_string()).collect();
    while let [.., before, last] = &*forms
        && before == last
    {
        forms.pop();
    }
    forms.join("|")
}

/// Words that the script needs for elements with one of some attributes.
struct Words {
    markers: &'static [&'static str],
    /// As attributes.
    written: String,
}

static WORDS: PerLanguage<[Words; 10]> = PerLanguage::new(|| {
    [
        words(
            &["comment", "flag"],
            &[
                ("logged-out", t!("You have been logged out. Log in in another tab, then send again.")),
                ("again", t!("button" => "Try again")),
                ("cancel", t!("button" => "Cancel")),
            ],
        ),
        words(
            &["flag"],
            &[("flagged", t!("by the reader" => "flagged")), ("looked", t!("A moderator will look at it."))],
        ),
        words(&["draft"], &[("draft-note", t!("Your draft.")), ("discard", t!("button" => "Discard"))]),
        words(&["drafts"], &[("draft", t!("noun" => "draft"))]),
        words(
            &["limit"],
            &[
                ("left", &forms(|count| n!(count, "{number} left", "{number} left", number = "{n}"))),
                ("over", &forms(|count| n!(count, "{number} too many", "{number} too many", number = "{n}"))),
            ],
        ),
        words(
            &["live"],
            &[
                (
                    "posts",
                    &forms(|count| n!(count, "{number} new post", "{number} new posts", number = "{n}")),
                ),
                ("many-posts", t!("100 or more new posts")),
            ],
        ),
        words(
            &["submission"],
            &[
                ("now", t!("just now")),
                ("submitted", m!("Submitted {age}: {story}").text()),
                ("similar", t!("Is it one of these?")),
                (
                    "comments",
                    &forms(|count| n!(count, "{number} comment", "{number} comments", number = "{n}")),
                ),
                ("fetching", t!("Fetching the title...")),
                ("fetched", t!("This is the title of the page.")),
                ("replaced", m!("This is the title of the page. You had typed: \"{title}\".").text()),
            ],
        ),
        words(
            &["queue"],
            &[(
                "review-keys",
                &[
                    t!("Keep or approve"),
                    t!("Remove or reject: asks for the reason"),
                    t!("Warn the author: asks for the text"),
                    t!("Silence the author: asks for the reason"),
                    t!("Ban the author: asks for the reason"),
                    t!("Ban the site that it links to"),
                ]
                .join("|"),
            )],
        ),
        words(
            &["tools"],
            &[("collapse", t!("button" => "Collapse all")), ("expand", t!("button" => "Expand all"))],
        ),
        words(
            &["passkey"],
            &[
                ("passkey-known", t!("This device already has a passkey for your account.")),
                ("passkey-failed", t!("Couldn't use the passkey, or you cancelled it. Try again.")),
            ],
        ),
    ]
});

fn words(markers: &'static [&'static str], texts: &[(&str, &str)]) -> Words {
    let mut written = String::new();
    for (name, text) in texts {
        attribute(&mut written, &format!("data-t-{name}"), text);
    }
    Words { markers, written }
}

/// The words for the buttons of items, in the order of the script.
pub static ITEM_WORDS: PerLanguage<String> = PerLanguage::new(|| {
    [
        t!("Voted up"),
        t!("Voted down"),
        t!("Vote taken back"),
        t!("Take back your vote"),
        t!("button" => "hide"),
        t!("button" => "unhide"),
        t!("button" => "save"),
        t!("button" => "saved"),
        t!("button" => "subscribe"),
        t!("button" => "unsubscribe"),
        t!("button" => "Undo"),
        m!("Hidden: {story}.").text(),
    ]
    .join("|")
});

/// The counts of votes up and down.
pub static VOTE_COUNTS: PerLanguage<[String; 2]> =
    PerLanguage::new(|| [forms(|count| votes_up(count, "{n}")), forms(|count| votes_down(count, "{n}"))]);

/// Begins the footer of a page of which everything above it is there. New members may be refused what needs trust.
pub fn start_footer(page: &mut String, is_new_member: bool) {
    let mut needed = [false; 10];
    for at in memmem::find_iter(page.as_bytes(), MARK) {
        let rest = page.get(at + MARK.len()..).unwrap_or_default();
        // Rows of lists have many attributes, and none that needs words.
        if OF_ROWS.iter().any(|name| rest.starts_with(name)) {
            continue;
        }
        let name = rest.split(['=', ' ', '>']).next().unwrap_or_default();
        for (needed, words) in needed.iter_mut().zip(&*WORDS) {
            *needed |= words.markers.contains(&name);
        }
    }
    page.push_str(r#"<footer class="site-footer""#);
    let lost = t!("The site can't be reached. Check your connection and try again.");
    let refusals = if is_new_member { &[lost, t!("When accounts are trusted")][..] } else { &[lost] };
    attribute(page, "data-t-no", &refusals.join("|"));
    for (_, words) in needed.iter().zip(&*WORDS).filter(|(needed, _)| **needed) {
        page.push_str(&words.written);
    }
    page.push('>');
}

/// The beginning of the names of the attributes.
const MARK: &str = " data-";

/// The ends of the names of the attributes that each row of a list has.
const OF_ROWS: [&str; 3] = ["item", "open", "count="];

/// The button that opens the help about shortcuts. `shortcuts` is what a member has chosen. They choose it on the page of their
/// settings, from which the script takes the words for a member with shortcuts when it needs them.
pub fn help_button(shortcuts: Option<Shortcuts>, is_settings: bool) -> Markup {
    let (is_visitor, is_off) = (shortcuts.is_none(), shortcuts == Some(Shortcuts::Off));
    html! {
        button type="button" data-help=(shortcuts.map_or("", Choice::name))
            data-t-keys=[(is_visitor || is_settings).then(meanings)]
            data-t-off=[(is_visitor || is_off).then(|| t!("Keyboard shortcuts are off"))]
            data-t-change=[(is_off || is_settings).then(|| t!("Change in your settings"))]
            data-t-use=[is_visitor.then(|| t!("Use these keys"))]
            data-t-modes=[is_visitor.then(modes)]
            data-t-close=[(is_visitor || is_off || is_settings).then(|| t!("button" => "Close"))]
        { (t!("Keyboard shortcuts")) }
    }
}

/// The meanings of the keys, in the order of the script.
fn meanings() -> String {
    [
        t!("Next story, comment or post"),
        t!("Previous story, comment or post"),
        t!("Open it"),
        t!("Vote up, or take the vote back"),
        t!("Vote down, or take the vote back"),
        t!("Next new comment"),
        t!("Previous new comment"),
        t!("Reply to it"),
        t!("The comment that it replies to"),
        t!("Collapse or expand these comments"),
        t!("Collapse or expand all comments"),
        t!("button" => "Search"),
        t!("Show this help"),
    ]
    .join("|")
}

/// How visitors can use the keys.
fn modes() -> String {
    [t!("keys" => "alone"), t!("keys" => "with the Alt key"), t!("keys" => "not at all")].join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footer_has_the_words_for_the_elements_of_its_page() {
        for marker in WORDS.iter().flat_map(|words| words.markers) {
            let html = &mut format!("<p data-{marker}>");
            start_footer(html, false);
            assert!(
                html.contains(&WORDS.iter().find(|words| words.markers.contains(marker)).unwrap().written)
            );
        }
        let footer = |page: &str| {
            let mut html = page.to_owned();
            start_footer(&mut html, false);
            html.split_off(page.len())
        };
        let plain = footer(r#"<p data-item>"x" data-limitless</p>"#);
        assert!(plain.contains(r#"try again.""#) && !plain.contains("data-t-left="), "{plain}");
        let counter = footer(r#"<textarea data-limit="280"></textarea>"#);
        assert!(counter.contains(r#" data-t-left="{n} left" data-t-over="{n} too many">"#), "{counter}");
        let live = footer(r#"<div aria-live="polite" data-live="/home/events"></div>"#);
        assert!(live.contains(r#"data-t-posts="{n} new post|{n} new posts""#), "{live}");
        let submission = footer("<form data-submission data-now=\"7\">");
        assert!(submission.contains("You had typed: &quot;{title}&quot;."), "{submission}");
    }

    #[test]
    fn a_member_with_shortcuts_has_the_words_of_the_help_in_the_settings() {
        let button = |shortcuts, is_settings| help_button(shortcuts, is_settings).into_string();
        let visitor = button(None, false);
        assert!(visitor.contains("data-t-modes=") && !visitor.contains("data-t-change="), "{visitor}");
        let settings = button(Some(Shortcuts::On), true);
        assert!(settings.contains("data-t-keys=") && settings.contains("data-t-change="), "{settings}");
        let elsewhere = button(Some(Shortcuts::On), false);
        assert!(!elsewhere.contains("data-t-"), "{elsewhere}");
        let off = button(Some(Shortcuts::Off), false);
        assert!(off.contains("data-t-off=") && !off.contains("data-t-keys="), "{off}");
    }
}
