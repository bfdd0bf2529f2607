//! The browser extension in a headless Chromium, and its package in Firefox: on result pages of engines,
//! in its popup and its options, with a real server in this process.
//!
//! The result pages are in `pages/`, served under the engines' own names. Two
//! things a headless browser does not have, and a script puts in their place:
//! the tab below the popup (the popup is opened by its address), and the
//! browser's own question whether a permission is given.
//!
//! With `TIDINGS_SCREENSHOTS=FOLDER` pictures of all pages are kept.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The harness, under the names that the files of this test know.
use tidings_testing::{axe, browser, client, server};

mod extension;
mod result_pages;

mod firefox;
mod marks;
mod options;
mod popup;
