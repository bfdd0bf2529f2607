//! Applications: they wait, they are accepted or rejected, and what becomes of their names.

use crate::client::{Client, PASSWORD, each, has_members, line_of, ok, refused, refused_saying};
use crate::consistency;
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Engine, Server, in_memory};
use crate::signups::sign_up;
use crate::smtp_server::SmtpServer;
use reqwest::StatusCode;
use serde_json::json;

const APPLY: (&str, &str) = ("accounts.signup", "apply");
const TEXT: (&str, &str) = ("application", "I read a lot.\n\nAnd I write.");

/// Answers an application. Returns the number of the line in the log.
async fn answer(moderator: &Client, username: &str, action: &str, reason: &str) -> Result<u64, String> {
    let answer = moderator.moderate(action, ("application", username), &[("reason", reason)]).await;
    if answer["status"] == "ok" { Ok(line_of(answer)) } else { Err(refused(answer)) }
}

async fn accept(moderator: &Client, username: &str) -> u64 {
    answer(moderator, username, "approve", "").await.unwrap()
}

async fn reject(moderator: &Client, username: &str, reason: &str) -> u64 {
    answer(moderator, username, "reject", reason).await.unwrap()
}

/// Applies for an account.
async fn apply(server: &Server, username: &str) {
    let answer = ok(sign_up(&server.visitor(), username, &[TEXT]).await);
    assert_eq!(answer, json!({"status": "ok", "pending": true}));
}

async fn waiting(server: &Server) -> Vec<String> {
    server.sorted("review:queue").await.into_iter().map(|(member, _)| member).collect()
}

/// Whether anybody can see the account.
async fn is_seen(client: &Client, username: &str) -> bool {
    let seen = client.get(&format!("/@{username}")).await.status == StatusCode::OK;
    let follow = client.post("/api/follow", &[("username", username)]).await;
    assert_eq!(follow.status == StatusCode::OK, seen, "{username}");
    seen
}

#[in_memory(&[APPLY])]
async fn an_applicant_cannot_log_in_and_once_accepted_is_a_member_like_others(server: Server) {
    let alice = server.register("alice").await;
    apply(&server, "Bob").await;
    // Names are the same in any case.
    assert_eq!(waiting(&server).await, ["application:bob"]);
    let user = server.hash("user:2").await;
    assert_eq!((&*user["application"], &*user["pending"]), (TEXT.1, "1"));
    let error = refused(server.visitor().try_log_in("bob", PASSWORD).await);
    assert!(error.starts_with("Your application has not been answered yet."), "{error}");
    // To everybody else the account does not exist.
    let wrong = refused(server.visitor().try_log_in("bob", "another password").await);
    assert_eq!(wrong, "Wrong username or password.");
    assert!(!is_seen(&alice, "bob").await);
    let taken = refused(sign_up(&server.visitor(), "BOB", &[TEXT]).await);
    assert_eq!(taken, "This username is taken. Choose another.");
    assert!(!server.dump().await.keys().any(|key| key == "user:2:sessions"));
    consistency::check_site(&server).await;
    accept(&alice, "BOB").await;
    assert!(waiting(&server).await.is_empty());
    let bob = server.visitor().log_in("bob", PASSWORD).await;
    assert!(is_seen(&alice, "bob").await);
    bob.submit_text("A story", "text").await;
    for action in ["approve", "reject"] {
        let error = answer(&alice, "bob", action, "again").await.unwrap_err();
        assert!(error.starts_with("There is no such application."), "{error}");
    }
    has_members(&server.visitor().log("").await[0], json!({"action": "approve", "kind": "application"}));
    assert!(bob.is_logged_in().await);
    consistency::check_site(&server).await;
}

#[in_memory(&[APPLY])]
async fn a_rejected_applicant_learns_the_reason_and_the_name_is_free_and_those_that_look_like_it(
    server: Server,
) {
    let alice = server.register("alice").await;
    apply(&server, "bob").await;
    reject(&alice, "bob", "We do not know you.").await;
    assert!(waiting(&server).await.is_empty());
    let error = refused(server.visitor().try_log_in("bob", PASSWORD).await);
    assert_eq!(error, "Your application was rejected: We do not know you.");
    assert!(!is_seen(&alice, "bob").await);
    consistency::check_site(&server).await;
    // The name is free for another application, which replaces the account.
    apply(&server, "Bob").await;
    // Names are the same in any case.
    assert_eq!(waiting(&server).await, ["application:bob"]);
    assert_eq!(server.string("username.to.id:bob").await.as_deref(), Some("3"));
    assert!(server.hash("user:2").await.is_empty());
    accept(&alice, "bob").await;
    server.visitor().log_in("bob", PASSWORD).await;
    consistency::check_site(&server).await;
    apply(&server, "boIt").await;
    refused_saying(sign_up(&server.visitor(), "bolt", &[TEXT]).await, "looks too much");
    reject(&alice, "boIt", "no").await;
    apply(&server, "bolt").await;
    // The rejected account has no name any more.
    assert_eq!(server.string("username.to.id:boit").await, None);
    apply(&server, "boot").await;
    consistency::check_site(&server).await;
}

