//! Which ID tokens count, and where else claims are read.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tidings_web::settings::OidcSettings;

use super::first_login::{refusal, refused_to};
use super::{ALICE, Person, Place, alice};
use crate::html::Page;
use crate::oidc_provider::{Fault, Signature};
use crate::pages::redirects_to;

/// How long a token may be out of date, in seconds.
const LEEWAY: u64 = 60;

/// Whether somebody who has an account logs in as alice. Who is refused gets a sentence, and no session.
async fn logs_in(place: &Place) -> bool {
    let (person, answer) = place.log_in("alice").await;
    if answer.status == StatusCode::SEE_OTHER && person.is_logged_in() {
        assert_eq!(redirects_to(&answer), "/");
        return true;
    }
    assert!(!person.is_logged_in());
    let page = Page::of(&answer);
    assert!(page.heading() == "Log in" && page.alert().is_some(), "{}", page.text());
    false
}

#[tokio::test]
async fn a_token_with_a_wrong_claim_logs_nobody_in() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let now = place.server.now();
    let issuer = &place.provider.issuer;
    let wrong = [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "nonce": 1 }),
        json!({ "aud": "another-site" }),
        json!({ "aud": ["another-site"] }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        // Several audiences need one that is authorized (OpenID Connect Core, section 3.1.3.7).
        json!({ "aud": ["tidings", "another-site"], "azp": "another-site" }),
        json!({ "iss": "https://accounts.example.com" }),
        json!({ "iss": format!("{issuer}/") }),
        json!({ "iss": null }),
        json!({ "exp": now - LEEWAY - 1 }),
        json!({ "exp": null }),
        json!({ "exp": "soon" }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "sub": "x".repeat(256) }),
        json!({ "sub": 17 }),
    ];
    for claims in wrong {
        place.provider.change_id_tokens(claims.clone(), Signature::Right).await;
        assert!(!logs_in(&place).await, "{claims}");
    }
    let right = [
        json!({ "exp": now - LEEWAY + 2 }),
        json!({ "aud": ["tidings"] }),
        json!({ "iat": now + LEEWAY - 2 }),
        json!({ "odd": { "members": ["are", "left", "alone"] } }),
    ];
    for claims in right {
        place.provider.change_id_tokens(claims.clone(), Signature::Right).await;
        assert!(logs_in(&place).await, "{claims}");
    }
}

#[tokio::test]
async fn only_the_keys_of_the_provider_sign_with_each_of_three_algorithms() {
    let always = |oidc: &mut OidcSettings| oidc.keys_every = Duration::ZERO;
    let Some(place) = Place::start_adjusted(&[], always).await else { return };
    place.member("alice", alice()).await;
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        place.provider.set_algorithm(algorithm).await;
        place.provider.change_id_tokens(json!({}), Signature::Right).await;
        assert!(logs_in(&place).await, "{algorithm}");
        for signature in [
            Signature::OtherKey,
            Signature::UnknownKey,
            Signature::None,
            Signature::Secret,
            Signature::PublicKey,
        ] {
            place.provider.change_id_tokens(json!({}), signature).await;
            assert!(!logs_in(&place).await, "{algorithm} {signature:?}");
        }
    }
}

#[tokio::test]
async fn replaced_keys_are_fetched_at_the_first_token_that_names_one() {
    let always = |oidc: &mut OidcSettings| oidc.keys_every = Duration::ZERO;
    let Some(place) = Place::start_adjusted(&[], always).await else { return };
    place.member("alice", alice()).await;
    let fetched = async || place.provider.requests().await["/jwks"];
    let before = fetched().await;
    for _ in 0..3 {
        assert!(logs_in(&place).await);
    }
    assert_eq!(fetched().await, before, "keys are kept");
    place.provider.replace_keys().await;
    for _ in 0..3 {
        assert!(logs_in(&place).await);
    }
    assert_eq!(fetched().await, before + 1);
    // What is not JSON, or too long, replaces no keys.
    place.provider.change_id_tokens(json!({}), Signature::UnknownKey).await;
    for fault in [Fault::Status(200), Fault::Padding(70_000)] {
        place.provider.set_faults(&[("/jwks", fault)]).await;
        refusal(&place.person().log_in("alice").await, StatusCode::SERVICE_UNAVAILABLE);
    }
    place.provider.change_id_tokens(json!({}), Signature::Right).await;
    assert!(logs_in(&place).await);
}

