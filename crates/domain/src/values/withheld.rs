//! The states of a story, a comment, a tweet or a profile that is still stored, and all that follows from one.
//!
//! The state is one stored field, `withheld`, whose text is `removed:<reason>`, `held:<reason>`,
//! `flagged:`, `erased:` or, for a story, `merged:<other story>`. It never changes the post that it holds
//! back, so taking the field away puts everything back exactly. Only what is erased is gone for good. A text
//! that is none of these counts as withheld: a damaged state does not reveal a post that a moderator hid.
//!
//! Each state is one row of answers to all that is asked about it. Nobody else tells states apart: who asks whether
//! something is listed, counted, or may be answered asks a [`PostState`].

use crate::values::text::{one_line, printable};
use crate::values::text_forms::read_text;
use crate::values::{NewsId, UserId};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use strum::EnumIs;

/// The stored field of a story, a comment or a tweet with this state.
pub const WITHHELD: &str = "withheld";

/// The stored field of a story, a comment or a tweet that was taken away before readers saw it: it waited for approval, and
/// was rejected, removed or erased. For strangers it never was.
pub const UNSEEN: &str = "unseen";

/// Why something is withheld from readers.
#[derive(Debug, Clone, PartialEq, Eq, EnumIs)]
pub enum Withheld {
    /// A moderator removed it, for this reason. Readers see the reason and no text.
    Removed(Box<str>),
    /// It waits for a moderator's approval, for this reason. Only its author and moderators
    /// know of it.
    Held(Box<str>),
    /// Readers' flags have hidden it until a moderator looks at it. It stays in the lists, and
    /// each reader's choices decide whether it is shown.
    Flagged,
    /// A moderator merged the story into this one, whose page shows its comments.
    Merged(NewsId),
    /// An administrator, or its author on leaving, has erased it: it is deleted, and nothing of its text is stored.
    Erased,
    /// The stored state cannot be read; this is its text. Only its author and moderators see it.
    Unreadable(Box<str>),
}

/// A stored text that is not a state.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a state of something withheld")]
pub struct NotWithheld;

/// The kinds of things that people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostKind {
    /// A story.
    Story,
    /// A comment.
    Comment,
    /// A tweet.
    Tweet,
    /// A person's text about themselves.
    Profile,
}

impl PostKind {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Story => "story",
            Self::Comment => "comment",
            Self::Tweet => "post",
            Self::Profile => "profile",
        }
    }
}

/// Why nobody takes part in something any more, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It is deleted.
    Deleted,
    /// It is erased.
    Erased,
    /// A moderator has removed it.
    Removed,
    /// It waits for a moderator, or its state cannot be read.
    Held,
    /// It is a part of this story now.
    Merged(NewsId),
}

/// The readers of something, besides its author and moderators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadBy {
    /// Everybody.
    All,
    /// Those who have chosen to see what flags have hidden; the others are told of it.
    Curious,
    /// No others, but all are told why.
    Told,
    /// No others, and they are not told of it.
    Insiders,
    /// Nobody, not even those: it is deleted, and all are told.
    Nobody,
}

/// The answers of a state.
struct StateRow {
    /// Whether it is in lists, timelines, feeds and searches, if its reader wants it there.
    is_listed: bool,
    /// Whether counters count it.
    is_counted: bool,
    /// Whether its author can edit and delete it.
    is_editable: bool,
    /// Whether Lamer News, which knows no state but `del`, is told not to show it.
    has_del: bool,
    /// Its readers.
    readers: ReadBy,
    /// Why nobody answers it, votes on it, flags it or saves it; `None` if people do.
    closed: Option<Closed>,
    /// Its word for programs.
    word: &'static str,
    /// Its words in a list for moderators.
    tag: &'static str,
    /// The words for its author and moderators, before the reason.
    sentence: &'static str,
}

impl StateRow {
    /// The row of what its author has deleted.
    const DELETED: Self =
        Self::new([false, false, false, true], ReadBy::Nobody, Some(Closed::Deleted), [""; 3]);

