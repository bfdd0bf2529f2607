//! Comparing stored timelines with what they are derived from, and repairing them.
//!
//! Tweets, and whom each user follows, are taken as correct. Everything else is derived:
//! the followers of a user, and the timelines of authors and readers. Inactive readers are
//! skipped, since their timelines are rebuilt when they return, and readers whose timelines are
//! being moved. Differences that a waiting job will remove are ignored.

use crate::accounts::users::DEACTIVATED;
use crate::error::Error;
use crate::fields;
use crate::jobs::{self, Job};
use crate::keys;
use crate::report::CheckReport;
use crate::site::{Applied, Site};
use crate::timelines::home_jobs::{clear, deliver, rebuild, sweep};
use crate::timelines::homes::{self, Whole};
use crate::timelines::place::HomePlace;
use crate::timelines::tweets::Tweet;
use crate::timelines::versions::TIMELINE_VERSION;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{TweetId, UserId};
use crate::values::limits::{TIMELINE_CHECK_CHUNK, TIMELINE_CHECK_TWEETS};
use crate::values::withheld::{WITHHELD, Withheld};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Expiry, Order, Query, read};

/// How often a home timeline must be seen to differ in the same way: on a site in use, two rounds
/// may read different states.
const LOOKS: usize = 3;

/// A check under way.
pub struct TimelineCheck<'a> {
    site: &'a Site,
    now: Moment,
    repair: bool,
    pulled: HashSet<UserId>,
    place: HomePlace,
    next_user: u64,
    users: u64,
    next_tweet: u64,
    tweets: u64,
}

impl<'a> TimelineCheck<'a> {
    /// Starts a check of all timelines. Without `repair` it writes nothing. With it, it
    /// repairs what differs. The caller first finishes the waiting jobs, with
    /// `background::finish_waiting`: what a job will still do is not repaired here.
    pub async fn begin(site: &'a Site, now: Moment, repair: bool) -> Result<Self, Error> {
        let (users, tweets, pulled) = site
            .store
            .fetch((
                fields::counter(keys::USERS_COUNT),
                fields::counter(keys::TWEET_IDS),
                read::members(keys::PULLED_AUTHORS),
            ))
            .await?;
        let place = site.store.fetch(HomePlace::of(site)).await??;
        let pulled = pulled.iter().filter_map(|id| id.parse().ok()).collect();
        Ok(Self { site, now, repair, pulled, place, next_user: 1, users, next_tweet: 1, tweets })
    }

    /// The numbers of users and tweets to check.
    #[must_use]
    pub const fn total(&self) -> (u64, u64) {
        (self.users, self.tweets)
    }

    /// Checks some tweets: each must be in its author's timeline, unless a moderator has removed it
    /// or it waits for approval: then it must not. `None` after the last.
    pub async fn next_tweets(&mut self) -> Result<Option<CheckReport>, Error> {
        if self.next_tweet > self.tweets {
            return Ok(None);
        }
        let last = self.tweets.min(self.next_tweet + TIMELINE_CHECK_TWEETS - 1);
        let ids: Vec<TweetId> = (self.next_tweet..=last).map(TweetId).collect();
        self.next_tweet = last + 1;
        let tweets = read_tweets(self.site, &ids).await?;
        let mut query = Query::new();
        let listed: Vec<_> = tweets
            .values()
            .map(|tweet| (tweet, query.scores(keys::user_timeline(tweet.user_id), [tweet.id.to_string()])))
            .collect();
        let mut answers = self.site.store.query(query).await?;
        let mut found = CheckReport::default();
        for (tweet, listed) in listed {
            let score = fields::only(answers.take(listed));
            let differs = score != is_listed(tweet).then_some(tweet.created_at);
            found.count(differs, differs && self.repair && self.list_tweet(tweet).await?);
        }
        Ok(Some(found))
    }

    async fn list_tweet(&self, tweet: &Tweet) -> Result<bool, Error> {
        let mut batch = Batch::new();
        unchanged(&mut batch, tweet);
        if is_listed(tweet) {
            batch.sorted_add(keys::user_timeline(tweet.user_id), tweet.id.to_string(), tweet.created_at);
        } else {
            batch.sorted_remove(keys::user_timeline(tweet.user_id), tweet.id.to_string());
        }
        batch.increment_field(keys::user(tweet.user_id), TIMELINE_VERSION, 1);
        self.apply(batch).await
    }

