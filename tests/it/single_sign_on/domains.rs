//! Addresses of allowed domains.

use reqwest::StatusCode;
use serde_json::json;

use super::first_login::refused_to;
use super::{Place, claims};

const DOMAINS: [(&str, &str); 1] = [("oidc.allowed_domains", "example.com, Example.ORG")];

#[tokio::test]
async fn only_verified_addresses_of_allowed_domains_are_let_in_at_each_login() {
    let Some(place) = Place::start(&DOMAINS).await else { return };
    let give = async |email: &str, verified: bool| {
        let others = json!({ "email": email, "email_verified": verified });
        place.provider.set_account("bob", claims("bob", others)).await;
    };
    let refused = async |what: &str| {
        let (person, answer) = place.log_in("bob").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
        refused_to(&person, &answer)
    };
    let wrong = [
        ("bob@example.com", false),
        ("bob@mail.example.com", true),
        ("bob@example.net", true),
        ("bob@example.com.evil.net", true),
        ("bob@badexample.com", true),
        ("bob@evil.net@example.com", true),
        ("\"bob@evil.net \"@example.com.", true),
        ("example.com", true),
        ("", true),
    ];
    for (email, verified) in wrong {
        give(email, verified).await;
        let sentence = refused(email).await;
        assert!(sentence.contains("can't log in here"), "{sentence}");
        assert!(!sentence.contains('@'), "{sentence}");
    }
    place.provider.set_account("bob", claims("bob", json!({}))).await;
    refused("no address").await;
    for email in ["bob@example.com", "bob@EXAMPLE.com", "bob@example.org"] {
        give(email, true).await;
        let (_, answer) = place.log_in("bob").await;
        assert_eq!(answer.status, StatusCode::OK, "{email}: {answer:?}");
    }
    // Whoever has an account is asked again.
    let mut bob = place.person();
    bob.sign_up("bob").await;
    give("bob@example.net", true).await;
    refused("an account").await;
    give("bob@example.com", false).await;
    refused("an account").await;
    give("bob@example.com", true).await;
    let (again, _) = place.log_in("bob").await;
    assert!(again.is_logged_in());
}

#[tokio::test]
async fn without_a_list_everybody_is_let_in_with_any_address_or_none() {
    let Some(place) = Place::start(&[]).await else { return };
    for (name, others) in [
        ("bob", json!({})),
        ("carol", json!({ "email": "carol@example.net", "email_verified": false })),
        ("dave", json!({ "email": "dave@example.net" })),
    ] {
        let person = place.member(name, claims(name, others)).await;
        let fields = place.server.hash(&format!("user:{}", person.user().await)).await;
        assert!(!fields.contains_key("confirmed_email"), "{fields:?}");
    }
}

#[tokio::test]
async fn the_address_of_an_account_is_confirmed_by_a_login_with_the_same_one() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("bob", claims("bob", json!({}))).await;
    for (field, value) in [("email", "bob@example.com"), ("unconfirmed", "1")] {
        place.server.set_field("user:1", field, value).await;
    }
    for (email, verified, is_confirmed) in
        [("bob@example.com", false, false), ("bob@example.org", true, false), ("bob@example.com", true, true)]
    {
        let others = json!({ "email": email, "email_verified": verified });
        place.provider.set_account("bob", claims("bob", others)).await;
        place.person().log_in("bob").await;
        let fields = place.server.hash("user:1").await;
        let confirms = fields.get("confirmed_email").is_some_and(|address| address == email);
        assert_eq!(confirms, is_confirmed, "{email}");
        assert_eq!(fields.contains_key("unconfirmed"), !is_confirmed, "{email}");
    }
}