    const fn new(
        [is_listed, is_counted, is_editable, has_del]: [bool; 4],
        readers: ReadBy,
        closed: Option<Closed>,
        [word, tag, sentence]: [&'static str; 3],
    ) -> Self {
        Self { is_listed, is_counted, is_editable, has_del, readers, closed, word, tag, sentence }
    }

    /// The row of what is not deleted.
    #[rustfmt::skip]
    const fn of(state: Option<&Withheld>) -> Self {
        const FLAGGED: [&str; 3] =
            ["flagged", "hidden by flags", "hidden by readers' flags until a moderator reviews it"];
        const REMOVED: [&str; 3] = ["removed", "removed", "removed by a moderator"];
        const HELD: [&str; 3] = ["held", "held", "waiting for a moderator's approval"];
        const UNREADABLE: [&str; 3] =
            ["unreadable", "not shown", "its stored data is damaged. Tell the site's administrator"];
        const MERGED: [&str; 3] = ["merged", "merged", "merged into story"];
        const ERASED: [&str; 3] = ["erased", "erased", "erased for good"];
        match state {
            //                               listed counted editable del
            None =>                Self::new([true,  true,  true,  false], ReadBy::All, None, [""; 3]),
            Some(Withheld::Flagged) =>
                                   Self::new([true,  true,  true,  false], ReadBy::Curious, None, FLAGGED),
            Some(Withheld::Removed(_)) =>
                                   Self::new([false, false, false, true],  ReadBy::Told, Some(Closed::Removed), REMOVED),
            Some(Withheld::Held(_)) =>
                                   Self::new([false, false, true,  false], ReadBy::Insiders, Some(Closed::Held), HELD),
            Some(Withheld::Unreadable(_)) =>
                                   Self::new([false, false, true,  false], ReadBy::Insiders, Some(Closed::Held), UNREADABLE),
            // Its address leads to the other story.
            Some(Withheld::Merged(into)) =>
                                   Self::new([false, false, false, false], ReadBy::All, Some(Closed::Merged(*into)), MERGED),
            Some(Withheld::Erased) =>
                                   Self::new([false, false, false, true],  ReadBy::Nobody, Some(Closed::Erased), ERASED),
        }
    }
}

/// All that decides what becomes of something that a person wrote, whoever the reader is.
#[derive(Debug, Clone, Copy)]
pub struct PostState<'a> {
    /// The kind of thing.
    pub kind: PostKind,
    /// The author.
    pub author: UserId,
    /// Why it is withheld, if it is.
    pub withheld: Option<&'a Withheld>,
    /// Whether its author has deleted it, or it was erased.
    pub deleted: bool,
    /// Whether it was taken away before readers saw it.
    pub unseen: bool,
}

impl PostState<'_> {
    const fn row(&self) -> StateRow {
        let row = StateRow::of(self.withheld);
        match row.closed {
            Some(Closed::Erased) => row,
            _ if self.deleted => StateRow::DELETED,
            _ => row,
        }
    }

    /// Whether it is in lists, timelines, feeds and searches, if its reader wants it there.
    pub const fn is_listed(&self) -> bool {
        self.row().is_listed
    }

    /// Whether counters count it.
    pub const fn is_counted(&self) -> bool {
        self.row().is_counted
    }

    /// Whether people can answer it, vote on it, flag it and save it.
    pub const fn is_open(&self) -> bool {
        self.row().closed.is_none()
    }

    /// Why they cannot.
    pub const fn closed(&self) -> Option<Closed> {
        self.row().closed
    }

    /// Whether its author can edit and delete it, if it is not too late.
    pub const fn is_editable(&self) -> bool {
        self.row().is_editable
    }

    /// Its readers, besides its author and moderators. Where those alone know of it, they are told that it is deleted.
    pub(crate) const fn readers(&self) -> ReadBy {
        self.row().readers
    }

    /// Whether only its author and moderators know of it.
    pub const fn is_secret(&self) -> bool {
        is_secret(self.withheld, self.unseen)
    }

    /// Whether everybody sees it: it is neither deleted nor withheld.
    pub const fn is_public(&self) -> bool {
        !self.deleted && self.withheld.is_none()
    }
}

impl Withheld {
    /// The state of a post that a moderator has removed, with the reason as it is stored and read back.
    pub fn removed(reason: &str) -> Self {
        Self::Removed(one_line(reason).into())
    }

    /// A state as it is stored, which may be damaged.
    pub fn stored(text: &str) -> Self {
        text.parse().unwrap_or_else(|NotWithheld| Self::Unreadable(text.into()))
    }

    /// The reason that a moderator or a rule gave; `None` for other states.
    pub const fn reason(&self) -> Option<&str> {
        match self {
            Self::Removed(reason) | Self::Held(reason) => Some(reason),
            Self::Flagged | Self::Merged(_) | Self::Erased | Self::Unreadable(_) => None,
        }
    }

    /// The story that it was merged into.
    pub const fn merged_into(&self) -> Option<NewsId> {
        match self {
            Self::Merged(into) => Some(*into),
            _ => None,
        }
    }

    /// Whether something in this state is in lists, unless it is deleted.
    pub const fn is_listed(&self) -> bool {
        StateRow::of(Some(self)).is_listed
    }

