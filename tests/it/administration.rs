//! The page of administrators: what needs them, and what happened in the last hours and days.

use tidings_web::server::figures;

use crate::client::ok;
use crate::pages::page;
use crate::server::{Server, each_engine, in_memory};

const HOUR: u64 = 3_600;

/// The text of `/admin` with its charts in words, by the hour and by the day.
async fn charts(server: &Server) -> String {
    let alice = server.client_of(1).await;
    let [today, month] = ["/admin", "/admin?tab=month"];
    format!("{}{}", page(&alice, today).await.content(), page(&alice, month).await.content())
}

#[each_engine("one of its kind")]
async fn what_happens_is_shown_at_once_and_kept(server: Server) {
    // It is 08:00.
    let (alice, bob) = (server.register("alice").await, server.register("bob").await);
    let story = alice.submit_text("A story", "text").await;
    let comment = bob.comment(story, "A comment").await;
    bob.tweet("A tweet").await;
    ok(bob.vote(story, "up").await);
    ok(alice.vote_comment(story, comment, "up").await);
    page(&bob, "/").await;
    let check = async || {
        let charts = charts(&server).await;
        for time in ["08:00", "15 Jan 2027"] {
            for part in ["1 stories, 1 comments, 1 posts", "2 votes", "2 sign-ups", "2 people"] {
                assert!(charts.contains(&format!("{time}: {part}")), "{time}: {part} in {charts}");
            }
            let requests = charts.split(&format!("{time}: ")).nth(1).and_then(|rest| rest.split(' ').next());
            let requests: u64 = requests.unwrap().parse().unwrap();
            assert!((8..30).contains(&requests), "{requests}");
        }
    };
    check().await;
    // Stored in a few keys, by each server once a minute.
    assert!(server.hash("statistics:hour:2027-01-15T08").await.is_empty());
    let before = server.store().rounds();
    figures::keep(&server.app).await;
    assert_eq!(server.store().rounds(), before, "its rounds are counted apart");
    assert_eq!(server.number("statistics:hour:2027-01-15T08", "story").await, 1);
    assert_eq!(server.number("statistics:day:2027-01-15", "signup").await, 2);
    let keys = server.dump().await.into_keys().filter(|key| key.starts_with("statistics:")).count();
    assert_eq!(keys, 2);
    check().await;
    // An hour later they count again as people.
    server.advance(HOUR);
    page(&bob, "/").await;
    let charts = charts(&server).await;
    for part in ["09:00: 2 people", "15 Jan 2027: 2 people"] {
        assert!(charts.contains(part), "{part} in {charts}");
    }
    assert!(!charts.contains("09:00: 1 stories"), "{charts}");
}

#[in_memory(&[("accounts.signup", "apply")])]
async fn what_needs_a_person_comes_first(server: Server) {
    let alice = server.register("alice").await;
    let quiet = page(&alice, "/admin").await;
    assert!(!quiet.content().contains("review:"), "{}", quiet.content());
    assert!(quiet.content().contains("This site doesn't send mail"));
    let fields = [("username", "bob"), ("password", "correct horse"), ("application", "I read a lot.")];
    ok(server.visitor().api_post("/api/create_account", &fields).await);
    let told = page(&alice, "/admin").await;
    assert!(told.content().contains("1 item needs review"), "{}", told.content());
    assert!(told.links_to("/moderate"));
    let text = told.content();
    assert!(text.find("Needs your attention") < text.find("The last 24 hours"));
}
