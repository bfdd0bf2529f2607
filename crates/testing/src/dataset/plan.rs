//! The plan of a data set: the authors, times and popularity of its content.

use super::random::{Random, shares};
use std::time::Instant;
use tidings_domain::values::Timestamp;

/// Seconds that the site has been there.
pub const AGE_SECONDS: u64 = 60 * 86_400;
/// Levels of the long thread.
pub const LONG_THREAD_DEPTH: u64 = 12;
/// The most comments of other threads.
const MOST_COMMENTS: u64 = 400;
/// Out of a hundred items so many are texts.
const TEXTS: u64 = 6;
/// Every so many items one is announced by a tweet.
const ANNOUNCED: u64 = 4;
/// How much more the first users, and the first hosts, do and get than the last.
const USER_SKEW: f64 = 2.0;
const HOST_SKEW: f64 = 2.5;

/// How much there is.
#[derive(Debug, Clone)]
pub struct Size {
    pub users: u64,
    pub news: u64,
    pub news_votes: u64,
    pub comments: u64,
    /// Comments of the one long thread, beside the others.
    pub long_thread: u64,
    pub tweets: u64,
    pub follows: u64,
    /// Hosts that news link to; the first of the sites.
    pub hosts: u64,
    pub sites: u64,
    pub site_votes: u64,
}

impl Size {
    /// A site of a busy community, or of so many of them; the long thread is as long in all.
    pub const fn times(times: u64) -> Self {
        Self {
            users: 5_000 * times,
            news: 20_000 * times,
            news_votes: 400_000 * times,
            comments: 150_000 * times - 500,
            long_thread: 500,
            tweets: 20_000 * times,
            follows: 50_000 * times,
            hosts: 3_000 * times,
            sites: 5_000 * times,
            site_votes: 100_000 * times,
        }
    }

    /// A hundredth of it, for tests.
    pub const fn small() -> Self {
        Self {
            users: 80,
            news: 200,
            news_votes: 4_000,
            comments: 1_500,
            long_thread: 100,
            tweets: 200,
            follows: 500,
            hosts: 30,
            sites: 50,
            site_votes: 1_000,
        }
    }

    /// The last users, who have not voted on anything and posted nothing:
    /// those who vote in the mix and when votes are measured.
    pub const fn newcomers(&self) -> u64 {
        if self.users >= 1_000 { 200 } else { self.users / 4 }
    }

    /// The number of active users. Their ids start at 1.
    pub const fn active_users(&self) -> u64 {
        self.users - self.newcomers()
    }

    /// Voters on sites.
    pub const fn voters(&self) -> u64 {
        self.users / 2
    }
}

/// A news item.
#[derive(Debug, Clone)]
pub struct Item {
    pub author: u64,
    pub ctime: u64,
    /// The host that it links to; `None` of a text.
    pub host: Option<u64>,
    /// Votes up and down that it gets, the author's among them.
    pub votes: u64,
    pub comments: u64,
    /// The tweet that announces it.
    pub tweet: Option<u64>,
}

/// A tweet.
#[derive(Debug, Clone)]
pub struct Tweet {
    pub author: u64,
    pub time_ms: u64,
    /// The item that it announces.
    pub news: Option<u64>,
}

/// Everything that is planned. Ids begin with 1, so `items[0]` is the item 1.
pub struct Plan {
    pub size: Size,
    pub now: Timestamp,
    /// When `now` was: what expires has less time left when it is written.
    pub began: Instant,
    pub items: Vec<Item>,
    pub tweets: Vec<Tweet>,
}

impl Plan {
    /// Plans a site as it is at `now`.
    pub fn new(size: Size, now: Timestamp) -> Self {
        let began = Instant::now();
        let mut items = plan_items(&size, now);
        let tweets = plan_tweets(&size, now, &mut items);
        Self { size, now, began, items, tweets }
    }

    /// The id of the item with the long thread: a recent one.
    pub fn long_thread(&self) -> u64 {
        long_thread(&self.size)
    }
}

fn long_thread(size: &Size) -> u64 {
    size.news - size.news / 50
}

/// A random active user; some are drawn more often than others.
pub fn active_user(random: &mut Random, size: &Size) -> u64 {
    1 + random.skewed(size.active_users(), USER_SKEW)
}

fn plan_items(size: &Size, now: Timestamp) -> Vec<Item> {
    let places = Random::of("popularity", 0).shuffled(size.news);
    let most_votes = size.active_users() * 8 / 10;
    let votes = shares(size.news_votes, size.news, 20.0, 0.7, [1, most_votes]);
    let comments = shares(size.comments, size.news, 10.0, 0.8, [0, MOST_COMMENTS]);
    let spacing = AGE_SECONDS as f64 / size.news as f64;
    (1..=size.news)
        .zip(places)
        .map(|(id, place)| {
            let mut random = Random::of("item", id);
            let from_end = (size.news - id) as f64 + random.unit();
            let is_long = id == long_thread(size);
            Item {
                author: active_user(&mut random, size),
                ctime: now.0 - 1 - (from_end * spacing) as u64,
                host: (!random.chance(TEXTS)).then(|| random.skewed(size.hosts, HOST_SKEW)),
                votes: votes[place as usize],
                comments: if is_long { size.long_thread } else { comments[place as usize] },
                tweet: None,
            }
        })
        .collect()
}

/// Tweets of people, and those that announce news, in the order of time.
fn plan_tweets(size: &Size, now: Timestamp, items: &mut [Item]) -> Vec<Tweet> {
    let mut tweets: Vec<Tweet> = (1_u64..)
        .zip(items.iter())
        .filter(|(id, _)| id % ANNOUNCED == 0)
        .map(|(id, item)| Tweet { author: item.author, time_ms: item.ctime * 1_000, news: Some(id) })
        .collect();
    let texts = size.tweets - tweets.len() as u64;
    tweets.extend((0..texts).map(|number| {
        let mut random = Random::of("tweet", number);
        let age_ms = 1_000 + random.below(AGE_SECONDS * 1_000 - 2_000);
        let author = 1 + random.skewed(size.active_users(), 1.5);
        Tweet { author, time_ms: now.0 * 1_000 - age_ms, news: None }
    }));
    tweets.sort_by_key(|tweet| (tweet.time_ms, tweet.news));
    let mut last = 0;
    for (id, tweet) in (1..).zip(&mut tweets) {
        // Each at a time of its own.
        tweet.time_ms = tweet.time_ms.max(last + 1);
        last = tweet.time_ms;
        if let Some(news) = tweet.news {
            items[news as usize - 1].tweet = Some(id);
        }
    }
    tweets
}
