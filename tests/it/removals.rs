//! Comments, tweets and profiles that moderators remove, and what undoing it brings back: exactly
//! what would be there if nothing had happened.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tidings_domain::store_check::Part;
use tidings_keyspace as keyspace;

use crate::client::{Client, each, line_of, ok, refused, refused_saying};
use crate::consistency::Dump;
use crate::server::{Batch, Server, each_engine, in_memory};
use crate::store_check::report_of;

/// Lets somebody act on a thing; answers the number of the line.
pub async fn act(moderator: &Client, action: &str, (kind, id): (&str, &str)) -> u64 {
    line_of(try_act(moderator, action, (kind, id)).await)
}

pub async fn try_act(moderator: &Client, action: &str, thing: (&str, &str)) -> Value {
    moderator.moderate(action, thing, &[("days", "7")]).await
}

pub async fn undo(moderator: &Client, id: u64) -> u64 {
    line_of(moderator.undo(id).await)
}

/// Everything in the store but the traces that moderation leaves on purpose: its log, and messages
/// to authors. Counters of versions and of bans, and the server's own caches of limits, do not matter
/// either.
pub async fn state(server: &Server) -> Dump {
    server.finish_jobs().await;
    let mut dump = server.dump().await;
    let mut unread_messages = BTreeMap::new();
    let is_message = |member: &str| member.starts_with("moderation:");
    for (key, value) in &mut dump {
        let keyspace::Value::SortedSet(members) = value else { continue };
        if let Some(user) = key.strip_suffix(":unread") {
            let messages = members.iter().filter(|(member, _)| is_message(member)).count();
            unread_messages.insert(user.to_owned(), messages);
        }
        if key.ends_with(":unread") || key.ends_with(":inbox") {
            members.retain(|(member, _)| !is_message(member));
        }
    }
    for (key, value) in &mut dump {
        if let keyspace::Value::Hash(fields) = value
            && key.starts_with("user:")
        {
            let messages = unread_messages.get(key).copied().unwrap_or(0);
            for (field, value) in &mut *fields {
                if field == "replies" {
                    *value = (value.parse::<usize>().unwrap() - messages).to_string();
                }
            }
            fields.retain(|(field, value)| {
                field != "timeline_version" && !(field == "replies" && value == "0")
            });
        }
    }
    for (key, value) in &mut dump {
        let keyspace::Value::Hash(fields) = value else { continue };
        if key.starts_with("news:") {
            // Ranks change with the time.
            fields.retain(|(field, _)| field != "rank");
        } else if key.starts_with("voter:") {
            // The number of a ban is never given again.
            fields.retain(|(field, _)| field != "ban_number");
        }
    }
    dump.remove("news.top");
    dump.retain(|key, value| {
        let is_empty = matches!(value, keyspace::Value::SortedSet(members) if members.is_empty());
        let is_trace = ["moderation:", "timeline:", "session:", "rate:", "limit:", "past:", "built:"]
            .iter()
            .any(|prefix| key.starts_with(prefix));
        let is_trace = is_trace && !key.starts_with("timeline:floors");
        !is_empty && !is_trace && !key.ends_with(":messages") && !key.ends_with(":sessions")
    });
    dump
}

