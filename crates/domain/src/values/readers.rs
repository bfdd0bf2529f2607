//! The people who read a site.

use crate::values::Choice;
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// The people who may read a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SiteReaders {
    /// Everyone.
    #[default]
    Everyone,
    /// Those who have an account and are logged in.
    Members,
}

impl Choice for SiteReaders {}
