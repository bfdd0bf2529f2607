//! The users whom a text mentions, and other users by their names.

use crate::accounts::people::{self, People};
use crate::values::{MAX_MENTIONS, UserId};
use crate::{Refusal, Result, Site};
use tidings_text::stored_text::StoredText;

/// The names that a text mentions, in lower case: the first [`MAX_MENTIONS`].
pub(crate) fn names_in(text: StoredText<'_>) -> Vec<String> {
    let mut names = text.mentions();
    names.truncate(MAX_MENTIONS);
    names
}

/// The user with a name, ignoring case. Rounds: 2.
pub(crate) async fn user_named(site: &Site, name: &str) -> Result<UserId> {
    let id = site.store.fetch(people::holder(name)).await?.ok_or(Refusal::NoSuchUser)?;
    let is_there = site.store.fetch(People::of([id])).await?.get(id).is_some();
    if is_there { Ok(id) } else { Err(Refusal::NoSuchUser.into()) }
}

/// The users with these names, in their order; unknown names are skipped. Rounds: 2, none
/// without names.
pub(crate) async fn users_named(site: &Site, names: &[String]) -> Result<Vec<UserId>> {
    let ids = site.store.fetch(people::holders(names)).await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let people = site.store.fetch(People::of(ids.values().copied())).await?;
    let users = names.iter().filter_map(|name| ids.get(name)).copied();
    Ok(users.filter(|user| people.get(*user).is_some()).collect())
}
