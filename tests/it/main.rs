//! Integration tests: a real server on a free port, requests over HTTP, and checks of the
//! store. One binary, one file for each area.
//!
//! Each test checks a rule of the site. Tests of time run on the embedded engine with a manual
//! clock; the others run on every engine if the engine could make a difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The test harness.
use tidings_testing::{client, dataset as bench_dataset, html, redis_server, server, smtp_server, wrk};

mod community;
mod consistency;
mod redis_commands;

mod accounts;
mod api_shapes;
mod articles;
mod cache;
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
mod two_viewers;
mod votes;
