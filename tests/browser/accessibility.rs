//! Every page passes axe-core: wide and narrow, light and dark.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tidings_domain::keys;
use tidings_domain::report::BackupReport;
use tidings_domain::values::Timestamp;
use tidings_web::route::{ErrorFormat, Facts};
use tidings_web::router::routes;

use crate::axe::{RUN_AXE, axe_source, check_page};
use crate::browser::Browser;
use crate::routes::routes_where;
use crate::server::{Engine, Server};
use crate::showcase::{Showcase, Viewer};

/// Addresses with something else than a page of their own, beside feeds, files and answers to programs: what is for one
/// reader or for crawlers, and redirects to pages.
const NOT_PAGES: [&str; 22] = [
    "/.well-known/change-password",
    "/comment/{news}/{comment}",
    "/feeds/following.opml",
    "/health/live",
    "/health/ready",
    "/home/events",
    "/inbox/feed/{secret}",
    "/inbox/feed/{secret}/json",
    "/item",
    "/latest",
    "/login/code",
    // It needs a token; `single_sign_on.rs` opens it.
    "/login/link/{token}",
    // These need a provider; `single_sign_on.rs` opens them.
    "/oidc/callback",
    "/oidc/login",
    "/settings/sign-in",
    "/opensearch.xml",
    "/random",
    "/replies",
    "/search.atom",
    "/search.json",
    // It needs a passkey; `passkeys.rs` opens it.
    "/settings/two-factor/passkeys/remove",
    "/sitemap.xml",
];

/// The addresses of pages.
fn pages() -> BTreeSet<String> {
    let is_page = |facts: &Facts| facts.errors == ErrorFormat::Page && !facts.is_for_everyone();
    let mut routes = routes_where(|route| route.get.filter(is_page));
    routes.remove("/sitemap/{page}");
    for known in NOT_PAGES {
        assert!(routes.remove(known), "{known} is gone");
    }
    routes
}

/// A new page is checked as soon as it exists.
#[test]
fn all_pages_are_in_the_showcase() {
    let pages = pages();
    assert!(pages.len() > 60, "{pages:?}");
    let path = |page: &str| page.split('?').next().unwrap_or_default().to_owned();
    let route_of = |page: &str| routes().find(&Method::GET, &path(page)).pattern();
    let shown: BTreeSet<&str> = Showcase::pages().iter().map(|(_, page)| route_of(page)).collect();
    let missing: Vec<_> = pages.iter().filter(|route| !shown.contains(route.as_str())).collect();
    assert!(missing.is_empty(), "pages that the showcase does not have: {missing:?}");
}

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

/// Sends a form with what it refuses, and checks the page with its errors.
async fn check_refusal(browser: &Browser, axe: &str, page: &str, (label, text, button): (&str, &str, &str)) {
    browser.go(page).await;
    browser.fill(label, text).await;
    browser.press(button).await;
    browser.wait_for("[role=alert]").await;
    check_page(browser, axe, &format!("a refusal{page}")).await;
}

#[tokio::test]
async fn forms_with_errors_are_accessible() {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Anonymous).await;
    let wrong = ("Username", "jun", "Log in");
    browser.go("/login").await;
    browser.fill("Password", "not the password").await;
    browser.fill(wrong.0, wrong.1).await;
    browser.press(wrong.2).await;
    browser.wait_for("[role=alert]").await;
    check_page(&browser, &axe, "a refused login").await;
    browser.log_in_as(&showcase.administrator).await;
    let contact = ("Contact", "nonsense", "Save");
    check_refusal(&browser, &axe, "/admin/site", contact).await;
    browser.log_in_as(&showcase.member).await;
    check_refusal(&browser, &axe, "/submit", ("Title", "No content", "Submit")).await;
    check_refusal(&browser, &axe, "/settings/mail", ("E-mail address", "nonsense", "Save")).await;
    browser.go("/submit").await;
    browser.fill("Title", "A story").await;
    browser.fill("Text", "See https://example.com/").await;
    browser.press("Preview").await;
    browser.wait_for(".preview .text a").await;
    check_page(&browser, &axe, "a preview of a story").await;
}

