//! Removing a deleted tweet from the home timelines of its author's followers.
//!
//! It is already invisible: an entry without its tweet is not shown.

use crate::action::Decision;
use crate::error::Error;
use crate::jobs::{Job, JobKind, Step, StepOutcome, members};
use crate::keys;
use crate::timelines::apart::Apart;
use crate::timelines::homes::remove_from_home;
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
    let chunk = current.site.store.fetch(members::of(current, keys::followers(author))).await?;
    let mut batch = current.batch();
    match Apart::of(current.site) {
        Some(apart) => apart.remove(current.site, &chunk.ids, tweet).await?,
        None => chunk.ids.iter().for_each(|reader| remove_from_home(&mut batch, *reader, tweet)),
    }
    match chunk.next {
        Some(next) => Ok(current.advance(batch, &next)),
        None => Ok(current.finish(batch)),
    }
}
