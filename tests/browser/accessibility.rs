//! Every page passes axe-core, wide and narrow, light and dark.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::showcase::{Showcase, Viewer};

/// Runs axe and answers a line for each finding.
const RUN_AXE: &str = "
    const done = arguments[arguments.length - 1];
    const line = (found) => `${found.impact} ${found.id}: ${found.nodes.map((node) => node.html).join(' | ')}`;
    // The size of targets is of WCAG 2.2, and off unless asked for.
    axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })
        .then((outcome) => done({ ran: outcome.passes.length, found: outcome.violations.map(line) }))
        .catch((error) => done({ ran: 0, found: [String(error)] }));
";

fn axe_source() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/node_modules/axe-core/axe.min.js");
    fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `npm ci --prefix tests/browser` (./check does)", path.display())
    })
}

/// Demands that axe finds nothing on the page as it is shown now.
async fn check_page(browser: &Browser, axe: &str, what: &str) {
    browser.run(axe).await;
    for (shape, scheme) in [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")] {
        browser.prefer(scheme).await;
        match shape {
            "wide" => browser.resize(1280, 800).await,
            _ => browser.become_phone().await,
        }
        let outcome = browser.run_async(RUN_AXE, Vec::new()).await;
        assert!(outcome["ran"].as_u64() > Some(5), "axe has run: {outcome}");
        assert_eq!(outcome["found"], json!([]), "{what}, {shape}, {scheme}");
        if let Some(folder) = pictures() {
            let name = format!("{what}-{shape}-{scheme}.png").replace('/', "_");
            fs::write(folder.join(name), browser.picture().await).unwrap();
        }
    }
    browser.prefer("light").await;
    browser.resize(1280, 800).await;
}

/// Where to keep pictures, when they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("TIDINGS_SCREENSHOTS").map(PathBuf::from)
}

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
