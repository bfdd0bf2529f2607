//! The commands.

pub mod config;
