//! Timelines: tweets accepted, deliveries, and how long the last follower waits,
//! on both engines; how many deliveries home timelines take on a server and on a
//! cluster of their own; and an author with very many followers there, also while a master
//! dies. Pages are measured by the bench of the whole site.
//!
//! `cargo bench --bench timelines`; the Redis figures need a `redis-server`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::timelines::reading;
use tidings_domain::timelines::tweets::post_tweet;
use tidings_domain::values::{Moment, RateRules, Rules, TimelineRules, TweetText, Window};
use tidings_domain::{Site, User, Visit, background, jobs};
use tidings_keyspace::{
    Addition, Batch, EngineClock, Order, SetRead, ShardedSets, Store, StoreOptions, read,
};
use tidings_testing::redis_server::{RedisCluster, RedisServer};
use tidings_testing::server::actor;
use tokio::task::JoinSet;

/// Followers of the authors whose tweets are timed.
const FOLLOWERS: [u64; 3] = [10, 1_000, 10_000];
/// Tweets that are timed for each of them, one at a time.
const TIMED: u32 = 5;
/// Tweets of the author with most followers that are delivered together.
const DELIVERED: u64 = 20;
/// People who post at the same time, and for how long.
const POSTERS: u64 = 64;
const POSTING: Duration = Duration::from_secs(3);
/// Followers of the author whose tweets go to a cluster, and how many tweets.
const MANY_FOLLOWERS: u64 = 100_000;
const TWEETS_TO_MANY: u64 = 5;
/// How long after the tweets a master is killed.
const KILLED_AFTER: Duration = Duration::from_millis(500);
/// Home timelines apart from the store, all full, and how many members make them so.
const SETS: u64 = 2_000;
const FULL: u64 = 800;
/// Deliveries in one call, callers at the same time, and for how long.
const DELIVERED_TOGETHER: u64 = 1_000;
const DELIVERERS: u64 = 16;
const DELIVERING: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    measure("redb", &format!("redb:{}/bench.redb", folder.path().display())).await;
    let server = RedisServer::start();
    measure("redis", &server.url()).await;
    drop(server);
    println!("\nhome timelines of {FULL} apart from the store");
    let server = RedisServer::start();
    measure_sets("one Redis", &server.url()).await;
    drop(server);
    let cluster = RedisCluster::start();
    measure_sets("a cluster of three masters and three replicas", &cluster.url()).await;
    drop(cluster);
    println!("\n{TWEETS_TO_MANY} tweets to {MANY_FOLLOWERS} followers, by one server of the site");
    measure_many(None).await;
    measure_many(Some(RedisCluster::start())).await;
}

/// Tweets of an author with very many followers, with home timelines in the store, which is a Redis, or
/// on a cluster. There, a second run kills a master on the way.
#[allow(clippy::cast_precision_loss)]
async fn measure_many(cluster: Option<RedisCluster>) {
    let server = RedisServer::start();
    let homes = cluster.as_ref().map(RedisCluster::url).unwrap_or_default();
    let site = open_site(&server.url(), &homes).await;
    fill(&site.store, &[MANY_FOLLOWERS]).await;
    let worker = tokio::spawn(background::run(site.clone(), EngineClock::System));
    let each_second = |took: Duration| (TWEETS_TO_MANY * MANY_FOLLOWERS) as f64 / took.as_secs_f64();
    if cluster.is_some() {
        make_homes(&site, &homes).await;
    }
    let place = if cluster.is_some() { "homes on the cluster" } else { "homes in the store" };
    let took = post_to_many(&site, || ()).await;
    println!("{:<60} {:>10.0}", format!("deliveries per second, {place}"), each_second(took));
    if let Some(mut cluster) = cluster {
        let mut killed = 0;
        let took = post_to_many(&site, || killed = cluster.kill_master()).await;
        println!("{:<60} {:>10.0}", "the same, a master is killed on the way", each_second(took));
        cluster.wait_for_failover(killed);
        let lacking = homes_that_lack(&cluster.url(), TWEETS_TO_MANY * 2).await;
        println!("{:<60} {lacking:>10}", "followers who lack a tweet afterwards");
    }
    worker.abort();
    site.store.close().await;
}

