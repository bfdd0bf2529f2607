//! Sharing in the caches: a cached value survives unrelated writes, it is made once for all
//! who ask at the same time, and all caches together take the memory that the setting names.

use crate::client::{Client, ok};
use crate::server::{Engine, Server, each_engine};
use futures_util::future::join_all;
use tidings_domain::cache::{CacheStatus, DEFAULT_BYTES, MEBIBYTE};

/// How a cache works, all zero if it has not been used.
fn status(server: &Server, name: &'static str) -> CacheStatus {
    let unused = CacheStatus { name, entries: 0, bytes: 0, capacity_bytes: 0, hits: 0, misses: 0 };
    server.app.site.caches.status().into_iter().find(|cache| cache.name == name).unwrap_or(unused)
}

/// Asks for a page and says whether the cache had what it is made of.
async fn is_hit(server: &Server, client: &Client, path: &str, cache: &'static str) -> bool {
    let before = status(server, cache);
    assert_eq!(client.get(path).await.status, 200, "{path}");
    let after = status(server, cache);
    assert!((after.hits, after.misses) != (before.hits, before.misses), "{path} does not use {cache}");
    after.misses == before.misses
}

#[each_engine("caches")]
async fn a_write_to_a_user_does_not_end_the_cached_threads_that_show_the_name(server: Server) {
    let members = server.members(5).await;
    let [alice, bob, carol, dave, reader] = &members[..] else { unreachable!() };
    let story = alice.submit_text("A story", "text").await;
    bob.comment(story, "A comment").await;
    let other = carol.submit_text("Another story", "text").await;
    let of_bob = bob.submit_text("A story of Bob", "text").await;
    let thread = format!("/news/{story}");
    // The reader is logged in, for visitors get whole cached responses.
    is_hit(&server, reader, &thread, "threads").await;
    assert!(is_hit(&server, reader, &thread, "threads").await);
    // A vote writes to its story, and to the karma of the voter and of the author.
    ok(dave.vote(other, "up").await);
    ok(dave.update_profile("About Dave", "", "").await);
    assert!(is_hit(&server, reader, &thread, "threads").await);
    // Nor does it if the author has a comment in the thread.
    ok(carol.vote(of_bob, "up").await);
    assert!(is_hit(&server, reader, &thread, "threads").await);
    // Visitors without a session use what is cached, too.
    server.advance(2);
    assert!(is_hit(&server, &server.visitor(), &thread, "threads").await);
    // A write to data that the thread shows does invalidate it.
    bob.comment(story, "Another comment").await;
    assert!(!is_hit(&server, reader, &thread, "threads").await);
    ok(dave.vote_comment(story, 1, "up").await);
    assert!(!is_hit(&server, reader, &thread, "threads").await);
}

#[tokio::test]
async fn a_page_is_made_once_for_all_who_ask_at_the_same_time() {
    let server = Server::start(Engine::Redis, &[]).await;
    let alice = server.member("alice").await;
    let story = alice.submit_text("A story", "text").await;
    for number in 0..20 {
        alice.comment(story, &format!("Comment {number}")).await;
    }
    let visitor = server.visitor();
    for path in [format!("/news/{story}"), "/latest/0".to_owned(), "/@alice".to_owned()] {
        let alone = server.cold_rounds_of(&visitor, &path).await;
        server.clear_caches().await;
        let before = server.store().rounds();
        let answers = join_all((0..40).map(|_| visitor.get(&path))).await;
        assert!(
            answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body),
            "{path}"
        );
        // The background looks for jobs now and then. Forty makers would take forty times as many.
        let together = server.store().rounds() - before;
        assert!(together <= alone + 4, "{path}: {together} rounds for forty readers, {alone} for one");
    }
}

#[tokio::test]
async fn all_caches_together_take_what_the_setting_says() {
    for (setting, bytes) in [("128", DEFAULT_BYTES), ("8", 8 * MEBIBYTE)] {
        let server = Server::start(Engine::Memory, &[("server.site_cache_mebibytes", setting)]).await;
        let [alice, bob] = server.people(["alice", "bob"]).await;
        alice.submit_link("A story", "http://example.com/").await;
        server.set_karma(&alice, 100).await;
        alice.submit_on("rust, web", "About two").await;
        alice.comment(1, "A comment").await;
        alice.tweet("A tweet").await;
        bob.follow("alice").await;
        for _ in 0..3 {
            let paths = "/ /latest/0 /news/1 /home /everyone /@alice /topic/rust,web /v0/topstories.json";
            for path in paths.split(' ') {
                for client in [&server.visitor(), &bob] {
                    client.get(path).await;
                }
            }
        }
        let caches = server.app.site.caches.status();
        let names: Vec<&str> = caches.iter().map(|cache| cache.name).collect();
        let expected = "brands identity item_lists lists news origin_bans post_rules profiles readers responses \
            sessions story_fragments subscriptions suggestions thread_fragments threads timelines \
            topic_lists tweet_fragments tweets usernames viewers visits voters";
        assert!(names.iter().copied().eq(expected.split(' ')), "{names:?}");
        let total: u64 = caches.iter().map(|cache| cache.capacity_bytes).sum();
        // Each share may lose a fraction of a byte.
        assert!(bytes - total < caches.len() as u64, "{total} of {bytes}");
        for cache in &caches {
            assert!(cache.hits > 0 && cache.misses > 0, "{cache:?}");
            assert!(cache.bytes <= cache.capacity_bytes, "{cache:?}");
        }
    }
}
