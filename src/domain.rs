//! What the site does, in plain Rust: no HTTP, no HTML, no engine.
//!
//! Every action reads what it needs in rounds, decides, and commits one batch
//! of checks and writes. `now` and the store come from the caller.

pub mod accounts;
pub mod clock;
pub mod comments;
pub mod counts;
pub mod error;
pub mod ids;
pub mod imports;
pub mod karma;
pub mod keys;
pub mod limits;
pub mod news;
pub mod password_reset;
pub mod passwords;
pub mod ranking;
pub mod rules;
pub mod secrets;
pub mod sessions;
pub mod site;
pub mod submissions;
pub mod text;
pub mod threads;
pub mod urls;
pub mod users;
pub mod visit;
pub mod votes;

pub use error::{Error, Refusal};