    /// Whether Lamer News is told that something in this state is deleted, so that it does not show it.
    pub(crate) const fn has_del(&self) -> bool {
        StateRow::of(Some(self)).has_del
    }

    /// Its word for programs.
    pub const fn word(&self) -> &'static str {
        StateRow::of(Some(self)).word
    }

    /// The words for its author and moderators, without the full stop.
    pub fn sentence(&self) -> String {
        let words = StateRow::of(Some(self)).sentence;
        match self {
            Self::Merged(into) => format!("{words} {into}"),
            Self::Removed(reason) | Self::Held(reason) if !reason.is_empty() => format!("{words}: {reason}"),
            _ => words.to_owned(),
        }
    }

    /// Its words in a list for moderators.
    pub const fn tag(&self) -> &'static str {
        StateRow::of(Some(self)).tag
    }

    /// The approximate size in bytes, besides the value itself.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Removed(text) | Self::Held(text) | Self::Unreadable(text) => text.len(),
            Self::Flagged | Self::Merged(_) | Self::Erased => 0,
        }
    }
}

impl<'de> Deserialize<'de> for Withheld {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer).map(|stored| Self::stored(&stored))
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(reason) => write!(formatter, "removed:{}", one_line(reason)),
            Self::Held(reason) => write!(formatter, "held:{}", one_line(reason)),
            Self::Flagged => formatter.write_str("flagged:"),
            Self::Merged(into) => write!(formatter, "merged:{into}"),
            Self::Erased => formatter.write_str("erased:"),
            Self::Unreadable(stored) => formatter.write_str(stored),
        }
    }
}

read_text!(Withheld or NotWithheld: |stored| {
    let (state, text) = stored.split_once(':')?;
    let reason = || printable(text.to_owned()).into_boxed_str();
    match state {
        "removed" => Some(Self::Removed(reason())),
        "held" => Some(Self::Held(reason())),
        "flagged" => Some(Self::Flagged),
        "erased" => Some(Self::Erased),
        "merged" => text.parse().ok().map(Self::Merged),
        _ => None,
    }
});

const fn is_secret(state: Option<&Withheld>, unseen: bool) -> bool {
    unseen || matches!(StateRow::of(state).readers, ReadBy::Insiders)
}

/// Whether only the author and moderators know of a post that gets another state, as before. `was` is its state, and
/// whether it was taken away before readers saw it.
pub(crate) const fn stays_secret(was: (Option<&Withheld>, bool), to: Option<&Withheld>) -> bool {
    is_secret(was.0, was.1) && matches!(StateRow::of(to).closed, Some(Closed::Removed | Closed::Erased))
}

/// Whether a post is deleted. An erased post is. A post that moderators have removed is not: it has the
/// field `del` only so that Lamer News does not show it.
pub const fn is_deleted(has_del: bool, withheld: Option<&Withheld>) -> bool {
    match StateRow::of(withheld).closed {
        Some(Closed::Erased) => true,
        Some(Closed::Removed) => false,
        _ => has_del,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_stored_and_read_back() {
        for (stored, state, unlisted) in [
            ("removed:spam: again", Withheld::Removed("spam: again".into()), true),
            ("held:", Withheld::Held("".into()), true),
            ("held:the first post", Withheld::Held("the first post".into()), true),
            ("flagged:", Withheld::Flagged, false),
            ("merged:7", Withheld::Merged(NewsId(7)), true),
            ("erased:", Withheld::Erased, true),
        ] {
            assert_eq!(stored.parse(), Ok(state.clone()), "{stored}");
            assert_eq!(state.to_string(), stored);
            assert_eq!(!state.is_listed(), unlisted, "{stored}");
        }
    }

    #[test]
    fn what_is_no_state_is_refused() {
        for stored in ["", "removed", "gone:spam", ":", "Removed:spam", "merged:", "merged:x"] {
            assert_eq!(stored.parse::<Withheld>(), Err(NotWithheld), "{stored}");
            let state = Withheld::stored(stored);
            assert!(!state.is_listed(), "{stored}");
            assert_eq!(state.to_string(), stored);
        }
    }

    #[test]
    fn a_reason_of_several_lines_is_stored_as_one_and_read_back() {
        let stored = Withheld::Removed("a\nb".into()).to_string();
        assert_eq!(stored, "removed:a b");
        assert_eq!(stored.parse::<Withheld>().unwrap().to_string(), stored);
        assert_eq!(stored.parse(), Ok(Withheld::removed("a\nb")));
    }

    #[test]
    fn control_characters_do_not_leave_a_reason() {
        assert_eq!(
            "removed:a\u{1b}b".parse(),
            Ok(Withheld::Removed(printable("a\u{1b}b".to_owned()).into()))
        );
    }
}
