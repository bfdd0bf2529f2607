//! Tests of the site in a headless Chromium, driven by chromedriver, with a real
//! server in this process. Every test has its own site and browser, and uses the
//! API to prepare whatever it does not test.
//!
//! With `TEST_SCREENSHOTS=FOLDER`, the accessibility tests save screenshots of
//! all pages: wide and narrow, light and dark.

#![allow(clippy::unwrap_used, clippy::panic)]

// The harness, under the names that the files of this test know.
use tidings_testing::{axe, browser, client, looks, oidc_provider, page_server, routes, server};

mod showcase;

mod accessibility;
mod accounts;
mod appearance;
mod comments;
mod journeys;
mod keyboard;
mod layout_shifts;
mod news;
mod passkeys;
mod single_sign_on;
mod sites;
mod spammer;
mod submitting;
mod threads;
mod timelines;
mod votes;
mod writing;
