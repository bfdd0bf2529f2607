//! The actions of moderators: each with its line in the log, and the way back.

use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, has_members, line_of, ok, refused, refused_saying};
use crate::pages::page;
use crate::server::{Server, in_memory};

/// Lets somebody act on a thing.
async fn moderate(moderator: &Client, action: &str, (kind, id): (&str, &str), hours: &str) -> Value {
    moderator.moderate(action, (kind, id), &[("hours", hours)]).await
}

/// The lines of the log as `<id> <moderator> <action> <kind> <target> <undone_by>`, newest first.
async fn log(reader: &Client, query: &str) -> Vec<String> {
    let lines = reader.log(query).await;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = ["id", "moderator", "action", "kind", "target", "undone_by"];
    lines.iter().map(|line| names.map(|name| text(&line[name])).join(" ")).collect()
}

/// An administrator, a moderator, and two members.
pub async fn people(server: &Server) -> [Client; 4] {
    let alice = server.register("alice").await;
    let [moderator, bob, carol] = server.people(["mod", "bob", "carol"]).await;
    ok(moderate(&alice, "make_moderator", ("user", "mod"), "").await);
    [alice, moderator, bob, carol]
}

#[in_memory]
async fn a_moderator_can_speak_as_such_which_is_marked_and_logged(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    bob.submit_text("A story", "text").await;
    let speak = async |client: &Client, speaking_as: &str| {
        let fields = [("news_id", "1"), ("comment_id", "-1"), ("parent_id", "-1"), ("comment", "Be kind")];
        client.api_post("/api/postcomment", &[&fields[..], &[("speaking_as", speaking_as)]].concat()).await
    };
    refused_saying(speak(&bob, "moderator").await, "moderators");
    ok(speak(&moderator, "").await);
    ok(speak(&moderator, "moderator").await);
    ok(bob.api_post("/api/votecomment", &[("comment_id", "1-2"), ("vote_type", "up")]).await);
    let expected = ["2 mod speak comment 1-2 null", "1 alice make_moderator user mod null"];
    assert_eq!(log(&server.visitor(), "").await, expected);
    let comments = bob.thread(1).await;
    let spoken = |id: u64| comments.iter().find(|line| line["id"] == id).unwrap()["as"].clone();
    assert_eq!((spoken(1), spoken(2)), (Value::Null, Value::from("moderator")));
    let thread = page(&bob, "/news/1").await;
    assert_eq!(thread.one("span", &[("class", "tag staff")]).text(), "moderator");
    for (client, offered) in [(&moderator, 1), (&bob, 0)] {
        let boxes = page(client, "/news/1").await.find("input", &[("name", "speaking_as")]).len();
        assert_eq!(boxes, offered);
    }
    refused(moderator.undo(2).await);
}

