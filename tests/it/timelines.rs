//! Timelines against a plain recomputation from who follows whom: whatever
//! happens, in whatever order, every reader sees exactly the tweets of those
//! they follow and their own, newest first, on however many pages.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use proptest::prelude::*;
use tidings_domain::accounts::account::Owner;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::sessions;
use tidings_domain::accounts::signup::{add_account, add_account_with_password};
use tidings_domain::deactivation::{Writings, deactivate};
use tidings_domain::moderation::{self, ModerationRequest};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::store_check::{self, Part};
use tidings_domain::timelines::follows::{follow, unfollow};
use tidings_domain::timelines::reading;
use tidings_domain::timelines::tweets::{delete_tweet, post_tweet};
use tidings_domain::values::{
    Deed, ModerationId, Moment, NewPassword, RateRules, Reason, Rules, Thing, TimelineRules, TweetId,
    TweetText, Username, Window,
};
use tidings_domain::{Site, User, Visit, background, home_servers};
use tidings_keyspace::{Batch, EngineClock, Order, SetRead, Store, StoreOptions, read};

use crate::redis_server::{RedisCluster, RedisServer};
use crate::server::actor;

const USERS: u64 = 5;
/// The account of a moderator, who does nothing else.
const MODERATOR: u64 = USERS + 1;
const PASSWORD: &str = "correct horse";
const DAY_MS: u64 = 86_400_000;
/// So small that timelines are longer than what is stored.
const HOME_SIZE: u64 = 6;
/// Readers per page: few, so that there are many pages.
const PAGE: usize = 4;

/// A store with some users, and what must be in it.
struct World {
    /// Servers on one store, by where they keep home timelines, with different limits.
    sites: Vec<Vec<Arc<Site>>>,
    now: u64,
    /// Which of the sites the next actions go to: its home timelines, and its limit.
    place: usize,
    at: usize,
    follows: BTreeSet<(u64, u64)>,
    /// Author and milliseconds of each tweet.
    tweets: BTreeMap<u64, (u64, u64)>,
    /// The same of the tweets that are removed, and the lines of the log that say so.
    removed: BTreeMap<u64, ((u64, u64), ModerationId)>,
    gone: BTreeSet<u64>,
    /// The URLs of servers for home timelines apart from the store; an empty one is the store.
    places: Vec<String>,
}

#[derive(Debug, Clone)]
enum Step {
    Follow(u64, u64),
    Unfollow(u64, u64),
    Tweet(u64),
    /// The how-many-th of the tweets there are.
    Delete(usize),
    /// A moderator removes a tweet, or puts one back.
    Remove(usize),
    Restore(usize),
    Deactivate(u64),
    /// Changes the limit for authors whose tweets are delivered.
    Limit(usize),
    /// A user stays away for longer than deliveries are made.
    StayAway(u64),
    /// Reads a page. It may lack tweets that are being delivered, but contains no wrong ones.
    Look(u64),
    Wait(u64),
    /// The background catches up.
    Deliver,
    /// Servers that keep home timelines elsewhere go on.
    Point(usize),
    /// Servers of home timelines lose that of a user.
    Lose(u64),
}

fn user() -> impl Strategy<Value = u64> {
    1..=USERS
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (user(), user()).prop_map(|(reader, author)| Step::Follow(reader, author)),
        3 => (user(), user()).prop_map(|(reader, author)| Step::Unfollow(reader, author)),
        10 => user().prop_map(Step::Tweet),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::Delete(index.index(64))),
        4 => any::<prop::sample::Index>().prop_map(|index| Step::Remove(index.index(64))),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::Restore(index.index(64))),
        1 => user().prop_map(Step::Deactivate),
        2 => (0..LIMITS.len()).prop_map(Step::Limit),
        1 => user().prop_map(Step::StayAway),
        3 => user().prop_map(Step::Look),
        4 => (0..3_u64).prop_map(Step::Wait),
        3 => Just(Step::Deliver),
        2 => (0..3_usize).prop_map(Step::Point),
        1 => user().prop_map(Step::Lose),
    ]
}

const LIMITS: [u64; 4] = [1_000, 0, 1, 2];

async fn open(url: &str) -> Store {
    let options = StoreOptions { timeout: std::time::Duration::from_secs(20), ..StoreOptions::default() };
    Store::open(url, &options).await.unwrap()
}

