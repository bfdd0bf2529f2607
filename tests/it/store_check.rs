//! `tidings check store`: a site that people have used has no differences, and each kind of
//! damage is found at its key, named, and mended if it follows from something else.

use std::collections::{BTreeMap, BTreeSet};

use tidings_domain::store_check::{Difference, Outcome, Part, StoreReport, check};
use tidings_keyspace::{Entry, Value, Write};

use crate::client::{Client, ok};
use crate::community::Community;
use crate::consistency::Dump;
use crate::invitations::invite;
use crate::removals::act;
use crate::server::{Batch, Engine, Server, each_engine};
use crate::signups::sign_up;

mod damages;
mod file;
mod losses;
mod moderated;
mod running;
mod wrong;

use damages::{Damage, damages};

/// The report of a check of a server's store.
pub async fn report(server: &Server, repair: bool) -> StoreReport {
    report_of(Part::Whole, server, repair).await
}

/// Checks a part of a server's store.
pub async fn report_of(part: Part, server: &Server, repair: bool) -> StoreReport {
    let mut found = check(&server.app.site, part, server.app.moment(), repair, |_| {}).await.unwrap();
    if server.redis.is_some() {
        // A Redis server expires keys by its own clock, whatever the clock of the test says.
        found.differences.retain(|difference| difference.found != "voters with another expiry");
    }
    found
}

/// The differences of a report that are not mended.
fn left(report: &StoreReport) -> Vec<&Difference> {
    report.differences.iter().filter(|difference| difference.outcome != Outcome::Mended).collect()
}

/// Demands that a check of a server's store finds nothing. Waiting jobs are done first.
pub async fn demand_clean(server: &Server) {
    server.finish_jobs().await;
    let found = report(server, false).await;
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!((found.strangers, found.unsettled), (0, 0), "{:?}", found.named_strangers);
}

/// A community with something in almost every family of keys.
async fn everything(server: Server) -> Community {
    let community = Community::on(server).await;
    let Community { server, alice, bob } = &community;
    let [carol, dave] = server.people(["carol", "dave"]).await;
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
        ok(reader.call("/api/flag?kind=story&id=2&reason=spam&note=n").await);
    }
    ok(bob.api_post("/api/messages", &[("text", "A question")]).await);
    act(alice, "make_moderator", ("user", "carol")).await;
    act(alice, "note", ("user", "bob")).await;
    ok(alice.moderate("ban", ("user", "dave"), &[("hours", "48")]).await);
    let spare = carol.submit_link("A removed link", "http://removed.example/").await.to_string();
    act(alice, "remove", ("story", &spare)).await;
    let locked = act(alice, "lock", ("story", "2")).await;
    ok(alice.undo(locked).await);
    let code = invite(alice).await;
    ok(sign_up(&server.visitor(), "erin", &[("invitation", &code)]).await);
    invite(alice).await;
    let mut batch = Batch::new();
    batch.set_field("user:2", "digest", "daily");
    batch.sorted_add("mail:digest:daily", "2", 1.0);
    for key in ["mail:outbox", "mail:written"] {
        batch.sorted_add(key, "notice:2:password-1800000000-bob@example.org", 1_800_000_000.0);
    }
    server.commit(batch).await;
    in_every_state(server, alice).await;
    server.finish_jobs().await;
    let unread = server.number("user:1", "replies").await;
    for path in ["/topic/links", "/past/2027-01", "/home", "/news/1"] {
        assert_eq!(alice.get(path).await.status, 200, "{path}");
    }
    // She has seen a reply there, which the background marks as read.
    tidings_testing::until(async || server.number("user:1", "replies").await != unread).await;
    community
}