/// Posts tweets, does something on the way, and waits until all are delivered.
async fn post_to_many(site: &Arc<Site>, on_the_way: impl FnOnce()) -> Duration {
    let author = user(site, 1).await;
    let begun = Instant::now();
    for _ in 0..TWEETS_TO_MANY {
        post_tweet(site, now(), actor(&author), &text()).await.unwrap();
    }
    tokio::time::sleep(KILLED_AFTER.saturating_sub(begun.elapsed())).await;
    tokio::task::block_in_place(on_the_way);
    delivered(site).await;
    begun.elapsed()
}

/// Makes the home timelines of all followers, as if each had read it: that of the last one is made by the site.
async fn make_homes(site: &Arc<Site>, url: &str) {
    let last = 100 + MANY_FOLLOWERS;
    let mut visit = Visit::new(site.clone(), now().timestamp(), Some(&token(last)));
    reading::home(&mut visit, &Window::newest(1)).await.unwrap();
    delivered(site).await;
    let at: Option<String> = site.store.fetch(read::field(format!("user:{last}"), "home_at")).await.unwrap();
    let at = at.unwrap();
    let (_, mark) = at.rsplit_once(' ').unwrap();
    let sets = ShardedSets::open(url, Duration::from_secs(20)).await.unwrap();
    for chunk in (101..last).collect::<Vec<_>>().chunks(1_000) {
        let home = |user: &u64| Addition {
            key: format!("user:{user}:home_timeline"),
            members: vec![(mark.to_owned(), f64::INFINITY)],
        };
        sets.add(chunk.iter().map(home).collect(), FULL + 1).await.unwrap();
        let mut batch = Batch::new();
        chunk.iter().for_each(|user| batch.set_field(format!("user:{user}"), "home_at", &at));
        site.store.commit(batch).await.unwrap();
    }
}

/// How many followers do not have all tweets.
async fn homes_that_lack(url: &str, tweets: u64) -> usize {
    let sets = ShardedSets::open(url, Duration::from_secs(20)).await.unwrap();
    let bounds = (f64::NEG_INFINITY, f64::INFINITY);
    let read = |user: &u64| SetRead {
        key: format!("user:{user}:home_timeline"),
        bounds,
        limit: u64::MAX,
        keep: FULL,
    };
    let mut lacking = 0;
    for chunk in (101..=100 + MANY_FOLLOWERS).collect::<Vec<_>>().chunks(1_000) {
        let homes = sets.read(chunk.iter().map(read).collect()).await.unwrap();
        lacking += homes.iter().filter(|home| (home.entries.len() as u64) <= tweets).count();
    }
    lacking
}

/// Deliveries per second, each of one tweet to one home timeline.
#[allow(clippy::cast_precision_loss)]
async fn measure_sets(place: &str, url: &str) {
    let sets = ShardedSets::open(url, Duration::from_secs(20)).await.unwrap();
    let key = |set: u64| format!("user:{set}:home_timeline");
    for first in (0..SETS).step_by(50) {
        let members = || (0..FULL).map(|tweet| (tweet.to_string(), tweet as f64)).collect();
        let additions = (first..first + 50).map(|set| Addition { key: key(set), members: members() });
        sets.add(additions.collect(), FULL).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for deliverer in 0..DELIVERERS {
        let sets = sets.clone();
        tasks.spawn(async move {
            let mut delivered = 0;
            while begun.elapsed() < DELIVERING {
                // Ids of tweets have as many digits.
                let tweet = 1_000_000 + delivered * DELIVERERS + deliverer;
                let additions = (0..DELIVERED_TOGETHER).map(|number| Addition {
                    key: key((delivered + deliverer * 101 + number) % SETS),
                    members: vec![(tweet.to_string(), tweet as f64)],
                });
                sets.add(additions.collect(), FULL).await.unwrap();
                delivered += DELIVERED_TOGETHER;
            }
            delivered
        });
    }
    let delivered: u64 = tasks.join_all().await.into_iter().sum();
    let each_second = delivered as f64 / begun.elapsed().as_secs_f64();
    println!("{:<60} {each_second:>10.0}", format!("deliveries per second, {place}"));
}

async fn open_site(url: &str, homes: &str) -> Arc<Site> {
    let options = StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() };
    let store = Store::open(url, &options).await.unwrap();
    let timelines = TimelineRules { pull_limit: 1_000_000, ..TimelineRules::default() };
    let rules = Rules { timelines, rates: RateRules::off(), ..Rules::default() };
    Arc::new(Site::new(store, rules, PasswordWorker::default()).with_homes_at(homes).unwrap())
}

