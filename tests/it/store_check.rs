//! `tidings check store`: a site that people have used has no differences, and each kind of
//! damage is found at its key, named, and mended if it follows from something else.

use std::collections::BTreeMap;
use std::time::Duration;

use tidings_domain::background;
use tidings_domain::keys::families;
use tidings_domain::store_check::{StoreReport, check};
use tidings_keyspace::{Batch, Entry, Value};

use crate::client::{Client, ok};
use crate::community::Community;
use crate::invitations::invite;
use crate::moderation::undo;
use crate::server::{Engine, Server, each_engine};
use crate::signups::sign_up;

/// What a check of a server's store finds.
pub async fn report(server: &Server, repair: bool) -> StoreReport {
    let mut found = check(&server.app.site, server.app.moment(), repair, |_| {}).await.unwrap();
    if server.redis.is_some() {
        // A Redis server expires keys by its own clock, whatever the clock of the test says.
        found.differences.retain(|difference| difference.found != "other voters or another expiry");
    }
    found
}

/// Demands that a check of a server's store finds nothing. Waiting jobs are done first.
pub async fn demand_clean(server: &Server) {
    background::finish_waiting(&server.app.site, server.app.moment()).await.unwrap();
    let found = report(server, false).await;
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!((found.strangers, found.unsettled), (0, 0), "{:?}", found.named_strangers);
}

/// A community with something in almost every family of keys.
async fn everything(server: Server) -> Community {
    let community = Community::on(server).await;
    let Community { server, alice, bob } = &community;
    let carol = server.member("carol").await;
    let dave = server.member("dave").await;
    for client in [alice, bob, &carol, &dave] {
        server.set_karma(client, 100).await;
    }
    bob.tweet("Hello @alice").await;
    alice.tweet("Hello to all").await;
    for (follower, followed) in [(alice, "bob"), (bob, "alice"), (&carol, "bob"), (&dave, "alice")] {
        follower.follow(followed).await;
    }
    for (voter, story, direction) in [(bob, 1, "up"), (&carol, 1, "up"), (&dave, 2, "down"), (alice, 2, "up")]
    {
        ok(voter.vote(story, direction).await);
    }
    ok(carol.vote_comment(1, 1, "up").await);
    for (voter, vote) in [(alice, "1"), (bob, "-1"), (&carol, "1")] {
        for host in ["example.com", "good.example"] {
            ok(voter.api_post("/api/sites/vote", &[("link", host), ("vote", vote)]).await);
        }
    }
    ok(dave.api_post("/api/hide", &[("news_id", "1")]).await);
    ok(carol.api_post("/api/mutetopic", &[("topic", "links")]).await);
    ok(carol.api_post("/api/block", &[("username", "dave")]).await);
    for reader in [&carol, &dave] {
        let fields = [("kind", "story"), ("id", "2"), ("reason", "spam"), ("note", "n")];
        ok(reader.api_post("/api/flag", &fields).await);
    }
    moderate(alice, &[("action", "make_moderator"), ("kind", "user"), ("id", "carol"), ("reason", "r")])
        .await;
    moderate(alice, &[("action", "note"), ("kind", "user"), ("id", "bob"), ("reason", "r")]).await;
    moderate(alice, &[("action", "ban"), ("kind", "user"), ("id", "dave"), ("reason", "r"), ("hours", "48")])
        .await;
    let spare = carol.submit_link("A removed link", "http://removed.example/").await.to_string();
    moderate(alice, &[("action", "remove"), ("kind", "story"), ("id", &spare), ("reason", "r")]).await;
    let locked =
        moderate(alice, &[("action", "lock"), ("kind", "story"), ("id", "2"), ("reason", "r")]).await;
    ok(undo(alice, locked).await);
    let code = invite(alice).await;
    ok(sign_up(&server.visitor(), "erin", &[("invitation", &code)]).await);
    invite(alice).await;
    server
        .write(|batch| {
            batch.set_field("user:2", "digest", "daily");
            batch.sorted_add("mail:digest:daily", "2", 1.0);
        })
        .await;
    for path in ["/topic/links", "/past/2027-01", "/home", "/news/1"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
    }
    background::finish_waiting(&server.app.site, server.app.moment()).await.unwrap();
    community
}

