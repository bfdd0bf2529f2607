//! References: what must be there because a key names it.

use super::claims::{Claims, Mend};
use super::subject::{Subject, SubjectItem};
use crate::keys;
use tidings_keyspace::{Batch, Expiry, Fetch, read};

/// A place in the store: a key, a field of a hash, or a member of a sorted set.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Key(String),
    Field(String, String),
    Member(String, String),
}

impl Location {
    /// Whether something is there.
    pub(crate) fn is_there(&self) -> impl Fetch<Value = bool, Asked: 'static> + use<> {
        match self.clone() {
            Self::Key(key) => read::expiry(key).map(|expiry| expiry != Expiry::Absent).boxed(),
            Self::Field(key, field) => read::field(key, field).map(|value| value.is_some()).boxed(),
            Self::Member(list, member) => read::score(list, member).map(|score| score.is_some()).boxed(),
        }
    }

    /// Makes a batch fail unless nothing is there.
    pub(crate) fn demand_absent(&self, batch: &mut Batch) {
        match self {
            Self::Key(key) => batch.key_absent(key),
            Self::Field(key, field) => batch.field_absent(key, field),
            Self::Member(list, member) => batch.sorted_member_absent(list, member),
        };
    }

    /// The value that is expected there, in words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Key(key) => format!("a value at {key}"),
            Self::Field(key, _) => format!("a value in {key}"),
            Self::Member(list, member) => format!("the member {member} in {list}"),
        }
    }
}

impl From<String> for Location {
    fn from(key: String) -> Self {
        Self::Key(key)
    }
}

/// The part of a value that names something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameIn {
    /// The part of the key that varies.
    Part,
    /// The text of a string.
    Text,
    /// Each member.
    Member,
    /// Each member whose score is not 0: a figure of 0 counts as absent.
    Figure,
    /// The score of each member.
    Score,
    /// The value of one field, if it is there.
    Field(&'static str),
    /// The name of each field, but for these.
    Fields(&'static [&'static str]),
    /// The value of each field.
    Values,
}

/// The remedy for something that names a missing item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Remedy {
    /// A person has to decide; what they can do.
    Person(&'static str),
    /// It is removed: a member, a field among many, or the key.
    Remove,
    /// The same, in other words.
    RemoveAs(&'static str),
    /// The same, and also if it is no name.
    RemoveAny,
}

/// A kind of things that can be named: what the names are, and where the thing with a name is; `None` if it is no name.
#[derive(Clone, Copy)]
pub(crate) struct Noun(pub(crate) &'static str, pub(crate) fn(&Subject, &str) -> Option<Location>);

/// Users.
pub(crate) const USER: Noun = Noun("ids of users", |_, id| Some(keys::user(id.parse().ok()?).into()));
/// Stories.
pub(crate) const STORY: Noun = Noun("ids of stories", |_, id| Some(keys::news(id.parse().ok()?).into()));
/// Lines of the moderation log.
pub(crate) const LINE: Noun =
    Noun("numbers of lines", |_, id| Some(keys::moderation(id.parse().ok()?).into()));
/// Voters on sites.
pub(crate) const VOTER: Noun = Noun("voters", |_, id| Some(keys::voter(id.parse().ok()?).into()));

/// Names that must be those of something that is there.
#[derive(Clone, Copy)]
pub(crate) struct Reference {
    pub(super) place: NameIn,
    /// The words for what is found otherwise.
    pub(super) what: &'static str,
    pub(super) noun: Noun,
    pub(super) remedy: Remedy,
}

impl Reference {
    /// Claims that what is named is there.
    pub(super) fn claim(&self, subject: &Subject, claims: &mut Claims) {
        let Self { place, what, noun: Noun(names, at), remedy } = *self;
        for (field, name) in place.names(subject) {
            if let Some(field) = field {
                claims.of(field);
            }
            let at = at(subject, &name);
            let mend = place.mend(remedy, subject, field, at.as_ref());
            let of_field =
                field.filter(|_| matches!(place, NameIn::Values)).map(|field| format!("{field}, "));
            let of_field = of_field.unwrap_or_default();
            match (at, remedy) {
                (Some(at), _) if what.contains("{}") => claims.is_there(what.replace("{}", &name), at, mend),
                (Some(at), _) => claims.refers(format_args!("{of_field}{what} {name}"), at, mend),
                (None, Remedy::RemoveAny) => claims.wrong(format_args!("{name:?}"), names, mend),
                (None, _) => claims.malformed(format_args!("{of_field}{name:?}"), names),
            }
        }
    }
}

impl NameIn {
    /// The names, each with the field that it is in, if it is in one.
    fn names(self, subject: &Subject) -> Vec<(Option<&str>, String)> {
        let fields = || subject.fields();
        let own = |name: Option<&str>| name.map(|name| (None, name.to_owned())).into_iter().collect();
        match (self, &subject.item) {
            (Self::Part, SubjectItem::Whole) => own(Some(subject.part())),
            (Self::Text, _) => own(subject.text()),
            (Self::Member, _) => own(subject.member().map(|(member, _)| member)),
            (Self::Figure, SubjectItem::Scored(member, score)) if *score != 0.0 => own(Some(member)),
            (Self::Score, SubjectItem::Scored(_, score)) => vec![(None, score.to_string())],
            (Self::Field(name), _) => {
                subject.field(name).map(|value| (Some(name), value.to_owned())).into_iter().collect()
            }
            (Self::Fields(others), _) => {
                let named = fields().filter(|(field, _)| !others.contains(field));
                named.map(|(field, _)| (Some(field), field.to_owned())).collect()
            }
            (Self::Values, _) => fields().map(|(field, value)| (Some(field), value.to_owned())).collect(),
            _ => Vec::new(),
        }
    }

    fn mend(self, remedy: Remedy, subject: &Subject, field: Option<&str>, at: Option<&Location>) -> Mend {
        let mut batch = subject.removal();
        if let Some(field) = field {
            batch.field_unchanged(&subject.key, field, subject.field(field));
        }
        let words = match (self, field) {
            (Self::Fields(_) | Self::Values, Some(field)) => {
                batch.delete_field(&subject.key, field);
                "delete the field"
            }
            (Self::Field(_) | Self::Part, _) => {
                batch.delete(&subject.key);
                "delete the key"
            }
            (Self::Text, _) => "delete the key",
            _ => "remove the member",
        };
        if let Some(at) = at {
            at.demand_absent(&mut batch);
        }
        match remedy {
            Remedy::Person(advice) => Mend::Person(advice),
            Remedy::RemoveAs(words) => Mend::write(batch, words),
            Remedy::Remove | Remedy::RemoveAny => Mend::write(batch, words),
        }
    }
}