async fn measure(engine: &str, url: &str) {
    let site = open_site(url, "").await;
    fill(&site.store, &FOLLOWERS).await;
    let worker = tokio::spawn(background::run(site.clone(), EngineClock::System));
    println!("\n{engine}");
    for (author, followers) in (1..).zip(FOLLOWERS) {
        let waited = last_follower_waits(&site, author, followers).await;
        println!("{:<44} {waited:>10.2?}", format!("from tweet to last of {followers} followers"));
    }
    println!("{:<44} {:>10.0}", "deliveries per second", deliver(&site).await);
    println!("{:<44} {:>10.0}", "tweets accepted per second, 64 authors", post(&site).await);
    worker.abort();
    site.store.close().await;
}

fn token(user: u64) -> String {
    format!("{user:040}")
}

/// Authors from 1 on with so many followers each, who are the users from 101 on.
async fn fill(store: &Store, numbers: &[u64]) {
    let last = 100 + numbers.last().unwrap();
    for chunk in (1..=last).collect::<Vec<_>>().chunks(500) {
        let mut batch = Batch::new();
        for user in chunk {
            let name = format!("user-{user}");
            let fields = [
                ("id", user.to_string()),
                ("username", name.clone()),
                ("seen_time", now().timestamp().to_string()),
                ("karma_incr_time", now().timestamp().to_string()),
            ];
            batch.set_fields(format!("user:{user}"), fields);
            batch.set(format!("username.to.id:{name}"), user.to_string());
            batch.set(format!("auth:{}", token(*user)), user.to_string());
            for (author, &followers) in (1_u64..).zip(numbers) {
                if (101..=100 + followers).contains(user) {
                    let since = f64::from(u32::try_from(*user).unwrap());
                    batch.sorted_add(format!("user:{author}:followers"), user.to_string(), since);
                    batch.sorted_add(format!("user:{user}:followings"), author.to_string(), since);
                }
            }
        }
        batch.set("users.count", last.to_string());
        store.commit(batch).await.unwrap();
    }
}

fn now() -> Moment {
    Moment::now(&EngineClock::System)
}

async fn user(site: &Arc<Site>, user: u64) -> User {
    let mut visit = Visit::new(site.clone(), now().timestamp(), Some(&token(user)));
    visit.viewer().await.unwrap().unwrap().clone()
}

fn text() -> TweetText {
    TweetText::parse("A tweet of the usual length, about https://example.com/ and nothing much").unwrap()
}

/// Waits until nothing is left to be delivered.
async fn delivered(site: &Site) {
    loop {
        if jobs::status(site).await.unwrap().waiting.count == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

async fn last_follower_waits(site: &Arc<Site>, author: u64, followers: u64) -> Duration {
    let author = user(site, author).await;
    let last = 100 + followers;
    let mut waited = Duration::ZERO;
    for _ in 0..TIMED {
        let begun = Instant::now();
        let tweet = post_tweet(site, now(), actor(&author), &text()).await.unwrap().id;
        loop {
            let home = site
                .store
                .fetch(read::sorted_range(format!("user:{last}:home_timeline"), Order::Descending, 0, 1))
                .await
                .unwrap();
            if home.first().is_some_and(|(id, _)| *id == tweet.to_string()) {
                break;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        waited += begun.elapsed();
        delivered(site).await;
    }
    waited / TIMED
}

/// Deliveries in a second, of several tweets to very many followers.
#[allow(clippy::cast_precision_loss)]
async fn deliver(site: &Arc<Site>) -> f64 {
    let author = user(site, 3).await;
    let begun = Instant::now();
    for _ in 0..DELIVERED {
        post_tweet(site, now(), actor(&author), &text()).await.unwrap();
    }
    delivered(site).await;
    (DELIVERED * FOLLOWERS[2]) as f64 / begun.elapsed().as_secs_f64()
}

/// Tweets that are accepted in a second, from authors without followers.
#[allow(clippy::cast_precision_loss)]
async fn post(site: &Arc<Site>) -> f64 {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for poster in 0..POSTERS {
        let site = site.clone();
        tasks.spawn(async move {
            let author = user(&site, 101 + poster).await;
            let mut posted = 0_u64;
            while begun.elapsed() < POSTING {
                post_tweet(&site, now(), actor(&author), &text()).await.unwrap();
                posted += 1;
            }
            posted
        });
    }
    let posted: u64 = tasks.join_all().await.into_iter().sum();
    posted as f64 / begun.elapsed().as_secs_f64()
}
