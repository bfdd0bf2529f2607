//! The states of a story, a comment, a tweet or a profile that is still stored, and all that follows from one.
//!
//! The state is one stored field, `withheld`, whose text is `removed:<reason>`, `held:<reason>`,
//! `flagged:`, `erased:` or, for a story, `merged:<other story>`. It never changes the post that it holds
//! back, so taking the field away puts everything back exactly. Only what is erased is gone for good. A text
//! that is none of these counts as withheld: a damaged state does not reveal a post that a moderator hid.
//!
//! Each state is one row of answers to all that is asked about it. Nobody else tells states apart: who asks whether
//! something is listed, counted, or may be answered asks a [`PostState`].

use crate::values::text::one_line;
use crate::values::text_forms::{Codec, OnOneLine, Plain, read_text};
use crate::values::{NewsId, UserId};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use strum::EnumIs;
use tidings_language::{Phrase, p, t};

/// The stored field of a story, a comment or a tweet with this state.
pub const WITHHELD: &str = "withheld";

/// The stored field of a story, a comment or a tweet that was taken away before readers saw it: it waited for approval, and
/// was rejected, removed or erased. For strangers it never was.
pub const UNSEEN: &str = "unseen";

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
    /// Whether it is in lists, timelines, feeds and searches, if its reader wants it there. So are the comments on it in those of
    /// the whole site; search engines may list its page; and programs that know its number are told of it.
    is_listed: bool,
    /// Whether counters count it.
    is_counted: bool,
    /// Whether its author can edit and delete it.
    is_editable: bool,
    /// Whether Lamer News, which knows no state but `del`, is told not to show it.
    has_del: bool,
    /// Its readers.
    readers: ReadBy,
    /// Whether those who see it all the same are told that not everyone does: strangers, and its author and moderators.
    told: [bool; 2],
    /// Why nobody answers it, votes on it, flags it or saves it; `None` if people do.
    closed: Option<Closed>,
    /// Its word for programs, with which its stored text begins.
    word: &'static str,
}

/// The row of what is not withheld.
const OPEN: StateRow = StateRow {
    is_listed: true,
    is_counted: true,
    is_editable: true,
    has_del: false,
    readers: ReadBy::All,
    told: [true, true],
    closed: None,
    word: "",
};

/// The row of an item for review.
const WAITING: StateRow = StateRow {
    is_listed: false,
    is_counted: false,
    readers: ReadBy::Insiders,
    closed: Some(Closed::Held),
    ..OPEN
};

/// The row of what its author has deleted.
const DELETED: StateRow = StateRow {
    is_listed: false,
    is_counted: false,
    is_editable: false,
    has_del: true,
    readers: ReadBy::Nobody,
    closed: Some(Closed::Deleted),
    ..OPEN
};

