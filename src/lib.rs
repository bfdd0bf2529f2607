//! Tidings: one self-hosted server for a community.
//!
//! This package is the program: it reads the settings, opens the store, and combines
//! [`tidings_web`], [`tidings_domain`] and [`tidings_keyspace`].

pub mod backup;
pub mod cli;
pub mod compaction;
pub mod config;
pub mod control;
pub mod logging;
pub mod mail;
pub mod metrics;
pub mod upgrade;

/// The command line, a setting or a variable is wrong, as the message says. The exit status is 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(String);

impl WrongUse {
    /// With this message.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}