impl World {
    async fn new(store: Store, home_size: u64) -> Self {
        Self::with_homes_at(store, home_size, &[String::new()]).await
    }

    /// A world with servers that keep home timelines at some places.
    async fn with_homes_at(store: Store, home_size: u64, places: &[String]) -> Self {
        let site = |place: &String, pull_limit| {
            let timelines = TimelineRules { pull_limit, home_size, ..TimelineRules::default() };
            let rules = Rules { timelines, rates: RateRules::off(), ..Rules::default() };
            let site = Site::new(store.clone(), rules, PasswordWorker::new(1, 1_000));
            Arc::new(site.with_homes_at(place).unwrap())
        };
        let at = |place| LIMITS.into_iter().map(|limit| site(place, limit)).collect();
        let sites: Vec<Vec<_>> = places.iter().map(at).collect();
        let first = &sites[0][0];
        let now = 1_800_000_000_000;
        let password = NewPassword::parse(PASSWORD).unwrap();
        let name = |user: u64| Username::parse(&name_of(user)).unwrap();
        let start = Moment(now).timestamp();
        add_account_with_password(first, start, &name(1), &password).await.unwrap();
        let hash = store.fetch(read::hash_fields("user:1", ["password"])).await.unwrap()[0].clone().unwrap();
        for user in 2..=MODERATOR {
            add_account(first, start, &name(user)).await.unwrap();
        }
        let mut batch = Batch::new();
        batch.set_field(format!("user:{MODERATOR}"), "flags", "m");
        batch.set_field("user:1", "flags", "");
        for user in 1..=MODERATOR {
            batch.set_field(format!("user:{user}"), "password", &hash);
            batch.set(format!("auth:{}", token_of(user)), user.to_string());
            batch.set_field(format!("user:{user}"), "auth", token_of(user));
        }
        store.commit(batch).await.unwrap();
        Self {
            now,
            place: 0,
            at: 0,
            follows: BTreeSet::new(),
            tweets: BTreeMap::new(),
            removed: BTreeMap::new(),
            gone: BTreeSet::new(),
            places: places.to_vec(),
            sites,
        }
    }

    /// Deletes the home timeline of a user from the servers apart from the store.
    async fn lose_home(&self, user: u64) {
        for url in self.places.iter().filter(|url| !url.is_empty()) {
            let sets = home_servers::open(url).unwrap();
            sets.delete(vec![format!("user:{user}:home_timeline")]).await.unwrap();
        }
    }

    fn site(&self) -> &Arc<Site> {
        &self.sites[self.place][self.at]
    }

    fn visit(&self, user: u64) -> Visit {
        Visit::new(self.site().clone(), Moment(self.now).timestamp(), Some(&token_of(user)))
    }

    async fn user(&self, user: u64) -> User {
        self.visit(user).viewer().await.unwrap().unwrap().clone()
    }

