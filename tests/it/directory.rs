//! The directory of accounts: what moderators find, with search and without it, and acting on several people.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings_domain::values::MAX_NOTES;

use crate::client::{Client, ok, refused, refused_saying};
use crate::commands::Place;
use crate::pages::page;
use crate::server::{Server, in_memory};

const SEARCHED: [(&str, &str); 3] = [("search.enabled", "true"), ("trust.days", "7"), ("trust.karma", "10")];

/// The names in an answer; that of a deactivated account is empty.
fn names(answer: &Value) -> Vec<&str> {
    let people = answer["people"].as_array().unwrap_or_else(|| panic!("{answer}"));
    people.iter().map(|person| person["username"].as_str().unwrap_or_default()).collect()
}

/// Waits until moderators find exactly these.
async fn finds(by: &Client, parameters: &str, expected: &[&str]) {
    tidings_testing::until_ok(async || {
        let found = by.get(&format!("/api/moderate/people?{parameters}")).await.json();
        let is_so = found["status"] == "ok" && names(&found) == expected;
        if is_so { Ok(()) } else { Err((parameters, found)) }
    })
    .await;
}

async fn act(by: &Client, names: &str, action: &str, more: &[(&str, &str)]) -> Value {
    let fields = [&[("usernames", names), ("action", action), ("reason", "a raid")], more].concat();
    by.api_post("/api/moderate/people", &fields).await
}

/// An administrator, a moderator, and four members.
async fn people(server: &Server) -> [Client; 2] {
    let alice = server.register("alice").await;
    let moderator = server.moderator("mod").await;
    server.people(["bob", "bella", "carl", "dora"]).await;
    for (id, field, value) in [
        (3, "fullname", "Robert van Dijk"),
        (3, "email", "Robert@mail.example"),
        (4, "karma", "50"),
        (4, "invited_by", "3"),
        (5, "invited_by", "3"),
    ] {
        server.set_field(&format!("user:{id}"), field, value).await;
    }
    [alice, moderator]
}

#[in_memory(&SEARCHED)]
async fn moderators_find_people_by_what_is_true_of_them(server: Server) {
    let [alice, moderator] = people(&server).await;
    finds(&moderator, "", &["dora", "carl", "bella", "bob", "mod", "alice"]).await;
    finds(&moderator, "q=B", &["bella", "bob"]).await;
    finds(&moderator, "q=dij", &["bob"]).await;
    finds(&moderator, "q=van+di", &["bob"]).await;
    finds(&alice, "q=robert@mail", &["bob"]).await;
    finds(&moderator, "q=robert@mail", &[]).await;
    finds(&moderator, "invited_by=BOB", &["carl", "bella"]).await;
    finds(&moderator, "state=staff", &["mod", "alice"]).await;
    finds(&moderator, "sort=karma&count=1", &["bella"]).await;
    ok(act(&moderator, "carl,dora", "ban", &[("hours", "2")]).await);
    ok(act(&moderator, "bob", "silence", &[]).await);
    finds(&moderator, "state=banned", &["dora", "carl"]).await;
    finds(&moderator, "state=banned&invited_by=bob", &["carl"]).await;
    finds(&moderator, "state=silenced", &["bob"]).await;
    // Readers find neither.
    for name in ["carl", "dora"] {
        let found = ok(server.visitor().api_get(&format!("/api/search?kind=people&q={name}")).await);
        assert_eq!(found["total"], 0, "{found}");
        let found = ok(server.visitor().api_get(&format!("/api/search?kind=all&q=by:{name}")).await);
        assert_eq!(found["total"], 0, "{found}");
    }
    server.advance(2 * 3_600);
    finds(&moderator, "state=banned", &[]).await;

    // A part after the other.
    let mut all = Vec::new();
    let mut next = Value::from(0);
    while !next.is_null() {
        let part = ok(moderator.api_get(&format!("/api/moderate/people?count=4&before={next}")).await);
        all.extend(names(&part).into_iter().map(str::to_owned));
        next = part["next"].clone();
    }
    assert_eq!(all, ["dora", "carl", "bella", "bob", "mod", "alice"]);
    let bella = ok(alice.api_get("/api/moderate/people?q=bella").await)["people"][0].clone();
    assert_eq!((&bella["invited_by"], &bella["karma"]), (&json!("bob"), &json!(50)), "{bella}");
    assert!(bella["email"].is_string() && bella["created"].is_u64(), "{bella}");
    let bella = ok(moderator.api_get("/api/moderate/people?q=bella").await)["people"][0].clone();
    assert!(bella.get("email").is_none(), "{bella}");

    let shown = page(&moderator, "/people?state=staff&sort=karma").await;
    assert!(shown.content().contains("alice") && !shown.content().contains("bella"));
    let member = server.client_of(4).await;
    assert_eq!(member.get("/people").await.status, StatusCode::FORBIDDEN);
    refused(member.api_get("/api/moderate/people").await);
}

