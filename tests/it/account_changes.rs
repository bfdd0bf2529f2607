//! Changing the password and the e-mail address: the current password, who hears of it, and
//! what ends.

use reqwest::StatusCode;
use reqwest::header::SET_COOKIE;
use serde_json::Value;

use crate::client::{Client, PASSWORD, ok, refused, refused_saying};
use crate::forms::{site_with_mail, site_with_mail_on};
use crate::mails::send_all;
use crate::server::{Engine, Server, in_memory};
use crate::smtp_server::ReceivedMessage;

const NEW_PASSWORD: &str = "battery staple";

/// The answer to a change. `None` sends no current password.
async fn change(client: &Client, email: &str, password: &str, current: Option<&str>) -> Value {
    let mut fields = vec![("about", "About"), ("email", email), ("password", password)];
    fields.extend(current.map(|current| ("current_password", current)));
    client.api_post("/api/updateprofile", &fields).await
}

#[in_memory]
async fn a_new_password_or_address_needs_the_current_password_and_nothing_else_does(server: Server) {
    let alice = server.register("alice").await;
    ok(change(&alice, "alice@example.org", "", Some(PASSWORD)).await);
    let before = server.dump().await;
    for (email, password) in [
        ("new@example.org", ""),
        ("", ""),
        ("ALICE@example.org", ""),
        ("alice@example.org", NEW_PASSWORD),
        ("alice@example.org", PASSWORD),
    ] {
        for current in [None, Some(""), Some("wrong horse"), Some(NEW_PASSWORD)] {
            let error = refused(change(&alice, email, password, current).await);
            assert!(error.contains("password"), "{email} {password} {current:?}: {error}");
        }
    }
    assert_eq!(server.dump().await, before);
    // A value that stays the same needs no password, and a password that is not needed is not checked.
    for current in [None, Some(""), Some("wrong horse")] {
        ok(change(&alice, "alice@example.org", "", current).await);
    }
    ok(change(&alice, "", "", Some(PASSWORD)).await);
    assert_eq!(server.field("user:1", "email").await.as_deref(), Some(""));
    assert!(alice.is_logged_in().await);
    ok(change(&alice, "", NEW_PASSWORD, Some(PASSWORD)).await);
    server.visitor().log_in("alice", NEW_PASSWORD).await;
}

#[in_memory(&[("rates.failed_login_per_address", "2/1m")])]
async fn a_wrong_current_password_counts_as_a_failed_login(server: Server) {
    let alice = server.register("alice").await;
    for _ in 0..2 {
        refused(change(&alice, "new@example.org", "", Some("wrong horse")).await);
    }
    let fields = [("about", ""), ("email", "new@example.org"), ("current_password", PASSWORD)];
    let answer = alice.post("/api/updateprofile", &fields).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    refused_saying(serde_json::from_slice(&answer.body).unwrap(), "Too many failed logins");
}

#[in_memory(&[("site.url", "https://news.example.com")])]
async fn a_new_password_ends_all_sessions_and_opens_a_new_one(server: Server) {
    let alice = server.register("alice").await;
    let elsewhere = server.visitor().log_in("alice", PASSWORD).await;
    let fields = [("about", ""), ("email", ""), ("password", NEW_PASSWORD), ("current_password", PASSWORD)];
    let answer = alice.post("/api/updateprofile", &fields).await;
    let cookie = answer.headers[SET_COOKIE].to_str().unwrap();
    let token = cookie.strip_prefix("__Host-auth=").unwrap().split(';').next().unwrap();
    let new = server.visitor().with_secrets(Some(token), None);
    for old in [&alice, &elsewhere] {
        assert_eq!(old.api_get("/api/sessions").await["status"], "err");
    }
    let listed = ok(new.api_get("/api/sessions").await)["sessions"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["current"], true);
    assert_ne!(server.field("user:1", "apisecret").await, alice.apisecret);
    refused(server.visitor().try_log_in("alice", PASSWORD).await);
}

#[track_caller]
fn check_notice(mail: &ReceivedMessage, to: &str, subject: &str) {
    assert_eq!(mail.to, [to]);
    assert!(mail.header("Subject").unwrap().contains(subject), "{}", mail.data);
    for secret in [PASSWORD, NEW_PASSWORD, "new@example.org"] {
        assert!(!mail.text().contains(secret), "{secret} in {}", mail.text());
    }
}

#[tokio::test]
async fn both_addresses_hear_of_a_new_address_and_the_owner_of_a_new_password() {
    let (server, mut relay, alice) = site_with_mail().await;
    ok(change(&alice, "new@example.org", "", Some(PASSWORD)).await);
    check_notice(&relay.next_message().await, "alice@example.org", "e-mail address");
    check_notice(&relay.next_message().await, "new@example.org", "e-mail address");
    // The address before the change hears of the password, too.
    ok(change(&alice, "alice@example.org", NEW_PASSWORD, Some(PASSWORD)).await);
    check_notice(&relay.next_message().await, "new@example.org", "password");
    check_notice(&relay.next_message().await, "new@example.org", "e-mail address");
    check_notice(&relay.next_message().await, "alice@example.org", "e-mail address");
    // A reset is a change, too.
    ok(server.visitor().call("/api/reset-password?username=alice&email=alice@example.org").await);
    let text = relay.next_message().await.text();
    let link = text.lines().find_map(|line| line.split_once("/reset-password/")).unwrap().1.to_owned();
    let path = format!("/reset-password/{link}");
    assert_eq!(server.visitor().post(&path, &[("password", PASSWORD)]).await.status, 200);
    check_notice(&relay.next_message().await, "alice@example.org", "password");
}

#[tokio::test]
async fn a_notice_waits_for_a_relay_that_is_away_and_20_a_day_are_sent() {
    for engine in [Engine::Memory, Engine::Redis] {
        let (server, mut relay, alice) = site_with_mail_on(engine).await;
        relay.refuse(true);
        ok(change(&alice, "alice@example.org", NEW_PASSWORD, Some(PASSWORD)).await);
        let waits = server.sorted("mail:outbox").await;
        assert!(waits.iter().any(|(mail, _)| mail.starts_with("notice:1:password-")), "{waits:?}");
        send_all(&server).await;
        assert!(relay.refused() >= 1 && relay.waiting() == 0);
        relay.refuse(false);
        server.advance(61);
        send_all(&server).await;
        check_notice(&relay.next_message().await, "alice@example.org", "password");
        assert!(
            server.sorted("mail:outbox").await.is_empty() && server.sorted("mail:written").await.is_empty()
        );

        server
            .write(|batch| {
                for number in 0..25 {
                    let mail = format!("notice:1:passkey_added-{number}-alice@example.org");
                    for key in ["mail:outbox", "mail:written"] {
                        batch.sorted_add(key, &mail, f64::from(number));
                    }
                }
            })
            .await;
        send_all(&server).await;
        // One was sent before.
        assert_eq!(relay.waiting(), 19);
    }
}
