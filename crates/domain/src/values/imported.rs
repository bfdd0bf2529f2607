//! Data from another site: the name of that site, names of people there, and votes without voters.

use crate::values::USERNAME_MAX;
use crate::values::text_forms::{read_text, shown};
use serde_with::{DeserializeFromStr, SerializeDisplay};
use std::fmt;

/// The most characters in the name of a source.
const MAX_SOURCE: usize = 100;

/// The site that items come from, such as `hn` or `news.example.com`. Numbers of items mean something only
/// together with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportSource(String);

/// Not the name of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a source is 1 to {MAX_SOURCE} characters: a-z, 0-9, dots and hyphens")]
pub struct NotASource;

read_text!(ImportSource or NotASource: |name| {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    let is_source = (1..=MAX_SOURCE).contains(&name.len()) && name.bytes().all(is_allowed);
    is_source.then(|| Self(name.to_owned()))
});

shown!(ImportSource: |source| source.0);

/// The name of a person on another site: 1 to 32 letters (a-z), digits, `_` and `-`. So it may begin with a
/// digit and be shorter than a name that people choose here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportedName(String);

/// Not such a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to {USERNAME_MAX} letters (a-z), digits, _ and -")]
pub struct NotAName;

read_text!(ImportedName or NotAName: |name| {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = (1..=USERNAME_MAX).contains(&name.len()) && name.bytes().all(is_allowed);
    is_name.then(|| Self(name.to_owned()))
});

text_values!(ImportedName);

/// Votes from another site, of which nobody knows who cast them. They count besides the votes here. Stored as
/// the votes up, and if there are any votes down as both numbers: `12`, `12 3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct ImportedVotes {
    /// Votes up.
    pub up: i64,
    /// Votes down.
    pub down: i64,
}

impl ImportedVotes {
    /// Those of something with this many votes up and down there, the author's own one included, which it
    /// has here too.
    pub const fn besides_own(up: i64, down: i64) -> Self {
        Self { up: up.saturating_sub(1), down }
    }

    /// Those of something with this score there: votes up less votes down.
    pub const fn of_score(score: i64) -> Self {
        if score > 0 {
            Self::besides_own(score, 0)
        } else {
            Self { up: 0, down: 1_i64.saturating_sub(score) }
        }
    }

    /// Whether there are none.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// These votes and the votes here: up and down.
    pub const fn and(self, up: i64, down: i64) -> [i64; 2] {
        [self.up.saturating_add(up), self.down.saturating_add(down)]
    }
}

impl fmt::Display for ImportedVotes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.down {
            0 => write!(formatter, "{}", self.up),
            down => write!(formatter, "{} {down}", self.up),
        }
    }
}

/// Not the votes of something imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not one or two whole numbers")]
pub struct NotVotes;

read_text!(ImportedVotes or NotVotes: |stored| {
    let (up, down) = stored.split_once(' ').unwrap_or((stored, "0"));
    Some(Self { up: up.parse().ok()?, down: down.parse().ok()? })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_votes_are_their_text() {
        for (votes, text) in [
            (ImportedVotes::of_score(12), "11"),
            (ImportedVotes::of_score(1), "0"),
            (ImportedVotes::of_score(-3), "0 4"),
            (ImportedVotes::besides_own(12, 3), "11 3"),
            (ImportedVotes::besides_own(0, 0), "-1"),
        ] {
            assert_eq!(votes.to_string(), text);
            assert_eq!(text.parse::<ImportedVotes>(), Ok(votes));
        }
        assert_eq!(ImportedVotes::of_score(-3).and(1, 0), [1, 4]);
        for bad in ["", "x", "1 x", "1 2 3", " 1"] {
            assert_eq!(bad.parse::<ImportedVotes>(), Err(NotVotes), "{bad:?}");
        }
    }

    #[test]
    fn sources_and_names_have_few_characters() {
        for good in ["hn", "news.example.com", "a-1", &"a".repeat(100)] {
            assert_eq!(good.parse::<ImportSource>().unwrap().to_string(), good);
        }
        for bad in ["", "HN", "a b", "a:b", "é", &"a".repeat(101)] {
            assert_eq!(bad.parse::<ImportSource>(), Err(NotASource), "{bad:?}");
        }
        for good in ["pg", "x", "0xmohit", "_pius", "-", &"a".repeat(32)] {
            assert_eq!(good.parse::<ImportedName>().unwrap().as_str(), good);
        }
        for bad in ["", "a b", "mary.jane", "é", &"a".repeat(33)] {
            assert_eq!(bad.parse::<ImportedName>(), Err(NotAName), "{bad:?}");
        }
    }
}
