//! Submitting, editing, deleting and listing news.

use std::time::Duration;

use tidings_keyspace::Expiry;

use crate::client::{Client, ids, ok, refused, refused_saying};
use crate::server::{Batch, Engine, Server, each_engine, in_memory};

const SUBMISSION_LIMIT: (&str, &str) = ("limits.submission_seconds", "900");
const LINK: &str = "http://example.com/story";
const TWO_DAYS: u64 = 172_800;

/// A site whose administrator is not one of the acting users.
async fn site_with_users(settings: &[(&str, &str)]) -> (Server, Client, Client, Client) {
    let server = Server::start(Engine::Memory, settings).await;
    let (admin, alice, bob) =
        (server.register("admin").await, server.member("alice").await, server.member("bob").await);
    (server, admin, alice, bob)
}

#[each_engine("keys")]
async fn a_submitted_link_is_stored_under_the_documented_keys_with_its_authors_free_vote(server: Server) {
    let alice = server.member("alice").await;
    let id = alice.submit_link("  A story ", " HTTP://Example.com:80/a?utm_source=x#top ").await;
    let now = server.now();
    assert_eq!(id, 1);
    let news = server.hash("news:1").await;
    for (field, expected) in [
        ("id", "1"),
        ("title", "A story"),
        ("url", "HTTP://Example.com:80/a?utm_source=x#top"),
        ("user_id", "1"),
        ("ctime", &now.to_string()),
        ("score", "1"),
        ("up", "1"),
        ("down", "0"),
        ("comments", "0"),
    ] {
        assert_eq!(news.get(field).map(String::as_str), Some(expected), "{field}");
    }
    assert_eq!(server.string("url:http://example.com/a").await.as_deref(), Some("1"));
    let rank: f64 = news["rank"].parse().unwrap();
    assert_eq!(server.sorted("news.top").await, [("1".to_owned(), rank)]);
    for key in ["news.cron", "news.up:1", "user.saved:1", "user.posted:1"] {
        #[allow(clippy::cast_precision_loss)]
        let expected = [("1".to_owned(), now as f64)];
        assert_eq!(server.sorted(key).await, expected, "{key}");
    }
    assert_eq!(server.sorted("news.down:1").await, []);
    assert_eq!(server.karma(&alice).await, 1);
}

#[each_engine("keys")]
async fn a_submitted_text_is_stored_as_a_text_url(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("Ask", " First line\r\nsecond <b>line</b> ").await;
    let stored = server.field("news:1", "url").await;
    assert_eq!(stored.as_deref(), Some("text:// First line\nsecond <b>line</b>"));
    let guards = server.dump().await.into_keys().filter(|key| key.starts_with("url:")).count();
    assert_eq!(guards, 0);
}

#[in_memory]
async fn a_link_with_a_text_is_a_link_with_the_authors_first_comment(server: Server) {
    let alice = server.member("alice").await;
    ok(alice.submit("A story", LINK, "Why I like it").await);
    let item = alice.news(1).await;
    assert_eq!((&item["url"], &item["comments"]), (&LINK.into(), &1.into()));
    let thread = alice.thread(1).await;
    assert_eq!(thread.len(), 1);
    assert_eq!((&thread[0]["body"], &thread[0]["username"]), (&"Why I like it".into(), &"alice".into()));
    assert_eq!(server.sorted("user.comments:1").await[0].0, "1-1");
    assert_eq!(alice.comment(1, "And another").await, 2);
}

