//! Muting and blocking: the calls, the list in the settings, what others can still do, and what
//! reaches the inbox.

use crate::client::{Client, each, ok, refused, refused_saying};
use crate::pages::{page, redirects_saying};
use crate::server::{Server, in_memory};
use serde_json::Value;

/// The mutes of somebody, as pairs of kind and value, in the order of the list.
fn listed(answer: &Value) -> Vec<(String, String)> {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let mutes = answer["mutes"].as_array().unwrap().iter();
    mutes.map(|mute| (text(mute, "what"), text(mute, "value"))).collect()
}

async fn mute(client: &Client, what: &str, value: &str) -> Value {
    client.call(&format!("/api/mute?what={what}&value={value}")).await
}

async fn unmute(client: &Client, what: &str, value: &str) -> Value {
    client.call(&format!("/api/unmute?what={what}&value={value}")).await
}

async fn block(client: &Client, username: &str) -> Value {
    client.call(&format!("/api/block?username={username}")).await
}

async fn unblock(client: &Client, username: &str) -> Value {
    client.call(&format!("/api/unblock?username={username}")).await
}

async fn badge(server: &Server, client: &Client) -> i64 {
    server.number(&format!("user:{}", client.user_id), "replies").await
}

#[in_memory]
async fn four_kinds_are_muted_and_unmuted_in_one_list(server: Server) {
    let [alice, bob] = server.people(["alice", "Bob"]).await;
    server.set_karma(&alice, 100).await;
    alice.submit_on("sport", "A story").await;
    for (what, value) in [
        ("user", "@bob"),
        ("domain", "https://www.Example.com/x"),
        ("topic", "sport"),
        ("word", " Two  Words "),
    ] {
        server.advance(1);
        ok(mute(&alice, what, value).await);
    }
    let expected = [("word", "two words"), ("topic", "sport"), ("domain", "example.com"), ("user", "Bob")];
    let expected: Vec<_> = expected.map(|(what, value)| (what.to_owned(), value.to_owned())).into();
    let list = ok(alice.api_get("/api/mutes").await);
    assert_eq!(listed(&list), expected);
    assert_eq!(list["mutes"][0]["since"], server.now());
    // Twice is as once, and both answers are the list.
    assert_eq!(listed(&ok(mute(&alice, "user", "BOB").await)), expected);
    assert!(listed(&ok(bob.api_get("/api/mutes").await)).is_empty());
    // The earlier calls change the same list.
    ok(alice.api_post("/api/unmutetopic", &[("topic", "sport")]).await);
    assert_eq!(listed(&ok(alice.api_get("/api/mutes").await)).len(), 3);
    ok(alice.api_post("/api/mutetopic", &[("topic", "sport")]).await);
    assert_eq!(listed(&ok(unmute(&alice, "topic", "sport").await)).len(), 3);
    for (what, value) in [("user", "bob"), ("domain", "EXAMPLE.com"), ("word", "TWO words")] {
        ok(unmute(&alice, what, value).await);
    }
    assert!(listed(&ok(unmute(&alice, "word", "never muted").await)).is_empty());
}

#[in_memory]
async fn what_cannot_be_muted_or_blocked_is_refused(server: Server) {
    let alice = server.member("alice").await;
    for (what, value, message) in [
        ("user", "alice", "can't mute yourself"),
        ("user", "nobody", "no user"),
        ("domain", "nonsense", "must be the name of a site"),
        ("topic", "unknown", "here is no topic"),
        ("topic", "Not A Topic", "is not a topic"),
        ("word", "  ", "nter what to mute"),
        ("word", &"x".repeat(61), "too long"),
        ("smell", "x", "must be user, domain, topic or word"),
    ] {
        let answer = alice.post("/api/mute", &[("what", what), ("value", value)]).await.json();
        assert!(refused(answer.clone()).contains(message), "{what} {value}: {answer}");
    }
    refused_saying(block(&alice, "alice").await, "can't block yourself");
    for call in ["/api/block", "/api/unblock"] {
        let answer = alice.post(call, &[("username", "nobody")]).await;
        assert_eq!(answer.status, 404);
        refused_saying(answer.json(), "no user");
    }
    refused_saying(server.visitor().api_get("/api/mutes").await, "logged in");
}

#[in_memory]
async fn nobody_mutes_or_blocks_more_than_the_limits(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let words = (0..500).map(|number| (format!("word:number {number}"), "1"));
    let people = (1_000..1_500).map(|id: u64| (id.to_string(), "1"));
    server.write(|batch| batch.set_fields(format!("user:{}:mutes", alice.user_id), words)).await;
    server.write(|batch| batch.set_fields(format!("user:{}:blocks", alice.user_id), people)).await;
    refused_saying(mute(&alice, "word", "one more").await, "500");
    refused_saying(mute(&alice, "user", "bob").await, "500");
    ok(mute(&alice, "word", "number 7").await);
    refused_saying(block(&alice, "bob").await, "500");
    ok(unmute(&alice, "word", "number 7").await);
    ok(mute(&alice, "word", "one more").await);
    assert_eq!(bob.get("/").await.status, 200);
    assert_eq!(alice.get("/settings/mutes").await.status, 200);
}

