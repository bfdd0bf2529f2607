//! The site itself: its rules and ranking, how texts are formatted, when accounts are trusted.

pub mod about;
pub mod formatting;
pub mod trust;
pub mod welcome;
