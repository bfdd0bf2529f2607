//! Why readers do not see a story, a comment or a tweet that is still stored.
//!
//! The state is one stored field, `withheld`, whose text is `removed:<reason>`, `held:<reason>`,
//! `flagged:`, `erased:` or, for a story, `merged:<other story>`. It never changes the post that it holds
//! back, so taking the field away puts everything back exactly. Only what is erased is gone for good. A text
//! that is none of these counts as withheld: a damaged state does not reveal a post that a moderator hid.

use crate::values::ids::NewsId;
use crate::values::text::{one_line, printable};
use crate::values::text_forms::read_text;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// The stored field of a story, a comment or a tweet with this state.
pub const WITHHELD: &str = "withheld";

/// The stored field of a story, a comment or a tweet that was taken away before readers saw it: it waited for approval, and
/// was rejected, removed or erased. For strangers it never was.
pub const UNSEEN: &str = "unseen";

/// Why something is withheld from readers.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// Whether it is in no list, timeline or count, like what is deleted.
    pub const fn is_unlisted(&self) -> bool {
        !matches!(self, Self::Flagged)
    }

    /// Whether only its author and moderators know of something with this state.
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Unreadable(_))
    }

    /// Whether something that was known to its author and moderators alone stays so in another state.
    pub const fn keeps_secret(state: Option<&Self>) -> bool {
        matches!(state, Some(Self::Removed(_) | Self::Erased))
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

/// Whether a post is deleted. An erased post is. A post that moderators have removed is not: it has the
/// field `del` only so that Lamer News does not show it.
pub const fn is_deleted(has_del: bool, withheld: Option<&Withheld>) -> bool {
    matches!(withheld, Some(Withheld::Erased)) || has_del && !matches!(withheld, Some(Withheld::Removed(_)))
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
            assert_eq!(state.is_unlisted(), unlisted, "{stored}");
        }
    }

    #[test]
    fn what_is_no_state_is_refused() {
        for stored in ["", "removed", "gone:spam", ":", "Removed:spam", "merged:", "merged:x"] {
            assert_eq!(stored.parse::<Withheld>(), Err(NotWithheld), "{stored}");
            let state = Withheld::stored(stored);
            assert!(state.is_unlisted(), "{stored}");
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
