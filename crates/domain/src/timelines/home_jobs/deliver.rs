//! Adding a tweet to the home timelines of its author's followers.

use crate::accounts::users::DEACTIVATED;
use crate::jobs::{Job, JobKind, Step, StepOutcome, members};
use crate::timelines::apart::Apart;
use crate::timelines::homes::{Home, add_to_home};
use crate::timelines::live::{self, ArrivedTweet};
use crate::timelines::versions::FOLLOWERS_LOST;
use crate::values::{Timestamp, TweetId, UserId};
use crate::{Decision, Result, fields, keys};
use tidings_keyspace::read;

/// The jobs `deliver:<tweet id>`.
pub(crate) const KIND: JobKind = JobKind { name: "deliver", step: |current| Box::pin(step(current)) };

/// The job that delivers a tweet.
pub(crate) fn job(tweet: TweetId) -> Job {
    Job::new(KIND.name, tweet)
}

/// One step: some followers.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(tweet) = current.subject::<TweetId>() else { return Ok(current.skip()) };
    let site = current.site;
    let Some(author) = current.author() else { return Ok(current.finish(current.batch())) };
    // Read before the followers, so that a follower who leaves later is noticed.
    let author_fields = read::fields(keys::user(author), [FOLLOWERS_LOST, DEACTIVATED]);
    let created_at = read::field(keys::tweet(tweet), "created_at");
    let followers = members::of(current, keys::followers(author));
    let reads = (author_fields, created_at, followers);
    let ([lost, deactivated], created_at, chunk) = site.store.fetch(reads).await?;
    let score = fields::read(created_at.as_deref(), || keys::tweet(tweet), "created_at");
    let score = score.filter(|score: &f64| score.is_finite());
    let Some(score) = score.filter(|_| deactivated.is_none()) else {
        // There is nothing left to deliver.
        return Ok(current.finish(current.batch()));
    };

    let (mut batch, apart) = (current.batch(), Apart::of(site));
    batch.key_present(keys::tweet(tweet));
    batch.field_absent(keys::user(author), DEACTIVATED);
    batch.field_unchanged(keys::user(author), FOLLOWERS_LOST, lost);
    let mut additions = Vec::new();
    for (reader, home, is_active) in activity(current, &chunk.ids).await? {
        if is_active && home.is_here(apart.as_ref()) {
            additions.push((reader, vec![(tweet, score)]));
        } else {
            // The stored timeline lacks this tweet from now on.
            home.end(&mut batch);
        }
    }
    current.delivers(u64::try_from(additions.len()).unwrap_or(0));
    match apart {
        Some(apart) => apart.add(additions).await?,
        None => additions
            .iter()
            .for_each(|(reader, _)| add_to_home(&mut batch, &site.rules.timelines, *reader, tweet, score)),
    }
    match chunk.next {
        Some(next) => Ok(current.advance(batch, &next)),
        None => {
            batch.publish(live::CHANNEL, ArrivedTweet { author, id: tweet, score }.to_string());
            Ok(current.finish(batch))
        }
    }
}

/// The readers, each with where the home timeline is and whether they are active; active if it is not known. Rounds: 1.
async fn activity(current: &Step<'_>, readers: &[UserId]) -> Result<Vec<(UserId, Home, bool)>> {
    let rules = &current.site.rules.timelines;
    let now = current.now.timestamp();
    let [name, at] = Home::FIELDS;
    let fields: Vec<_> =
        readers.iter().map(|reader| read::fields(keys::user(*reader), [name, at, "seen_time"])).collect();
    let fields = current.site.store.fetch(fields).await?;
    let is_active = |(reader, [name, at, seen]): (&UserId, [Option<String>; 3])| {
        let seen = fields::read(seen.as_deref(), || keys::user(*reader), "seen_time").map(Timestamp);
        let is_active = !seen.is_some_and(|seen| rules.is_inactive(seen, now));
        (*reader, Home::of_fields(*reader, [name, at]), is_active)
    };
    Ok(readers.iter().zip(fields).map(is_active).collect())
}