#[in_memory(&[("web.trusted_proxies", "127.0.0.1")])]
async fn without_search_there_are_the_newest_whole_names_and_networks(server: Server) {
    let [alice, moderator] = people(&server).await;
    for (name, address) in [("bob", "192.0.2.1"), ("carl", "192.0.2.77"), ("dora", "198.51.100.1")] {
        let id = ok(moderator.api_get(&format!("/api/moderate/people?q={name}")).await);
        assert_eq!(names(&id), [name]);
        let id = ["bob", "bella", "carl", "dora"].iter().position(|known| *known == name).unwrap() as u64 + 3;
        server.client_of(id).await.forwarded_for(address).tweet("A post").await;
    }
    finds(&moderator, "count=2", &["dora", "carl"]).await;
    finds(&moderator, "q=BOB", &["bob"]).await;
    finds(&moderator, "q=bo", &[]).await;
    let bob = ok(alice.api_get("/api/moderate/people?q=bob").await)["people"][0].clone();
    let tag = bob["network"].as_str().unwrap_or_else(|| panic!("{bob}")).to_owned();
    finds(&moderator, &format!("network={tag}"), &["carl", "bob"]).await;
    finds(&moderator, &format!("network={tag}&count=1"), &["carl"]).await;
    for (parameters, field) in [
        ("state=banned", "state"),
        ("invited_by=bob", "invited_by"),
        ("since=2026-01-01", "since"),
        ("sort=karma", "sort"),
        ("state=sad", "state"),
        ("network=xyz", "network"),
        ("invited_by=nobody", "invited_by"),
    ] {
        let told = refused(moderator.api_get(&format!("/api/moderate/people?{parameters}")).await);
        assert!(told.starts_with(&format!("The field {field} is wrong")), "{told}");
    }
    server.advance(31 * 86_400);
    finds(&moderator, &format!("network={tag}"), &[]).await;
}

#[in_memory]
async fn one_reason_for_several_people(server: Server) {
    let [alice, moderator] = people(&server).await;
    let carl = server.client_of(5).await;
    let story = carl.submit_text("Spam", "text").await;
    let done = ok(act(&moderator, "carl, dora", "ban", &[("remove", "1")]).await);
    assert_eq!(done["moderation_ids"], json!([1, 2, 3, 4]), "{done}");
    server.finish_jobs().await;
    assert_eq!(server.visitor().get(&format!("/news/{story}")).await.status, 410);
    // Nothing is done if one of them cannot be acted on.
    for (names, why) in [
        ("bob,nobody", "There is no user with this name"),
        ("bob,mod", "yourself"),
        ("bob,alice", "higher role"),
    ] {
        refused_saying(act(&moderator, names, "silence", &[]).await, why);
    }
    assert!(server.field("user:3", "silenced").await.is_none());
    for (names, action, more, field) in [
        ("", "ban", &[][..], "usernames"),
        ("bob", "warn", &[], "action"),
        ("bob", "silence", &[("remove", "1")], "remove"),
        ("bob", "ban", &[("hours", "x")], "hours"),
    ] {
        refused_saying(act(&moderator, names, action, more).await, field);
    }
    // The page has a box for each.
    assert!(page(&alice, "/people").await.content().contains("Apply to the selected people"));
    let boxes =
        [("person.3", "bob"), ("person.4", "bella"), ("action", "note"), ("reason", "the same person?")];
    assert_eq!(alice.post("/people", &boxes).await.status, StatusCode::SEE_OTHER);
    for id in [3, 4] {
        assert_eq!(server.dump().await.keys().filter(|key| *key == &format!("user:{id}:notes")).count(), 1);
    }
}

