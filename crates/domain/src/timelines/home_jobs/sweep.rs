//! Removing a deleted tweet from the home timelines of its author's followers.
//!
//! It is already invisible: an entry without its tweet is not shown.

use crate::action::Decision;
use crate::error::Error;
use crate::jobs::{Job, JobKind, Step, StepOutcome, members};
use crate::keys;
use crate::timelines::homes;
use crate::timelines::place::{HomePlace, SETTLE};
use crate::values::ids::TweetId;

/// The jobs `sweep:<tweet id>`.
pub(crate) const KIND: JobKind = JobKind { name: "sweep", step: |current| Box::pin(step(current)) };

/// The job that removes a deleted tweet from home timelines.
pub(crate) fn job(tweet: TweetId) -> Job {
    Job::new(KIND.name, tweet)
}

/// One step: some followers.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>, Error> {
    let Some(tweet) = current.subject::<TweetId>() else {
        return Ok(current.skip());
    };
    let Some(author) = current.author() else {
        return Ok(current.finish(current.batch()));
    };
    let followers = members::of(current, keys::followers(author));
    let (place, chunk) = current.site.store.fetch((HomePlace::of(current.site), followers)).await?;
    let place = place?;
    let mut batch = current.batch();
    place.guard(&mut batch);
    if place.apart().is_some() && !current.was_put_off() {
        // A delivery that has begun ends first.
        return Ok(current.put_off(batch, SETTLE));
    }
    let removals = chunk.ids.iter().map(|reader| (*reader, vec![tweet])).collect();
    homes::remove(current.site, &place, &mut batch, removals).await?;
    match chunk.next {
        Some(next) => Ok(current.advance(batch, &next)),
        None => Ok(current.finish(batch)),
    }
}
