//! Flags of readers, the review queue, and what moderators decide about both.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::client::{Client, ok, refused, refused_saying};
use crate::html::Page;
use crate::server::{Server, each_engine, in_memory};

/// Two flags hide.
const AT_TWO: &[(&str, &str)] = &[("moderation.hide_at", "2")];

type Thing<'a> = (&'a str, &'a str);

async fn flag(reader: &Client, (kind, id): Thing<'_>, reason: &str, note: &str) -> Value {
    reader.call(&format!("/api/flag?kind={kind}&id={id}&reason={reason}&note={note}")).await
}

/// Each of some readers flags a thing as spam.
async fn flag_all(readers: &[Client], thing: Thing<'_>) {
    for reader in readers {
        ok(flag(reader, thing, "spam", "").await);
    }
}

async fn unflag(reader: &Client, (kind, id): Thing<'_>) -> Value {
    reader.call(&format!("/api/unflag?kind={kind}&id={id}")).await
}

async fn queue(moderator: &Client) -> Vec<Value> {
    ok(moderator.api_get("/api/moderate/queue").await)["items"].as_array().unwrap().clone()
}

/// The rows of the queue as `<kind>:<id>`, in their order.
async fn rows(moderator: &Client) -> Vec<String> {
    let row = |row: Value| format!("{}:{}", row["kind"].as_str().unwrap(), row["id"].as_str().unwrap());
    queue(moderator).await.into_iter().map(row).collect()
}

async fn decide(moderator: &Client, action: &str, (kind, id): Thing<'_>, since: &str) -> Value {
    let request = format!("/api/moderate?action={action}&kind={kind}&id={id}&reason=a reason&since={since}");
    moderator.answer_to(&request).await.json()
}

async fn undo(moderator: &Client, line: &Value) -> Value {
    moderator.undo(line["moderation_id"].as_u64().unwrap()).await
}

/// An administrator, a moderator, an author with one thing of each kind, and readers.
async fn community(server: &Server) -> (Client, Client, Client, Vec<Client>) {
    let alice = server.register("alice").await;
    let moderator = server.member("mod").await;
    ok(decide(&alice, "make_moderator", ("user", "mod"), "").await);
    let bob = server.member("Bob").await;
    bob.submit_link("A story", "http://example.com/a").await;
    bob.comment(1, "A comment").await;
    bob.tweet("A tweet").await;
    ok(bob.update_profile("A profile", "", "").await);
    (alice, moderator, bob, server.members(6).await)
}

