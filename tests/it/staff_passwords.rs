//! The passwords of moderators and administrators: longer than those of others.

use tidings_domain::accounts::account;
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::values::{NewPassword, UserId};

use crate::client::{Client, ok, refused, refused_saying};
use crate::html::Page;
use crate::server::{Server, in_memory};

/// Long enough for members alone.
const SHORT: &str = "staple-42-x";
const LONG: &str = "staple-42-battery";

async fn sign_up(server: &Server, name: &str, password: &str) -> serde_json::Value {
    server.visitor().call(&format!("/api/create_account?username={name}&password={password}")).await
}

/// Whether somebody's role lets them read the review queue.
async fn moderates(client: &Client) -> Result<(), String> {
    let answer = client.api_get("/api/moderate/queue").await;
    if answer["status"] == "ok" { Ok(()) } else { Err(refused(answer)) }
}

#[in_memory]
async fn a_new_role_counts_until_the_next_login_and_then_only_with_a_longer_password(server: Server) {
    ok(sign_up(&server, "alice", LONG).await);
    ok(sign_up(&server, "bob", SHORT).await);
    let (site, now) = (&server.app.site, server.app.now());
    roles::set_role(site, now, UserId(2), (GivenRole::Moderator, true)).await.unwrap();
    let before = server.client_of(2).await;
    moderates(&before).await.unwrap();
    let bob = server.visitor().log_in("bob", SHORT).await;
    for client in [&bob, &before] {
        let error = moderates(client).await.unwrap_err();
        assert!(error.contains("12 characters"), "{error}");
    }
    let page = Page::of(&bob.get("/").await);
    assert!(page.links_to("/settings/account#password"), "{}", page.content());
    // An operator, a page and a call ask for the same.
    let short = NewPassword::parse("another-42").unwrap();
    assert!(account::set_password(site, now, UserId(2), &short).await.is_err());
    let change = async |password| {
        bob.call(&format!("/api/updateprofile?current_password={SHORT}&password={password}&about=&email="))
            .await
    };
    refused_saying(change("another-42").await, "12 characters");
    ok(change(LONG).await);
    moderates(&server.visitor().log_in("bob", LONG).await).await.unwrap();
    assert_eq!(server.field("user:2", "role_password").await, None);
}

#[in_memory]
async fn a_long_password_and_a_role_from_before_are_left_alone(server: Server) {
    for (name, password) in [("alice", LONG), ("bob", LONG), ("carol", SHORT)] {
        ok(sign_up(&server, name, password).await);
    }
    let (site, now) = (&server.app.site, server.app.now());
    roles::set_role(site, now, UserId(2), (GivenRole::Administrator, true)).await.unwrap();
    assert_eq!(server.field("user:2", "role_password").await.as_deref(), Some("unknown"));
    moderates(&server.visitor().log_in("bob", LONG).await).await.unwrap();
    assert_eq!(server.field("user:2", "role_password").await, None);
    server.set_field("user:3", "flags", "m").await;
    moderates(&server.visitor().log_in("carol", SHORT).await).await.unwrap();
}
