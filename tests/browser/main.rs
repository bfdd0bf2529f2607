//! The site as people meet it: a headless Chromium, driven by chromedriver,
//! on a real server in this process. Every test has a site and a browser of
//! its own; what the test is not about is prepared over the API.
//!
//! With `TIDINGS_SCREENSHOTS=FOLDER` the walk through all pages keeps a
//! picture of each: wide and narrow, light and dark.

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
