//! The API of Hacker News on Firebase: what programs read that were made for it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::{Client, HttpResponse, ok};
use crate::live;
use crate::server::{Engine, START, Server, each_engine, in_memory};

async fn get(client: &Client, path: &str) -> Value {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}");
    answer.json()
}

async fn item(client: &Client, number: u64) -> Value {
    get(client, &format!("/v0/item/{number}.json")).await
}

async fn moderate(moderator: &Client, action: &str, kind: &str, id: &str) {
    ok(moderator.moderate(action, (kind, id), &[]).await);
}

/// Stores why a comment on a story is withheld, as the actions of moderators do.
pub async fn withhold_comment(server: &Server, story: u64, comment: u64, state: &str) {
    let (thread, field) = (format!("thread:comment:{story}"), comment.to_string());
    let json = server.field(&thread, &field).await.unwrap();
    let mut stored: Value = serde_json::from_str(&json).unwrap();
    stored["withheld"] = state.into();
    server.set_field(&thread, &field, &stored.to_string()).await;
}

#[in_memory]
async fn items_have_the_fields_of_that_api_and_no_others(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let link = alice.submit_link("A link & more", "http://example.com/a?b=1&c=2").await;
    bob.submit_text("Ask: why?", "One *two*.\n\nIt's 1/2").await;
    let first = bob.comment(link, "First").await;
    let second = alice.comment(link, "Second").await;
    alice.reply(link, first, "A reply").await;
    ok(bob.vote(link, "up").await);
    ok(bob.vote_comment(link, second, "up").await);
    let visitor = server.visitor();
    assert_eq!(
        item(&visitor, 1).await,
        json!({
            "by": "alice", "descendants": 3, "id": 1, "kids": [4, 3], "score": 2, "time": START,
            "title": "A link & more", "type": "story", "url": "http://example.com/a?b=1&c=2",
        })
    );
    assert_eq!(
        item(&visitor, 2).await,
        json!({
            "by": "bob", "descendants": 0, "id": 2, "score": 1, "text": "One <i>two</i>.<p>It&#x27;s 1&#x2F;2",
            "time": START, "title": "Ask: why?", "type": "story",
        })
    );
    assert_eq!(
        item(&visitor, 3).await,
        json!({
            "by": "bob", "id": 3, "kids": [5], "parent": 1, "text": "First", "time": START,
            "type": "comment",
        })
    );
    assert_eq!(item(&visitor, 5).await["parent"], 3);
    for nothing in ["0", "6", "01", "-1", "x", "1.0", "18446744073709551616", "%20"] {
        assert_eq!(get(&visitor, &format!("/v0/item/{nothing}.json")).await, Value::Null, "{nothing}");
    }
    assert_eq!(get(&visitor, "/v0/maxitem.json").await, 5);
    for nothing in ["/v0/nothing.json", "/v0/user/nobody.json", "/v0/user/ALICE.json"] {
        assert_eq!(get(&visitor, nothing).await, Value::Null, "{nothing}");
    }
    for wrong in ["/v0/item/1", "/v0/topstories", "/v0/", "/v0", "/v0/item/1.xml", "/v0/a/b/c.json"] {
        let answer = visitor.get(wrong).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{wrong}");
    }
}

