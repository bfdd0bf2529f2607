//! Tweets that a moderator removes: they leave all timelines, mentions and inboxes, and can be put
//! back exactly. The hash stays, with the field `withheld`.
//!
//! A removed story takes the tweet that announces it along, with the functions here: the record
//! says by which line of the log a tweet was removed, so a story brings back only the tweet that
//! went with it.

use crate::accounts::inbox::{self, EntryId, Replacement, Returning, Withdrawing, Withdrawn};
use crate::accounts::mentioned::ids_by_name;
use crate::accounts::users::DEACTIVATED;
use crate::error::{Error, Refusal};
use crate::jobs::{self, Job};
use crate::keys;
use crate::site::Site;
use crate::timelines::entries::TweetEntries;
use crate::timelines::home_jobs::{deliver, sweep};
use crate::timelines::tweets::{Audience, Tweet};
use crate::unseen;
use crate::values::clock::Moment;
use crate::values::ids::{ModerationId, TweetId, UserId};
use crate::values::moderation::Thing;
use crate::values::text_forms::{read_text, shown};
use crate::values::withheld::Withheld;
use tidings_keyspace::{Batch, read};

/// The field of the record with the people in whose mentions the tweet was.
const MENTIONS: &str = "mentions";

/// Whether a state keeps a tweet out of all lists.
fn is_unlisted(state: Option<&Withheld>) -> bool {
    state.is_some_and(Withheld::is_unlisted)
}

/// A tweet that is about to be removed, with what was read for it.
pub(crate) struct TweetWithdrawal {
    tweet: Tweet,
    state: Withheld,
    mentions: WithdrawnMentions,
    entries: inbox::Removal,
    has_followers: bool,
}

impl TweetWithdrawal {
    /// Reads what the removal of a tweet needs. Rounds: 1, and 3 for mentions.
    pub(crate) async fn read(site: &Site, tweet: Tweet, state: Withheld) -> Result<Self, Error> {
        let id = tweet.id;
        let has_followers = site.store.fetch(read::sorted_count(keys::followers(tweet.user_id))).await? > 0;
        let mut withdrawal = Self {
            tweet,
            state,
            mentions: WithdrawnMentions::default(),
            entries: inbox::Removal::default(),
            has_followers,
        };
        // Nobody was notified of a tweet that waits for approval.
        if withdrawal.was_listed() {
            let users = ids_by_name(site, &withdrawal.tweet.mentioned_names()).await?;
            let users: Vec<UserId> = users.into_values().collect();
            withdrawal.mentions = WithdrawnMentions::read(site, id, &users).await?;
            let entries = users.iter().map(|user| (*user, EntryId::Tweet(id)));
            withdrawal.entries = inbox::Removal::read(site, entries).await?;
        }
        Ok(withdrawal)
    }

    fn was_listed(&self) -> bool {
        !is_unlisted(self.tweet.withheld.as_ref())
    }
}

impl Withdrawing for TweetWithdrawal {
    fn write(&self, batch: &mut Batch, now: Moment, line: ModerationId) {
        let (id, author) = (self.tweet.id, self.tweet.user_id);
        let earlier = self.tweet.withheld.as_ref();
        self.tweet.write_state(batch, Some(&self.state));
        let record = (line, earlier, &self.entries.taken());
        Withdrawn::write(batch, &Thing::Tweet(id), record, self.mentions.stored());
        if !self.was_listed() {
            return;
        }
        let entries = TweetEntries::of(&self.tweet);
        entries.leave(batch);
        unseen::add(batch, author, &Thing::Tweet(id), self.tweet.created_at);
        for (user, _) in &self.mentions.0 {
            entries.unmention(batch, *user);
        }
        self.entries.write(batch);
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
    record: Withdrawn,
    mentions: WithdrawnMentions,
    entries: Replacement,
    audience: Audience,
}

impl TweetReturn {
    /// Reads what is needed to put a tweet back. Rounds: 2, and 1 for mentions.
    ///
    /// # Errors
    /// [`Refusal::NoSuchTweet`] when the author's account is deactivated, or the store's.
    pub(crate) async fn read(site: &Site, tweet: Tweet, record: Withdrawn) -> Result<Self, Error> {
        let deactivated = read::field(keys::user(tweet.user_id), DEACTIVATED);
        let (audience, deactivated) =
            site.store.fetch((Audience::of(site, tweet.user_id), deactivated)).await?;
        if deactivated.is_some() {
            return Err(Refusal::NoSuchTweet.into());
        }
        let audience = audience?;
        let mut mentions: WithdrawnMentions = record.rest(MENTIONS).unwrap_or_default();
        mentions.keep_present(site).await?;
        let entries = Replacement::read(site, record.entries.clone()).await?;
        Ok(Self { tweet, record, mentions, entries, audience })
    }

