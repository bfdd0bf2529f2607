//! The users whom a text mentions, and other users by their names.

use crate::accounts::people::People;
use crate::values::{MAX_MENTIONS, UserId};
use crate::{Error, Refusal, Site, fields, keys};
use std::collections::HashMap;
use tidings_keyspace::read;
use tidings_text::stored_text::StoredText;

/// The names that a text mentions, in lower case: the first [`MAX_MENTIONS`].
pub(crate) fn names_in(text: StoredText<'_>) -> Vec<String> {
    let mut names = text.mentions();
    names.truncate(MAX_MENTIONS);
    names
}

/// The user with a name, ignoring case. Rounds: 2.
pub(crate) async fn user_named(site: &Site, name: &str) -> Result<UserId, Error> {
    let id = site.store.fetch(read::string(keys::username_to_id(name))).await?;
    let id = fields::read_string(id.as_deref(), || keys::username_to_id(name)).ok_or(Refusal::NoSuchUser)?;
    let is_there = site.store.fetch(People::of([id])).await?.get(id).is_some();
    if is_there { Ok(id) } else { Err(Refusal::NoSuchUser.into()) }
}

/// The users with these names, in their order; unknown names are skipped. Rounds: 2, none
/// without names.
pub(crate) async fn users_named(site: &Site, names: &[String]) -> Result<Vec<UserId>, Error> {
    let ids = ids_by_name(site, names).await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let people = site.store.fetch(People::of(ids.values().copied())).await?;
    let users = names.iter().filter_map(|name| ids.get(name)).copied();
    Ok(users.filter(|user| people.get(*user).is_some()).collect())
}

/// The ids of the names that are taken, also by deactivated accounts. Rounds: 1, none
/// without names.
pub(crate) async fn ids_by_name(site: &Site, names: &[String]) -> Result<HashMap<String, UserId>, Error> {
    let ids: Vec<_> = names.iter().map(|name| read::string(keys::username_to_id(name))).collect();
    let ids = names.iter().zip(site.store.fetch(ids).await?);
    Ok(ids
        .filter_map(|(name, id)| {
            let id = fields::read_string(id.as_deref(), || keys::username_to_id(name))?;
            Some((name.clone(), id))
        })
        .collect())
}
