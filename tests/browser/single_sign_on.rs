//! A login at a sign-in service, from the button to the way back.

use std::time::Duration;

use serde_json::json;
use tidings_domain::accounts::login_link;
use tidings_domain::values::UserId;

use crate::axe::{axe_source, check_page};
use crate::browser::Browser;
use crate::oidc_provider::OidcProvider;
use crate::server::Server;

const HOST: &str = "news.localhost";
const BUTTON: &str = "Log in with single sign-on";

async fn wait_for_button(browser: &Browser) {
    browser
        .wait_until("the button is there", async || {
            browser.go("/login?next=%2Flatest%2F0").await;
            browser.count("main a[href^='/oidc/login']").await > 0
        })
        .await;
}

#[tokio::test]
async fn somebody_signs_up_at_the_provider_comes_back_and_changes_their_mind() {
    let Some(provider) = OidcProvider::start(&format!("http://{HOST}")) else { return };
    let claims = json!({
        "sub": "subject-of-alice",
        "preferred_username": "alice",
        "email": "alice@example.com",
        "email_verified": true,
    });
    provider.set_account("alice", claims).await;
    let server = Server::start_adjusted(&provider.settings(), |settings| {
        settings.oidc.as_mut().unwrap().retry_every = Duration::from_millis(20);
    })
    .await;
    let browser = Browser::open_at(&server, HOST).await;
    let axe = axe_source();
    wait_for_button(&browser).await;
    check_page(&browser, &axe, "login").await;
    browser.follow(BUTTON).await;
    browser.fill("Name", "alice").await;
    browser.press("Continue").await;
    browser.wait_for("form[action='/register']").await;
    assert_eq!(browser.field_value("Username").await, "alice");
    check_page(&browser, &axe, "sign-in-register").await;
    browser.fill("Username", "alicia").await;
    browser.click("form[action='/register'] button:not([type=button])").await;
    browser.wait_until_logged_in("alicia").await;
    browser.go("/settings/sign-in").await;
    check_page(&browser, &axe, "sign-in-settings").await;

    // The provider still knows the browser.
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    browser.go("/login?next=%2Flatest%2F0").await;
    browser.follow(BUTTON).await;
    browser.wait_until_logged_in("alicia").await;
    browser.arrive("/latest/0").await;

    // And then it does not.
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    browser.cdp("Network.clearBrowserCookies", json!({})).await;
    browser.go("/login?next=%2Flatest%2F0").await;
    browser.follow(BUTTON).await;
    browser.press("Cancel").await;
    browser.wait_for("p[role=alert]").await;
    browser.wait_until_logged_out().await;
    // From there, it goes on.
    browser.follow(BUTTON).await;
    browser.fill("Name", "alice").await;
    browser.press("Continue").await;
    browser.wait_until_logged_in("alicia").await;
    browser.arrive("/latest/0").await;

    // The operator has another way for an administrator.
    browser.log_out().await;
    browser.wait_until_logged_out().await;
    let token = login_link::make(&server.app.site, server.app.now(), UserId(1)).await.unwrap();
    browser.go(&format!("/login/link/{token}")).await;
    check_page(&browser, &axe, "login-link").await;
    browser.press("Log in as alicia").await;
    browser.wait_until_logged_in("alicia").await;

    let mut problems = browser.console_messages().await;
    problems.retain(|line| line.contains(HOST) && !line.contains("403"));
    assert!(problems.is_empty(), "{problems:?}");
}