    async fn take(&mut self, step: &Step) {
        let now = Moment(self.now);
        let alive = |user: &u64| !self.gone.contains(user);
        match *step {
            Step::Follow(reader, author) if alive(&reader) => {
                let followed =
                    follow(self.site(), now, actor(&self.user(reader).await), &name_of(author)).await;
                let possible = reader != author && alive(&author);
                assert_eq!(followed.is_ok(), possible, "{followed:?}");
                if possible {
                    self.follows.insert((reader, author));
                }
            }
            Step::Unfollow(reader, author) if alive(&reader) => {
                let unfollowed =
                    unfollow(self.site(), now, actor(&self.user(reader).await), &name_of(author)).await;
                assert_eq!(unfollowed.is_ok(), alive(&author), "{unfollowed:?}");
                self.follows.remove(&(reader, author));
            }
            Step::Tweet(author) if alive(&author) => {
                let text = TweetText::parse("a tweet").unwrap();
                let id =
                    post_tweet(self.site(), now, actor(&self.user(author).await), &text).await.unwrap().id;
                self.tweets.insert(id.0, (author, self.now));
            }
            Step::Delete(number) if !self.tweets.is_empty() => {
                let (id, (author, _)) = self.tweets.iter().nth(number % self.tweets.len()).unwrap();
                let (id, author) = (*id, *author);
                delete_tweet(self.site(), &self.user(author).await, TweetId(id)).await.unwrap();
                self.tweets.remove(&id);
            }
            Step::Remove(number) if !self.tweets.is_empty() => {
                let (id, tweet) = self.tweets.iter().nth(number % self.tweets.len()).unwrap();
                let (id, tweet) = (*id, *tweet);
                let moderator = self.user(MODERATOR).await;
                let request = ModerationRequest {
                    deed: Deed::Remove,
                    thing: Thing::Tweet(TweetId(id)),
                    reason: Reason::parse("spam").unwrap(),
                    anonymous: false,
                    seen: None,
                };
                let line = moderation::moderate(self.site(), now, &moderator, &request).await.unwrap();
                self.tweets.remove(&id);
                self.removed.insert(id, (tweet, line));
            }
            Step::Restore(number) if !self.removed.is_empty() => {
                let (id, (tweet, line)) = self.removed.iter().nth(number % self.removed.len()).unwrap();
                let (id, tweet, line) = (*id, *tweet, *line);
                let (moderator, reason) = (self.user(MODERATOR).await, Reason::parse("a mistake").unwrap());
                let undone = moderation::undo(self.site(), now, &moderator, (line, &reason, false)).await;
                assert_eq!(undone.is_ok(), alive(&tweet.0), "{undone:?}");
                if undone.is_ok() {
                    self.removed.remove(&id);
                    self.tweets.insert(id, tweet);
                }
            }
            Step::Deactivate(user) if alive(&user) => {
                let device = &Device::new("", IpAddr::V4(Ipv4Addr::LOCALHOST));
                let user_now = &self.user(user).await;
                let at = now.timestamp();
                let log_in = sessions::log_in(self.site(), at, &user_now.username, PASSWORD, device);
                let token = log_in.await.unwrap().auth;
                let mut visit = Visit::new(self.site().clone(), at, Some(token.expose()));
                visit.recognise().await.unwrap();
                let owner = Owner { user: user_now, session: visit.session().unwrap(), device };
                deactivate(self.site(), now, owner, PASSWORD, Writings::Keep).await.unwrap();
                self.gone.insert(user);
                self.follows.retain(|(reader, author)| *reader != user && *author != user);
                self.tweets.retain(|_, (author, _)| *author != user);
            }
            Step::Limit(at) => self.at = at,
            Step::StayAway(user) if alive(&user) => {
                let long_ago = (self.now - 31 * DAY_MS) / 1_000;
                let mut batch = Batch::new();
                batch.set_field(format!("user:{user}"), "seen_time", long_ago.to_string());
                self.site().store.commit(batch).await.unwrap();
            }
            Step::Look(reader) if alive(&reader) => {
                let (mut seen, expected) = (self.seen(reader).await, self.expected(reader));
                seen.retain(|id| !self.removed.contains_key(id));
                let mut rest = expected.iter();
                assert!(seen.iter().all(|id| rest.any(|other| other == id)), "{seen:?} of {expected:?}");
            }
            Step::Wait(milliseconds) => self.now += milliseconds,
            Step::Deliver => background::finish_waiting(self.site(), now).await.unwrap(),
            Step::Point(place) => self.place = place % self.places.len(),
            Step::Lose(user) => self.lose_home(user).await,
            _ => {}
        }
    }

    /// The ids of the tweets that a reader must see, newest first.
    fn expected(&self, reader: u64) -> Vec<u64> {
        let mut tweets: Vec<(u64, u64)> = self
            .tweets
            .iter()
            .filter(|(_, (author, _))| *author == reader || self.follows.contains(&(reader, *author)))
            .map(|(id, (_, time))| (*time, *id))
            .collect();
        tweets.sort_unstable();
        tweets.into_iter().rev().map(|(_, id)| id).collect()
    }

    /// The ids of the tweets that a reader sees on all pages.
    async fn seen(&self, reader: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        let mut window = Window::newest(PAGE);
        loop {
            let page = reading::home(&mut self.visit(reader), &window).await.unwrap().unwrap();
            // Removed tweets are not shown, and leave the timelines soon after.
            let read = page.lines.len() + page.unlisted;
            assert!(read == PAGE || page.next.is_none(), "a short page in the middle");
            seen.extend(page.lines.iter().map(|line| line.tweet.id.0));
            window.before = page.next;
            if page.next.is_none() {
                return seen;
            }
        }
    }

