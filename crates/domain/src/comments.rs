//! Comments, and the threads that they form.
//!
//! Keys: `thread:comment:<news id>` (the comments of a story, as JSON by comment id) and
//! `user.comments:<id>`.
//!
//! It hands out [`comment`] (post, edit, delete) and [`threads`] (a thread in reading order,
//! a user's comments, replies).

pub mod comment;
pub mod threads;
