//! Search: a full-text index in a folder, and the language of its searches.
//!
//! - [`language`] reads what a person typed.
//! - [`index`] holds the texts, on tantivy.
//! - [`asker`] says what one person does not find, and `seen` what every visitor finds.
//! - [`asking`] finds texts, the most relevant first, with two queries of its own: `prefix` and `dis_max`.
//! - [`offering`] finds topics, stories and words that are like what was typed.
//! - [`accounts`] is an index of accounts, for who moderates.
//! - [`excerpts`] shows why they were found.
//!
//! Words are those of `tidings_text::words`, for texts and for searches.
//!
//! The crate knows nothing of stores, pages or people. A document has an id, which means something to the caller.

pub mod accounts;
pub mod asker;
pub mod asking;
mod dis_max;
pub mod excerpts;
pub mod index;
pub mod language;
pub mod offering;
mod plain;
mod prefix;
mod seen;
