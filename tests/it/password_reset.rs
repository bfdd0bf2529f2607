//! Setting a new password with a link sent by mail.

use std::time::Duration;

use reqwest::StatusCode;

use tidings_domain::accounts::password_reset::{check_link, set_new_password};
use tidings_domain::values::NewPassword;
use tidings_keyspace::Expiry;

use crate::client::{Client, PASSWORD, ok, refused, refused_saying};
use crate::first_visits::sign_up;
use crate::html::Page;
use crate::pages::{error_message, page, redirects_to};
use crate::server::{Engine, Server, in_memory};
use crate::smtp_server::SmtpServer;
use tidings_web::error::in_english;

const SITE: &str = "https://news.example.com";
const NEW_PASSWORD: &str = "battery staple";

/// A site with a mail relay, and an account `alice` with an address.
async fn site_with_mail() -> (Server, SmtpServer) {
    let mut relay = SmtpServer::start().await;
    let settings = [("mail.relay", &*relay.relay()), ("mail.from", "news@example.com"), ("site.url", SITE)];
    let server = Server::start(Engine::Memory, &settings).await;
    ok(server.register("alice").await.update_profile("", "alice@example.org", "").await);
    // It tells of the new address.
    relay.next_message().await;
    (server, relay)
}

async fn ask(server: &Server, username: &str, email: &str) {
    ok(server.visitor().call(&format!("/api/reset-password?username={username}&email={email}")).await);
}

/// The token in the next mail, which must be for alice.
async fn mailed_token(relay: &mut SmtpServer) -> String {
    let mail = relay.next_message().await;
    assert_eq!(mail.to, ["alice@example.org"]);
    let text = mail.text();
    let prefix = format!("{SITE}/reset-password/");
    let link = text.lines().find(|line| line.starts_with(&prefix)).expect("a line with the link");
    link[prefix.len()..].to_owned()
}

/// A site with a mail relay, and the token of a mail to alice.
async fn site_with_link() -> (Server, SmtpServer, String) {
    let (server, mut relay) = site_with_mail().await;
    ask(&server, "alice", "alice@example.org").await;
    let token = mailed_token(&mut relay).await;
    (server, relay, token)
}

async fn use_link(server: &Server, token: &str) -> Result<(), String> {
    let password = NewPassword::parse(NEW_PASSWORD).unwrap();
    set_new_password(&server.app.site, server.app.now(), token, &password)
        .await
        .map(drop)
        .map_err(|error| in_english(&error))
}

async fn count_links(server: &Server) -> usize {
    server.dump().await.keys().filter(|key| key.starts_with("password_reset:")).count()
}

#[tokio::test]
async fn the_mailed_link_sets_a_new_password_once_and_ends_the_sessions() {
    let (server, mut relay) = site_with_mail().await;
    let alice = server.visitor().log_in("alice", PASSWORD).await;
    ask(&server, "ALICE", " Alice@Example.org ").await;
    let token = mailed_token(&mut relay).await;
    assert_eq!(token.len(), 40);
    assert_ne!(Some(&token), alice.auth.as_ref());
    assert!(alice.is_logged_in().await);

    use_link(&server, &token).await.unwrap();
    assert!(!alice.is_logged_in().await);
    refused(server.visitor().try_log_in("alice", PASSWORD).await);
    server.visitor().log_in("alice", NEW_PASSWORD).await;
    assert!(use_link(&server, &token).await.unwrap_err().contains("no longer valid"));
    assert_eq!(count_links(&server).await, 0);
}

#[tokio::test]
async fn of_concurrent_uses_of_one_link_one_succeeds() {
    let (server, _relay, token) = site_with_link().await;
    let (first, second, third) =
        tokio::join!(use_link(&server, &token), use_link(&server, &token), use_link(&server, &token));
    let outcomes = [first, second, third];
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let refusals: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(refusals.iter().all(|refusal| refusal.contains("no longer valid")), "{refusals:?}");
}

#[tokio::test]
async fn the_link_ends_when_the_password_changes() {
    let (server, _relay, token) = site_with_link().await;
    let alice = server.visitor().log_in("alice", PASSWORD).await;
    ok(alice.update_profile("", "alice@example.org", "another password").await);
    assert!(check_link(&server.app.site, &token).await.is_err());
    assert!(use_link(&server, &token).await.unwrap_err().contains("no longer valid"));
    server.visitor().log_in("alice", "another password").await;
}

#[tokio::test]
async fn the_link_ends_when_the_address_changes() {
    let (server, _relay, token) = site_with_link().await;
    let alice = server.visitor().log_in("alice", PASSWORD).await;
    // Other changes leave it as it is.
    ok(alice.update_profile("About me", "alice@example.org", "").await);
    check_link(&server.app.site, &token).await.unwrap();
    ok(alice.update_profile("", "new@example.org", "").await);
    assert!(check_link(&server.app.site, &token).await.is_err());
    assert!(use_link(&server, &token).await.unwrap_err().contains("no longer valid"));
    // It stays so when the address is changed back.
    ok(alice.update_profile("", "alice@example.org", "").await);
    assert!(check_link(&server.app.site, &token).await.is_err());
    server.visitor().log_in("alice", PASSWORD).await;
}

