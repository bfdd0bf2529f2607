//! Both sides of the numbers at which the site does something in another way: long
//! lists are worked on in chunks, and very long ones are not cached.

use tidings_domain::store_check::Part;
use tidings_keyspace::{Batch, Store, StoreOptions};

use crate::client::{Client, PASSWORD, ok};
use crate::consistency;
use crate::program::succeed;
use crate::server::{Engine, Server, dump, in_memory};
use crate::store_check::report_of;

/// Writes `count` items with wrong ranks and without articles, as another program may
/// leave them.
async fn write_news(server: &Server, count: u64) {
    let mut batch = Batch::new();
    batch.set("news.count", count.to_string());
    for id in 1..=count {
        let (number, time) = (id.to_string(), server.now() - id);
        let fields = [
            ("id", &*number),
            ("title", "An item"),
            ("url", "text://x"),
            ("user_id", "1"),
            ("ctime", &time.to_string()),
            ("up", "1"),
            ("down", "0"),
            ("comments", "0"),
            ("score", "1"),
            ("rank", "0"),
        ];
        batch.set_fields(format!("news:{id}"), fields);
        batch.sorted_add("news.top", &*number, 0.0);
        #[allow(clippy::cast_precision_loss)]
        batch.sorted_add("news.cron", &*number, time as f64);
        #[allow(clippy::cast_precision_loss)]
        batch.sorted_add(format!("news.up:{id}"), "1", time as f64);
    }
    server.commit(batch).await;
}

#[tokio::test]
async fn own_votes_are_shown_up_to_the_cached_number_of_votes_and_beyond() {
    for direction in ["up", "down"] {
        let mut rounds = Vec::new();
        for votes in [4_000, 4_001] {
            let server = Server::start(Engine::Memory, &[]).await;
            let [alice, bob] = server.people(["alice", "bob"]).await;
            let news = bob.submit_text("Very popular", "text").await;
            server.set_karma(&alice, 100).await;
            ok(alice.vote(news, direction).await);
            let list = format!("news.{direction}:{news}");
            let others = votes - u64::try_from(server.sorted(&list).await.len()).unwrap();
            let mut batch = Batch::new();
            for voter in 100..100 + others {
                batch.sorted_add(&list, voter.to_string(), 1.0);
            }
            server.commit(batch).await;
            let carol = server.member("carol").await;
            let own = async |client: &Client| client.news(news).await["voted"].clone();
            // The first request reads the votes; later ones may find them in the cache.
            for _ in 0..3 {
                assert_eq!(own(&alice).await, direction, "{votes} {direction}");
                assert_eq!(own(&bob).await, "up", "{votes} {direction}");
                assert!(own(&carol).await.is_null(), "{votes} {direction}");
            }
            server.clear_caches().await;
            rounds.push(server.rounds_during(async { assert_eq!(own(&alice).await, direction) }).await);
            server.set_karma(&carol, 100).await;
            ok(carol.vote(news, direction).await);
            for _ in 0..3 {
                assert_eq!(own(&carol).await, direction, "{votes} {direction}, one more");
                assert_eq!(own(&alice).await, direction, "{votes} {direction}, one more");
            }
        }
        // Where there are too many votes to keep, the viewer's own is looked up.
        assert_eq!(rounds[1], rounds[0] + 1, "{direction}: {rounds:?}");
    }
}

#[tokio::test]
async fn all_ranks_are_recomputed_and_all_articles_checked_however_many_chunks_they_are() {
    for count in [199, 200, 201, 401] {
        let server = Server::start(Engine::Memory, &[]).await;
        let alice = server.administrator("alice").await;
        write_news(&server, count).await;
        let answer = alice.post("/admin/recompute", &[]).await;
        assert_eq!(answer.status, 303);
        let top = server.sorted("news.top").await;
        assert_eq!(u64::try_from(top.len()).unwrap(), count);
        assert!(top.iter().all(|(_, rank)| *rank > 0.0), "{count}: {:?}", top.first());
        for (repair, different) in [(false, count), (true, count), (false, 0)] {
            let found = report_of(Part::Articles, &server, repair).await;
            let articles =
                found.differences.iter().filter(|difference| difference.key.starts_with("article:"));
            assert_eq!(articles.count() as u64, different, "{count}");
        }
    }
}

/// Checks all timelines and returns how many entries differ.
async fn timelines_that_differ(server: &Server, repair: bool) -> u64 {
    report_of(Part::Timelines, server, repair).await.totals.all()
}