    /// When the background has caught up, everything is as it must be.
    ///
    /// Wherever home timelines are from then on, and once those that are absent are made.
    async fn check(&mut self) {
        self.settle().await;
        for place in (self.place..self.places.len()).chain(0..self.place) {
            self.place = place;
            for made in [false, true] {
                for reader in (1..=USERS).filter(|user| !self.gone.contains(user)) {
                    let (seen, expected) = (self.seen(reader).await, self.expected(reader));
                    assert_eq!(seen, expected, "reader {reader}, {made}, {:?}", self.places[place]);
                }
                // Absent timelines are made, and an inactive user may be active again.
                self.settle().await;
            }
            assert_eq!(self.differences(false).await, 0);
            for user in (1..=USERS).filter(|user| !self.gone.contains(user)) {
                let stored = self.home_count(user).await;
                // On a server of their own, some wait to be trimmed, and their mark is with them.
                let most = if self.places[place].is_empty() { HOME_SIZE } else { HOME_SIZE + 101 };
                assert!(stored.is_some_and(|stored| stored <= most), "{stored:?} of {user}");
            }
        }
        for user in &self.gone {
            for key in ["followers", "followings", "user_timeline", "home_timeline", "mentions"] {
                assert_eq!(self.count(&format!("user:{user}:{key}")).await, 0, "{key} of {user}");
            }
        }
        let stored = self.count("global_timeline").await;
        assert_eq!(stored, u64::try_from(self.tweets.len()).unwrap());
    }

    /// Lets the background finish everything, also what it has put off.
    async fn settle(&mut self) {
        loop {
            background::finish_waiting(self.site(), Moment(self.now)).await.unwrap();
            if self.count("timeline:jobs").await == 0 {
                return;
            }
            self.now += 1_000;
        }
    }

    /// How many entries a stored home timeline has where home timelines are now; `None` if it is elsewhere.
    async fn home_count(&self, user: u64) -> Option<u64> {
        let key = format!("user:{user}:home_timeline");
        let at = self
            .site()
            .store
            .fetch(read::hash_fields(format!("user:{user}"), ["home_at"]))
            .await
            .unwrap()
            .remove(0);
        let url = &self.places[self.place];
        if url.is_empty() {
            return Some(self.count(&key).await).filter(|_| at.is_none());
        }
        // A delivery that was under way may have left something behind.
        assert!(self.places.len() > 1 || self.count(&key).await == 0, "left in the store");
        let read = SetRead { key, bounds: (f64::NEG_INFINITY, f64::INFINITY), limit: u64::MAX, keep: 800 };
        let homes = home_servers::open(url).unwrap().read(vec![read]).await.unwrap();
        let is_there = homes[0].entries.iter().any(|(member, _)| at.as_ref().unwrap().ends_with(member));
        is_there.then(|| u64::try_from(homes[0].entries.len()).unwrap())
    }

    async fn count(&self, key: &str) -> u64 {
        self.site().store.fetch(read::sorted_count(key)).await.unwrap()
    }

    /// How many differences a check finds, and does not mend.
    async fn differences(&self, repair: bool) -> u64 {
        let (site, now) = (self.site(), Moment(self.now));
        store_check::check(site, Part::Timelines, now, repair, |_| {}).await.unwrap().left()
    }
}

fn name_of(user: u64) -> String {
    format!("user-{user}")
}

fn token_of(user: u64) -> String {
    format!("{user:040}")
}

/// Runs random stories, each on a fresh store.
fn random_stories(cases: u32, fresh: impl AsyncFn() -> World) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig { cases, max_shrink_iters: 500, ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..60))| {
        runtime.block_on(async {
            let mut world = fresh().await;
            for step in &steps {
                world.take(step).await;
            }
            world.check().await;
        });
    });
}

#[test]
fn every_reader_sees_what_follows_from_the_graph_on_the_embedded_engine() {
    random_stories(80, async || World::new(open("redb::memory:").await, HOME_SIZE).await);
}

#[test]
fn every_reader_sees_what_follows_from_the_graph_on_redis() {
    let server = RedisServer::start();
    random_stories(40, async || {
        assert!(server.send(b"FLUSHALL").starts_with("+OK"));
        World::new(open(&server.url()).await, HOME_SIZE).await
    });
}

#[test]
fn every_reader_sees_what_follows_from_the_graph_with_homes_apart() {
    let server = RedisServer::start();
    random_stories(60, async || {
        assert!(server.send(b"FLUSHALL").starts_with("+OK"));
        let places = ["", "/1", "/2"].map(|database| format!("{}{database}", server.url()));
        World::with_homes_at(open("redb::memory:").await, HOME_SIZE, &places).await
    });
}

