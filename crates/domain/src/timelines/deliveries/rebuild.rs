//! Making the home timeline of a reader anew who has been away.
//!
//! Since the return, tweets are delivered again; what was missed lies below the
//! floor that the return has set, where readers look at the authors' own
//! timelines. This lowers the floor.

use super::{Current, Outcome};
use crate::error::Error;
use crate::keys;
use crate::timelines::follows::FOLLOWINGS_VERSION;
use crate::timelines::homes::{self, add_to_home};
use crate::values::ids::UserId;
use std::collections::HashSet;
use tidings_keyspace::Query;

/// The only step: a home timeline is small.
pub(super) async fn step(current: &Current<'_>, reader: UserId) -> Result<Outcome, Error> {
    let site = current.site;
    let mut query = Query::new();
    let version = query.hash_fields(keys::user(reader), [FOLLOWINGS_VERSION]);
    let version = site.store.query(query).await?.take(version).into_iter().next().flatten();
    let whole = homes::recompute(site, reader, &HashSet::new()).await?;
    let mut batch = current.batch();
    // Whom the reader has left or found meanwhile is seen at the next try; tweets
    // that were deleted must not come back.
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    for (tweet, _) in &whole.entries {
        batch.key_present(keys::tweet(*tweet));
    }
    // Before the tweets: what has to go for them raises it again.
    homes::set_floor(&mut batch, reader, whole.left_out.map(|(_, score)| score));
    for (tweet, score) in &whole.entries {
        add_to_home(&mut batch, &site.rules.timelines, reader, *tweet, *score);
    }
    current.finish(batch).await
}
