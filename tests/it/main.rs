//! The site as its users meet it: a real server on a free port, requests over
//! HTTP, and a look into the store. One binary, one file for each area.
//!
//! A test is a rule of the site. Rules about time run on the embedded engine
//! with a clock that the test moves; the others run on every engine where the
//! engine could matter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../../benches/dataset/mod.rs"]
mod bench_dataset;
mod client;
mod community;
mod consistency;
mod html;
mod redis_commands;
#[path = "../../crates/keyspace/src/redis_server.rs"]
mod redis_server;
mod server;
mod smtp_server;
#[path = "../../benches/site/wrk.rs"]
mod wrk;

mod accounts;
mod api_shapes;
mod articles;
mod check;
mod comments;
mod concurrency;
mod crash;
mod dataset;
mod deliveries;
mod edges;
mod escaping;
mod feeds;
mod forms;
mod headers;
mod imported;
mod kept;
mod live;
mod load_figures;
mod malformed;
mod malformed_forms;
mod news;
mod original;
mod outage;
mod pages;
mod password_reset;
mod program;
mod rounds;
mod sessions;
mod sites;
mod sites_rules;
mod tidy;
mod timelines;
mod timelines_pages;
mod top;
mod topics;
mod votes;
