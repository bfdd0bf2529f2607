//! Passkeys with the virtual authenticator of Chromium, and what people see without one.

use serde_json::json;

use crate::browser::Browser;
use crate::client::PASSWORD;
use crate::server::{Engine, Server};

/// A name: passkeys do not work for network addresses. Browsers trust it without https.
const HOST: &str = "news.localhost";
const SETTINGS: [(&str, &str); 1] = [("site.url", "http://news.localhost")];

/// Plugs an authenticator in. It answers as if its owner had entered the right PIN.
async fn plug_in(browser: &Browser) -> String {
    browser.cdp("WebAuthn.enable", json!({})).await;
    let options = json!({
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": true,
        "hasUserVerification": true,
        "isUserVerified": true,
    });
    let added = browser.cdp("WebAuthn.addVirtualAuthenticator", json!({ "options": options })).await;
    added["authenticatorId"].as_str().unwrap().to_owned()
}

async fn log_out(browser: &Browser) {
    browser.log_out().await;
    browser.wait_until_logged_out().await;
}

async fn add_passkey(browser: &Browser, name: &str) {
    browser.go("/settings/two-factor").await;
    browser.follow("Add a passkey").await;
    browser.fill("Name", name).await;
    browser.fill("Your password", PASSWORD).await;
    browser.press("Continue").await;
    browser.press("Create the passkey").await;
}

#[tokio::test]
async fn a_passkey_is_added_and_logs_in_alone_and_as_the_second_step() {
    let server = Server::start(Engine::Memory, &SETTINGS).await;
    let alice = server.register("alice").await;
    let browser = Browser::open_at(&server, HOST).await;
    plug_in(&browser).await;
    browser.log_in_as(&alice).await;
    add_passkey(&browser, "My laptop").await;
    browser.wait_for_text("h1", "Your recovery codes").await;
    assert_eq!(browser.count(".codes li").await, 10);
    browser.follow("I have saved them").await;
    assert_eq!(browser.text(".people strong").await, "My laptop");

    // Alone: the browser asks as soon as the page is open.
    log_out(&browser).await;
    browser.go("/login?next=%2Flatest%2F0").await;
    browser.follow("Log in with a passkey").await;
    browser.wait_until_logged_in("alice").await;
    assert_eq!(browser.address().await, "/latest/0");

    // As the second step.
    log_out(&browser).await;
    browser.go("/login").await;
    browser.fill("Username", "alice").await;
    browser.fill("Password", PASSWORD).await;
    browser.press("Log in").await;
    browser.press("Use your passkey").await;
    browser.wait_until_logged_in("alice").await;

    // The same device has only one, and says so.
    add_passkey(&browser, "Again").await;
    browser.wait_for_text("form [role=alert]", "This device already has a passkey for your account.").await;

    // It is removed with the password.
    browser.go("/settings/two-factor").await;
    browser.click(".people .button").await;
    browser.fill("Your password", PASSWORD).await;
    browser.press("Remove the passkey").await;
    browser.wait_for_text("main [role=status]", "Done.").await;
    assert_eq!(browser.count(".people li").await, 0);
}

#[tokio::test]
async fn a_passkey_that_is_not_there_leaves_the_other_ways() {
    let server = Server::start(Engine::Memory, &SETTINGS).await;
    let browser = Browser::open_at(&server, HOST).await;
    plug_in(&browser).await;
    browser.go("/login/passkey").await;
    let told = "Couldn't use the passkey, or you cancelled it. Try again.";
    browser.wait_for_text("form [role=alert]", told).await;
    browser.follow("Log in with your password").await;
    browser.wait_for("#password").await;
}

#[tokio::test]
async fn without_a_script_the_pages_say_that_passkeys_need_one() {
    let server = Server::start(Engine::Memory, &SETTINGS).await;
    let browser = Browser::open_at(&server, HOST).await;
    browser.disable_javascript().await;
    browser.go("/login/passkey").await;
    assert!(browser.text("[data-no-passkeys]").await.contains("need JavaScript"));
    assert_eq!(browser.text("main form").await, "");
}
