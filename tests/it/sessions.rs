//! Logging in, and the secrets of a session.

use crate::client::{PASSWORD, ok, refused};
use crate::server::{Server, each_engine, in_memory};

const WRONG: &str = "Wrong username or password.";

#[each_engine("one of its kind")]
async fn each_login_opens_a_session_with_the_secret_of_the_account(server: Server) {
    let alice = server.register("Alice").await;
    let again = server.visitor().log_in("alice", PASSWORD).await;
    assert_ne!(again.auth, alice.auth);
    assert_eq!(again.apisecret, alice.apisecret);
    let path = format!("/api/login?username=alice&password={}", PASSWORD.replace(' ', "+"));
    let answer = ok(server.visitor().api_get(&path).await);
    assert_ne!(answer["auth"].as_str(), alice.auth.as_deref());
    assert!(alice.is_logged_in().await && again.is_logged_in().await);
}

#[in_memory]
async fn an_unknown_user_and_a_wrong_password_get_the_same_answer(server: Server) {
    server.register("alice").await;
    server.member("imported").await;
    let before = server.dump().await;
    for (username, password) in [
        ("nobody", PASSWORD),
        ("alice", "wrong horse"),
        ("alice", ""),
        ("", ""),
        ("alice", "CORRECT HORSE"),
        ("alice", "correct horse "),
        ("alice\0", PASSWORD),
        ("imported", ""),
        ("imported", PASSWORD),
    ] {
        let answer = server.visitor().try_log_in(username, password).await;
        assert_eq!(refused(answer), WRONG, "{username:?} {password:?}");
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn an_action_needs_both_the_session_and_its_secret(server: Server) {
    let [alice, bob] = server.people(["alice", "bob"]).await;
    let news = alice.submit_text("One", "text").await;
    let before = server.dump().await;
    let with = |auth, apisecret| server.visitor().with_secrets(auth, apisecret);
    let (auth, secret) = (bob.auth.as_deref(), bob.apisecret.as_deref());
    let other_secret = alice.apisecret.as_deref();
    let unknown = "0".repeat(40);
    let no_session = "You must be logged in.";
    let no_secret = "The field apisecret is missing, or belongs to an earlier session.";
    for (client, expected) in [
        (with(None, None), no_session),
        (with(None, secret), no_session),
        (with(Some(&unknown), secret), no_session),
        (with(Some(""), secret), no_session),
        (with(secret, secret), no_session),
        (with(auth, None), no_secret),
        (with(auth, Some("")), no_secret),
        (with(auth, other_secret), no_secret),
    ] {
        let error = refused(client.vote(news, "up").await);
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(server.dump().await, before);
    ok(bob.vote(news, "up").await);
}

#[in_memory]
async fn an_empty_secret_is_never_accepted(server: Server) {
    let alice = server.member("alice").await;
    for erased in [true, false] {
        server.set_field("user:1", "apisecret", "").await;
        if erased {
            server.write(|batch| batch.delete_field("user:1", "apisecret")).await;
        }
        for secret in [None, Some(""), alice.apisecret.as_deref()] {
            assert!(!alice.with_secrets(alice.auth.as_deref(), secret).is_logged_in().await);
        }
    }
}

#[in_memory]
async fn an_account_without_a_secret_gets_one_at_login(server: Server) {
    server.register("alice").await;
    server.write(|batch| batch.delete_field("user:1", "apisecret")).await;
    let alice = server.visitor().log_in("alice", PASSWORD).await;
    assert!(alice.is_logged_in().await);
    let user = server.hash("user:1").await;
    assert_eq!(user.get("apisecret"), alice.apisecret.as_ref());
    assert_eq!(user.get("auth"), None);
}
