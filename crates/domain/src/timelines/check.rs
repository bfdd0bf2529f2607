//! Comparing stored home timelines with what they are derived from, and repairing them.
//!
//! Tweets, and whom each user follows, are taken as correct. Inactive readers are skipped, since
//! they get no deliveries, and readers whose timelines are absent, since these are made when they are read.
//! Differences that a waiting job will remove are ignored.

use crate::accounts::users::DEACTIVATED;
use crate::jobs::{self, Job};
use crate::timelines::apart::Apart;
use crate::timelines::home_jobs::{clear, deliver, rebuild};
use crate::timelines::homes::{self, Home, Whole};
use crate::timelines::versions::TIMELINE_VERSION;
use crate::values::{Moment, Timestamp, TweetId, UserId};
use crate::{Applied, Error, Result, Site, Tweet, fields, keys};
use std::collections::{HashMap, HashSet};
use tidings_keyspace::{Batch, Fetch, Order, read};

/// Compares the home timelines of users with the tweets that belong in them.
pub(crate) struct HomeCheck<'a> {
    site: &'a Site,
    now: Moment,
    pulled: HashSet<UserId>,
}

impl<'a> HomeCheck<'a> {
    /// Starts a check of home timelines. A repair first finishes the waiting jobs, with
    /// `background::finish_waiting`: what a job will still do is no difference. Rounds: 1.
    pub(crate) async fn begin(site: &'a Site, now: Moment) -> Result<Self> {
        let pulled = site.store.fetch(read::members(keys::PULLED_AUTHORS)).await?;
        let pulled = pulled.iter().filter_map(|id| id.parse().ok()).collect();
        Ok(Self { site, now, pulled })
    }

    /// In what a stored home timeline is not what it should be, in words, and the keys from which that follows.
    pub(crate) async fn home_difference(&self, user: UserId) -> Result<Option<(String, Vec<String>)>> {
        Ok(self.read_home(user).await?.and_then(|home| Some((home.difference()?, home.rests_on()))))
    }

    /// A stored home timeline, and what it should be; `None` for a user who gets no
    /// deliveries.
    async fn read_home(&self, user: UserId) -> Result<Option<ComparedHome>> {
        let reads = (
            read::fields(keys::user(user), ["seen_time", DEACTIVATED]),
            Home::of(user),
            read::score(keys::HOME_FLOORS, user.to_string()),
            read::sorted_range(keys::followings(user), Order::Ascending, 0, u64::MAX),
            read::sorted_range(keys::TIMELINE_JOBS, Order::Ascending, 0, u64::MAX),
        );
        let ([seen, deactivated], home, floor, followings, jobs) = self.site.store.fetch(reads).await?;
        let seen = fields::read(seen.as_deref(), || keys::user(user), "seen_time").map(Timestamp);
        let rules = &self.site.rules.timelines;
        let is_away = seen.is_some_and(|seen| rules.is_inactive(seen, self.now.timestamp()));
        let apart = Apart::of(self.site);
        if !home.is_of_user() || deactivated.is_some() || is_away || !home.is_here(apart.as_ref()) {
            return Ok(None);
        }
        let jobs: HashSet<Job> = jobs.into_iter().map(|(name, _)| Job::from_name(name)).collect();
        let followed = followings.iter().filter_map(|(id, _)| id.parse().ok()).chain([user]).collect();

        let stored = home.read(self.site).await?;
        let is_lost = stored.is_none();
        let stored = stored.unwrap_or_default();
        let whole = homes::recompute(self.site, user, &self.pulled).await?;
        // Apart from the store, readers leave out what does not belong there.
        let ids = stored.entries.iter().map(|(id, _)| *id).filter(|_| apart.is_none());
        let ids: Vec<TweetId> = ids.collect();
        Ok(Some(ComparedHome {
            user,
            is_lost,
            floor: [floor, stored.end].into_iter().flatten().reduce(f64::max),
            tweets: read_tweets(self.site, &ids).await?,
            checked: ids,
            stored: stored.entries,
            whole,
            followed,
            jobs,
        }))
    }

    /// Makes a home timeline anew. Returns whether it is then what it should be.
    pub(crate) async fn repair_home(&self, user: UserId) -> Result<bool> {
        let job = rebuild::job(user);
        let mut batch = Batch::new();
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

    /// Delivers the undelivered tweets of authors who now have few followers.
    pub(crate) async fn deliver_pulled(&self) -> Result<()> {
        for author in &self.pulled {
            let reads = (
                read::field(keys::user(*author), TIMELINE_VERSION),
                read::sorted_range(keys::followers(*author), Order::Ascending, 0, u64::MAX),
            );
            let (version, followers) = self.site.store.fetch(reads).await?;
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
            homes::set_pulled(&mut batch, *author, false);
            self.apply(batch).await?;
        }
        Ok(())
    }

    async fn apply(&self, batch: Batch) -> Result<bool> {
        Ok(matches!(self.site.apply(batch).await?, Applied::Yes(_)))
    }
}

/// A stored home timeline, and what it should be.
struct ComparedHome {
    user: UserId,
    /// Whether its server has lost it.
    is_lost: bool,
    stored: Vec<(TweetId, f64)>,
    /// Those of its tweets that must belong there.
    checked: Vec<TweetId>,
    tweets: HashMap<TweetId, Tweet>,
    floor: Option<f64>,
    /// The user, and the people whom the user follows.
    followed: HashSet<UserId>,
    /// The timeline as it should be, without pulled authors.
    whole: Whole,
    jobs: HashSet<Job>,
}

impl ComparedHome {
    /// One of the differences, in words: the oldest, since the newest may be of a write under way.
    fn difference(&self) -> Option<String> {
        if self.is_lost {
            return Some("nothing, because its server has lost it".to_owned());
        }
        let stranger =
            self.strangers().last().map(|id| format!("the tweet {id}, which does not belong there"));
        let lacking = || self.lacking().last().map(|id| format!("no tweet {id}"));
        let floor = || {
            Some(format!("no tweet {}, and a place in {} below it", self.above_floor()?, keys::HOME_FLOORS))
        };
        stranger.or_else(lacking).or_else(floor)
    }

    /// The list of followed users, their timelines and the user's own, and the tweets in the home timeline.
    fn rests_on(&self) -> Vec<String> {
        let timelines = self.followed.iter().map(|author| keys::user_timeline(*author));
        let tweets = self.stored.iter().map(|(id, _)| keys::tweet(*id));
        timelines.chain(tweets).chain([keys::followings(self.user)]).collect()
    }

    /// Stored tweets that do not belong here and that no job will remove.
    fn strangers(&self) -> impl Iterator<Item = TweetId> {
        self.checked.iter().copied().filter(|id| match self.tweets.get(id) {
            // A tweet that is deleted or removed stays, and is not shown.
            None => false,
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

async fn read_tweets(site: &Site, ids: &[TweetId]) -> Result<HashMap<TweetId, Tweet>> {
    let tweet = |id| read::hash(keys::tweet(id)).map(move |hash| Some((id, Tweet::from_hash(id, &hash)?)));
    let tweets = site.store.fetch(ids.iter().copied().map(tweet).collect::<Vec<_>>()).await?;
    Ok(tweets.into_iter().flatten().collect())
}