async fn moderate(moderator: &Client, fields: &[(&str, &str)]) -> u64 {
    ok(moderator.api_post("/api/moderate", fields).await)["moderation_id"].as_u64().unwrap()
}

/// Settings with which everybody may flag, and the site sends mail.
const SETTINGS: &[(&str, &str)] = &[("moderation.flag_min_days", "0"), ("moderation.flag_min_karma", "0")];

#[tokio::test]
async fn a_site_with_everything_has_no_differences() {
    each_engine(SETTINGS, async |server| {
        let Community { server, .. } = everything(server).await;
        demand_clean(&server).await;
        let before = server.dump().await;
        let repaired = report(&server, true).await;
        assert_eq!((repaired.repaired, repaired.left()), (0, 0));
        assert_eq!(server.dump().await, before, "a repair of nothing writes nothing");
    })
    .await;
}

/// Damage: what is done, the key at which it is found, and whether a repair mends it.
type Damage = (&'static str, fn(&mut Batch), &'static str, bool);

const MENDED: bool = true;
const NAMED: bool = false;

const DAMAGES: &[Damage] = &[
    ("a story is not in the list by rank", |b| b.sorted_remove("news.top", "1"), "news.top", MENDED),
    ("a story is not in the list by time", |b| b.sorted_remove("news.cron", "1"), "news.cron", MENDED),
    ("a story is at another time", |b| b.sorted_add("news.cron", "1", 7.0), "news.cron", MENDED),
    ("a story has another rank in the list", |b| b.sorted_add("news.top", "1", -7.5), "news.top", MENDED),
    ("a deleted story is listed", |b| b.sorted_add("news.top", "3", 1.0), "news.top", MENDED),
    ("a removed story is listed", |b| b.sorted_add("news.cron", "4", 1.0), "news.cron", MENDED),
    ("a story that does not exist is listed", |b| b.sorted_add("news.cron", "77", 1.0), "news.cron", MENDED),
    ("a list has what is no id", |b| b.sorted_add("news.cron", "x", 1.0), "news.cron", MENDED),
    (
        "a story is not in its author's list",
        |b| b.sorted_remove("user.posted:1", "1"),
        "user.posted:1",
        MENDED,
    ),
    ("another's story is in a list", |b| b.sorted_add("user.posted:2", "1", 1.0), "user.posted:2", MENDED),
    (
        "a story is not in its site's list",
        |b| b.sorted_remove("host.news:example.com", "1"),
        "host.news:example.com",
        MENDED,
    ),
    (
        "a story is in another site's list",
        |b| b.sorted_add("host.news:other.example", "1", 1.0),
        "host.news:other.example",
        MENDED,
    ),
    ("votes up are miscounted", |b| b.increment_field("news:1", "up", 3), "news:1", MENDED),
    ("votes down are miscounted", |b| b.increment_field("news:2", "down", -1), "news:2", MENDED),
    ("comments are miscounted", |b| b.increment_field("news:1", "comments", 1), "news:1", MENDED),
    (
        "a vote of nobody",
        |b| {
            b.sorted_add("news.up:1", "77", 1.0);
            b.increment_field("news:1", "up", 1);
        },
        "news.up:1",
        NAMED,
    ),
    (
        "a vote in both directions",
        |b| {
            b.sorted_add("news.down:1", "3", 1.0);
            b.increment_field("news:1", "down", 1);
        },
        "news.up:1",
        NAMED,
    ),
    ("votes on no story", |b| b.sorted_add("news.up:78", "1", 1.0), "news.up:78", NAMED),
    ("a story without an author", |b| b.set_field("news:2", "user_id", "78"), "news:2", NAMED),
    ("a story with another id", |b| b.set_field("news:1", "id", "8"), "news:1", NAMED),
    ("a story without a title", |b| b.delete_field("news:1", "title"), "news:1", NAMED),
    (
        "a hidden story that does not exist",
        |b| b.sorted_add("user:4:hidden", "77", 1.0),
        "user:4:hidden",
        NAMED,
    ),
    ("a saved story that does not exist", |b| b.sorted_add("user.saved:1", "77", 1.0), "user.saved:1", NAMED),
    (
        "a link that leads nowhere",
        |b| b.set_expiring("url:http://a.example/", "77", Duration::from_secs(60)),
        "url:http://a.example/",
        MENDED,
    ),
    (
        "a link that never expires",
        |b| b.set("url:http://example.com/one", "1"),
        "url:http://example.com/one",
        MENDED,
    ),
    (
        "subscribers lack a user",
        |b| b.sorted_add("user:1:subscriptions", "1", 5.0),
        "news.subscribers:1",
        MENDED,
    ),
    (
        "a comment is not in its author's list",
        |b| b.sorted_remove("user.comments:2", "1-1"),
        "user.comments:2",
        MENDED,
    ),
    (
        "another's comment is in a list",
        |b| b.sorted_add("user.comments:1", "1-1", 1.0),
        "user.comments:1",
        MENDED,
    ),
    (
        "a comment that does not exist is listed",
        |b| b.sorted_add("user.comments:1", "1-70", 1.0),
        "user.comments:1",
        MENDED,
    ),
    (
        "the counter of a thread is too low",
        |b| b.set_field("thread:comment:1", "nextid", "2"),
        "thread:comment:1",
        MENDED,
    ),
    ("a comment is no JSON", |b| b.set_field("thread:comment:1", "1", "{"), "thread:comment:1", NAMED),
    ("a thread of no story", |b| b.set_field("thread:comment:79", "nextid", "0"), "thread:comment:79", NAMED),
    ("an article is gone", |b| b.delete("article:1"), "article:1", MENDED),
    ("an article has another title", |b| b.set_field("article:1", "title", "x"), "article:1", MENDED),
    ("an article has another score", |b| b.sorted_add("score:", "article:1", 5.0), "article:1", MENDED),
    ("an article of no story", |b| b.sorted_add("time:", "article:77", 5.0), "time:", MENDED),
    ("an article of a deleted story", |b| b.sorted_add("score:", "article:3", 5.0), "score:", MENDED),
    (
        "voters of no article",
        |b| {
            b.add_member("voted:77", "user:1");
            b.expire("voted:77", Duration::from_secs(60));
        },
        "voted:77",
        MENDED,
    ),
    (
        "a topic lacks an article",
        |b| {
            b.remove_member("group:links", "article:1");
            b.sorted_increment("topics", "links", -1.0);
        },
        "article:1",
        MENDED,
    ),
    (
        "a topic has another's article",
        |b| {
            b.add_member("group:links", "article:2");
            b.sorted_increment("topics", "links", 1.0);
        },
        "group:links",
        MENDED,
    ),
    ("a topic is miscounted", |b| b.sorted_increment("topics", "links", 2.0), "topics", MENDED),
    (
        "a topic keeps a place for a shown story",
        |b| b.add_member("group.withheld:links", "article:1"),
        "group.withheld:links",
        MENDED,
    ),
    ("a name leads nowhere", |b| b.set("username.to.id:nobody", "77"), "username.to.id:nobody", NAMED),
    ("a name leads to another", |b| b.set("username.to.id:bob", "1"), "username.to.id:bob", NAMED),
    ("a name does not lead to its user", |b| b.delete("username.to.id:bob"), "username.to.id:bob", MENDED),
    (
        "a name for the eye leads nowhere",
        |b| b.set("username.folded:nobody", "77"),
        "username.folded:nobody",
        MENDED,
    ),
    ("a user has another id", |b| b.set_field("user:2", "id", "9"), "user:2", NAMED),
    (
        "a session of nobody",
        |b| {
            b.set_field(SESSION, "user_id", "77");
            b.expire(SESSION, Duration::from_secs(60));
        },
        SESSION,
        MENDED,
    ),
    (
        "a session of Lamer News of nobody",
        |b| b.set("auth:0123456789abcdef0123456789abcdef01234567", "77"),
        "auth:0123456789abcdef0123456789abcdef01234567",
        MENDED,
    ),
    ("who was invited is in no list", |b| b.sorted_remove("invites:by:1", "5"), "invites:by:1", MENDED),
    ("who was not invited is in a list", |b| b.sorted_add("invites:by:1", "3", 1.0), "invites:by:1", MENDED),
    ("the tree lacks a root", |b| b.sorted_remove("invites:roots", "1"), "invites:roots", MENDED),
    ("the tree has a root too many", |b| b.sorted_add("invites:roots", "3", 1.0), "invites:roots", MENDED),
    (
        "who gets a digest is in no list",
        |b| b.sorted_remove("mail:digest:daily", "2"),
        "mail:digest:daily",
        MENDED,
    ),
    (
        "who gets none is in a list",
        |b| b.sorted_add("mail:digest:weekly", "2", 1.0),
        "mail:digest:weekly",
        MENDED,
    ),
    ("a list of no user", |b| b.sorted_add("user:77:inbox", "follow:1", 1.0), "user:77:inbox", NAMED),
    ("the badge is miscounted", |b| b.increment_field("user:1", "replies", 2), "user:1", MENDED),
    ("an entry about nothing", |b| b.sorted_add("user:1:inbox", "reply:1-70", 1.0), "user:1:inbox", MENDED),
    (
        "an unread entry is not in the inbox",
        |b| {
            b.sorted_remove("user:1:inbox", "mention:tweet:4");
        },
        "user:1:inbox",
        MENDED,
    ),
    ("a mention of no tweet", |b| b.sorted_add("user:1:mentions", "77", 1.0), "user:1:mentions", MENDED),
    (
        "a tweet is not in its author's timeline",
        |b| b.sorted_remove("user:2:user_timeline", "2"),
        "user:2:user_timeline",
        MENDED,
    ),
    (
        "another's tweet is in a timeline",
        |b| b.sorted_add("user:1:user_timeline", "2", 1.0),
        "user:1:user_timeline",
        MENDED,
    ),
    (
        "no tweet is in the timeline of everyone",
        |b| b.sorted_add("global_timeline", "77", 1.0),
        "global_timeline",
        MENDED,
    ),
    (
        "a home timeline lacks a tweet",
        |b| b.sorted_remove("user:3:home_timeline", "2"),
        "user:3:home_timeline",
        MENDED,
    ),
    ("a tweet without a text", |b| b.delete_field("tweet:2", "text"), "tweet:2", NAMED),
    ("a follower is not listed", |b| b.sorted_remove("user:2:followers", "3"), "user:2:followers", MENDED),
    (
        "nobody who follows is listed",
        |b| b.sorted_add("user:3:followers", "1", 1.0),
        "user:3:followers",
        MENDED,
    ),
    (
        "followers are miscounted",
        |b| b.sorted_add("users.by_followers", "2", 9.0),
        "users.by_followers",
        MENDED,
    ),
    ("a floor of nobody", |b| b.sorted_add("timeline:floors", "77", 1.0), "timeline:floors", MENDED),
    (
        "a pulled author who does not exist",
        |b| b.add_member("timeline:pulled", "77"),
        "timeline:pulled",
        MENDED,
    ),
    ("a mail that is none", |b| b.sorted_add("mail:outbox", "x", 1e12), "mail:outbox", MENDED),
    ("a line of the log is not listed", |b| b.sorted_remove("moderation:log", "2"), "moderation:log", MENDED),
    ("a line of the log is gone", |b| b.delete("moderation:2"), "moderation:log", NAMED),
    (
        "a row of the queue about nothing",
        |b| b.sorted_add("review:queue", "story:1", 1_718_000_000_000.0),
        "review:queue",
        MENDED,
    ),
    ("a row that is none", |b| b.sorted_add("review:queue", "x", 1.0), "review:queue", MENDED),
    ("flags wait without a row", |b| b.sorted_remove("review:queue", "story:2"), "review:queue", MENDED),
    (
        "flags have another weight",
        |b| b.set_field("flags:story:2", "waiting", "7:1800000000"),
        "flags:story:2",
        MENDED,
    ),
    (
        "what was not flagged is in a list",
        |b| b.sorted_add("user:3:flags", "story:1", 1.0),
        "user:3:flags",
        MENDED,
    ),
    ("a ban ends and is not listed", |b| b.sorted_remove("bans:ending", "4"), "bans:ending", MENDED),
    ("a ban that is none is listed", |b| b.sorted_add("bans:ending", "1", 1e12), "bans:ending", MENDED),
    (
        "an appeal against no line",
        |b| b.set_fields("appeal:77", [("user_id", "1"), ("time", "5"), ("decided_by", "2")]),
        "appeal:77",
        NAMED,
    ),
    ("a rule that is none", |b| b.set_field("rules:all", "1", "x"), "rules:all", NAMED),
    (
        "the sum of a site",
        |b| b.increment_field("link:example.com", "sum_of_votes", 4),
        "link:example.com",
        MENDED,
    ),
    (
        "the votes of a network",
        |b| b.increment_field("link:example.com:networks", "198.51.100.0/24", 4),
        "link:example.com:networks",
        MENDED,
    ),
    ("the place of a site", |b| b.sorted_add("links:sum", "example.com", 9.0), "links:sum", MENDED),
    ("the place of no site", |b| b.sorted_add("links:count", "gone.example", 9.0), "links:count", MENDED),
    (
        "figures of no site",
        |b| b.set_field("link:gone.example", "sum_of_votes", "3"),
        "link:gone.example",
        MENDED,
    ),
    (
        "the origin of no vote",
        |b| {
            b.set_field("link:example.com:origins", "beda0000-0822-4342-0990-b92d94d9489a", "198.51.100.0/24")
        },
        "link:example.com:origins",
        MENDED,
    ),
    (
        "a day of a site",
        |b| b.sorted_add("day:2027-01-15:links:count", "example.com", 9.0),
        "day:2027-01-15:links:count",
        MENDED,
    ),
    (
        "a day without votes",
        |b| b.sorted_add("day:2020-01-15:links:sum", "example.com", 9.0),
        "day:2020-01-15:links:sum",
        MENDED,
    ),
    ("a prefix of no site", |b| b.add_member("prefix:0000", "gone.example"), "prefix:0000", MENDED),
    (
        "an unfinished ban that is none",
        |b| b.add_member("sites:unfinished", "beda0000-0822-4342-0990-b92d94d9489a"),
        "sites:unfinished",
        MENDED,
    ),
    ("the counter of users", |b| b.set("users.count", "2"), "users.count", MENDED),
    ("the counter of stories", |b| b.set("news.count", "1"), "news.count", MENDED),
    ("the counter of tweets", |b| b.set("tweet:ids", "1"), "tweet:ids", MENDED),
    ("the counter of the log", |b| b.set("moderation:count", "1"), "moderation:count", MENDED),
    ("a key of another type", |b| b.set("news.top", "x"), "news.top", NAMED),
    ("a key that must not expire", |b| b.expire("site.logo", Duration::from_secs(60)), "site.logo", NAMED),
];

