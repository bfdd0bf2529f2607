//! Connecting an account that exists, disconnecting it, and confirming grave settings at the provider.

use reqwest::StatusCode;
use serde_json::json;

use super::{Person, Place, alice, claims, demand_refused};
use crate::client::{Client, HttpResponse, PASSWORD};
use crate::consistency::check_site;
use crate::html::Page;
use crate::oidc_provider::Signature;
use crate::pages::{page, redirects_to};

const SETTINGS: &str = "/settings/sign-in";
const CONNECT: &str = "/oidc/connect";
const DISCONNECT: &str = "/oidc/disconnect";
const LEAVE: &str = "/settings/deactivate";

/// A member who has a password, with a browser.
async fn carol(place: &Place) -> (Client, Person<'_>) {
    let client = place.server.register("carol").await;
    let person = place.person().with_session_of(&client);
    (client, person)
}

/// Comes back from the provider for some reason.
async fn come_back(person: &mut Person<'_>, errand: &str, next: &str, name: &str) -> HttpResponse {
    let address = person.begin_with(&[("next", next), ("errand", errand)]).await;
    let back = person.prove(&address, name).await;
    person.get(&back).await
}

/// The page that asks whether to connect.
async fn question(person: &mut Person<'_>, name: &str) -> Page {
    crate::pages::shown(&come_back(person, "connect", SETTINGS, name).await)
}

#[tokio::test]
async fn an_owner_connects_an_account_and_disconnects_it() {
    let Some(place) = Place::start(&[]).await else { return };
    let (client, mut person) = carol(&place).await;
    assert!(page(&client, "/settings/account").await.links_to(SETTINGS));
    let settings = page(&client, SETTINGS).await;
    let to =
        settings.all("a").find_map(|link| link.attribute("href").filter(|to| to.contains("errand=connect")));
    assert!(to.is_some_and(|to| to.starts_with("/oidc/login?")), "{}", settings.text());

    let asked = question(&mut person, "alice").await;
    assert!(asked.content().contains("you are alice."), "{}", asked.text());
    // Nothing has happened yet.
    let mut other = place.person();
    other.first_page("alice").await;
    let done = person.send(&asked.form(CONNECT)).await;
    assert!(redirects_to(&done).starts_with(SETTINGS));
    let settings = page(&client, SETTINGS).await;
    let (again, _) = place.log_in("alice").await;
    assert_eq!(again.user().await, person.user().await);
    // The password still works.
    place.server.visitor().log_in("carol", PASSWORD).await;

    check_site(&place.server).await;
    let done = person.send(&settings.form(DISCONNECT)).await;
    assert!(redirects_to(&done).starts_with(SETTINGS));
    check_site(&place.server).await;
    place.person().first_page("alice").await;
}

#[tokio::test]
async fn an_account_is_connected_only_by_its_owner_in_the_same_browser() {
    let Some(place) = Place::start(&[]).await else { return };
    let (_, mut person) = carol(&place).await;
    let asked = question(&mut person, "alice").await.form(CONNECT);
    // Without the secret of the session, from no session, and from another member's.
    let answer = person.clone().send(&asked.clone().with("apisecret", "0".repeat(40).as_str())).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    let answer = asked.send(&place.server.visitor()).await;
    assert!(!answer.status.is_success(), "{answer:?}");
    let mallory = place.server.register("mallory").await;
    place.person().first_page("alice").await;
    // A login that began to connect ends in no other session.
    let address = person.begin_with(&[("next", SETTINGS), ("errand", "connect")]).await;
    let back = person.prove(&address, "alice").await;
    let mut switched = person.clone().with_session_of(&mallory);
    demand_refused(&switched.get(&back).await);
    // Whoever is not logged in cannot begin.
    let answer = place.person().get("/oidc/login?errand=connect&next=/settings/sign-in").await;
    assert!(redirects_to(&answer).starts_with("/login?next="), "{answer:?}");
}

#[tokio::test]
async fn an_account_at_the_provider_belongs_to_one_account_here_and_one_here_to_one_there() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let (_, mut person) = carol(&place).await;
    let answer = come_back(&mut person, "connect", SETTINGS, "alice").await;
    demand_refused(&answer);
    assert!(Page::of(&answer).find("form", &[("action", CONNECT)]).is_empty());
    place.provider.set_account("bob", claims("bob", json!({}))).await;
    person.log_out_at_provider();
    let asked = question(&mut person, "bob").await;
    person.send(&asked.form(CONNECT)).await;
    // The same again changes nothing.
    assert_eq!(place.person().log_in("bob").await.status, StatusCode::SEE_OTHER);
    let (bob, _) = place.log_in("bob").await;
    assert_eq!(bob.user().await, person.user().await);
}