#[test]
fn every_reader_sees_what_follows_from_the_graph_with_homes_on_a_cluster() {
    let cluster = RedisCluster::start();
    let store = RedisServer::start();
    random_stories(20, async || {
        assert!(store.send(b"FLUSHALL").starts_with("+OK"));
        for master in cluster.masters() {
            assert!(cluster.node(master).send(b"FLUSHALL").starts_with("+OK"));
        }
        let places = [cluster.url(), String::new()];
        World::with_homes_at(open(&store.url()).await, HOME_SIZE, &places).await
    });
}

/// Many act at once, on two servers with different limits, which may keep home timelines at different places, while the
/// background works. Afterwards everything fits together.
async fn crowd(mut world: World) {
    let clock = EngineClock::System;
    let sites = [&world.sites[0][0], &world.sites[world.places.len() - 1][1]].map(Arc::clone);
    let work = |site: &Arc<Site>| tokio::spawn(background::run(site.clone(), clock.clone()));
    let workers: Vec<_> = sites.iter().map(work).collect();
    let mut users = Vec::new();
    for user in 1..=USERS {
        users.push(world.user(user).await);
    }
    let world_now = world.now;
    let actions = (0..16_u64).map(|task| {
        let (sites, users) = (sites.clone(), users.clone());
        tokio::spawn(async move {
            let text = TweetText::parse("a tweet").unwrap();
            for round in 0..25_u64 {
                let site = &sites[usize::try_from((task + round) % 2).unwrap()];
                let now = Moment(world_now + round * 3 + task % 3);
                let me = &users[usize::try_from((task * 7 + round) % USERS).unwrap()];
                let other = name_of((task + round * 3) % USERS + 1);
                match (task + round) % 4 {
                    0 => drop(follow(site, now, actor(me), &other).await),
                    1 => unfollow(site, now, actor(me), &other).await.unwrap(),
                    2 => {
                        let id = post_tweet(site, now, actor(me), &text).await.unwrap().id;
                        if round % 5 == 0 {
                            delete_tweet(site, me, id).await.unwrap();
                        }
                    }
                    _ => _ = post_tweet(site, now, actor(me), &text).await.unwrap(),
                }
            }
        })
    });
    for action in actions.collect::<Vec<_>>() {
        action.await.unwrap();
    }
    for worker in workers {
        worker.abort();
        let _ = worker.await;
    }
    world.now += 1_000;
    world.read_back().await;
    // By now, other workers may take over the jobs that the stopped workers held leases on.
    world.release_leases().await;
    world.check().await;
}

impl World {
    /// Reads the tweets and follows from the store, which knows the order of concurrent ones.
    async fn read_back(&mut self) {
        let store = self.site().store.clone();
        let last: u64 = store.fetch(read::string("tweet:ids")).await.unwrap().unwrap().parse().unwrap();
        for id in 1..=last {
            let tweet = store.fetch(read::hash(format!("tweet:{id}"))).await.unwrap();
            if let (Some(author), Some(time)) = (tweet.get("user_id"), tweet.get("created_at")) {
                let time = time.parse::<f64>().unwrap() * 1_000.0;
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                self.tweets.insert(id, (author.parse().unwrap(), time.round() as u64));
            }
        }
        for reader in 1..=USERS {
            for (author, _) in store
                .fetch(read::sorted_range(format!("user:{reader}:followings"), Order::Ascending, 0, 99))
                .await
                .unwrap()
            {
                self.follows.insert((reader, author.parse().unwrap()));
            }
        }
    }