const SESSION: &str = "session:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Makes the store what it was.
async fn put_back(server: &Server, before: &[Entry]) {
    let known: std::collections::BTreeSet<&str> = before.iter().map(|entry| entry.key.as_str()).collect();
    let surplus: Vec<String> =
        server.dump().await.into_keys().filter(|key| !known.contains(key.as_str())).collect();
    server.write(|batch| surplus.iter().for_each(|key| batch.delete(key))).await;
    server.store().restore(before.to_vec()).await.unwrap();
}

async fn entries(server: &Server) -> Vec<Entry> {
    let (mut entries, mut cursor) = (Vec::new(), None);
    loop {
        let page = server.store().scan(cursor, 500).await.unwrap();
        entries.extend(page.entries);
        cursor = page.next;
        if cursor.is_none() {
            return entries;
        }
    }
}

#[tokio::test]
async fn each_damage_is_found_and_mended_or_named() {
    each_engine(SETTINGS, async |server| {
        let Community { server, .. } = everything(server).await;
        server.write(|batch| batch.set("site.logo", "AAAA")).await;
        let before = entries(&server).await;
        let mut wrong = Vec::new();
        for (what, damage, key, is_mended) in DAMAGES {
            server.write(damage).await;
            let found = report(&server, false).await;
            if !found.differences.iter().any(|difference| difference.key == *key) {
                wrong.push(format!("{what}: not found at {key}: {:?}", found.differences));
            }
            let repaired = report(&server, true).await;
            let after = report(&server, false).await;
            if *is_mended && (repaired.left() > 0 || !after.differences.is_empty()) {
                wrong.push(format!(
                    "{what}: not mended: {:?} then {:?}",
                    repaired.differences, after.differences
                ));
            }
            let is_left = after.differences.iter().any(|difference| difference.key == *key);
            if !is_mended && (repaired.left() == 0 || !is_left) {
                wrong.push(format!("{what}: mended: {:?}", repaired.differences));
            }
            put_back(&server, &before).await;
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), DAMAGES.len(), wrong.join("\n"));
        demand_clean(&server).await;
    })
    .await;
}

