//! Passkeys, with an authenticator made of software. `tests/browser/passkeys.rs` uses one of
//! Chromium.

use std::collections::BTreeMap;
use std::sync::Arc;

use p256::ecdsa::SigningKey;
use reqwest::StatusCode;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::Ed25519KeyPair;
use serde_json::Value;

use crate::authenticator::{Authenticator, Key, code};
use crate::client::{Client, HttpResponse, PASSWORD, each, ok, refused};
use crate::html::{Form, Page};
use crate::pages::{page, redirects_saying, redirects_to, shown};
use crate::server::{Engine, Server, each_engine, in_memory};
use crate::two_factor::Protected;

const ORIGIN: &str = "https://news.example.com";
const HOST: &str = "news.example.com";
const SETTINGS: [(&str, &str); 1] = [("site.url", ORIGIN)];
const NOT_ACCEPTED: &str = "This passkey was not accepted. Try again, or use another way to log in.";
const ADD: &str = "/settings/two-factor/passkeys";
const CONFIRM: &str = "/settings/two-factor/passkeys/confirm";
const REMOVE: &str = "/settings/two-factor/passkeys/remove";

/// A mistake of an authenticator.
type Change<'a> = &'a dyn Fn(&mut Authenticator);

/// The options that a page gives the browser for a form with a passkey.
fn options(page: &Page, action: &str) -> Value {
    let forms = page.find("form", &[("action", action)]);
    let options = forms.iter().find_map(|form| form.attribute("data-options")).expect("options");
    serde_json::from_str(options).unwrap()
}

/// The first step of adding a passkey.
async fn begin(client: &Client, name: &str) -> Page {
    let form = page(client, ADD).await.form(ADD);
    shown(&form.with("name", name).with("current_password", PASSWORD).send(client).await)
}

/// Adds a passkey.
async fn add(client: &Client, name: &str) -> (Authenticator, HttpResponse) {
    let mut authenticator = Authenticator::new(ORIGIN, HOST);
    let begun = begin(client, name).await;
    let passkey = authenticator.create(&options(&begun, CONFIRM));
    let answer = begun.form(CONFIRM).with("passkey", &passkey).send(client).await;
    (authenticator, answer)
}

/// The form of a login with a passkey alone, and what the browser is given.
async fn alone(visitor: &Client) -> (Form, Value) {
    let form = page(visitor, "/login/passkey?next=%2Flatest%2F0").await.form("/login/passkey");
    (form, visitor.post("/login/passkey/options", &[]).await.json())
}

/// The second step of a login.
async fn second_step(visitor: &Client) -> Page {
    let form = page(visitor, "/login").await.form("/login");
    shown(&form.with("username", "alice").with("password", PASSWORD).send(visitor).await)
}

/// A login with a passkey alone.
async fn log_in_alone(visitor: &Client, authenticator: &mut Authenticator) -> HttpResponse {
    let (form, options) = alone(visitor).await;
    form.with("passkey", &authenticator.get(&options)).send(visitor).await
}

/// A login with a password, and a passkey as the second step.
async fn log_in_with_both(visitor: &Client, authenticator: &mut Authenticator) -> HttpResponse {
    let step = second_step(visitor).await;
    finish(visitor, &step, &authenticator.get(&options(&step, "/login/code"))).await
}

/// Finishes the second step with a passkey. The page has a form for a code with the same action.
async fn finish(visitor: &Client, step: &Page, passkey: &str) -> HttpResponse {
    let ticket = step.find("input", &[("name", "ticket")])[0].attribute("value").unwrap().to_owned();
    visitor.post("/login/code", &[("ticket", &ticket), ("passkey", passkey), ("next", "/")]).await
}

#[track_caller]
fn check_not_accepted(answer: &HttpResponse, message: &str) {
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!answer.headers.contains_key("set-cookie"));
    assert_eq!(Page::of(answer).alert(), Some(message));
}

