//! A provider that is away, slow or says too much.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;

use super::first_login::refusal;
use super::{Place, SITE, alice};
use crate::oidc_provider::{Fault, OidcProvider};
use crate::page_server::{PageServer, Reply};
use crate::pages::page;
use crate::server::Engine;

const DISCOVERY: &str = "/.well-known/openid-configuration";
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// What the page for administrators says.
async fn admin(place: &Place) -> String {
    let administrator = place.server.register("admin").await;
    page(&administrator, "/admin").await.text().to_owned()
}

#[tokio::test]
async fn a_provider_that_is_away_at_the_start_stops_nothing_and_the_button_comes_by_itself() {
    for fault in [
        Fault::Reset,
        Fault::Status(503),
        Fault::Status(404),
        Fault::Padding(70_000),
        Fault::Redirect("/jwks".to_owned()),
    ] {
        let Some(provider) = OidcProvider::start(SITE) else { return };
        provider.set_faults(&[(DISCOVERY, fault.clone())]).await;
        let place = Place::around(provider, Engine::Memory, &[]).await;
        let asked = async || place.provider.requests().await.get(DISCOVERY).copied().unwrap_or(0);
        tidings_testing::until(async || asked().await > 1).await;
        assert!(!place.has_button().await, "{fault:?}");
        let login = place.person().get("/oidc/login?next=/").await;
        refusal(&login, StatusCode::SERVICE_UNAVAILABLE);
        let told = admin(&place).await;
        assert!(told.contains("openid-configuration of the issuer: "), "{fault:?}: {told}");
        // Passwords work meanwhile.
        place.server.register("bob").await;
        place.provider.set_faults(&[]).await;
        place.wait_for_button().await;
        place.member("alice", alice()).await;
    }
}

#[tokio::test]
async fn a_provider_that_goes_away_later_is_told_on_the_login_page() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    for path in ["/token", "*"] {
        for fault in [Fault::Reset, Fault::Status(503), Fault::Padding(70_000)] {
            let (mut person, back) = place.proven("alice").await;
            place.provider.set_faults(&[(path, fault.clone())]).await;
            let answer = person.get(&back).await;
            let sentence = refusal(&answer, StatusCode::SERVICE_UNAVAILABLE);
            assert!(!person.is_logged_in(), "{path} {fault:?}");
            assert!(sentence.contains("can't be reached"), "{sentence}");
            place.provider.set_faults(&[]).await;
            place.wait_for_button().await;
        }
    }
    let (person, _) = place.log_in("alice").await;
    assert!(person.is_logged_in());
}

#[tokio::test]
async fn an_answer_that_never_ends_is_waited_for_five_seconds() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    for fault in [Fault::Hang, Fault::Delay(TIME_LIMIT * 4)] {
        let (mut person, back) = place.proven("alice").await;
        place.provider.set_faults(&[("/token", fault)]).await;
        let began = Instant::now();
        let answer = person.get(&back).await;
        refusal(&answer, StatusCode::SERVICE_UNAVAILABLE);
        let took = began.elapsed();
        assert!(took > TIME_LIMIT / 2 && took < TIME_LIMIT * 2, "{took:?}");
        place.provider.set_faults(&[]).await;
        place.wait_for_button().await;
    }
}

#[tokio::test]
async fn a_large_answer_of_each_endpoint_is_refused_and_one_within_the_bound_is_read() {
    let Some(place) = Place::start(&[]).await else { return };
    place.provider.put_claims_in_id_token(false).await;
    place.member("alice", alice()).await;
    for path in ["/token", "/me"] {
        place.provider.set_faults(&[(path, Fault::Padding(65_536))]).await;
        let (_, answer) = place.log_in("alice").await;
        refusal(&answer, StatusCode::SERVICE_UNAVAILABLE);
        place.provider.set_faults(&[(path, Fault::Padding(60_000))]).await;
        place.wait_for_button().await;
        let (person, _) = place.log_in("alice").await;
        assert!(person.is_logged_in(), "{path}");
    }
}

/// The provider names the address of another server in its network.
#[tokio::test]
async fn an_address_that_is_not_public_is_not_asked_unless_the_issuer_names_it() {
    for member in ["token_endpoint", "userinfo_endpoint", "jwks_uri"] {
        let Some(provider) = OidcProvider::start(SITE) else { return };
        let inside = PageServer::start_at("127.0.0.2:0".parse().unwrap(), |_| Reply::html("{}")).await;
        provider.put_claims_in_id_token(false).await;
        provider.change_discovery(json!({ member: format!("http://{}/inside", inside.address) })).await;
        let place = Place::around(provider, Engine::Memory, &[]).await;
        let asked = async || place.provider.requests().await.get(DISCOVERY).copied().unwrap_or(0);
        tidings_testing::until(async || place.has_button().await || asked().await > 1).await;
        let mut person = place.person();
        if place.has_button().await {
            let answer = person.log_in("alice").await;
            let is_refused = answer.status.is_client_error() || answer.status.is_server_error();
            assert!(is_refused, "{member}: {answer:?}");
        }
        assert!(!person.is_logged_in());
        assert_eq!(inside.requests(), Vec::<String>::new(), "{member}");
    }
}
