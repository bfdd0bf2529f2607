//! Tests of the browser extension in a headless Chromium, and of its package in
//! Firefox: result pages, popup and options, with a real server in this process.
//!
//! The result pages are in `pages/`, and are served under the hosts of the
//! engines. A script replaces two things that a headless Chromium lacks: the tab
//! behind the popup (the tests open the popup by its address), and the
//! browser's permission prompt.
//!
//! With `TIDINGS_SCREENSHOTS=FOLDER`, the tests save screenshots of all pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod extension;
mod result_pages;

#[path = "../browser/axe.rs"]
#[allow(dead_code)]
mod axe;
#[path = "../browser/browser.rs"]
#[allow(dead_code)]
mod browser;
#[path = "../browser/chromedriver.rs"]
mod chromedriver;
#[path = "../it/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../../crates/keyspace/src/redis_server.rs"]
mod redis_server;
#[path = "../it/server.rs"]
#[allow(dead_code)]
mod server;

mod firefox;
mod marks;
mod options;
mod popup;
