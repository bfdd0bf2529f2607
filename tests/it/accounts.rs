//! Creating accounts, their profiles, and the karma of visiting.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tidings_domain::accounts::account::{CurrentPassword, EmailChange, Owner, ProfileChange, update_profile};
use tidings_domain::accounts::session_store::Device;
use tidings_domain::values::{About, NewPassword, PreferencesChange};
use tidings_domain::{Error, Refusal, Visit};
use tidings_keyspace::Expiry;

use crate::client::{Client, PASSWORD, ok, refused, refused_saying};
use crate::concurrency::at_once;
use crate::server::{Server, each_engine, in_memory};

const CREATION_LIMIT: (&str, &str) = ("limits.account_creation_seconds", "54000");
const BEHIND_A_PROXY: (&str, &str) = ("web.trusted_proxies", "127.0.0.0/8");
const LIMIT_KEY: &str = "limit:create_user:127.0.0.1";

async fn try_register(client: &Client, username: &str, password: &str) -> serde_json::Value {
    client.call(&format!("/api/create_account?username={username}&password={password}")).await
}

#[each_engine("keys")]
async fn an_account_is_stored_under_the_documented_keys_and_passwords_as_argon2id(server: Server) {
    let alice = server.register("Alice").await;
    let user = server.hash("user:1").await;
    let (auth, secret) = (alice.auth.clone().unwrap(), alice.apisecret.clone().unwrap());
    let now = server.now().to_string();
    for (field, expected) in [
        ("id", "1"),
        ("username", "Alice"),
        ("ctime", &now),
        ("karma", "1"),
        ("about", ""),
        ("email", ""),
        ("apisecret", &secret),
        ("karma_incr_time", &now),
    ] {
        assert_eq!(user.get(field).map(String::as_str), Some(expected), "{field}");
    }
    assert_eq!(server.string("username.to.id:alice").await.as_deref(), Some("1"));
    assert_eq!(server.string("users.count").await.as_deref(), Some("1"));
    // Only the hash of the token is stored.
    let hash = hex::encode(Sha256::digest(&auth));
    let session = server.hash(&format!("session:{hash}")).await;
    assert_eq!((&*session["user_id"], &session["since"], &session["last_seen"]), ("1", &now, &now));
    assert_eq!(server.sorted("user:1:sessions").await.len(), 1);
    assert!(!format!("{:?}", server.dump().await).contains(&auth));
    for secret in [&auth, &secret] {
        let is_token = secret.len() == 40 && secret.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        assert!(is_token, "{secret}");
    }
    assert_ne!(auth, secret);
    let first = server.field("user:1", "password").await.unwrap();
    let salt = server.field("user:1", "salt").await.unwrap();
    ok(alice.update_profile("", "", "a new password").await);
    let second = server.field("user:1", "password").await.unwrap();
    for hash in [&first, &second] {
        assert!(hash.starts_with("$argon2id$v=19$"), "{hash}");
    }
    assert_ne!(first, second);
    // For Lamer News, which cannot refuse a login without one.
    let salts = [salt, server.field("user:1", "salt").await.unwrap()];
    assert_ne!(salts[0], salts[1]);
    assert!(salts.iter().all(|salt| salt.len() >= 32 && salt.bytes().all(|b| b.is_ascii_hexdigit())));
}

#[in_memory]
async fn a_username_is_unique_in_any_case_and_has_a_letter_then_letters_digits_underscores_or_dashes_2_to_32_of_them(
    server: Server,
) {
    let visitor = server.visitor();
    let (longest, too_long) = ("x".repeat(32), "x".repeat(33));
    for good in ["ab", "A-_9z", "Zz", &longest] {
        ok(try_register(&visitor, good, PASSWORD).await);
    }
    let before = server.dump().await;
    let invalid = "|a|1ab|_ab|-ab|ab c| ab2|ab2 |ab\n|ab\nadmin|\nab2|ab\0|abé|\u{430}bc|<script>|a[b]|\
        ab\u{202e}";
    for bad in invalid.split('|').chain([&*too_long]) {
        let error = refused(try_register(&visitor, bad, PASSWORD).await);
        assert!(error.to_lowercase().contains("username"), "{bad:?}: {error}");
    }
    assert_eq!(server.dump().await, before);
    server.register("Alice").await;
    let before = server.dump().await;
    for taken in ["Alice", "alice", "ALICE", "aLiCe"] {
        let error = refused(try_register(&server.visitor(), taken, PASSWORD).await);
        assert_eq!(error, "This username is taken. Choose another.");
    }
    assert_eq!(server.dump().await, before);
    server.visitor().log_in("aLICE", PASSWORD).await;
}