#[in_memory]
async fn an_action_has_a_line_and_an_undo_has_another(server: Server) {
    let [alice, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_text("A story", "text").await.to_string();
    assert_eq!(ok(moderate(&moderator, "lock", ("story", &story), "").await)["moderation_id"], 2);
    refused_saying(carol.try_comment(1, None, "late").await, "locked: a reason");
    assert_eq!(ok(moderator.undo(2).await)["moderation_id"], 3);
    carol.comment(1, "in time").await;
    ok(moderate(&moderator, "silence", ("user", "BOB"), "24").await);
    let expected = [
        "4 mod silence user BOB null",
        "3 mod unlock story 1 null",
        "2 mod lock story 1 3",
        "1 alice make_moderator user mod null",
    ];
    assert_eq!(log(&server.visitor(), "").await, expected);
    assert_eq!(log(&alice, "?action=lock").await, expected[2..3]);
    assert_eq!(log(&alice, "?moderator=mod&kind=story&count=1").await, expected[1..2]);
    assert_eq!(log(&alice, "?before=3&count=1").await, expected[2..3]);
    // Bob is told, and the restriction ends by itself.
    assert!(bob.last_message().await.contains("a reason"));
    server.advance(86_400);
    let lifted = moderate(&moderator, "unsilence", ("user", "bob"), "").await;
    refused_saying(lifted, "no such restriction");
}

#[in_memory]
async fn a_person_is_told_that_a_restriction_was_lifted_and_a_thread_locked_or_opened(server: Server) {
    let (moderator, bob) = (server.register("alice").await, server.register("bob").await);
    let story = bob.submit_text("A story", "text").await.to_string();
    for (action, sentence) in [
        ("lock", "The thread of your story “A story” (/news/1) was locked: a reason"),
        ("unlock", "The thread of your story “A story” (/news/1) is open again: a reason"),
    ] {
        ok(moderate(&moderator, action, ("story", &story), "").await);
        let told = bob.last_message().await;
        assert!(told.contains(sentence), "{told}");
    }
    for (restrict, lift, sentence) in [
        ("silence", "unsilence", "A moderator has lifted your silence"),
        ("hold", "unhold", "Your posts no longer need a moderator's approval."),
        ("ban", "unban", "A moderator has lifted your ban."),
    ] {
        ok(moderate(&moderator, restrict, ("user", "bob"), "24").await);
        ok(moderate(&moderator, lift, ("user", "bob"), "").await);
        let bob = bob.log_in("bob", PASSWORD).await;
        let told = bob.last_message().await;
        assert!(told.contains(sentence) && told.contains("a reason"), "{told}");
    }
}

#[in_memory]
async fn the_feed_has_the_lines_as_everybody_sees_them(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    bob.submit_text("A <b> story", "text").await;
    ok(moderator.moderate("lock", ("story", "1"), &[("reason", "r & r"), ("anonymous", "1")]).await);
    let visitor = server.visitor();
    let log = page(&visitor, "/moderations").await;
    assert!(log.content().contains("locked the thread of “A <b> story” by bob"), "{}", log.content());
    let found = log.find("link", &[("rel", "alternate"), ("href", "/moderations/atom")]);
    assert_eq!(found.len(), 1, "feed readers find it");
    let feed = moderator.text("/moderations/atom").await;
    for part in [
        "a moderator locked the thread of story “A &lt;b&gt; story” by bob",
        "r &amp; r",
        "mod is now a moderator",
    ] {
        assert!(feed.contains(part), "{part}: {feed}");
    }
    assert!(!feed.contains("<name>mod</name>"), "{feed}");
    // Readers do not see removed things here either; moderators do.
    ok(moderate(&moderator, "unlock", ("story", "1"), "").await);
    bob.comment(1, "A comment").await;
    ok(moderate(&moderator, "remove", ("comment", "1-1"), "").await);
    ok(moderate(&moderator, "remove", ("story", "1"), "").await);
    let [readers, moderators] =
        [page(&visitor, "/moderations").await, page(&moderator, "/moderations").await];
    let (readers, moderators) = (readers.content(), moderators.content());
    assert!(!readers.contains("bob") && !readers.contains("story”"), "{readers}");
    assert!(moderators.contains("removed “A <b> story” by bob"), "{moderators}");
    assert!(moderators.contains("removed comment 1 by bob on “A <b> story”"), "{moderators}");
}

#[in_memory]
async fn what_a_moderator_may_not_do_leaves_no_trace(server: Server) {
    let [alice, moderator, bob, carol] = people(&server).await;
    let own = moderator.submit_text("Of the moderator", "text").await.to_string();
    bob.submit_text("Of bob", "text").await;
    let before = server.dump().await;
    let bob_is = ("user", "bob");
    for (who, action, thing, expected) in [
        (&bob, "silence", ("user", "carol"), "Only moderators"),
        (&moderator, "silence", ("user", "mod"), "You can't moderate yourself"),
        (&moderator, "lock", ("story", own.as_str()), "You can't moderate yourself"),
        (&moderator, "silence", ("user", "alice"), "with a higher role"),
        (&moderator, "make_moderator", bob_is, "Only administrators"),
        (&alice, "make_moderator", ("user", "mod"), "already"),
        (&moderator, "unsilence", bob_is, "no such restriction"),
        (&moderator, "unlock", ("story", "2"), "not locked"),
        (&moderator, "lock", bob_is, "cannot be applied to a user"),
        (&moderator, "silence", ("user", "nobody"), "no user"),
        (&moderator, "lock", ("story", "99"), "no such"),
        (&moderator, "rule", bob_is, "call of its own"),
        (&moderator, "destroy", bob_is, "must be an action"),
        (&moderator, "lock", ("story", "x"), "The field id"),
        (&moderator, "lock", ("planet", "1"), "The field kind"),
    ] {
        let error = refused(moderate(who, action, thing, "").await).to_lowercase();
        assert!(error.contains(&expected.to_lowercase()), "{action} {thing:?}: {error}");
    }
    refused_saying(moderator.moderate("silence", ("user", "bob"), &[("reason", " ")]).await, "reason");
    refused_saying(moderator.undo(99).await, "no such entry");
    refused_saying(carol.undo(1).await, "Only moderators");
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn an_unnamed_moderator_is_named_to_administrators_only(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    bob.submit_text("A story", "text").await;
    ok(moderator.moderate("lock", ("story", "1"), &[("reason", "r"), ("anonymous", "1")]).await);
    assert_eq!(log(&alice, "?count=1").await, ["2 mod lock story 1 null"]);
    for reader in [&server.visitor(), &bob, &moderator] {
        assert_eq!(log(reader, "?count=1").await, ["2 a moderator lock story 1 null"]);
        let page = reader.text("/moderations").await;
        assert!(page.contains("a moderator") && !page.contains("/@mod\">mod</a> locked"), "{page}");
        // A filter must not reveal the name either.
        let none: [&str; 0] = [];
        assert_eq!(log(reader, "?moderator=mod").await, none);
    }
    assert_eq!(log(&alice, "?moderator=mod").await.len(), 1);
}

#[in_memory]
async fn a_lift_that_is_undone_restores_the_end(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    ok(moderate(&moderator, "silence", ("user", "bob"), "48").await);
    let end = json!(server.now() + 48 * 3_600);
    server.advance(3_600);
    ok(moderate(&moderator, "unsilence", ("user", "bob"), "").await);
    ok(moderator.undo(3).await);
    let log = bob.log("").await;
    has_members(&log[0], json!({"action": "silence", "until": end}));
    // The line of the first silence says by which it was lifted.
    assert_eq!((&log[2]["undone_by"], &log[1]["undone_by"]), (&json!(3), &json!(4)), "{log:?}");
}

#[in_memory]
async fn what_an_administrator_does_to_posts_of_others_is_in_the_log_and_administrators_undo_it(
    server: Server,
) {
    let [alice, moderator, bob, _] = people(&server).await;
    let link = bob.submit_link("A link", "http://example.com/a").await;
    let text = bob.submit_text("A text", "old words").await;
    bob.comment(link, "a comment").await;
    let tweet = bob.tweet("a tweet").await.to_string();
    let removed = "removed:by an administrator";
    let steps = [
        ("edit story", "A better title"),
        ("edit story", "new words"),
        ("edit comment", "better words"),
        ("remove comment", removed),
        ("remove story", removed),
        ("remove tweet", removed),
    ];
    for (number, (action, stored)) in steps.into_iter().enumerate() {
        let before = crate::removals::state(&server).await;
        let answer = match number {
            0 => alice.edit(link, "A better title", "http://example.com/a", "").await,
            1 => alice.edit(text, "A text", "", "new words").await,
            2 => alice.edit_comment(link, 1, "better words").await,
            3 => alice.edit_comment(link, 1, "").await,
            4 => alice.delete(link).await,
            _ => alice.call(&format!("/api/deltweet?tweet_id={tweet}")).await,
        };
        ok(answer);
        server.finish_jobs().await;
        assert!(format!("{:?}", server.dump().await).contains(stored), "{action}: {stored}");
        let line = server.visitor().log("?count=1").await.remove(0);
        let done = format!("{} {}", line["action"].as_str().unwrap(), line["kind"].as_str().unwrap());
        assert_eq!((&*done, &line["moderator"]), (action, &json!("alice")));
        assert_eq!(line["reason"], "by an administrator");
        let told = bob.last_message().await;
        assert!(told.contains("by an administrator"), "{told}");
        // A moderator undoes only what moderators have decided, whatever the way.
        let id = line["id"].as_u64().unwrap();
        let thing = (line["kind"].as_str().unwrap(), line["target"].as_str().unwrap());
        let by_moderator = match line["action"].as_str() {
            Some("remove") => [moderator.undo(id).await, moderate(&moderator, "restore", thing, "").await],
            _ => [moderator.undo(id).await, moderator.undo(id).await],
        };
        for refusal in by_moderator {
            refused_saying(refusal, "Only an administrator can undo it");
        }
        ok(alice.undo(id).await);
        crate::removals::assert_same(&crate::removals::state(&server).await, &before);
    }
    ok(alice.moderate("remove_all", ("user", "bob"), &[("days", "1"), ("reason", "spam")]).await);
    server.finish_jobs().await;
    for thing in [("story", "1"), ("comment", "1-1")] {
        let refusal = moderate(&moderator, "restore", thing, "").await;
        refused_saying(refusal, "Only an administrator can undo it");
        ok(moderate(&alice, "restore", thing, "").await);
    }
    // Others are refused, and what is one's own is nobody's business.
    for refusal in [moderator.delete(link).await, moderator.edit_comment(link, 1, "").await] {
        assert!(refused(refusal).starts_with("Only the author can"));
    }
    let lines = log(&alice, "").await.len();
    let own = alice.submit_text("Mine", "text").await;
    alice.comment(own, "mine").await;
    ok(alice.edit(own, "Still mine", "", "text").await);
    ok(alice.edit_comment(own, 1, "").await);
    ok(alice.delete(own).await);
    assert_eq!(log(&alice, "").await.len(), lines);
}

#[in_memory]
async fn pages_offer_no_unlogged_edit_or_deletion_of_posts_of_others(server: Server) {
    let [alice, _, bob, _] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "a comment").await;
    let tweet = bob.tweet("a tweet").await;
    let (thread, tweet) = (format!("/news/{story}"), format!("/tweet/{tweet}"));
    for path in [&*thread, "/news/1?at=1", "/", "/everyone", &tweet] {
        let page = alice.text(path).await;
        for link in ["/editnews/", "/delnews/", "/editcomment/", "/deltweet/"] {
            assert!(!page.contains(link), "{path}: {link}");
        }
    }
    let page = bob.text(&thread).await;
    assert!(page.contains("/editnews/1") && page.contains("/editcomment/1/1"), "{page}");
    for path in ["/editnews/1", "/delnews/1", "/editcomment/1/1"] {
        assert_eq!(alice.get(path).await.status, reqwest::StatusCode::FORBIDDEN, "{path}");
    }
}

#[in_memory]
async fn a_moderator_edits_a_comment_and_the_undo_is_refused_once_its_author_has_changed_it(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "some words").await;
    let about = [("action", "edit"), ("kind", "comment"), ("id", "1-1"), ("reason", "tone")];
    let edit = async |text: &str| {
        let fields: Vec<_> = about.into_iter().chain([("text", text)]).collect();
        moderator.api_post("/api/moderate", &fields).await
    };
    refused_saying(edit("some words").await, "already has this text");
    let first = line_of(edit("kinder words").await);
    assert_eq!(bob.thread(story).await[0]["body"], "kinder words");
    ok(moderator.undo(first).await);
    assert_eq!(bob.thread(story).await[0]["body"], "some words");
    let second = line_of(edit("kinder words").await);
    ok(bob.edit_comment(story, 1, "my own words").await);
    assert_eq!(refused(moderator.undo(second).await), "The text has changed since.");
    refused_saying(moderator.api_post("/api/moderate", &about).await, "text");
}
