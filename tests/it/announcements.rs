//! Announcements above every page, and pinned stories.

use serde_json::json;

use crate::client::{has_members, line_of, ok, refused, refused_saying};
use crate::pages::{page, redirects_to};
use crate::server::{Server, in_memory};

const TEXT: &str = "We move to a new server on Sunday";

#[in_memory]
async fn an_announcement_is_on_every_page_until_it_ends_or_is_dismissed(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    bob.submit_text("A story", "text").await;
    let made = ok(alice.call(&format!("/api/admin/announcement?text={TEXT}&url=/news/1&hours=2")).await);
    for path in ["/", "/news/1", "/about", "/user/bob", "/nothing-here"] {
        for client in [&server.visitor(), &bob] {
            assert!(client.any_text(path).await.contains(TEXT), "{path}");
        }
    }
    // A member dismisses it for good; others still see it.
    let form = page(&bob, "/news/1").await.form("/announcement/dismiss");
    assert_eq!(redirects_to(&form.send(&bob).await), "/news/1");
    assert!(!bob.text("/").await.contains(TEXT));
    assert!(server.visitor().text("/").await.contains(TEXT));
    // Another one is shown again.
    ok(alice.api_post("/api/admin/announcement", &[("text", "Another"), ("hours", "1")]).await);
    assert!(bob.text("/").await.contains("Another"));
    let current = ok(alice.api_get("/api/admin/announcement").await);
    has_members(&current, json!({"text": "Another", "url": "", "hours": 1}));
    server.advance(3_600);
    assert!(!bob.text("/").await.contains("Another"));
    assert_eq!(ok(alice.api_get("/api/admin/announcement").await)["text"], "");
    // To undo a change brings back what was before it.
    let last = &server.visitor().log("").await[0];
    has_members(last, json!({"action": "announce", "reason": "Another"}));
    ok(alice.undo(last["id"].as_u64().unwrap()).await);
    assert!(server.visitor().text("/").await.contains(TEXT));
    ok(alice.undo(line_of(made)).await);
    assert!(!server.visitor().text("/").await.contains(TEXT));
    crate::store_check::demand_clean(&server).await;
}

#[in_memory]
async fn pinned_stories_lead_the_front_page(server: Server) {
    let alice = server.register("alice").await;
    let mut stories = Vec::new();
    for number in 0..4 {
        stories.push(alice.submit_text(&format!("Story {number}"), "text").await);
        server.advance(60);
    }
    let order = async || {
        let shown = server.visitor().text("/").await;
        let mut places: Vec<_> =
            (0..4).map(|number| (shown.find(&format!("Story {number}")), number)).collect();
        assert!(places.iter().all(|(place, _)| place.is_some()), "{shown}");
        assert_eq!(shown.matches("Story 0</a>").count(), 1, "once");
        places.sort_unstable();
        places.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
    };
    assert_eq!(order().await, [3, 2, 1, 0]);
    let pinned = format!("{}, {}", stories[0], stories[2]);
    ok(alice.api_post("/api/admin/announcement", &[("pinned", &*pinned), ("pinned_hours", "1")]).await);
    assert_eq!(order().await, [0, 2, 3, 1]);
    assert_eq!(server.visitor().text("/").await.matches(">Pinned<").count(), 2);
    assert!(!server.visitor().text("/latest/0").await.contains(">Pinned<"));
    // A member who has hidden a pinned story does not see it.
    let bob = server.member("bob").await;
    ok(bob.api_post("/api/hide", &[("news_id", &stories[0].to_string())]).await);
    assert!(!bob.text("/").await.contains("Story 0"));
    server.advance(3_600);
    assert_eq!(order().await, [3, 2, 1, 0]);
}

#[in_memory]
async fn what_cannot_be_announced_is_refused_by_its_field_and_a_form_replaces_nothing_unseen(server: Server) {
    let alice = server.register("alice").await;
    alice.submit_text("A story", "text").await;
    for (fields, expected) in [
        ([("text", "a\nb"), ("url", "")], "text"),
        ([("text", "x"), ("url", "javascript:alert(1)")], "url"),
        ([("text", "x"), ("pinned", "1,1,1")], "pinned"),
        ([("text", "x"), ("pinned", "one")], "pinned"),
        ([("text", "x"), ("pinned", "99")], "pinned is wrong"),
        ([("text", "x"), ("hours", "x")], "hours"),
    ] {
        let error = refused(alice.api_post("/api/admin/announcement", &fields).await).to_lowercase();
        assert!(error.contains(expected), "{fields:?}: {error}");
    }
    assert!(server.hash("site").await.is_empty());
    let bob = server.member("bob").await;
    refused_saying(bob.api_post("/api/admin/announcement", &[("text", "x")]).await, "Only administrators");
    refused_saying(bob.api_get("/api/admin/announcement").await, "Only administrators");
    // By pages alone.
    let form = page(&alice, "/admin/site").await.form("/admin/announcement");
    assert_eq!(form.with("text", TEXT).send(&alice).await.status, 303);
    let form = page(&alice, "/admin/site").await.form("/admin/announcement");
    assert_eq!(form.value("text"), Some(TEXT));
    let old = page(&alice, "/admin/site").await.form("/admin/announcement");
    let first = page(&alice, "/admin/site").await.form("/admin/announcement");
    assert_eq!(first.with("text", "The first").send(&alice).await.status, 303);
    assert_eq!(old.with("text", "The second").send(&alice).await.status, 409);
    let now = ok(alice.api_get("/api/admin/announcement").await);
    assert_eq!(now["text"], "The first");
    let seen = now["made"].to_string();
    let fields = [("text", "The second"), ("seen", &*seen)];
    ok(alice.api_post("/api/admin/announcement", &fields).await);
    refused_saying(alice.api_post("/api/admin/announcement", &fields).await, "has changed since");
}
