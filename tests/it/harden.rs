//! Passwords of the original: blanks around them, and hashes that are wrapped until their
//! owners come.

use std::sync::atomic::{AtomicU64, Ordering};

use tidings_domain::accounts::harden::{Hardened, harden};

use crate::client::{PASSWORD, refused};
use crate::original::{self, ACCOUNTS, LEGACY_SALT};
use crate::program::{succeed, tidings};
use crate::redis_commands::RedisCommands;
use crate::server::{Batch, Server, in_memory};

const SALT: (&str, &str) = ("accounts.legacy_salt", LEGACY_SALT);

async fn imported_site() -> Server {
    Server::on_redis(original::database().await, &[SALT]).await
}

async fn password(server: &Server, id: u64) -> String {
    server.field(&format!("user:{id}"), "password").await.unwrap()
}

#[tokio::test]
async fn hardening_wraps_every_weak_hash_once_and_the_owners_do_not_notice() {
    let server = imported_site().await;
    let url = server.redis.as_ref().unwrap().url();
    server.register("dave").await;
    let before = server.dump().await;
    let dave = password(&server, 4).await;
    let text = succeed(&["user", "harden", "--store", &url]);
    assert!(text.contains("4 accounts checked; protected 3 weak passwords"), "{text}");
    for id in 1..=3 {
        let hash = password(&server, id).await;
        assert!(hash.starts_with("old-digest:$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    }
    assert_eq!(password(&server, 4).await, dave);
    let after = server.dump().await;
    // The command also brings the store to the present layout.
    let is_changed = |key: &&String| {
        key.starts_with("user:") && !key.ends_with(":gone_comments") && before.get(*key) != after.get(*key)
    };
    let changed: Vec<&String> = after.keys().filter(is_changed).collect();
    assert_eq!(changed, ["user:1", "user:2", "user:3"]);
    for id in [1, 3] {
        let key = format!("user:{id}");
        let salt = |dump| crate::consistency::hash(dump, &key).get("salt").cloned();
        assert_eq!(salt(&after), salt(&before));
    }
    let text = succeed(&["user", "harden", "--store", &url]);
    assert!(text.contains("4 accounts checked; protected 0 weak passwords"), "{text}");
    assert_eq!(server.dump().await, after);

    for (id, (username, clear)) in (1..).zip(ACCOUNTS) {
        let wrapped = password(&server, id).await;
        for wrong in ["", "wrong", &clear.to_uppercase(), &wrapped] {
            refused(server.visitor().try_log_in(username, wrong).await);
        }
        assert_eq!(password(&server, id).await, wrapped);
        assert!(server.visitor().log_in(username, clear).await.is_logged_in().await);
        let hash = password(&server, id).await;
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        server.visitor().log_in(username, clear).await;
        assert_eq!(password(&server, id).await, hash);
    }
}

#[in_memory(&[SALT])]
async fn hardening_continues_where_it_was_interrupted(server: Server) {
    let digest = |id: u64| format!("{id:040x}");
    let mut batch = Batch::new();
    batch.set("users.count", "120");
    for id in 1..=120 {
        batch.set_fields(format!("user:{id}"), [("id", id.to_string()), ("password", digest(id))]);
    }
    server.commit(batch).await;
    let site = server.app.site.clone();
    let reported = std::sync::Arc::new(AtomicU64::new(0));
    let seen = reported.clone();
    let running =
        tokio::spawn(async move { harden(&site, |done| seen.store(done.wrapped, Ordering::SeqCst)).await });
    while reported.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    running.abort();
    running.await.ok();
    let wrapped = reported.load(Ordering::SeqCst);
    let last = std::sync::Mutex::new(Hardened::default());
    let done = harden(&server.app.site, |done| *last.lock().unwrap() = done).await.unwrap();
    assert_eq!(done, *last.lock().unwrap());
    assert_eq!(done.checked, 120);
    // A batch that was being committed when the first run was stopped may have been applied.
    assert!((1..=120 - wrapped).contains(&done.wrapped), "{wrapped} and {}", done.wrapped);
    for id in 1..=120 {
        assert!(password(&server, id).await.starts_with("old-digest:"), "user {id}");
    }
}

#[tokio::test]
async fn hardening_on_the_embedded_store_needs_the_server_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("redb:{}", folder.path().join("site.redb").display());
    let open =
        tidings_keyspace::Store::open(&store, &tidings_keyspace::StoreOptions::default()).await.unwrap();
    let text = tidings(&["user", "harden", "--store", &store]).failed(1);
    assert!(text.contains("stop that process"), "{text}");
    open.close().await;
    let text = succeed(&["user", "harden", "--store", &store]);
    assert!(text.contains("0 accounts checked"), "{text}");
}

#[tokio::test]
async fn blanks_around_a_password_are_forgiven_to_accounts_of_the_original_only() {
    let server = imported_site().await;
    for (username, clear) in ACCOUNTS {
        let typed = (format!(" {username}\t"), format!("\n {clear} "));
        assert!(server.visitor().log_in(&typed.0, &typed.1).await.is_logged_in().await, "{username}");
        // The hash is now ours, and its owner still types what worked there.
        server.visitor().log_in(username, clear).await;
        server.visitor().log_in(&typed.0, &typed.1).await;
        refused(server.visitor().try_log_in(username, &format!("{clear}x")).await);
    }
    // A password that was typed here is what was typed.
    let (username, clear) = ACCOUNTS[2];
    let carol = server.visitor().log_in(username, clear).await;
    let change = async |password| {
        carol
            .call(&format!("/api/updateprofile?about=&email=&password={password}&current_password={clear}"))
            .await
    };
    refused(change("short").await);
    crate::client::ok(change("battery staple ").await);
    refused(server.visitor().try_log_in(username, "battery staple").await);
    server.visitor().log_in(username, "battery staple ").await;
    server.register("dave").await;
    refused(server.visitor().try_log_in("dave", "correct horse ").await);
}

#[tokio::test]
async fn blanks_around_a_name_are_forgiven_to_every_account() {
    let server = imported_site().await;
    server.register("dave").await;
    let (username, clear) = ACCOUNTS[2];
    let carol = server.visitor().log_in(username, clear).await;
    let fields = [("about", ""), ("email", ""), ("password", "battery staple"), ("current_password", clear)];
    crate::client::ok(carol.api_post("/api/updateprofile", &fields).await);
    for (username, password) in [("dave", PASSWORD), (username, "battery staple")] {
        for typed in [format!(" {username}"), format!("{username}\t\r\n"), format!("  {username} ")] {
            server.visitor().log_in(&typed, password).await;
            refused(server.visitor().try_log_in(&typed, &format!("{password} ")).await);
        }
        refused(server.visitor().try_log_in(&format!("{username} x"), password).await);
    }
    refused(server.visitor().try_log_in(" nobody ", PASSWORD).await);
}

#[tokio::test]
async fn a_new_session_of_a_deactivated_account_is_refused_here_and_at_lamer_news() {
    let server = imported_site().await;
    let redis = server.redis.as_ref().unwrap();
    let mut redis = RedisCommands::connect(redis).await;
    let dave = server.register("dave").await;
    assert_eq!(dave.post("/settings/deactivate", &[("password", PASSWORD)]).await.status, 303);
    let user = redis.hash("user:4").await;
    // The fields that Lamer News reads to show a user, and to refuse a login.
    assert_eq!(user["username"], "[deleted user]");
    for (field, empty) in
        [("password", true), ("auth", true), ("email", true), ("salt", false), ("karma", false)]
    {
        assert_eq!(user[field].is_empty(), empty, "{field}");
    }
    let auth = dave.auth.clone().unwrap();
    assert_eq!(redis.run::<i64>(&["EXISTS", &format!("auth:{auth}")]).await, 0);
    assert_eq!(server.visitor().get("/@dave").await.status, 404);
    refused(server.visitor().try_log_in("dave", PASSWORD).await);
    // An account of an earlier version has no name any more.
    redis.run::<i64>(&["HDEL", "user:4", "username", "salt"]).await;
    server.clear_caches().await;
    assert_eq!(server.visitor().get("/@dave").await.status, 404);
    refused(server.visitor().try_log_in("dave", PASSWORD).await);
}
