//! The names of users, as pages and actions need them.

use crate::accounts::SharedVisit;
use crate::accounts::users::DEACTIVATED;
use crate::cache::{MEBIBYTE, Shared};
use crate::values::{Restriction, RestrictionKind, Timestamp, UserId, size};
use crate::{Refusal, Result, Site, Visit, fields, keys};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Fetch, Reads, Tracked, read};

/// The fields of a user with the username and the full name, and whether they still count.
const NAMES: [&str; 4] = ["username", "fullname", DEACTIVATED, RestrictionKind::Ban.field()];

crate::cache_kind! {
    /// Names of users; `None` for a deactivated account.
    struct Usernames: UserId => Option<Arc<str>>, "usernames", MEBIBYTE,
        |_, name| name.as_deref().map_or(0, str::len);
}

/// The id of the user with a name, ignoring case.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's. Rounds: 1.
pub async fn id_of(visit: &mut Visit, username: &str) -> Result<UserId> {
    Ok(visit.fetch(holder(username)).await?.ok_or(Refusal::NoSuchUser)?)
}

/// The ids of the users with these names, ignoring case; without names that nobody has. Rounds: 1.
pub async fn ids_of(visit: &mut Visit, usernames: &[String]) -> Result<HashMap<String, UserId>> {
    visit.fetch(holders(usernames)).await
}

/// The account that has a name, ignoring case, also if it is deactivated.
pub(crate) fn holder(name: &str) -> impl Fetch<Value = Option<UserId>> + use<> {
    fields::string(keys::username_to_id(name))
}

/// The accounts that have these names, without names that nobody has.
pub(crate) fn holders(names: &[String]) -> impl Fetch<Value = HashMap<String, UserId>> + use<> {
    let named = |name: &String| {
        let id = holder(name);
        let name = name.clone();
        id.map(move |id| Some((name, id?)))
    };
    names.iter().map(named).collect::<Vec<_>>().map(|found| found.into_iter().flatten().collect())
}

/// Whether there is a user with an id. A user, once created, always exists. Rounds: 1.
pub(crate) async fn exists(site: &Site, id: UserId) -> Result<bool> {
    Ok(site.store.fetch(read::field(keys::user(id), "id")).await?.is_some())
}

/// Names of users.
pub(crate) struct UserNames(HashMap<UserId, Shared<Option<Arc<str>>>>);

impl UserNames {
    /// The name of a user; adds what was read for it to `reads`. `None` for a deactivated
    /// account.
    pub(crate) fn collect_into(&self, id: UserId, reads: &mut Reads) -> Option<Arc<str>> {
        self.0.get(&id)?.collect_into(reads).clone()
    }

    /// The name of a user, for a value that is not cached.
    pub(crate) fn get(&self, id: UserId) -> Option<Arc<str>> {
        self.0.get(&id).and_then(|name| (**name).clone())
    }

    /// The names of users: one read for each different user whose name is not cached.
    pub(crate) fn of(visit: &SharedVisit<'_>, ids: HashSet<UserId>) -> impl Fetch<Value = Self> + use<> {
        fn name(person: NamesOrLeft) -> Option<Arc<str>> {
            person.ok().map(|person| person.username.into())
        }
        let read = |id: &UserId| PersonNames::of(*id).map(|person| person.map(name));
        let name = |id| visit.cached::<Usernames, _>(id, read).map(move |name| (id, name));
        ids.into_iter().map(name).collect::<Vec<_>>().map(|names| Self(names.into_iter().collect()))
    }
}

/// The names of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonNames {
    /// The username.
    pub(crate) username: String,
    fullname: String,
    ban: Option<Restriction>,
}

impl PersonNames {
    /// The names of a user.
    fn of(id: UserId) -> impl Fetch<Value = Tracked<NamesOrLeft>> {
        let names = |names: Vec<Option<String>>| -> NamesOrLeft {
            let [username, fullname, deactivated, ban] = fields::each(names);
            if let Some(left) = deactivated {
                return Err(left.parse().ok().map(Timestamp));
            }
            let ban: Option<Restriction> = ban.and_then(|ban| ban.parse().ok());
            Ok(Self {
                username: username.ok_or(None)?,
                fullname: size::shown_name(&fullname.unwrap_or_default()).to_owned(),
                ban,
            })
        };
        let read = read::hash_fields(keys::user(id), NAMES).or_absent().tracked();
        read.map(move |read| read.map(names))
    }

    /// The username and the full name. The full name may be empty, and is empty while the person is banned.
    pub(crate) fn at(self, now: Timestamp) -> (String, String) {
        let is_banned = self.ban.is_some_and(|ban| ban.is_in_force(now));
        (self.username, if is_banned { String::new() } else { self.fullname })
    }

    /// The second for which the names of that time are valid, if they depend on the time: the end of a ban changes no
    /// key.
    pub(crate) fn second(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = |ban: &Restriction| ban.until.is_some() && ban.is_in_force(now);
        self.ban.as_ref().is_some_and(ends).then_some(now)
    }
}

/// The names of a user, or when the account was deactivated.
type NamesOrLeft = Result<PersonNames, Option<Timestamp>>;

/// Names and full names of users.
pub(crate) struct People(HashMap<UserId, Tracked<NamesOrLeft>>);

impl People {
    /// The names and full names of users; one read for each different user.
    pub(crate) fn of(ids: impl IntoIterator<Item = UserId>) -> impl Fetch<Value = Self> {
        let read = |id| PersonNames::of(id).map(move |names| (id, names));
        let wanted: BTreeSet<UserId> = ids.into_iter().collect();
        wanted.into_iter().map(read).collect::<Vec<_>>().map(|people| Self(people.into_iter().collect()))
    }

    /// The names of a user; `None` for a deactivated account.
    pub(crate) fn get(&self, id: UserId) -> Option<&PersonNames> {
        self.0.get(&id)?.peek().as_ref().ok()
    }

    /// The same; adds what was read for it to `reads`.
    pub(crate) fn collect_into(&self, id: UserId, reads: &mut Reads) -> Option<PersonNames> {
        self.0.get(&id)?.clone().collect_into(reads).ok()
    }

    /// Whether the account of a user was deactivated before a time, in Unix seconds. When it was deactivated is
    /// stored in whole seconds, so what happened within that second does not count as later.
    pub(crate) fn has_left_before(&self, id: UserId, time: f64) -> bool {
        let left = self.0.get(&id).and_then(|names| names.peek().as_ref().err().copied().flatten());
        left.is_some_and(|left| left.as_score() + 1.0 <= time)
    }

    /// Removes and returns the names of a user.
    pub(crate) fn remove(&mut self, id: UserId) -> Option<PersonNames> {
        self.0.remove(&id)?.into_value().ok()
    }
}