#[in_memory(&SETTINGS)]
async fn a_passkey_logs_in_alone_and_as_the_second_step(server: Server) {
    let alice = server.register("alice").await;
    let (mut authenticator, added) = add(&alice, "My \"phone\"").await;
    // It is the first second factor, so there are recovery codes.
    let codes = shown(&added);
    assert_eq!(codes.all("code").count(), 10);
    let overview = page(&alice, "/settings/two-factor").await;
    assert!(overview.text().contains("My \"phone\"") && overview.text().contains("not used yet"));

    let visitor = server.visitor();
    let (form, options_alone) = alone(&visitor).await;
    assert_eq!(options_alone["userVerification"], "required");
    assert_eq!(options_alone["rpId"], HOST);
    assert_eq!(options_alone["allowCredentials"].as_array().map(Vec::len), Some(0));
    let done = form.with("passkey", &authenticator.get(&options_alone)).send(&visitor).await;
    assert_eq!(redirects_to(&done), "/latest/0");
    assert!(done.headers.contains_key("set-cookie"));
    assert!(page(&alice, "/settings/two-factor").await.text().contains("last used"));

    // The password alone is not enough any more.
    let answer = visitor.post("/api/login", &[("username", "alice"), ("password", PASSWORD)]).await;
    assert_eq!(
        (answer.status, &answer.json()["code_required"]),
        (StatusCode::UNAUTHORIZED, &Value::Bool(true))
    );
    let step = second_step(&visitor).await;
    let options = options(&step, "/login/code");
    assert_eq!(options["allowCredentials"].as_array().map(Vec::len), Some(1));
    let done = finish(&visitor, &step, &authenticator.get(&options)).await;
    assert_eq!(redirects_to(&done), "/");
    let text = page(&alice, "/settings/sessions").await.text().to_owned();
    assert!(text.contains("with a passkey") && text.contains("with a passkey as the second step"), "{text}");

    // A recovery code stands in for it.
    let recovery = codes.all("code").next().unwrap().text().to_owned();
    ok(visitor.call(&format!("/api/login?username=alice&password={PASSWORD}&code={recovery}")).await);
}

#[each_engine("expiry", &SETTINGS)]
async fn a_use_of_a_passkey_counts_once_and_for_five_minutes(server: Server) {
    let alice = server.register("alice").await;
    let (mut authenticator, _) = add(&alice, "phone").await;
    let visitor = server.visitor();
    let (form, options) = alone(&visitor).await;
    let form = form.with("passkey", &authenticator.get(&options));
    redirects_to(&form.clone().send(&visitor).await);
    check_not_accepted(&form.send(&visitor).await, NOT_ACCEPTED);

    let (form, options) = alone(&visitor).await;
    server.advance(301);
    let late = form.with("passkey", &authenticator.get(&options)).send(&visitor).await;
    check_not_accepted(&late, "Your login took too long. Log in again.");
}

