//! The lists that a tweet is in. They follow from the tweet alone, and only this file writes them: a tweet enters the
//! timelines of its author and of everyone, or leaves them. Deliveries to home timelines are jobs.

use crate::keys;
use crate::site::Site;
use crate::timelines::homes::remove_from_home;
use crate::timelines::tweets::{Audience, Tweet};
use crate::timelines::versions::TIMELINE_VERSION;
use crate::values::ids::{TweetId, UserId};
use crate::values::limits::{GLOBAL_TIMELINE_SIZE, MENTIONS_SIZE};
use tidings_keyspace::Batch;

/// A tweet, as far as its lists depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TweetEntries {
    pub(crate) id: TweetId,
    pub(crate) author: UserId,
    /// When it was posted, as a score.
    pub(crate) posted: f64,
}

impl TweetEntries {
    /// The entries of a stored tweet.
    pub(crate) const fn of(tweet: &Tweet) -> Self {
        Self { id: tweet.id, author: tweet.user_id, posted: tweet.created_at }
    }

    /// Adds the tweet to the timelines of its author and of everyone.
    pub(crate) fn enter(self, batch: &mut Batch, site: &Site, audience: &Audience) {
        let member = self.id.to_string();
        batch.sorted_add(keys::user_timeline(self.author), &member, self.posted);
        batch.increment_field(keys::user(self.author), TIMELINE_VERSION, 1);
        audience.write_own(batch, site, self.author, (self.id, self.posted));
        batch.sorted_add(keys::GLOBAL_TIMELINE, &member, self.posted);
        batch.sorted_trim(keys::GLOBAL_TIMELINE, GLOBAL_TIMELINE_SIZE);
    }

    /// Removes the tweet from these timelines.
    pub(crate) fn leave(self, batch: &mut Batch) {
        batch.increment_field(keys::user(self.author), TIMELINE_VERSION, 1);
        remove_from_home(batch, self.author, self.id);
        leave_with_author(batch, self.author, self.id);
    }

    /// Adds the tweet to the mentions of somebody.
    pub(crate) fn mention(self, batch: &mut Batch, user: UserId, time: f64) {
        batch.sorted_add(keys::user_mentions(user), self.id.to_string(), time);
        batch.sorted_trim(keys::user_mentions(user), MENTIONS_SIZE);
    }
}

/// Removes a tweet whose author has left from the timelines.
pub(crate) fn leave_with_author(batch: &mut Batch, author: UserId, id: TweetId) {
    batch.sorted_remove(keys::user_timeline(author), id.to_string());
    batch.sorted_remove(keys::GLOBAL_TIMELINE, id.to_string());
}
