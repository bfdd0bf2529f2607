//! The behaviour of a Tidings site, in plain Rust: no HTTP, no HTML, no database engine.
//!
//! An action reads what it needs in a few rounds (round trips to the store), decides, and
//! commits one batch of checks and writes. The caller passes `now` and the store. Each function that
//! reads or writes the store returns the errors of the store; its documentation names other errors.
//!
//! The code is divided into wings. ARCHITECTURE.md lists them in order; a wing imports only wings that are lower
//! in that list.

pub mod store_check;

pub mod background;

pub mod moderation;

pub mod exports;

pub mod administration;
pub mod deactivation;
pub mod digests;
pub mod flags;
pub mod found;
pub mod imports;
pub mod inbox;
pub mod migrations;
pub mod numbered;
pub mod statistics;
pub mod texts;
pub mod vote_rings;
pub mod votes;

mod contributions;

pub mod submissions;

pub mod articles;
pub mod comments;
pub mod timelines;

pub mod news;

pub mod sites;

pub mod accounts;

mod action;
pub mod activity;
pub mod audit;
pub mod cache;
pub mod changes;
pub mod counts;
pub mod draws;
pub mod error;
mod fields;
pub mod home_servers;
pub mod hooks;
pub mod hub;
pub mod identity;
pub mod items;
pub mod jobs;
mod key_walk;
pub mod marks;
pub mod passwords;
pub mod post_rules;
mod post_state;
pub mod process_state;
pub mod queue;
pub mod rates;
mod records;
pub mod repeats;
pub mod report;
pub mod review;
pub mod site;
mod store_rules;

pub mod keys;
pub mod values;

pub use self::accounts::actor::Actor;
pub use self::accounts::users::{Role, User};
pub use self::accounts::visit::Visit;
pub(crate) use self::action::Decision;
pub(crate) use self::audit::AUDIT;
pub use self::comments::comment::Comment;
pub(crate) use self::contributions::Contribution;
pub(crate) use self::counts::CountedAction;
pub(crate) use self::items::Item;
pub use self::news::item::News;
pub(crate) use self::repeats::KeptAnswer;
pub(crate) use self::report::Advance;
pub(crate) use self::site::Applied;
pub use self::site::Site;
pub use self::timelines::tweets::Tweet;
pub use error::{Error, NothingToDo, Refusal, Result};
pub use tidings_supervision as supervision;
