//! The first login of a person, the next ones, and logins that end before.

use reqwest::StatusCode;
use serde_json::json;

use super::{BEGIN, BUTTON, Person, Place, alice, claims};
use crate::client::{HttpResponse, PASSWORD, ok, refused};
use crate::consistency::check_site;
use crate::html::Page;
use crate::pages::{page, redirects_to};

/// Checks that a login was refused on the login page, and returns the sentence.
#[track_caller]
pub fn refusal(answer: &HttpResponse, status: StatusCode) -> String {
    assert_eq!(answer.status, status, "{}", answer.text());
    let page = Page::of(answer);
    assert_eq!(page.heading(), "Log in");
    page.alert().expect("a sentence").to_owned()
}

/// Checks that a browser is not logged in after a refusal, and returns the sentence.
#[track_caller]
pub fn refused_to(person: &Person<'_>, answer: &HttpResponse) -> String {
    assert!(!person.is_logged_in());
    refusal(answer, StatusCode::FORBIDDEN)
}

/// The same where the login is not of this browser, or took too long.
#[track_caller]
fn expired_to(person: &Person<'_>, answer: &HttpResponse) -> String {
    assert!(!person.is_logged_in());
    refusal(answer, StatusCode::UNPROCESSABLE_ENTITY)
}

#[tokio::test]
async fn the_first_login_asks_for_a_username_and_the_next_ones_for_nothing() {
    let Some(place) = Place::start(&[]).await else { return };
    let login = page(&place.server.visitor(), "/login?next=%2Flatest%2F0").await;
    let button = login.all("a").find(|link| link.text() == BUTTON).expect("the button");
    let to = button.attribute("href").unwrap().to_owned();
    assert!(to.starts_with(BEGIN) && to.contains("next=%2Flatest%2F0"), "{to}");

    let mut person = place.person();
    let begun = person.get(&to).await;
    let cookie = begun.headers["set-cookie"].to_str().unwrap();
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/;", "Max-Age=600"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let address = redirects_to(&begun).to_owned();
    for parameter in
        ["response_type=code", "code_challenge_method=S256", "state=", "nonce=", "code_challenge="]
    {
        assert!(address.contains(parameter), "{address}");
    }
    let back = person.prove(&address, "alice").await;
    let form = crate::pages::shown(&person.get(&back).await).form("/register");
    assert_eq!(form.value("username"), Some("alice"));
    assert!(form.value("password").is_none());
    assert!(!person.is_logged_in());
    let done = person.send(&form).await;
    assert!(["/welcome", "/latest/0"].iter().any(|to| redirects_to(&done).starts_with(to)), "{done:?}");
    let client = person.client().await;
    assert_eq!(client.username, "alice");
    let fields = place.server.hash("user:1").await;
    assert_eq!(fields["email"], "alice@example.com");
    assert_eq!(fields["confirmed_email"], "alice@example.com");
    assert!(!fields.contains_key("unconfirmed"));

    // Nobody logs in with a password to an account without one.
    for password in ["", PASSWORD] {
        refused(place.server.visitor().try_log_in("alice", password).await);
    }

    let mut again = place.person();
    assert_eq!(redirects_to(&again.log_in_to("/latest/0", "alice").await), "/latest/0");
    assert_eq!(again.user().await, 1);
    assert_ne!(again.cookie("auth"), person.cookie("auth"));
    let sessions = page(&client, "/settings/sessions").await;
    assert!(sessions.text().contains("with the sign-in service"), "{}", sessions.text());
    check_site(&place.server).await;
}

#[tokio::test]
async fn a_login_that_is_cancelled_or_refused_at_the_provider_says_so_on_the_login_page() {
    let Some(place) = Place::start(&[]).await else { return };
    let mut person = place.person();
    let address = person.begin("/latest/0").await;
    let back = person.cancel(&address).await;
    let answer = person.get(&back).await;
    let sentence = refused_to(&person, &answer);
    assert!(sentence.contains("did not log in"), "{sentence}");
    // Nothing of what the provider said, or of what is in the address, is on the page.
    assert!(!Page::of(&answer).text().contains("the person has cancelled"));
    let links = Page::of(&answer);
    let mut links = links.all("a").filter_map(|link| link.attribute("href"));
    assert!(links.any(|to| to.contains("next=%2Flatest%2F0")));
    let address = person.begin("/").await;
    let back = person.cancel(&address).await.replace("access_denied", "server_error");
    let sentence = refusal(&person.clone().get(&back).await, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!sentence.contains("did not log in"), "{sentence}");
    // An error counts only in the browser that asked.
    let mut other = place.person();
    let answer = other.get(&back).await;
    let sentence = expired_to(&other, &answer);
    assert!(!sentence.contains("did not log in"), "{sentence}");
}

