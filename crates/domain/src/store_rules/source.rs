//! The sources of a judgement: keys, or parts of them.

use tidings_keyspace::Read;

/// How much of a key something rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SourcePart {
    /// That the key is there, or is not.
    Existence,
    /// Some fields or members.
    Some(Vec<String>),
    /// The whole value.
    All,
}

/// Something that a judgement rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) key: String,
    pub(crate) part: SourcePart,
}

impl Source {
    /// That a key is there, or is not.
    pub(crate) fn existence(key: impl Into<String>) -> Self {
        Self { key: key.into(), part: SourcePart::Existence }
    }

    /// All of a key.
    pub(crate) fn all(key: impl Into<String>) -> Self {
        Self { key: key.into(), part: SourcePart::All }
    }

    /// One field or member of a key.
    pub(crate) fn part(key: impl Into<String>, part: impl ToString) -> Self {
        Self { key: key.into(), part: SourcePart::Some(vec![part.to_string()]) }
    }

    /// The part of a key that a read covers.
    pub(crate) fn of(read: &Read) -> Self {
        let part = match read {
            Read::Expiry(_) => SourcePart::Existence,
            Read::HashFields(_, parts) | Read::Scores(_, parts) => SourcePart::Some(parts.clone()),
            Read::HasMember(_, member) => SourcePart::Some(vec![member.clone()]),
            _ => SourcePart::All,
        };
        Self { key: read.key().to_owned(), part }
    }
}
