//! Pages of administrators.

pub mod admin;
pub mod identity;
pub mod identity_form;
