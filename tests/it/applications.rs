//! Applications: they wait, they are accepted or rejected, and what becomes of their names.

use reqwest::StatusCode;
use tidings_domain::Error;
use tidings_domain::accounts::applications::{self, Application};
use tidings_keyspace::Batch;
use tidings_web::signup_mail;

use crate::client::{Client, PASSWORD, ok, refused};
use crate::consistency;
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Engine, Server, each_engine};
use crate::signups::sign_up;
use crate::smtp_server::SmtpServer;

const APPLY: (&str, &str) = ("accounts.signup", "apply");
const TEXT: (&str, &str) = ("application", "I read a lot.\n\nAnd I write.");

/// What a moderator does: the decision, in a batch that is then committed.
async fn accept(server: &Server, username: &str) -> Result<Application, Error> {
    let mut batch = Batch::new();
    let application = applications::write_approval(&server.app.site, &mut batch, username).await?;
    server.store().commit(batch).await?;
    Ok(application)
}

async fn reject(server: &Server, username: &str, reason: &str) -> Result<Application, Error> {
    let mut batch = Batch::new();
    let (site, now) = (&server.app.site, server.app.now());
    let application = applications::write_rejection(site, &mut batch, now, (username, reason)).await?;
    server.store().commit(batch).await?;
    Ok(application)
}

async fn reopen(server: &Server, username: &str) -> Result<Application, Error> {
    let mut batch = Batch::new();
    let application = applications::write_reopening(&server.app.site, &mut batch, username).await?;
    server.store().commit(batch).await?;
    Ok(application)
}

