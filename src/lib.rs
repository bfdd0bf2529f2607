//! Tidings: one self-hosted server for a community.
//!
//! This package is the program: it reads the settings, opens the store, and puts
//! together what [`tidings_web`], [`tidings_domain`] and [`tidings_keyspace`] give.

pub mod cli;
pub mod config;
pub mod mail;
