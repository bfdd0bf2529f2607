//! Whether something that is removed was ever shown.

use super::claims::{field_in, fields};
use crate::keys;
use crate::values::moderation::Thing;
use crate::values::withheld::Withheld;
use tidings_keyspace::{Answer, Read};

/// Whether something that is removed was never shown: moderators rejected it, or removed it while it
/// waited for approval. A rejection takes nothing away and leaves no record.
pub(crate) struct NeverShown {
    record: String,
}

impl NeverShown {
    /// About a story, a comment or a tweet that is removed.
    pub(crate) fn of(thing: &Thing) -> Self {
        Self { record: keys::withdrawn(thing) }
    }

    /// The reads that tell.
    pub(crate) fn reads(&self) -> [Read; 1] {
        [fields(self.record.clone(), ["moderation", "earlier"])]
    }

    /// Whether it holds, by the answers from `position` on. `is_listed` says whether a list of its
    /// author has it, which never loses what was shown.
    pub(crate) fn holds(&self, answers: &[Answer], position: usize, is_listed: bool) -> bool {
        let earlier = field_in(answers, position, 1).and_then(|earlier| earlier.parse().ok());
        match field_in(answers, position, 0) {
            Some(_) => matches!(earlier, Some(Withheld::Held(_))),
            None => !is_listed,
        }
    }
}
