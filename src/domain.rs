//! What the site does, in plain Rust: no HTTP, no HTML, no engine.
//!
//! Every action reads what it needs in rounds, decides, and commits one batch
//! of checks and writes. `now` and the store come from the caller.

pub mod accounts;
pub mod article_lists;
pub mod article_repair;
pub mod articles;
pub mod clock;
pub mod comments;
pub mod counts;
pub mod cursor;
pub mod deactivation;
pub mod deliveries;
pub mod error;
pub mod follows;
pub mod found;
pub mod ids;
pub mod imports;
pub mod karma;
pub mod kept;
pub mod keys;
pub mod limits;
pub mod live;
pub mod mentions;
mod merge;
pub mod news;
pub mod news_lines;
pub mod password_reset;
pub mod passwords;
mod presence;
pub mod ranking;
pub mod ranks;
pub mod rules;
pub mod secrets;
pub mod sessions;
pub mod shown;
pub mod site;
pub mod sites;
mod stored_homes;
pub mod submissions;
pub mod suggestions;
pub mod text;
pub mod threads;
pub mod timeline_check;
pub mod timelines;
pub mod topic_moves;
pub mod topics;
pub mod tweet_lines;
pub mod tweets;
pub mod urls;
pub mod users;
pub mod visit;
mod voters;
pub mod votes;

pub use error::{Error, Refusal};