/// Tries each mistake of an authenticator, alone and as the second step.
async fn refuse_mistakes(visitor: &Client, right: &Authenticator, takes_another_key: Change<'_>) {
    let mistakes: [(&str, Change<'_>); 6] = [
        ("another site", &|passkey| "https://evil.example.com".clone_into(&mut passkey.origin)),
        ("another host", &|passkey| "evil.example.com".clone_into(&mut passkey.host)),
        ("a page within one of another site", &|passkey| passkey.is_framed = true),
        ("nobody there", &|passkey| passkey.is_present = false),
        ("another key", takes_another_key),
        ("no PIN", &|passkey| passkey.verifies = false),
    ];
    for (what, change) in mistakes {
        let mut passkey = right.clone();
        change(&mut passkey);
        let mut answers = vec![log_in_alone(visitor, &mut passkey.clone()).await];
        // A key without a PIN is a second step.
        if what != "no PIN" {
            answers.push(log_in_with_both(visitor, &mut passkey).await);
        }
        for answer in answers {
            assert_eq!(Page::of(&answer).alert(), Some(NOT_ACCEPTED), "{what}");
            assert!(!answer.headers.contains_key("set-cookie"), "{what}");
        }
    }
}

#[in_memory(&SETTINGS)]
async fn what_is_not_right_about_a_passkey_is_refused(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.register("bob").await;
    let (right, _) = add(&alice, "phone").await;
    let (of_bob, _) = add(&bob, "phone").await;
    let visitor = server.visitor();
    refuse_mistakes(&visitor, &right, &|passkey| passkey.take_key_of(&of_bob)).await;
    let mut of_somebody_else = right.clone();
    of_somebody_else.take_handle_of(&of_bob);
    check_not_accepted(&log_in_alone(&visitor, &mut of_somebody_else).await, NOT_ACCEPTED);
    check_not_accepted(&log_in_with_both(&visitor, &mut of_bob.clone()).await, NOT_ACCEPTED);
    let (form, options) = alone(&visitor).await;
    for no_passkey in ["", "{}", "[]", "null", "{\"rawId\":\"\"}", &"[".repeat(2_000)] {
        check_not_accepted(&form.clone().with("passkey", no_passkey).send(&visitor).await, NOT_ACCEPTED);
    }
    // A challenge that the site has not made.
    let mut forged = options.clone();
    forged["challenge"] = "AAAA".into();
    let answer = form.clone().with("passkey", &right.clone().get(&forged)).send(&visitor).await;
    check_not_accepted(&answer, "Your login took too long. Log in again.");
    // The right one is still right.
    redirects_to(&form.with("passkey", &right.clone().get(&options)).send(&visitor).await);
}

#[in_memory(&SETTINGS)]
async fn a_copy_of_a_passkey_that_counts_is_noticed(server: Server) {
    let alice = server.register("alice").await;
    let mut authenticator = Authenticator::new(ORIGIN, HOST);
    authenticator.counter = 5;
    let begun = begin(&alice, "key").await;
    let passkey = authenticator.create(&options(&begun, CONFIRM));
    shown(&begun.form(CONFIRM).with("passkey", &passkey).send(&alice).await);
    let visitor = server.visitor();
    let mut copy = authenticator.clone();
    redirects_to(&log_in_alone(&visitor, &mut authenticator).await);
    check_not_accepted(&log_in_alone(&visitor, &mut copy).await, NOT_ACCEPTED);
}

#[in_memory(&SETTINGS)]
async fn a_key_without_a_pin_is_a_second_step_only(server: Server) {
    let alice = server.register("alice").await;
    let (mut key, _) = add(&alice, "key").await;
    key.verifies = false;
    let visitor = server.visitor();
    check_not_accepted(&log_in_alone(&visitor, &mut key).await, NOT_ACCEPTED);
    assert_eq!(redirects_to(&log_in_with_both(&visitor, &mut key).await), "/");
    // An authenticator may want a PIN always.
    let factors = server.hash("user:1:two_factor").await;
    let (field, stored) = factors.iter().find(|(field, _)| field.starts_with("passkey:")).unwrap();
    let protection = "\"cred_protect\":\"userVerificationRequired\",\"counter\"";
    server.set_field("user:1:two_factor", field, &stored.replace("\"counter\"", protection)).await;
    check_not_accepted(&log_in_with_both(&visitor, &mut key).await, NOT_ACCEPTED);
}

#[in_memory(&SETTINGS)]
async fn a_passkey_is_added_by_its_owner_with_the_password_and_once(server: Server) {
    let alice = server.register("alice").await;
    let bob = server.register("bob").await;
    let form = page(&alice, ADD).await.form(ADD).with("name", "phone");
    let refusal = Page::of(&form.with("current_password", "wrong horse").send(&alice).await);
    assert!(refusal.alert().unwrap().contains("wrong"));

    // A registration that one account has begun cannot be confirmed by another.
    let begun = begin(&alice, "phone").await;
    let mut authenticator = Authenticator::new(ORIGIN, HOST);
    let passkey = authenticator.create(&options(&begun, CONFIRM));
    let answer = bob.post(CONFIRM, &[("name", "phone"), ("passkey", &passkey)]).await;
    check_not_accepted(&answer, "This took too long. Start again.");
    let form = begun.form(CONFIRM).with("passkey", &passkey);
    shown(&form.clone().send(&alice).await);
    let again = form.send(&alice).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(Page::of(&again).alert().unwrap().contains("already"));
    // The browser is told what there is.
    let begun = begin(&alice, "other").await;
    assert_eq!(options(&begun, CONFIRM)["excludeCredentials"].as_array().map(Vec::len), Some(1));
    // Not for ever.
    let passkey = Authenticator::new(ORIGIN, HOST).create(&options(&begun, CONFIRM));
    server.advance(301);
    let late = begun.form(CONFIRM).with("passkey", &passkey).send(&alice).await;
    check_not_accepted(&late, "This took too long. Start again.");
    for no_passkey in ["", "{}", &passkey.replace("attestationObject", "other")] {
        let answer = alice.post(CONFIRM, &[("name", "x"), ("passkey", no_passkey)]).await;
        check_not_accepted(&answer, NOT_ACCEPTED);
    }
}

#[in_memory(&SETTINGS)]
async fn an_account_has_ten_passkeys_at_most(server: Server) {
    let alice = server.register("alice").await;
    for number in 0..10 {
        add(&alice, &format!("key {number}")).await;
    }
    let form = page(&alice, ADD).await.form(ADD).with("name", "one more");
    let refusal = form.with("current_password", PASSWORD).send(&alice).await;
    assert_eq!(refusal.status, StatusCode::FORBIDDEN);
    assert!(Page::of(&refusal).alert().unwrap().contains("10 passkeys"));
    assert_eq!(page(&alice, "/settings/two-factor").await.all("strong").count(), 10);
}

#[in_memory(&SETTINGS)]
async fn a_passkey_is_removed_with_the_password(server: Server) {
    let Protected { client, secret, .. } = Protected::register(&server, "alice").await;
    let (mut authenticator, added) = add(&client, "phone").await;
    // There are recovery codes already.
    redirects_saying(&added, "/settings/two-factor", "factors_changed");
    let overview = page(&client, "/settings/two-factor").await;
    let link =
        overview.all("a").filter_map(|link| link.attribute("href")).find(|link| link.starts_with(REMOVE));
    let form = page(&client, link.unwrap()).await.form(REMOVE);
    let refusal = Page::of(&form.clone().with("current_password", "wrong horse").send(&client).await);
    assert!(refusal.alert().unwrap().contains("wrong"));
    let form = form.with("current_password", PASSWORD);
    redirects_saying(&form.clone().send(&client).await, "/settings/two-factor", "factors_changed");
    let again = form.without("request").send(&client).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let visitor = server.visitor();
    check_not_accepted(&log_in_alone(&visitor, &mut authenticator).await, NOT_ACCEPTED);
    // The app is still needed.
    assert_eq!(server.field("user:1", "two_factor").await.as_deref(), Some("totp"));
    let now = code(&secret, server.now());
    ok(visitor.call(&format!("/api/login?username=alice&password={PASSWORD}&code={now}")).await);
}

#[in_memory(&SETTINGS)]
async fn a_passkey_of_a_deactivated_account_is_refused(server: Server) {
    server.register("admin").await;
    let alice = server.register("alice").await;
    let (mut authenticator, _) = add(&alice, "phone").await;
    let form = page(&alice, "/settings/deactivate").await.form("/settings/deactivate");
    redirects_to(&form.with("password", PASSWORD).send(&alice).await);
    check_not_accepted(&log_in_alone(&server.visitor(), &mut authenticator).await, NOT_ACCEPTED);
}

#[in_memory(&[("site.url", "http://127.0.0.1:8080")])]
async fn a_site_at_a_network_address_offers_no_passkeys(server: Server) {
    let alice = server.register("alice").await;
    assert!(!page(&server.visitor(), "/login").await.text().contains("passkey"));
    assert!(!page(&alice, "/settings/two-factor").await.links_to(ADD));
    let answer = server.visitor().get("/login/passkey").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(Page::of(&answer).alert().unwrap().contains("host name"));
    // An app works everywhere.
    let Protected { .. } = Protected::set_up(&server, alice).await;
    refused(server.visitor().call(&format!("/api/login?username=alice&password={PASSWORD}&code=0")).await);
    assert!(second_step(&server.visitor()).await.text().contains("authenticator app"));
}

#[tokio::test]
async fn wrong_passkeys_count_as_failed_logins_of_their_address() {
    let settings = [SETTINGS[0], ("rates.failed_login_per_address", "3/10m")];
    let server = Server::start(Engine::Memory, &settings).await;
    let visitor = server.visitor();
    let (form, _) = alone(&visitor).await;
    for _ in 0..3 {
        check_not_accepted(&form.clone().with("passkey", "{}").send(&visitor).await, NOT_ACCEPTED);
    }
    assert_eq!(form.with("passkey", "{}").send(&visitor).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(server.dump().await.keys().all(|key| !key.starts_with("passkey:used:")));
}

/// The second factors of an account that registered three passkeys when another crate checked them.
const REGISTERED_BEFORE: &str = include_str!("passkeys/registered_before.json");

/// The keys of those passkeys. The number of each is its counter and the bytes of its id.
fn earlier_keys() -> [(u8, Key); 3] {
    [
        (1, Key::Es256(SigningKey::from_slice(&[7; 32]).unwrap())),
        (2, ed25519(7)),
        (3, Key::Rs256(Arc::new(RsaKeyPair::from_pkcs8(include_bytes!("passkeys/rsa.der")).unwrap()))),
    ]
}

fn ed25519(seed: u8) -> Key {
    Key::Ed25519(Arc::new(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()))
}

/// Gives an account these passkeys, and returns their authenticators.
async fn give_earlier_passkeys(server: &Server, user_id: u64) -> Vec<Authenticator> {
    let factors: BTreeMap<String, String> = serde_json::from_str(REGISTERED_BEFORE).unwrap();
    // A site with passkeys has drawn the key with which it signs challenges.
    server.write(|batch| batch.set("signing.key", "7".repeat(40))).await;
    let user = format!("user:{user_id}");
    server.set_field(&user, "two_factor", "passkeys").await;
    for (field, value) in &factors {
        server.set_field(&format!("{user}:two_factor"), field, value).await;
    }
    let authenticator = |(number, key): (u8, Key)| {
        let mut authenticator = Authenticator::with_key(key, vec![number; 32], (ORIGIN, HOST));
        authenticator.counter = number.into();
        authenticator.take_user(user_id);
        authenticator
    };
    earlier_keys().into_iter().map(authenticator).collect()
}

#[each_engine("other versions", &SETTINGS)]
async fn passkeys_of_the_version_before_go_on_working(server: Server) {
    let alice = server.register("alice").await;
    let authenticators = give_earlier_passkeys(&server, 1).await;
    crate::store_check::demand_clean(&server).await;
    assert_eq!(page(&alice, "/settings/two-factor").await.all("strong").count(), 3);
    let visitor = server.visitor();
    for mut authenticator in authenticators {
        // A copy that has counted no further is noticed.
        let mut copy = authenticator.clone();
        assert_eq!(redirects_to(&log_in_alone(&visitor, &mut authenticator).await), "/latest/0");
        check_not_accepted(&log_in_alone(&visitor, &mut copy).await, NOT_ACCEPTED);
        // Some browsers do not say whose passkey it is.
        authenticator.forget_user();
        let step = second_step(&visitor).await;
        let options = options(&step, "/login/code");
        assert_eq!(options["allowCredentials"].as_array().map(Vec::len), Some(3));
        assert_eq!(redirects_to(&finish(&visitor, &step, &authenticator.get(&options)).await), "/");
    }
    crate::store_check::demand_clean(&server).await;
}

#[in_memory(&SETTINGS)]
async fn what_is_not_right_about_a_passkey_of_another_kind_is_refused(server: Server) {
    server.register("alice").await;
    let authenticators = give_earlier_passkeys(&server, 1).await;
    let visitor = server.visitor();
    let [_, of_ed25519, of_rsa] = &*authenticators else { unreachable!() };
    refuse_mistakes(&visitor, of_ed25519, &|passkey| passkey.take_key(ed25519(8))).await;
    refuse_mistakes(&visitor, of_rsa, &|passkey| passkey.take_key_of(of_ed25519)).await;
}

#[in_memory(&SETTINGS)]
async fn new_passkeys_are_of_the_kinds_that_the_site_asks_for(server: Server) {
    let alice = server.register("alice").await;
    for (number, key) in earlier_keys() {
        let begun = begin(&alice, "key").await;
        let options = options(&begun, CONFIRM);
        assert_eq!(each(&options["pubKeyCredParams"], "alg"), [-7, -35, -257]);
        assert_eq!(options["authenticatorSelection"]["residentKey"], "preferred");
        assert_eq!(options["authenticatorSelection"]["userVerification"], "preferred");
        let is_asked_for = !matches!(key, Key::Ed25519(_));
        let passkey = Authenticator::with_key(key, vec![number; 32], (ORIGIN, HOST)).create(&options);
        let answer = begun.form(CONFIRM).with("passkey", &passkey).send(&alice).await;
        assert_eq!(answer.status == StatusCode::UNPROCESSABLE_ENTITY, !is_asked_for, "{number}");
    }
    crate::store_check::demand_clean(&server).await;
}