    /// The same for a tweet that may have been removed by a line of the log: `None` if it was not.
    /// Rounds: at most 4.
    pub(crate) async fn of_line(site: &Site, id: TweetId, line: ModerationId) -> Result<Option<Self>, Error> {
        let (tweet, record) = site.store.fetch((Tweet::by_id(id), Withdrawn::of(Thing::Tweet(id)))).await?;
        let (Some(tweet), Some(record)) = (tweet, record.filter(|record| record.line == line)) else {
            return Ok(None);
        };
        if !matches!(tweet.withheld, Some(Withheld::Removed(_))) {
            return Ok(None);
        }
        match Self::read(site, tweet, record).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn earlier(&self) -> Option<&Withheld> {
        self.record.earlier.as_ref()
    }
}

impl Returning for TweetReturn {
    fn write(&self, batch: &mut Batch, site: &Site, now: Moment) {
        let (id, author) = (self.tweet.id, self.tweet.user_id);
        self.tweet.write_state(batch, self.earlier());
        self.record.forget(batch);
        if is_unlisted(self.earlier()) {
            return;
        }
        batch.field_absent(keys::user(author), DEACTIVATED);
        let entries = TweetEntries::of(&self.tweet);
        entries.enter(batch, site, &self.audience);
        unseen::remove(batch, author, &Thing::Tweet(id));
        for (user, time) in &self.mentions.0 {
            batch.field_absent(keys::user(*user), DEACTIVATED);
            entries.mention(batch, *user, *time);
        }
        self.entries.write(batch);
        jobs::remove(batch, &sweep::job(id));
        if self.audience.followers == 0 {
            // Fails if a first follower arrives meanwhile: they must not miss the tweet.
            batch.key_absent(keys::followers(author));
        } else if self.audience.is_delivered(site) {
            let job = deliver::job(id);
            jobs::add(batch, &job, now, author);
            deliver::follow_sweep(batch, &job);
        } else {
            batch.add_member(keys::PULLED_AUTHORS, author.to_string());
        }
    }

    fn jobs(&self, site: &Site) -> Vec<Job> {
        let is_delivered = self.audience.followers > 0 && self.audience.is_delivered(site);
        let delivers = is_delivered && !is_unlisted(self.earlier());
        delivers.then(|| deliver::job(self.tweet.id)).into_iter().collect()
    }
}

/// The people in whose mentions a tweet is, and its place there. Stored as `<user id> <time>`, a
/// line for each.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WithdrawnMentions(Vec<(UserId, f64)>);

/// A stored text that names no mentions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotMentions;

impl WithdrawnMentions {
    /// Reads in whose mentions a tweet is. Rounds: 1, none without users.
    async fn read(site: &Site, id: TweetId, users: &[UserId]) -> Result<Self, Error> {
        let scores: Vec<_> =
            users.iter().map(|user| read::score(keys::user_mentions(*user), id.to_string())).collect();
        let scores = users.iter().zip(site.store.fetch(scores).await?);
        let mut found: Vec<_> = scores.filter_map(|(user, score)| Some((*user, score?))).collect();
        found.sort_by_key(|(user, _)| *user);
        Ok(Self(found))
    }

    /// Leaves out people whose accounts are gone: they get nothing back. Rounds: 1, none without people.
    async fn keep_present(&mut self, site: &Site) -> Result<(), Error> {
        let present = inbox::present(site, self.0.iter().map(|(user, _)| *user).collect()).await?;
        self.0.retain(|(user, _)| present.contains(user));
        Ok(())
    }

    /// The field of the record, if there are any.
    fn stored(&self) -> Option<(&'static str, String)> {
        (!self.0.is_empty()).then(|| (MENTIONS, self.to_string()))
    }
}

shown!(WithdrawnMentions: |mentions| {
    let lines = mentions.0.iter().map(|(user, time)| format!("{user} {time:?}"));
    lines.collect::<Vec<_>>().join("\n")
});

read_text!(WithdrawnMentions or NotMentions: |stored| {
    let mention = |line: &str| {
        let (user, time) = line.split_once(' ')?;
        Some((user.parse().ok()?, time.parse().ok().filter(|time: &f64| time.is_finite())?))
    };
    stored.lines().map(mention).collect::<Option<_>>().map(Self)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_stored_and_read_back() {
        let mentions = WithdrawnMentions(vec![(UserId(3), 1_401_267_618.123), (UserId(9), 2.0)]);
        assert_eq!(mentions.to_string(), "3 1401267618.123\n9 2.0");
        assert_eq!(mentions.to_string().parse(), Ok(mentions));
        for bad in ["3", "x 1.0", "3 NaN", "3 1.0\n4"] {
            assert_eq!(bad.parse::<WithdrawnMentions>(), Err(NotMentions), "{bad}");
        }
    }
}
