//! Pages of administrators.

pub mod admin;
pub mod announcement;
pub mod changes;
pub mod hooks;
pub mod identity;
