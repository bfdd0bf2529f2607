//! The provider says that somebody has logged out.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{ALICE, Place, alice, claims, demand_refused};
use crate::oidc_provider::Signature;

const LOGOUT: &str = "/oidc/logout";
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

async fn tell(place: &Place, token: &str) -> StatusCode {
    let answer = place.server.visitor().post(LOGOUT, &[("logout_token", token)]).await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert!(!answer.headers.contains_key("set-cookie"));
    answer.status
}

#[tokio::test]
async fn a_logout_token_ends_all_sessions_of_its_subject_and_no_others_once() {
    let Some(place) = Place::start(&[]).await else { return };
    let first = place.member("alice", alice()).await.client().await;
    let bob = place.member("bob", claims("bob", json!({}))).await.client().await;
    let (second, _) = place.log_in("alice").await;
    let second = second.client().await;
    assert!(first.is_logged_in().await && second.is_logged_in().await);
    let token = place.provider.logout_token(ALICE, json!({}), Signature::Right).await;
    assert_eq!(tell(&place, &token).await, StatusCode::OK);
    assert!(!first.is_logged_in().await && !second.is_logged_in().await);
    assert!(bob.is_logged_in().await);
    // Replayed, it ends nothing.
    let (third, _) = place.log_in("alice").await;
    assert_eq!(tell(&place, &token).await, StatusCode::BAD_REQUEST);
    assert!(third.client().await.is_logged_in().await);
    // Another one does.
    let third = third.client().await;
    let token = place.provider.logout_token(ALICE, json!({}), Signature::Right).await;
    assert_eq!(tell(&place, &token).await, StatusCode::OK);
    assert!(!third.is_logged_in().await);
    // Nobody here has this subject, which is no mistake.
    let token = place.provider.logout_token("nobody", json!({}), Signature::Right).await;
    assert_eq!(tell(&place, &token).await, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_logout_token_ends_nothing() {
    let Some(place) = Place::start(&[]).await else { return };
    let mut person = place.member("alice", alice()).await;
    let client = person.client().await;
    let now = place.server.now();
    let wrong: [Value; 16] = [
        json!({ "sub": null }),
        json!({ "sub": null, "sid": "a session" }),
        json!({ "sub": 1 }),
        json!({ "nonce": "a nonce" }),
        json!({ "aud": "another-site" }),
        json!({ "aud": null }),
        json!({ "iss": "https://accounts.example.com" }),
        json!({ "iss": null }),
        json!({ "events": null }),
        json!({ "events": {} }),
        json!({ "events": { "http://schemas.example.com/event": {} } }),
        json!({ "events": { EVENT: "yes" } }),
        json!({ "jti": null }),
        json!({ "exp": now - 61 }),
        json!({ "iat": null }),
        json!({ "iat": now - 86_400, "exp": null }),
    ];
    for claims in wrong {
        let token = place.provider.logout_token(ALICE, claims.clone(), Signature::Right).await;
        assert_eq!(tell(&place, &token).await, StatusCode::BAD_REQUEST, "{claims}");
        assert!(client.is_logged_in().await, "{claims}");
    }
    for signature in
        [Signature::OtherKey, Signature::UnknownKey, Signature::None, Signature::Secret, Signature::PublicKey]
    {
        let token = place.provider.logout_token(ALICE, json!({}), signature).await;
        assert_eq!(tell(&place, &token).await, StatusCode::BAD_REQUEST, "{signature:?}");
    }
    let token = place.provider.logout_token(ALICE, json!({}), Signature::Right).await;
    for odd in ["", "x", "a.b.c", &token[1..], &token[..token.len() - 4]] {
        assert_eq!(tell(&place, odd).await, StatusCode::BAD_REQUEST, "{odd}");
    }
    let large = "x".repeat(100_000);
    demand_refused(&place.server.visitor().post(LOGOUT, &[("logout_token", &large)]).await);
    assert_eq!(place.server.visitor().post(LOGOUT, &[]).await.status, StatusCode::BAD_REQUEST);
    assert!(client.is_logged_in().await);
    person.get("/").await;
}

/// A token of a login says nothing of a logout.
#[tokio::test]
async fn an_id_token_ends_nothing() {
    let Some(place) = Place::start(&[]).await else { return };
    let client = place.member("alice", alice()).await.client().await;
    let claims = json!({ "events": null, "nonce": "a nonce", "jti": null });
    let token = place.provider.logout_token(ALICE, claims, Signature::Right).await;
    assert_eq!(tell(&place, &token).await, StatusCode::BAD_REQUEST);
    assert!(client.is_logged_in().await);
}
