//! Integration tests: a real server on a free port, requests over HTTP, and checks of the
//! store. One binary, one file for each area.
//!
//! Each test checks a rule of the site. Tests of time run on the embedded engine with a manual
//! clock; the others run on every engine if the engine could make a difference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// The test harness.
use tidings_testing::{
    api_document, client, dataset as bench_dataset, failover as failover_runs, html, link, load, page_server,
    redis_server, rolling, routes, server, skips, smtp_server, topology, wrk,
};

mod community;
mod consistency;
mod redis_commands;

mod absent_store;
mod account_changes;
mod accounts;
mod addresses;
mod administration;
mod algolia;
mod api_shapes;
mod applications;
mod articles;
mod authenticator;
mod backup;
mod badges;
mod book;
mod cache;
mod cache_sharing;
mod certificates;
mod check;
mod clock;
mod combinations;
mod commands;
mod comments;
mod concurrency;
mod confirmations;
mod crash;
mod dataset;
mod deliveries;
mod demo;
mod discounts;
mod drain;
mod economy;
mod edges;
mod escaping;
mod export;
mod failover;
mod feeds;
mod filtered;
mod first_administrator;
mod first_visits;
mod flags;
mod form_errors;
mod formatting;
mod forms;
mod full_disk;
mod hacker_news;
mod harden;
mod head;
mod headers;
mod homes_apart;
mod imported;
mod inbox;
mod inbox_rows;
mod invitations;
mod items;
mod lists;
mod live;
mod load_figures;
mod logins;
mod mails;
mod malformed;
mod malformed_forms;
mod moderation;
mod mutes;
mod names;
mod new_accounts;
mod news;
mod night;
mod open_files;
mod open_sessions;
mod openapi;
mod original;
mod origins;
mod outage;
mod packaging;
mod page_budget;
mod pages;
mod passkeys;
mod password_reset;
mod people;
mod post_rules;
mod program;
mod rates;
mod reload;
mod removals;
mod removals_of_all;
mod removals_undone;
mod repeats;
mod repeats_of_all;
mod replica_reads;
mod rounds;
mod search;
mod seeing;
mod servers;
mod service_manager;
mod sessions;
mod settings_pages;
mod shared_store;
mod signups;
mod silence;
mod site_identity;
mod site_networks;
mod sites;
mod sites_rules;
mod sizes;
mod staff_passwords;
mod store_check;
mod story_moderation;
mod submitting;
mod supervised;
mod switched_off;
mod taken_back;
mod thread_pages;
mod tidy;
mod timelines;
mod timelines_pages;
mod titles;
mod top;
mod topics;
mod transport;
mod two_factor;
mod two_viewers;
mod undo_is_exact;
mod unreadable;
mod visits;
mod vote_rings;
mod votes;
