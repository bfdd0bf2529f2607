//! Comments, and the threads that they form.
//!
//! Keys: `thread:comment:<news id>` (the comments of a story, as JSON by comment id) and
//! `user.comments:<id>`.
//!
//! It hands out [`comment`] (the record), [`posting`] (post, edit, delete), `held` (publish what waited), [`outline`] (a thread in reading order, and its pages), [`orders`] (other
//! orders), [`relatives`] (who replies to whom), [`threads`] (reading a thread), [`merged`]
//! (threads of merged stories) and [`lists`] (a user's comments).

pub mod comment;
pub(crate) mod held;
pub mod lists;
pub mod merged;
pub(crate) mod notify;
pub mod orders;
pub mod outline;
pub mod posting;
pub mod relatives;
pub(crate) mod store_rules;
pub mod threads;
