//! The API of the search of Hacker News on Algolia, version 1, so that programs which were made for it search this
//! site when their base address is changed. All answers show only what a visitor without a session sees,
//! whoever asks.

pub mod calls;
mod highlights;
mod hits;
mod items;
pub mod query;
