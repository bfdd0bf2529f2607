//! What the site is, how texts are formatted, and what new members should know.

pub mod about;
pub mod formatting;
pub mod welcome;