    /// Checks one user: the own timeline, the followers, the home timeline. `None` after
    /// the last.
    pub async fn next_user(&mut self) -> Result<Option<CheckReport>, Error> {
        if self.next_user > self.users {
            return Ok(None);
        }
        let user = UserId(self.next_user);
        self.next_user += 1;
        let mut found = self.check_own(user).await?;
        found = found.and(self.check_followings(user).await?);
        found = found.and(self.check_followers(user).await?);
        Ok(Some(found.and(self.check_home(user).await?)))
    }

    /// Checks that the timeline of everyone has only tweets that exist.
    pub async fn check_everyone(&self) -> Result<CheckReport, Error> {
        self.check_list(keys::GLOBAL_TIMELINE.to_owned(), None).await
    }

    /// Checks that a user's own timeline has only tweets of that user.
    async fn check_own(&self, user: UserId) -> Result<CheckReport, Error> {
        self.check_list(keys::user_timeline(user), Some(user)).await
    }

    async fn check_list(&self, key: String, author: Option<UserId>) -> Result<CheckReport, Error> {
        let entries = self.site.store.fetch(read::sorted_range(&key, Order::Descending, 0, u64::MAX)).await?;
        let mut found = CheckReport::default();
        for entries in entries.chunks(TIMELINE_CHECK_CHUNK) {
            let ids: Vec<TweetId> = entries.iter().filter_map(|(id, _)| id.parse().ok()).collect();
            let tweets = read_tweets(self.site, &ids).await?;
            for (member, _) in entries {
                let tweet = member.parse().ok().and_then(|id: TweetId| tweets.get(&id));
                let belongs = tweet.is_some_and(|tweet| {
                    is_listed(tweet) && author.is_none_or(|author| tweet.user_id == author)
                });
                let mut batch = Batch::new();
                if let Ok(id) = member.parse() {
                    match tweet {
                        Some(tweet) => unchanged(&mut batch, tweet),
                        None => _ = batch.key_absent(keys::tweet(id)),
                    }
                }
                batch.sorted_remove(&key, member);
                found.count(!belongs, !belongs && self.repair && self.apply(batch).await?);
            }
        }
        Ok(found)
    }

    /// Checks that everyone whom a user follows has that user as a follower.
    async fn check_followings(&self, user: UserId) -> Result<CheckReport, Error> {
        let list = |author| (keys::followers(author), user);
        let differ = self.one_sided(keys::followings(user), list).await?;
        let authors: Vec<UserId> = differ.1.iter().map(|(author, _)| *author).collect();
        let found = self
            .repair_each(differ, |batch, author, since| {
                // Nothing is written for who does not exist.
                batch.key_present(keys::user(author));
                batch.sorted_member_present(keys::followings(user), author.to_string());
                batch.sorted_add(keys::followers(author), user.to_string(), since);
            })
            .await?;
        for author in authors.into_iter().filter(|_| self.repair) {
            self.check_number_of_followers(author).await?;
        }
        Ok(found)
    }

    /// Checks that every follower of a user follows the user.
    async fn check_followers(&self, user: UserId) -> Result<CheckReport, Error> {
        let list = |follower| (keys::followings(follower), user);
        let differ = self.one_sided(keys::followers(user), list).await?;
        let lost = self.lost_followings(&differ.1).await?;
        let found = self
            .repair_each(differ, |batch, follower, since| {
                batch.sorted_member_absent(keys::followings(follower), user.to_string());
                if lost.contains(&follower) {
                    batch.key_present(keys::user(follower));
                    batch.sorted_member_present(keys::followers(user), follower.to_string());
                    batch.sorted_add(keys::followings(follower), user.to_string(), since);
                    return;
                }
                batch.sorted_remove(keys::followers(user), follower.to_string());
                batch.sorted_increment(keys::MOST_FOLLOWED, user.to_string(), -1.0);
            })
            .await?;
        Ok(found.and(self.check_number_of_followers(user).await?))
    }

