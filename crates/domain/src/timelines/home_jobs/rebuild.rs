//! Rebuilding the home timeline of a reader who has been away.
//!
//! Since the return, tweets are delivered again. The missed tweets are below the floor that
//! the return has set, where the timeline is read from the authors' own timelines. The
//! rebuild lowers the floor.

use crate::accounts::presence;
use crate::action::Decision;
use crate::error::Error;
use crate::jobs::{Job, JobKind, Step, StepOutcome};
use crate::keys;
use crate::site::Site;
use crate::timelines::floors;
use crate::timelines::homes::{self, Whole, add_to_home};
use crate::timelines::place::{Apart, HomePlace};
use crate::timelines::versions::FOLLOWINGS_VERSION;
use crate::values::ids::{TweetId, UserId};
use crate::values::withheld::WITHHELD;
use std::collections::HashSet;
use tidings_keyspace::read;

/// The jobs `rebuild:<user id>`.
pub(crate) const KIND: JobKind =
    JobKind { name: presence::REBUILD_HOME, step: |current| Box::pin(step(current)) };

/// The job that rebuilds the home timeline of a reader.
pub(crate) fn job(reader: UserId) -> Job {
    Job::new(KIND.name, reader)
}

/// The only step: a home timeline is small.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(reader) = current.subject::<UserId>() else {
        return Ok(current.skip());
    };
    let site = current.site;
    let reads = (read::field(keys::user(reader), FOLLOWINGS_VERSION), HomePlace::of(site));
    let (version, place) = site.store.fetch(reads).await?;
    let place = place?;
    let whole = homes::recompute(site, &place, reader, &HashSet::new()).await?;
    let mut batch = current.batch();
    place.guard(&mut batch);
    // Fails if the followings have changed meanwhile; the next attempt reads them again.
    // Deleted and removed tweets must not come back.
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    for (tweet, _) in &whole.entries {
        batch.key_present(keys::tweet(*tweet));
        batch.field_unchanged(keys::tweet(*tweet), WITHHELD, whole.withheld.get(tweet));
    }
    // Before the tweets: each tweet that is dropped for them raises the floor again.
    let left_out = whole.left_out.map(|(_, score)| score);
    match place.apart() {
        Some(apart) => {
            let end = make_apart(site, &place, apart, reader, &whole).await?;
            floors::set_floor(&mut batch, reader, [left_out, end].into_iter().flatten().reduce(f64::max));
        }
        None => {
            floors::set_floor(&mut batch, reader, left_out);
            for (tweet, score) in &whole.entries {
                add_to_home(&mut batch, &site.rules.timelines, reader, *tweet, *score);
            }
        }
    }
    Ok(current.finish(batch))
}

/// Makes a home timeline apart from the store what it should be. Returns where it ends because it is
/// full: a removal that comes next must find that as its floor.
async fn make_apart(
    site: &Site,
    place: &HomePlace,
    apart: &Apart,
    reader: UserId,
    whole: &Whole,
) -> Result<Option<f64>, Error> {
    let belong: HashSet<TweetId> = whole.entries.iter().map(|(tweet, _)| *tweet).collect();
    let stored = homes::read_home(site, place, reader).await?.entries;
    let others: Vec<TweetId> =
        stored.into_iter().map(|(tweet, _)| tweet).filter(|tweet| !belong.contains(tweet)).collect();
    let strangers = homes::strangers(site, reader, &others).await?;
    apart.remove(site, place, vec![(reader, strangers)]).await?;
    apart.add(vec![(reader, whole.entries.clone())]).await?;
    Ok(homes::read_home(site, place, reader).await?.end)
}
