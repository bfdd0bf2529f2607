//! Every page passes axe-core, wide and narrow, light and dark.

use serde_json::Value;

use crate::axe::{RUN_AXE, axe_source, check_page};
use crate::showcase::{Showcase, Viewer};

async fn check_pages_of(viewer: Viewer) {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(viewer).await;
    for (_, page) in Showcase::pages().iter().filter(|(who, _)| *who == viewer) {
        browser.go(page).await;
        // An error page must be meant to be one.
        let is_refused = Showcase::is_refused(viewer, page);
        assert_eq!(browser.count(".trouble").await, usize::from(is_refused), "{page}");
        // The browser tells the status of an error page, and nothing else: neither of the
        // content security policy nor of a missing file.
        let complaints = browser.complaints().await;
        assert_eq!(complaints.len(), usize::from(is_refused), "{page}: {complaints:?}");
        check_page(&browser, &axe, &format!("{viewer:?}{page}")).await;
    }
}

#[tokio::test]
async fn the_pages_of_visitors_are_accessible() {
    check_pages_of(Viewer::Anonymous).await;
}

#[tokio::test]
async fn the_pages_of_members_are_accessible() {
    check_pages_of(Viewer::Member).await;
}

#[tokio::test]
async fn the_pages_of_administrators_are_accessible() {
    check_pages_of(Viewer::Administrator).await;
}

#[tokio::test]
async fn refusals_selections_and_the_help_are_accessible() {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Member).await;
    browser.go("/submit").await;
    browser.fill("Title", "No content").await;
    browser.press("Submit").await;
    browser.wait_for("[role=alert]").await;
    check_page(&browser, &axe, "a refused submission").await;

    browser.go("/").await;
    browser.strike('j').await;
    browser.wait_for(".current").await;
    browser.click(".vote .up:not(:disabled)").await;
    check_page(&browser, &axe, "a selected item").await;
    browser.strike('?').await;
    browser.wait_for("dialog[open]").await;
    check_page(&browser, &axe, "the help").await;
}

#[tokio::test]
async fn axe_finds_what_is_wrong() {
    // The other tests would pass with a checker that finds nothing.
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Anonymous).await;
    browser.go("/about").await;
    browser.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x>')").await;
    browser.run(&axe).await;
    let outcome: Value = browser.run_async(RUN_AXE, Vec::new()).await;
    assert!(outcome["found"][0].as_str().is_some_and(|line| line.contains("image-alt")), "{outcome}");
}
