//! The reputation of sites.

pub mod calls;
pub mod form;
pub mod pages;
pub mod reputation;
pub mod voters;
