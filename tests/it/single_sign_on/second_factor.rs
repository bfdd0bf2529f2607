//! Local second factors after a login at the provider.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Person, Place, alice};
use crate::authenticator::code;
use crate::client::HttpResponse;
use crate::html::Page;
use crate::oidc_provider::Signature;
use crate::pages::redirects_to;
use crate::two_factor::Protected;

/// A member with an authenticator app and a connected account.
async fn protected(place: &Place) -> Protected {
    let client = place.server.register("alice").await;
    let protected = Protected::set_up(&place.server, client).await;
    let mut person = place.person().with_session_of(&protected.client);
    let address = person.begin_with(&[("next", "/"), ("errand", "connect")]).await;
    let back = person.prove(&address, "alice").await;
    let form = crate::pages::shown(&person.get(&back).await).form("/oidc/connect");
    redirects_to(&person.send(&form).await);
    protected
}

/// Logs in at the provider, which says how.
async fn log_in<'a>(place: &'a Place, amr: Value) -> (Person<'a>, HttpResponse) {
    let mut claims = alice();
    claims["amr"] = amr;
    place.provider.set_account("alice", claims).await;
    let mut person = place.person();
    let answer = person.log_in_to("/latest/0", "alice").await;
    (person, answer)
}

#[tokio::test]
async fn a_second_factor_is_asked_for_unless_the_provider_has_asked_for_one() {
    let Some(place) = Place::start(&[]).await else { return };
    let Protected { secret, .. } = protected(&place).await;
    place.advance(60).await;
    for amr in [json!(null), json!(["pwd"]), json!([]), json!("mfa"), json!(["mfa2"])] {
        let (mut person, answer) = log_in(&place, amr.clone()).await;
        assert!(!person.is_logged_in(), "{amr}");
        let page = Page::of(&answer);
        let form = page.form("/login/code");
        assert_eq!(form.value("next"), Some("/latest/0"), "{amr}");
        let wrong = person.send(&form.clone().with("code", "000000")).await;
        assert!(wrong.status.is_client_error() && !person.is_logged_in(), "{wrong:?}");
        let right = code(&secret, place.server.now());
        let done = person.send(&form.with("code", &right)).await;
        assert_eq!(redirects_to(&done), "/latest/0");
        assert_eq!(person.user().await, 1);
        // Each code works once.
        place.advance(60).await;
    }
    let (person, answer) = log_in(&place, json!(["pwd", "mfa"])).await;
    assert_eq!(redirects_to(&answer), "/latest/0");
    assert!(person.is_logged_in());
    // The word counts where the provider has signed it alone.
    place.provider.change_id_tokens(json!({ "amr": ["mfa"] }), Signature::OtherKey).await;
    let (person, answer) = log_in(&place, json!(["pwd"])).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(!person.is_logged_in());
}

#[tokio::test]
async fn with_the_setting_the_provider_alone_asks() {
    let Some(place) = Place::start(&[("oidc.mfa", "provider")]).await else { return };
    protected(&place).await;
    let (person, answer) = log_in(&place, json!(["pwd"])).await;
    assert_eq!(redirects_to(&answer), "/latest/0");
    assert!(person.is_logged_in());
    // A login with a password still asks.
    let login = format!("/login?username=alice&password={}", crate::client::PASSWORD);
    let answer = place.server.visitor().answer_to(&login).await;
    assert!(!answer.headers.contains_key("set-cookie"), "{answer:?}");
}
