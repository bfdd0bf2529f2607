//! The rules of records: lists have the entries of each record, and each member of a list is the entry of one.

use super::claims::{Claims, hash_in};
use super::subject::Subject;
use crate::keys::families;
use crate::records::{AsRead, RecordEntries, Stored};
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::{Batch, Hash, Read};

/// Claims that lists have the entries of a record, which is a field of the subject or all of it. `guard` has the checks of
/// the batch that adds one.
pub(crate) fn demand<R: Stored>(claims: &mut Claims, field: Option<&str>, record: &R, guard: &Batch) {
    for (list, member, score) in RecordEntries::of([record]).members() {
        if let Some(field) = field {
            claims.of(field);
        }
        claims.listed(list.to_owned(), member, (Some(score), score), guard);
    }
}

/// Claims that a member of a list is an entry of the record in a hash; otherwise it is removed.
pub(crate) fn is_entry<R: Stored>(
    subject: &Subject,
    claims: &mut Claims,
    expected: &'static str,
    record: Option<(String, impl Fn(&Hash) -> Option<R> + Send + Sync + 'static)>,
) {
    let Some((key, read)) = record else { return claims.unreadable(expected) };
    let list = ListedMember::of(subject);
    claims.belongs(expected, vec![Read::Hash(key.clone())], move |answers, batch| {
        let Some(hash) = hash_in(answers, 0) else {
            batch.key_absent(&key);
            return Some(format!("the member {}, which does not exist", list.member));
        };
        let is_readable = hash.get(WITHHELD).is_none_or(|state| state.parse::<Withheld>().is_ok());
        // A record that cannot be read is reported itself.
        list.stray(&AsRead::of_hash(read(hash)?, hash), is_readable, batch)
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