#[in_memory]
async fn what_is_gone_says_so_and_what_waits_is_nothing(server: Server) {
    let moderator = server.register("alice").await;
    let bob = server.member("bob").await;
    let story = bob.submit_text("A story", "text").await;
    let deleted = bob.comment(story, "Deleted with a reply").await;
    let reply = bob.reply(story, deleted, "The reply").await;
    let bare = bob.comment(story, "Deleted alone").await;
    let removed = bob.comment(story, "Removed alone").await;
    let held = bob.comment(story, "Held").await;
    bob.reply(story, held, "Below the held one").await;
    let flagged = bob.comment(story, "Flagged").await;
    ok(bob.edit_comment(story, deleted, "").await);
    ok(bob.edit_comment(story, bare, "").await);
    moderate(&moderator, "remove", "comment", &format!("{story}-{removed}")).await;
    withhold_comment(&server, story, held, "held:").await;
    withhold_comment(&server, story, flagged, "flagged:").await;
    for client in [server.visitor(), bob.clone(), moderator.clone()] {
        let gone =
            |id: u64| json!({"id": id, "type": "comment", "time": START, "parent": 1, "deleted": true});
        let mut with_kids = gone(2);
        with_kids["kids"] = json!([3]);
        assert_eq!(item(&client, 2).await, with_kids);
        assert_eq!(item(&client, 4).await, gone(4));
        assert_eq!(item(&client, 5).await, gone(5));
        assert_eq!(item(&client, 6).await, Value::Null);
        assert_eq!(item(&client, 7).await["text"], "Below the held one");
        assert_eq!(
            item(&client, 8).await,
            json!({
                "by": "bob", "dead": true, "id": 8, "parent": 1, "text": "[flagged]", "time": START,
                "type": "comment",
            })
        );
        assert_eq!(item(&client, 1).await["kids"], json!([8, 2]));
    }
    // The deleted one leaves the list with its last reply.
    ok(bob.edit_comment(story, reply, "").await);
    assert_eq!(item(&bob, 1).await["kids"], json!([8]));
    assert_eq!(
        item(&bob, 3).await,
        json!({"id": 3, "type": "comment", "time": START, "parent": 2, "deleted": true})
    );

    let second = bob.submit_text("Another story", "text").await;
    server.set_field(&format!("news:{second}"), "withheld", "flagged:").await;
    assert_eq!(
        item(&bob, 9).await,
        json!({
            "by": "bob", "dead": true, "descendants": 0, "id": 9, "score": 1, "time": START,
            "title": "[flagged]", "type": "story",
        })
    );
    server.set_field(&format!("news:{second}"), "withheld", "held:").await;
    assert_eq!(item(&bob, 9).await, Value::Null);
    server.set_field(&format!("news:{second}"), "withheld", "").await;
    let third = bob.submit_text("Third story", "text").await;
    moderate(&moderator, "remove", "story", &third.to_string()).await;
    let gone = |id: u64| json!({"id": id, "type": "story", "time": START, "deleted": true});
    assert_eq!(item(&bob, 10).await, gone(10));
    let fourth = bob.submit_text("Fourth story", "text").await;
    ok(bob.delete(fourth).await);
    assert_eq!(item(&bob, 11).await, gone(11));
    // The comments of a story that waits are as secret as the story.
    server.set_field(&format!("news:{story}"), "withheld", "held:").await;
    assert_eq!((item(&bob, 1).await, item(&bob, 8).await), (Value::Null, Value::Null));
}

#[in_memory]
async fn people_have_karma_and_the_numbers_of_what_they_posted(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "A comment").await;
    alice.comment(story, "Of alice").await;
    let last = bob.comment(story, "Another comment").await;
    let user = async |client: &Client, name: &str| get(client, &format!("/v0/user/{name}.json")).await;
    let visitor = server.visitor();
    let karma = server.field("user:2", "karma").await.unwrap().parse::<i64>().unwrap();
    assert_eq!(
        user(&visitor, "bob").await,
        json!({"created": START, "id": "bob", "karma": karma, "submitted": [4, 2, 1]})
    );
    ok(bob.update_profile("I'm *bob*\n\nhttp://a.com/", "", "").await);
    assert_eq!(
        user(&visitor, "bob").await["about"],
        "I&#x27;m *bob*<p><a href=\"http:&#x2F;&#x2F;a.com&#x2F;\" rel=\"nofollow\">http:&#x2F;&#x2F;a.com&#x2F;</a>"
    );
    // Deleted and removed items stay among the numbers.
    ok(bob.edit_comment(story, last, "").await);
    moderate(&alice, "remove", "comment", &format!("{story}-1")).await;
    assert_eq!(user(&bob, "bob").await["submitted"], json!([4, 2, 1]));
    server.set_field("user:2", "withheld", "flagged:").await;
    assert_eq!(user(&bob, "bob").await["about"], Value::Null);
    moderate(&alice, "ban", "user", "bob").await;
    let banned = user(&visitor, "bob").await;
    let keys: Vec<&String> = banned.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["created", "id", "karma"]);
}