    /// Those of some people whose list of whom they follow is gone as a whole. Rounds: 1.
    async fn lost_followings(&self, people: &[(UserId, f64)]) -> Result<HashSet<UserId>, Error> {
        let mut query = Query::new();
        let reads: Vec<_> =
            people.iter().map(|(user, _)| (*user, query.expiry(keys::followings(*user)))).collect();
        let mut answers = self.site.store.query(query).await?;
        let absent = reads
            .into_iter()
            .filter_map(|(user, read)| (answers.take(read) == Expiry::Absent).then_some(user));
        Ok(absent.collect())
    }

    async fn check_number_of_followers(&self, user: UserId) -> Result<CheckReport, Error> {
        let (number, noted) = self
            .site
            .store
            .fetch((
                read::sorted_count(keys::followers(user)),
                read::score(keys::MOST_FOLLOWED, user.to_string()),
            ))
            .await?;
        let noted = noted.unwrap_or(0.0);
        let by = number as f64 - noted;
        let mut found = CheckReport::default();
        let differs = by != 0.0;
        if number > 0 || differs {
            let mut batch = Batch::new();
            batch.sorted_increment(keys::MOST_FOLLOWED, user.to_string(), by);
            // Where no follower is known any more, the number is all that is left of them.
            let is_lost = number == 0 && noted > 0.0;
            found.count(differs, differs && self.repair && !is_lost && self.apply(batch).await?);
        }
        Ok(found)
    }

    /// The length of a list of people, and those of them whose own list lacks the other
    /// side.
    async fn one_sided(
        &self,
        key: String,
        other_side: impl Fn(UserId) -> (String, UserId),
    ) -> Result<(u64, Vec<(UserId, f64)>), Error> {
        let people = self.site.store.fetch(read::sorted_range(key, Order::Ascending, 0, u64::MAX)).await?;
        let people: Vec<(UserId, f64)> =
            people.into_iter().filter_map(|(id, since)| Some((id.parse().ok()?, since))).collect();
        let mut differ = Vec::new();
        for people in people.chunks(TIMELINE_CHECK_CHUNK) {
            let mut query = Query::new();
            let reads: Vec<_> = people
                .iter()
                .map(|(person, since)| {
                    let (list, member) = other_side(*person);
                    (*person, *since, query.scores(list, [member.to_string()]))
                })
                .collect();
            let mut answers = self.site.store.query(query).await?;
            for (person, since, read) in reads {
                if fields::only(answers.take(read)).is_none() {
                    differ.push((person, since));
                }
            }
        }
        Ok((u64::try_from(people.len()).unwrap_or(u64::MAX), differ))
    }

    async fn repair_each(
        &self,
        (checked, differ): (u64, Vec<(UserId, f64)>),
        repair: impl Fn(&mut Batch, UserId, f64),
    ) -> Result<CheckReport, Error> {
        let mut found = CheckReport::default();
        for (person, since) in differ {
            let mut batch = Batch::new();
            repair(&mut batch, person, since);
            found.count(true, self.repair && self.apply(batch).await?);
        }
        found.checked = checked;
        Ok(found)
    }

    /// In what a stored home timeline is not what it should be.
    pub(crate) async fn home_difference(&self, user: UserId) -> Result<Option<HomeDifference>, Error> {
        Ok(self.read_home(user).await?.and_then(|home| home.difference()))
    }

    /// Checks that a stored home timeline is what it should be.
    async fn check_home(&self, user: UserId) -> Result<CheckReport, Error> {
        let mut found = CheckReport::default();
        let (mut differs, mut last) = (false, None);
        for look in 0..LOOKS {
            let Some(home) = self.read_home(user).await? else {
                return Ok(found);
            };
            let difference = home.difference();
            differs = difference.is_some() && (look == 0 || difference == last);
            last = difference;
            if !differs || (self.repair && look > 0) {
                break;
            }
        }
        let repaired = differs && self.repair && self.repair_home(user).await?;
        found.count(differs, repaired);
        Ok(found)
    }

