//! The site as its users meet it: a real server on a free port, requests over
//! HTTP, and a look into the store. One binary, one file for each area.
//!
//! A test is a rule of the site. Rules about time run on the embedded engine
//! with a clock that the test moves; the others run on every engine where the
//! engine could matter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The harness, under the names that the files of this test know.
use tidings_testing::{client, dataset as bench_dataset, html, redis_server, server, smtp_server, wrk};

mod community;
mod consistency;
mod redis_commands;

mod accounts;
mod api_shapes;
mod articles;
mod cache_sharing;
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
mod openapi;
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
