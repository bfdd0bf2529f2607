//! Tweets that a moderator removes: they leave the timelines of their author and of everyone, and can be put back exactly.
//! The hash stays, with the fields `withheld` and `removed`. Home timelines and mentions keep them, where nobody is shown
//! them.
//!
//! A removed story takes the tweet that announces it along, with the functions here: the tweet
//! says by which line of the log it was removed, so a story brings back only the tweet that
//! went with it.

use crate::accounts::users::DEACTIVATED;
use crate::error::{Error, Refusal};
use crate::jobs::{self, Job};
use crate::keys;
use crate::site::Site;
use crate::timelines::entries::TweetEntries;
use crate::timelines::home_jobs::deliver;
use crate::timelines::homes::set_pulled;
use crate::timelines::tweets::{Audience, Tweet};
use crate::unseen;
use crate::values::clock::Moment;
use crate::values::ids::{ModerationId, TweetId};
use crate::values::moderation::Thing;
use crate::values::removed_by::{REMOVED, RemovedBy};
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, read};

/// Whether a state keeps a tweet out of all lists.
fn is_unlisted(state: Option<&Withheld>) -> bool {
    state.is_some_and(Withheld::is_unlisted)
}

/// Adds to a batch that a tweet is removed by a line of the log, for a reason that is its new state.
pub(crate) fn remove(batch: &mut Batch, tweet: &Tweet, (line, state): (ModerationId, Withheld)) {
    tweet.write_state(batch, Some(&state));
    let removed = RemovedBy { line, earlier: tweet.withheld.clone() };
    batch.set_field(keys::tweet(tweet.id), REMOVED, removed.to_string());
    if !tweet.is_gone() {
        TweetEntries::of(tweet).leave(batch);
        unseen::add(batch, tweet.user_id, &Thing::Tweet(tweet.id), tweet.created_at);
        jobs::remove(batch, &deliver::job(tweet.id));
    }
}

/// A removed tweet that is about to be put back, with what was read for it.
pub(crate) struct TweetReturn {
    tweet: Tweet,
    earlier: Option<Withheld>,
    audience: Audience,
}

impl TweetReturn {
    /// Reads what is needed to put a tweet back. Rounds: 2.
    ///
    /// # Errors
    /// [`Refusal::NoSuchTweet`] when the author's account is deactivated, or the store's.
    pub(crate) async fn read(site: &Site, mut tweet: Tweet) -> Result<Self, Error> {
        let deactivated = read::field(keys::user(tweet.user_id), DEACTIVATED);
        let (audience, deactivated) = site.store.fetch((Audience::of(tweet.user_id), deactivated)).await?;
        if deactivated.is_some() {
            return Err(Refusal::NoSuchTweet.into());
        }
        let earlier = tweet.removed.take().and_then(|removed| removed.earlier);
        Ok(Self { tweet, earlier, audience })
    }

    /// The same for a tweet that may have been removed by a line of the log: `None` if it was not.
    /// Rounds: at most 3.
    pub(crate) async fn of_line(site: &Site, id: TweetId, line: ModerationId) -> Result<Option<Self>, Error> {
        let Some(tweet) = site.store.fetch(Tweet::by_id(id)).await? else { return Ok(None) };
        let is_of_line = tweet.removed.as_ref().is_some_and(|removed| removed.line == line);
        if !is_of_line || !matches!(tweet.withheld, Some(Withheld::Removed(_))) {
            return Ok(None);
        }
        match Self::read(site, tweet).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds to a batch that the tweet is as it was before. Returns the jobs to start once the batch is applied.
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, now: Moment) -> Vec<Job> {
        let (id, author) = (self.tweet.id, self.tweet.user_id);
        self.tweet.write_state(batch, self.earlier.as_ref());
        batch.delete_field(keys::tweet(id), REMOVED);
        if is_unlisted(self.earlier.as_ref()) {
            return Vec::new();
        }
        batch.field_absent(keys::user(author), DEACTIVATED);
        TweetEntries::of(&self.tweet).enter(batch, site, &self.audience);
        unseen::remove(batch, author, &Thing::Tweet(id));
        let job = deliver::job(id);
        if self.audience.followers == 0 {
            // Fails if a first follower arrives meanwhile: they must not miss the tweet.
            batch.key_absent(keys::followers(author));
        } else if self.audience.is_delivered(site) {
            // Also to those who follow since, and whose home timelines have been made anew.
            jobs::add(batch, &job, now, author);
            return vec![job];
        } else {
            set_pulled(batch, author, true);
        }
        Vec::new()
    }
}
