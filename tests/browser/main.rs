//! Tests of the site in a headless Chromium, driven by chromedriver, with a real
//! server in this process. Every test has its own site and browser, and uses the
//! API to prepare whatever it does not test.
//!
//! With `TIDINGS_SCREENSHOTS=FOLDER`, the accessibility tests save screenshots of
//! all pages: wide and narrow, light and dark.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod axe;
mod browser;
mod chromedriver;
mod showcase;

#[path = "../it/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../../crates/keyspace/src/redis_server.rs"]
mod redis_server;
#[path = "../it/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "../it/smtp_server.rs"]
#[allow(dead_code)]
mod smtp_server;

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
