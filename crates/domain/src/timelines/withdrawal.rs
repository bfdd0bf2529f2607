//! Tweets that a moderator removes: they leave the timelines, and can be put back exactly. The hash stays, with the
//! fields `withheld` and `removed`. Whoever the tweet mentions keeps it among the mentions, where nobody is shown it.
//!
//! A removed story takes the tweet that announces it along, with the functions here: the tweet
//! says by which line of the log it was removed, so a story brings back only the tweet that
//! went with it.

use crate::accounts::inbox::{Returning, Withdrawing};
use crate::accounts::users::DEACTIVATED;
use crate::error::{Error, Refusal};
use crate::jobs::{self, Job};
use crate::keys;
use crate::site::Site;
use crate::timelines::entries::TweetEntries;
use crate::timelines::home_jobs::{deliver, sweep};
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

/// A tweet that is about to be removed, with what was read for it.
pub(crate) struct TweetWithdrawal {
    tweet: Tweet,
    state: Withheld,
    has_followers: bool,
}

impl TweetWithdrawal {
    /// Reads what the removal of a tweet needs. Rounds: 1.
    pub(crate) async fn read(site: &Site, tweet: Tweet, state: Withheld) -> Result<Self, Error> {
        let has_followers = site.store.fetch(read::sorted_count(keys::followers(tweet.user_id))).await? > 0;
        Ok(Self { tweet, state, has_followers })
    }

    fn was_listed(&self) -> bool {
        !is_unlisted(self.tweet.withheld.as_ref())
    }
}

impl Withdrawing for TweetWithdrawal {
    fn write(&self, batch: &mut Batch, now: Moment, line: ModerationId) {
        let (id, author) = (self.tweet.id, self.tweet.user_id);
        self.tweet.write_state(batch, Some(&self.state));
        let removed = RemovedBy { line, earlier: self.tweet.withheld.clone() };
        batch.set_field(keys::tweet(id), REMOVED, removed.to_string());
        if !self.was_listed() {
            return;
        }
        TweetEntries::of(&self.tweet).leave(batch);
        unseen::add(batch, author, &Thing::Tweet(id), self.tweet.created_at);
        // It may wait even if the followers have left: the next one must not get the tweet.
        jobs::remove(batch, &deliver::job(id));
        if self.has_followers {
            jobs::add(batch, &sweep::job(id), now, author);
        } else {
            // Fails if a first follower arrives meanwhile: they must not get the tweet.
            batch.key_absent(keys::followers(author));
        }
    }

    fn job(&self) -> Option<Job> {
        (self.has_followers && self.was_listed()).then(|| sweep::job(self.tweet.id))
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
    pub(crate) async fn read(site: &Site, tweet: Tweet, removed: RemovedBy) -> Result<Self, Error> {
        let deactivated = read::field(keys::user(tweet.user_id), DEACTIVATED);
        let (audience, deactivated) = site.store.fetch((Audience::of(tweet.user_id), deactivated)).await?;
        if deactivated.is_some() {
            return Err(Refusal::NoSuchTweet.into());
        }
        Ok(Self { tweet, earlier: removed.earlier, audience })
    }

    /// The same for a tweet that may have been removed by a line of the log: `None` if it was not.
    /// Rounds: at most 3.
    pub(crate) async fn of_line(site: &Site, id: TweetId, line: ModerationId) -> Result<Option<Self>, Error> {
        let Some(mut tweet) = site.store.fetch(Tweet::by_id(id)).await? else { return Ok(None) };
        let Some(removed) = tweet.removed.take().filter(|removed| removed.line == line) else {
            return Ok(None);
        };
        if !matches!(tweet.withheld, Some(Withheld::Removed(_))) {
            return Ok(None);
        }
        match Self::read(site, tweet, removed).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Returning for TweetReturn {
    fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (id, author) = (self.tweet.id, self.tweet.user_id);
        self.tweet.write_state(batch, self.earlier.as_ref());
        batch.delete_field(keys::tweet(id), REMOVED);
        if is_unlisted(self.earlier.as_ref()) {
            return;
        }
        batch.field_absent(keys::user(author), DEACTIVATED);
        TweetEntries::of(&self.tweet).enter(batch, site, &self.audience);
        unseen::remove(batch, author, &Thing::Tweet(id));
        jobs::remove(batch, &sweep::job(id));
        if self.audience.followers == 0 {
            // Fails if a first follower arrives meanwhile: they must not miss the tweet.
            batch.key_absent(keys::followers(author));
        } else if self.audience.is_delivered(site) {
            let job = deliver::job(id);
            jobs::add(batch, &job, now, author);
            deliver::follow_sweep(batch, &job);
        } else {
            set_pulled(batch, author, true);
        }
    }

    fn jobs(&self, site: &Site) -> Vec<Job> {
        let is_delivered = self.audience.followers > 0 && self.audience.is_delivered(site);
        let delivers = is_delivered && !is_unlisted(self.earlier.as_ref());
        delivers.then(|| deliver::job(self.tweet.id)).into_iter().collect()
    }
}