#[tokio::test]
async fn tokens_with_unknown_keys_cost_one_fetch_of_keys_a_minute() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let fetched = async || place.provider.requests().await["/jwks"];
    let before = fetched().await;
    place.provider.change_id_tokens(json!({}), Signature::UnknownKey).await;
    for _ in 0..4 {
        assert!(!logs_in(&place).await);
        let token = place.provider.logout_token(ALICE, json!({}), Signature::UnknownKey).await;
        place.server.visitor().post("/oidc/logout", &[("logout_token", &token)]).await;
    }
    assert!(fetched().await <= before + 1);
}

#[tokio::test]
async fn claims_that_are_not_in_the_token_are_read_from_the_userinfo_endpoint() {
    let Some(place) = Place::start(&[("oidc.administrators", "staff")]).await else { return };
    place.server.register("admin").await;
    place.provider.put_claims_in_id_token(false).await;
    let mut claims = alice();
    claims["groups"] = json!(["staff"]);
    place.provider.set_account("alice", claims).await;
    let mut person = place.person();
    let form = person.first_page("alice").await.form("/register");
    assert_eq!(form.value("username"), Some("alice"));
    person.send(&form).await;
    assert_eq!(place.server.field("user:2", "confirmed_email").await.as_deref(), Some("alice@example.com"));
    assert!(place.flags(2).await.contains('a'));
    // What is said of somebody else does not count (OpenID Connect Core, section 5.3.2).
    for members in [json!({ "sub": "somebody-else" }), json!({ "sub": null }), json!({ "sub": 1 })] {
        place.provider.change_userinfo(members.clone()).await;
        assert!(!logs_in(&place).await, "{members}");
    }
}

#[tokio::test]
async fn claims_of_an_odd_kind_are_left_out() {
    let Some(place) = Place::start(&[("oidc.administrators", "staff")]).await else { return };
    place.server.register("admin").await;
    for (number, odd) in [
        json!({ "email": 17, "email_verified": true }),
        json!({ "email": "no address", "email_verified": true }),
        json!({ "email": "alice@example.com", "email_verified": 1 }),
        json!({ "email": "alice@example.com", "email_verified": false }),
        json!({ "email": "alice@example.com\nBcc: bob@example.com", "email_verified": true }),
        json!({ "groups": { "staff": true } }),
        json!({ "groups": [["staff"], 1, null] }),
        json!({ "groups": "not staff" }),
        json!({ "amr": "mfa", "name": ["Alice"], "preferred_username": {} }),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("member-{number}");
        place.provider.set_account(&name, super::claims(&name, odd.clone())).await;
        let mut person = place.person();
        let form = person.first_page(&name).await.form("/register").with("username", &name);
        redirects_to(&person.send(&form).await);
        let fields = place.server.hash(&format!("user:{}", person.user().await)).await;
        assert!(!fields.contains_key("confirmed_email"), "{odd}: {fields:?}");
        assert!(!fields.get("flags").is_some_and(|flags| flags.contains('a')), "{odd}");
    }
}

#[tokio::test]
async fn an_answer_of_another_provider_is_not_taken_to_this_one() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let (person, back) = place.proven("alice").await;
    // The address names the issuer that answers (RFC 9207).
    let (rest, _) = back.split_once("&iss=").expect("an issuer");
    let answer = person.clone().get(&format!("{rest}&iss=https%3A%2F%2Faccounts.example.com")).await;
    refused_to(&person, &answer);
    let mut wrong: Person<'_> = person.clone();
    let answer = wrong.get(&back.replace("code=", "code=x")).await;
    refused_to(&wrong, &answer);
}

/// What must not be believed, although the right server says it.
#[tokio::test]
async fn an_odd_answer_of_the_token_endpoint_logs_nobody_in() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let before = place.provider.requests().await["/me"];
    for fault in
        [Fault::Status(200), Fault::Status(400), Fault::Redirect(format!("{}/me", place.provider.issuer))]
    {
        place.provider.set_faults(&[("/token", fault.clone())]).await;
        let (person, answer) = place.log_in("alice").await;
        assert!([403, 503].contains(&answer.status.as_u16()), "{fault:?}: {answer:?}");
        assert!(!person.is_logged_in());
    }
    assert_eq!(place.provider.requests().await["/me"], before);
}