#[tokio::test]
async fn lists_are_those_of_the_site() {
    each_engine(&[("hacker_news.jobs_topic", "jobs")], async |server| {
        let (alice, bob) = (server.register("alice").await, server.member("bob").await);
        alice.submit_text("Ask HN: why?", "text").await;
        server.advance(10);
        let show = bob.submit_link("Show: it works", "http://example.com/a").await;
        server.advance(10);
        let job = alice.submit_on("jobs", "Asking for engineers").await;
        server.advance(10);
        let plain = bob.submit_link("Asked and answered", "http://example.com/b").await;
        for reader in [&alice, &bob] {
            let _ = reader.vote(show, "up").await;
        }
        let visitor = server.visitor();
        let list = async |name: &str| get(&visitor, &format!("/v0/{name}stories.json")).await;
        assert_eq!(list("new").await, json!([4, 3, 2, 1]));
        assert_eq!(list("ask").await, json!([1]));
        assert_eq!(list("show").await, json!([2]));
        assert_eq!(list("job").await, json!([3]));
        assert_eq!(list("top").await, json!(visitor.listed("top").await));
        assert_eq!(list("best").await[0], 2);
        assert_eq!(list("best").await.as_array().unwrap().len(), 4);
        // A kept list is given up at once when anything in it changes.
        ok(bob.delete(plain).await);
        moderate(&alice, "remove", "story", &show.to_string()).await;
        server.set_field(&format!("news:{job}"), "withheld", "flagged:").await;
        for name in ["top", "new", "best", "ask"] {
            assert_eq!(list(name).await, json!([1]), "{name}");
        }
        assert_eq!((list("show").await, list("job").await), (json!([]), json!([])));
    })
    .await;
    let server = Server::start(Engine::Memory, &[("hacker_news.ask_prefixes", "Question:, Tell")]).await;
    let alice = server.register("alice").await;
    alice.submit_on("jobs", "Ask me").await;
    alice.submit_text("question: Ask me", "text").await;
    alice.submit_text("Tell me", "text").await;
    let visitor = server.visitor();
    assert_eq!(get(&visitor, "/v0/jobstories.json").await, json!([]));
    let asks = get(&visitor, "/v0/askstories.json").await;
    assert_eq!(asks.as_array().unwrap().len(), 2, "{asks}");
}

#[in_memory]
async fn a_list_has_500_stories_and_one_of_a_kind_200(server: Server) {
    let members = server.members(4).await;
    for number in 0..510 {
        members[number % 4].submit_text(&format!("Ask number {number}"), "text").await;
    }
    let visitor = server.visitor();
    for (name, most) in [("top", 500), ("new", 500), ("best", 500), ("ask", 200), ("show", 0)] {
        let list = get(&visitor, &format!("/v0/{name}stories.json")).await;
        assert_eq!(list.as_array().unwrap().len(), most, "{name}");
    }
    // It comes from memory.
    server.advance(1);
    assert!(server.rounds_during(get(&visitor, "/v0/newstories.json")).await <= 1);
}

#[in_memory]
async fn updates_are_what_changed_last(server: Server) {
    let (alice, bob) = (server.register("alice").await, server.member("bob").await);
    let story = bob.submit_text("A story", "text").await;
    let comment = alice.comment(story, "A comment").await;
    let held = bob.comment(story, "Held").await;
    withhold_comment(&server, story, held, "held:").await;
    ok(bob.update_profile("Hello", "", "").await);
    let visitor = server.visitor();
    let updates = get(&visitor, "/v0/updates.json").await;
    assert_eq!(updates, json!({"items": [2, 1], "profiles": ["bob", "alice"]}));
    ok(alice.edit_comment(story, comment, "").await);
    ok(bob.edit(story, "A better title", "", "text").await);
    assert_eq!(get(&visitor, "/v0/updates.json").await["items"], json!([1, 2]));
}

