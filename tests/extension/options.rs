//! The options, and the help page that opens after the installation.

use serde_json::json;

use crate::extension::{Extension, address_of, server_with_scores};

const SAVED: &str = "Saved. Reload any open result pages to see the changes.";

#[tokio::test]
async fn the_help_opens_after_the_installation() {
    let extension = Extension::start().await;
    let help = extension.page("help");
    extension.open("options").await;
    extension.browser.wait_until("the help is open", async || extension.tabs().await.contains(&help)).await;
    extension.browser.go_to_url(&help).await;
    extension.browser.follow("Choose a server").await;
    extension.browser.arrive("/pages/options.html").await;
}

#[tokio::test]
async fn settings_are_saved_used_and_reset() {
    let server = server_with_scores(&[]).await;
    let extension = Extension::start_with(&server).await;
    let browser = &extension.browser;
    browser.fill("Good", "★").await;
    browser.fill("Bad", " ").await;
    browser.click("[name=lookup][value=plain]").await;
    browser.run("document.getElementById('said').hidden = true").await;
    browser.press("Save").await;
    browser.wait_for_text("#said", SAVED).await;

    extension.open("options").await;
    assert_eq!(browser.field_value("Server address").await, address_of(&server));
    assert_eq!(browser.field_value("Good").await, "★");
    // A blank icon is replaced by the default.
    assert_eq!(browser.field_value("Bad").await, "✗");
    assert_eq!(browser.count("[name=lookup][value=plain]:checked").await, 1);
    let icons = json!({ "good": "★", "controversial": "±", "bad": "✗" });
    let stored = json!({ "server": address_of(&server), "lookup": "plain", "icons": icons });
    assert_eq!(extension.stored().await, stored);

    browser.go_to_url("https://www.google.com/search?q=tides").await;
    browser.wait_for_text(".tidings-mark[data-score=Good]", "★").await;

    extension.open("options").await;
    browser.press("Reset").await;
    browser.wait_for_text("#said", "All options are back to their defaults.").await;
    assert_eq!(extension.stored().await, json!({}));
    assert_eq!(browser.field_value("Server address").await, "");
    assert_eq!(browser.field_value("Good").await, "✓");
    assert_eq!(browser.count("[name=lookup][value=private]:checked").await, 1);
    assert_eq!(extension.permissions("removed").await, json!(["http://127.0.0.1/*"]));
}

#[tokio::test]
async fn a_new_server_is_used_after_its_permission_is_granted() {
    let first = server_with_scores(&[]).await;
    let second = server_with_scores(&[]).await;
    let extension = Extension::start_with(&first).await;
    let browser = &extension.browser;
    extension.open_popup_on("https://quiet.example/").await;
    browser.click("#votes button[value='1']").await;
    browser.wait_for_text("#said", "Your vote has been counted. Thank you.").await;
    let voter = extension.voter(&first).await;
    extension.open("options").await;
    assert_eq!(extension.permissions("requested").await, json!(["http://127.0.0.1/*"]));

    extension.save_server(&format!(" {}/ ", address_of(&second))).await;
    browser
        .wait_until("it is saved", async || extension.stored().await["server"] == json!(address_of(&second)))
        .await;
    let first_address = address_of(&first);
    drop(first);
    extension.open_popup_on("https://quiet.example/").await;
    browser.click("#votes button[value='1']").await;
    browser.wait_for_text("#said", "Your vote has been counted. Thank you.").await;
    assert_eq!(second.number("link:quiet.example", "count_of_votes").await, 1);
    // The second server knows another voter; that of the first one stays.
    let stored = extension.stored().await;
    assert_eq!(stored[format!("voter:{first_address}")], voter);
    let second_voter = extension.voter(&second).await;
    assert_eq!(second_voter.as_str().unwrap().len(), 36);
    assert_ne!(second_voter, voter);
    // Both servers are on the same host, so its permission is still needed.
    assert_eq!(extension.permissions("removed").await, json!([]));
}

#[tokio::test]
async fn without_the_permission_nothing_is_saved() {
    let server = server_with_scores(&[]).await;
    let extension = Extension::start_with(&server).await;
    let browser = &extension.browser;
    browser.run("sessionStorage.setItem('refuses', '')").await;
    extension.save_server("https://tidings.example:8443").await;
    let says = "Not saved. The extension needs access to this server. Choose Save again and allow it.";
    browser.wait_for_text("#server-error", says).await;
    assert_eq!(
        extension.permissions("requested").await,
        json!(["http://127.0.0.1/*", "https://tidings.example/*"])
    );
    assert_eq!(extension.stored().await["server"], json!(address_of(&server)));
}

#[tokio::test]
async fn an_invalid_server_address_shows_an_error() {
    let extension = Extension::start().await;
    extension.open("options").await;
    for address in ["ftp://a.example", "https://user:secret@a.example", "https://a.example/?q=1", "a b"] {
        extension.save_server(address).await;
        let says = "Enter a server address, such as https://tidings.example.";
        extension.browser.wait_for_text("#server-error", says).await;
        assert_eq!(extension.browser.count("#server[aria-invalid=true]:focus").await, 1, "{address}");
        assert_eq!(extension.permissions("requested").await, json!([]));
    }
    assert_eq!(extension.stored().await, json!({}));
}