#[in_memory(&[APPLY])]
async fn the_public_log_does_not_name_rejected_applicants(server: Server) {
    let alice = server.register("alice").await;
    for name in ["bob", "carol"] {
        apply(&server, name).await;
    }
    reject(&alice, "bob", "We do not know you.").await;
    let accepted = accept(&alice, "carol").await;
    let visitor = server.visitor();
    let targets = async |client: &Client| each(&client.log("?kind=application").await.into(), "target");
    assert_eq!(targets(&visitor).await, ["carol", "an applicant"]);
    assert_eq!(targets(&alice).await, ["carol", "bob"]);
    for path in ["/moderations", "/moderations/atom"] {
        let shown = visitor.get(path).await;
        let shown = shown.text();
        assert!(shown.contains("rejected the application of an applicant"), "{path}: {shown}");
        assert!(!shown.contains("bob"), "{path}");
    }
    // Nor one whose acceptance was taken back.
    ok(alice.undo(accepted).await);
    assert_eq!(targets(&visitor).await, ["an applicant"; 3]);
}

#[in_memory(&[APPLY])]
async fn an_answer_can_be_undone_unless_the_name_is_taken(server: Server) {
    let alice = server.register("alice").await;
    apply(&server, "bob").await;
    let before = server.hash("user:2").await;
    let queue = server.sorted("review:queue").await;
    let line = reject(&alice, "bob", "no").await;
    server.advance(60);
    ok(alice.undo(line).await);
    // It waits as if nothing had happened, in its old place.
    assert_eq!(server.sorted("review:queue").await, queue);
    let mut after = server.hash("user:2").await;
    assert_eq!(after.remove("auth").as_deref(), Some(""));
    after.insert("apisecret".to_owned(), before["apisecret"].clone());
    assert_eq!(after, before);
    // An accepted account is logged out again.
    let line = accept(&alice, "bob").await;
    let bob = server.visitor().log_in("bob", PASSWORD).await;
    ok(alice.undo(line).await);
    assert_eq!(bob.get("/settings").await.status, StatusCode::SEE_OTHER);
    refused(server.visitor().try_log_in("bob", PASSWORD).await);
    refused(alice.undo(line).await);
    consistency::check_site(&server).await;
    apply(&server, "carol").await;
    let line = reject(&alice, "carol", "no").await;
    apply(&server, "carol").await;
    let before = server.dump().await;
    let error = refused(alice.undo(line).await);
    assert_eq!(error, "The application has changed since.");
    assert_eq!(server.dump().await, before);
}

#[in_memory(&[APPLY])]
async fn what_is_no_application_is_not_answered_nor_by_anybody_else_than_a_moderator(server: Server) {
    let alice = server.register("alice").await;
    for name in ["bob", "carol"] {
        apply(&server, name).await;
    }
    accept(&alice, "bob").await;
    let bob = server.visitor().log_in("bob", PASSWORD).await;
    let error = answer(&bob, "carol", "approve", "").await.unwrap_err();
    assert_eq!(error, "Only moderators can do this.");
    redirects_to(&bob.post("/settings/deactivate", &[("password", PASSWORD)]).await);
    assert_eq!(server.field("user:2", "application").await, None);
    let before = server.dump().await;
    for name in ["alice", "nobody", "bob"] {
        for action in ["approve", "reject"] {
            let error = answer(&alice, name, action, "no").await.unwrap_err();
            assert!(error.starts_with("There is no such application."), "{name}: {error}");
        }
    }
    // A rejection needs a reason.
    answer(&alice, "carol", "reject", "").await.unwrap_err();
    assert_eq!(server.dump().await, before);
    assert_eq!(waiting(&server).await, ["application:carol"]);
}

#[in_memory(&[APPLY])]
async fn the_page_takes_applications_and_says_that_they_wait(server: Server) {
    server.register("alice").await;
    let visitor = server.visitor();
    let form = page(&visitor, "/register").await.form("/register");
    let form = form.with("username", "bob").with("password", PASSWORD).with(TEXT.0, TEXT.1);
    let answer = form.send(&visitor).await;
    assert!(!answer.headers.contains_key("set-cookie"));
    let shown = crate::html::Page::of(&answer);
    assert!(shown.content().contains("Your application has been sent to the moderators."));
    let login = page(&visitor, "/login").await.form("/login");
    let answer = login.with("username", "bob").with("password", PASSWORD).send(&visitor).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(crate::html::Page::of(&answer).alert().unwrap().contains("has not been answered yet"));
    // The text is for moderators.
    error_message(&visitor.get("/@bob").await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_answer_is_mailed_if_there_is_an_address() {
    let mut relay = SmtpServer::start().await;
    let server = Server::start(Engine::Memory, &[APPLY, ("mail.relay", &relay.relay())]).await;
    let alice = server.register("alice").await;
    for name in ["bob", "carol"] {
        let address = format!("{name}@example.org");
        ok(sign_up(&server.visitor(), name, &[TEXT, ("email", &address)]).await);
    }
    apply(&server, "dave").await;
    accept(&alice, "bob").await;
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["bob@example.org"]);
    assert!(mail.text().contains("your application was accepted"), "{}", mail.text());
    accept(&alice, "dave").await;
    reject(&alice, "carol", "We do not know you.").await;
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["carol@example.org"]);
    assert!(mail.text().contains("We do not know you."), "{}", mail.text());
    assert_eq!(relay.waiting(), 0);
}