/// Adds posts that are held, rejected, merged, removed, flagged, and deleted after each of these.
async fn in_every_state(server: &Server, alice: &Client) {
    let frank = server.member("frank").await;
    let first = frank.submit_link("A story to come", "http://merged.example/").await.to_string();
    let act = async |action: &str, kind: &str, id: &str| act(alice, action, (kind, id)).await;
    ok(alice.moderate("merge", ("story", &*first), &[("into", "2")]).await);
    let flagged = frank.submit_text("A flagged story", "text").await.to_string();
    let [removed, gone, flag] = [frank.tweet("to remove"), frank.tweet("to delete"), frank.tweet("to flag")];
    let (removed, gone, flag) = (removed.await.to_string(), gone.await.to_string(), flag.await.to_string());
    let comment = frank.comment(2, "to remove").await;
    let kept = frank.comment(2, "to flag").await;
    act("remove", "tweet", &removed).await;
    act("remove", "comment", &format!("2-{comment}")).await;
    ok(frank.api_post("/api/deltweet", &[("tweet_id", &gone)]).await);
    for (kind, id) in [("story", &flagged), ("comment", &format!("2-{kept}")), ("tweet", &flag)] {
        ok(alice.call(&format!("/api/flag?kind={kind}&id={id}&reason=spam&note=")).await);
    }
    ok(frank.delete(flagged.parse().unwrap()).await);
    ok(frank.edit_comment(2, kept, "").await);
    ok(frank.api_post("/api/deltweet", &[("tweet_id", &flag)]).await);
    act("hold", "user", "frank").await;
    for decision in ["", "reject", "remove", "approve", "delete", "reject and delete"] {
        let (title, url) = (format!("Held: {decision}"), format!("http://held.example/{decision}"));
        let story = frank.submit_link_on("links", &title, &url).await;
        let posted = ok(frank.try_comment(2, None, &title).await)["comment_id"].as_u64().unwrap();
        let tweet = ok(frank.try_tweet(&title).await)["tweet_id"].to_string();
        let things =
            [("story", story.to_string()), ("comment", format!("2-{posted}")), ("tweet", tweet.clone())];
        if let Some(action) = decision.split(' ').next().filter(|action| !["", "delete"].contains(action)) {
            for (kind, id) in &things {
                act(action, kind, id).await;
            }
        }
        if decision.ends_with("delete") {
            frank.delete(story).await;
            frank.edit_comment(2, posted, "").await;
            frank.api_post("/api/deltweet", &[("tweet_id", &tweet)]).await;
        }
    }
}

#[each_engine("check")]
async fn a_site_with_everything_has_no_differences(server: Server) {
    let Community { server, .. } = everything(server).await;
    demand_clean(&server).await;
    let before = server.dump().await;
    let repaired = report(&server, true).await;
    assert!(repaired.differences.is_empty(), "{:#?}", repaired.differences);
    assert_eq!(server.dump().await, before, "a repair of nothing writes nothing");
}

/// Makes the store what it was.
async fn put_back(server: &Server, now: Dump, before: &[Entry]) {
    let known: std::collections::BTreeSet<&str> = before.iter().map(|entry| entry.key.as_str()).collect();
    let surplus: Vec<String> = now.into_keys().filter(|key| !known.contains(key.as_str())).collect();
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

#[each_engine("check")]
async fn each_damage_is_found_and_mended_or_named(server: Server) {
    let Community { server, .. } = everything(server).await;
    server.write(|batch| batch.set("site.logo", "AAAA")).await;
    let before = entries(&server).await;
    let mut wrong = Vec::new();
    let damages = damages();
    for (number, Damage { what, key, write, is_mended }) in damages.iter().enumerate() {
        let batch = Batch::of(write);
        // The engines differ in how they lose keys, let them expire and give them another type: of the rest, some are
        // enough on Redis.
        let is_of_key =
            |write: &Write| matches!(write, Write::Set(..) | Write::Delete(_) | Write::Expire(..));
        if server.store().is_shared() && number % 6 != 0 && !batch.writes().iter().any(is_of_key) {
            continue;
        }
        server.commit(batch).await;
        let damaged = server.dump().await;
        let repaired = report(&server, true).await;
        let once = server.dump().await;
        // A repair does not complete records that refer to nothing.
        if let Some(made) = once.keys().find(|key| !is_mended && !damaged.contains_key(*key)) {
            wrong.push(format!("{what}: the repair made {made}"));
        }
        let again = report(&server, true).await;
        if server.dump().await != once || again.totals.mended > 0 {
            wrong.push(format!("{what}: a second repair mends {:?}", again.differences));
        }
        if !repaired.differences.iter().any(|difference| difference.key == *key) {
            wrong.push(format!("{what}: not found at {key}: {:?}", repaired.differences));
        }
        let is_left = !left(&repaired).is_empty();
        if *is_mended && (is_left || !again.differences.is_empty()) {
            wrong
                .push(format!("{what}: not mended: {:?} then {:?}", repaired.differences, again.differences));
        }
        let is_found_again = again.differences.iter().any(|difference| difference.key == *key);
        if !is_mended && (!is_left || !is_found_again) {
            wrong.push(format!("{what}: mended: {:?}", repaired.differences));
        }
        put_back(&server, once, &before).await;
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), damages.len(), wrong.join("\n"));
    demand_clean(&server).await;
}

