//! Home timelines that were moved out of the store, when the store said where they are. Now the settings say it, and each
//! user says where the user's own is. They are derived from other lists, so they are made anew.

use super::KEYS_AT_ONCE;
use crate::report::Advance;
use crate::timelines::homes::Home;
use crate::values::UserId;
use crate::{Result, Site, fields, keys};
use tidings_keyspace::{Batch, Expiry, read};

/// Ends all home timelines, if they were moved, and forgets where to. Rounds: 2, and 2 for each 1,000 users.
pub(super) async fn end_all(site: &Site, advance: Advance<'_>) -> Result<()> {
    let reads = (read::expiry(keys::OLD_TIMELINE_PLACE), fields::counter(keys::USERS_COUNT));
    let (place, last) = site.store.fetch(reads).await?;
    if place == Expiry::Absent {
        return Ok(());
    }
    for first in (1..=last).step_by(KEYS_AT_ONCE) {
        let users = (first..=last).take(KEYS_AT_ONCE).map(UserId);
        let homes = site.store.fetch(users.map(Home::of).collect::<Vec<_>>()).await?;
        let mut batch = Batch::new();
        homes.iter().filter(|home| home.is_in_store()).for_each(|home| home.end(&mut batch));
        site.store.commit(batch).await?;
        advance(first, last);
    }
    let mut batch = Batch::new();
    batch.delete(keys::OLD_TIMELINE_PLACE);
    site.store.commit(batch).await?;
    Ok(())
}
