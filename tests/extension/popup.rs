//! Voting in the popup, and its messages when the server rejects a vote.

use serde_json::json;

use crate::axe::{axe_source, check_page};
use crate::client::ok;
use crate::extension::{Extension, server_with_scores};
use crate::server::{Engine, Server, Settings};

const SITE: &str = "https://quiet.example/tides?a=b";
const GOOD: &str = "#votes button[value='1']";
const BAD: &str = "#votes button[value='-1']";
const BACK: &str = "#votes button[value='0']";

/// The sum and the number of votes on a site.
async fn tally(server: &Server, host: &str) -> (i64, i64) {
    let key = format!("link:{host}");
    (server.number(&key, "sum_of_votes").await, server.number(&key, "count_of_votes").await)
}

/// Starts a server, and opens the popup on a site without votes.
async fn popup(settings: Settings<'_>) -> (Server, Extension) {
    let server = server_with_scores(settings).await;
    let extension = Extension::start_with(&server).await;
    extension.open_popup_on(SITE).await;
    (server, extension)
}

#[tokio::test]
async fn a_vote_is_cast_changed_shown_again_and_taken_back() {
    let (server, extension) = popup(&[]).await;
    let browser = &extension.browser;
    browser.wait_for_text("#host", "quiet.example").await;
    browser.wait_for_text("#score", "Not enough votes yet").await;
    assert_eq!(browser.count("#votes button[aria-pressed=true]").await, 0);
    // There is no voter ID before the first vote.
    assert_eq!(extension.voter(&server).await, json!(null));

    browser.click(GOOD).await;
    browser.wait_for_text("#said", "Your vote has been counted. Thank you.").await;
    browser.wait_for("#votes button[value='1'][aria-pressed=true]").await;
    assert_eq!(tally(&server, "quiet.example").await, (1, 1));
    let voter = extension.voter(&server).await;
    assert_eq!(voter.as_str().unwrap().len(), 36);

    browser.click(BAD).await;
    browser.wait_for("#votes button[value='-1'][aria-pressed=true]").await;
    assert_eq!(tally(&server, "quiet.example").await, (-1, 1));

    extension.open_popup_on("https://quiet.example./other").await;
    browser.wait_for("#votes button[value='-1'][aria-pressed=true]").await;
    browser.click(BACK).await;
    browser.wait_for_text("#said", "Your vote has been taken back.").await;
    assert_eq!(tally(&server, "quiet.example").await, (0, 0));
    assert_eq!(browser.count("#votes button[aria-pressed=true]").await, 0);
    assert_eq!(extension.voter(&server).await, voter);
}

#[tokio::test]
async fn a_vote_as_the_original_extension_sends_it_from_its_popup_is_taken() {
    // Its whole request: the browser adds the content type and the origin of the extension.
    const SCRIPT: &str = "
        const [server, done] = arguments;
        const vote = { link: { hostname: 'quiet.example' }, value: 1, user_id: 'beda0000-0822-4342-0990-b92d94d9489a' };
        fetch(server + '/v1/vote', { method: 'POST', body: JSON.stringify(vote) })
            .then((response) => done(response.status), (error) => done(String(error)));
    ";
    let (server, extension) = popup(&[]).await;
    let address = json!(crate::extension::address_of(&server));
    assert_eq!(extension.browser.run_async(SCRIPT, vec![address]).await, json!(200));
    assert_eq!(tally(&server, "quiet.example").await, (1, 1));
}

#[tokio::test]
async fn a_vote_that_changes_the_score_is_shown_at_once() {
    let (_server, extension) = popup(&[]).await;
    let browser = &extension.browser;
    for (site, said) in [
        ("good.example", "✓ Good site"),
        ("bad.example", "✗ Bad site"),
        ("mixed.example", "± Controversial site"),
    ] {
        extension.open_popup_on(&format!("http://{site}:8080/")).await;
        browser.wait_for_text("#score", said).await;
    }
    // The site has just enough bad votes: one good vote changes its score.
    extension.open_popup_on("https://bad.example/").await;
    browser.click(GOOD).await;
    browser.wait_for_text("#score", "Not enough votes yet").await;
}

