//! The subject of a rule: a key as a whole, its value, or one member of it.

use crate::keys::families::Family;
use crate::values::Moment;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;
use tidings_keyspace::{Answer, Batch, Expiry, Hash, Read};

/// A part of a key that rules look at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SubjectItem {
    /// That the key is there.
    Whole,
    /// The text of a string.
    Text(String),
    /// A whole hash, shared by the rules about it.
    Hash(Arc<Hash>),
    /// A member of a set.
    Member(String),
    /// A member of a sorted set, with its score.
    Scored(String, f64),
}

/// A key that rules look at.
#[derive(Debug)]
pub(crate) struct SubjectKey {
    pub(crate) key: String,
    pub(crate) family: &'static Family,
    /// The parts of the key that vary.
    pub(crate) parts: Vec<String>,
    /// The site.
    pub(crate) site: Arc<CheckedSite>,
}

/// A site that is checked.
#[derive(Debug)]
pub(crate) struct CheckedSite {
    /// The time of the check.
    pub(crate) now: Moment,
    /// The address of the site.
    pub(crate) address: String,
}

/// A key, and a part of it. The key is shared by all that is checked of it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) of: Arc<SubjectKey>,
    pub(crate) item: SubjectItem,
}

impl Deref for Subject {
    type Target = SubjectKey;

    fn deref(&self) -> &SubjectKey {
        &self.of
    }
}

impl Subject {
    /// A key as a whole; `None` if it is none of ours.
    pub(crate) fn of_key(key: &str, site: &Arc<CheckedSite>) -> Option<Self> {
        let (family, parts) = Family::of(key)?;
        let parts = parts.into_iter().map(str::to_owned).collect();
        let of = Arc::new(SubjectKey { key: key.to_owned(), family, parts, site: site.clone() });
        Some(Self { of, item: SubjectItem::Whole })
    }

    /// Another part of the key.
    pub(crate) fn with(&self, item: SubjectItem) -> Self {
        Self { of: self.of.clone(), item }
    }

    /// The first part of the key that varies, or of another key of the family.
    pub(crate) fn id<T: FromStr>(&self) -> Option<T> {
        self.parts.first()?.parse().ok()
    }

    /// The first part of the key that varies.
    pub(crate) fn part(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// The hash.
    pub(crate) fn hash(&self) -> Option<&Hash> {
        match &self.item {
            SubjectItem::Hash(hash) => Some(hash),
            _ => None,
        }
    }

    /// A field of the hash.
    pub(crate) fn field(&self, field: &str) -> Option<&str> {
        self.hash()?.get(field)
    }

    /// A field of the hash as a `T`; `None` if it is absent or cannot be read.
    pub(crate) fn value<T: FromStr>(&self, field: &str) -> Option<T> {
        self.field(field)?.parse().ok()
    }

    /// The fields of the hash with their values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.hash().into_iter().flat_map(|hash| &hash.0);
        fields.map(|(field, value)| (field.as_str(), value.as_str()))
    }

    /// The member of a set or a sorted set, with its score.
    pub(crate) fn member(&self) -> Option<(&str, f64)> {
        match &self.item {
            SubjectItem::Member(member) => Some((member, 0.0)),
            SubjectItem::Scored(member, score) => Some((member, *score)),
            _ => None,
        }
    }

    /// The member as an id.
    pub(crate) fn member_id<T: FromStr>(&self) -> Option<T> {
        self.member()?.0.parse().ok()
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.item {
            SubjectItem::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A batch that removes the member, or deletes the string unless it has changed.
    pub(crate) fn removal(&self) -> Batch {
        let mut batch = Batch::new();
        match &self.item {
            SubjectItem::Member(member) => batch.remove_member(&self.key, member),
            SubjectItem::Scored(member, _) => batch.sorted_remove(&self.key, member),
            SubjectItem::Text(text) => {
                batch.string_equals(&self.key, text);
                batch.delete(&self.key);
            }
            SubjectItem::Whole | SubjectItem::Hash(_) => {}
        }
        batch
    }

    /// The read that answers the item as it is now.
    pub(crate) fn read(&self) -> Read {
        let key = self.key.clone();
        match &self.item {
            SubjectItem::Whole => Read::Expiry(key),
            SubjectItem::Text(_) => Read::String(key),
            SubjectItem::Hash(_) => Read::Hash(key),
            SubjectItem::Member(member) => Read::HasMember(key, member.clone()),
            SubjectItem::Scored(member, _) => Read::Scores(key, vec![member.clone()]),
        }
    }

    /// The item in the answer to that read; `None` if it is no longer there.
    pub(crate) fn item_in(&self, answer: Answer) -> Option<SubjectItem> {
        match (&self.item, answer) {
            (SubjectItem::Whole, Answer::Expiry(expiry)) => {
                (expiry != Expiry::Absent).then_some(SubjectItem::Whole)
            }
            (SubjectItem::Member(member), Answer::Bool(true)) => Some(SubjectItem::Member(member.clone())),
            (SubjectItem::Scored(member, _), Answer::Scores(scores)) => {
                scores.first().copied().flatten().map(|score| SubjectItem::Scored(member.clone(), score))
            }
            (SubjectItem::Text(_) | SubjectItem::Hash(_), answer) => items_of(answer).pop(),
            _ => None,
        }
    }
}

/// The items in a value.
pub(crate) fn items_of(value: Answer) -> Vec<SubjectItem> {
    match value {
        Answer::Text(text) => text.map(SubjectItem::Text).into_iter().collect(),
        Answer::Hash(hash) if hash.is_empty() => Vec::new(),
        Answer::Hash(hash) => vec![SubjectItem::Hash(Arc::new(sorted(hash)))],
        Answer::Members(members) => members.into_iter().map(SubjectItem::Member).collect(),
        Answer::Scored(members) => {
            members.into_iter().map(|(member, score)| SubjectItem::Scored(member, score)).collect()
        }
        _ => Vec::new(),
    }
}

/// A hash in the order of its fields, so that two can be compared.
fn sorted(mut hash: Hash) -> Hash {
    hash.0.sort_unstable();
    hash
}
