//! The one reader of texts. All that shows a text, judges it or looks for something in it asks here, so that all
//! read the same.
//!
//! It knows no HTML, no keys and nobody's permissions.
//!
//! - [`stored_text`]: a stored text, and all that can be asked of it
//! - [`formatted`]: the structure of comments and of the texts of stories, a subset of Markdown
//! - [`links`]: addresses without any markup
//! - [`address`]: an address as a browser reads it
//! - [`mentions`]: the `@name`s
//! - [`words`]: what search, mutes and rules for phrases take for a word
//! - [`bounds`], [`characters`]: sizes, and kinds of characters

pub mod address;
pub mod bounds;
pub mod characters;
pub mod formatted;
pub mod links;
pub mod mentions;
pub mod stored_text;
pub mod words;
