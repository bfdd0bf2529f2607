//! Runs axe-core, the accessibility checker, on the current page of a browser.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::browser::Browser;

/// Runs axe and returns a line for each violation.
pub const RUN_AXE: &str = "
    const done = arguments[arguments.length - 1];
    const line = (found) => `${found.impact} ${found.id}: ${found.nodes.map((node) => node.html).join(' | ')}`;
    // The rule on target sizes (WCAG 2.2) is off by default.
    axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })
        .then((outcome) => done({ ran: outcome.passes.length, found: outcome.violations.map(line) }))
        .catch((error) => done({ ran: 0, found: [String(error)] }));
";

/// The source of axe-core, to run on a page.
pub fn axe_source() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser/node_modules/axe-core/axe.min.js");
    fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `npm ci --prefix tests/browser` (./check does)", path.display())
    })
}

/// Checks that axe finds no violations on the current page: wide and light, narrow and dark. No rule of the
/// style sheet is about both the width and the colours. With `TEST_SCREENSHOTS=FOLDER`, saves a screenshot of
/// each of the four.
pub async fn check_page(browser: &Browser, axe: &str, what: &str) {
    browser.run(axe).await;
    let pictures = pictures();
    let all = [("wide", "light"), ("phone", "dark"), ("wide", "dark"), ("phone", "light")];
    for (shape, scheme) in all.into_iter().take(if pictures.is_some() { 4 } else { 2 }) {
        browser.prefer(scheme).await;
        match shape {
            "wide" => browser.resize(1280, 800).await,
            _ => browser.emulate_phone().await,
        }
        if let Some(folder) = &pictures {
            let name = format!("{what}-{shape}-{scheme}.png").replace('/', "_");
            fs::write(folder.join(name), browser.screenshot().await).unwrap();
        }
        if (shape == "wide") == (scheme == "light") {
            check_as_it_is(browser, &format!("{what}, {shape}, {scheme}")).await;
        }
    }
    browser.prefer("light").await;
    browser.resize(1280, 800).await;
}

/// Checks that axe, which the page has loaded, finds no violations in the window as it is.
pub async fn check_as_it_is(browser: &Browser, what: &str) {
    let outcome = browser.run_async(RUN_AXE, Vec::new()).await;
    assert!(outcome["ran"].as_u64() > Some(5), "axe has run: {outcome}");
    assert_eq!(outcome["found"], json!([]), "{what}");
}

/// The folder for screenshots, if any.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("TEST_SCREENSHOTS").map(PathBuf::from)
}
