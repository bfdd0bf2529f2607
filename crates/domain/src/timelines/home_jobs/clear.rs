//! Removing the tweets of an author who is no longer followed from a reader's home
//! timeline in the store. One that is apart from it is made anew instead.

use crate::jobs::{Job, JobKind, Step, StepOutcome};
use crate::timelines::homes::remove_from_home;
use crate::timelines::versions::FOLLOWINGS_VERSION;
use crate::values::{NotAnId, TweetId, UserId, WITHHELD, Withheld, record_text};
use crate::{Decision, Result, keys};
use tidings_keyspace::{Order, read};

/// The jobs `clear:<reader>:<author>`.
pub(crate) const KIND: JobKind = JobKind { name: "clear", step: |current| Box::pin(step(current)) };

/// The job that removes the tweets of `author` from the home timeline of `reader`.
pub(crate) fn job(reader: UserId, author: UserId) -> Job {
    Job::new(KIND.name, Unfollowed { reader, author })
}

/// The subject of the job.
struct Unfollowed {
    reader: UserId,
    author: UserId,
}

record_text!(Unfollowed or NotAnId: {reader} ":" {author});

/// The only step: a home timeline is small.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let Some(Unfollowed { reader, author }) = current.subject() else { return Ok(current.skip()) };
    let store = &current.site.store;
    // Read first, so that later changes of the followings are noticed.
    let version = read::field(keys::user(reader), FOLLOWINGS_VERSION);
    let followed = read::score(keys::followings(reader), author.to_string());
    let entries = read::sorted_range(keys::home_timeline(reader), Order::Descending, 0, u64::MAX);
    let (version, followed, entries) = store.fetch((version, followed, entries)).await?;
    let tweets: Vec<TweetId> = entries.iter().filter_map(|(tweet, _)| tweet.parse().ok()).collect();

    let mut batch = current.batch();
    batch.field_unchanged(keys::user(reader), FOLLOWINGS_VERSION, version);
    let authors: Vec<_> =
        tweets.iter().map(|tweet| read::fields(keys::tweet(*tweet), ["user_id", WITHHELD])).collect();
    for (tweet, [user_id, withheld]) in tweets.iter().zip(store.fetch(authors).await?) {
        let is_listed = withheld.is_none_or(|state| Withheld::stored(&state).is_listed());
        // Deleted and removed tweets go as well: their sweep no longer reaches this reader. If the
        // author is followed again, everything else stays.
        if !is_listed || user_id.is_none_or(|id| id == author.to_string() && followed.is_none()) {
            remove_from_home(&mut batch, reader, *tweet);
        }
    }
    Ok(current.finish(batch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_names_the_reader_and_the_author() {
        assert_eq!(job(UserId(3), UserId(9)).to_string(), "clear:3:9");
        let Unfollowed { reader, author } = "3:9".parse().unwrap();
        assert_eq!((reader, author), (UserId(3), UserId(9)));
        for subject in ["", "3", "3:", ":9", "3:x"] {
            assert!(subject.parse::<Unfollowed>().is_err(), "{subject}");
        }
    }
}
