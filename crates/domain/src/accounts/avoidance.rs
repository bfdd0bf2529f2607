//! Whether people want to hear of somebody: whom they have muted or blocked, asked for one
//! person at a time by those who tell them something.

use crate::keys;
use crate::values::{MuteKind, UserId};
use tidings_keyspace::{Fetch, read};

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

impl Avoidance {
    /// How `user` stands to `person`.
    pub(crate) fn of(user: UserId, person: UserId) -> impl Fetch<Value = Self> {
        let mutes = read::field(keys::user_mutes(user), mute_field(MuteKind::User, person));
        let blocks = read::field(keys::user_blocks(user), person.to_string());
        (mutes, blocks).map(|(mutes, blocks)| Self { mutes: mutes.is_some(), blocks: blocks.is_some() })
    }
}
