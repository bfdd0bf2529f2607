//! Making the home timeline of a reader: one that is absent, or that has to be made anew.
//!
//! First the timeline is empty, and from then on tweets are delivered to it. Its floor is above all tweets, so that it is
//! read from the authors' own timelines. Then these lists are read: what they do not have yet is delivered. What they
//! have is added, and the floor sinks.

use crate::accounts::users::DEACTIVATED;
use crate::jobs::{self, Job, JobKind, Jobs, Step, StepOutcome};
use crate::timelines::apart::Apart;
use crate::timelines::floors;
use crate::timelines::homes::{self, HOME_AT, add_to_home};
use crate::timelines::versions::{FOLLOWINGS_VERSION, note_followings_change};
use crate::values::{Moment, UserId, WITHHELD, random_token};
use crate::{Applied, Decision, Error, Result, Site, keys};
use std::collections::HashSet;
use tidings_keyspace::{Batch, read};

/// The jobs `rebuild:<user id>`.
pub(crate) const KIND: JobKind = JobKind { name: "rebuild", step: |current| Box::pin(step(current)) };

/// The job that makes the home timeline of a reader.
pub(crate) fn job(reader: UserId) -> Job {
    Job::new(KIND.name, reader)
}

/// Adds to a batch that a user's home timeline is made anew, apart from the store. Returns the job.
pub(crate) fn renew(batch: &mut Batch, reader: UserId, now: Moment) -> Job {
    homes::end(batch, reader);
    let job = job(reader);
    jobs::add(batch, &job, now, reader);
    job
}

/// Has an absent home timeline made in the background, unless it is being made. Its reader does without it
/// meanwhile. Rounds: 1.
pub(crate) async fn make_soon(site: &Site, reader: UserId, now: Moment) {
    let job = job(reader);
    let mut batch = Batch::new();
    jobs::demand_none(&mut batch, &job);
    batch.field_absent(keys::user(reader), DEACTIVATED);
    jobs::add(&mut batch, &job, now, reader);
    match site.apply(batch).await {
        Ok(Applied::Yes(_)) => site.of::<Jobs>().start_soon(job, now),
        Ok(Applied::No(_)) => {}
        Err(error) => {
            tracing::debug!(user = %reader, %error, "home timeline not made; the next visit tries again")
        }
    }
}

/// The only step: a home timeline is small.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(reader) = current.subject::<UserId>() else { return Ok(current.skip()) };
    let (site, apart) = (current.site, Apart::of(current.site));
    let mark = random_token()?;
    if let Some(apart) = &apart {
        apart.begin(reader, &mark).await?;
    }
    if !begin(site, apart.as_ref().map(|apart| apart.at(&mark)), reader).await? {
        // The reader has left.
        if let Some(apart) = apart {
            apart.delete(&[reader]).await?;
        }
        return Ok(current.finish(current.batch()));
    }
    let version = site.store.fetch(read::field(keys::user(reader), FOLLOWINGS_VERSION)).await?;
    let whole = homes::recompute(site, reader, &HashSet::new()).await?;
    let mut batch = current.batch();
    // Fails if the followings have changed meanwhile; the next attempt reads them again.
    // Deleted and removed tweets must not come back.
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    batch.field_absent(keys::user(reader), DEACTIVATED);
    for (tweet, _) in &whole.entries {
        batch.key_present(keys::tweet(*tweet));
        batch.field_unchanged(keys::tweet(*tweet), WITHHELD, whole.withheld.get(tweet));
    }
    let left_out = whole.left_out.map(|(_, score)| score);
    if let Some(apart) = apart {
        apart.add(vec![(reader, whole.entries)]).await?;
        // A removal that comes next must find its end as its floor.
        let end = apart.read_whole(reader, &mark).await?.ok_or(Error::Busy)?.end;
        floors::set_floor(&mut batch, reader, [left_out, end].into_iter().flatten().reduce(f64::max));
    } else {
        // Before the tweets: each tweet that is dropped for them raises the floor again.
        floors::set_floor(&mut batch, reader, left_out);
        for (tweet, score) in &whole.entries {
            add_to_home(&mut batch, &site.rules.timelines, reader, *tweet, *score);
        }
    }
    Ok(current.finish(batch))
}

/// Empties the home timeline of a reader, and notes where it is. An earlier attempt to make it ends there. Returns
/// whether the reader has an account. Rounds: 1.
async fn begin(site: &Site, at: Option<String>, reader: UserId) -> Result<bool> {
    let user = keys::user(reader);
    let mut batch = Batch::new();
    batch.key_present(&user);
    batch.field_absent(&user, DEACTIVATED);
    homes::delete_home(&mut batch, reader);
    match at {
        Some(at) => batch.set_field(&user, HOME_AT, at),
        None => batch.delete_field(&user, HOME_AT),
    }
    floors::set_floor(&mut batch, reader, Some(floors::ABOVE_ALL));
    note_followings_change(&mut batch, reader);
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}