#[tokio::test]
async fn threads_selections_and_the_help_are_accessible() {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Member).await;
    browser.go("/").await;
    assert!(browser.count(".new-count").await > 0, "a thread has new comments");
    browser.go(&Showcase::thread()).await;
    assert!(browser.count(".is-new").await > 0, "new comments are marked");
    browser.click("#comment-1 > .branch > summary").await;
    browser.wait_for("#comment-1 > .branch:not([open])").await;
    check_page(&browser, &axe, "a thread with what is new and a collapsed branch").await;
    browser.press("Collapse all").await;
    browser.wait_until_gone(".thread > li > .branch[open]").await;
    check_page(&browser, &axe, "a thread with all branches collapsed").await;
    browser.press("Expand all").await;

    browser.click("a[href^='/reply/']").await;
    browser.wait_for(".in-place textarea:focus").await;
    check_page(&browser, &axe, "a reply in place").await;
    browser.fill("Your reply", "See https://example.com/").await;
    browser.click(".in-place [name=preview]").await;
    browser.wait_for(".preview:not([hidden]) .text a").await;
    check_page(&browser, &axe, "a preview").await;
    browser.set_offline(true).await;
    browser.press("Reply").await;
    browser.wait_for("[data-again]").await;
    browser.set_offline(false).await;
    check_page(&browser, &axe, "a reply that was not sent").await;

    browser.go("/").await;
    browser.press_key('j').await;
    browser.wait_for(".current").await;
    browser.click(".vote .up:not(:disabled)").await;
    check_page(&browser, &axe, "a selected story").await;
    browser.enter("[formaction='/hide']").await;
    browser.wait_for(".undone button").await;
    check_page(&browser, &axe, "a story that was hidden").await;
    browser.press_key('?').await;
    browser.wait_for("dialog[open]").await;
    check_page(&browser, &axe, "the help").await;
}

#[tokio::test]
async fn the_administration_page_is_accessible_with_its_charts_its_tables_and_what_is_urgent() {
    let axe = axe_source();
    let showcase = Showcase::start().await;
    let server = &showcase.server;
    server.app.site.of::<BackupReport>().failed(Timestamp(server.now()), "the disk is full".to_owned());
    // New accounts wait: that is urgent.
    server.write(|batch| batch.set_expiring(keys::SIGNUP_PAUSED, "1", Duration::from_secs(3_600))).await;
    let browser = showcase.open(Viewer::Administrator).await;
    browser.go("/admin").await;
    assert!(browser.count(".attention .urgent").await > 0);
    assert!(browser.count(".charts svg rect.one").await > 0);
    let tables = browser.count("details.figures").await;
    browser
        .run("document.querySelectorAll('details.figures').forEach((table) => { table.open = true; })")
        .await;
    assert_eq!((tables, browser.count("details.figures[open] tbody tr").await), (1, 24));
    check_page(&browser, &axe, "the administration page with everything open").await;
    browser.go("/admin?tab=server").await;
    // "53 seconds" is one line on a phone: its box is less than two lines high.
    browser.emulate_phone().await;
    browser.run("document.querySelectorAll('.facts dd').forEach((value) => { value.textContent = '53 seconds'; })").await;
    let broken = "return [...document.querySelectorAll('.facts dd')].filter((value) =>
        value.clientHeight >= 2 * parseFloat(getComputedStyle(value).lineHeight)).length";
    assert_eq!(browser.run(broken).await, 0);
}

#[tokio::test]
async fn axe_reports_violations() {
    // The other tests would also pass with a checker that finds nothing.
    let axe = axe_source();
    let server = Server::start(Engine::Memory, &[]).await;
    let browser = Browser::open(&server).await;
    browser.go("/about").await;
    browser.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x>')").await;
    browser.run(&axe).await;
    let outcome: Value = browser.run_async(RUN_AXE, Vec::new()).await;
    assert!(outcome["found"][0].as_str().is_some_and(|line| line.contains("image-alt")), "{outcome}");
}
