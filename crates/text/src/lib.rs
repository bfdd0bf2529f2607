//! The one reader of texts. Whatever shows a text, judges it or looks for something in it asks here, so that all of
//! them read the same.
//!
//! It knows no HTML, no keys and nobody's permissions.

pub mod words;
