//! Whether people want to hear of somebody: whom they have muted or blocked, asked for one
//! person at a time by those who tell them something.

use crate::fields;
use crate::keys;
use crate::values::ids::UserId;
use crate::values::mutes::MuteKind;
use tidings_keyspace::{Answers, Handle, Query};

/// The field of a hash of mutes for a value.
pub(crate) fn mute_field(kind: MuteKind, value: impl std::fmt::Display) -> String {
    format!("{}:{value}", kind.name())
}

/// How somebody stands to another person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Avoidance {
    /// Whether they have muted the person.
    pub(crate) mutes: bool,
    /// Whether they have blocked the person.
    pub(crate) blocks: bool,
}

/// A pending read of how somebody stands to another person.
pub(crate) struct AvoidanceRead {
    mutes: Handle<Vec<Option<String>>>,
    blocks: Handle<Vec<Option<String>>>,
}

impl AvoidanceRead {
    /// Asks how `user` stands to `person`.
    pub(crate) fn ask(query: &mut Query, user: UserId, person: UserId) -> Self {
        Self {
            mutes: query.hash_fields(keys::user_mutes(user), [mute_field(MuteKind::User, person)]),
            blocks: query.hash_fields(keys::user_blocks(user), [person.to_string()]),
        }
    }

    pub(crate) fn take(self, answers: &mut Answers) -> Avoidance {
        let mut is_set = |read| fields::only::<String>(answers.take(read)).is_some();
        Avoidance { mutes: is_set(self.mutes), blocks: is_set(self.blocks) }
    }
}
