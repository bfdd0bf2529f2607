//! The phases of jobs that go through all posts of a person, one kind after the other.

use crate::keys;
use crate::values::{Thing, UserId, named};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// The field of such a job with which posts come next.
pub(super) const PHASE: &str = "phase";

/// The kinds of posts, in their order. The stories are first, because the tweets that announce them
/// go with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumIter, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Phase {
    Stories,
    Comments,
    Tweets,
    /// Posts that no other list of the person has. Only an erasure of all posts comes to this phase and the next.
    Unseen,
    /// Things that the person has flagged: the notes are erased.
    Flags,
    /// Texts of the posts that the log has kept.
    Traces,
}

named!(Phase);

impl Phase {
    /// The next phase; the last has itself.
    pub(super) fn next(self) -> Self {
        Self::iter().skip_while(|phase| *phase != self).nth(1).unwrap_or(self)
    }

    /// The list of a person's posts of this kind, by time.
    pub(super) fn list(self, author: UserId) -> Option<String> {
        match self {
            Self::Stories => Some(keys::user_posted(author)),
            Self::Comments => Some(keys::user_comments(author)),
            Self::Tweets => Some(keys::user_timeline(author)),
            Self::Unseen => Some(keys::user_unseen(author)),
            Self::Flags => Some(keys::user_flags(author)),
            Self::Traces => None,
        }
    }

    /// A member of that list.
    pub(super) fn thing(self, member: &str) -> Option<Thing> {
        match self {
            Self::Stories => member.parse().ok().map(Thing::Story),
            Self::Comments => member.parse().ok().map(Thing::Comment),
            Self::Tweets => member.parse().ok().map(Thing::Tweet),
            Self::Unseen | Self::Flags => member.parse().ok(),
            Self::Traces => None,
        }
    }
}