#[tokio::test]
async fn pages_without_a_site_cannot_be_voted_on() {
    let (_server, extension) = popup(&[]).await;
    for address in ["chrome://newtab/", "https://127.0.0.1/", "https://localhost/", "file:///etc/passwd"] {
        extension.open_popup_on(address).await;
        let says = "You can't vote on this page. Go to a web site and try again.";
        extension.popup_says("#failed", says).await;
        assert!(!extension.browser.wait_for(GOOD).await.is_displayed().await.unwrap());
    }
}

#[tokio::test]
async fn without_a_server_the_popup_refers_to_the_options() {
    let extension = Extension::start().await;
    extension.open_popup_on(SITE).await;
    extension.popup_says("#failed", "You haven't chosen a server yet. Choose one in the options.").await;
    assert_eq!(extension.stored().await, json!({}));
}

/// Votes on a site and checks that the vote is rejected with this message.
async fn check_refusal(extension: &Extension, says: &str) {
    extension.browser.click(GOOD).await;
    extension.popup_says("#failed", says).await;
    assert_eq!(extension.browser.count("#votes button[aria-pressed=true]").await, 0);
}

#[tokio::test]
async fn rejected_votes_are_explained() {
    let (server, extension) = popup(&[]).await;
    let browser = &extension.browser;
    server.set_field("settings", "voting_is_disabled", "1").await;
    let disabled = "Voting is turned off on this server. Try again later.";
    check_refusal(&extension, disabled).await;

    server.set_field("settings", "voting_is_disabled", "0").await;
    server.set_field("settings", "maximum_votes_per_user_per_day", "1").await;
    browser.click(GOOD).await;
    browser.wait_for_text("#said", "Your vote has been counted. Thank you.").await;
    assert!(!browser.wait_for("#failed").await.is_displayed().await.unwrap());
    extension.open_popup_on("https://good.example/").await;
    let too_many = "You have reached today's limit for votes on new sites, or your network has reached \
                    its limit for this site. Try again tomorrow. You can still change your existing votes.";
    check_refusal(&extension, too_many).await;

    let voter = extension.voter(&server).await.as_str().unwrap().to_owned();
    let admin = server.administrator("admin").await;
    ok(admin.api_post("/api/sites/admin/ban", &[("user_id", &voter)]).await);
    check_refusal(&extension, "You are banned from voting on this server.").await;
    assert_eq!(tally(&server, "good.example").await, (20, 20));
}

#[tokio::test]
async fn the_limit_on_new_voters_is_explained() {
    let server = Server::start(Engine::Memory, &[("limits.new_voters_per_day", "1")]).await;
    let extension = Extension::start_with(&server).await;
    extension.open_popup_on(SITE).await;
    let other = json!({
        "link": "quiet.example", "vote": 1, "user_id": "beda0000-0822-4342-0990-b92d94d9489a"
    });
    let answer = server.visitor().post_bytes("/vote", "text/plain", other.to_string().into_bytes()).await;
    assert_eq!(answer.status, 204);
    let says = "Your network has reached today's limit for new voters. Try again tomorrow.";
    check_refusal(&extension, says).await;
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let (server, extension) = popup(&[]).await;
    extension.browser.wait_for_text("#score", "Not enough votes yet").await;
    server.stop().await;
    let says = "Can't reach the server. Check your connection and the server address in the options.";
    check_refusal(&extension, says).await;
    extension.open_popup_on("https://other.example/").await;
    extension.popup_says("#failed", says).await;
}

#[tokio::test]
async fn the_pages_are_accessible() {
    let (_server, extension) = popup(&[]).await;
    let axe = axe_source();
    let browser = &extension.browser;
    extension.open_popup_on("https://good.example/").await;
    browser.click(GOOD).await;
    browser.wait_for("#said:not([hidden])").await;
    check_page(browser, &axe, "popup").await;
    extension.open_popup_on("chrome://newtab/").await;
    check_page(browser, &axe, "popup-without-a-site").await;
    extension.open("options").await;
    extension.save_server("ftp://wrong").await;
    browser.wait_for("#server-error:not([hidden])").await;
    check_page(browser, &axe, "options").await;
    browser.go_to_url(&extension.page("help")).await;
    check_page(browser, &axe, "help").await;
    let messages = browser.console_messages().await;
    assert!(messages.is_empty(), "{messages:?}");
}
