//! Lists of several topics: computed, bounded, and never stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tidings_domain::articles::lists::{self, ArticleOrder, PageNumber};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::values::{ARTICLES_PER_PAGE, Rules, Timestamp};
use tidings_domain::{Site, Visit};
use tidings_keyspace::{Batch, Expiry, Store};

use crate::client::{Client, ids, ok};
use crate::community::{Community, PAGES};
use crate::concurrency::at_once;
use crate::routes::shared_reads;
use crate::server::{START, Server, each_engine, in_memory};

/// Topics of which there are 1,287 different choices of five.
const TOPICS: [&str; 13] = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "ta", "tb", "tc"];

/// Adds an article with its story to the store, as the site would.
fn write_article(batch: &mut Batch, id: u64, time: u64, topics: &[&str]) {
    let (name, seconds) = (format!("article:{id}"), time.to_string());
    #[allow(clippy::cast_precision_loss)]
    let [by_time, by_score] = [time as f64, (time + 432) as f64];
    let link = "http://example.com/";
    batch.set_fields(
        &name,
        [("title", "A title"), ("link", link), ("poster", "user:1"), ("time", &seconds), ("votes", "1")],
    );
    batch.set_fields(
        format!("news:{id}"),
        [
            ("id", &*id.to_string()),
            ("title", "A title"),
            ("url", link),
            ("user_id", "1"),
            ("ctime", &seconds),
            ("topics", &topics.join(",")),
        ],
    );
    batch.sorted_add("time:", &name, by_time);
    batch.sorted_add("score:", &name, by_score);
    for topic in topics {
        batch.add_member(format!("group:{topic}"), &name);
        batch.sorted_increment("topics", *topic, 1.0);
    }
}

/// Every choice of some of the topics that is not a single one, at most five.
fn choices() -> Vec<Vec<&'static str>> {
    let chosen =
        |bits: u32| (0..TOPICS.len()).filter(|at| bits >> at & 1 == 1).map(|at| TOPICS[at]).collect();
    (1..1_u32 << TOPICS.len()).filter(|bits| (2..=5).contains(&bits.count_ones())).map(chosen).collect()
}

/// The address of a list that a visitor may request for a choice of topics.
fn address(number: usize, choice: &[&str]) -> String {
    let topics = choice.join(if number.is_multiple_of(2) { "," } else { "+" });
    match number % 7 {
        0 => format!("/topic/{topics}/new"),
        1 | 2 => format!("/topic/{topics}"),
        3 => format!("/topic/{topics}/atom"),
        4 => format!("/api/topic/{topics}/time/1"),
        5 => format!("/topic/{topics}?page=3"),
        _ => format!("/api/topic/{topics}/score/2"),
    }
}

/// The ids on a page of a list, and how many the whole list has.
async fn listed(client: &Client, topics: &str, page: u64) -> (Vec<u64>, u64) {
    let answer = ok(client.api_get(&format!("/api/topic/{topics}/score/{page}")).await);
    (ids(&answer["articles"]), answer["count"].as_u64().unwrap())
}

#[each_engine("keys")]
async fn a_thousand_combinations_store_nothing(server: Server) {
    server
        .write(|batch| {
            for id in 1..=60_u64 {
                let [first, second] = [id % 13, id * 7 % 13].map(|at| TOPICS[usize::try_from(at).unwrap()]);
                let topics = if first == second { vec![first] } else { vec![first, second] };
                write_article(batch, id, server.now() - id, &topics);
            }
        })
        .await;
    let visitor = server.visitor();
    // The lists of the single topics, which are as many as the topics.
    for topic in TOPICS {
        for path in [format!("/topic/{topic}"), format!("/topic/{topic}/new")] {
            assert_eq!(visitor.get(&path).await.status, 200, "{path}");
        }
    }
    // The first feed stores how the ids of all entries begin.
    visitor.get("/rss").await;
    let before = server.dump().await;
    let choices = choices();
    assert!(choices.len() > 2_000, "{}", choices.len());
    let some: Vec<_> = choices.iter().step_by(2).enumerate().take(1_000).collect();
    for chunk in some.chunks(20) {
        at_once(chunk.iter().map(|(number, choice)| {
            let (visitor, path) = (visitor.clone(), address(*number, choice));
            async move { assert_eq!(visitor.get(&path).await.status, 200, "{path}") }
        }))
        .await;
    }
    assert_eq!(server.dump().await, before);
}

