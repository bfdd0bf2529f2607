//! A silenced account can still read, vote, make private choices, and take back its own posts.

use std::collections::BTreeSet;

use crate::addresses::{Address, calls, forms};
use crate::client::{HttpResponse, ok, refused};
use crate::html::Page;
use crate::malformed::Target;
use crate::pages::page;
use crate::server::{Server, in_memory};

const TOLD: &str = "You are silenced until further notice: shouting. You can read and vote. \
                    You can appeal against this decision, entry 7 of the moderation log.";

fn is_refusal(call: &Address, answer: &HttpResponse) -> bool {
    if call.path.starts_with("/api/") {
        let answer = answer.json();
        return answer["status"] == "err" && answer["error"] == TOLD;
    }
    if answer.status.is_redirection() || answer.status.is_success() {
        return false;
    }
    assert_eq!(Page::of(answer).alert(), Some(TOLD), "{}", call.path);
    true
}

#[tokio::test]
async fn who_is_silenced_does_nothing_that_others_see() {
    let mut seen = BTreeSet::new();
    for call in calls().chain(forms()).filter(|call| call.signed) {
        let target = Target::new().await;
        target.server.set_field("user:1", "silenced", "0:7:shouting.").await;
        let before = target.dump().await;
        let answer = target.send(&call, &target.form_without(&call, "")).await.remove(0);
        assert_eq!(is_refusal(&call, &answer), call.is_refused_in_silence, "{}", call.path);
        if call.is_refused_in_silence {
            assert_eq!(target.dump().await, before, "{}", call.path);
            seen.insert(call.path);
        }
    }
    // The others are not there yet, or have tests of their own.
    assert!(seen.len() >= 20, "{seen:?}");
}

#[in_memory]
async fn private_settings_can_be_changed_while_the_profile_cannot(server: Server) {
    let alice = server.register("alice").await;
    ok(alice.update_profile("Hello", "", "").await);
    server.set_field("user:1", "silenced", "0:7:shouting").await;
    assert_eq!(refused(alice.update_profile("Goodbye", "", "").await), TOLD);
    ok(alice.update_profile("Hello", "alice@example.org", "").await);
    let named = "/api/updateprofile?about=Hello&email=alice@example.org&fullname=Alice!";
    assert_eq!(refused(alice.call(named).await), TOLD);
}

#[in_memory]
async fn a_silence_is_shown_and_ends_at_the_second(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.member("bob").await;
    ok(alice.moderate("silence", ("user", "bob"), &[("reason", "shouting"), ("hours", "1")]).await);
    let told = refused(bob.try_tweet("Hello").await);
    assert!(told.starts_with("You are silenced until 15 Jan 2027, 09:00 UTC: shouting."), "{told}");
    // Each page says so before anything is typed, and leads to the appeal.
    let shown = page(&bob, "/submit").await;
    assert!(shown.text().contains("You are silenced until") && shown.links_to("/appeal/1"));
    let other = alice.submit_text("Of alice", "text").await;
    ok(bob.vote(other, "up").await);
    server.advance(3_599);
    refused(bob.try_tweet("Hello").await);
    server.advance(1);
    bob.tweet("Hello").await;
    assert!(!page(&bob, "/submit").await.text().contains("silenced"));
}
