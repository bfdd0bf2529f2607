//! Reasons that moderators have at hand.

use serde_json::json;

use crate::client::{each, line_of, ok, refused, refused_saying};
use crate::pages::{page, redirects_to};
use crate::server::{Server, each_engine, in_memory};

#[in_memory]
async fn moderators_choose_from_saved_reasons_and_the_log_links_to_the_rule(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let story = bob.submit_text("A story", "text").await.to_string();
    let before = server.hash("site").await;
    let made = line_of(
        alice.call("/api/moderate/reasons?title=Politics&text=No politics here.&rule=Rule <3>").await,
    );
    let place = format!("/news/{story}");
    let offered = alice.text(&place).await;
    assert!(offered.contains(r#"<option value="No politics here." label="Politics">"#), "{offered}");
    assert!(!bob.text(&place).await.contains("No politics"));
    ok(alice.moderate("remove", ("story", &*story), &[("reason", "No politics here.")]).await);
    let log = server.visitor().text("/moderations").await;
    assert!(log.contains(r#"No politics here. (<a href="/about#rules">Rule &lt;3&gt;</a>)"#), "{log}");
    // To change, to remove, and to take that back.
    let reasons = async || ok(alice.api_get("/api/moderate/reasons").await)["reasons"].clone();
    let changed = "/api/moderate/reasons?reason_id=7&title=Politics&text=Not here.";
    let changed = line_of(alice.call(changed).await);
    let expected = json!({"reason_id": 7, "title": "Politics", "text": "Not here.", "rule": ""});
    assert_eq!(reasons().await[6], expected);
    let removed = line_of(alice.call("/api/moderate/reasons?reason_id=7&remove=1").await);
    assert_eq!(each(&reasons().await, "text").len(), 6);
    ok(alice.undo(removed).await);
    assert_eq!(reasons().await[6]["text"], "Not here.");
    let why = refused(alice.undo(made).await);
    assert_eq!(why, "This saved reason has changed since: see entry 5 of the moderation log.");
    ok(alice.undo(changed).await);
    ok(alice.undo(made).await);
    assert_eq!(server.hash("site").await, before);
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn only_moderators_change_them_and_there_is_a_limit(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    let fields = [("title", "Politics"), ("text", "No politics here.")];
    refused_saying(bob.api_post("/api/moderate/reasons", &fields).await, "Only moderators");
    assert_eq!(bob.get("/moderate/reasons").await.status, 403);
    for (fields, expected) in [
        (vec![("title", ""), ("text", "x")], "title"),
        (vec![("title", "x"), ("text", " ")], "text"),
        (vec![("remove", "1")], "reason_id"),
        (vec![("remove", "1"), ("reason_id", "99")], "no such saved reason"),
    ] {
        let error = refused(alice.api_post("/api/moderate/reasons", &fields).await).to_lowercase();
        assert!(error.contains(expected), "{fields:?}: {error}");
    }
    for _ in 6..30 {
        ok(alice.api_post("/api/moderate/reasons", &fields).await);
    }
    refused_saying(alice.api_post("/api/moderate/reasons", &fields).await, "30 saved reasons");
    // By pages alone.
    let forms = page(&alice, "/moderate/reasons?reason_id=1").await.forms();
    let form = forms.into_iter().find(|form| form.value("reason_id") == Some("1")).unwrap();
    let sent = form.with("text", "Changed on the page").send(&alice).await;
    assert_eq!(redirects_to(&sent), "/moderate/reasons");
    let list = ok(alice.api_get("/api/moderate/reasons").await);
    assert_eq!(list["reasons"][0]["text"], "Changed on the page");
}

#[each_engine("races")]
async fn two_moderators_at_once_lose_nothing(server: Server) {
    let alice = server.register("alice").await;
    let titles: Vec<String> = (0..8).map(|number| format!("Reason {number}")).collect();
    let requests = titles.iter().map(|title| format!("/api/moderate/reasons?title={title}&text=Not here."));
    let added = requests.map(async |request| ok(alice.call(&request).await));
    futures_util::future::join_all(added).await;
    let list = ok(alice.api_get("/api/moderate/reasons").await);
    let listed = each(&list["reasons"], "title");
    assert_eq!(listed.len(), 6 + titles.len(), "{listed:?}");
    assert!(titles.iter().all(|title| listed.contains(&json!(title))), "{listed:?}");
}
