//! The engines on the access patterns that matter: a logged-in front page, a
//! long thread, a page of a large ranking, and votes.
//!
//! `cargo bench --bench engine`; the Redis figures need a `redis-server`.

#![allow(clippy::unwrap_used)]

use divan::Bencher;
use std::sync::LazyLock;
use tidings_keyspace::{Batch, Order, Store, StoreOptions, read};
use tidings_testing::engines::{self, ENGINES};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// News items in the store, and on a page.
const NEWS: usize = 20_000;
const PAGE: usize = 30;
const COMMENTS: usize = 500;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static REDB: LazyLock<Store> = LazyLock::new(|| filled_store("redb"));
static REDIS: LazyLock<Store> = LazyLock::new(|| filled_store("redis"));

fn main() {
    divan::main();
    engines::end();
}

fn store(engine: &str) -> &'static Store {
    if engine == "redis" { &REDIS } else { &REDB }
}

/// A store as a busy site has it.
fn filled_store(engine: &str) -> Store {
    RUNTIME.block_on(async {
        let url = engines::url_of_empty_store(engine, env!("CARGO_TARGET_TMPDIR"));
        let store = Store::open(&url, &StoreOptions::default()).await.unwrap();
        for chunk in (0..NEWS).collect::<Vec<_>>().chunks(500) {
            let mut batch = Batch::new();
            for id in chunk {
                batch.set_fields(
                    format!("news:{id}"),
                    [
                        ("id", id.to_string()),
                        ("title", format!("A title of the usual length, number {id}")),
                        ("url", format!("https://example.org/articles/2024/some-article-{id}.html")),
                        ("user_id", (id % 100).to_string()),
                        ("ctime", (1_700_000_000 + id).to_string()),
                        ("score", "12.5".to_owned()),
                        ("rank", "0.01234".to_owned()),
                        ("up", "12".to_owned()),
                        ("down", "1".to_owned()),
                        ("comments", "3".to_owned()),
                    ],
                );
                let rank = f64::from(u32::try_from(*id).unwrap());
                batch.sorted_add("news.top", id.to_string(), rank);
                for voter in 0..5 {
                    batch.sorted_add(format!("news.up:{id}"), voter.to_string(), 1.7e9);
                }
                batch.sorted_add(format!("news.down:{id}"), "1000", 1.7e9);
                batch.set_fields(format!("user:{id}"), [("karma", "100"), ("username", "somebody")]);
            }
            store.commit(batch).await.unwrap();
        }
        let comment = format!("{{\"body\":\"{}\",\"ctime\":1700000000}}", "word ".repeat(55));
        let mut batch = Batch::new();
        for id in 0..COMMENTS {
            batch.set_field("thread:comment:1", id.to_string(), comment.as_str());
        }
        store.commit(batch).await.unwrap();
        store
    })
}

/// The viewer's account, 30 news items, and whether the viewer voted on each.
#[divan::bench(args = ENGINES)]
fn logged_in_front_page(bencher: Bencher<'_, '_>, engine: &str) {
    let store = store(engine);
    bencher.bench(|| {
        let story = |id| {
            let votes = ["up", "down"].map(|way| read::scores(format!("news.{way}:{id}"), ["7"]));
            (read::hash(format!("news:{id}")), votes)
        };
        let stories: Vec<_> = (NEWS - PAGE..NEWS).map(story).collect();
        RUNTIME.block_on(store.fetch((read::hash("user:7"), stories))).unwrap()
    });
}

#[divan::bench(args = ENGINES)]
fn thread_of_500_comments(bencher: Bencher<'_, '_>, engine: &str) {
    let store = store(engine);
    bencher.bench(|| RUNTIME.block_on(store.fetch(read::hash("thread:comment:1"))).unwrap());
}

fn ranking(bencher: Bencher<'_, '_>, engine: &str, offset: u64) {
    let store = store(engine);
    bencher.bench(|| {
        let page = read::sorted_range("news.top", Order::Descending, offset, 30);
        RUNTIME.block_on(store.fetch(page)).unwrap()
    });
}

#[divan::bench(args = ENGINES)]
fn ranking_first_page(bencher: Bencher<'_, '_>, engine: &str) {
    ranking(bencher, engine, 0);
}

#[divan::bench(args = ENGINES)]
fn ranking_at_offset_3000(bencher: Bencher<'_, '_>, engine: &str) {
    ranking(bencher, engine, 3000);
}

/// Four checks and ten writes, as a vote makes them.
fn vote(number: usize) -> Batch {
    let news = number % NEWS;
    let (voter, author) = (format!("voter{number}"), (number * 7) % NEWS);
    let mut batch = Batch::new();
    batch.key_present(format!("news:{news}"));
    batch.sorted_member_absent(format!("news.up:{news}"), voter.as_str());
    batch.sorted_member_absent(format!("news.down:{news}"), voter.as_str());
    batch.field_at_least(format!("user:{author}"), "karma", 1);
    batch.sorted_add(format!("news.up:{news}"), voter.as_str(), 1.7e9);
    batch.increment_field(format!("news:{news}"), "up", 1);
    batch.set_fields(format!("news:{news}"), [("score", "13.5"), ("rank", "0.0134")]);
    batch.sorted_add("news.top", news.to_string(), 0.0134);
    batch.increment_field(format!("user:{author}"), "karma", 1);
    batch.sorted_add(format!("user.saved:{voter}"), news.to_string(), 1.7e9);
    batch.set_field(format!("user:{author}"), "karma_incr_time", "1700000000");
    batch.add_member("voters", voter.as_str());
    batch.set(format!("last:{voter}"), "1700000000");
    batch.increment("votes", 1);
    batch
}

/// Numbers of votes, none twice.
static VOTES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn next_vote() -> Batch {
    vote(VOTES.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

#[divan::bench(args = ENGINES)]
fn one_vote(bencher: Bencher<'_, '_>, engine: &str) {
    let store = store(engine);
    bencher.with_inputs(next_vote).bench_values(|batch| RUNTIME.block_on(store.commit(batch)).unwrap());
}

/// The time of 64 votes that are made at once.
#[divan::bench(args = ENGINES)]
fn votes_from_64_tasks(bencher: Bencher<'_, '_>, engine: &str) {
    let store = store(engine);
    bencher.counter(divan::counter::ItemsCount::new(64_usize)).bench(|| {
        RUNTIME.block_on(async {
            let mut tasks = JoinSet::new();
            for _ in 0..64 {
                tasks.spawn(async move { store.commit(next_vote()).await.unwrap() });
            }
            tasks.join_all().await
        })
    });
}
