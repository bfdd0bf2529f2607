//! Tests of the browser extension in a headless Chromium, and of its package in
//! Firefox: result pages, popup and options, with a real server in this process.
//!
//! The result pages are in `pages/`, and are served under the hosts of the
//! engines. A script replaces two things that a headless Chromium lacks: the tab
//! behind the popup (the tests open the popup by its address), and the
//! browser's permission prompt.
//!
//! With `TEST_SCREENSHOTS=FOLDER`, the tests save screenshots of all pages.

#![allow(clippy::unwrap_used, clippy::expect_used)]

// The harness, under the names that the files of this test know.
use tidings_testing::{axe, browser, client, server};

mod extension;
mod result_pages;

mod firefox;
mod marks;
mod options;
mod popup;
