//! A text as it stands in the code.

use crate::catalogue::{NONE, translated};
use std::sync::atomic::AtomicUsize;

/// A text of the site, in English. Made by the macros of this crate.
#[derive(Debug)]
pub struct Message {
    /// What tells two uses of one English text apart; empty if there is no need.
    pub context: &'static str,
    /// The text, for one thing if it has a number.
    pub english: &'static str,
    /// The text for several things; empty if it has no number.
    pub plural: &'static str,
    /// Its place in the catalogues, once it is known.
    pub(crate) place: AtomicUsize,
}

impl Message {
    /// A text in a context, and its plural.
    pub const fn new(context: &'static str, english: &'static str, plural: &'static str) -> Self {
        Self { context, english, plural, place: AtomicUsize::new(NONE) }
    }

    /// The text in the language of the site.
    pub fn text(&'static self) -> &'static str {
        translated(self).and_then(|texts| texts.first()).map_or(self.english, |text| text)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        (self.context, self.english) == (other.context, other.english)
    }
}

impl Eq for Message {}