/// Says what differs, which a whole dump would hide.
#[track_caller]
pub fn assert_same(found: &Dump, expected: &Dump) {
    let keys: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let differ: Vec<_> = keys
        .into_iter()
        .filter(|key| found.get(*key) != expected.get(*key))
        .map(|key| format!("{key}: {:?} and not {:?}", found.get(key), expected.get(key)))
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The number of differences that `tidings check timelines` finds.
pub async fn differences(server: &Server) -> u64 {
    report_of(Part::Timelines, server, false).await.totals.all()
}

pub async fn badge(client: &Client) -> u64 {
    let answer = ok(client.api_get("/api/inbox?unread=1&count=100").await);
    u64::try_from(answer["entries"].as_array().unwrap().len()).unwrap()
}

/// An administrator and members.
pub async fn people(server: &Server) -> [Client; 4] {
    let alice = server.register("alice").await;
    let [bob, carol, dave] = server.people(["bob", "carol", "dave"]).await;
    [alice, bob, carol, dave]
}

#[in_memory]
async fn a_removed_comment_leaves_inboxes_and_counts_and_comes_back_as_it_was(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    carol.comment(story, "first").await;
    server.advance(60);
    let spam = dave.reply(story, 1, "spam for @alice").await;
    server.advance(60);
    // Carol has read it, the others have not.
    ok(carol.api_post("/api/readinbox", &[("id", "all")]).await);
    let (before, id) = (state(&server).await, format!("{story}-{spam}"));
    let line = act(&alice, "remove", ("comment", &id)).await;
    server.finish_jobs().await;
    assert_eq!(server.number(&format!("news:{story}"), "comments").await, 1);
    for reader in [&bob, &carol] {
        // The entry stays, and is not shown.
        let inbox = server.sorted(&format!("user:{}:inbox", reader.user_id)).await;
        assert!(inbox.iter().any(|(member, _)| member.ends_with(&id)), "{}: {inbox:?}", reader.username);
        let answer = ok(reader.api_get("/api/inbox?count=100").await);
        assert!(!answer.to_string().contains(&format!(":{id}\"")), "{answer}");
        assert_eq!(answer["unread"], json!(u64::from(reader.user_id == bob.user_id)), "{}", reader.username);
    }
    assert_eq!(badge(&alice).await, 0);
    let text = dave.last_message().await;
    let expected = format!(
        "Your comment was removed\n\nYour comment “spam for @alice” (/comment/{story}/{spam}) was removed: a reason\n"
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.ends_with(&format!("/appeal/{line}")), "{text}");
    refused_saying(try_act(&alice, "remove", ("comment", &id)).await, "already been removed");
    undo(&alice, line).await;
    assert_same(&state(&server).await, &before);
    refused_saying(try_act(&alice, "restore", ("comment", &id)).await, "not been removed");
    // The undo can be undone, and a restore ends the line of the removal.
    undo(&alice, line + 1).await;
    let restored = act(&alice, "restore", ("comment", &id)).await;
    assert_same(&state(&server).await, &before);
    let log = alice.log("?count=2").await;
    assert_eq!((&log[1]["undone_by"], &log[0]["undoes"]), (&json!(restored), &json!(line + 2)), "{log:?}");
}

#[in_memory]
async fn a_removed_tweet_is_in_no_timeline_and_comes_back_as_it_was(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    carol.follow("dave").await;
    let first = dave.tweet("the first").await;
    server.advance(60);
    let spam = dave.tweet("spam for @bob and @alice").await;
    server.advance(60);
    dave.tweet("the last").await;
    ok(alice.api_post("/api/readinbox", &[("id", "all")]).await);
    // The entry about it stays.
    bob.follow("dave").await;
    ok(bob.api_post("/api/unfollow", &[("username", "dave")]).await);
    let before = state(&server).await;
    assert_eq!(server.ids(&format!("user:{}:mentions", bob.user_id)).await, [spam]);
    let line = act(&alice, "remove", ("tweet", &spam.to_string())).await;
    server.finish_jobs().await;
    let member = spam.to_string();
    for (key, value) in server.dump().await {
        // That of the posts which are nowhere else.
        if key == format!("unseen:{}", dave.user_id) {
            continue;
        }
        if let keyspace::Value::SortedSet(members) = value {
            let is_list = key == "global_timeline" || key.ends_with(":user_timeline");
            let is_there = members.iter().any(|(other, _)| *other == member && is_list);
            assert!(!is_there, "{key}: {members:?}");
        }
    }
    assert_eq!((badge(&alice).await, badge(&bob).await), (0, 0));
    assert_eq!(differences(&server).await, 0);
    // A member who follows the author meanwhile gets the post when it is back.
    bob.follow("dave").await;
    undo(&alice, line).await;
    server.finish_jobs().await;
    assert_eq!(differences(&server).await, 0);
    let home = server.ids(&format!("user:{}:home_timeline", bob.user_id)).await;
    assert_eq!(home.len(), 3, "{home:?}");
    assert!(home.contains(&first) && home.contains(&spam));
    ok(bob.api_post("/api/unfollow", &[("username", "dave")]).await);
    let mut found = state(&server).await;
    // Following has changed these fields, and unfollowing does not take that back.
    let mut expected = before;
    for dump in [&mut found, &mut expected] {
        for value in dump.values_mut() {
            if let keyspace::Value::Hash(fields) = value {
                fields.retain(|(field, _)| !["followings_version", "followers_lost"].contains(&&**field));
            }
        }
    }
    assert_same(&found, &expected);
}

#[in_memory]
async fn a_home_timeline_is_filled_when_much_of_it_is_removed(server: Server) {
    let [alice, bob, _, dave] = people(&server).await;
    bob.follow("dave").await;
    dave.tweet("the first").await;
    server.advance(8 * 86_400);
    for number in 0..60 {
        dave.tweet(&format!("spam {number}")).await;
    }
    server.finish_jobs().await;
    let line = act(&alice, "remove_all", ("user", "dave")).await;
    server.finish_jobs().await;
    let texts = async || each(&ok(bob.api_get("/api/timeline/home?count=10").await)["tweets"], "text");
    assert_eq!(texts().await, ["the first"]);
    undo(&alice, line).await;
    server.finish_jobs().await;
    assert_eq!(texts().await.len(), 10);
}

#[in_memory]
async fn a_check_mends_a_removed_tweet_that_is_still_in_timelines(server: Server) {
    let [alice, _, carol, dave] = people(&server).await;
    carol.follow("dave").await;
    let id = dave.tweet("spam").await;
    server.finish_jobs().await;
    let before = server.dump().await;
    act(&alice, "remove", ("tweet", &id.to_string())).await;
    server.finish_jobs().await;
    // As if the removal had taken nothing away.
    let lists = ["global_timeline".to_owned(), format!("user:{}:home_timeline", carol.user_id)];
    let own = [format!("user:{}:user_timeline", dave.user_id)];
    for key in lists.iter().chain(&own) {
        let keyspace::Value::SortedSet(members) = &before[key] else { panic!("{key}") };
        let score = members[0].1;
        server.write(|batch| batch.sorted_add(key, id.to_string(), score)).await;
    }
    // Both lists that it left. A home timeline keeps what was delivered.
    assert_eq!(differences(&server).await, 2);
    report_of(Part::Timelines, &server, true).await;
    assert_eq!(differences(&server).await, 0);
    for key in lists.iter().take(1).chain(&own) {
        assert!(server.ids(key).await.is_empty(), "{key}");
    }
}

#[each_engine("other versions")]
async fn an_older_store_lets_stories_and_profiles_name_what_removed_them(server: Server) {
    let [alice, bob, _, dave] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    let other = bob.submit_text("Another", "text").await;
    ok(dave.api_post("/api/updateprofile", &[("about", "buy"), ("email", "")]).await);
    let before = state(&server).await;
    let lines = [
        act(&alice, "remove", ("story", &story.to_string())).await,
        act(&alice, "remove", ("story", &other.to_string())).await,
        act(&alice, "remove", ("user", "dave")).await,
    ];
    let removed = server.dump().await;
    let [of_story, _, of_profile] = lines.map(|line| format!("moderation:{line}"));
    let changed = async |line: &str| server.field(line, "changed").await.unwrap();
    let facts = [changed(&of_story).await, changed(&of_profile).await];
    let user = format!("user:{}", dave.user_id);
    let record = format!("withdrawn:user:{}", dave.user_id);
    let mut batch = Batch::new();
    let part = r#","field":"removed","part":"removed_by","#;
    for (line, facts, key, old) in [
        (&of_story, &facts[0], format!("news:{story}"), format!("withdrawn:story:{story}")),
        (&of_profile, &facts[1], user.clone(), record.clone()),
    ] {
        let (new, old) = (format!("\"{key}\"{part}"), format!("\"{old}\",\"field\":\"moderation\","));
        assert!(facts.contains(&new), "{facts}");
        batch.set_field(line, "changed", facts.replace(&new, &old));
    }
    for (id, line) in [(story, lines[0]), (other, lines[1])] {
        batch.delete_field(format!("news:{id}"), "removed");
        let fields = [("moderation", line.to_string()), ("article", "1 433".to_owned())];
        batch.set_fields(format!("withdrawn:story:{id}"), fields);
    }
    for field in ["removed", "removed_about"] {
        batch.delete_field(&user, field);
    }
    batch.set_fields(&record, [("moderation", &*lines[2].to_string()), ("about", "buy")]);
    batch.set("layout:version", "13");
    server.commit(batch).await;
    server.migrate().await;
    server.clear_caches().await;
    let mut migrated = server.dump().await;
    for line in [&of_story, &of_profile] {
        migrated.insert(line.clone(), removed[line].clone());
    }
    migrated.remove("layout:version");
    assert_same(&migrated, &removed);
    server.write(|batch| batch.delete("layout:version")).await;
    for line in lines {
        undo(&alice, line).await;
    }
    assert_same(&state(&server).await, &before);
}

/// A thread with more subscribers than are told at once.
async fn thread_of_many(server: &Server, author: &Client) -> (Vec<Client>, u64) {
    let readers = server.members(60).await;
    let story = author.submit_text("A story", "text").await;
    for reader in &readers {
        ok(reader.call(&format!("/api/subscribe?news_id={story}")).await);
    }
    (readers, story)
}

#[in_memory]
async fn many_subscribers_do_not_see_an_entry_and_see_it_again_read_or_unread(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    let (readers, story) = thread_of_many(&server, &bob).await;
    let spam = dave.comment(story, "spam for @carol").await;
    server.finish_jobs().await;
    for reader in &readers[..20] {
        ok(reader.api_post("/api/readinbox", &[("id", "all")]).await);
    }
    let (before, id) = (state(&server).await, format!("{story}-{spam}"));
    let line = act(&alice, "remove", ("comment", &id)).await;
    server.finish_jobs().await;
    for reader in readers.iter().chain([&bob, &carol]) {
        let answer = ok(reader.api_get("/api/inbox").await);
        assert_eq!((&answer["entries"], &answer["unread"]), (&json!([]), &json!(0)));
    }
    let undone = undo(&alice, line).await;
    assert_same(&state(&server).await, &before);
    let again = undo(&alice, undone).await;
    let back = undo(&alice, again).await;
    undo(&alice, back).await;
    let line = back + 1;
    undo(&alice, line).await;
    assert_same(&state(&server).await, &before);
}

#[in_memory]
async fn a_delivery_to_subscribers_goes_on_while_the_comment_is_removed(server: Server) {
    let [alice, bob, _, dave] = people(&server).await;
    let (readers, story) = thread_of_many(&server, &bob).await;
    let spam = dave.comment(story, "spam").await;
    server.finish_jobs().await;
    // As if a server had been killed while 40 had been told.
    let (told, id) = (state(&server).await, format!("{story}-{spam}"));
    let subscribers = server.sorted(&format!("news.subscribers:{story}")).await;
    let (member, score) = &subscribers[39];
    let tied = subscribers[..40].iter().filter(|(_, other)| other == score).count().to_string();
    for (user, _) in &subscribers[40..] {
        let mut batch = Batch::new();
        batch.delete(format!("user:{user}:inbox"));
        batch.delete(format!("user:{user}:unread"));
        batch.set_field(format!("user:{user}"), "replies", "0");
        server.commit(batch).await;
    }
    let job = format!("notify:{id}");
    let (score, author) = (format!("{score:?}"), dave.user_id.to_string());
    let mut batch = Batch::new();
    let fields = [
        ("step", "7"),
        ("author", &author),
        ("after_score", &score),
        ("after_member", member),
        ("after_tied", &tied),
    ];
    batch.set_fields(format!("timeline:job:{job}"), fields);
    batch.sorted_add("timeline:jobs", &job, 0.0);
    server.commit(batch).await;
    let line = act(&alice, "remove", ("comment", &id)).await;
    server.finish_jobs().await;
    assert!(server.hash(&format!("timeline:job:{job}")).await.is_empty());
    for reader in &readers {
        assert_eq!(badge(reader).await, 0);
    }
    undo(&alice, line).await;
    assert_same(&state(&server).await, &told);
}

#[each_engine("other versions")]
async fn an_older_store_gets_back_into_inboxes_what_removals_took_away(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    dave.comment(story, "spam for @carol").await;
    dave.tweet("spam for @bob").await;
    ok(carol.api_post("/api/readinbox", &[("id", "all")]).await);
    let before = state(&server).await;
    let lines =
        [act(&alice, "remove", ("comment", "1-1")).await, act(&alice, "remove", ("tweet", "2")).await];
    server.finish_jobs().await;
    let removed = server.dump().await;
    // As layout 10 had it: the removals took the entries along, and noted them in records of their own.
    let times = ["user:2:inbox", "user:3:inbox", "user:2:mentions"];
    let [bobs, carols, mentions] = times.map(|key| match &removed[key] {
        keyspace::Value::SortedSet(members) => members.clone(),
        other => panic!("{other:?}"),
    });
    let time_of = |members: &[(String, f64)], member: &str| {
        let found = members.iter().find(|(other, _)| other == member);
        let (_, time) = found.unwrap_or_else(|| panic!("{member}: {members:?}"));
        format!("{time:?}")
    };
    let reply = time_of(&bobs, "reply:1-1");
    let mention = time_of(&bobs, "mention:tweet:2");
    let read = time_of(&carols, "mention:1-1");
    let listed = time_of(&mentions, "2");
    let comment = server.field("thread:comment:1", "1").await.unwrap();
    let [of_comment, of_tweet] = lines.map(|line| format!("moderation:{line}"));
    let facts = [
        server.field(&of_comment, "changed").await.unwrap(),
        server.field(&of_tweet, "changed").await.unwrap(),
    ];
    let as_before = |facts: &str, new: &str, old: &str| {
        assert!(facts.contains(new), "{facts}");
        facts.replace(new, &format!(r#"{{"key":"{old}","field":"moderation","after""#))
    };
    let of_thread = r#"{"key":"thread:comment:1","field":"1","part":"removed_by","after""#;
    let of_post = r#"{"key":"tweet:2","field":"removed","part":"removed_by","after""#;
    let mut batch = Batch::new();
    let members = [("inbox", "reply:1-1"), ("unread", "reply:1-1"), ("inbox", "mention:tweet:2")];
    for (list, member) in members.into_iter().chain([("unread", "mention:tweet:2")]) {
        batch.sorted_remove(format!("user:2:{list}"), member);
    }
    batch.increment_field("user:2", "replies", -2);
    batch.sorted_remove("user:3:inbox", "mention:1-1");
    batch.sorted_remove("user:2:mentions", "2");
    batch.set_field("thread:comment:1", "1", comment.replace(&format!(r#","removed":"{}""#, lines[0]), ""));
    batch.delete_field("tweet:2", "removed");
    batch.set_field(&of_comment, "changed", as_before(&facts[0], of_thread, "withdrawn:comment:1-1"));
    batch.set_field(&of_tweet, "changed", as_before(&facts[1], of_post, "withdrawn:tweet:2"));
    batch.set_fields(
        "withdrawn:comment:1-1",
        [
            ("moderation", lines[0].to_string()),
            ("entries", format!("2 reply:1-1 {reply} {reply} 1")),
            ("counted", "1".to_owned()),
            ("large", "1".to_owned()),
        ],
    );
    let subscribers = "withdrawn:comment:1-1:subscribers";
    batch.sorted_add(subscribers, format!("3 mention:1-1 {read} - 0"), 3.0);
    batch.set_fields(
        "withdrawn:tweet:2",
        [
            ("moderation", lines[1].to_string()),
            ("entries", format!("2 mention:tweet:2 {mention} {mention} 1")),
            ("mentions", format!("2 {listed}")),
        ],
    );
    batch.sorted_add("timeline:jobs", "withdraw:1-1", 0.0);
    batch.set_fields("timeline:job:withdraw:1-1", [("step", "7"), ("author", "4")]);
    batch.set("layout:version", "10");
    server.commit(batch).await;
    server.migrate().await;
    server.clear_caches().await;
    let mut migrated = server.dump().await;
    for line in [&of_comment, &of_tweet] {
        migrated.insert(line.clone(), removed[line].clone());
    }
    migrated.remove("layout:version");
    let mut removed = removed;
    removed.remove("layout:version");
    assert_same(&migrated, &removed);
    for line in lines {
        undo(&alice, line).await;
    }
    server.finish_jobs().await;
    let mut back = state(&server).await;
    back.remove("layout:version");
    assert_same(&back, &before);
}

#[in_memory]
async fn a_removed_profile_is_blank_and_comes_back(server: Server) {
    let [alice, bob, ..] = people(&server).await;
    let user = ("user", "bob");
    refused_saying(try_act(&alice, "remove", user).await, "no text");
    ok(bob.call("/api/updateprofile?about=Buy!&email=&fullname=Bob Buy").await);
    let before = state(&server).await;
    let line = act(&alice, "remove", user).await;
    let key = format!("user:{}", bob.user_id);
    for field in ["about", "fullname"] {
        assert_eq!(server.field(&key, field).await.as_deref(), Some(""), "{field}");
    }
    let page = server.visitor().text("/@bob").await;
    assert!(!page.contains("Buy"));
    undo(&alice, line).await;
    assert_same(&state(&server).await, &before);
    // A text that the person writes meanwhile stays.
    act(&alice, "remove", user).await;
    ok(bob.api_post("/api/updateprofile", &[("about", "Hello"), ("email", "")]).await);
    act(&alice, "restore", user).await;
    assert_eq!(server.field(&key, "about").await.as_deref(), Some("Hello"));
    assert_eq!(server.field(&key, "fullname").await.as_deref(), Some("Bob Buy"));
    refused_saying(try_act(&alice, "restore", user).await, "to restore");
}

#[in_memory]
async fn what_cannot_be_removed_or_restored_leaves_no_trace(server: Server) {
    let [alice, bob, carol, dave] = people(&server).await;
    act(&alice, "make_moderator", ("user", "carol")).await;
    let story = bob.submit_text("A story", "text").await;
    let of = async |author: &Client| format!("{story}-{}", author.comment(story, "a comment").await);
    let (own, higher, deleted) = (of(&carol).await, of(&alice).await, of(&dave).await);
    let of_bob = of(&bob).await;
    let deleted_id = deleted.split('-').next_back().unwrap().parse().unwrap();
    ok(dave.edit_comment(story, deleted_id, "").await);
    let [own_tweet, higher_tweet] =
        [carol.tweet("mine").await, alice.tweet("hers").await].map(|id| id.to_string());
    let before = server.dump().await;
    for (action, kind, id, expected) in [
        ("remove", "comment", own.as_str(), "you can't moderate yourself"),
        ("remove", "comment", &higher, "with a higher role"),
        ("remove", "comment", &deleted, "has been deleted"),
        ("remove", "comment", "1-99", "no such comment"),
        ("remove", "comment", "99-1", "no such story"),
        ("restore", "comment", &higher, "with a higher role"),
        ("restore", "comment", &of_bob, "not been removed"),
        ("restore", "comment", &deleted, "has been deleted"),
        ("remove", "tweet", &own_tweet, "you can't moderate yourself"),
        ("remove", "tweet", &higher_tweet, "with a higher role"),
        ("remove", "tweet", "99", "no such post"),
        ("restore", "tweet", &own_tweet, "you can't moderate yourself"),
        ("remove", "user", "alice", "with a higher role"),
        ("remove", "user", "dave", "no text"),
        ("restore", "user", "dave", "nothing to do"),
        ("remove_all", "user", "alice", "with a higher role"),
        ("remove_all", "user", "carol", "you can't moderate yourself"),
        ("remove_all", "comment", &higher, "cannot be applied to a comment"),
        ("remove_all", "user", "nobody", "no user"),
    ] {
        let error = refused(try_act(&carol, action, (kind, id)).await).to_lowercase();
        assert!(error.contains(expected), "{action} {kind} {id}: {error}");
    }
    refused_saying(try_act(&dave, "remove", ("comment", &higher)).await, "Only moderators");
    assert_eq!(server.dump().await, before);
}