#[tokio::test]
async fn a_repair_keeps_what_people_have_done() {
    let Community { server, .. } = everything(Server::start(Engine::Memory, SETTINGS).await).await;
    let before = server.dump().await;
    let derived = [
        "news.top",
        "news.cron",
        "user.posted:1",
        "user.comments:2",
        "time:",
        "score:",
        "group:links",
        "links:sum",
        "links:count",
        "users.by_followers",
        "moderation:log",
        "user:2:user_timeline",
    ];
    server.write(|batch| derived.iter().for_each(|key| batch.delete(*key))).await;
    let found = report(&server, true).await;
    assert_eq!(found.left(), 0, "{:#?}", found.differences);
    let after = server.dump().await;
    for (key, value) in
        before.iter().filter(|(key, _)| !key.contains("timeline") && !key.starts_with("past:"))
    {
        let text = |value: Option<&Value>| format!("{value:?}");
        assert_eq!(text(after.get(key)), text(Some(value)), "{key}");
    }
    demand_clean(&server).await;
}

#[tokio::test]
async fn keys_of_other_programs_are_noted_and_left_alone() {
    each_engine(SETTINGS, async |server| {
        let Community { server, .. } = everything(server).await;
        server.write(|batch| batch.set("celery", "x")).await;
        let found = report(&server, true).await;
        assert_eq!((found.strangers, found.named_strangers), (1, vec!["celery".to_owned()]));
        assert!(found.differences.is_empty(), "{:#?}", found.differences);
        assert_eq!(server.string("celery").await.as_deref(), Some("x"));
    })
    .await;
}