    /// A stored home timeline, and what it should be; `None` for a user who gets no
    /// deliveries.
    async fn read_home(&self, user: UserId) -> Result<Option<Home>, Error> {
        let ([id, seen, deactivated], floor, followings, jobs) = self
            .site
            .store
            .fetch((
                read::fields(keys::user(user), ["id", "seen_time", DEACTIVATED]),
                read::score(keys::HOME_FLOORS, user.to_string()),
                read::sorted_range(keys::followings(user), Order::Ascending, 0, u64::MAX),
                read::sorted_range(keys::TIMELINE_JOBS, Order::Ascending, 0, u64::MAX),
            ))
            .await?;
        let seen = fields::read(seen.as_deref(), || keys::user(user), "seen_time").map(Timestamp);
        let rules = &self.site.rules.timelines;
        let is_away = seen.is_some_and(|seen| rules.is_inactive(seen, self.now.timestamp()));
        let awaits = self.place.awaits(user);
        if id.is_none() || deactivated.is_some() || is_away || awaits {
            return Ok(None);
        }
        let jobs: HashSet<Job> = jobs.into_iter().map(|(name, _)| Job::from_name(name)).collect();
        let followed = followings.iter().filter_map(|(id, _)| id.parse().ok()).chain([user]).collect();

        let stored = homes::read_home(self.site, &self.place, user).await?;
        let whole = homes::recompute(self.site, &self.place, user, &self.pulled).await?;
        let ids: Vec<TweetId> = stored.entries.iter().map(|(id, _)| *id).collect();
        Ok(Some(Home {
            user,
            floor: [floor, stored.end].into_iter().flatten().reduce(f64::max),
            tweets: read_tweets(self.site, &ids).await?,
            stored: stored.entries,
            whole,
            followed,
            jobs,
        }))
    }

    /// Removes what does not belong in a home timeline, and rebuilds the rest. Returns whether it
    /// is then what it should be.
    pub(crate) async fn repair_home(&self, user: UserId) -> Result<bool, Error> {
        let Some(home) = self.read_home(user).await? else {
            return Ok(false);
        };
        let job = rebuild::job(user);
        let mut batch = Batch::new();
        // Apart from the store, the rebuild removes them.
        for id in home.strangers().filter(|_| self.place.apart().is_none()) {
            batch.sorted_remove(keys::home_timeline(user), id.to_string());
        }
        jobs::add(&mut batch, &job, self.now, user);
        if !self.apply(batch).await? {
            return Ok(false);
        }
        match jobs::work_on(self.site, self.now, &rebuild::KIND, &job).await {
            Ok(true) => Ok(true),
            // Another server may have done it.
            Ok(false) | Err(Error::Busy) => {
                Ok(self.read_home(user).await?.is_none_or(|home| home.difference().is_none()))
            }
            Err(error) => Err(error),
        }
    }

    /// Delivers the undelivered tweets of authors who now have few followers. Returns the
    /// number of authors that are done.
    pub async fn deliver_pulled(&self) -> Result<u64, Error> {
        let mut delivered = 0;
        for author in self.pulled.iter().filter(|_| self.repair) {
            let (version, followers) = self
                .site
                .store
                .fetch((
                    read::field(keys::user(*author), TIMELINE_VERSION),
                    read::sorted_range(keys::followers(*author), Order::Ascending, 0, u64::MAX),
                ))
                .await?;
            let is_few = u64::try_from(followers.len())
                .is_ok_and(|followers| followers <= self.site.rules.timelines.pull_limit);
            if !is_few {
                continue;
            }
            let mut is_all = true;
            for follower in followers.iter().filter_map(|(id, _)| id.parse().ok()) {
                let job = rebuild::job(follower);
                let mut batch = Batch::new();
                jobs::add(&mut batch, &job, self.now, follower);
                self.apply(batch).await?;
                is_all &= jobs::work_on(self.site, self.now, &rebuild::KIND, &job).await?;
            }
            if !is_all {
                continue;
            }
            let mut batch = Batch::new();
            // Fails if the author has posted meanwhile: that may not have been delivered.
            batch.field_unchanged(keys::user(*author), TIMELINE_VERSION, version);
            batch.remove_member(keys::PULLED_AUTHORS, author.to_string());
            delivered += u64::from(self.apply(batch).await?);
        }
        Ok(delivered)
    }

