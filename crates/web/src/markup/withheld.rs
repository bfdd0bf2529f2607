//! The words in place of something that its reader does not see, and the words about it for its
//! author and moderators.

use super::frame::Frame;
use maud::{Markup, html};
use tidings_domain::News;
use tidings_domain::accounts::reader::{Collapsed, Sight};
use tidings_domain::news::lines::NewsLine;
use tidings_domain::values::{UserId, Withheld};
use tidings_language::{n, t};

/// A kind of things that may not be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stories.
    Story,
    /// Comments.
    Comment,
    /// Posts.
    Post,
}

/// Why something is not shown, in the words of a line in its place.
pub fn reason(why: Collapsed, withheld: Option<&Withheld>, what: Kind) -> String {
    let words = match why {
        Collapsed::Removed => {
            return Withheld::removed(withheld.and_then(Withheld::reason).unwrap_or_default())
                .sentence()
                .into();
        }
        Collapsed::Held => return Withheld::Held(Box::default()).sentence().into(),
        Collapsed::Flagged => return Withheld::Flagged.sentence().into(),
        Collapsed::MutedPerson => match what {
            Kind::Story => t!("a story by someone you muted"),
            Kind::Comment => t!("a comment by someone you muted"),
            Kind::Post => t!("a post by someone you muted"),
        },
        Collapsed::MutedWord => match what {
            Kind::Story => t!("a story with a word you muted"),
            Kind::Comment => t!("a comment with a word you muted"),
            Kind::Post => t!("a post with a word you muted"),
        },
        Collapsed::Unwanted => match what {
            Kind::Story => t!("a story that you hid or muted"),
            Kind::Comment => t!("a comment that you hid or muted"),
            Kind::Post => t!("a post that you hid or muted"),
        },
        Collapsed::Deleted if withheld.is_some_and(Withheld::is_erased) => t!("erased"),
        Collapsed::Deleted => match what {
            Kind::Story => t!("deleted story"),
            Kind::Comment => t!("deleted comment"),
            Kind::Post => t!("deleted post"),
        },
    };
    words.to_owned()
}

/// The line in place of something, in brackets.
pub fn stand_in(why: Collapsed, withheld: Option<&Withheld>, what: Kind) -> Markup {
    let reason = reason(why, withheld, what);
    html! { @if why == Collapsed::Deleted { "[" (reason) "]" } @else { "[" bdi { (reason) } "]" } }
}

/// The words in place of a story's title; `None` if the title is shown.
pub fn title_stand_in(sight: Sight, news: &News) -> Option<String> {
    match sight {
        Sight::Shown => None,
        Sight::Collapsed(why) => Some(format!("[{}]", reason(why, news.withheld.as_ref(), Kind::Story))),
        Sight::LeftOut => Some(t!("[story]").to_owned()),
    }
}

/// The title of a story as its reader sees it.
pub fn shown_title(line: &NewsLine) -> String {
    title_stand_in(line.marks.sight, &line.news).unwrap_or_else(|| line.news.title.clone())
}

/// The words for the author and moderators about something that others do not see.
pub fn insider_words(withheld: &Withheld) -> String {
    withheld.sentence().to_string()
}

/// The same as a notice above what its reader sees all the same, if they are told.
pub fn insider_notice(frame: &Frame<'_>, author: UserId, withheld: Option<&Withheld>) -> Markup {
    let is_insider = frame.viewer.is_some_and(|viewer| viewer.is_insider(author));
    html! {
        @if let Some(words) = withheld.and_then(|state| state.notice(is_insider)) {
            p.notice.withheld {
                (t!("Not shown to everyone: {reason}.", reason = html! { bdi { (words) } }))
            }
        }
    }
}

/// That a moderator has locked the thread of a story, and why; nothing if it is open.
pub fn lock_notice(news: &News) -> Markup {
    html! {
        @if let Some(lock) = &news.locked {
            p.notice.withheld {
                @if lock.reason.is_empty() {
                    (t!("Locked by a moderator."))
                } @else {
                    (t!("Locked by a moderator: {reason}.", reason = html! { bdi { (lock.reason) } }))
                }
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
            " " a href={ (frame.here.with_hidden()) @if !anchor.is_empty() { "#" (anchor) } } rel="nofollow" { (t!("button" => "Show")) }
        }
    }
}

/// The line below the entries of a list about those that are not listed for its reader, with a
/// link that shows them.
pub fn unlisted_note(frame: &Frame<'_>, unlisted: usize, what: Kind) -> Markup {
    let is_viewed = frame.viewer.is_some();
    // Below stories, it is in line with their titles.
    let class = if what == Kind::Story { "hint unlisted" } else { "hint" };
    html! {
        @if is_viewed && frame.here.shows_hidden() {
            p class=(class) {
                @match what {
                    Kind::Story => (t!("Hidden stories are shown.")),
                    Kind::Comment => (t!("Hidden comments are shown.")),
                    Kind::Post => (t!("Hidden posts are shown.")),
                }
                " " a href=(frame.here.without_hidden()) { (t!("Hide them")) }
            }
        } @else if is_viewed && unlisted > 0 {
            p class=(class) {
                @match what {
                    Kind::Story => (n!(unlisted, "{count} story is hidden here.", "{count} stories are hidden here.")),
                    Kind::Comment => {
                        (n!(unlisted, "{count} comment is hidden here.", "{count} comments are hidden here."))
                    }
                    Kind::Post => (n!(unlisted, "{count} post is hidden here.", "{count} posts are hidden here.")),
                }
                " " a href=(frame.here.with_hidden()) { (t!("Show hidden")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};

    #[test]
    fn a_line_says_why_something_is_not_shown() {
        let removed = Withheld::Removed("spam".into());
        for (why, withheld, words) in [
            (Collapsed::Removed, Some(&removed), "removed by a moderator: spam"),
            (Collapsed::Removed, None, "removed by a moderator"),
            (Collapsed::MutedPerson, None, "a comment by someone you muted"),
            (Collapsed::MutedWord, None, "a comment with a word you muted"),
        ] {
            assert_eq!(reason(why, withheld, Kind::Comment), words);
        }
    }

    #[test]
    fn a_list_says_how_many_stories_are_hidden() {
        let bob = user("2", "bob", "");
        let note = |count| framed(Some(&bob), |frame| unlisted_note(frame, count, Kind::Story)).into_string();
        assert!(note(1).contains("1 story is hidden here"), "{}", note(1));
        assert!(note(2).contains(r#"2 stories are hidden here. <a href="/latest/0?hidden=1">"#));
        assert_eq!(note(0), "");
        assert_eq!(framed(None, |frame| unlisted_note(frame, 1, Kind::Story)).into_string(), "");
    }
}