/// The form that acts on people, and not the one that filters them.
fn form_of(page: &crate::html::Page) -> crate::html::Form {
    page.forms().into_iter().find(|form| form.is_post && form.action == "/people").unwrap()
}

#[in_memory(&[("web.trusted_proxies", "127.0.0.1")])]
async fn the_form_keeps_its_filter_and_takes_names_of_other_sites(server: Server) {
    let [alice, moderator] = people(&server).await;
    // As an import has written it.
    let name = "da[v],e";
    server.set_field("user:3", "username", name).await;
    server.write(|batch| batch.set("username.to.id:da[v],e", "3")).await;
    let bob = server.client_of(3).await.forwarded_for("192.0.2.1");
    bob.tweet("A post").await;
    server.client_of(4).await.forwarded_for("192.0.2.2").tweet("A post").await;
    let people = ok(alice.api_get("/api/moderate/people?count=50").await);
    let tag = people["people"][3]["network"].as_str().unwrap();
    let address = format!("/people?network={tag}&sort=age");
    let form = form_of(&page(&moderator, &address).await);
    for (ticked, address) in [("person.3", address.clone()), ("person.4", format!("{address}&all=1"))] {
        let form = form_of(&page(&moderator, &address).await);
        let form = if form.value(ticked).is_some() { form } else { form.ticking(ticked) };
        let typed = form.clone().pressing("note").with("reason", "A note").with("hours", "many");
        let back = typed.send(&moderator).await;
        assert_eq!(back.status, StatusCode::BAD_REQUEST);
        let back = crate::html::Page::of(&back);
        assert_eq!(back.one("input", &[("name", "network")]).attribute("value"), Some(tag));
        let again = form_of(&back);
        for (field, value) in [("reason", "A note"), ("hours", "many")] {
            assert_eq!(again.value(field), Some(value), "{field}");
        }
        assert_eq!(again.value(ticked), typed.value(ticked));
        let done = again.with("hours", "").pressing("note").send(&moderator).await;
        let next = crate::pages::redirects_to(&done);
        assert!(next.starts_with(&*address.replace("&all=1", "")), "{next}");
    }
    assert!(form.value("person.3").is_none());
    // Programs give such names with line ends between them.
    ok(act(&moderator, "da[v],e\nbella", "note", &[]).await);
    let notes = server.hash("user:3:notes").await.len();
    assert_eq!(notes, 3);
}

#[in_memory]
async fn a_repeat_after_a_failure_half_way_does_the_rest(server: Server) {
    let [_, moderator] = people(&server).await;
    // The second person has as many notes as there may be.
    for number in 0..MAX_NOTES {
        server.set_field("user:6:notes", &(1_000 + number).to_string(), "1:1:a note").await;
    }
    let both = async || act(&moderator, "carl,dora,bob", "note", &[("request", "a name")]).await;
    refused(both().await);
    assert_eq!(server.string("moderation:count").await.as_deref(), Some("1"));
    server.write(|batch| batch.delete_field("user:6:notes", "1000")).await;
    assert_eq!(ok(both().await)["moderation_ids"], json!([1, 2, 3]));
    assert_eq!(ok(both().await)["moderation_ids"], json!([1, 2, 3]));
    // With the line of the batch.
    assert_eq!(server.string("moderation:count").await.as_deref(), Some("4"));
    assert_eq!(server.hash("user:5:notes").await.len(), 1);
}

#[test]
fn the_command_lists_accounts_without_an_index() {
    for place in Place::each() {
        for name in ["alice", "bob", "bert"] {
            place.run_with(&["user", "add", name, "--create"], "swordfish 12\n", &[]).good();
        }
        let list = |more: &[&str]| place.run(&[&["user", "list"], more].concat()).good();
        let answer: Value = serde_json::from_str(&list(&["--json", "--q", "b"])).unwrap();
        assert_eq!(names(&answer), ["bert", "bob"]);
        assert_eq!((&answer["next"], &answer["people"][0]["email"]), (&Value::Null, &json!("")), "{answer}");
        assert!(list(&["--state", "staff"]).starts_with("alice: joined "));
        assert_eq!(list(&["--count", "2"]).lines().count(), 2);
        place.run(&["user", "list", "--state", "sad"]).failed(2);
        place.run(&["user", "list", "--invited-by", "nobody"]).failed(1);
    }
}
