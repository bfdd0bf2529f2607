//! Flags: how readers ask moderators to look at something, and how much each flag weighs.

use crate::values::text::lines;
use crate::values::text_forms::{named, read_text, record_text, shown};
use crate::values::{AsText, InputError, MAX_FLAG_NOTE, ModerationId, OrZero, Thing, Timestamp};
use strum::{EnumIter, EnumString, IntoStaticStr};

/// Why somebody flags something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FlagReason {
    /// Advertising.
    Spam,
    /// It does not belong here.
    Offtopic,
    /// It attacks somebody.
    Unkind,
    /// The link leads nowhere.
    Broken,
    /// Another story is about the same; the note says which.
    Duplicate,
    /// It may hurt people: threats, private data, malware.
    Harmful,
}

named!(FlagReason);

impl FlagReason {
    /// The reasons for which a kind of thing can be flagged; none if it cannot be.
    pub const fn of(thing: &Thing) -> &'static [Self] {
        match thing {
            Thing::Story(_) => &[Self::Spam, Self::Offtopic, Self::Broken, Self::Duplicate, Self::Harmful],
            Thing::Comment(_) => &[Self::Spam, Self::Offtopic, Self::Unkind, Self::Harmful],
            Thing::Tweet(_) | Thing::User(_) => &[Self::Spam, Self::Harmful],
            Thing::Application(_)
            | Thing::Appeal(_)
            | Thing::Message(_)
            | Thing::Rule(_)
            | Thing::Origin(_)
            | Thing::Site(_) => &[],
        }
    }
}

shown!(FlagReason: |reason| reason.name());

/// The text is not a flag, or not a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a flag")]
pub struct NotAFlag;

/// A reader's note on a flag, for moderators. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlagNote(Box<str>);

impl FlagNote {
    /// Trims and checks a note.
    ///
    /// # Errors
    /// When it has more than [`MAX_FLAG_NOTE`] characters, or control characters other than line
    /// breaks, which become spaces.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        Ok(Self(lines("note", input.trim(), MAX_FLAG_NOTE, 0)?.replace(['\n', '\t'], " ").into()))
    }
}

text_values!(FlagNote);

/// How much a flag counts, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(pub u64);

read_text!(Weight or NotAFlag: |text| text.parse().ok().map(Self));

shown!(Weight: |weight| weight.0);

impl Weight {
    /// That of somebody without a history.
    pub const ONE: Self = Self(100);
    /// The least that a flag of a trusted account counts.
    const LEAST: u64 = 20;
    /// The most that a flag counts.
    const MOST: u64 = 200;

    /// The weight of the flags of somebody, by how many of those that were decided were
    /// upheld and rejected: (upheld + 1) / (rejected + 1), at least 0.2 and at most 2.
    pub fn by_history(upheld: u64, rejected: u64) -> Self {
        let (upheld, rejected) = (upheld.saturating_add(1), rejected.saturating_add(1));
        // Rounded to the nearest hundredth.
        let hundredths = upheld.saturating_mul(200).saturating_add(rejected) / rejected.saturating_mul(2);
        Self(hundredths.clamp(Self::LEAST, Self::MOST))
    }

    /// Half of it: that of the flags of accounts that are not trusted yet.
    #[must_use]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }
}

/// The verdict of a moderator's decision on the flags of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagVerdict {
    /// They were right.
    Upheld,
    /// They were not.
    Rejected,
    /// A moderator has looked and done something else: they are closed, and count for nothing.
    Closed,
}

/// A flag as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Why.
    pub reason: FlagReason,
    /// When.
    pub time: Timestamp,
    /// How much it counts.
    pub weight: Weight,
    /// The line of the log that decided it; `None` while it waits.
    pub decided: Option<ModerationId>,
    /// The reader's note; may be empty.
    pub note: Box<str>,
}

impl Flag {
    /// Whether no moderator has decided it yet.
    pub const fn waits(&self) -> bool {
        self.decided.is_none()
    }
}

record_text!(Flag or NotAFlag: {reason} ":" {time} ":" {weight} ":" {decided OrZero} ":" {note AsText});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_of_a_person_gives_their_flags_weight() {
        for (upheld, rejected, weight) in [
            (0, 0, 100),
            (1, 0, 200),
            (50, 0, 200),
            (0, 1, 50),
            (0, 3, 25),
            (0, 4, 20),
            (0, 50, 20),
            (1, 1, 100),
            (1, 2, 67),
            (25, 25, 100),
        ] {
            assert_eq!(Weight::by_history(upheld, rejected), Weight(weight), "{upheld} {rejected}");
        }
    }

    #[test]
    fn a_flag_is_stored_and_read_back() {
        for stored in ["spam:1700000000:100:0:", "duplicate:5:20:7:see: 12", "unkind:1:200:0:a b"] {
            assert_eq!(stored.parse::<Flag>().unwrap().to_string(), stored);
        }
        for stored in ["", "spam", "spam:1:100:0", "dull:1:100:0:", "spam:x:100:0:", "spam:1:100:x:"] {
            assert_eq!(stored.parse::<Flag>(), Err(NotAFlag), "{stored}");
        }
    }

    #[test]
    fn each_kind_has_reasons_of_its_own() {
        let has = |thing: &str, reason| FlagReason::of(&thing.parse().unwrap()).contains(&reason);
        assert!(has("story:1", FlagReason::Duplicate) && !has("story:1", FlagReason::Unkind));
        assert!(has("comment:1-1", FlagReason::Unkind) && !has("comment:1-1", FlagReason::Broken));
        assert!(has("tweet:1", FlagReason::Spam) && !has("user:a", FlagReason::Offtopic));
        assert!(FlagReason::of(&"application:a".parse().unwrap()).is_empty());
    }

    #[test]
    fn a_note_is_one_line_of_some_length() {
        assert_eq!(FlagNote::parse(" see 12 ").unwrap().as_str(), "see 12");
        assert!(FlagNote::parse(&"x".repeat(MAX_FLAG_NOTE)).is_ok());
        assert!(FlagNote::parse(&"x".repeat(MAX_FLAG_NOTE + 1)).is_err());
    }
}
