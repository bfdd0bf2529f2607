//! Roles by groups of the provider.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::values::UserId;

use super::{Place, claims};
use crate::client::{Client, ok};
use crate::html::Page;
use crate::pages::page;

const GROUPS: [(&str, &str); 2] = [("oidc.administrators", "staff"), ("oidc.moderators", "helpers, wardens")];

async fn is_moderator(client: &Client) -> bool {
    client.api_get("/api/moderate/queue").await["status"] == "ok"
}

/// Logs bob in, with groups.
async fn bob_in(place: &Place, groups: Value) -> Client {
    place.provider.set_account("bob", claims("bob", json!({ "groups": groups }))).await;
    let (bob, _) = place.log_in("bob").await;
    bob.client().await
}

/// A site with an administrator and bob, who has an account and no groups.
async fn site_of_bob(settings: &[(&str, &str)]) -> Option<(Place, Client)> {
    let place = Place::start(settings).await?;
    let administrator = place.server.register("admin").await;
    place.member("bob", claims("bob", json!({}))).await;
    Some((place, administrator))
}

#[tokio::test]
async fn groups_give_and_take_roles_at_each_login() {
    let Some((place, administrator)) = site_of_bob(&GROUPS).await else { return };
    for (groups, flags) in [
        (json!(["others"]), ""),
        (json!(["helpers"]), "m"),
        (json!(["wardens", "others"]), "m"),
        (json!(["staff"]), "a"),
        (json!([]), ""),
        (json!(["Helpers", "staffs"]), ""),
        (json!(["helpers"]), "m"),
        (json!(null), ""),
    ] {
        let client = bob_in(&place, groups.clone()).await;
        let found = place.flags(client.user_id).await;
        let has = |flag: char| found.contains(flag);
        assert_eq!(has('a'), flags == "a", "{groups}: {found}");
        assert_eq!(has('m') || has('a'), !flags.is_empty(), "{groups}: {found}");
        assert_eq!(is_moderator(&client).await, !flags.is_empty(), "{groups}");
    }
    let log = page(&administrator, "/moderations").await;
    let count = |text: &str| log.text().matches(text).count();
    assert!(count("sign-in service") >= 6, "{}", log.text());
}

#[tokio::test]
async fn a_role_that_is_lost_ends_in_all_sessions() {
    let Some((place, _)) = site_of_bob(&GROUPS).await else { return };
    let before = bob_in(&place, json!(["helpers"])).await;
    assert!(is_moderator(&before).await);
    let after = bob_in(&place, json!([])).await;
    for client in [&before, &after] {
        assert!(!is_moderator(client).await);
    }
}

#[tokio::test]
async fn a_role_given_by_hand_stays() {
    let Some((place, _)) = site_of_bob(&GROUPS).await else { return };
    let now = place.server.app.now();
    roles::set_role(&place.server.app.site, now, UserId(2), (GivenRole::Moderator, true)).await.unwrap();
    assert!(is_moderator(&bob_in(&place, json!([])).await).await);
    assert!(is_moderator(&bob_in(&place, json!(["helpers"])).await).await);
    assert!(is_moderator(&bob_in(&place, json!([])).await).await);
    // Both are there, and one goes.
    let client = bob_in(&place, json!(["staff"])).await;
    assert!(place.flags(client.user_id).await.contains('a'));
    let client = bob_in(&place, json!([])).await;
    assert!(!place.flags(client.user_id).await.contains('a'));
    assert!(is_moderator(&client).await);
}

#[tokio::test]
async fn the_last_administrator_keeps_the_role() {
    let Some((place, _)) = site_of_bob(&GROUPS).await else { return };
    let bob = bob_in(&place, json!(["staff"])).await;
    let set = async |has: bool| {
        let (id, now) = (UserId(1), place.server.app.now());
        roles::set_role(&place.server.app.site, now, id, (GivenRole::Administrator, has)).await.unwrap();
    };
    set(false).await;
    bob_in(&place, json!([])).await;
    assert!(place.flags(bob.user_id).await.contains('a'));
    assert!(is_moderator(&bob).await);
    // With another one, the next login takes it.
    set(true).await;
    bob_in(&place, json!([])).await;
    assert!(!place.flags(bob.user_id).await.contains('a'));
}

#[tokio::test]
async fn without_lists_of_groups_no_group_gives_a_role() {
    let Some((place, _)) = site_of_bob(&[]).await else { return };
    for groups in [json!(["staff", "helpers", "administrators", ""]), json!("staff")] {
        assert!(!is_moderator(&bob_in(&place, groups).await).await);
    }
}

#[tokio::test]
async fn another_claim_can_name_the_groups() {
    let settings = [GROUPS[0], GROUPS[1], ("oidc.groups_claim", "roles")];
    let Some((place, _)) = site_of_bob(&settings).await else { return };
    assert!(!is_moderator(&bob_in(&place, json!(["helpers"])).await).await);
    place.provider.set_account("bob", claims("bob", json!({ "roles": ["helpers"] }))).await;
    let (bob, _) = place.log_in("bob").await;
    assert!(is_moderator(&bob.client().await).await);
}

#[tokio::test]
async fn a_role_of_groups_ends_with_the_connection() {
    let Some((place, _)) = site_of_bob(&GROUPS).await else { return };
    let bob = bob_in(&place, json!(["helpers"])).await;
    assert!(is_moderator(&bob).await);
    // Another way to log in.
    place.server.set_field("user:2", "password", "-").await;
    assert!(bob.post("/oidc/disconnect", &[]).await.status.is_redirection());
    assert!(!is_moderator(&place.server.client_of(2).await).await);
}

#[tokio::test]
async fn whoever_is_banned_is_not_logged_in_and_can_appeal() {
    let Some((place, administrator)) = site_of_bob(&[]).await else { return };
    ok(administrator.moderate("ban", ("user", "bob"), &[]).await);
    let (mut bob, answer) = place.log_in("bob").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    assert!(!bob.is_logged_in());
    let page_of_banned = Page::of(&answer);
    assert!(page_of_banned.find("input", &[("type", "password")]).is_empty(), "{}", page_of_banned.text());
    let sent = bob.send(&page_of_banned.form("/appeal").with("text", "I will be kind.")).await;
    assert!(!sent.status.is_client_error() && !bob.is_logged_in(), "{sent:?}");
    let written = bob.send(&page_of_banned.form("/messages").with("text", "I want to talk.")).await;
    assert!(!written.status.is_client_error(), "{written:?}");
    let queue = page(&administrator, "/moderate").await;
    assert!(queue.text().contains("I want to talk."), "{}", queue.text());
    assert!(queue.text().contains("I will be kind."), "{}", queue.text());
}
