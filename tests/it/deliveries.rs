//! Delivering a tweet to very many followers while servers are killed: each
//! follower has it, once.

use std::collections::BTreeSet;
use std::time::Duration;

use tidings_keyspace::{Batch, Order, Store, StoreOptions, read};

use crate::client::{Client, ids, ok};
use crate::program::{Program, open_again};
use crate::redis_server::RedisServer;
use crate::rolling::secret_of;
use tidings_testing::{until, until_ok};

pub(super) const FOLLOWERS: u64 = 20_000;
pub(super) const AUTHOR: u64 = 1;
/// More than there are: all of them are delivered to.
pub(super) const PULL_LIMIT: &str = "100000";
/// Milliseconds after which a server is killed that has just accepted a tweet.
pub(super) const KILLED_AFTER: [u64; 6] = [0, 10, 40, 90, 160, 250];

/// An author with very many followers, some of whom started to follow in the same second.
pub(super) async fn prepare(store: &Store) {
    let last = AUTHOR + FOLLOWERS;
    for chunk in (AUTHOR..=last).collect::<Vec<_>>().chunks(1_000) {
        let mut batch = Batch::new();
        batch.set("users.count", last.to_string());
        for user in chunk {
            let name = format!("user-{user}");
            let fields = [
                ("id", user.to_string()),
                ("username", name.clone()),
                ("auth", secret_of(*user)),
                ("apisecret", secret_of(*user)),
            ];
            batch.set_fields(format!("user:{user}"), fields);
            batch.set(format!("username.to.id:{name}"), user.to_string());
            batch.set(format!("auth:{}", secret_of(*user)), user.to_string());
            if *user != AUTHOR {
                let since = f64::from(u32::try_from(user / 3).unwrap());
                batch.sorted_add(format!("user:{AUTHOR}:followers"), user.to_string(), since);
                batch.sorted_add(format!("user:{user}:followings"), AUTHOR.to_string(), since);
            }
        }
        store.commit(batch).await.unwrap();
    }
    let mut batch = Batch::new();
    batch.sorted_add("users.by_followers", AUTHOR.to_string(), f64::from(u32::try_from(FOLLOWERS).unwrap()));
    store.commit(batch).await.unwrap();
}

/// A client of one of the accounts.
pub(super) fn client(program: &Program, user: u64) -> Client {
    let secret = secret_of(user);
    let mut client = program.visitor().with_secrets(Some(&secret), Some(&secret));
    client.user_id = user;
    client
}

fn start(store: &str) -> Program {
    Program::start_with(store, &[("TIDINGS_TIMELINES__PULL_LIMIT", PULL_LIMIT)])
}

pub(super) async fn tweet(program: &Program, text: &str) -> u64 {
    client(program, AUTHOR).tweet(text).await
}

/// Waits until the last follower has all tweets in the home timeline. A dead server's work is taken over within
/// 20 seconds.
pub(super) async fn wait_for_the_last(program: &Program, tweets: &BTreeSet<u64>) {
    // The highest score, and the highest member among those.
    let last = client(program, AUTHOR + FOLLOWERS);
    until_ok(async || {
        let page = ok(last.api_get("/api/timeline/home?count=100").await);
        let seen: BTreeSet<u64> = ids(&page["tweets"]).into_iter().collect();
        if seen.is_superset(tweets) { Ok(()) } else { Err(seen) }
    })
    .await;
}

/// Waits until no job is left. Only on a store that may be opened twice.
pub(super) async fn wait_for_jobs(store: &Store) {
    until(async || !has_jobs(store).await).await;
}

/// Whether jobs are left: a server that was killed now was killed in the middle of one.
pub(super) async fn has_jobs(store: &Store) -> bool {
    store.fetch(read::sorted_count("timeline:jobs")).await.unwrap() > 0
}

/// Every follower has every tweet, once, and nothing else.
async fn check(store: &Store, tweets: &BTreeSet<u64>) {
    let expected: Vec<String> = tweets.iter().map(ToString::to_string).collect();
    for chunk in (AUTHOR..=AUTHOR + FOLLOWERS).collect::<Vec<_>>().chunks(1_000) {
        let home =
            |user| read::sorted_range(format!("user:{user}:home_timeline"), Order::Ascending, 0, u64::MAX);
        let homes = store.fetch(chunk.iter().map(home).collect::<Vec<_>>()).await.unwrap();
        for (user, home) in chunk.iter().zip(homes) {
            let mut home: Vec<String> = home.into_iter().map(|(id, _)| id).collect();
            home.sort_by_key(|id| id.parse::<u64>().unwrap());
            assert_eq!(home, expected, "user {user}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_in_the_middle_of_a_delivery_loses_and_doubles_nothing_on_the_embedded_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.redb");
    let url = format!("redb:{}", path.display());
    let store = open_again(&path).await;
    prepare(&store).await;
    store.close().await;
    drop(store);
    let (mut tweets, mut interrupted) = (BTreeSet::new(), 0);
    for after in KILLED_AFTER {
        let mut program = start(&url);
        tweets.insert(tweet(&program, &format!("killed after {after} ms")).await);
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_millis(after)).await;
        program.kill();
        let store = open_again(&path).await;
        interrupted += usize::from(has_jobs(&store).await);
        store.close().await;
    }
    assert!(interrupted > 0, "no kill hit a delivery");
    let mut program = start(&url);
    tweets.insert(tweet(&program, "the last").await);
    wait_for_the_last(&program, &tweets).await;
    program.kill();
    let store = open_again(&path).await;
    check(&store, &tweets).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_deliveries_and_one_takes_over_from_a_dead_one() {
    let redis = RedisServer::start();
    let options = StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() };
    let store = Store::open(&redis.url(), &options).await.unwrap();
    prepare(&store).await;
    let survivor = start(&redis.url());
    let (mut tweets, mut interrupted) = (BTreeSet::new(), 0);
    for after in KILLED_AFTER {
        let mut program = start(&redis.url());
        tweets.insert(tweet(&program, &format!("killed after {after} ms")).await);
        tweets.insert(tweet(&survivor, "from the other").await);
        // Not synchronisation: a moment of its own for every kill.
        tokio::time::sleep(Duration::from_millis(after)).await;
        program.kill();
        interrupted += usize::from(has_jobs(&store).await);
    }
    assert!(interrupted > 0, "no kill hit a delivery");
    wait_for_the_last(&survivor, &tweets).await;
    wait_for_jobs(&store).await;
    check(&store, &tweets).await;
}
