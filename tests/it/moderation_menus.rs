//! The menu of moderators for a post: it offers what can be done to it.

use serde_json::Value;
use tidings_domain::values::Action;

use crate::client::{Client, ok};
use crate::moderation::people;
use crate::pages::{page, redirects_to};
use crate::server::{Engine, Server, in_memory};
use crate::store_check::demand_clean;

/// The states of a post, each with the kinds that it is tried on, and the actions that lead there.
const STATES: [(&str, &[&str], &[&str]); 5] = [
    ("open", &["story", "comment", "tweet"], &[]),
    ("removed", &["story", "comment", "tweet"], &["remove"]),
    ("held", &["story", "comment", "tweet"], &[]),
    ("hidden", &["story", "comment", "tweet"], &[]),
    ("locked", &["story"], &["lock"]),
];

/// What an action takes besides the reason.
fn more(action: &str, (kind, id): (&str, &str)) -> Vec<(&'static str, String)> {
    match (action, kind) {
        ("edit", "comment") => vec![("text", "other words".to_owned())],
        ("edit", _) => vec![("title", "Another title".to_owned())],
        ("merge", _) => vec![("into", "1".to_owned())],
        ("erase", _) => vec![("confirm", id.to_owned())],
        ("remove_all", _) => vec![("days", "1".to_owned())],
        ("stop_signups" | "hold_young", _) => vec![("hours", "5".to_owned()), ("age", "5".to_owned())],
        _ => Vec::new(),
    }
}

async fn act(by: &Client, action: &str, (kind, id): (&str, &str)) -> Value {
    let more = more(action, (kind, id));
    let more: Vec<_> = more.iter().map(|(name, value)| (*name, &**value)).collect();
    by.moderate(action, (kind, id), &more).await
}

/// A post of bob in a state.
async fn post(server: &Server, [alice, bob, carol]: [&Client; 3], kind: &str, state: &str) -> String {
    if state == "held" {
        ok(alice.moderate("hold", ("user", "bob"), &[]).await);
    }
    let id = match kind {
        "story" => bob.submit("Bob's story", "", "text").await["news_id"].to_string(),
        "comment" => format!("1-{}", ok(bob.try_comment(1, None, "words").await)["comment_id"]),
        _ => ok(bob.try_tweet("words").await)["tweet_id"].to_string(),
    };
    if state == "held" {
        ok(alice.moderate("unhold", ("user", "bob"), &[]).await);
    }
    if state == "hidden" {
        ok(carol.call(&format!("/api/flag?kind={kind}&id={id}&reason=spam&note=")).await);
    }
    server.finish_jobs().await;
    id
}

