//! The rules of records: lists have the entries of each record, and each member of a list is the entry of one.

use super::claims::Claims;
use super::subject::Subject;
use crate::keys::families;
use crate::records::{AsRead, RecordEntries, Stored};
use crate::values::{WITHHELD, Withheld};
use tidings_keyspace::{Batch, Hash, read};

/// Claims that lists have the entries of a record, which is a field of the subject or all of it. All further claims about
/// lists rest on it, as it was read.
pub(crate) fn demand<R: Stored>(claims: &mut Claims, field: Option<&str>, record: &AsRead<R>) {
    let mut guard = Batch::new();
    record.unchanged(&mut guard);
    claims.rest_on(guard);
    for (list, member, score) in RecordEntries::of([&**record]).members() {
        if let Some(field) = field {
            claims.of(field);
        }
        claims.scored(list, member, score);
    }
}

/// Claims that a member of a list is an entry of the record in a hash; otherwise it is removed.
pub(crate) fn is_entry<R: Stored>(
    subject: &Subject,
    claims: &mut Claims,
    expected: &'static str,
    (key, record_of): (String, impl FnOnce(&Hash) -> Option<R> + Send + 'static),
) {
    let list = ListedMember::of(subject);
    claims.belongs(expected, read::hash(&key), move |hash, batch| {
        if hash.is_empty() {
            batch.key_absent(&key);
            return Some(format!("the member {}, which does not exist", list.member));
        }
        let is_readable = hash.get(WITHHELD).is_none_or(|state| state.parse::<Withheld>().is_ok());
        // A record that cannot be read is reported itself.
        list.stray(&AsRead::of_hash(record_of(&hash)?, &hash), is_readable, batch)
    });
}

/// A member of a list.
pub(crate) struct ListedMember {
    list: String,
    member: String,
    /// Whether the list is one of posts that readers have not seen.
    is_of_unseen: bool,
}

impl ListedMember {
    /// The member that a rule looks at.
    pub(crate) fn of(subject: &Subject) -> Self {
        let member = subject.member().map_or("", |(member, _)| member).to_owned();
        let is_of_unseen = *subject.family == families::USER_UNSEEN;
        Self { list: subject.key.clone(), member, is_of_unseen }
    }

    /// The member in words, if it is no entry of a record, with checks that this is so. A state that cannot be read does not
    /// say whether readers have seen the post.
    pub(crate) fn stray<R: Stored>(
        &self,
        record: &AsRead<R>,
        is_readable: bool,
        batch: &mut Batch,
    ) -> Option<String> {
        let is_entry = RecordEntries::of([&**record]).has(&self.list, &self.member);
        if is_entry || self.is_of_unseen && !is_readable {
            return None;
        }
        record.unchanged(batch);
        Some(format!("the member {}, which does not belong here", self.member))
    }
}
