//! Every page passes axe-core: wide and narrow, light and dark.

use serde_json::Value;

use crate::axe::{RUN_AXE, axe_source, check_page};
use crate::showcase::{Showcase, Viewer};

async fn check_pages_of(viewer: Viewer) {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(viewer).await;
    for (_, page) in Showcase::pages().iter().filter(|(who, _)| *who == viewer) {
        browser.go(page).await;
        // Only the pages that should show an error do.
        let is_refused = Showcase::is_refused(viewer, page);
        assert_eq!(browser.count(".trouble").await, usize::from(is_refused), "{page}");
        // The console has one message for the status of an error page, and no others, such as
        // about the content security policy or a missing file.
        let messages = browser.console_messages().await;
        assert_eq!(messages.len(), usize::from(is_refused), "{page}: {messages:?}");
        check_page(&browser, &axe, &format!("{viewer:?}{page}")).await;
    }
}

#[tokio::test]
async fn pages_for_visitors_are_accessible() {
    check_pages_of(Viewer::Anonymous).await;
}

#[tokio::test]
async fn pages_for_members_are_accessible() {
    check_pages_of(Viewer::Member).await;
}

#[tokio::test]
async fn pages_for_administrators_are_accessible() {
    check_pages_of(Viewer::Administrator).await;
}

#[tokio::test]
async fn errors_selections_and_the_help_are_accessible() {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Member).await;
    browser.go("/submit").await;
    browser.fill("Title", "No content").await;
    browser.press("Submit").await;
    browser.wait_for("[role=alert]").await;
    check_page(&browser, &axe, "a rejected submission").await;

    browser.go(&Showcase::thread()).await;
    browser.click("a[href^='/reply/']").await;
    browser.wait_for(".in-place textarea:focus").await;
    check_page(&browser, &axe, "a reply in place").await;
    browser.fill("Your reply", "See https://example.com/").await;
    browser.click(".in-place [name=preview]").await;
    browser.wait_for(".preview:not([hidden]) .text a").await;
    check_page(&browser, &axe, "a preview").await;

    browser.go("/").await;
    browser.press_key('j').await;
    browser.wait_for(".current").await;
    browser.click(".vote .up:not(:disabled)").await;
    check_page(&browser, &axe, "a selected story").await;
    browser.press_key('?').await;
    browser.wait_for("dialog[open]").await;
    check_page(&browser, &axe, "the help").await;
}

#[tokio::test]
async fn axe_reports_violations() {
    // The other tests would also pass with a checker that finds nothing.
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Anonymous).await;
    browser.go("/about").await;
    browser.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x>')").await;
    browser.run(&axe).await;
    let outcome: Value = browser.run_async(RUN_AXE, Vec::new()).await;
    assert!(outcome["found"][0].as_str().is_some_and(|line| line.contains("image-alt")), "{outcome}");
}
