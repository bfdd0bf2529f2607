//! Articles by topic, and the topics.

pub mod articles;
pub mod calls;
pub mod form;
pub mod list;
