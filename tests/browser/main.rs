//! The site as people meet it: a headless Chromium, driven by chromedriver,
//! on a real server in this process. Every test has a site and a browser of
//! its own; what the test is not about is prepared over the API.
//!
//! With `TIDINGS_SCREENSHOTS=FOLDER` the walk through all pages keeps a
//! picture of each: wide and narrow, light and dark.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The harness, under the names that the files of this test know.
use tidings_testing::{axe, browser, client, server, smtp_server};

mod showcase;

mod accessibility;
mod accounts;
mod appearance;
mod comments;
mod keyboard;
mod news;
mod sites;
mod timelines;
mod topics;
mod votes;