/// Applies for an account.
async fn apply(server: &Server, username: &str) {
    let answer = ok(sign_up(&server.visitor(), username, &[TEXT]).await);
    assert_eq!(answer, serde_json::json!({"status": "ok", "pending": true}));
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

#[tokio::test]
async fn an_application_waits_in_the_queue_and_cannot_log_in() {
    each_engine(&[APPLY], async |server| {
        let alice = server.register("alice").await;
        apply(&server, "Bob").await;
        assert_eq!(waiting(&server).await, ["application:Bob"]);
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
        consistency::check(&server.dump().await);
    })
    .await;
}

#[tokio::test]
async fn an_accepted_applicant_logs_in_and_is_a_member_like_others() {
    each_engine(&[APPLY], async |server| {
        let alice = server.register("alice").await;
        apply(&server, "bob").await;
        let application = accept(&server, "BOB").await.unwrap();
        assert_eq!((&*application.username, &*application.text), ("bob", TEXT.1));
        assert!(waiting(&server).await.is_empty());
        let bob = server.visitor().log_in("bob", PASSWORD).await;
        assert!(is_seen(&alice, "bob").await);
        bob.submit_text("A story", "text").await;
        for again in [accept(&server, "bob").await, reject(&server, "bob", "no").await] {
            assert!(again.is_err(), "{again:?}");
        }
        assert!(bob.is_logged_in().await);
        consistency::check(&server.dump().await);
    })
    .await;
}

#[tokio::test]
async fn a_rejected_applicant_learns_the_reason_and_the_name_is_free() {
    each_engine(&[APPLY], async |server| {
        let alice = server.register("alice").await;
        apply(&server, "bob").await;
        reject(&server, "bob", "We do not know you.").await.unwrap();
        assert!(waiting(&server).await.is_empty());
        let error = refused(server.visitor().try_log_in("bob", PASSWORD).await);
        assert_eq!(error, "Your application was rejected: We do not know you.");
        assert!(!is_seen(&alice, "bob").await);
        consistency::check(&server.dump().await);
        // The name is free for another application, which replaces the account.
        apply(&server, "Bob").await;
        assert_eq!(waiting(&server).await, ["application:Bob"]);
        assert_eq!(server.string("username.to.id:bob").await.as_deref(), Some("3"));
        assert!(server.hash("user:2").await.is_empty());
        accept(&server, "bob").await.unwrap();
        server.visitor().log_in("bob", PASSWORD).await;
        consistency::check(&server.dump().await);
    })
    .await;
}

#[tokio::test]
async fn a_name_that_looks_like_a_rejected_one_is_free_too() {
    each_engine(&[APPLY], async |server| {
        server.register("alice").await;
        apply(&server, "boIt").await;
        assert!(refused(sign_up(&server.visitor(), "bolt", &[TEXT]).await).contains("looks too much"));
        reject(&server, "boIt", "no").await.unwrap();
        apply(&server, "bolt").await;
        // The rejected account has no name any more.
        assert_eq!(server.string("username.to.id:boit").await, None);
        apply(&server, "boot").await;
        consistency::check(&server.dump().await);
    })
    .await;
}

#[tokio::test]
async fn an_answer_can_be_undone() {
    each_engine(&[APPLY], async |server| {
        server.register("alice").await;
        apply(&server, "bob").await;
        let before = server.hash("user:2").await;
        reject(&server, "bob", "no").await.unwrap();
        reopen(&server, "bob").await.unwrap();
        assert_eq!(waiting(&server).await, ["application:bob"]);
        let after = server.hash("user:2").await;
        for (field, value) in &before {
            assert!(field == "apisecret" || after.get(field) == Some(value), "{field}: {after:?}");
        }
        assert_eq!(after.len(), before.len() + 1, "{after:?}");
        // An accepted account is logged out again.
        accept(&server, "bob").await.unwrap();
        let bob = server.visitor().log_in("bob", PASSWORD).await;
        reopen(&server, "bob").await.unwrap();
        assert_eq!(bob.get("/settings").await.status, StatusCode::SEE_OTHER);
        refused(server.visitor().try_log_in("bob", PASSWORD).await);
        assert!(reopen(&server, "bob").await.is_err());
        consistency::check(&server.dump().await);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_application_is_not_answered() {
    let server = Server::start(Engine::Memory, &[APPLY]).await;
    let alice = server.register("alice").await;
    apply(&server, "bob").await;
    accept(&server, "bob").await.unwrap();
    let bob = server.visitor().log_in("bob", PASSWORD).await;
    redirects_to(&bob.post("/settings/deactivate", &[("password", PASSWORD)]).await);
    let before = server.dump().await;
    for name in ["alice", "nobody", "", "bob"] {
        for answer in
            [accept(&server, name).await, reject(&server, name, "no").await, reopen(&server, name).await]
        {
            assert!(answer.is_err(), "{name}: {answer:?}");
        }
    }
    assert_eq!(server.dump().await, before);
    assert!(alice.is_logged_in().await);
}

#[tokio::test]
async fn the_page_takes_applications_and_says_that_they_wait() {
    let server = Server::start(Engine::Memory, &[APPLY]).await;
    server.register("alice").await;
    let visitor = server.visitor();
    let form = page(&visitor, "/register").await.form("/register");
    let form = form.with("username", "bob").with("password", PASSWORD).with(TEXT.0, TEXT.1);
    let answer = form.send(&visitor).await;
    assert_eq!(redirects_to(&answer), "/register?applied");
    assert!(!answer.headers.contains_key("set-cookie"));
    let shown = page(&visitor, "/register?applied").await;
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
    server.register("alice").await;
    for name in ["bob", "carol"] {
        let address = format!("{name}@example.org");
        ok(sign_up(&server.visitor(), name, &[TEXT, ("email", &address)]).await);
    }
    apply(&server, "dave").await;
    signup_mail::mail_answer(&server.app, &accept(&server, "bob").await.unwrap(), None);
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["bob@example.org"]);
    assert!(mail.text().contains("your application was accepted"), "{}", mail.text());
    let reason = "We do not know you.";
    signup_mail::mail_answer(&server.app, &accept(&server, "dave").await.unwrap(), None);
    signup_mail::mail_answer(&server.app, &reject(&server, "carol", reason).await.unwrap(), Some(reason));
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["carol@example.org"]);
    assert!(mail.text().contains(reason), "{}", mail.text());
    assert_eq!(relay.waiting(), 0);
}