#[in_memory]
async fn answers_can_be_pretty_and_shared_and_are_no_scripts(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    alice.comment(1, "A comment").await;
    let visitor = server.visitor().with_header("origin", "https://elsewhere.example");
    for client in [&visitor, &alice] {
        let pretty = client.get("/v0/item/1.json?print=pretty&x=1").await;
        let expected = format!(
            "{{\n  \"by\" : \"alice\",\n  \"descendants\" : 1,\n  \"id\" : 1,\n  \"kids\" : [ 2 ],\n  \"score\" : 1,\n  \
                 \"text\" : \"text\",\n  \"time\" : {START},\n  \"title\" : \"A story\",\n  \"type\" : \"story\"\n}}\n"
        );
        assert_eq!(pretty.text(), expected);
        let refused = client.get("/v0/item/1.json?callback=run").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        assert!(refused.json()["error"].as_str().unwrap().contains("callback"));
        let plain = client.get("/v0/item/1.json").await;
        for answer in [&plain, &refused] {
            assert_eq!(answer.headers["access-control-allow-origin"], "*");
            assert_eq!(answer.headers["access-control-allow-methods"], "GET");
        }
        assert_eq!(plain.headers["cache-control"], "max-age=5");
        assert!(!plain.headers.contains_key("set-cookie"));
        let tag = plain.headers["etag"].to_str().unwrap().to_owned();
        let again = client.clone().with_header("if-none-match", &tag).get("/v0/item/1.json").await;
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(again.headers["etag"], *tag);
    }
    let answer = server.visitor().request(Method::OPTIONS, "/v0/item/1.json").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    assert_eq!(answer.headers()["access-control-allow-origin"], "*");
    let posted: HttpResponse = server.visitor().post("/v0/item/1.json", &[]).await;
    assert_eq!(posted.status, StatusCode::METHOD_NOT_ALLOWED);
}

/// An open stream.
pub struct Events(live::Events);

impl Events {
    pub async fn open(client: &Client, path: &str) -> Self {
        let request = client.request(Method::GET, path).header("accept", "text/event-stream");
        Self(live::Events::asked(request).await)
    }

    /// The next event and its data; `None` at the end.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        let event = self.0.next().await?;
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let name = name.strip_prefix("event: ").unwrap().to_owned();
        Some((name, serde_json::from_str(data).unwrap()))
    }

    /// The data that the next event puts at the root.
    pub async fn put(&mut self) -> Value {
        let (name, data) = self.next().await.expect("an event");
        assert_eq!((name.as_str(), &data["path"]), ("put", &json!("/")));
        data["data"].clone()
    }
}

#[each_engine("change feed")]
async fn a_stream_tells_what_is_there_and_when_it_changes(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    let visitor = server.visitor();
    let mut story = Events::open(&visitor, "/v0/item/1.json").await;
    let mut highest = Events::open(&visitor, "/v0/maxitem.json").await;
    let mut newest = Events::open(&alice, "/v0/newstories.json").await;
    let mut user = Events::open(&visitor, "/v0/user/alice.json").await;
    let mut later = Events::open(&visitor, "/v0/item/3.json").await;
    assert_eq!(story.put().await["title"], "A story");
    assert_eq!(highest.put().await, 1);
    assert_eq!(newest.put().await, json!([1]));
    assert_eq!(user.put().await["submitted"], json!([1]));
    assert_eq!(later.put().await, Value::Null);
    alice.comment(1, "A comment").await;
    let mut changed = story.put().await;
    while changed["kids"] != json!([2]) {
        changed = story.put().await;
    }
    assert_eq!(highest.put().await, 2);
    alice.submit_text("Another", "text").await;
    assert_eq!(newest.put().await, json!([3, 1]));
    assert_eq!(later.put().await["title"], "Another");
    let mut submitted = user.put().await;
    while submitted["submitted"] != json!([3, 2, 1]) {
        submitted = user.put().await;
    }
    // The plain answer is not that of the stream.
    assert_eq!(item(&visitor, 1).await["id"], 1);
}

#[in_memory(&[("rates.streams_per_address", "2")])]
async fn streams_of_an_address_are_bounded_with_those_of_home_pages(server: Server) {
    let alice = server.member("alice").await;
    alice.submit_text("A story", "text").await;
    let visitor = server.visitor();
    let first = Events::open(&visitor, "/v0/item/1.json").await;
    let _second = Events::open(&alice, "/v0/maxitem.json").await;
    let refused = visitor.request(Method::GET, "/v0/item/1.json").header("accept", "text/event-stream");
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(alice.get("/home/events").await.status, StatusCode::TOO_MANY_REQUESTS);
    // The end of one makes room.
    drop(first);
    tidings_testing::until(async || {
        let again = visitor.request(Method::GET, "/v0/item/1.json").header("accept", "text/event-stream");
        again.send().await.unwrap().status() == StatusCode::OK
    })
    .await;
}
