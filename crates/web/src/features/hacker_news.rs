//! The API of Hacker News on Firebase, version 0, so that programs which were made for it read this site when
//! their base address is changed. All answers show only what a visitor without a session sees, whoever asks.

pub mod archive;
pub mod items;
mod json;
pub mod requests;
pub mod resources;
mod stream;
pub mod text;
mod users;