#[each_engine("check")]
async fn no_repair_gives_two_items_one_number(server: Server) {
    let alice = server.register("alice").await;
    for number in 0..4 {
        alice.submit_text(&format!("Story {number}"), "text").await;
        server.advance(60);
    }
    let numbers = async || {
        let items = server.sorted("items").await.into_iter();
        items.map(|(item, number)| (item, format!("{number}"))).collect::<BTreeMap<_, _>>()
    };
    for count in [None, Some("0"), Some("2")] {
        let mut batch = Batch::new();
        batch.sorted_remove("items", "news:2");
        match count {
            Some(count) => batch.set("items.count", count),
            None => batch.delete("items.count"),
        }
        server.commit(batch).await;
        let found = report(&server, true).await;
        assert!(left(&found).is_empty(), "{:#?}", found.differences);
        let given: BTreeSet<String> = numbers().await.into_values().collect();
        assert_eq!(given.len(), 4, "{count:?}: {:?}", numbers().await);
        demand_clean(&server).await;
    }
    // Of several with one number, the oldest keeps it.
    let before = numbers().await;
    let shared: f64 = before["news:3"].parse().unwrap();
    let mut batch = Batch::new();
    batch.sorted_add("items", "news:4", shared);
    batch.sorted_add("items", "news:1", shared);
    server.commit(batch).await;
    assert!(left(&report(&server, true).await).is_empty());
    let after = numbers().await;
    assert_eq!(after["news:1"], before["news:3"]);
    assert_eq!(after.values().collect::<BTreeSet<_>>().len(), 4, "{after:?}");
    demand_clean(&server).await;
}

#[tokio::test]
async fn a_repair_keeps_what_people_have_done() {
    let Community { server, .. } = everything(Server::start(Engine::Memory, &[]).await).await;
    let before = server.dump().await;
    let derived = "news.top news.cron user.posted:1 user.comments:2 time: score: group:links links:sum \
        links:count users.by_followers moderation:log user:2:user_timeline";
    server.write(|batch| derived.split(' ').for_each(|key| batch.delete(key))).await;
    let found = report(&server, true).await;
    assert!(left(&found).is_empty(), "{:#?}", found.differences);
    let after = server.dump().await;
    for (key, value) in
        before.iter().filter(|(key, _)| !key.contains("timeline") && !key.starts_with("past:"))
    {
        let text = |value: Option<&Value>| format!("{value:?}");
        assert_eq!(text(after.get(key)), text(Some(value)), "{key}");
    }
    demand_clean(&server).await;
}

#[each_engine("check")]
async fn keys_of_other_programs_are_noted_and_left_alone(server: Server) {
    let Community { server, .. } = everything(server).await;
    server.write(|batch| batch.set("celery", "x")).await;
    let found = report(&server, true).await;
    assert_eq!((found.strangers, found.named_strangers), (1, vec!["celery".to_owned()]));
    assert!(found.differences.is_empty(), "{:#?}", found.differences);
    assert_eq!(server.string("celery").await.as_deref(), Some("x"));
}

#[each_engine("check")]
async fn a_site_in_use_has_no_passing_differences(server: Server) {
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
}
