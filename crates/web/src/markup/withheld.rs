//! The words in place of something that its reader does not see, and the words about it for its
//! author and moderators.

use super::frame::Frame;
use maud::{Markup, html};
use tidings_domain::accounts::reader::{Collapsed, Sight};
use tidings_domain::news::item::News;
use tidings_domain::news::lines::NewsLine;
use tidings_domain::values::words::counted;
use tidings_domain::values::{UserId, Withheld};

/// Why something is not shown, in the words of a line in its place. `what` is "a comment" or
/// the like.
pub fn reason(why: Collapsed, withheld: Option<&Withheld>, what: &str) -> String {
    match why {
        Collapsed::Removed => {
            Withheld::removed(withheld.and_then(Withheld::reason).unwrap_or_default()).sentence()
        }
        Collapsed::Held => Withheld::Held(Box::default()).sentence(),
        Collapsed::Flagged => Withheld::Flagged.sentence(),
        Collapsed::MutedPerson => format!("{what} by someone you muted"),
        Collapsed::MutedWord => format!("{what} with a word you muted"),
        Collapsed::Unwanted => format!("{what} that you hid or muted"),
        Collapsed::Deleted if withheld.is_some_and(Withheld::is_erased) => "erased".to_owned(),
        Collapsed::Deleted => format!("deleted {}", what.trim_start_matches("a ")),
    }
}

/// The line in place of something, in brackets.
pub fn stand_in(why: Collapsed, withheld: Option<&Withheld>, what: &str) -> Markup {
    let reason = reason(why, withheld, what);
    html! { @if why == Collapsed::Deleted { "[" (reason) "]" } @else { "[" bdi { (reason) } "]" } }
}

/// The words in place of a story's title; `None` if the title is shown.
pub fn title_stand_in(sight: Sight, news: &News) -> Option<String> {
    match sight {
        Sight::Shown => None,
        Sight::Collapsed(why) => Some(format!("[{}]", reason(why, news.withheld.as_ref(), "a story"))),
        Sight::LeftOut => Some("[story]".to_owned()),
    }
}

/// The title of a story as its reader sees it.
pub fn shown_title(line: &NewsLine) -> String {
    title_stand_in(line.marks.sight, &line.news).unwrap_or_else(|| line.news.title.clone())
}

/// The words for the author and moderators about something that others do not see.
pub fn insider_words(withheld: &Withheld) -> String {
    withheld.sentence()
}

/// The same as a notice above what its reader sees all the same, if they are told.
pub fn insider_notice(frame: &Frame<'_>, author: UserId, withheld: Option<&Withheld>) -> Markup {
    let is_insider = frame.viewer.is_some_and(|viewer| viewer.is_insider(author));
    html! {
        @if let Some(words) = withheld.and_then(|state| state.notice(is_insider)) {
            p.notice.withheld { "Not shown to everyone: " bdi { (words) } "." }
        }
    }
}

/// That a moderator has locked the thread of a story, and why; nothing if it is open.
pub fn lock_notice(news: &News) -> Markup {
    html! {
        @if let Some(lock) = &news.locked {
            p.notice.withheld {
                "Locked by a moderator" @if !lock.reason.is_empty() { ": " bdi { (lock.reason) } } "."
            }
        }
    }
}

/// A link to the same page with what its reader has muted and what flags have hidden, for a
/// reader who is logged in; `anchor` is the element to go to. Nothing for what nobody can choose
/// to see.
pub fn show_link(frame: &Frame<'_>, why: Collapsed, anchor: &str) -> Markup {
    let can_choose = matches!(why, Collapsed::Flagged | Collapsed::MutedPerson | Collapsed::MutedWord);
    html! {
        @if can_choose && frame.viewer.is_some() {
            " " a href={ (frame.here.with_hidden()) @if !anchor.is_empty() { "#" (anchor) } } rel="nofollow" { "Show" }
        }
    }
}

/// The line below the entries of a list about those that are not listed for its reader, with a
/// link that shows them. `one` and `many` name the entries.
pub fn unlisted_note(frame: &Frame<'_>, unlisted: usize, (one, many): (&str, &str)) -> Markup {
    let is_viewed = frame.viewer.is_some();
    // Below stories, it is in line with their titles.
    let class = if one == "story" { "hint unlisted" } else { "hint" };
    html! {
        @if is_viewed && frame.here.shows_hidden() {
            p class=(class) {
                "Hidden " (many) " are shown. " a href=(frame.here.without_hidden()) { "Hide them" }
            }
        } @else if is_viewed && unlisted > 0 {
            @let verb = if unlisted == 1 { "is" } else { "are" };
            @let count = counted(u64::try_from(unlisted).unwrap_or(u64::MAX), one, many);
            p class=(class) {
                (count) " " (verb) " hidden here. " a href=(frame.here.with_hidden()) { "Show hidden" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_why_something_is_not_shown() {
        let removed = Withheld::Removed("spam".into());
        for (why, withheld, words) in [
            (Collapsed::Removed, Some(&removed), "removed by a moderator: spam"),
            (Collapsed::Removed, None, "removed by a moderator"),
            (Collapsed::MutedPerson, None, "a comment by someone you muted"),
            (Collapsed::MutedWord, None, "a comment with a word you muted"),
        ] {
            assert_eq!(reason(why, withheld, "a comment"), words);
        }
    }
}