#[in_memory]
async fn what_is_not_acceptable_as_news_is_refused_and_writes_nothing(server: Server) {
    let alice = server.member("alice").await;
    let before = server.dump().await;
    let title_81 = "é".repeat(81);
    let url_2049 = format!("http://example.com/{}", "x".repeat(2_030));
    let text_4097 = "x".repeat(4_097);
    for (title, url, text) in [
        ("", LINK, ""),
        ("   ", LINK, ""),
        ("\u{200b}", LINK, ""),
        (&*title_81, LINK, ""),
        ("a\nb", LINK, ""),
        ("a\0b", LINK, ""),
        ("a\u{1b}b", LINK, ""),
        ("a\u{202e}b", LINK, ""),
        ("title", "", ""),
        ("title", " ", "\r\n"),
        ("title", "example.com", ""),
        ("title", "ftp://example.com/", ""),
        ("title", "javascript:alert(1)", ""),
        ("title", "JavaScript://example.com/%0aalert(1)", ""),
        ("title", "data:text/html,<script>alert(1)</script>", ""),
        ("title", "text://something", ""),
        ("title", "http://", ""),
        ("title", "http:///path", ""),
        ("title", "http://exa mple.com/", ""),
        ("title", "http://example.com/\0", ""),
        ("title", "http://example.com/\r\nSet-Cookie: a=b", ""),
        ("title", &*url_2049, ""),
        ("title", "", &*text_4097),
        ("title", "", "bell \u{7}"),
        ("title", LINK, &*text_4097),
    ] {
        let error = refused(alice.submit(title, url, text).await);
        assert!(error.len() < 120, "{error}");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn a_story_at_the_limits_is_stored_whole(server: Server) {
    let alice = server.member("alice").await;
    let title = "é".repeat(80);
    let url = format!("hTTps://example.com/{}", "x".repeat(2_028));
    let text = "ü".repeat(4_096);
    let link = alice.submit_link(&title, &url).await;
    let note = alice.submit_text("<script>alert(1)</script>", &text).await;
    assert_eq!(alice.news(link).await["title"], *title);
    assert_eq!(alice.news(link).await["url"], *url);
    assert_eq!(alice.news(note).await["url"], *format!("text://{text}"));
    assert_eq!(alice.news(note).await["title"], "<script>alert(1)</script>");
}

#[tokio::test]
async fn a_url_posted_again_within_48_hours_gives_the_earlier_story() {
    let (server, _, alice, bob) = site_with_users(&[]).await;
    let earlier = alice.submit_link("A story", LINK).await;
    let guard = format!("url:{LINK}");
    assert_eq!(server.expiry(&guard).await, Expiry::In(Duration::from_secs(TWO_DAYS)));
    server.advance(TWO_DAYS - 1);
    let before = server.dump().await;
    for same in [
        LINK,
        "HTTP://EXAMPLE.COM/story",
        "http://example.com:80/story",
        "http://example.com/story#comments",
        "http://example.com/story?utm_source=rss&UTM_Medium=feed&fbclid=1",
    ] {
        assert_eq!(bob.submit_link("Again", same).await, earlier, "{same}");
        assert_eq!(alice.submit_link("Again", same).await, earlier, "{same}");
    }
    assert_eq!(ok(bob.submit("Again", LINK, "with a comment").await)["news_id"], earlier);
    let after = server.dump().await;
    let changed: Vec<&String> = after.keys().filter(|key| before.get(*key) != after.get(*key)).collect();
    // Two days of visiting earn a karma and prolong the sessions.
    let (sessions, others): (Vec<&String>, Vec<&String>) =
        changed.into_iter().partition(|key| key.starts_with("session:"));
    assert_eq!(sessions.len(), 2);
    assert_eq!(others, ["user:2", "user:3"]);
    for other in ["https://example.com/story", "http://example.com/Story", "http://example.com/story?a=1"] {
        assert_ne!(bob.submit_link("Other", other).await, earlier, "{other}");
    }
    server.advance(1);
    assert_ne!(bob.submit_link("Again", LINK).await, earlier);
}

#[each_engine("other versions")]
async fn the_guard_of_an_original_database_for_the_exact_url_counts(server: Server) {
    let alice = server.member("alice").await;
    let exact = "HTTP://Example.com/story?utm_source=rss";
    let earlier = alice.submit_text("Written by the original", "x").await;
    let mut batch = Batch::new();
    batch.set_expiring(format!("url:{exact}"), earlier.to_string(), Duration::from_secs(60));
    server.commit(batch).await;
    assert_eq!(alice.submit_link("Again", exact).await, earlier);
    assert_ne!(alice.submit_link("Other", LINK).await, earlier);
}

#[tokio::test]
async fn a_user_may_submit_once_in_15_minutes_and_the_error_says_how_long_to_wait() {
    let (server, admin, alice, bob) = site_with_users(&[SUBMISSION_LIMIT]).await;
    alice.submit_text("One", "text").await;
    assert_eq!(server.expiry("user:2:submitted_recently").await, Expiry::In(Duration::from_secs(900)));
    let error = refused(alice.submit("Two", "", "text").await);
    assert!(error.ends_with("You can submit another in 15 minutes."), "{error}");
    bob.submit_text("Three", "text").await;
    server.advance(899);
    let error = refused(alice.submit("Two", "", "text").await);
    assert!(error.ends_with("You can submit another in 1 minute."), "{error}");
    server.advance(1);
    alice.submit_text("Two", "text").await;
    admin.submit_text("Four", "text").await;
    admin.submit_text("Five", "text").await;
}

#[tokio::test]
async fn a_repost_sets_no_submission_limit_and_edits_are_not_limited() {
    let (_server, _, alice, bob) = site_with_users(&[SUBMISSION_LIMIT]).await;
    let earlier = alice.submit_link("A story", LINK).await;
    ok(alice.edit(earlier, "A better title", LINK, "").await);
    assert_eq!(alice.submit_link("Again", LINK).await, earlier);
    assert_eq!(bob.submit_link("Again", LINK).await, earlier);
    let own = bob.submit_text("Own", "text").await;
    assert_ne!(own, earlier);
    refused(bob.submit("Another", "", "text").await);
}

#[tokio::test]
async fn the_author_may_edit_for_15_minutes_and_an_administrator_moderates_at_any_time() {
    let (server, admin, alice, bob) = site_with_users(&[]).await;
    let id = alice.submit_text("Original", "text").await;
    refused_saying(bob.edit(id, "Bob's", "", "text").await, "author");
    server.advance(900);
    ok(alice.edit(id, "Alice's", "", "new text").await);
    let item = alice.news(id).await;
    assert_eq!((&item["title"], &item["url"]), (&"Alice's".into(), &"text://new text".into()));
    server.advance(1);
    refused_saying(alice.edit(id, "Late", "", "text").await, "15 minutes");
    refused_saying(alice.delete(id).await, "15 minutes");
    server.advance(1_000_000);
    ok(admin.edit(id, "The administrator's", "", "text").await);
    let item = alice.news(id).await;
    assert_eq!((&item["title"], &item["username"]), (&"The administrator's".into(), &"alice".into()));
    ok(admin.delete(id).await);
}

#[tokio::test]
async fn an_edit_window_of_0_means_no_limit() {
    let (server, _, alice, _) = site_with_users(&[("limits.news_edit_seconds", "0")]).await;
    let id = alice.submit_text("Original", "text").await;
    server.advance(5_000_000);
    ok(alice.edit(id, "Edited", "", "text").await);
    ok(alice.delete(id).await);
}

#[in_memory]
async fn an_edit_keeps_votes_time_and_place(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_link("Original", LINK).await;
    ok(bob.vote(id, "up").await);
    let before = server.hash("news:1").await;
    let lists = (server.sorted("news.top").await, server.sorted("news.cron").await);
    ok(alice.edit(id, "Edited", LINK, "").await);
    let mut expected = before;
    expected.insert("title".to_owned(), "Edited".to_owned());
    expected.insert("edited_at".to_owned(), server.now().to_string());
    assert_eq!(server.hash("news:1").await, expected);
    assert_eq!((server.sorted("news.top").await, server.sorted("news.cron").await), lists);
}

#[each_engine("keys")]
async fn the_guard_follows_the_item_to_its_new_url(server: Server) {
    let alice = server.member("alice").await;
    let id = alice.submit_link("A story", LINK).await;
    ok(alice.edit(id, "A story", "http://example.com/moved#here", "").await);
    assert_eq!(server.string(&format!("url:{LINK}")).await, None);
    assert_eq!(server.string("url:http://example.com/moved").await, Some(id.to_string()));
    assert_eq!(alice.submit_link("Again", "http://example.com/moved").await, id);
    assert_ne!(alice.submit_link("Free again", LINK).await, id);
    ok(alice.edit(id, "Now a text", "", "text").await);
    assert_eq!(server.string("url:http://example.com/moved").await, None);
}

#[tokio::test]
async fn moving_to_a_url_posted_recently_in_another_item_is_refused() {
    let (server, _, alice, bob) = site_with_users(&[]).await;
    bob.submit_link("Bob's", LINK).await;
    let id = alice.submit_link("Alice's", "http://example.com/alice").await;
    let before = server.dump().await;
    for url in [LINK, "HTTP://example.com/story#x"] {
        refused_saying(alice.edit(id, "Moved", url, "").await, "submitted recently");
    }
    refused_saying(alice.edit(id, "Both", LINK, "and text").await, "either a URL or text");
    assert_eq!(server.dump().await, before);
    let window_again = before.get("news:2").cloned();
    server.advance(TWO_DAYS);
    server.set_field("news:2", "ctime", &server.now().to_string()).await;
    ok(alice.edit(id, "Moved", LINK, "").await);
    assert_ne!(server.dump().await.get("news:2").cloned(), window_again);
}

#[in_memory]
async fn a_deleted_item_leaves_the_lists_and_keeps_its_thread(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let id = alice.submit_link("A story", LINK).await;
    let comment = bob.comment(id, "Still readable").await;
    let answer = ok(alice.delete(id).await);
    assert_eq!(answer["news_id"], -1);
    assert_eq!(server.field("news:1", "del").await.as_deref(), Some("1"));
    assert_eq!(server.string(&format!("url:{LINK}")).await, None);
    for (key, sort) in [("news.top", "top"), ("news.cron", "latest")] {
        assert_eq!(server.sorted(key).await, [], "{key}");
        assert_eq!(bob.listed(sort).await, [0_u64; 0], "{sort}");
    }
    assert_eq!(bob.thread(id).await[0]["body"], "Still readable");

    let before = server.dump().await;
    for answer in [
        bob.vote(id, "up").await,
        bob.try_comment(id, None, "Too late").await,
        bob.try_comment(id, Some(comment), "Too late").await,
        alice.vote_comment(id, comment, "up").await,
        alice.edit(id, "Undeleted", LINK, "").await,
        alice.delete(id).await,
    ] {
        assert_eq!(refused(answer), "This story has been deleted.");
    }
    assert_eq!(server.dump().await, before);
    assert_ne!(bob.submit_link("Free again", LINK).await, id);
}

#[in_memory]
async fn news_that_do_not_exist_cannot_be_changed(server: Server) {
    let admin = server.register("admin").await;
    let before = server.dump().await;
    for answer in [
        admin.edit(7, "Title", "", "text").await,
        admin.delete(7).await,
        admin.vote(7, "up").await,
        admin.try_comment(7, None, "text").await,
        admin.edit_comment(7, 1, "text").await,
        admin.vote_comment(7, 1, "up").await,
        admin.api_get("/api/getcomments/7").await,
    ] {
        assert_eq!(refused(answer), "There is no such story.");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn the_top_news_come_by_the_ranks_of_the_moment(server: Server) {
    let users = server.members(6).await;
    let old = users[0].submit_text("Old and liked", "text").await;
    for voter in &users[1..4] {
        ok(voter.vote(old, "up").await);
    }
    // 4 / 28800^1.1 is what 2 votes have when 4 votes are (2^(1/1.1) - 1) * 28800 s = 7 h old.
    server.advance(8 * 3_600);
    let new = users[0].submit_text("New", "text").await;
    assert_eq!(server.visitor().listed("top").await, [old, new]);
    ok(users[4].vote(new, "up").await);
    assert_eq!(server.visitor().listed("top").await, [new, old]);
    ok(users[5].vote(old, "up").await);
    assert_eq!(server.visitor().listed("top").await, [old, new]);
}

#[in_memory]
async fn items_older_than_30_days_rank_below_all_others_the_oldest_last(server: Server) {
    let users = server.members(4).await;
    let oldest = users[0].submit_text("Oldest", "text").await;
    for voter in &users[1..] {
        ok(voter.vote(oldest, "up").await);
    }
    server.advance(10);
    let old = users[0].submit_text("Old", "text").await;
    server.advance(30 * 86_400 + 1);
    let new = users[0].submit_text("New", "text").await;
    assert_eq!(server.visitor().listed("top").await, [new, old, oldest]);
    let stored = server.sorted("news.top").await;
    assert_eq!(stored[0], (oldest.to_string(), -2_592_011.0));
    assert_eq!(stored[1], (old.to_string(), -2_592_001.0));
}

#[in_memory]
async fn reading_refreshes_a_stale_rank_once_in_5_seconds(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("One", "text").await;
    let rank = async || server.sorted("news.top").await[0].1;
    let first = rank().await;
    server.advance(3_600);
    server.visitor().listed("top").await;
    let second = rank().await;
    assert!(second < first);
    assert_eq!(server.number("news:1", "score").await, 1);
    assert_eq!(server.field("news:1", "rank").await, Some(second.to_string()));
    server.advance(4);
    server.visitor().listed("top").await;
    assert!((rank().await - second).abs() < f64::EPSILON);
    server.advance(3_600);
    server.visitor().listed("top").await;
    assert!(rank().await < second);
}

#[in_memory]
async fn a_list_is_read_in_parts(server: Server) {
    let alice = server.member("alice").await;
    for number in 1..=40 {
        alice.submit_text(&format!("Number {number}"), "text").await;
        server.advance(1);
    }
    let part = async |path: &str| -> (Vec<u64>, u64) {
        let answer = ok(alice.api_get(path).await);
        (ids(&answer["news"]), answer["count"].as_u64().unwrap())
    };
    // Ranks that nobody has read yet are those of the posting: the first readers store newer ones.
    for start in [0, 15, 0, 15, 0] {
        server.advance(5);
        part(&format!("/api/getnews/top/{start}/32")).await;
    }
    for sort in ["latest", "top"] {
        let expected = |start: u64, count: u64| -> Vec<u64> { (0..count).map(|n| 40 - start - n).collect() };
        for (asked, start, count) in
            [("0/1", 0, 1), ("0/32", 0, 32), ("30/32", 30, 10), ("40/32", 40, 0), ("1000000000/32", 40, 0)]
        {
            let found = part(&format!("/api/getnews/{sort}/{asked}")).await;
            assert_eq!(found, (expected(start, count), 40), "{sort} {asked}");
        }
    }
}

#[each_engine("other versions")]
async fn a_counter_that_is_behind_writes_over_no_news(server: Server) {
    let alice = server.member("alice").await;
    let first = alice.submit_text("The first", "text").await;
    server.write(|batch| batch.set("news.count", (first - 1).to_string())).await;
    // The id in use is passed over; the next one is free.
    assert_eq!(alice.submit_text("The second", "text").await, first + 1);
    assert_eq!(alice.news(first).await["title"], "The first");
}