#[tokio::test]
async fn a_login_takes_ten_minutes_at_most() {
    let Some(place) = Place::start(&[]).await else { return };
    let mut person = place.person();
    let address = person.begin("/").await;
    place.advance(599).await;
    let back = person.prove(&address, "alice").await;
    assert_eq!(person.get(&back).await.status, StatusCode::OK);
    let address = person.begin("/").await;
    let back = person.prove(&address, "alice").await;
    place.advance(601).await;
    let answer = person.get(&back).await;
    let sentence = expired_to(&person, &answer);
    assert!(sentence.contains("too long") || sentence.contains("expired"), "{sentence}");
}

#[tokio::test]
async fn a_login_is_bound_to_the_browser_that_began_it() {
    let Some(place) = Place::start(&[]).await else { return };
    let [mut alice, mut mallory] = [place.person(), place.person()];
    let [begun, _] = [alice.begin("/").await, mallory.begin("/").await];
    let back = alice.prove(&begun, "alice").await;
    // Mallory has a login of their own under way, or none at all.
    let stranger = place.person();
    for mut other in [mallory.clone(), stranger] {
        let answer = other.get(&back).await;
        expired_to(&other, &answer);
    }
    // A cookie that was changed is none.
    let cookie = alice.cookie("oidc").unwrap().to_owned();
    for wrong in
        [cookie.replacen(|c: char| c.is_ascii_digit(), "x", 1), cookie[1..].to_owned(), "x".repeat(5_000)]
    {
        let mut changed = alice.clone();
        changed.set_cookie("oidc", &wrong);
        let answer = changed.get(&back).await;
        expired_to(&changed, &answer);
    }
    // So is a state that was.
    for wrong in [&*back.replace("state=", "state=x"), "/oidc/callback", "/oidc/callback?code=x"] {
        let answer = alice.clone().get(wrong).await;
        expired_to(&alice, &answer);
    }
    assert_eq!(alice.get(&back).await.status, StatusCode::OK);
    // The code works once.
    let answer = alice.get(&back).await;
    refused_to(&alice, &answer);
}

#[tokio::test]
async fn two_tabs_of_a_browser_log_in_at_once() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let mut person = place.person();
    let [first, second] = [person.begin("/latest/0").await, person.begin("/ask/0").await];
    let back_to_first = person.prove(&first, "alice").await;
    let back_to_second = person.prove(&second, "alice").await;
    assert_eq!(redirects_to(&person.get(&back_to_first).await), "/latest/0");
    assert_eq!(redirects_to(&person.get(&back_to_second).await), "/ask/0");
    // Two tabs with the form for a new account make one.
    place.provider.set_account("bob", claims("bob", json!({}))).await;
    let mut bob = place.person();
    let [first, second] = [bob.first_page("bob").await, bob.first_page("bob").await];
    let [first, second] = [first, second].map(|page| page.form("/register"));
    redirects_to(&bob.send(&first.with("username", "bob")).await);
    let user = bob.user().await;
    let answer = bob.send(&second.with("username", "robert")).await;
    assert!(answer.status != StatusCode::INTERNAL_SERVER_ERROR, "{answer:?}");
    assert_eq!(bob.user().await, user);
    assert_eq!(place.server.string("username.to.id:robert").await, None);
    let (again, _) = place.log_in("bob").await;
    assert_eq!(again.user().await, user);
}