/// The actions on the menu of a post.
async fn offered(by: &Client, (kind, id): (&str, &str)) -> Vec<String> {
    let menu = page(by, &format!("/moderate/menu/{kind}/{id}")).await;
    let forms = menu.forms().into_iter().filter(|form| form.action == "/moderate");
    let mut actions: Vec<String> = forms
        .flat_map(|form| form.buttons("action").into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    if menu.links_to(&format!("/moderate/erase/{kind}/{id}")) {
        actions.push("erase".to_owned());
    }
    actions
}

#[tokio::test]
async fn the_menu_of_a_post_offers_what_can_be_done_and_nothing_else() {
    let server = Server::start(Engine::Memory, &[("moderation.hide_at", "1")]).await;
    let [alice, _, bob, carol] = people(&server).await;
    carol.submit_text("A story", "text").await;
    for (state, kinds, before) in STATES {
        for kind in kinds {
            for action in Action::ALL.iter().filter(|action| !action.facts().has_own_call) {
                let id = post(&server, [&alice, &bob, &carol], kind, state).await;
                for earlier in before {
                    ok(act(&alice, earlier, (kind, &id)).await);
                }
                let is_offered = offered(&alice, (kind, &id)).await.iter().any(|name| name == action.name());
                let answer = act(&alice, action.name(), (kind, &id)).await;
                // The call also does what no menu suggests, such as removing what waits.
                let is_left_to_calls = ["remove", "lock", "keep"].contains(&action.name()) && !is_offered;
                let is_done = answer["status"] == "ok";
                assert!(is_done == is_offered || is_left_to_calls, "{action} on a {state} {kind}: {answer}");
                // Nothing of it is left.
                server.finish_jobs().await;
                if let Some(line) = answer["moderation_id"].as_u64() {
                    alice.undo(line).await;
                }
                act(&alice, "unpin", (kind, &id)).await;
            }
            server.finish_jobs().await;
            demand_clean(&server).await;
        }
    }
}

#[in_memory]
async fn moderators_find_the_menu_where_a_post_stands_and_come_back_to_it(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    let story = bob.submit_text("A story", "text").await;
    bob.comment(story, "a comment").await;
    let tweet = bob.tweet("words").await;
    for (place, menu) in [
        ("/news/1", "/moderate/menu/story/1"),
        ("/news/1", "/moderate/menu/comment/1-1"),
        ("/comments", "/moderate/menu/comment/1-1"),
        ("/everyone", &*format!("/moderate/menu/tweet/{tweet}")),
        ("/@bob?show=posts", &*format!("/moderate/menu/tweet/{tweet}")),
    ] {
        assert!(page(&moderator, place).await.links_to(menu), "{place} {menu}");
        for other in [&bob, &server.visitor()] {
            assert!(!page(other, place).await.content().contains("moderate"), "{place}");
        }
        assert_eq!(bob.get(menu).await.status, 403);
    }
    // Lists of stories have none.
    assert!(!page(&moderator, "/latest").await.links_to("/moderate/menu/story/1"));
    let menu = page(&moderator, "/moderate/menu/story/1").await;
    assert!(menu.content().contains("Lock the thread") && !menu.content().contains("Erase for good"));
    let form = menu.forms().into_iter().find(|form| form.has_button("lock")).unwrap();
    let sent = form.with("reason", "a quarrel").pressing("lock").send(&moderator).await;
    assert_eq!(redirects_to(&sent), "/news/1?moderated=2");
    let menu = page(&alice, "/moderate/menu/story/1").await;
    assert!(menu.content().trim_end().ends_with("Erase for good"), "{}", menu.content());
    // Nobody moderates their own posts, or those of a higher role.
    alice.submit_text("Another", "text").await;
    moderator.submit_text("One more", "text").await;
    for own in ["/moderate/menu/story/2", "/moderate/menu/story/3"] {
        assert!(page(&moderator, own).await.content().contains("You can't moderate this."));
    }
}

#[in_memory]
async fn a_story_is_pinned_for_some_days(server: Server) {
    let [alice, moderator, bob, _] = people(&server).await;
    for title in ["One", "Two", "Three"] {
        bob.submit_text(title, "text").await;
    }
    let pinned = async || {
        let current = ok(alice.api_get("/api/admin/announcement").await);
        (current["pinned"].to_string(), current["pinned_hours"].as_u64().unwrap())
    };
    ok(alice.api_post("/api/admin/announcement", &[("text", "We move"), ("hours", "500")]).await);
    assert!(!offered(&moderator, ("story", "1")).await.contains(&"pin".to_owned()));
    let menu = page(&alice, "/moderate/menu/story/1").await;
    let form = menu.forms().into_iter().find(|form| form.has_button("pin")).unwrap();
    assert_eq!(form.value("days"), Some("7"));
    form.pressing("pin").send(&alice).await;
    assert_eq!(pinned().await, ("[1]".to_owned(), 168));
    // Another one ends with it, unless one says otherwise.
    let days = async |story: u64| {
        let menu = page(&alice, &format!("/moderate/menu/story/{story}")).await;
        let form = menu.forms().into_iter().find(|form| form.has_button("pin")).unwrap();
        (form.value("days").unwrap().to_owned(), menu.content().to_owned())
    };
    server.advance(3 * 86_400 + 60);
    let (left, told) = days(2).await;
    assert_eq!(left, "4");
    assert!(told.contains("Story 1 is pinned until 22 Jan 2027. These days will count for both"), "{told}");
    ok(alice.moderate("pin", ("story", "2"), &[("days", &*left)]).await);
    assert_eq!(pinned().await, ("[1,2]".to_owned(), 96));
    assert!(offered(&alice, ("story", "2")).await.contains(&"unpin".to_owned()));
    ok(alice.moderate("unpin", ("story", "2"), &[]).await);
    assert_eq!(pinned().await, ("[1]".to_owned(), 96));
    let second = ok(alice.moderate("pin", ("story", "2"), &[("days", "2")]).await);
    assert_eq!(pinned().await, ("[1,2]".to_owned(), 48));
    assert_eq!(alice.moderate("pin", ("story", "3"), &[]).await["status"], "err");
    ok(alice.undo(second["moderation_id"].as_u64().unwrap()).await);
    assert_eq!(pinned().await, ("[1]".to_owned(), 96));
    let text = ok(alice.api_get("/api/admin/announcement").await)["text"].clone();
    assert_eq!(text, "We move");
    ok(alice.moderate("unpin", ("story", "1"), &[]).await);
    assert_eq!(pinned().await.0, "[]");
    ok(alice.moderate("pin", ("story", "1"), &[]).await);
    ok(alice.moderate("pin", ("story", "2"), &[]).await);
    server.advance(7 * 86_400);
    assert_eq!(pinned().await.0, "[]");
    // What has ended does not come back with another.
    assert!(!offered(&alice, ("story", "1")).await.contains(&"unpin".to_owned()));
    assert_eq!(days(3).await.0, "7");
    ok(alice.moderate("pin", ("story", "3"), &[]).await);
    assert_eq!(pinned().await, ("[3]".to_owned(), 168));
}
