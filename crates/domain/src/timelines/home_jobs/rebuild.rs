//! Rebuilding the home timeline of a reader who has been away.
//!
//! Since the return, tweets are delivered again. What was missed is below the floor that
//! the return has set, where the timeline is read from the authors' own timelines. The
//! rebuild lowers the floor.

use crate::accounts::presence;
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::jobs::{Job, JobKind, Outcome, Step};
use crate::keys;
use crate::timelines::follows::FOLLOWINGS_VERSION;
use crate::timelines::homes::{self, add_to_home};
use crate::values::ids::UserId;
use crate::values::withheld::WITHHELD;
use std::collections::HashSet;
use tidings_keyspace::Query;

/// The jobs `rebuild:<user id>`.
pub(crate) const KIND: JobKind =
    JobKind { name: presence::REBUILD_HOME, step: |current| Box::pin(step(current)) };

/// The job that rebuilds the home timeline of a reader.
pub(crate) fn job(reader: UserId) -> Job {
    Job::new(KIND.name, reader)
}

/// The only step: a home timeline is small.
async fn step(current: &Step<'_>) -> Result<Decision<Outcome>, Error> {
    let Some(reader) = current.subject::<UserId>() else {
        return Ok(current.skip());
    };
    let site = current.site;
    let mut query = Query::new();
    let version = query.hash_fields(keys::user(reader), [FOLLOWINGS_VERSION]);
    let version = fields::only(site.store.query(query).await?.take(version));
    let whole = homes::recompute(site, reader, &HashSet::new()).await?;
    let mut batch = current.batch();
    // Fails if the followings have changed meanwhile; the next attempt reads them again.
    // Deleted and removed tweets must not come back.
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    for (tweet, _) in &whole.entries {
        batch.key_present(keys::tweet(*tweet));
        batch.field_unchanged(keys::tweet(*tweet), WITHHELD, whole.withheld.get(tweet));
    }
    // Before the tweets: each tweet that is dropped for them raises the floor again.
    homes::set_floor(&mut batch, reader, whole.left_out.map(|(_, score)| score));
    for (tweet, score) in &whole.entries {
        add_to_home(&mut batch, &site.rules.timelines, reader, *tweet, *score);
    }
    Ok(current.finish(batch))
}