#[tokio::test]
async fn a_site_in_use_has_no_passing_differences() {
    each_engine(SETTINGS, async |server| {
        let Community { server, alice, bob } = everything(server).await;
        let people = server.members(6).await;
        for person in &people {
            server.set_karma(person, 1_000).await;
        }
        let busy = async {
            for number in 0..40 {
                let person = &people[number % people.len()];
                let story = alice.submit_text(&format!("Story {number}"), "text").await;
                tokio::join!(
                    person.vote(story, "up"),
                    bob.vote(story, "down"),
                    person.comment(story, "words"),
                    bob.comment(1, "more words"),
                    person.tweet("a tweet for @alice"),
                );
                if number % 3 == 0 {
                    ok(alice.delete(story).await);
                }
            }
        };
        let watch = async {
            let mut checks = 0;
            loop {
                let found = report(&server, false).await;
                assert!(found.differences.is_empty(), "{:#?}", found.differences);
                checks += 1;
                if checks == 5 {
                    return;
                }
            }
        };
        tokio::join!(busy, watch);
        demand_clean(&server).await;
    })
    .await;
}

/// The rows of the table of all keys: the type, and whether they expire.
fn documented() -> BTreeMap<String, (String, bool)> {
    let document = std::fs::read_to_string("docs/data-layout.md").unwrap();
    let glance = document.split("## Keys at a glance").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut rows = BTreeMap::new();
    for line in glance.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for key in cells[1].split('`').skip(1).step_by(2) {
            rows.insert(key.to_owned(), (cells[2].to_owned(), cells[3] != "never"));
        }
    }
    rows
}

#[test]
fn the_checker_knows_each_documented_key() {
    let known: BTreeMap<String, (String, bool)> = families::ALL
        .iter()
        .map(|family| (family.name.to_owned(), (family.holds.name().to_owned(), family.seconds > 0)))
        .collect();
    assert_eq!(known, documented());
}
