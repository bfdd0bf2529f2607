//! Karma: earned by visiting and by being voted up, spent on votes.
//!
//! The field `karma_economy` of `site` says what votes cost, if no setting does.

use crate::values::{Economy, Timestamp};
use crate::{Advance, Applied, Result, Site, User, fields, keys};
use std::sync::Arc;
use tidings_keyspace::{Batch, Store, read};

/// The field of `site` with the name of the economy.
const KARMA_ECONOMY: &str = "karma_economy";

/// The economy that the store names. Rounds: 1.
pub async fn stored_economy(store: &Store) -> Result<Option<Economy>> {
    let name = store.fetch(read::field(keys::SITE, KARMA_ECONOMY)).await?;
    Ok(fields::parsed(name.as_deref(), || keys::SITE.to_owned(), KARMA_ECONOMY, Economy::parse))
}

/// Keeps what votes cost on a site that has accounts from before votes up were free. Rounds: 2.
pub(crate) async fn keep_economy(site: &Site, _: Advance<'_>) -> Result<()> {
    if site.store.fetch(read::string(keys::USERS_COUNT)).await?.is_none() {
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.field_absent(keys::SITE, KARMA_ECONOMY);
    batch.set_field(keys::SITE, KARMA_ECONOMY, Economy::Lamer.to_string());
    // Another server may have done it before.
    if let Applied::Yes(_) = site.apply(batch).await? {
        tracing::info!(
            "votes still cost karma on this site, because it is older than free votes up; to make them free, \
             set karma.economy to \"free\""
        );
    }
    Ok(())
}

/// Gives the viewer the karma for visiting, if the last gain is long enough ago. Concurrent
/// visits earn it once. Rounds: at most 1.
///
/// # Errors
/// When the store fails; the user is unchanged then.
pub async fn reward_visit(site: &Site, now: Timestamp, user: &mut Arc<User>) -> Result<()> {
    let karma = &site.rules.karma;
    let last = user.karma_incr_time;
    if karma.visit_seconds == 0 || last.is_some_and(|last| now.is_within(karma.visit_seconds, last)) {
        return Ok(());
    }
    let key = keys::user(user.id);
    let mut batch = Batch::new();
    batch.key_present(&key);
    batch.field_unchanged(&key, "karma_incr_time", last.map(|last| last.to_string()));
    batch.set_field(&key, "karma_incr_time", now.to_string());
    batch.increment_field(&key, "karma", karma.visit_increment);
    if let Applied::Yes(committed) = site.apply(batch).await? {
        let user = Arc::make_mut(user);
        user.karma = committed.field(&key, "karma").unwrap_or(user.karma);
        user.karma_incr_time = Some(now);
    }
    Ok(())
}
