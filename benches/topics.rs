//! Lists of topics on a large site: 100,000 articles in 1,000 topics of 100
//! each, and some topics that are much larger.
//!
//! `cargo bench --bench topics`; the Redis figures need a `redis-server`.

#![allow(clippy::unwrap_used)]

use divan::Bencher;
use std::sync::{Arc, LazyLock};
use tidings_domain::articles::lists::{self, ArticleOrder, PageNumber};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{ARTICLES_PER_PAGE, Rules, Timestamp};
use tidings_domain::{Site, Visit};
use tidings_keyspace::{Batch, Store, StoreOptions};
use tidings_testing::engines::{self, ENGINES};
use tokio::runtime::Runtime;

const ARTICLES: u64 = 100_000;
const NOW: Timestamp = Timestamp(1_800_000_000);

/// Topics and what they hold: 100 articles, 10,000, 50,000, all 100,000.
const TOPICS: [&str; 4] = ["topic-7", "tenth", "half", "all"];
/// Intersections of several topics, and unions.
const CHOICES: [&str; 4] = ["all+half", "all+topic-7", "topic-1,topic-2,topic-3", "all,half"];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static REDB: LazyLock<Arc<Site>> = LazyLock::new(|| filled_site("redb"));
static REDIS: LazyLock<Arc<Site>> = LazyLock::new(|| filled_site("redis"));

fn main() {
    divan::main();
    engines::end();
}

fn site(engine: &str) -> Arc<Site> {
    if engine == "redis" { REDIS.clone() } else { REDB.clone() }
}

/// A site as many years leave it.
fn filled_site(engine: &str) -> Arc<Site> {
    RUNTIME.block_on(async {
        let url = engines::url_of_empty_store(engine, env!("CARGO_TARGET_TMPDIR"));
        let store = Store::open(&url, &StoreOptions::default()).await.unwrap();
        for chunk in (1..=ARTICLES).collect::<Vec<_>>().chunks(1_000) {
            let mut batch = Batch::new();
            for id in chunk {
                insert(&mut batch, *id);
            }
            store.commit(batch).await.unwrap();
        }
        Arc::new(Site::new(store, Rules::default(), PasswordWorker::default()))
    })
}

fn insert(batch: &mut Batch, id: u64) {
    let (name, time) = (format!("article:{id}"), NOW.0 - ARTICLES * 60 + id * 60);
    let votes = id * 7_919 % 300;
    let title = format!("A title of the usual length, number {id}");
    let link = format!("https://example.org/articles/2024/some-article-{id}.html");
    batch.set_fields(
        &name,
        [
            ("title", title.clone()),
            ("link", link.clone()),
            ("poster", format!("user:{}", id % 100 + 1)),
            ("time", time.to_string()),
            ("votes", votes.to_string()),
        ],
    );
    batch.set_fields(
        format!("news:{id}"),
        [
            ("id", id.to_string()),
            ("title", title),
            ("url", link),
            ("user_id", (id % 100 + 1).to_string()),
            ("ctime", time.to_string()),
        ],
    );
    batch.sorted_add("time:", &name, Timestamp(time).as_score());
    batch.sorted_add("score:", &name, Timestamp(time + 432 * votes).as_score());
    let mut topics = vec!["all".to_owned(), format!("topic-{}", id % 1_000)];
    if id.is_multiple_of(2) {
        topics.push("half".to_owned());
    }
    if id.is_multiple_of(10) {
        topics.push("tenth".to_owned());
    }
    for topic in topics {
        batch.add_member(format!("group:{topic}"), &name);
        batch.sorted_increment("topics", topic, 1.0);
    }
}

async fn read(site: &Arc<Site>, topics: &str, page: u64) -> usize {
    let mut visit = Visit::new(site.clone(), NOW, None);
    let (topics, page): (_, PageNumber) = (topics.parse().unwrap(), page.to_string().parse().unwrap());
    lists::of_topics(&mut visit, &topics, ArticleOrder::Score, page.of(ARTICLES_PER_PAGE))
        .await
        .unwrap()
        .lines
        .len()
}

/// Makes the next reader build the lists of the topics.
async fn remove_lists(site: &Arc<Site>, topics: &str) {
    let mut batch = Batch::new();
    for topic in topics.split(['+', ',']) {
        batch.delete(format!("score:{topic}"));
        batch.delete(format!("built:score:{topic}"));
    }
    site.store.commit(batch).await.unwrap();
}

/// A page of a cached list.
#[divan::bench(args = ENGINES, consts = [1, 100])]
fn a_page_of_a_list_that_is_kept<const PAGE: u64>(bencher: Bencher<'_, '_>, engine: &str) {
    let site = site(engine);
    RUNTIME.block_on(read(&site, "all", 1));
    bencher.bench(|| {
        let found = RUNTIME.block_on(read(&site, "all", PAGE));
        assert_eq!(found, 25);
    });
}

/// A page of all articles.
#[divan::bench(args = ENGINES)]
fn a_page_of_all_articles(bencher: Bencher<'_, '_>, engine: &str) {
    let site = site(engine);
    bencher.bench(|| {
        RUNTIME.block_on(async {
            let mut visit = Visit::new(site.clone(), NOW, None);
            let page = lists::all(&mut visit, ArticleOrder::Score, PageNumber::FIRST.of(ARTICLES_PER_PAGE))
                .await
                .unwrap();
            assert_eq!(page.lines.len(), 25);
        });
    });
}

/// The first page once a minute: with building the list of one topic.
#[divan::bench(args = ENGINES.into_iter().flat_map(|engine| TOPICS.map(|topics| (engine, topics))))]
fn building_the_list_of_a_topic(bencher: Bencher<'_, '_>, (engine, topics): (&str, &str)) {
    build(bencher, engine, topics);
}

/// The first page of several topics whose lists are stored, once a second.
#[divan::bench(args = ENGINES.into_iter().flat_map(|engine| CHOICES.map(|topics| (engine, topics))))]
fn computing_the_list_of_several_topics(bencher: Bencher<'_, '_>, (engine, topics): (&str, &str)) {
    let site = site(engine);
    RUNTIME.block_on(read(&site, topics, 1));
    bencher.with_inputs(|| site.caches.clear()).bench_local_values(|()| {
        let found = RUNTIME.block_on(read(&site, topics, 1));
        assert_eq!(found, 25);
    });
}

/// The same once a minute: with building the list of each topic.
#[divan::bench(args = ENGINES.into_iter().flat_map(|engine| CHOICES.map(|topics| (engine, topics))))]
fn building_the_list_of_several_topics(bencher: Bencher<'_, '_>, (engine, topics): (&str, &str)) {
    build(bencher, engine, topics);
}

fn build(bencher: Bencher<'_, '_>, engine: &str, topics: &str) {
    let site = site(engine);
    bencher.with_inputs(|| RUNTIME.block_on(remove_lists(&site, topics))).bench_local_values(|()| {
        let found = RUNTIME.block_on(read(&site, topics, 1));
        assert_eq!(found, 25);
    });
}