#[in_memory]
async fn who_is_blocked_neither_follows_nor_replies_nor_mentions(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    bob.follow("alice").await;
    alice.follow("bob").await;
    let story = alice.submit_text("Of Alice", "text").await;
    let others = carol.submit_text("Of Carol", "text").await;
    let (by_alice, by_carol) = (alice.comment(others, "Mine").await, carol.comment(story, "Hers").await);
    ok(alice.api_post("/api/readinbox", &[("id", "all")]).await);
    ok(block(&alice, "bob").await);
    ok(block(&alice, "BOB").await);
    assert_eq!(badge(&server, &alice).await, 0);

    // The follow of the blocked person has ended, and the other one has not.
    let followers = async |name: &str| {
        each(&ok(alice.api_get(&format!("/api/followers/{name}")).await)["users"], "username")
    };
    assert!(followers("alice").await.is_empty());
    assert_eq!(followers("bob").await, ["alice"]);
    let blocked = "has blocked you";
    refused_saying(bob.api_post("/api/follow", &[("username", "alice")]).await, blocked);
    refused_saying(bob.try_comment(story, None, "Hello").await, blocked);
    refused_saying(bob.try_comment(others, Some(by_alice), "Hello").await, blocked);

    // Answers to others are possible, also on her story, and she hears of none of it.
    bob.reply(story, by_carol, "Hello Carol and @alice").await;
    bob.comment(others, "Hello @alice").await;
    bob.tweet("Hello @alice").await;
    assert_eq!(badge(&server, &alice).await, 0);
    assert_eq!(server.sorted(&format!("user:{}:mentions", alice.user_id)).await, []);
    assert!(alice.inbox().await.iter().all(|entry| entry["username"] != "bob"));

    ok(unblock(&alice, "bob").await);
    assert!(followers("alice").await.is_empty(), "it does not come back");
    bob.follow("alice").await;
    bob.comment(story, "Hello again").await;
    // Of a follow people are told once a day.
    assert_eq!(badge(&server, &alice).await, 1);
}

#[in_memory]
async fn the_muted_raise_no_badge_and_earlier_entries_say_nothing(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let story = alice.submit_text("Of Alice", "text").await;
    bob.comment(story, "Before the mute").await;
    let read = bob.comment(story, "Read before the mute").await;
    ok(alice.api_post("/api/readinbox", &[("id", &format!("reply:{story}-{read}"))]).await);
    ok(mute(&alice, "user", "bob").await);
    bob.comment(story, "After the mute, @alice").await;
    bob.tweet("A tweet for @alice").await;
    assert_eq!(badge(&server, &alice).await, 1);
    let entries = alice.inbox().await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert!(entries[0].get("text").is_none() && entries[0]["username"].is_null(), "{entries:?}");
    let html = page(&alice, "/inbox").await;
    assert!(html.text().contains("Something by someone you muted"), "{}", html.text());
    ok(alice.api_post("/api/readinbox", &[("id", entries[0]["id"].as_str().unwrap())]).await);
    assert!(alice.inbox().await.is_empty());
    ok(unmute(&alice, "user", "bob").await);
    assert!(alice.inbox().await.len() >= 2);
    bob.comment(story, "After all").await;
    assert_eq!(badge(&server, &alice).await, 1);
}

#[in_memory]
async fn a_muted_comment_is_a_line_above_its_replies(server: Server) {
    let [alice, bob, carol] = server.people(["alice", "bob", "carol"]).await;
    let story = carol.submit_text("A story", "text").await;
    let muted = bob.comment(story, "Words of Bob").await;
    carol.reply(story, muted, "A reply of Carol").await;
    ok(mute(&alice, "user", "bob").await);
    let text = page(&alice, &format!("/news/{story}")).await.text().to_owned();
    assert!(text.contains("a comment by someone you muted") && text.contains("A reply of Carol"), "{text}");
    assert!(!text.contains("Words of Bob") && !text.contains("bob"), "{text}");
    assert!(page(&alice, &format!("/news/{story}?hidden=1")).await.text().contains("Words of Bob"));
    assert!(page(&server.visitor(), &format!("/news/{story}")).await.text().contains("Words of Bob"));
    ok(unmute(&alice, "user", "bob").await);
    ok(mute(&alice, "word", "reply of").await);
    let text = page(&alice, &format!("/news/{story}")).await.text().to_owned();
    assert!(text.contains("a comment with a word you muted") && text.contains("Words of Bob"), "{text}");
}

#[in_memory]
async fn the_forms_of_pages_mute_and_block_and_say_what_is_wrong(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    bob.submit_link("A link", "http://news.example.com/").await;
    for (address, action) in [("/@bob", "/mute"), ("/@bob", "/block"), ("/site/news.example.com", "/mute")] {
        let html = alice.text(address).await;
        assert!(html.contains(&format!(r#"action="{action}""#)), "{address}: {html}");
        let visitor = server.visitor().text(address).await;
        let is_offered = ["/mute", "/block"].iter().any(|to| visitor.contains(&format!(r#"action="{to}""#)));
        assert!(!is_offered, "{address}");
    }
    let own = alice.text("/@alice").await;
    assert!(!own.contains(r#"action="/block""#), "{own}");
    let answer = alice.post("/mute", &[("what", "user"), ("value", "bob"), ("next", "/@bob")]).await;
    assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (303, "/@bob"));
    assert!(page(&alice, "/@bob").await.text().contains("You have muted this person"));
    let answer = alice.post("/block", &[("username", "bob"), ("next", "/@bob")]).await;
    assert_eq!(answer.status, 303);
    let list = page(&alice, "/settings/mutes").await.text().to_owned();
    assert!(list.contains("Unmute bob") && list.contains("Unblock bob"), "{list}");
    let answer =
        alice.post("/mute", &[("what", "domain"), ("value", "no site"), ("next", "/settings/mutes")]).await;
    let html = answer.text();
    assert!(answer.status.is_client_error() && html.contains("It must be the name of a site"), "{html}");
    assert!(html.contains(r#"value="no site""#), "{html}");
    let answer = alice.post("/unblock", &[("username", "bob"), ("next", "/settings/mutes")]).await;
    let told = redirects_saying(&answer, "/settings/mutes", "unblocked");
    assert!(page(&alice, told).await.text().contains("have to follow you again"));
}
