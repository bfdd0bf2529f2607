//! Muting and blocking.

pub mod calls;
pub mod form;
pub mod page;