const STORY: Thing<'_> = ("story", "1");
const THINGS: [Thing<'_>; 4] = [STORY, ("comment", "1-1"), ("tweet", "2"), ("user", "Bob")];

/// The state of a thing as it is stored.
async fn withheld(server: &Server, (kind, _): Thing<'_>) -> Option<String> {
    match kind {
        "story" => server.field("news:1", "withheld").await,
        "comment" => {
            let json = server.field("thread:comment:1", "1").await.unwrap();
            let comment: Value = serde_json::from_str(&json).unwrap();
            comment["withheld"].as_str().map(str::to_owned)
        }
        "tweet" => server.field("tweet:2", "withheld").await,
        _ => server.field("user:3", "withheld").await,
    }
}

#[in_memory]
async fn the_queue_says_since_when_a_post_is_hidden_and_not_when_it_was_last_flagged(server: Server) {
    let (_, moderator, _, readers) = community(&server).await;
    for reader in &readers[..5] {
        server.advance(60);
        ok(flag(reader, STORY, "spam", "").await);
    }
    assert_eq!(withheld(&server, STORY).await.as_deref(), Some("flagged:"));
    let hidden = tidings_domain::values::day::to_the_minute(server.app.now());
    server.advance(7_200);
    ok(flag(&readers[5], STORY, "spam", "").await);
    let shown = crate::pages::page(&moderator, "/moderate").await;
    assert!(shown.content().contains(&format!("Hidden from readers since {hidden}")), "{}", shown.content());
    assert!(!shown.content().contains("just now"), "{}", shown.content());
}

#[in_memory]
async fn what_enough_flags_have_hidden_stays_hidden_until_somebody_looks_even_without_them(server: Server) {
    let (_, moderator, _, readers) = community(&server).await;
    for thing in THINGS {
        let before = flagged_state(&server).await;
        flag_all(&readers[..4], thing).await;
        assert_eq!(withheld(&server, thing).await, None, "{thing:?}");
        ok(flag(&readers[4], thing, "harmful", "look here").await);
        assert_eq!(withheld(&server, thing).await.as_deref(), Some("flagged:"), "{thing:?}");
        let row = &queue(&moderator).await[0];
        assert_eq!((&row["kind"], &row["id"]), (&json!(thing.0), &json!(thing.1)));
        assert_eq!((&row["author"], &row["why"]), (&json!("Bob"), &json!("flagged")));
        let expected = json!([{"reason": "spam", "count": 4}, {"reason": "harmful", "count": 1}]);
        assert_eq!(row["flags"], expected);
        for reader in &readers[..5] {
            ok(unflag(reader, thing).await);
        }
        assert_eq!(withheld(&server, thing).await.as_deref(), Some("flagged:"), "{thing:?}");
        let row = queue(&moderator).await[0].clone();
        assert_eq!((&row["id"], &row["flags"]), (&json!(thing.1), &json!([])));
        crate::store_check::demand_clean(&server).await;
        let kept = ok(decide(&moderator, "keep", thing, &row["since"].to_string()).await);
        assert_eq!(withheld(&server, thing).await, None, "{thing:?}");
        crate::store_check::demand_clean(&server).await;
        ok(undo(&moderator, &kept).await);
        assert_eq!(withheld(&server, thing).await.as_deref(), Some("flagged:"), "{thing:?}");
        assert_eq!(queue(&moderator).await, [row]);
        crate::store_check::demand_clean(&server).await;
        ok(decide(&moderator, "keep", thing, "").await);
        assert_eq!(flagged_state(&server).await, before, "{thing:?}: nothing is left");
    }
}

#[in_memory]
async fn who_may_flag_what(server: Server) {
    let (alice, moderator, bob, readers) = community(&server).await;
    let reader = &readers[0];
    let before = server.dump().await;
    for (who, thing, reason, note, expected) in [
        (reader, STORY, "unkind", "", "can't be flagged as unkind"),
        (reader, ("comment", "1-1"), "broken", "", "can't be flagged as broken"),
        (reader, ("tweet", "2"), "offtopic", "", "can't be flagged as offtopic"),
        (reader, ("user", "Bob"), "duplicate", "1", "can't be flagged as duplicate"),
        (reader, STORY, "dull", "", "The field reason"),
        (reader, ("application", "bob"), "spam", "", "The field kind"),
        (reader, ("story", "9"), "spam", "", "no such story"),
        (reader, ("comment", "1-9"), "spam", "", "no such comment"),
        (reader, ("tweet", "9"), "spam", "", "no such post"),
        (reader, STORY, "duplicate", "", "of the story"),
        (reader, STORY, "duplicate", "1", "of the story"),
        (reader, STORY, "duplicate", "9", "of the story"),
        (reader, STORY, "duplicate", "the other one", "of the story"),
        (&bob, STORY, "spam", "", "yourself or your own posts"),
        (&bob, ("user", "bob"), "spam", "", "yourself or your own posts"),
    ] {
        let error = refused(flag(who, thing, reason, note).await);
        assert!(error.contains(expected), "{thing:?} {reason} {note}: {error}");
    }
    let long = "x".repeat(201);
    refused_saying(flag(reader, STORY, "spam", &long).await, "note");
    assert_eq!(reader_flags(&server.dump().await), reader_flags(&before));
    // Moderators too.
    for who in [&alice, &moderator] {
        ok(flag(who, ("user", "BOB"), "spam", "").await);
        refused_saying(flag(who, ("user", "bob"), "harmful", "").await, "already");
    }
    bob.submit_text("Another", "text").await;
    for note in ["2", "http://localhost:8080/news/2", "http://example.com/elsewhere"] {
        ok(flag(reader, STORY, "duplicate", note).await);
        ok(unflag(reader, STORY).await);
        refused_saying(unflag(reader, STORY).await, "not flagged");
    }
    let fields = [("kind", "user"), ("id", "nobody"), ("reason", "spam")];
    assert_eq!(reader.post("/api/flag", &fields).await.status, StatusCode::NOT_FOUND);
}

/// The keys about flags and the queue.
fn reader_flags(dump: &std::collections::BTreeMap<String, tidings_keyspace::Value>) -> Vec<String> {
    let is_about = |key: &&String| key.contains("flag") || key.starts_with("review:");
    dump.keys().filter(is_about).cloned().collect()
}

#[in_memory(AT_TWO)]
async fn a_decision_to_keep_can_be_taken_back_exactly(server: Server) {
    let (_, moderator, _, readers) = community(&server).await;
    for thing in THINGS {
        flag_all(&readers[..2], thing).await;
        let without_log = async || {
            let mut dump = server.dump().await;
            dump.retain(|key, _| !key.starts_with("moderation:") && !key.starts_with("rate:"));
            dump
        };
        let before = without_log().await;
        let kept = ok(decide(&moderator, "keep", thing, "").await);
        assert_eq!(withheld(&server, thing).await, None, "{thing:?}");
        assert_eq!(rows(&moderator).await, [""; 0]);
        refused_saying(decide(&moderator, "keep", thing, "").await, "Nothing here is waiting");
        refused_saying(unflag(&readers[0], thing).await, "has decided");
        refused_saying(flag(&readers[0], thing, "spam", "").await, "already");
        server.advance(60);
        ok(undo(&moderator, &kept).await);
        assert_eq!(without_log().await, before, "{thing:?}");
        ok(decide(&moderator, "keep", thing, "").await);
    }
}

#[in_memory(AT_TWO)]
async fn flags_that_were_rejected_weigh_less_afterwards(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    let stories = [1, bob.submit_text("B", "b").await, bob.submit_text("C", "c").await];
    let stories = stories.map(|id| id.to_string());
    flag_all(&readers[..2], ("story", &stories[0])).await;
    let kept = ok(decide(&moderator, "keep", ("story", &stories[0]), "").await);
    // Half as much: two of them do not hide any more.
    flag_all(&readers[..2], ("story", &stories[1])).await;
    assert_eq!(server.field("news:2", "withheld").await, None);
    let row = server.hash("flags:story:2").await;
    assert!(row.values().any(|flag| flag.contains(":50:0:")), "{row:?}");
    // Taken back, they weigh as before.
    ok(undo(&moderator, &kept).await);
    flag_all(&readers[..2], ("story", &stories[2])).await;
    assert_eq!(server.field("news:3", "withheld").await.as_deref(), Some("flagged:"));
}

#[each_engine("races")]
async fn two_moderators_on_the_same_row_do_not_act_twice(server: Server) {
    let (alice, moderator, _, readers) = community(&server).await;
    ok(flag(&readers[0], STORY, "spam", "").await);
    let seen = queue(&moderator).await[0]["since"].to_string();
    ok(flag(&readers[1], STORY, "harmful", "").await);
    // The row has changed since.
    let late = moderator.answer_to(&format!("/api/moderate?action=keep&kind=story&id=1&since={seen}")).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    let answer = late.json();
    assert_eq!((&answer["status"], &answer["row"]["id"]), (&json!("err"), &json!("1")));
    assert_eq!(answer["row"]["flags"].as_array().unwrap().len(), 2);
    assert_eq!(answer["row"], queue(&moderator).await[0]);
    // Both see the same row now.
    let seen = answer["row"]["since"].to_string();
    let (first, second) =
        tokio::join!(decide(&alice, "keep", STORY, &seen), decide(&moderator, "keep", STORY, &seen));
    let done = [&first, &second].into_iter().filter(|answer| answer["status"] == "ok").count();
    assert_eq!(done, 1, "{first} {second}");
    let other = if first["status"] == "ok" { second } else { first };
    assert_eq!((&other["status"], &other["row"]), (&json!("err"), &Value::Null));
}

#[in_memory]
async fn an_action_on_the_author_makes_the_other_moderator_look_again(server: Server) {
    let (alice, moderator, _, readers) = community(&server).await;
    ok(flag(&readers[0], STORY, "spam", "").await);
    let seen = queue(&moderator).await[0]["since"].to_string();
    let silence = "/api/moderate?action=silence&kind=user&id=bob&reason=spam&hours=1&row=story:1";
    let silence = format!("{silence}&since={seen}");
    ok(moderator.call(&silence).await);
    let late = alice.answer_to(&silence).await;
    assert_eq!((late.status, &late.json()["row"]["id"]), (StatusCode::CONFLICT, &json!("1")));
    assert_eq!(rows(&alice).await, ["story:1"], "it waits still");
}

#[in_memory(AT_TWO)]
async fn locking_a_flagged_story_closes_the_flags_and_undoing_brings_them_back(server: Server) {
    let (_, moderator, _, readers) = community(&server).await;
    flag_all(&readers[..2], STORY).await;
    let before = server.hash("flags:story:1").await;
    let locked = ok(decide(&moderator, "lock", STORY, "").await);
    assert_eq!((withheld(&server, STORY).await, rows(&moderator).await.len()), (None, 0));
    ok(undo(&moderator, &locked).await);
    assert_eq!(withheld(&server, STORY).await.as_deref(), Some("flagged:"));
    assert_eq!(rows(&moderator).await, ["story:1"]);
    assert_eq!(server.hash("flags:story:1").await, before);
}

#[in_memory]
async fn the_worst_comes_first_and_parts_of_the_queue_fit_together(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    for number in 0..5 {
        bob.submit_text(&format!("Story {number}"), "text").await;
    }
    for (reader, story) in [(0, "3"), (1, "4"), (2, "4"), (3, "2"), (0, "6"), (1, "5")] {
        ok(flag(&readers[reader], ("story", story), "spam", "").await);
        server.advance(10);
    }
    let expected = ["story:4", "story:3", "story:2", "story:6", "story:5"];
    assert_eq!(rows(&moderator).await, expected);
    let (mut read, mut before) = (Vec::new(), String::new());
    loop {
        let part = ok(moderator.api_get(&format!("/api/moderate/queue?count=2{before}")).await);
        let items = part["items"].as_array().unwrap();
        read.extend(items.iter().map(|row| format!("story:{}", row["id"].as_str().unwrap())));
        match part["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(read, expected);
    for (who, expected) in [(&readers[0], "Only moderators"), (&server.visitor(), "logged in")] {
        refused_saying(who.api_get("/api/moderate/queue").await, expected);
    }
}

#[in_memory(AT_TWO)]
async fn authors_never_learn_who_flagged(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    flag_all(&readers[..2], STORY).await;
    ok(decide(&moderator, "keep", STORY, "").await);
    for path in ["/news/1", "/inbox", "/moderations", "/@Bob", "/api/inbox", "/api/moderations"] {
        let page = bob.text(path).await;
        for reader in &readers[..2] {
            assert!(!page.contains(&reader.username), "{path}");
        }
    }
    // The queue says how many, not who.
    ok(flag(&readers[2], STORY, "spam", "").await);
    let queue = queue(&moderator).await[0].to_string();
    assert!(!queue.contains(&readers[2].username), "{queue}");
}

#[in_memory]
async fn a_reader_flags_and_takes_it_back_and_moderators_decide_and_undo_on_pages_alone(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    let reader = &readers[0];
    for (place, thing) in [
        ("/news/1", ("story", "1")),
        ("/news/1", ("comment", "1-1")),
        ("/tweet/2", ("tweet", "2")),
        ("/@Bob", ("user", "Bob")),
    ] {
        let address = format!("/flag/{}/{}", thing.0, thing.1.replace('-', "%2D"));
        let plain = format!("/flag/{}/{}", thing.0, thing.1);
        let links = |page: &str| {
            page.contains(&format!("href=\"{address}\"")) || page.contains(&format!("href=\"{plain}\""))
        };
        let page = reader.text(place).await;
        assert!(links(&page), "{address} on {place}");
        for (other, who) in [(&bob, "the author"), (&server.visitor(), "a visitor")] {
            assert!(!links(&other.text(place).await), "{place} for {who}");
        }
        assert!(reader.text(&plain).await.contains("Why?"));
        let fields = [("kind", thing.0), ("id", thing.1), ("reason", "spam"), ("note", "")];
        assert_eq!(reader.post("/flag", &fields).await.status, StatusCode::SEE_OTHER);
        let page = reader.text(&plain).await;
        assert!(page.contains("You flagged this") && page.contains("Take the flag back"), "{page}");
        let again = reader.post("/flag", &fields).await;
        assert_eq!(again.status, StatusCode::CONFLICT);
        assert_eq!(reader.post("/unflag", &fields[..2]).await.status, StatusCode::SEE_OTHER);
    }
    assert_eq!(rows(&moderator).await, [""; 0]);
    let visitor = server.visitor().get("/flag/story/1").await;
    assert_eq!(visitor.status, StatusCode::SEE_OTHER);
    // The typed text stays in the form.
    let (here, reason) = (("form_page", "/flag/story/1"), ("reason", "duplicate"));
    let wrong = [("kind", "story"), ("id", "1"), reason, ("note", "<b>"), here];
    let again = reader.post("/flag", &wrong).await;
    let page = again.text();
    assert!(page.contains("value=\"&lt;b&gt;\"") && page.contains("of the story"), "{page}");
    // Nobody is offered to flag what is removed already.
    ok(decide(&moderator, "remove", ("comment", "1-1"), "").await);
    for client in [&moderator, reader] {
        let page = client.text("/news/1").await;
        assert!(page.contains("/flag/story/1") && !page.contains("/flag/comment/1"), "{page}");
    }
    ok(flag(&readers[0], STORY, "spam", "").await);
    let page = Page::of(&moderator.get("/moderate").await);
    let flagger = server.field("user:4", "username").await.unwrap();
    let title = server.field("news:1", "title").await.unwrap();
    assert!(
        page.content().contains(&format!("Flagged by {flagger} (spam, weight 1.00).")),
        "{}",
        page.content()
    );
    assert!(page.links_to("/news/1") && page.content().contains(&title));
    let form = page.forms().into_iter().find(|form| form.has_button("keep")).unwrap();
    let kept = form.pressing("keep").send(&moderator).await;
    assert_eq!(kept.status, StatusCode::SEE_OTHER);
    assert_eq!(rows(&moderator).await, [""; 0]);
    let next = kept.headers["location"].to_str().unwrap();
    let page = Page::of(&moderator.get(next).await);
    let undone = page.form("/moderate/undo").send(&moderator).await;
    assert_eq!(undone.status, StatusCode::SEE_OTHER);
    assert_eq!(rows(&moderator).await, ["story:1"]);
}

#[in_memory]
async fn the_page_of_the_queue_has_each_row_with_its_history_and_forms(server: Server) {
    let (alice, moderator, bob, readers) = community(&server).await;
    for thing in THINGS {
        ok(flag(&readers[0], thing, "harmful", "a <note>").await);
    }
    let answer = moderator.get("/moderate").await;
    assert_eq!(Page::of(&answer).heading(), "Review queue");
    let page = answer.text();
    let parts = "A story|A comment|A tweet|A profile|harmful|a &lt;note&gt;|1 story, 1 comment, 2 posts|\
        name=\"action\" value=\"keep\"|name=\"action\" value=\"remove\"|name=\"action\" value=\"warn\"|\
        name=\"row\" value=\"story:1\"|name=\"pattern\" value=\"example.com\"";
    for part in parts.split('|') {
        assert!(page.contains(part), "{part} in {page}");
    }
    // The number that waits is in the header of moderators, and of nobody else.
    for (who, shown) in [(&alice, true), (&moderator, true), (&bob, false), (&server.visitor(), false)] {
        let front = who.text("/").await;
        assert_eq!(front.contains(r#"href="/moderate""#), shown);
        assert_eq!(front.contains("4<span class=\"hidden\"> waiting"), shown, "{front}");
    }
    ok(decide(&moderator, "keep", STORY, "").await);
    let front = alice.text("/").await;
    assert!(front.contains("3<span class=\"hidden\"> waiting"), "{front}");
    assert_eq!(bob.get("/moderate").await.status, StatusCode::FORBIDDEN);
    // Nobody decides about their own things.
    let own = alice.submit_text("Of alice", "text").await.to_string();
    ok(flag(&readers[0], ("story", &own), "spam", "").await);
    let page = moderator.text("/moderate").await;
    assert!(page.contains("Another moderator must decide"), "{page}");
    refused_saying(decide(&moderator, "keep", ("story", &own), "").await, "higher");
    refused_saying(decide(&alice, "keep", ("story", &own), "").await, "yourself");
    // Moderators have vote rings looked for.
    assert_eq!(bob.post("/moderate/votes", &[]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(moderator.post("/moderate/votes", &[]).await.status, StatusCode::SEE_OTHER);
    let page = moderator.text("/moderate").await;
    let is_known =
        ["A search is running", "No suspicious voting groups found"].iter().any(|text| page.contains(text));
    assert!(is_known, "{page}");
}

#[in_memory(AT_TWO)]
async fn a_flagged_profile_is_without_its_text_for_those_who_do_not_ask_for_it(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    flag_all(&readers[..2], ("user", "bob")).await;
    for (who, path, shown) in [
        (&server.visitor(), "/@Bob?show=about", false),
        (&server.visitor(), "/@Bob?show=about&hidden=1", false),
        (&readers[2], "/@Bob?show=about", false),
        (&readers[2], "/@Bob?show=about&hidden=1", true),
        (&bob, "/@Bob?show=about", true),
        (&moderator, "/@Bob?show=about", true),
    ] {
        let page = who.text(path).await;
        assert_eq!(page.contains("A profile"), shown, "{path} for {}", who.username);
        assert!(page.contains("flags until a moderator reviews"), "{page}");
    }
}

#[each_engine("rounds")]
async fn the_queue_takes_the_same_few_rounds_however_long_it_is(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    ok(flag(&readers[0], STORY, "spam", "").await);
    let pages = ["/moderate", "/api/moderate/queue", "/"];
    let mut few = Vec::new();
    for page in pages {
        few.push(server.cold_rounds_of(&moderator, page).await);
    }
    assert!(few.iter().all(|rounds| *rounds <= 6), "{few:?}");
    for number in 0..40 {
        let story = bob.submit_text(&format!("Story {number}"), "text").await.to_string();
        ok(flag(&readers[number % 6], ("story", &story), "spam", "").await);
    }
    for thing in THINGS {
        ok(flag(&readers[1], thing, "spam", "").await);
    }
    for (page, few) in pages.into_iter().zip(few) {
        assert_eq!(server.cold_rounds_of(&moderator, page).await, few, "{page}");
    }
    // The number in the header costs a moderator no more than a member's page costs.
    assert_eq!(server.cold_rounds_of(&moderator, "/").await, server.cold_rounds_of(&readers[0], "/").await);
}

/// The stored state of flags and the queue, and why things are withheld.
async fn flagged_state(server: &Server) -> Vec<String> {
    let mut state: Vec<String> = Vec::new();
    for (key, value) in server.dump().await {
        if key.starts_with("flags:") || key.starts_with("review:") || key.contains(":flag_outcomes") {
            state.push(format!("{key} {value:?}"));
        }
    }
    for thing in THINGS {
        state.push(format!("{thing:?} {:?}", withheld(server, thing).await));
    }
    state
}

#[in_memory(AT_TWO)]
async fn a_removal_upholds_the_flags_and_restoring_brings_them_back(server: Server) {
    let (_, moderator, bob, readers) = community(&server).await;
    let other = bob.submit_text("Another", "text").await.to_string();
    for thing in THINGS {
        flag_all(&readers[..2], thing).await;
        let before = flagged_state(&server).await;
        let since = queue(&moderator).await[0]["since"].to_string();
        let removed = ok(decide(&moderator, "remove", thing, &since).await);
        assert_eq!(rows(&moderator).await, [""; 0], "{thing:?}");
        let outcomes = server.sorted("user:4:flag_outcomes").await;
        assert!(outcomes.iter().any(|(member, _)| member.starts_with('+')), "{thing:?} {outcomes:?}");
        server.advance(60);
        ok(undo(&moderator, &removed).await);
        assert_eq!(flagged_state(&server).await, before, "{thing:?}");
        ok(decide(&moderator, "remove", thing, "").await);
    }
    // Upheld flags weigh more: one hides what took two before.
    ok(flag(&readers[0], ("story", &other), "spam", "").await);
    assert_eq!(server.field(&format!("news:{other}"), "withheld").await.as_deref(), Some("flagged:"));
}

#[in_memory]
async fn what_its_author_deletes_after_it_was_flagged_stays_in_the_queue_and_is_decided(server: Server) {
    let (alice, _, bob, readers) = community(&server).await;
    let things: [Thing<'_>; 3] = [("comment", "1-1"), ("tweet", "2"), STORY];
    for thing in things {
        ok(flag(&readers[0], thing, "spam", "look").await);
    }
    ok(bob.edit_comment(1, 1, "").await);
    ok(bob.call("/api/deltweet?tweet_id=2").await);
    ok(bob.delete(1).await);
    server.advance(86_400);
    let leaver = server.register("leaver").await;
    ok(flag(&readers[0], ("user", "leaver"), "spam", "").await);
    let password = [("password", crate::client::PASSWORD)];
    assert_eq!(leaver.post("/settings/deactivate", &password).await.status, StatusCode::SEE_OTHER);
    crate::store_check::demand_clean(&server).await;
    let listed = queue(&alice).await;
    assert_eq!(listed.len(), 4, "{listed:?}");
    for row in &listed {
        assert_eq!((&row["deleted"], &row["why"]), (&json!(true), &json!("flagged")), "{row}");
    }
    let page = Page::of(&alice.get("/moderate").await);
    assert_eq!(page.content().matches("deleted by its author").count(), 4);
    let mut lines = Vec::new();
    for (row, action) in listed.iter().zip(["keep", "remove", "keep", "remove"]) {
        let thing = (row["kind"].as_str().unwrap(), row["id"].as_str().unwrap());
        let since = row["since"].to_string();
        lines.push(ok(decide(&alice, action, thing, &since).await));
    }
    assert_eq!(queue(&alice).await, [Value::Null; 0]);
    crate::store_check::demand_clean(&server).await;
    for line in &lines {
        ok(undo(&alice, line).await);
    }
    assert_eq!(queue(&alice).await, listed);
    crate::store_check::demand_clean(&server).await;
    // A reader may also take a flag back.
    for thing in things {
        ok(unflag(&readers[0], thing).await);
    }
    assert_eq!(rows(&alice).await, ["user:leaver"]);
    crate::store_check::demand_clean(&server).await;
}