    async fn apply(&self, batch: Batch) -> Result<bool, Error> {
        Ok(matches!(self.site.apply(batch).await?, Applied::Yes(_)))
    }
}

/// A stored home timeline, and what it should be.
struct Home {
    user: UserId,
    stored: Vec<(TweetId, f64)>,
    tweets: HashMap<TweetId, Tweet>,
    floor: Option<f64>,
    /// The user, and the people whom the user follows.
    followed: HashSet<UserId>,
    /// The timeline as it should be, without pulled authors.
    whole: Whole,
    jobs: HashSet<Job>,
}

/// In what a stored home timeline is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeDifference {
    /// It has a tweet that does not belong there.
    Stranger(TweetId),
    /// It lacks a tweet.
    Lacks(TweetId),
    /// It claims to be complete down to a tweet for which there is no room.
    FloorTooLow(TweetId),
}

impl Home {
    /// One of the differences: the oldest, since the newest may be of a write under way.
    fn difference(&self) -> Option<HomeDifference> {
        let stranger = || self.strangers().last().map(HomeDifference::Stranger);
        let lacking = || self.lacking().last().map(HomeDifference::Lacks);
        let floor = || self.above_floor().map(HomeDifference::FloorTooLow);
        stranger().or_else(lacking).or_else(floor)
    }

    /// Stored tweets that do not belong here and that no job will remove.
    fn strangers(&self) -> impl Iterator<Item = TweetId> {
        self.stored.iter().map(|(id, _)| *id).filter(|id| match self.tweets.get(id) {
            None => !self.jobs.contains(&sweep::job(*id)),
            Some(tweet) if !is_listed(tweet) => !self.jobs.contains(&sweep::job(*id)),
            Some(tweet) => {
                !self.followed.contains(&tweet.user_id)
                    && !self.jobs.contains(&clear::job(self.user, tweet.user_id))
            }
        })
    }

    /// Tweets that belong here, are not stored, and that no job will deliver.
    fn lacking(&self) -> impl Iterator<Item = TweetId> {
        let stored: HashSet<TweetId> = self.stored.iter().map(|(id, _)| *id).collect();
        let above = |score: f64| self.floor.is_none_or(|floor| score > floor);
        let lacks = move |(id, score): &(TweetId, f64)| {
            above(*score) && !stored.contains(id) && !self.jobs.contains(&deliver::job(*id))
        };
        self.whole.entries.iter().copied().filter(lacks).map(|(id, _)| id)
    }

    /// The tweet that is left out although it is above the floor.
    fn above_floor(&self) -> Option<TweetId> {
        let (id, score) = self.whole.left_out?;
        let is_stored = self.stored.iter().any(|(stored, _)| *stored == id);
        (!is_stored && self.floor.is_none_or(|floor| floor < score)).then_some(id)
    }
}

/// Whether a tweet belongs in timelines: it is neither removed nor waits for approval.
fn is_listed(tweet: &Tweet) -> bool {
    !tweet.withheld.as_ref().is_some_and(Withheld::is_unlisted)
}

/// Adds the check that a tweet is still there and as withheld as it was.
fn unchanged(batch: &mut Batch, tweet: &Tweet) {
    batch.key_present(keys::tweet(tweet.id));
    let withheld = tweet.withheld.as_ref().map(ToString::to_string);
    batch.field_unchanged(keys::tweet(tweet.id), WITHHELD, withheld);
}

async fn read_tweets(site: &Site, ids: &[TweetId]) -> Result<HashMap<TweetId, Tweet>, Error> {
    let mut query = Query::new();
    let reads: Vec<_> = ids.iter().map(|id| (*id, query.hash(keys::tweet(*id)))).collect();
    let mut answers = site.store.query(query).await?;
    let tweet = |(id, read)| Some((id, Tweet::from_hash(id, &answers.take(read))?));
    Ok(reads.into_iter().filter_map(tweet).collect())
}
