//! Stories: submitting, editing, lists, hiding and saving, votes.

pub mod calls;
pub mod form;
pub mod item;
pub mod lists;
pub mod marks;
pub mod past;
pub mod sending;
pub mod story_tools;
pub mod submission_form;
pub mod submitting;
pub mod titles;
pub mod votes;