#[in_memory]
async fn a_password_has_8_characters_at_least_and_1024_bytes_at_most(server: Server) {
    let visitor = server.visitor();
    let (longest, too_long) = ("é".repeat(512), "é".repeat(512) + "x");
    for (password, expected) in [
        ("", "Your password is too short (8 characters at least)."),
        ("1234567", "Your password is too short (8 characters at least)."),
        ("ééééééé", "Your password is too short (8 characters at least)."),
        (&too_long, "Your password is too long (1,024 bytes at most)."),
    ] {
        assert_eq!(refused(try_register(&visitor, "alice", password).await), expected);
    }
    assert!(server.dump().await.is_empty());
    // The first account is the administrator's.
    ok(try_register(&visitor, "root", PASSWORD).await);
    ok(try_register(&visitor, "alice", "éééééééé").await);
    ok(try_register(&visitor, "bob", &longest).await);
    visitor.log_in("bob", &longest).await;
}

#[in_memory(&[CREATION_LIMIT])]
async fn one_account_per_address_may_be_created_in_15_hours_whatever_a_stranger_says_about_its_address(
    server: Server,
) {
    let visitor = server.visitor().forwarded_for("203.0.113.1");
    visitor.register("alice").await;
    // It says that it is another address, which is not believed.
    assert_eq!(server.expiry(LIMIT_KEY).await, Expiry::In(Duration::from_secs(54_000)));
    let before = server.dump().await;
    refused_saying(try_register(&visitor, "bob", PASSWORD).await, "Try again in 15 hours,");
    server.advance(53_999);
    refused_saying(try_register(&visitor, "bob", PASSWORD).await, " 1 minute,");
    assert_eq!(server.dump().await, before);
    server.advance(1);
    visitor.register("bob").await;
    for claim in ["203.0.113.2", "::1", "nonsense", ""] {
        let client = server.visitor().forwarded_for(claim);
        refused(try_register(&client, "carol", PASSWORD).await);
    }
}

#[in_memory(&[CREATION_LIMIT, BEHIND_A_PROXY])]
async fn a_refused_registration_does_not_use_up_the_addresses_turn(server: Server) {
    server.visitor().forwarded_for("203.0.113.1").register("alice").await;
    let bob = server.visitor().forwarded_for("203.0.113.2");
    refused(try_register(&bob, "alice", PASSWORD).await);
    refused(try_register(&bob, "b b", PASSWORD).await);
    refused(try_register(&bob, "bob", "short").await);
    bob.register("bob").await;
    refused(try_register(&bob, "carol", PASSWORD).await);
}

#[in_memory(&[CREATION_LIMIT, BEHIND_A_PROXY])]
async fn behind_a_trusted_proxy_the_client_is_the_rightmost_untrusted_address(server: Server) {
    server.visitor().forwarded_for("198.51.100.7, 203.0.113.1, 127.0.0.2").register("alice").await;
    assert_ne!(server.expiry("limit:create_user:203.0.113.1").await, Expiry::Absent);
    let spoofed = server.visitor().forwarded_for("192.0.2.99, 203.0.113.1");
    refused(try_register(&spoofed, "bob", PASSWORD).await);
    server.visitor().forwarded_for("203.0.113.2").register("bob").await;
}

