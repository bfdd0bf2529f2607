//! The primary of the store is killed, or hangs, while the site is under load. The long form, with a hundred
//! failovers of each kind, is `cargo bench --bench failover`.

use crate::client::{ok, refused_saying};
use crate::failover_runs::{Fault, Outcome, run, start_site};
use crate::html::Page;
use crate::pages::redirects_to;
use crate::program::Program;
use crate::server::Server;
use reqwest::StatusCode;
use std::time::Duration;
use tidings_domain::keys;
use tidings_domain::values::UserId;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failovers_lose_nothing_that_the_site_acknowledged() {
    let (server, mut redis) = start_site().await;
    let outcome = run(&server, &mut redis, Fault::Dies, 16, 3).await;
    assert_nothing_is_lost(&outcome);
    crate::consistency::check(&server.dump().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_is_replaced_and_wakes_loses_nothing_that_has_a_name() {
    let (server, mut redis) = start_site().await;
    let outcome = run(&server, &mut redis, Fault::Hangs, 32, 4).await;
    assert_nothing_is_lost(&outcome);
    assert!(outcome.unsure > 0, "{outcome:?}");
    crate::consistency::check(&server.dump().await);
}

#[track_caller]
fn assert_nothing_is_lost(outcome: &Outcome) {
    println!("{outcome:?}");
    assert_eq!(outcome.lost, [""; 0]);
    assert_eq!(outcome.half_done, [""; 0]);
    assert_eq!(outcome.done_though_refused, [""; 0]);
    assert!(outcome.acknowledged > 0 && outcome.unsure + outcome.refused > 0, "{outcome:?}");
    assert!(outcome.gaps.iter().all(|gap| *gap < Duration::from_secs(30)), "{:?}", outcome.gaps);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_no_replica_has_is_answered_as_not_sure() {
    let (server, redis) = start_site().await;
    let settings = [
        ("TIDINGS_SERVER__STORE_REPLICAS", "1"),
        ("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0"),
        ("TIDINGS_SERVER__STORE_TIMEOUT_SECONDS", "2"),
    ];
    let program = Program::start_with(&redis.url(), &settings);
    let alice = server.member("alice").await;
    alice.submit_text("One", "text").await;
    let primary = redis.primary().unwrap();
    let replicas = (0..3).filter(|number| *number != primary);
    replicas.for_each(|number| redis.server(number).pause());
    let answer = alice.answer_to("/api/submit?news_id=-1&title=Two&url=&text=text").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "10");
    refused_saying(answer.json(), "it isn't clear whether it was saved. Please try again");
    // The form keeps what was typed.
    let fields = [("news_id", "-1"), ("title", "Three"), ("url", ""), ("text", "A text of some length")];
    let page = alice.post("/submit", &fields).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    let page = page.text();
    assert!(page.contains("it isn't clear whether it was saved. Please try again"), "{page}");
    assert!(page.contains("A text of some length"), "{page}");
    // Neither that nor an error page is kept from the operator.
    let page = alice.at(program.address).post("/submit", &fields).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(program.wait_for_log("it is unclear whether a write was done").contains("/submit"));
    // Reading goes on.
    assert_eq!(server.visitor().get("/").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_is_answered_only_when_replicas_have_what_the_first_did() {
    let (server, redis) = start_site().await;
    let other = Server::beside_with(&redis.url(), &server, &[("server.store_replicas", "1")]).await;
    let alice = server.member("alice").await;
    let story = alice.submit_text("One", "text").await.to_string();
    let hide = [("news_id", &*story), ("request", "a name")];
    let bob = server.member("bob").await;
    server.set_karma(&bob, 100).await;
    let vote = Page::of(&bob.get("/latest/0").await).form("/votenews").pressing("up");
    let primary = redis.primary().unwrap();
    let replicas = || (0..3).filter(|number| *number != primary);
    replicas().for_each(|number| redis.server(number).pause());
    let unsure = alice.post("/api/hide", &hide).await;
    assert_eq!(unsure.status, StatusCode::SERVICE_UNAVAILABLE);
    // The primary has what was done and the answer, and yet nobody is told that it is done.
    let hidden = keys::user_hidden(UserId(alice.user_id));
    assert_eq!(server.sorted(&hidden).await.len(), 1);
    for client in [alice.clone(), alice.at(other.address)] {
        let again = client.post("/api/hide", &hide).await;
        assert_eq!(again.status, StatusCode::SERVICE_UNAVAILABLE);
        refused_saying(again.json(), "it isn't clear whether it was saved. Please try again");
    }
    // So is the vote that would be refused as the second.
    for client in [bob.clone(), bob.clone(), bob.at(other.address)] {
        assert_eq!(vote.send(&client).await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    // The form that is shown again is a repeat, too.
    let form = Page::of(&alice.get("/submit").await).form("/submit").with("title", "T").with("text", "Text");
    let shown = form.send(&alice).await;
    assert_eq!(shown.status, StatusCode::SERVICE_UNAVAILABLE);
    let shown = Page::of(&shown).form("/submit");
    assert_eq!(shown.value("request"), form.value("request"));
    replicas().for_each(|number| redis.server(number).resume());
    redis.wait_until_whole();
    ok(alice.api_post("/api/unhide", &[("news_id", &story)]).await);
    ok(alice.api_post("/api/hide", &hide).await);
    ok(alice.at(other.address).api_post("/api/hide", &hide).await);
    assert_eq!(server.sorted(&hidden).await, [], "it was done before it was taken back");
    for client in [bob.at(other.address), bob.clone()] {
        assert_eq!(redirects_to(&vote.send(&client).await), "/latest/0#news-1");
    }
    assert_eq!(server.number("news:1", "up").await, 2);
    let posted = shown.send(&alice).await;
    assert_eq!(redirects_to(&shown.send(&alice).await), redirects_to(&posted));
    assert_eq!(alice.listed("latest").await.len(), 2);
}
