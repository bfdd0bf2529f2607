//! Messages between members and the moderators.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, PASSWORD, each, has_members, line_of, ok, refused, refused_saying};
use crate::mails::send_all;
use crate::pages::{page, redirects_to};
use crate::server::{Batch, Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;
use crate::store_check::demand_clean;

/// An administrator, a moderator, and two members.
async fn people(server: &Server) -> [Client; 4] {
    let alice = server.register("alice").await;
    let moderator = server.moderator("mod").await;
    let [bob, carol] = server.people(["bob", "carol"]).await;
    [alice, moderator, bob, carol]
}

/// Writes a message. Returns the thread and the number.
async fn write(who: &Client, fields: &[(&str, &str)]) -> (String, u64) {
    let written = ok(who.api_post("/api/messages", fields).await);
    (written["thread_id"].to_string(), written["message_id"].as_u64().unwrap())
}

async fn threads(who: &Client) -> Vec<Value> {
    ok(who.api_get("/api/messages").await)["threads"].as_array().unwrap().clone()
}

/// The rows of the queue, as their kind and id.
async fn waiting(moderator: &Client) -> Vec<String> {
    let queue = ok(moderator.api_get("/api/moderate/queue").await);
    let rows = queue["items"].as_array().unwrap().iter();
    rows.map(|row| format!("{}:{}", row["kind"].as_str().unwrap(), row["id"].as_str().unwrap())).collect()
}

async fn warn(moderator: &Client, name: &str) -> String {
    line_of(moderator.moderate("warn", ("user", name), &[("reason", "be kind")]).await).to_string()
}

#[in_memory]
async fn a_member_writes_and_moderators_answer(server: Server) {
    let [alice, moderator, bob, carol] = people(&server).await;
    assert!(threads(&bob).await.is_empty());
    let (thread, number) = write(&bob, &[("text", "Why is my\npost <b>gone</b>?")]).await;
    assert_eq!((thread.as_str(), number), ("1", 1));
    assert_eq!(waiting(&moderator).await, ["message:1"]);
    let queue = ok(moderator.api_get("/api/moderate/queue").await);
    has_members(
        &queue["items"][0],
        json!({"why": "message", "author": "bob", "text": "Why is my\npost <b>gone</b>?"}),
    );
    server.advance(60);
    let answer = [("text", "It was off topic."), ("thread", "1"), ("anonymous", "1")];
    assert_eq!(write(&moderator, &answer).await, ("1".to_owned(), 2));
    assert!(waiting(&moderator).await.is_empty());
    let inbox = ok(bob.api_get("/api/inbox").await);
    assert_eq!(
        (&inbox["unread"], &inbox["entries"][0]["id"], &inbox["entries"][0]["text"]),
        (&json!(1), &json!("moderation:message:1-2"), &json!("It was off topic."))
    );
    assert_eq!(inbox["entries"][0].get("username"), None);
    // By name, without a question that waits.
    server.advance(60);
    write(&alice, &[("text", "You can post it again."), ("thread", "1")]).await;
    let inbox = ok(bob.api_get("/api/inbox").await);
    assert_eq!((&inbox["unread"], &inbox["entries"][0]["username"]), (&json!(2), &json!("alice")));
    let read = threads(&bob).await;
    assert_eq!(read.len(), 1);
    assert_eq!((&read[0]["thread_id"], &read[0]["state"]), (&json!(1), &json!("answered")));
    assert_eq!(each(&read[0]["messages"], "from"), ["bob", "the moderators", "alice"]);
    assert!(read[0]["messages"][1].get("by").is_none());
    // Administrators see who answered as the moderators.
    assert_eq!(threads(&moderator).await[0]["messages"][1].get("by"), None);
    assert_eq!(threads(&alice).await[0]["messages"][1]["by"], "mod");
    // The page of the thread marks the answers as read.
    let listed = page(&bob, "/inbox").await;
    assert!(listed.links_to("/messages/1#message-2") && listed.text().contains("A moderator answered you"));
    let shown = bob.text("/messages/1").await;
    assert!(shown.contains("&lt;b&gt;gone") && shown.contains("The moderators"), "{shown}");
    tidings_testing::until(async || ok(bob.api_get("/api/inbox").await)["unread"] == 0).await;
    // The next message waits again, in the same thread.
    assert_eq!(write(&bob, &[("text", "Thank you"), ("thread", "1")]).await.1, 4);
    assert_eq!(waiting(&moderator).await, ["message:1"]);
    // Nobody else knows of it.
    assert!(threads(&carol).await.is_empty());
    for path in ["/messages/1", "/messages/99"] {
        assert_eq!(carol.get(path).await.status, StatusCode::NOT_FOUND);
    }
    for thread in ["1", "99"] {
        let fields = [("text", "Me too"), ("thread", thread)];
        refused_saying(carol.api_post("/api/messages", &fields).await, "no such messages");
        let path = format!("/api/messages?thread={thread}");
        refused_saying(carol.api_get(&path).await, "no such messages");
    }
    let log = server.visitor().text("/moderations").await;
    assert!(log.contains("messages 1 to the moderators") && !log.contains("off topic"), "{log}");
    demand_clean(&server).await;
}

#[in_memory]
async fn a_decision_has_one_thread_and_a_warning_can_be_answered(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let line = warn(&moderator, "bob").await;
    let told = bob.last_message().await;
    assert!(told.ends_with(&format!("/moderators?moderation_id={line}")), "{told}");
    let form = page(&bob, &format!("/moderators?moderation_id={line}")).await.form("/messages");
    let sent = form.with("text", "I was quoting").send(&bob).await;
    assert_eq!(redirects_to(&sent), "/messages/1#message-1");
    let about = [("text", "Really"), ("moderation_id", &*line)];
    assert_eq!(write(&bob, &about).await, ("1".to_owned(), 2));
    assert_eq!(threads(&bob).await[0]["moderation_id"].to_string(), line);
    assert_eq!(write(&bob, &[("text", "Something else")]).await.0, "2");
    refused_saying(carol.api_post("/api/messages", &about).await, "decisions about you");
    let both = [("text", "Really"), ("moderation_id", &*line), ("thread", "1")];
    refused_saying(bob.api_post("/api/messages", &both).await, "moderation_id");
    let shown = page(&moderator, "/moderate").await;
    assert!(shown.links_to("/messages/1") && shown.text().contains("Decision: warn"));
    // Closed without an answer, and undone.
    let close = [("action", "close"), ("kind", "message"), ("id", "1"), ("reason", "answered by mail")];
    let closed = line_of(moderator.api_post("/api/moderate", &close).await);
    assert_eq!(waiting(&moderator).await, ["message:2"]);
    assert_eq!(threads(&bob).await[1]["state"], "closed");
    let told = bob.last_message().await;
    assert!(told.contains("answered by mail") && told.ends_with("/messages/1"), "{told}");
    refused_saying(moderator.api_post("/api/moderate", &close).await, "waiting for an answer");
    demand_clean(&server).await;
    ok(moderator.undo(closed).await);
    assert_eq!(waiting(&moderator).await.len(), 2);
    demand_clean(&server).await;
    let closed = line_of(moderator.api_post("/api/moderate", &close).await);
    write(&bob, &[("text", "No"), ("thread", "1")]).await;
    refused_saying(moderator.undo(closed).await, "has changed since");
    // An answer to what has changed since the moderator read it.
    refused_saying(moderator.call("/api/messages?text=Fine&thread=1&after=2").await, "changed since");
    server.advance(1);
    let form = page(&moderator, "/messages/1").await.form("/messages");
    assert_eq!(redirects_to(&form.with("text", "Fine").send(&moderator).await), "/messages/1#message-4");
    // The box is ticked: without a name.
    let last = threads(&bob).await[0]["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["from"], &last["text"]), (&json!("the moderators"), &json!("Fine")));
    demand_clean(&server).await;
}

#[tokio::test]
async fn somebody_silenced_or_banned_can_write_and_a_moderator_not_to_themselves() {
    let mut relay = SmtpServer::start().await;
    let server = Server::start(Engine::Memory, &[("mail.relay", &relay.relay())]).await;
    let [alice, moderator, bob, _] = people(&server).await;
    let password = server.field("user:1", "password").await.unwrap();
    server.set_field("user:3", "password", &password).await;
    server.set_field("user:3", "email", "bob@example.org").await;
    let restrict = |action| [("action", action), ("kind", "user"), ("id", "bob"), ("reason", "shouting")];
    ok(moderator.api_post("/api/moderate", &restrict("silence")).await);
    write(&bob, &[("text", "For how long?")]).await;
    let by_password =
        |password| [("text", "And now?"), ("thread", "1"), ("username", "bob"), ("password", password)];
    // A person who can log in must do so, perhaps with a second factor.
    let visitor = server.visitor();
    refused_saying(visitor.api_post("/api/messages", &by_password(PASSWORD)).await, "Log in again");
    ok(moderator.api_post("/api/moderate", &restrict("ban")).await);
    refused_saying(visitor.api_post("/api/messages", &by_password("wrong")).await, "Wrong username");
    refused_saying(visitor.api_post("/api/messages", &[("text", "Who?")]).await, "logged in");
    assert_eq!(write(&visitor, &by_password(PASSWORD)).await, ("1".to_owned(), 2));
    write(&moderator, &[("text", "Until you calm down."), ("thread", "1"), ("anonymous", "1")]).await;
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["bob@example.org"]);
    assert!(mail.text().contains("Until you calm down."), "{}", mail.text());
    // The page that tells of the ban has the thread, and the form.
    let login = [("username", "bob"), ("password", PASSWORD)];
    let refused_login = visitor.post("/login", &login).await;
    assert_eq!(refused_login.status, StatusCode::FORBIDDEN);
    let shown = refused_login.text();
    assert!(shown.contains("Until you calm down."), "{shown}");
    let sent = visitor.post("/messages", &by_password(PASSWORD)).await;
    assert_eq!(sent.status, StatusCode::OK);
    assert!(sent.text().contains("And now?"));
    // Moderators write as members in their own threads, and do not answer themselves.
    let (own, _) = write(&moderator, &[("text", "A question of mine")]).await;
    write(&moderator, &[("text", "One more"), ("thread", &own)]).await;
    let read = ok(moderator.api_get(&format!("/api/messages?thread={own}")).await);
    assert_eq!(
        (&read["threads"][0]["state"], &read["threads"][0]["messages"][1]["from"]),
        (&json!("waiting"), &json!("mod"))
    );
    let close = [("action", "close"), ("kind", "message"), ("id", &*own), ("reason", "mine")];
    refused_saying(moderator.api_post("/api/moderate", &close).await, "yourself");
    ok(alice.api_post("/api/moderate", &close).await);
    demand_clean(&server).await;
}

#[in_memory]
async fn messages_are_bounded(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    let long = "x".repeat(5_000);
    write(&bob, &[("text", &long)]).await;
    let longer = "x".repeat(5_001);
    refused_saying(bob.api_post("/api/messages", &[("text", &longer)]).await, "too long");
    assert!(refused(bob.api_post("/api/messages", &[("text", " ")]).await).to_lowercase().contains("text"));
    for _ in 1..10 {
        write(&bob, &[("text", "Hello?"), ("thread", "1")]).await;
    }
    let fields = [("text", "Hello?"), ("thread", "1")];
    refused_saying(bob.api_post("/api/messages", &fields).await, "10 messages");
    let form = page(&bob, "/messages/1").await.form("/messages").with("text", "Kept?");
    let sent = form.send(&bob).await;
    assert_eq!(sent.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(sent.text().contains("Kept?"));
    // Answers are not counted, and another day has room.
    for number in 1..=11 {
        write(&moderator, &[("text", &number.to_string()), ("thread", "1")]).await;
    }
    let counters = server.dump().await.into_keys().filter(|key| key.starts_with("limit:messages:"));
    let counters: Vec<String> = counters.collect();
    server.write(|batch| counters.iter().for_each(|key| batch.delete(key))).await;
    write(&bob, &[("text", "Hello?"), ("thread", "1")]).await;
    // The newest 20, and those before.
    let read = ok(bob.api_get("/api/messages?thread=1").await);
    assert_eq!(each(&read["threads"][0]["messages"], "message_id"), (3..=22).collect::<Vec<u64>>());
    assert_eq!(read["threads"][0]["earlier"], 3);
    let read = ok(bob.api_get("/api/messages?thread=1&before=3").await);
    assert_eq!(read["threads"][0]["messages"].as_array().unwrap().len(), 2);
    let shown = page(&bob, "/messages/1").await;
    assert!(shown.links_to("/messages/1?before=3"));
    page(&bob, "/messages/1?before=3").await;
    // A thread has 200 messages. The last is an answer.
    let fill = |count: &'static str| server.set_field("messages:1", "count", count);
    fill("199").await;
    refused_saying(bob.api_post("/api/messages", &fields).await, "200 messages");
    write(&moderator, &[("text", "The last"), ("thread", "1")]).await;
    refused_saying(moderator.api_post("/api/messages", &fields).await, "200 messages");
    // A member has 100 threads.
    let others = 1_000..1_099;
    server
        .write(|batch| others.for_each(|id| batch.sorted_add("user:3:message_threads", id.to_string(), 1.0)))
        .await;
    refused_saying(bob.api_post("/api/messages", &[("text", "New")]).await, "100 threads");
    write(&carol, &[("text", "New")]).await;
}

#[in_memory]
async fn threads_are_listed_in_parts_and_cost_few_rounds(server: Server) {
    let [_, moderator, bob, carol] = people(&server).await;
    for (who, count) in [(&bob, 9), (&carol, 4)] {
        for number in 0..count {
            write(who, &[("text", &format!("Matter {number}"))]).await;
            server.advance(1);
        }
    }
    let listed = ok(moderator.api_get("/api/messages").await);
    assert_eq!((listed["threads"].as_array().unwrap().len(), &listed["next"]), (10, &json!(10)));
    assert_eq!(listed["threads"][0]["username"], "carol");
    let rest = ok(moderator.api_get("/api/messages?start=10").await);
    assert_eq!((rest["threads"].as_array().unwrap().len(), &rest["next"]), (3, &Value::Null));
    assert_eq!(threads(&carol).await.len(), 4);
    for path in ["/messages", "/messages/1", "/moderate", "/api/messages"] {
        server.clear_caches().await;
        let rounds = server.rounds_of(&moderator, path).await;
        assert!(rounds <= 8, "{path}: {rounds}");
    }
}

#[tokio::test]
async fn answers_are_mailed_and_messages_go_with_the_account() {
    let mut relay = SmtpServer::start().await;
    let server = Server::start(Engine::Memory, &[("mail.relay", &relay.relay())]).await;
    let [_, moderator, bob, _] = people(&server).await;
    let password = server.field("user:1", "password").await.unwrap();
    let email = "bob@example.org";
    for (field, value) in
        [("password", &*password), ("email", email), ("confirmed_email", email), ("mail_replies", "1")]
    {
        server.set_field("user:3", field, value).await;
    }
    let line = warn(&moderator, "bob").await;
    send_all(&server).await;
    relay.next_message().await;
    write(&bob, &[("text", "Why?"), ("moderation_id", &line)]).await;
    write(&moderator, &[("text", "Because of that."), ("thread", "1"), ("anonymous", "1")]).await;
    send_all(&server).await;
    let text = relay.next_message().await.text();
    assert!(text.contains("Because of that.") && text.contains("/messages/1"), "{text}");
    write(&bob, &[("text", "I see")]).await;
    let exported = crate::export::export(&bob).await.data;
    let messages = &exported["messages"];
    assert_eq!(each(messages, "text"), ["I see", "Why?", "Because of that."], "{exported}");
    assert_eq!(each(messages, "from")[1..], [json!("bob"), Value::Null]);
    demand_clean(&server).await;
    redirects_to(&bob.post("/settings/deactivate", &[("password", PASSWORD)]).await);
    server.finish_jobs().await;
    let mut left: Vec<String> = server.dump().await.into_keys().collect();
    left.retain(|key| key.contains("messages") || key.contains("message_threads"));
    assert_eq!(left, ["limit:messages:3", "messages:count"]);
    assert!(waiting(&moderator).await.is_empty());
    assert_eq!(server.field(&format!("moderation:{line}"), "messages").await, None);
    assert_eq!(moderator.get("/messages/1").await.status, StatusCode::NOT_FOUND);
    demand_clean(&server).await;
}

#[in_memory]
async fn the_page_of_a_person_has_everything_that_moderators_need(server: Server) {
    let [alice, moderator, bob, carol] = people(&server).await;
    let story = bob.submit_text("A story of <bob>", "text").await;
    bob.comment(story, "A comment of bob").await;
    bob.tweet("A post of bob").await;
    let gone = bob.submit_text("A removed story", "text").await.to_string();
    let of_carol = carol.submit_text("A story of carol", "text").await.to_string();
    let posted = story.to_string();
    for (who, id) in [(&carol, &posted), (&bob, &of_carol)] {
        let flag = [("kind", "story"), ("id", id.as_str()), ("reason", "spam")];
        ok(who.api_post("/api/flag", &flag).await);
    }
    let act = async |action: &str, (kind, id): (&str, &str)| {
        ok(moderator.moderate(action, (kind, id), &[("reason", "a <reason>")]).await);
    };
    act("keep", ("story", &of_carol)).await;
    act("remove", ("story", &gone)).await;
    act("warn", ("user", "bob")).await;
    act("note", ("user", "bob")).await;
    let mut batch = Batch::new();
    batch.sorted_add("invites:by:3", "4", 1.0);
    batch.set_field("user:4", "invited_by", "3");
    server.commit(batch).await;
    write(&bob, &[("text", "Why?")]).await;
    let shown = page(&moderator, "/moderate/person/BOB").await;
    let text = shown.text();
    let parts = "A story of <bob>|A comment of bob|A post of bob|A removed story|1 flag, waiting: spam × 1|\
        0 upheld, 1 rejected|a <reason>|mod warned|Invited 1 person: carol|Network|waits for an answer";
    for part in parts.split('|') {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(shown.links_to("/messages/1"));
    assert!(page(&alice, "/@bob").await.links_to("/moderate/person/bob"));
    assert_eq!(bob.get("/moderate/person/carol").await.status, StatusCode::FORBIDDEN);
    assert_eq!(moderator.get("/moderate/person/nobody").await.status, StatusCode::NOT_FOUND);
}

#[in_memory]
async fn the_page_of_a_person_takes_the_same_rounds_whatever_they_did(server: Server) {
    let [_, moderator, bob, _] = people(&server).await;
    let rounds = async || server.cold_rounds_of(&moderator, "/moderate/person/bob").await;
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "A comment").await;
    warn(&moderator, "bob").await;
    write(&bob, &[("text", "Why?")]).await;
    let few = rounds().await;
    for number in 0..30 {
        bob.comment(story, &format!("Comment {number}")).await;
        warn(&moderator, "bob").await;
    }
    assert_eq!(rounds().await, few);
    assert!(few <= 30, "{few}");
}