#[in_memory]
async fn the_check_of_timelines_continues_after_500_tweets_and_1_000_followers(server: Server) {
    let author = server.member("author").await;
    for number in 1..=501 {
        author.tweet(&format!("Number {number}")).await;
    }
    server.member("followed").await;
    for number in 0..1_001 {
        server.member(&format!("reader-{number}")).await.follow("followed").await;
    }
    server.finish_jobs().await;
    assert_eq!(timelines_that_differ(&server, false).await, 0);
    // In the last chunk, and in the first.
    let mut batch = Batch::new();
    batch.sorted_remove("user:1:user_timeline", "501");
    batch.sorted_remove("user:1:user_timeline", "1");
    batch.sorted_remove("user:1003:followings", "2");
    batch.sorted_remove("user:3:followings", "2");
    server.commit(batch).await;
    assert_eq!(timelines_that_differ(&server, false).await, 4);
    timelines_that_differ(&server, true).await;
    assert_eq!(timelines_that_differ(&server, false).await, 0);
}

#[tokio::test]
async fn an_account_is_given_up_with_more_people_and_tweets_than_go_in_one_step() {
    for (people, tweets) in [(20, 200), (21, 201)] {
        let server = Server::start(Engine::Memory, &[]).await;
        server.register("admin").await;
        let leaver = server.register("leaver").await;
        for number in 0..people {
            let other = server.member(&format!("member-{number}")).await;
            other.follow("leaver").await;
            leaver.follow(&other.username).await;
        }
        for number in 0..tweets {
            leaver.tweet(&format!("Number {number}")).await;
        }
        assert_eq!(leaver.post("/settings/deactivate", &[("password", PASSWORD)]).await.status, 303);
        server.finish_jobs().await;
        let dump = server.dump().await;
        consistency::check(&dump);
        for tweet in 1..=tweets {
            assert!(!dump.contains_key(&format!("tweet:{tweet}")), "tweet {tweet} of {tweets}");
        }
        for list in ["user:1:followers", "user:1:followings", "user:1:user_timeline", "global_timeline"] {
            assert!(!dump.contains_key(list), "{list} after {people} {tweets}");
        }
    }
}

#[tokio::test]
async fn all_jobs_that_were_left_are_found_also_more_than_are_looked_at_at_once() {
    for count in [256, 257, 600] {
        let server = Server::start(Engine::Memory, &[]).await;
        let mut batch = Batch::new();
        for tweet in 1..=count {
            batch.sorted_add("timeline:jobs", format!("deliver:{tweet}"), 1.0);
            // Its tweet is gone: one step finishes it.
            batch.set_fields(format!("timeline:job:deliver:{tweet}"), [("author", "1"), ("step", "0")]);
        }
        server.commit(batch).await;
        tidings_testing::until(async || server.sorted("timeline:jobs").await.is_empty()).await;
    }
}

#[tokio::test]
async fn a_tweet_is_found_below_many_that_cannot_be_shown() {
    // A page of one tweet looks at two entries, then at four, and so on up to 32, and then leaves the rest to the
    // next page.
    for gone in [0, 1, 60, 61, 62, 63, 200] {
        let server = Server::start(Engine::Memory, &[]).await;
        let tweet = server.member("alice").await.tweet("Still here").await;
        let mut batch = Batch::new();
        for number in 1..=gone {
            batch.sorted_add("global_timeline", (1_000 + number).to_string(), 1e10 + f64::from(number));
        }
        server.commit(batch).await;
        let (mut path, mut pages) = ("/api/timeline/everyone?count=1".to_owned(), 1);
        loop {
            let page = ok(server.visitor().api_get(&path).await);
            if let Some(found) = page["tweets"].as_array().unwrap().first() {
                assert_eq!(found["id"], tweet);
                break;
            }
            let next = page["next"].as_str().unwrap_or_else(|| panic!("{gone} hide a tweet"));
            path = format!("/api/timeline/everyone?count=1&before={next}");
            pages += 1;
        }
        assert_eq!(pages, if gone < 62 { 1 } else { gone / 62 + 1 }, "{gone}");
    }
}

#[tokio::test]
async fn a_store_is_copied_however_many_pages_of_keys_it_has() {
    for keys in [199, 200, 201, 450] {
        let folder = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("redb:{}", folder.path().join(name).display());
        let from = Store::open(&url("from"), &StoreOptions::default()).await.unwrap();
        let mut batch = Batch::new();
        for key in 0..keys {
            batch.set(format!("key:{key}"), key.to_string());
        }
        from.commit(batch).await.unwrap();
        let expected = dump(&from).await;
        from.close().await;
        succeed(&["copy", &url("from"), &url("to")]);
        let to = Store::open(&url("to"), &StoreOptions::default()).await.unwrap();
        assert_eq!(dump(&to).await, expected, "{keys}");
        to.close().await;
    }
}
