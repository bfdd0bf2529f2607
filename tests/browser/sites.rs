//! Site reputation: voting on a site, its badge, looking up a site.

use crate::browser::Browser;
use crate::client::Client;
use crate::server::{Engine, Server};
use crate::showcase::{Showcase, Viewer};

async fn site_with_bob() -> (Server, Client) {
    let server = Server::start(Engine::Memory, &[]).await;
    let bob = server.member("bob").await;
    bob.submit_link("A link", "https://example.com/page").await;
    (server, bob)
}

/// Votes on a site from the front page, changes the vote and takes it back.
async fn check_voting(server: &Server, browser: &Browser) {
    browser.go("/").await;
    browser.follow("example.com").await;
    browser.arrive("/site/example.com").await;
    for (button, pressed, sum) in [("Good site", "1", 1), ("Bad site", "-1", -1)] {
        browser.press(button).await;
        browser.wait_for(&format!(".verdict button[value='{pressed}'][aria-pressed=true]")).await;
        assert_eq!(server.number("link:example.com", "sum_of_votes").await, sum);
    }
    browser.arrive("/site/example.com").await;
    browser.press("Take back my vote").await;
    browser.wait_until_gone(".verdict button[aria-pressed=true]").await;
    assert_eq!(server.number("link:example.com", "count_of_votes").await, 0);
}

#[tokio::test]
async fn a_site_is_voted_on_with_and_without_javascript() {
    let (server, bob) = site_with_bob().await;
    let browser = Browser::open_as(&server, &bob).await;
    check_voting(&server, &browser).await;
    browser.disable_javascript().await;
    check_voting(&server, &browser).await;
}

#[tokio::test]
async fn visitors_log_in_to_vote_and_return_to_the_site() {
    let (server, _) = site_with_bob().await;
    let browser = Browser::open(&server).await;
    browser.go("/site/example.com").await;
    browser.follow("Log in to vote on this site").await;
    browser.arrive("/login?next=%2Fsite%2Fexample%2Ecom&reason=vote").await;
}

#[tokio::test]
async fn a_site_is_looked_up_and_an_invalid_name_shows_an_error() {
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Anonymous).await;
    browser.go("/").await;
    browser.click(".site-header .menu:not(.own) summary").await;
    browser.click(".site-header a[href='/sites']").await;
    browser.arrive("/sites").await;
    assert!(browser.text(".site-score.good").await.contains("good"));
    browser.fill("Look up a site", "not a site").await;
    browser.press("Look up").await;
    assert!(browser.text("[role=alert]").await.contains("not a site"));
    browser.fill("Look up a site", "https://LWN.net/Articles/").await;
    browser.press("Look up").await;
    browser.arrive("/site/lwn.net").await;
    // The chart has a text alternative.
    let told = browser.run("return document.querySelector('.chart svg').getAttribute('aria-label')").await;
    assert_eq!(told.as_str().unwrap().split(' ').take(4).collect::<Vec<_>>().join(" "), "65 good, 3 bad");
}