#[tokio::test]
async fn an_equal_address_or_name_never_connects_an_account() {
    let Some(place) = Place::start(&[]).await else { return };
    let old = place.server.register("alice").await;
    ok(old.update_profile("", "alice@example.com", "").await);
    place.server.set_field("user:1", "confirmed_email", "alice@example.com").await;
    let mut person = place.person();
    let form = person.first_page("alice").await.form("/register");
    let answer = person.send(&form.with("username", "alice")).await;
    assert_eq!(answer.status, StatusCode::CONFLICT, "{answer:?}");
    let form = Page::of(&answer).form("/register");
    redirects_to(&person.send(&form.with("username", "alice-2")).await);
    assert_eq!(person.user().await, 2);
}

#[tokio::test]
async fn a_username_is_proposed_as_far_as_one_can_be_made() {
    let Some(place) = Place::start(&[]).await else { return };
    for (said, proposed) in [
        (json!("bob"), "bob"),
        (json!("bob@example.com"), "bob"),
        (json!("Dr. Bob <script>"), ""),
        (json!("x".repeat(500)), ""),
        (json!(17), ""),
        (json!(null), ""),
    ] {
        place.provider.set_account("bob", claims("bob", json!({ "preferred_username": said }))).await;
        let form = place.person().first_page("bob").await.form("/register");
        let found = form.value("username").unwrap();
        let is_clean = proposed.is_empty() && found.len() <= 32 && !found.contains('<');
        assert!(found == proposed || is_clean, "{said}: {found}");
    }
}

#[tokio::test]
async fn the_mode_of_sign_up_holds_for_first_logins() {
    for (mode, fields) in [("invite", "invitation"), ("apply", "application"), ("closed", "")] {
        let Some(place) = Place::start(&[("accounts.signup", mode)]).await else { return };
        let administrator = place.server.register("admin").await;
        let mut person = place.person();
        if fields.is_empty() {
            let page = person.first_page("alice").await;
            assert!(page.content().contains("Sign-up is closed."), "{}", page.content());
            assert!(page.find("form", &[("action", "/register")]).is_empty());
            continue;
        }
        let form = person.first_page("alice").await.form("/register");
        assert_eq!(form.value(fields), Some(""), "{mode}");
        let answer = person.send(&form).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{mode}: {answer:?}");
        assert!(!person.is_logged_in());
        if mode == "apply" {
            let form = Page::of(&answer).form("/register").with(fields, "I know you.");
            let sent = person.send(&form).await;
            assert!(!sent.status.is_client_error() && !person.is_logged_in(), "{sent:?}");
            let waiting = page(&administrator, "/moderate").await;
            assert!(waiting.text().contains("I know you."), "{}", waiting.text());
        }
    }
}

#[tokio::test]
async fn a_login_ends_on_this_site_alone() {
    let Some(place) = Place::start(&[]).await else { return };
    place.member("alice", alice()).await;
    let nexts = "https://evil.example/|//evil.example|/\\evil.example|javascript:alert(1)||/%0d%0aX: y";
    for next in nexts.split('|') {
        let mut person = place.person();
        let done = person.log_in_to(next, "alice").await;
        let to = redirects_to(&done);
        let is_elsewhere = to.starts_with("//") || to.contains('\\') || to.contains("evil");
        assert!(to.starts_with('/') && !is_elsewhere, "{next}: {to}");
    }
}

#[tokio::test]
async fn a_form_for_a_new_account_belongs_to_its_browser_and_time() {
    let Some(place) = Place::start(&[]).await else { return };
    let [mut alice, mut mallory] = [place.person(), place.person()];
    let form = alice.first_page("alice").await.form("/register");
    place.provider.set_account("mallory", claims("mallory", json!({}))).await;
    let own = mallory.first_page("mallory").await.form("/register");
    // A ticket names its subject, so nobody else's can be put in.
    let ticket = own.value("ticket").unwrap().replace("mallory", "alice");
    let answer = mallory.send(&own.clone().with("ticket", &format!("{ticket}x"))).await;
    assert!(answer.status.is_client_error() && !mallory.is_logged_in(), "{answer:?}");
    place.advance(601).await;
    let answer = alice.send(&form).await;
    assert!(answer.status.is_client_error() && !alice.is_logged_in(), "{answer:?}");
    assert_eq!(place.server.string("username.to.id:alice").await, None);
}