/// Declares the states: the variant with what is stored with it and how that is written, its word, an example of what is
/// stored, the two answers that each must give because they decide where it can leak, and in what its row differs from another.
macro_rules! states {
    ($(
        $(#[$doc:meta])*
        $Name:ident $(($given:ident: $Given:ty, $Codec:ty))? = $word:literal, $example:literal,
        $base:ident { is_listed: $is_listed:expr, readers: $readers:expr $(, $answer:ident: $value:expr)* $(,)? };
    )+) => {
        /// Why something is withheld from readers.
        #[derive(Debug, Clone, PartialEq, Eq, EnumIs)]
        pub enum Withheld {
            $($(#[$doc])* $Name $(($Given))?,)+
            /// The stored state cannot be read; this is its text. Only its author and moderators see it.
            Unreadable(Box<str>),
        }

        impl Withheld {
            /// A stored text of each, for tests that walk over all.
            pub const EXAMPLES: &[&str] = &[$(concat!($word, ":", $example)),+];

            #[allow(unused_variables)]
            const fn row(&self) -> StateRow {
                match self {
                    $(Self::$Name $(($given))? => StateRow {
                        word: $word,
                        is_listed: $is_listed,
                        readers: $readers,
                        $($answer: $value,)*
                        ..$base
                    },)+
                    Self::Unreadable(_) => StateRow {
                        word: "unreadable",
                        ..WAITING
                    },
                }
            }

            fn read(word: &str, text: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$Name $((<$Codec>::read(text)?))?),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for Withheld {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$Name $(($given))? => {
                        formatter.write_str(concat!($word, ":"))?;
                        $(<$Codec>::show($given, formatter)?;)?
                        Ok(())
                    })+
                    Self::Unreadable(stored) => formatter.write_str(stored),
                }
            }
        }
    };
}

states! {
    /// A moderator removed it, for this reason. Readers see the reason and no text.
    Removed(reason: Box<str>, OnOneLine) = "removed", "spam: again", DELETED {
        is_listed: false,
        readers: ReadBy::Told,
        closed: Some(Closed::Removed),
    };
    /// It waits for a moderator's approval, for this reason. Only its author and moderators know of it.
    Held(reason: Box<str>, OnOneLine) = "held", "the first post", WAITING {
        is_listed: false,
        readers: ReadBy::Insiders,
    };
    /// Readers' flags have hidden it until a moderator looks at it. It stays in the lists, and each reader's choices decide
    /// whether it is shown.
    Flagged = "flagged", "", OPEN {
        is_listed: true,
        readers: ReadBy::Curious,
    };
    /// A moderator merged the story into this one, whose page shows its comments. Its address leads there.
    Merged(into: NewsId, Plain) = "merged", "7", DELETED {
        is_listed: false,
        readers: ReadBy::All,
        has_del: false,
        told: [false, false],
        closed: Some(Closed::Merged(*into)),
    };
    /// An administrator, or its author on leaving, has erased it: it is deleted, and nothing of its text is stored.
    Erased = "erased", "", DELETED {
        is_listed: false,
        readers: ReadBy::Nobody,
        closed: Some(Closed::Erased),
    };
}

/// The row of what is not deleted.
const fn row_of(state: Option<&Withheld>) -> StateRow {
    match state {
        Some(state) => state.row(),
        None => OPEN,
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
        let row = row_of(self.withheld);
        match row.closed {
            Some(Closed::Erased) => row,
            _ if self.deleted => DELETED,
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
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Removed(reason) | Self::Held(reason) => Some(reason),
            _ => None,
        }
    }

    /// The story that it was merged into.
    pub const fn merged_into(&self) -> Option<NewsId> {
        match self.row().closed {
            Some(Closed::Merged(into)) => Some(into),
            _ => None,
        }
    }

    /// Whether something in this state is in lists, unless it is deleted.
    pub const fn is_listed(&self) -> bool {
        self.row().is_listed
    }

    /// Whether people take part in something in this state.
    pub(crate) const fn is_open(&self) -> bool {
        self.row().closed.is_none()
    }

    /// Whether Lamer News is told that something in this state is deleted, so that it does not show it.
    pub(crate) const fn has_del(&self) -> bool {
        self.row().has_del
    }

    /// Its word for programs.
    pub const fn word(&self) -> &'static str {
        self.row().word
    }

    /// The words for its author and moderators, without the full stop.
    pub fn sentence(&self) -> Phrase<'_> {
        match self {
            Self::Removed(reason) if reason.is_empty() => p!("removed by a moderator"),
            Self::Removed(reason) => p!("removed by a moderator: {reason}", reason),
            Self::Held(reason) if reason.is_empty() => p!("waiting for a moderator's approval"),
            Self::Held(reason) => p!("waiting for a moderator's approval: {reason}", reason),
            Self::Flagged => p!("hidden by readers' flags until a moderator reviews it"),
            Self::Merged(into) => p!("merged into story {story}", story = into.to_string()),
            Self::Erased => p!("erased for good"),
            Self::Unreadable(_) => p!("its stored data is damaged. Tell the site's administrator"),
        }
    }

    /// The same for somebody who sees it all the same, if they are told. Its author and moderators are insiders.
    pub fn notice(&self, is_insider: bool) -> Option<Phrase<'_>> {
        let [strangers, insiders] = self.row().told;
        (if is_insider { insiders } else { strangers }).then(|| self.sentence())
    }

    /// Its words in a list for moderators.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Removed(_) => t!("state" => "removed"),
            Self::Held(_) => t!("state" => "held"),
            Self::Flagged => t!("state" => "hidden by flags"),
            Self::Merged(_) => t!("state" => "merged"),
            Self::Erased => t!("state" => "erased"),
            Self::Unreadable(_) => t!("state" => "not shown"),
        }
    }

    /// The approximate size in bytes, besides the value itself.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Removed(text) | Self::Held(text) | Self::Unreadable(text) => text.len(),
            _ => 0,
        }
    }
}

impl<'de> Deserialize<'de> for Withheld {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer).map(|stored| Self::stored(&stored))
    }
}

read_text!(Withheld or NotWithheld: |stored| {
    let (word, text) = stored.split_once(':')?;
    Self::read(word, text)
});

const fn is_secret(state: Option<&Withheld>, unseen: bool) -> bool {
    unseen || matches!(row_of(state).readers, ReadBy::Insiders)
}

/// Whether only the author and moderators know of a post that gets another state, as before. `was` is its state, and
/// whether it was taken away before readers saw it.
pub(crate) const fn stays_secret(was: (Option<&Withheld>, bool), to: Option<&Withheld>) -> bool {
    is_secret(was.0, was.1) && matches!(row_of(to).closed, Some(Closed::Removed | Closed::Erased))
}

/// Whether a post is deleted. An erased post is. A post that moderators have removed is not: it has the
/// field `del` only so that Lamer News does not show it.
pub const fn is_deleted(has_del: bool, withheld: Option<&Withheld>) -> bool {
    match row_of(withheld).closed {
        Some(Closed::Erased) => true,
        Some(Closed::Removed) => false,
        _ => has_del,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::text::printable;

    #[test]
    fn each_state_is_stored_and_read_back() {
        for stored in Withheld::EXAMPLES.iter().chain(&["held:"]) {
            let state: Withheld = stored.parse().unwrap();
            assert_eq!(state.to_string(), *stored);
            assert!(!state.is_unreadable() && stored.starts_with(state.word()), "{stored}");
            assert!(!state.tag().is_empty(), "{stored}");
        }
        assert_eq!("removed:spam: again".parse(), Ok(Withheld::Removed("spam: again".into())));
        assert_eq!("merged:7".parse(), Ok(Withheld::Merged(NewsId(7))));
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
