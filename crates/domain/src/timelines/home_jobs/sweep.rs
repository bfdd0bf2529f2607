//! Removing a deleted tweet from the home timelines of its author's followers.
//!
//! It is already invisible: an entry without its tweet is not shown.

use crate::action::Decision;
use crate::error::Error;
use crate::jobs::{Job, JobKind, Outcome, Step, members};
use crate::keys;
use crate::values::ids::TweetId;
use tidings_keyspace::Query;

/// The jobs `sweep:<tweet id>`.
pub(crate) const KIND: JobKind = JobKind { name: "sweep", step: |current| Box::pin(step(current)) };

/// The job that removes a deleted tweet from home timelines.
pub(crate) fn job(tweet: TweetId) -> Job {
    Job::new(KIND.name, tweet)
}

/// One step: some followers.
async fn step(current: &Step<'_>) -> Result<Decision<Outcome>, Error> {
    let Some(tweet) = current.subject::<TweetId>() else {
        return Ok(current.skip());
    };
    let Some(author) = current.author() else {
        return Ok(current.finish(current.batch()));
    };
    let mut query = Query::new();
    let read = members::ask(current, &mut query, keys::followers(author));
    let mut answers = current.site.store.query(query).await?;
    let chunk = read.take(&mut answers);
    let mut batch = current.batch();
    for reader in chunk.ids {
        batch.sorted_remove(keys::home_timeline(reader), tweet.to_string());
    }
    match chunk.next {
        Some(next) => Ok(current.advance(batch, &next)),
        None => Ok(current.finish(batch)),
    }
}
