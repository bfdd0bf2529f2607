//! Reminders of what waits in the review queue, and its figures.

use tidings_domain::moderation::reminder::remind;

use crate::client::ok;
use crate::server::{Server, in_memory};

#[in_memory(&[("moderation.remind_after", "4h")])]
async fn moderators_are_reminded_once_of_what_waits_long(server: Server) {
    let alice = server.register("alice").await;
    let [bob, carol, dave] = server.people(["bob", "carol", "dave"]).await;
    server.set_field("user:2", "flags", "m").await;
    let story = dave.submit_text("A story", "text").await.to_string();
    let flag = [("kind", "story"), ("id", &*story), ("reason", "spam"), ("note", "")];
    let reminded = async || remind(&server.app.site, server.app.moment()).await.unwrap();
    assert!(!reminded().await, "nothing waits");
    ok(carol.api_post("/api/flag", &flag).await);
    server.advance(4 * 3_600 - 1);
    assert!(!reminded().await, "not for long enough");
    server.advance(1);
    assert!(reminded().await);
    for (person, count) in [(&alice, 1), (&bob, 1), (&carol, 0), (&dave, 0)] {
        let inbox = ok(person.api_get("/api/inbox").await);
        let entries = inbox["entries"].as_array().unwrap();
        let told = entries
            .iter()
            .filter(|entry| entry["text"].as_str().unwrap_or_default().contains("review queue"));
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), count, "{inbox}");
        for entry in told {
            let text = entry["text"].as_str().unwrap();
            assert!(
                text.starts_with("1 thing waits in the review queue, the oldest for 4 hours: "),
                "{text}"
            );
        }
    }
    server.advance(8 * 3_600);
    assert!(!reminded().await, "of the same");
    // Something else.
    let comment = dave.comment(story.parse().unwrap(), "a comment").await;
    let id = format!("{story}-{comment}");
    ok(carol.call(&format!("/api/flag?kind=comment&id={id}&reason=spam&note=")).await);
    ok(bob.call(&format!("/api/moderate?action=keep&kind=story&id={story}")).await);
    server.advance(4 * 3_600);
    assert!(reminded().await);
    let shown = alice.text("/moderate/figures").await;
    assert!(shown.contains("median time to decision") && shown.contains("<td>bob</td>"), "{shown}");
    assert_eq!(carol.get("/moderate/figures").await.status, 403);
    crate::store_check::demand_clean(&server).await;
}

#[in_memory(&[("moderation.remind_after", "4h")])]
async fn an_undecided_row_does_not_silence_reminders_of_later_ones(server: Server) {
    server.register("alice").await;
    let [carol, dave] = server.people(["carol", "dave"]).await;
    let flag = async |story: u64| {
        let story = story.to_string();
        ok(carol.call(&format!("/api/flag?kind=story&id={story}&reason=spam&note=")).await);
    };
    let reminded = async || remind(&server.app.site, server.app.moment()).await.unwrap();
    flag(dave.submit_text("The first", "text").await).await;
    server.advance(4 * 3_600);
    assert!(reminded().await && !reminded().await);
    server.advance(60);
    flag(dave.submit_text("The second", "text").await).await;
    server.advance(4 * 3_600 - 1);
    assert!(!reminded().await, "not for long enough");
    server.advance(1);
    assert!(reminded().await, "the first is undecided");
    assert!(!reminded().await);
}