#[each_engine("expiry")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn combinations_of_expired_lists_at_once_build_only_lists_of_single_topics(server: Server) {
    server
        .write(|batch| {
            for (id, topic) in (1..).zip(TOPICS) {
                write_article(batch, id, server.now() - id, &[topic, "all"]);
            }
        })
        .await;
    let before = server.dump().await;
    let some: Vec<_> = choices().into_iter().step_by(30).collect();
    at_once(some.into_iter().map(|choice| {
        let visitor = server.visitor();
        async move {
            let mut expected: BTreeSet<u64> = BTreeSet::new();
            for topic in &choice {
                expected.insert(1 + TOPICS.iter().position(|other| other == topic).unwrap() as u64);
            }
            let (ids, count) = listed(&visitor, &choice.join(","), 1).await;
            assert_eq!(count, expected.len() as u64);
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected);
            assert_eq!(listed(&visitor, &choice.join("+"), 1).await, (Vec::new(), 0));
            let single = format!("{}+all", choice[0]);
            assert_eq!(listed(&visitor, &single, 1).await.1, 1, "{single}");
        }
    }))
    .await;
    let after = server.dump().await;
    let new: BTreeSet<&str> =
        after.keys().filter(|key| !before.contains_key(*key)).map(String::as_str).collect();
    let lists = TOPICS
        .into_iter()
        .chain(["all"])
        .flat_map(|topic| [format!("score:{topic}"), format!("built:score:{topic}")]);
    let lists: BTreeSet<String> = lists.collect();
    assert_eq!(new, lists.iter().map(String::as_str).collect());
    for list in &lists {
        let Expiry::In(left) = server.expiry(list).await else { panic!("{list} does not expire") };
        assert!(left <= Duration::from_secs(60), "{list}");
    }
}

#[in_memory]
async fn the_list_of_any_of_several_topics_ends_after_1000_articles(server: Server) {
    let visitor = server.visitor();
    server
        .write(|batch| {
            for id in 1..=999 {
                write_article(batch, id, START - id, &["many"]);
            }
            write_article(batch, 2_000, START - 2_000, &["few"]);
        })
        .await;
    let (last, count) = listed(&visitor, "many,few", 40).await;
    assert_eq!((count, last.len(), last.last()), (1_000, 25, Some(&2_000)));
    // One more is beyond the end, and only there.
    server.write(|batch| write_article(batch, 1_000, START - 1_000, &["many"])).await;
    server.advance(60);
    let (last, count) = listed(&visitor, "many,few", 40).await;
    assert_eq!((count, last.len(), last.last()), (1_000, 25, Some(&1_000)));
    assert_eq!(listed(&visitor, "many,few", 41).await, (Vec::new(), 1_000));
    assert_eq!(listed(&visitor, "many", 40).await.1, 1_000);
    server.write(|batch| write_article(batch, 1_001, START - 1_001, &["many"])).await;
    server.advance(60);
    assert_eq!(listed(&visitor, "many", 41).await, (vec![1_001], 1_001));
}

#[in_memory]
async fn the_articles_in_all_of_several_topics_are_among_the_first_2000_of_the_smallest(server: Server) {
    // The common articles are the first, and those on both sides of the bound.
    let common = [1, 2_000, 2_001];
    for chunk in (1..=2_002_u64).collect::<Vec<_>>().chunks(500) {
        server
            .write(|batch| {
                for id in chunk {
                    let both: &[&str] = if common.contains(id) { &["big", "bigger"] } else { &["big"] };
                    write_article(batch, *id, server.now() - id, both);
                    write_article(batch, id + 10_000, server.now() - id, &["bigger"]);
                }
            })
            .await;
    }
    let (visitor, member) = (server.visitor(), server.member("alice").await);
    assert_eq!(listed(&visitor, "big+bigger", 1).await, (vec![1, 2_000], 2));
    // With the lists in place: one round more than a single topic for the look-ups.
    for (path, rounds) in [("/topic/big", 3), ("/topic/big+bigger", 4), ("/topic/big,bigger", 3)] {
        for client in [&visitor, &member] {
            server.clear_caches().await;
            assert_eq!(client.get(path).await.status, 200);
            server.clear_caches().await;
            assert_eq!(server.rounds_of(client, path).await, rounds, "{path}");
        }
    }
}

#[in_memory]
async fn a_combination_shows_a_new_and_hides_a_deleted_story_at_once(server: Server) {
    let alice = server.administrator("alice").await;
    let one = alice.submit_on("rust,go", "One").await;
    for topics in ["rust,go", "rust+go"] {
        assert_eq!(listed(&alice, topics, 1).await, (vec![one], 1));
    }
    server.advance(1);
    let two = alice.submit_on("go,rust", "Two").await;
    for topics in ["rust,go", "rust+go"] {
        assert_eq!(listed(&alice, topics, 1).await, (vec![two, one], 2), "{topics}");
    }
    ok(alice.delete(one).await);
    for topics in ["rust,go", "rust+go"] {
        assert_eq!(listed(&alice, topics, 1).await, (vec![two], 1), "{topics}");
    }
}

/// A list of articles, of all or of some topics.
const LISTS: [Option<&str>; 6] =
    [None, Some("aa"), Some("aa,bb"), Some("aa+bb"), Some("aa,bb,cc"), Some("bb+cc")];