#[tokio::test]
async fn the_last_way_to_log_in_is_kept() {
    let Some(place) = Place::start(&[]).await else { return };
    let mut person = place.member("alice", alice()).await;
    let client = person.client().await;
    let settings = page(&client, SETTINGS).await;
    assert!(settings.find("form", &[("action", DISCONNECT)]).is_empty(), "{}", settings.text());
    demand_refused(&client.post(DISCONNECT, &[]).await);
    let (again, _) = place.log_in("alice").await;
    assert_eq!(again.user().await, client.user_id);
    // Who confirms a login at the provider can choose a password, and then disconnect.
    come_back(&mut person, "confirm", "/settings/account", "alice").await;
    let form = person.page("/settings/account").await;
    let form = form.forms().into_iter().find(|form| form.value("password").is_some()).expect("a form");
    let answer = person.send(&form.with("password", "a rather long one 42")).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{answer:?}");
    place.server.visitor().log_in("alice", "a rather long one 42").await;
    let client = place.server.client_of(client.user_id).await;
    let answer = client.post(DISCONNECT, &[]).await;
    assert!(redirects_to(&answer).starts_with(SETTINGS));
    place.person().first_page("alice").await;
}

#[tokio::test]
async fn leaving_without_a_password_wants_a_fresh_login_at_the_provider() {
    let Some(place) = Place::start(&[]).await else { return };
    // The last administrator cannot leave.
    place.server.register("admin").await;
    let mut person = place.member("alice", alice()).await;
    let client = person.client().await;
    let leave = async || client.post(LEAVE, &[("password", "confirmed"), ("writings", "keep")]).await;
    let shown = page(&client, LEAVE).await;
    let link = shown.all("a").find(|link| link.text() == "Confirm with single sign-on").expect("a link");
    assert!(link.attribute("href").unwrap().contains("errand=confirm"), "{link:?}");
    assert!(shown.find("input", &[("type", "password")]).is_empty());
    demand_refused(&leave().await);

    let address = person.begin_with(&[("next", LEAVE), ("errand", "confirm")]).await;
    assert!(address.contains("prompt=login") && address.contains("max_age=0"), "{address}");
    let back = person.prove(&address, "alice").await;
    assert_eq!(redirects_to(&person.get(&back).await), LEAVE);
    // It counts for ten minutes, in this session.
    let other = place.server.client_of(client.user_id).await;
    demand_refused(&other.post(LEAVE, &[("password", "confirmed"), ("writings", "keep")]).await);
    place.advance(601).await;
    demand_refused(&leave().await);
    come_back(&mut person, "confirm", LEAVE, "alice").await;
    let form = person.page(LEAVE).await.form(LEAVE);
    redirects_to(&person.send(&form).await);
    assert_eq!(place.server.field("user:2", "username").await.as_deref(), Some("[deleted user]"));
    check_site(&place.server).await;
    // The subject is nobody's now.
    place.person().first_page("alice").await;
}

#[tokio::test]
async fn only_a_fresh_login_of_the_same_person_confirms() {
    let Some(place) = Place::start(&[]).await else { return };
    place.server.register("admin").await;
    let mut person = place.member("alice", alice()).await;
    let client = person.client().await;
    let leaves = async || {
        let answer = client.post(LEAVE, &[("password", "confirmed"), ("writings", "keep")]).await;
        answer.status == StatusCode::SEE_OTHER
    };
    // Somebody else, and a login from before.
    place.provider.set_account("bob", claims("bob", json!({}))).await;
    person.log_out_at_provider();
    demand_refused(&come_back(&mut person, "confirm", LEAVE, "bob").await);
    assert!(!leaves().await);
    person.log_out_at_provider();
    let long_ago = place.server.now() - 3_600;
    for auth_time in [json!(long_ago), json!(null), json!("now")] {
        place.provider.change_id_tokens(json!({ "auth_time": auth_time }), Signature::Right).await;
        demand_refused(&come_back(&mut person, "confirm", LEAVE, "alice").await);
        assert!(!leaves().await);
    }
    // A plain login is no confirmation.
    place.provider.change_id_tokens(json!({}), Signature::Right).await;
    person.log_in("alice").await;
    assert!(!leaves().await);
    let answer = place.person().get("/oidc/login?errand=confirm&next=/settings/deactivate").await;
    assert!(redirects_to(&answer).starts_with("/login?next="), "{answer:?}");
}

#[tokio::test]
async fn whoever_has_a_password_confirms_with_it() {
    let Some(place) = Place::start(&[]).await else { return };
    let (client, mut person) = carol(&place).await;
    let asked = question(&mut person, "alice").await;
    person.send(&asked.form(CONNECT)).await;
    assert!(!page(&client, LEAVE).await.find("input", &[("type", "password")]).is_empty());
    come_back(&mut person, "confirm", LEAVE, "alice").await;
    demand_refused(&client.post(LEAVE, &[("password", "wrong horse"), ("writings", "keep")]).await);
}