#[in_memory]
async fn a_profile_has_a_text_an_email_address_and_a_password_each_within_its_limits(server: Server) {
    let alice = server.register("alice").await;
    ok(alice.update_profile("I am\r\nAlice <b>", " alice@example.com ", "").await);
    let user = server.hash("user:1").await;
    assert_eq!((&*user["about"], &*user["email"]), ("I am\nAlice <b>", "alice@example.com"));
    assert!(alice.is_logged_in().await);
    ok(alice.update_profile("", "", "").await);
    let user = server.hash("user:1").await;
    assert_eq!((&*user["about"], &*user["email"]), ("", ""));
    server.visitor().log_in("alice", PASSWORD).await;
    let label = "b".repeat(60);
    let longest_email = format!("{}@{label}.{label}.{label}.example", "a".repeat(64));
    ok(alice.update_profile(&"é".repeat(4096), &longest_email, "").await);
    let before = server.dump().await;
    let (long_about, long_email) = ("x".repeat(4097), format!("{longest_email}s"));
    for (about, email, password, field) in [
        (&*long_about, "", "", "profile text"),
        ("bell \u{7}", "", "", "profile text"),
        ("new", &*long_email, "", "e-mail"),
        ("new", "alice", "", "e-mail"),
        ("new", "alice@example", "", "e-mail"),
        ("new", "a@b.c\r\nBcc: d@e.f", "", "e-mail"),
        ("new", "a@b.c,d@e.f", "", "e-mail"),
        ("new", "a@b.c", "short", "password"),
    ] {
        refused_saying(alice.update_profile(about, email, password).await, field);
    }
    assert_eq!(server.dump().await, before);
}

#[in_memory]
async fn fields_of_a_profile_form_cannot_set_other_fields_of_the_user(server: Server) {
    server.member("alice").await;
    let bob = server.member("bob").await;
    ok(bob.call("/api/updateprofile?about=x&email=&password=&flags=a&karma=1000&id=1").await);
    let user = server.hash("user:2").await;
    assert_eq!((&*user["flags"], &*user["karma"], &*user["id"]), ("", "1", "2"));
}

#[in_memory]
async fn an_hour_of_visiting_earns_one_karma(server: Server) {
    let alice = server.member("alice").await;
    assert_eq!(server.karma(&alice).await, 1);
    for (seconds, karma) in [(3_599, 1), (1, 2), (0, 2), (3_599, 2), (1, 3), (36_000, 4)] {
        server.advance(seconds);
        assert!(alice.is_logged_in().await);
        assert_eq!(server.karma(&alice).await, karma, "{}", server.now());
    }
    let rewarded = server.field("user:1", "karma_incr_time").await;
    assert_eq!(rewarded, Some(server.now().to_string()));
}

#[each_engine("races")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_visits_earn_their_karma_once(server: Server) {
    let alice = server.member("alice").await;
    for hour in 1..=5 {
        server.advance(3_600);
        at_once((0..64).map(|_| {
            let alice = alice.clone();
            async move { assert!(alice.is_logged_in().await) }
        }))
        .await;
        assert_eq!(server.karma(&alice).await, 1 + hour);
    }
}

#[in_memory]
async fn a_profile_change_from_a_session_that_has_ended_changes_nothing(server: Server) {
    let alice = server.register("alice").await;
    // The request has been let in, and then the owner logs out.
    let mut visit = Visit::new(server.app.site.clone(), server.app.now(), alice.auth.as_deref());
    let user = &visit.viewer().await.unwrap().unwrap().clone();
    let device = &Device::new("", [127, 0, 0, 1].into());
    let owner = Owner { user, session: visit.session().unwrap(), device };
    ok(alice.post("/api/logout", &[]).await.json());
    let before = server.dump().await;
    for password in [None, Some(NewPassword::parse("a thief's password").unwrap())] {
        let change = ProfileChange {
            about: Some(About::parse("taken over").unwrap()),
            email: EmailChange::To(None),
            password,
            fullname: None,
            tweet_news: None,
            gravatar: None,
            preferences: PreferencesChange::default(),
            current_password: CurrentPassword(Some(PASSWORD.to_owned())),
        };
        let refused = update_profile(&server.app.site, server.app.now(), owner, &change).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(Refusal::SessionEnded)), "{refused}");
    }
    assert_eq!(server.dump().await, before);
    server.visitor().log_in("alice", PASSWORD).await;
}