/// The ids on all pages of a list, one page after the other.
async fn all_pages(site: &Arc<Site>, topics: Option<&str>, order: ArticleOrder) -> Vec<u64> {
    let mut visit = Visit::new(site.clone(), Timestamp(2_000), None);
    let mut ids = Vec::new();
    for number in 1_u64.. {
        let page = number.to_string().parse::<PageNumber>().unwrap().of(ARTICLES_PER_PAGE);
        let page = match topics {
            None => lists::all(&mut visit, order, page).await.unwrap(),
            Some(topics) => {
                lists::of_topics(&mut visit, &topics.parse().unwrap(), order, page).await.unwrap()
            }
        };
        if page.lines.is_empty() {
            assert_eq!(page.total, ids.len() as u64, "{topics:?}");
            return ids;
        }
        ids.extend(page.lines.iter().map(|line| line.id.0));
    }
    unreachable!("a list ends")
}

/// Which topics each article is in, as three bits; and the votes on articles after the lists
/// were built.
fn site_and_votes() -> impl Strategy<Value = (Vec<u8>, Vec<(usize, u8)>)> {
    let topics = prop::collection::vec(0..8_u8, 30..120);
    (topics, prop::collection::vec((0..120_usize, 1..100_u8), 0..60))
}

#[test]
fn pages_are_a_partition_also_of_lists_that_are_older_than_the_votes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases: 24, ..ProptestConfig::default() });
    let check = |(articles, votes): (Vec<u8>, Vec<(usize, u8)>)| {
        runtime.block_on(async {
            let store = Store::in_memory().await.unwrap();
            let site = Arc::new(Site::new(store.clone(), Rules::default(), PasswordWorker::default()));
            let topics_of = |bits: u8| -> Vec<&str> {
                ["aa", "bb", "cc"]
                    .into_iter()
                    .enumerate()
                    .filter(|(at, _)| bits >> at & 1 == 1)
                    .map(|(_, t)| t)
                    .collect()
            };
            let mut batch = Batch::new();
            for (id, bits) in (1..).zip(&articles) {
                // Many have the same time and score.
                write_article(&mut batch, id, 1_000 + id / 5 * 100, &topics_of(*bits));
            }
            for topic in ["aa", "bb", "cc"] {
                batch.sorted_increment("topics", topic, 0.0);
            }
            store.commit(batch).await.unwrap();
            for round in 0..2 {
                for order in [ArticleOrder::Score, ArticleOrder::Time] {
                    for list in LISTS {
                        let belongs = |bits: u8| {
                            let topics = topics_of(bits);
                            let mut names = list.unwrap_or_default().split([',', '+']);
                            match list {
                                None => true,
                                Some(list) if list.contains('+') => names.all(|name| topics.contains(&name)),
                                Some(_) => names.any(|name| topics.contains(&name)),
                            }
                        };
                        let expected: Vec<u64> = (1..)
                            .zip(&articles)
                            .filter(|(_, bits)| belongs(**bits))
                            .map(|(id, _)| id)
                            .collect();
                        let mut found = all_pages(&site, list, order).await;
                        found.sort_unstable();
                        assert_eq!(found, expected, "{list:?} {order:?} {round}");
                    }
                }
                let mut batch = Batch::new();
                for (at, count) in &votes {
                    let name = format!("article:{}", at % articles.len() + 1);
                    batch.sorted_increment("score:", &name, 432.0 * f64::from(*count));
                }
                store.commit(batch).await.unwrap();
            }
        });
        Ok(())
    };
    runner.run(&site_and_votes(), check).unwrap();
}

/// Odd reads beside those of the routes.
const ODD: [&str; 5] = [
    "/api/topic/none/score/1",
    "/api/followings/nobody",
    "/api/sites/history/new.example",
    "/scores?links=new.example",
    "/random",
];

#[each_engine("keys")]
async fn visitors_store_nothing_but_lists_of_topics_and_fresh_ranks(server: Server) {
    let Community { server, .. } = Community::on(server).await;
    // Ranks become stale.
    server.advance(3_600);
    let keys = async || server.dump().await.into_keys().collect::<BTreeSet<String>>();
    let before = keys().await;
    let visitor = server.visitor();
    let known = PAGES.iter().map(|(path, _)| *path).chain(ODD).map(str::to_owned);
    let paths: Vec<String> = known.chain(shared_reads(|_| true)).collect();
    for path in &paths {
        visitor.get(path).await;
    }
    let after = keys().await;
    let lists: Vec<&String> = after.difference(&before).collect();
    let allowed = ["links", "examples"].into_iter().flat_map(|topic| {
        ["score", "time"]
            .into_iter()
            .flat_map(move |order| [format!("{order}:{topic}"), format!("built:{order}:{topic}")])
    });
    let others = ["past:2027-01", "built:past:2027-01", "site.tag"].map(str::to_owned);
    let allowed: BTreeSet<String> = allowed.chain(others).collect();
    assert!(lists.iter().all(|key| allowed.contains(*key)), "{lists:?}");
    let whole = server.dump().await;
    for path in &paths {
        visitor.get(path).await;
    }
    assert_eq!(server.dump().await, whole);
}