    async fn release_leases(&self) {
        let store = &self.site().store;
        let mut batch = Batch::new();
        let jobs = read::sorted_range("timeline:jobs", Order::Ascending, 0, 9_999);
        for (job, _) in store.fetch(jobs).await.unwrap() {
            batch.delete_field("queue:leases", job);
        }
        store.commit(batch).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_loses_and_doubles_nothing_on_the_embedded_engine() {
    crowd(World::new(open("redb::memory:").await, HOME_SIZE).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_loses_and_doubles_nothing_on_redis() {
    let server = RedisServer::start();
    crowd(World::new(open(&server.url()).await, HOME_SIZE).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_loses_and_doubles_nothing_with_homes_on_a_cluster() {
    let (store, cluster) = (RedisServer::start(), RedisCluster::start());
    crowd(World::with_homes_at(open(&store.url()).await, HOME_SIZE, &[cluster.url()]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_loses_and_doubles_nothing_on_servers_with_homes_at_different_places() {
    let server = RedisServer::start();
    let (store, homes) = (server.url(), format!("{}/1", server.url()));
    crowd(World::with_homes_at(open(&store).await, HOME_SIZE, &[homes, String::new()]).await).await;
}

#[tokio::test]
async fn a_new_follower_gets_the_newest_200_and_pages_to_the_rest() {
    let mut world = World::new(open("redb::memory:").await, 800).await;
    for _ in 0..3 {
        world.take(&Step::Tweet(3)).await;
        world.now += 1;
    }
    for _ in 0..250 {
        world.take(&Step::Tweet(2)).await;
        world.now += 1;
    }
    world.take(&Step::Follow(1, 3)).await;
    assert_eq!(world.count("user:1:home_timeline").await, 3);
    world.take(&Step::Follow(1, 2)).await;
    assert_eq!(world.count("user:1:home_timeline").await, 203);
    assert_eq!(world.seen(1).await, world.expected(1));
    assert_eq!(world.differences(false).await, 0);
    world.take(&Step::Unfollow(1, 2)).await;
    assert_eq!(world.count("user:1:home_timeline").await, 3);
    assert_eq!(world.seen(1).await, world.expected(1));
}

#[tokio::test]
async fn a_repair_delivers_tweets_of_authors_below_the_pull_limit_again() {
    let mut world = World::new(open("redb::memory:").await, 800).await;
    world.take(&Step::Follow(1, 2)).await;
    world.take(&Step::Limit(1)).await;
    world.take(&Step::Tweet(2)).await;
    assert_eq!(world.count("user:1:home_timeline").await, 0);
    assert_eq!(world.seen(1).await, world.expected(1));
    world.take(&Step::Limit(0)).await;
    assert_eq!(world.seen(1).await, world.expected(1));
    assert_eq!(world.differences(true).await, 0);
    assert_eq!(world.count("user:1:home_timeline").await, 1);
    assert_eq!(world.site().store.fetch(read::member_count("timeline:pulled")).await.unwrap(), 0);
    assert_eq!(world.seen(1).await, world.expected(1));
}

#[tokio::test]
async fn inactive_users_get_no_deliveries_until_they_return() {
    let mut world = World::new(open("redb::memory:").await, 800).await;
    world.take(&Step::Follow(1, 2)).await;
    world.take(&Step::Tweet(2)).await;
    background::finish_waiting(world.site(), Moment(world.now)).await.unwrap();
    world.take(&Step::StayAway(1)).await;
    world.now += 1;
    world.take(&Step::Tweet(2)).await;
    background::finish_waiting(world.site(), Moment(world.now)).await.unwrap();
    assert_eq!(world.count("user:1:home_timeline").await, 1);
    // Even if another limit would not call that a return: what was passed by is known.
    let seen = Moment(world.now).timestamp().to_string();
    let long_ago = Moment(world.now - 31 * DAY_MS).timestamp().to_string();
    for seen_time in [seen, long_ago] {
        let mut batch = Batch::new();
        batch.set_field("user:1", "seen_time", seen_time);
        world.site().store.commit(batch).await.unwrap();
        assert_eq!(world.seen(1).await, world.expected(1));
    }
    // The very first look is complete, and what is stored is complete soon after.
    assert_eq!(world.seen(1).await, world.expected(1));
    background::finish_waiting(world.site(), Moment(world.now)).await.unwrap();
    assert_eq!(world.count("user:1:home_timeline").await, 2);
    assert_eq!(world.seen(1).await, world.expected(1));
    assert_eq!(world.site().store.fetch(read::scores("timeline:floors", ["1"])).await.unwrap(), [None]);
}

#[tokio::test]
async fn a_tweet_of_the_second_in_which_its_author_leaves_goes_with_the_author() {
    let server = RedisServer::start();
    let mut world = World::with_homes_at(open("redb::memory:").await, HOME_SIZE, &[server.url()]).await;
    for step in [Step::Wait(1), Step::Tweet(5), Step::Follow(3, 5), Step::Deactivate(5), Step::Look(3)] {
        world.take(&step).await;
    }
    world.check().await;
}