#[tokio::test]
async fn the_link_expires_after_an_hour() {
    let (server, _relay, token) = site_with_link().await;
    let key = format!("password_reset:{token}");
    assert_eq!(server.expiry(&key).await, Expiry::In(Duration::from_secs(3_600)));
    server.advance(3_599);
    check_link(&server.app.site, &token).await.unwrap();
    server.advance(1);
    assert!(use_link(&server, &token).await.is_err());
    server.visitor().log_in("alice", PASSWORD).await;
}

#[tokio::test]
async fn a_user_gets_one_mail_in_24_hours() {
    let (server, mut relay, first) = site_with_link().await;
    assert_eq!(server.field("user:1", "pwd_reset").await, Some(server.now().to_string()));
    server.advance(86_399);
    ask(&server, "alice", "alice@example.org").await;
    assert_eq!(count_links(&server).await, 0);
    server.advance(1);
    ask(&server, "alice", "alice@example.org").await;
    assert_ne!(mailed_token(&mut relay).await, first);
}

#[tokio::test]
async fn the_answer_does_not_tell_whether_user_and_address_belong_together() {
    let (server, mut relay) = site_with_mail().await;
    server.register("bob").await;
    let visitor = server.visitor();
    let form = page(&visitor, "/reset-password").await.form("/reset-password");
    let told = async |username: &str, email: &str| {
        let answer = form.clone().with("username", username).with("email", email).send(&visitor).await;
        let mut headers = answer.headers.clone();
        for changes in ["date", "x-request-id"] {
            headers.remove(changes);
        }
        assert!(Page::of(&answer).links_to("/moderators"));
        (answer.status, headers, answer.text())
    };
    let known = told("alice", "alice@example.org").await;
    mailed_token(&mut relay).await;
    assert_eq!(told("alice", "alice@example.org").await, known);
    let before = server.dump().await;
    for (username, email) in [
        ("alice", "bob@example.org"),
        ("bob", "alice@example.org"),
        ("bob", ""),
        ("nobody", "alice@example.org"),
        ("", ""),
    ] {
        ask(&server, username, email).await;
        assert_eq!(told(username, email).await, known, "{username} {email}");
    }
    ask(&server, "alice", "alice@example.org\r\nBcc: eve@example.org").await;
    // Without a stored token no mail can have a link.
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn the_link_is_made_from_the_configured_address_and_not_from_the_requests_headers() {
    let (server, mut relay) = site_with_mail().await;
    let liar = server
        .visitor()
        .with_header("host", "192.0.2.66")
        .with_header("x-forwarded-host", "evil.example")
        .with_header("x-forwarded-proto", "ftp");
    ok(liar.call("/api/reset-password?username=alice&email=alice@example.org").await);
    mailed_token(&mut relay).await;
    // A reset may be asked for with GET as well.
    server.advance(86_400);
    ok(server.visitor().api_get("/api/reset-password?username=alice&email=alice%40example.org").await);
    mailed_token(&mut relay).await;
}

#[in_memory]
async fn without_a_relay_call_and_page_say_so_and_nothing_happens(server: Server) {
    ok(server.register("alice").await.update_profile("", "alice@example.org", "").await);
    let before = server.dump().await;
    let visitor = server.visitor();
    let fields = [("username", "alice"), ("email", "alice@example.org")];
    refused_saying(visitor.api_post("/api/reset-password", &fields).await, "can't send mail");
    let asked = page(&visitor, "/reset-password").await;
    assert!(asked.content().contains("can't send mail") && asked.forms().is_empty());
    let answer = visitor.post("/reset-password", &fields).await;
    assert!(error_message(&answer, StatusCode::FORBIDDEN).contains("can't send mail"));
    assert_eq!(server.dump().await, before);
}

#[tokio::test]
async fn an_address_is_asked_for_at_sign_up_and_until_it_is_put_away() {
    let (server, mut relay) = site_with_mail().await;
    let asks = async |client: &Client| {
        let welcome = page(client, "/welcome").await;
        welcome.content().contains("Do you want to add an e-mail address?").then_some(welcome)
    };
    let visitor = server.visitor();
    let form = page(&visitor, "/register").await.form("/register");
    assert_eq!(form.value("email"), Some(""));
    ok(visitor
        .call(&format!("/api/create_account?username=dave&password={PASSWORD}&email=dave@example.org"))
        .await);
    ask(&server, "dave", "dave@example.org").await;
    while !relay.next_message().await.text().contains("/reset-password/") {}

    let (_, bob) = sign_up(&server, "/register", "bob").await;
    let forms = asks(&bob).await.expect("a question").forms();
    let add = forms.iter().find(|form| form.value("email").is_some()).unwrap().clone();
    let add = add.with("email", "bob@example.org");
    let refused = Page::of(&add.clone().with("current_password", "wrong horse").send(&bob).await);
    assert_eq!(refused.heading(), page(&bob, "/welcome").await.heading());
    let put_away = forms.into_iter().find(|form| form.has_button("1")).unwrap().pressing("1");
    assert!(redirects_to(&put_away.send(&bob).await).starts_with("/welcome"));
    assert!(asks(&bob).await.is_none());

    let (_, carol) = sign_up(&server, "/register", "carol").await;
    let forms = asks(&carol).await.expect("a question").forms();
    let add = forms.into_iter().find(|form| form.value("email").is_some()).unwrap();
    let add = add.with("email", "carol@example.org").with("current_password", PASSWORD);
    assert!(redirects_to(&add.send(&carol).await).starts_with("/welcome"));
    assert!(asks(&carol).await.is_none());
}
